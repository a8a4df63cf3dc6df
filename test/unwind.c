/* unwind: from every instruction of a kernel, an unwinder finds its caller and the caller's registers.
 *
 * A trampoline puts known values into all registers that a kernel must preserve, and calls it. On x86-64 the CPU's trap
 * flag stops it after every instruction. On AArch64 a breakpoint replaces one instruction after the other, which also
 * works under emulation. Each time, the C compiler's unwinder walks up from there, using the assembler's .cfi lines,
 * like debuggers, profilers and exceptions.
 *
 *     unwind                 all levels that this CPU can run
 *     unwind --plant=NAME    a kernel with missing or wrong information; must fail: register, stack, silence */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "../src/aesmodes.h"
#include "../src/cpu.h"
#include "../src/key.h"
#include "lane.h"

/* ---- The trampoline: void unwind_call(kernel, args, scratch, consts) ---- */

/* The expected registers, in the order of the trampoline, and the stack pointer at its call. */
uint64_t unwind_want[24], unwind_stack;

void unwind_call(sealane_kernel *kernel, const void *args, void *scratch, const void *consts);
void unwind_returned(void);
sealane_kernel plant_register, plant_stack, plant_silence;

#if defined(__x86_64__)
#define FUNCTION(name) ".globl " name "\n.type " name ", @function\n" name ":\n"
#define SAVE(r) "push %" r "\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %" r ", 0\n"
#define RESTORE(r) "pop %" r "\n.cfi_adjust_cfa_offset -8\n.cfi_restore %" r "\n"
__asm__(".text\n" FUNCTION("unwind_call") ".cfi_startproc\n" /**/
        SAVE("rbx") SAVE("r12") SAVE("r13") SAVE("r14") SAVE("r15")
            SAVE("rbp") "sub $40, %rsp\n.cfi_adjust_cfa_offset 40\n"
                        "mov %rdi, %r11\n"
#if defined(SEALANE_TEST_WIN64)
                        "mov %rcx, %r8\n"
                        "mov %rsi, %rcx\n"
#else
                        "mov %rsi, %rdi\n"
                        "mov %rdx, %rsi\n"
                        "mov %rcx, %rdx\n"
#endif
                        "lea unwind_want(%rip), %rax\n"
                        "mov (%rax), %rbx\n"
                        "mov 8(%rax), %r12\n"
                        "mov 16(%rax), %r13\n"
                        "mov 24(%rax), %r14\n"
                        "mov 32(%rax), %r15\n"
                        "mov 40(%rax), %rbp\n"
#if defined(SEALANE_TEST_WIN64)
                        "mov 48(%rax), %rdi\n"
                        "mov 56(%rax), %rsi\n"
#endif
                        "mov %rsp, unwind_stack(%rip)\n"
                        "pushfq\n.cfi_adjust_cfa_offset 8\n"
                        "orq $0x100, (%rsp)\n"
                        "popfq\n.cfi_adjust_cfa_offset -8\n"
                        "call *%r11\n"
                        ".globl unwind_returned\nunwind_returned:\n"
                        "nop\n"                                       /* the trap flag is cleared before this */
                        "add $40, %rsp\n.cfi_adjust_cfa_offset -40\n" /**/
        RESTORE("rbp") RESTORE("r15") RESTORE("r14") RESTORE("r13") RESTORE("r12") RESTORE("rbx") /**/
        "ret\n.cfi_endproc\n"
        /* Does not declare a register that it saves in memory. */
        FUNCTION("plant_register") ".cfi_startproc\nmov %rbx, -8(%rsp)\nxor %ebx, %ebx\nnop\nmov -8(%rsp), %rbx\nret\n"
                                   ".cfi_endproc\n"
        /* Moves the stack pointer without declaring it. */
        FUNCTION("plant_stack") ".cfi_startproc\npush $0\nnop\npop %rax\nret\n.cfi_endproc\n"
        /* Declares nothing. */
        FUNCTION("plant_silence") "nop\nnop\nnop\nret\n");

