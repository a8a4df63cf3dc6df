/* Data-independent timing (Arm ARM, FEAT_DIT). While PSTATE.DIT is set, the instructions that the architecture lists
 * take the same time for all data. Without it, a CPU since Armv8.4 may be faster for some values. The flag belongs to a
 * thread. Setting and restoring it costs two writes, which take effect in program order without a barrier. */
#ifndef SEALANE_SRC_DIT_H
#define SEALANE_SRC_DIT_H

#include <stdint.h>

#if defined(__aarch64__) && defined(__GNUC__)

#include <stdatomic.h>

#define DIT_BIT ((uint64_t)1 << 24)

enum { DIT_UNKNOWN, DIT_ABSENT, DIT_PRESENT };

/* The instructions below, if this CPU has the flag. */
#if defined(_WIN32)
extern _Atomic unsigned char sealane_dit;
#else
extern __attribute__((visibility("hidden"))) _Atomic unsigned char sealane_dit;
#endif
unsigned char sealane_ask_for_dit(void);

/* Sets the flag if the CPU has it; returns the argument of dit_restore. */
static inline uint64_t dit_on(void)
{
    uint64_t before = DIT_BIT;
    unsigned char dit = atomic_load_explicit(&sealane_dit, memory_order_relaxed);
    if (dit == DIT_UNKNOWN)
        dit = sealane_ask_for_dit();
    if (dit == DIT_PRESENT)
        __asm__ volatile("mrs %0, s3_3_c4_c2_5\n\t" /* DIT */
                         ".inst 0xd503415f"         /* msr dit, #1 */
                         : "=r"(before)
                         :
                         : "memory");
    return before;
}

static inline void dit_restore(uint64_t before)
{
    if (!(before & DIT_BIT))
        __asm__ volatile(".inst 0xd503405f" : : : "memory"); /* msr dit, #0 */
}

#else

static inline uint64_t dit_on(void)
{
    return 0;
}

static inline void dit_restore(uint64_t before)
{
    (void)before;
}

#endif

#endif
