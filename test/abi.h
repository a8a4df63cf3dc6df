/* A part of check.c: the calling convention, watched by abi_*.S. */

#if defined(__aarch64__)
struct abi_registers {
    uint64_t general[12]; /* x19 to x29, and nothing */
    uint64_t sp, fpcr;
    uint64_t vector[8]; /* d8 to d15 */
};
#elif defined(__arm__)
struct abi_registers {
    uint32_t general[8]; /* r4 to r11 */
    uint32_t sp, fpscr;
    uint64_t vector[8]; /* d8 to d15 */
};
#elif defined(__riscv)
struct abi_registers {
    uint64_t general[12]; /* s0 to s11 */
    uint64_t sp, fcsr;
    uint64_t vector[12]; /* fs0 to fs11 */
};
#elif defined(__mips__)
struct abi_registers {
    unsigned long general[10]; /* s0 to s7, gp, fp */
    unsigned long sp;
};
#else
struct abi_registers {
    uint64_t general[8]; /* rbx rbp r12 r13 r14 r15, rdi rsi */
    uint64_t rsp, flags, mxcsr, unused;
    uint16_t x87[16];
    uint8_t vector[16][64];
};
#endif

extern struct abi_registers abi_before, abi_after;
extern uint32_t abi_vector_bytes;
extern sealane_kernel *corrupt_inner;

struct abi_registers abi_before, abi_after;
uint32_t abi_vector_bytes = 16; /* width of the vector registers that exist */
sealane_kernel *corrupt_inner;

#if defined(__x86_64__)
#define HAVE_ABI_CHECK 1

void abi_call(sealane_kernel *, const void *, void *scratch, const void *consts);

static void call_watched(sealane_kernel *kernel, const void *a, void *scratch, const void *consts)
{
    randomize(abi_before.general, sizeof abi_before.general);
    for (int i = 6; i < 16; i++)
        randomize(abi_before.vector[i], 16);
    abi_call(kernel, a, scratch, consts);
}

static const char *abi_violation(void)
{
    static const char *const names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15", "rdi", "rsi"};
    static char text[64];
#if defined(SEALANE_TEST_WIN64)
    const int preserved = 8;
    for (int i = 6; i < 16; i++)
        if (memcmp(abi_before.vector[i], abi_after.vector[i], 16) != 0) {
            snprintf(text, sizeof text, "xmm%d was not preserved", i);
            return text;
        }
#else
    const int preserved = 6;
#endif
    for (int i = 0; i < preserved; i++)
        if (abi_before.general[i] != abi_after.general[i]) {
            snprintf(text, sizeof text, "%s was not preserved", names[i]);
            return text;
        }
    if (abi_before.rsp != abi_after.rsp)
        return "rsp was not preserved";
    if (abi_after.flags & 0x400)
        return "the direction flag is set";
    if ((uint32_t)abi_before.mxcsr != (uint32_t)abi_after.mxcsr)
        return "mxcsr was not preserved";
    if (abi_before.x87[0] != abi_after.x87[0])
        return "the x87 control word was not preserved";
    if (abi_before.x87[4] != abi_after.x87[4])
        return "the x87 or MMX state is not empty";
    for (int i = 0; i < 16; i++)
        for (uint32_t j = 16; j < abi_vector_bytes; j++)
            if (abi_after.vector[i][j] != 0) {
                snprintf(text, sizeof text, "the upper part of vector register %d is not zero", i);
                return text;
            }
    return NULL;
}
#elif defined(__aarch64__) || (defined(__arm__) && defined(__ARM_ARCH_ISA_ARM)) || \
    (defined(__riscv_float_abi_double) && defined(__LP64__))
#define HAVE_ABI_CHECK 1

void abi_call(sealane_kernel *, const void *, void *scratch, const void *consts);

static void call_watched(sealane_kernel *kernel, const void *a, void *scratch, const void *consts)
{
    randomize(abi_before.general, sizeof abi_before.general);
    randomize(abi_before.vector, sizeof abi_before.vector);
    abi_call(kernel, a, scratch, consts);
}