static const struct {
    int dwarf;
    const char *name;
} registers[] = {
    {3, "rbx"}, {12, "r12"}, {13, "r13"}, {14, "r14"}, {15, "r15"}, {6, "rbp"},
#if defined(SEALANE_TEST_WIN64)
    {5, "rdi"}, {4, "rsi"},
#endif
};

#else
#define FUNCTION(name) ".globl " name "\n.type " name ", %function\n" name ":\n"
__asm__(".text\n.p2align 2\n" FUNCTION(
    "unwind_call") ".cfi_startproc\n"
                   "sub sp, sp, #176\n.cfi_adjust_cfa_offset 176\n"
                   "stp x19, x20, [sp]\n.cfi_rel_offset x19, 0\n.cfi_rel_offset x20, 8\n"
                   "stp x21, x22, [sp, #16]\n.cfi_rel_offset x21, 16\n.cfi_rel_offset x22, 24\n"
                   "stp x23, x24, [sp, #32]\n.cfi_rel_offset x23, 32\n.cfi_rel_offset x24, 40\n"
                   "stp x25, x26, [sp, #48]\n.cfi_rel_offset x25, 48\n.cfi_rel_offset x26, 56\n"
                   "stp x27, x28, [sp, #64]\n.cfi_rel_offset x27, 64\n.cfi_rel_offset x28, 72\n"
                   "stp x29, x30, [sp, #80]\n.cfi_rel_offset x29, 80\n.cfi_rel_offset x30, 88\n"
                   "stp d8, d9, [sp, #96]\n.cfi_rel_offset d8, 96\n.cfi_rel_offset d9, 104\n"
                   "stp d10, d11, [sp, #112]\n.cfi_rel_offset d10, 112\n.cfi_rel_offset d11, 120\n"
                   "stp d12, d13, [sp, #128]\n.cfi_rel_offset d12, 128\n.cfi_rel_offset d13, 136\n"
                   "stp d14, d15, [sp, #144]\n.cfi_rel_offset d14, 144\n.cfi_rel_offset d15, 152\n"
                   "mov x16, x0\n"
                   "mov x0, x1\n"
                   "mov x1, x2\n"
                   "mov x2, x3\n"
                   "adrp x9, unwind_want\n"
                   "add x9, x9, :lo12:unwind_want\n"
                   "ldp x19, x20, [x9]\n"
                   "ldp x21, x22, [x9, #16]\n"
                   "ldp x23, x24, [x9, #32]\n"
                   "ldp x25, x26, [x9, #48]\n"
                   "ldp x27, x28, [x9, #64]\n"
                   "ldr x29, [x9, #80]\n"
                   "ldp d8, d9, [x9, #88]\n"
                   "ldp d10, d11, [x9, #104]\n"
                   "ldp d12, d13, [x9, #120]\n"
                   "ldp d14, d15, [x9, #136]\n"
                   "adrp x9, unwind_stack\n"
                   "add x9, x9, :lo12:unwind_stack\n"
                   "mov x10, sp\n"
                   "str x10, [x9]\n"
                   "blr x16\n"
                   ".globl unwind_returned\nunwind_returned:\n"
                   "ldp x19, x20, [sp]\n"
                   "ldp x21, x22, [sp, #16]\n"
                   "ldp x23, x24, [sp, #32]\n"
                   "ldp x25, x26, [sp, #48]\n"
                   "ldp x27, x28, [sp, #64]\n"
                   "ldp x29, x30, [sp, #80]\n"
                   "ldp d8, d9, [sp, #96]\n"
                   "ldp d10, d11, [sp, #112]\n"
                   "ldp d12, d13, [sp, #128]\n"
                   "ldp d14, d15, [sp, #144]\n"
                   "add sp, sp, #176\n"
                   "ret\n.cfi_endproc\n" FUNCTION("plant_register") ".cfi_startproc\nstr x19, [x1]\nmov x19, "
                                                                    "#0\nnop\nldr x19, "
                                                                    "[x1]\nret\n.cfi_endproc\n" FUNCTION(
                                                                        "plant_stack") ".cfi_startproc\nsub sp, "
                                                                                       "sp, #32\nnop\nadd sp, sp, "
                                                                                       "#32\nret\n.cfi_"
                                                                                       "endproc\n" FUNCTION(
                                                                                           "plant_"
                                                                                           "silenc"
                                                                                           "e") "n"
                                                                                                "o"
                                                                                                "p"
                                                                                                "\nnop\nnop\nret\n");

