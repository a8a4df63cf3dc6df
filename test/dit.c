/* dit: during a call that processes secrets, the CPU's data-independent timing is on; afterwards its state is restored.
 *
 * For AArch64 CPUs with PSTATE.DIT; elsewhere nothing runs. A breakpoint replaces one instruction of the kernel, and
 * its signal shows the state of the CPU.
 *
 *     dit               all levels that this CPU can run
 *     dit --plant=off   with the library's CPU features overwritten: must fail */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../src/cpu.h"
#include "../src/dit.h"
#include "../src/key.h"

static unsigned passed, failed, not_run;

#if defined(__aarch64__)

enum { BRK_BYTES = 4 };
#define BRK 0xd4200000

static uint32_t *patched, original;
static unsigned stops, on; /* breakpoints reached, and those with the flag set */

static void put(uint32_t word)
{
    *patched = word;
    __builtin___clear_cache((char *)patched, (char *)patched + BRK_BYTES);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const ucontext_t *c = context;
    (void)number, (void)info;
    if (c->uc_mcontext.pc != (uintptr_t)patched)
        _exit(3);
    stops++, on += (c->uc_mcontext.pstate & DIT_BIT) != 0;
    put(original);
}

static uint64_t dit_now(void)
{
    uint64_t v;
    __asm__ volatile("mrs %0, s3_3_c4_c2_5" : "=r"(v) : : "memory");
    return v;
}

static sealane_key k;
static sealane_alg alg;
static uint8_t key[32] = {1}, nonce[24], ad[100], text[600], tag[16];
static int level;

static int do_key(void)
{
    return sealane_key_init_at(&k, alg, key, alg == SEALANE_AES_128_GCM ? 16 : 32, level);
}

static int do_seal(void)
{
    return sealane_seal(&k, text, tag, nonce, 12, NULL, 0, text, 100);
}

static int do_seal_long_nonce(void)
{
    return sealane_seal(&k, text, tag, nonce, alg == SEALANE_AES_128_GCM ? 24 : 12, ad, 5, text, 0);
}

static int do_open(void)
{
    return sealane_open(&k, text, tag, nonce, 12, NULL, 0, text, 100) > 0;
}

static int do_open_empty(void)
{
    return sealane_open(&k, NULL, tag, nonce, 12, NULL, 0, NULL, 0) > 0;
}

static int do_stream(void)
{
    sealane_stream s;
    return sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 12) | sealane_stream_ad(&s, ad, sizeof ad) |
           sealane_stream_update(&s, text, text, 200) | sealane_stream_seal_final(&s, tag);
}

static int do_batch(void)
{
    sealane_op ops[9];
    for (size_t i = 0; i < 9; i++)
        ops[i] = (sealane_op){.out = text + 64 * i, .in = text + 64 * i, .in_bytes = 64, .key = &k, .tag = tag};
    for (size_t i = 0; i < 9; i++)
        ops[i].nonce = nonce, ops[i].nonce_bytes = 12;
    return sealane_seal_batch(ops, 9) != 9;
}

/* Makes one call, with a given state of the caller. */
static int holds(const char *name, int (*call)(void), sealane_kernel *kernel, uint64_t before)
{
    patched = (uint32_t *)(uintptr_t)kernel, original = *patched;
    stops = on = 0;
    if (before)
        __asm__ volatile(".inst 0xd503415f" : : : "memory");
    else
        __asm__ volatile(".inst 0xd503405f" : : : "memory");
    put(BRK);
    const int bad = call();
    put(original);
    const uint64_t after = dit_now();
    __asm__ volatile(".inst 0xd503405f" : : : "memory");
    if (bad == 0 && stops == 1 && on == 1 && after == before)
        return 1;
    printf("     %s, DIT %s before: result %d, %u stops, on in %u, %s after it\n", name, before ? "on" : "off", bad,
           stops, on, after ? "on" : "off");
    return 0;
}

static int check_level(int table)
{
    static const struct {
        const char *name;
        int (*call)(void);
    } calls[] = {
        {"key set-up", do_key},
        {"seal", do_seal},
        {"seal with a long nonce", do_seal_long_nonce},
        {"open", do_open},
        {"open an empty packet", do_open_empty},
        {"stream", do_stream},
    };
    const sealane_level *l = &sealane_tables[table].levels[level];
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    sealane_kernel *const kernels[2] = {l->kernel, l->batch.kernel};
    int good = 1;
    for (int i = 0; i < 2 && kernels[i] != NULL; i++)
        if (mprotect((void *)((uintptr_t)kernels[i] & ~(page - 1)), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            return 0;
    alg = table == SEALANE_AESGCM ? SEALANE_AES_128_GCM : SEALANE_CHACHA20_POLY1305;
    if (do_key() != 0)
        return 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (uint64_t before = 0; before <= DIT_BIT; before += DIT_BIT)
            if (table == SEALANE_AESGCM || calls[i].call != do_key) /* ChaCha20 key set-up has no kernel */
                good &= holds(calls[i].name, calls[i].call, l->kernel, before);
    if (l->batch.kernel != NULL && sealane_level_batch(&sealane_tables[table], l) != NULL &&
        l->kernel != sealane_chacha20poly1305_portable && l->kernel != sealane_aesgcm_portable)
        for (uint64_t before = 0; before <= DIT_BIT; before += DIT_BIT)
            good &= holds("batch", do_batch, l->batch.kernel, before);
    return good;
}

static void run(int plant)
{
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    const uint32_t features = sealane_cpu_features();
    sigaction(SIGTRAP, &action, NULL);
    if (!sealane_cpu_has_dit()) {
        const uint64_t before = dit_on();
        dit_restore(before);
        printf("not run: this CPU has no PSTATE.DIT\n");
        not_run++;
        return;
    }
    if (plant)
        atomic_store(&sealane_dit, DIT_ABSENT);
    for (int t = 0; t < SEALANE_TABLES; t++)
        for (level = 0; level < (int)sealane_tables[t].count; level++) {
            const sealane_level *l = &sealane_tables[t].levels[level];
            const int absent = (l->needs & ~features) != 0, good = absent ? -1 : check_level(t);
            passed += good == 1, failed += good == 0, not_run += good == -1;
            printf("%s %s %s\n",
                   good == 1   ? "ok  "
                   : good == 0 ? "FAIL"
                               : "not run",
                   sealane_tables[t].primitive, l->name);
        }
}

#else

static void run(int plant)
{
    (void)plant;
    printf("not run: no PSTATE.DIT on this architecture\n");
    not_run++;
}

#endif

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--plant=off") != 0)
        return 2;
    run(argc > 1);
    printf("dit: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