#if defined(__riscv)
#define VECTOR_NAME "fs%d"
#define FIRST_VECTOR 0
#else
#define VECTOR_NAME "d%d"
#define FIRST_VECTOR 8
#endif

static const char *abi_violation(void)
{
    static char text[64];
#if defined(__aarch64__)
    static const char *const names[] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"};
    const int same_control = abi_before.fpcr == abi_after.fpcr;
#elif defined(__riscv)
    static const char *const names[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"};
    const int same_control = abi_before.fcsr == abi_after.fcsr;
#else
    static const char *const names[] = {"r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"};
    const uint32_t control = 0x07f79f00; /* all but the condition and exception flags (AAPCS32, section 6.1.2.1) */
    const int same_control = ((abi_before.fpscr ^ abi_after.fpscr) & control) == 0;
#endif
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (abi_before.general[i] != abi_after.general[i]) {
            snprintf(text, sizeof text, "%s was not preserved", names[i]);
            return text;
        }
    if (abi_before.sp != abi_after.sp)
        return "sp was not preserved";
    if (abi_vector_bytes == 0)
        return NULL;
    if (!same_control)
        return "the floating-point control register was not preserved";
    for (size_t i = 0; i < sizeof abi_before.vector / sizeof *abi_before.vector; i++)
        if (abi_before.vector[i] != abi_after.vector[i]) {
            snprintf(text, sizeof text, VECTOR_NAME " was not preserved", (int)(i + FIRST_VECTOR));
            return text;
        }
    return NULL;
}
#elif defined(__mips__) && (defined(_ABIO32) || defined(_ABI64)) && !defined(__PIE__)
#define HAVE_ABI_CHECK 1

void abi_call(sealane_kernel *, const void *, void *scratch, const void *consts);

static void call_watched(sealane_kernel *kernel, const void *a, void *scratch, const void *consts)
{
    randomize(abi_before.general, sizeof abi_before.general);
    abi_call(kernel, a, scratch, consts);
}

static const char *abi_violation(void)
{
    static const char *const names[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "gp", "fp"};
    static char text[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], "gp") != 0 && abi_before.general[i] != abi_after.general[i]) {
            snprintf(text, sizeof text, "%s was not preserved", names[i]);
            return text;
        }
    return abi_before.sp == abi_after.sp ? NULL : "sp was not preserved";
}
#else
#define HAVE_ABI_CHECK 0

static void call_watched(sealane_kernel *kernel, const void *a, void *scratch, const void *consts)
{
    kernel(a, scratch, consts);
}

static const char *abi_violation(void)
{
    return NULL;
}
#endif

/* corrupt_NAME changes one register that a kernel must preserve. abi_*.S has them. */
#if defined(__aarch64__)
#define ABI_CORRUPTERS(X) \
    X(x19) X(x20) X(x21) X(x22) X(x23) X(x24) X(x25) X(x26) X(x27) X(x28) X(sp) X(fpcr) X(d8) X(d15)
#elif HAVE_ABI_CHECK && defined(__riscv)
#define ABI_CORRUPTERS(X) \
    X(s0) X(s1) X(s2) X(s3) X(s4) X(s5) X(s6) X(s7) X(s8) X(s9) X(s10) X(s11) X(sp) X(fcsr) X(fs0) X(fs11)
#elif HAVE_ABI_CHECK && defined(__mips__)
#define ABI_CORRUPTERS(X) X(s0) X(s1) X(s2) X(s3) X(s4) X(s5) X(s6) X(s7) X(fp) X(sp)
#elif HAVE_ABI_CHECK && defined(__ARM_FP)
#define ABI_CORRUPTERS(X) X(r4) X(r5) X(r6) X(r7) X(r8) X(r9) X(r10) X(r11) X(sp) X(fpscr) X(d8) X(d15)
#elif HAVE_ABI_CHECK && !defined(__x86_64__)
#define ABI_CORRUPTERS(X) X(r4) X(r5) X(r6) X(r7) X(r8) X(r9) X(r10) X(r11) X(sp)
#endif