static const struct {
    int dwarf;
    const char *name;
} registers[] = {
    {19, "x19"}, {20, "x20"}, {21, "x21"}, {22, "x22"}, {23, "x23"}, {24, "x24"}, {25, "x25"},
    {26, "x26"}, {27, "x27"}, {28, "x28"}, {29, "x29"}, {72, "d8"},  {73, "d9"},  {74, "d10"},
    {75, "d11"}, {76, "d12"}, {77, "d13"}, {78, "d14"}, {79, "d15"},
};
#endif

enum { REGISTERS = sizeof registers / sizeof *registers };

/* ---- One walk up the stack ---- */

static struct {
    uintptr_t pc, start;
    int in_kernel, at_caller; /* how far the walk has come */
    size_t above;             /* frames beyond the caller */
    size_t stops, wrong;
} walk;

static void complain(const char *what)
{
    if (walk.wrong++ == 0)
        printf("     at byte %zu of the kernel: %s\n", (size_t)(walk.pc - walk.start), what);
}

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *unused)
{
    const uintptr_t ip = _Unwind_GetIP(c);
    (void)unused;
    if (walk.at_caller) {
        walk.above++;
        return walk.above == 2 ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    if (!walk.in_kernel) {
        walk.in_kernel = ip == walk.pc;
        return _URC_NO_REASON;
    }
    walk.at_caller = 1;
    if (ip != (uintptr_t)unwind_returned) {
        complain("the caller is not found");
        return _URC_END_OF_STACK;
    }
    if (_Unwind_GetCFA(c) != unwind_stack) {
        complain("the caller's stack pointer is wrong");
        return _URC_END_OF_STACK;
    }
    for (int i = 0; i < REGISTERS; i++)
        if (_Unwind_GetGR(c, registers[i].dwarf) != unwind_want[i])
            complain(registers[i].name);
    return _URC_NO_REASON;
}

static void walk_from(uintptr_t pc)
{
    walk.pc = pc;
    walk.in_kernel = walk.at_caller = 0, walk.above = 0;
    walk.stops++;
    _Unwind_Backtrace(frame, NULL);
    if (!walk.at_caller)
        complain("there is no way up");
    else if (walk.above < 2)
        complain("the way ends at the caller");
}

/* ---- Stopping at every instruction ---- */

typedef struct {
    sealane_kernel *kernel;
    const void *consts;
    union {
        sealane_packet_args packet;
        sealane_batch_args batch;
        sealane_mode_args mode;
    } args;
} run;

#if defined(__x86_64__)
enum { TRAP_FLAG = 0x100 };

static void on_trap(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uintptr_t pc = (uintptr_t)r[REG_RIP];
    (void)number, (void)info;
    if (pc == (uintptr_t)unwind_returned)
        r[REG_EFL] &= ~TRAP_FLAG;
    else if (pc < (uintptr_t)unwind_call || pc > (uintptr_t)unwind_returned)
        walk_from(pc);
}

static void stop_everywhere(const run *r, void *scratch)
{
    unwind_call(r->kernel, &r->args, scratch, r->consts);
}
#else
#define RET 0xd65f03c0
#define BRK 0xd4200000

static uint32_t *patched, original;

static void put(uint32_t *at, uint32_t word)
{
    *at = word;
    __builtin___clear_cache((char *)at, (char *)(at + 1));
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const ucontext_t *c = context;
    (void)number, (void)info;
    if (c->uc_mcontext.pc != (uintptr_t)patched)
        _exit(3);
    put(patched, original); /* then it runs */
    walk_from((uintptr_t)patched);
}

/* Stops everywhere in prologue and epilogue, but only at a part of the body, because emulators translate the page again
 * each time. */
static void stop_everywhere(const run *r, void *scratch)
{
    enum { ENDS = 24, STRIDE = 17 };
    uint32_t *const code = (uint32_t *)(uintptr_t)r->kernel;
    size_t count = 0;
    while (code[count++] != RET)
        ;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)code & ~(page - 1);
    if (mprotect((void *)from, (uintptr_t)(code + count) - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        perror("mprotect");
        exit(2);
    }
    for (size_t i = 0; i < count; i += i < ENDS || i + ENDS + STRIDE >= count ? 1 : STRIDE) {
        patched = &code[i], original = code[i];
        put(patched, BRK);
        unwind_call(r->kernel, &r->args, scratch, r->consts);
        put(patched, original); /* not reached */
    }
}
#endif

/* ---- The calls ---- */

static uint8_t key[32] = {1}, nonce[16] = {2}, ad[40], text[2000], tag[16], tags[9][16];
static sealane_key k;
static _Alignas(64) sealane_lane lanes[9];
static _Alignas(64) sealane_mode_lane mode_lanes[9];
static _Alignas(64) uint8_t scratch[SEALANE_BATCH_SCRATCH_BYTES];

static void check_run(const run *r)
{
    walk.start = (uintptr_t)r->kernel;
    for (size_t i = 0; i < sizeof unwind_want / sizeof *unwind_want; i++)
        unwind_want[i] = 0x9e3779b97f4a7c15 * (i + 3);
    stop_everywhere(r, scratch);
}

/* Other AES modes: a key, every operation on whole and partial rows, and lanes; and ChaCha20 masks. */
static int check_modes(int table, int level)
{
    static sealane_aes_schedules schedules;
    static uint8_t state[16];
    const sealane_level *l = &sealane_tables[table].levels[level];
    const int is_aes = table == SEALANE_AES;
    run r = {.kernel = l->kernel, .consts = l->consts};
    walk.stops = walk.wrong = 0;
    for (size_t key_bytes = 16; is_aes && key_bytes <= 32; key_bytes += 8) {
        schedules.rounds = 6 + key_bytes / 4;
        memcpy(schedules.schedule, key, key_bytes);
        r.args.mode = (sealane_mode_args){.key = slot(&schedules), .operation = SEALANE_AES_SETUP};
        check_run(&r);
    }
    for (size_t i = 0; i < 9; i++)
        mode_lanes[i] =
            (sealane_mode_lane){.out = slot(text + 64 * i), .in = slot(text + 64 * i), .chain = slot(tags[i])};
    for (size_t i = 0; i < 9; i++)
        mode_lanes[i].key = is_aes ? slot(&schedules) : slot(key);
    for (uint64_t operation = SEALANE_AES_ECB_ENCRYPT; is_aes && operation < SEALANE_AES_CBC_ENCRYPT; operation++) {
        r.args.mode =
            (sealane_mode_args){.out = slot(text), .in = slot(text), .bytes = 16 * 51, .key = slot(&schedules)};
        r.args.mode.state = slot(state), r.args.mode.operation = operation;
        check_run(&r);
    }
    for (uint64_t operation = SEALANE_AES_CBC_ENCRYPT; operation <= SEALANE_AES_MASKS; operation++) {
        r.args.mode =
            (sealane_mode_args){.lanes = slot(mode_lanes), .count = 9, .bytes_each = 48, .operation = operation};
        if (is_aes || operation == SEALANE_AES_MASKS)
            check_run(&r);
    }
    return walk.stops > 100 && walk.wrong == 0;
}

static int check_level(int table, int level)
{
    static const size_t sizes[] = {0, 40, 100, 900};
    const sealane_level *l = &sealane_tables[table].levels[level];
    const int gcm = table == SEALANE_AESGCM;
    const void *kernel_key = gcm ? (const void *)gcm_key_of(&k) : key;
    if (sealane_key_init_at(&k, gcm ? SEALANE_AES_192_GCM : SEALANE_CHACHA20_POLY1305, key, gcm ? 24 : 32, level) != 0)
        return 0;
    walk.stops = walk.wrong = 0;
    run r = {.kernel = l->kernel, .consts = l->consts};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t open = 0; open <= SEALANE_FLAG_OPEN; open += SEALANE_FLAG_OPEN) {
            const sealane_lane packet = {slot(text), slot(text),       sizes[i],    slot(ad),
                                         5 * i,      slot(kernel_key), slot(nonce), slot(tag)};
            r.args.packet = lane_args(&packet, open | (gcm ? SEALANE_FLAG_NONCE : 0));
            check_run(&r);
        }
    if (gcm) {
        static sealane_gcm_key fresh;
        fresh = *gcm_key_of(&k), memcpy(fresh.schedule, key, 24);
        r.args.packet = (sealane_packet_args){.key = slot(&fresh), .flags = SEALANE_FLAG_SETUP};
        check_run(&r);
    }
    if (l->batch.kernel != NULL) {
        r.kernel = l->batch.kernel, r.consts = l->batch.consts;
        for (size_t i = 0; i < 9; i++)
            lanes[i] = (sealane_lane){slot(text + 200 * i), slot(text + 200 * i), 10 + 23 * i,  slot(ad), i,
                                      slot(kernel_key),     slot(nonce),          slot(tags[i])};
        r.args.batch = (sealane_batch_args){.lanes = slot(lanes), .count = 9};
        check_run(&r);
    }
    return walk.wrong == 0 && walk.stops > 300;
}

static int planted(const char *name)
{
    static const struct {
        const char *name;
        sealane_kernel *kernel;
    } plants[] = {{"register", plant_register}, {"stack", plant_stack}, {"silence", plant_silence}};
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
        if (strcmp(name, plants[i].name) == 0) {
            const run r = {.kernel = plants[i].kernel};
            check_run(&r);
            return walk.stops == 0 ? 2 : walk.wrong != 0;
        }
    return 2;
}

int main(int argc, char **argv)
{
    static uint8_t stack[1 << 18];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    unsigned passed = 0, failed = 0, not_run = 0;
    sigaltstack(&alternative, NULL);
    sigaction(SIGTRAP, &action, NULL);
    if (argc > 1)
        return strncmp(argv[1], "--plant=", 8) == 0 ? planted(argv[1] + 8) : 2;
    const uint32_t features = sealane_cpu_features();
    for (int t = 0; t <= SEALANE_CHACHA20MASKS; t++)
        for (unsigned l = 0; l + 1 < sealane_tables[t].count; l++) { /* except portable, which is C */
            const sealane_level *level = &sealane_tables[t].levels[l];
            const int absent = (level->needs & ~features) != 0;
            const int good = absent ? -1 : (t < SEALANE_TABLES ? check_level : check_modes)(t, (int)l);
            passed += good == 1, failed += good == 0, not_run += good == -1;
            printf("%s %s %s: %zu stops%s\n",
                   good == 1   ? "ok  "
                   : good == 0 ? "FAIL"
                               : "not run",
                   sealane_tables[t].primitive, level->name, absent ? 0 : walk.stops,
                   absent ? ", this CPU lacks it" : "");
            fflush(stdout);
        }
    printf("unwind: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
