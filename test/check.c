/* check: compares every level with the portable code, and benchmarks all of them.
 *
 *     check                   all checks of every level that this CPU can run
 *     check --seed=N          repeats random choices; by default from the environment SEALANE_SEED, or new ones
 *     check --some            a fifth of the cases, for emulated CPUs and further builds of the same code
 *     check --level=NAME      only one level, of all primitives that have it
 *     check --primitive=NAME  only chacha20poly1305, aesgcm, aes or chacha20masks
 *     check --corrupt=NAME    the same with a kernel that is wrong in one way: must fail
 *     check --list            the names of the corrupters, of ChaCha20-Poly1305 or of the --primitive before it
 *     check --levels          all levels but portable: primitive, name, and whether this CPU "runs" or "lacks" it
 *     check --bench           nanoseconds and megabytes per second; with --short few sizes, of the best level
 *
 * A trampoline calls the kernels and checks the calling convention. Buffers end or start at an inaccessible page. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/aes.h"
#include "../src/aesmodes.h"
#include "../src/batch.h"
#include "../src/cpu.h"
#include "../src/ghash.h"
#include "../src/key.h"
#include "scratch.h"
#include "seed.h"

/* The parts of this program, each after those that it needs. */
#include "guarded.h"
#include "abi.h"
#include "packet.h"
#include "packets.h"

/* A kernel that is wrong in one way. */
#define CORRUPTER_OF(kind, id)                                                             \
    static void id##_with(const sealane_##kind##_args *, void *, const void *);            \
    static void SEALANE_KERNEL_ABI id(const void *args, void *scratch, const void *consts) \
    {                                                                                      \
        id##_with(args, scratch, consts);                                                  \
    }                                                                                      \
    static void id##_with(const sealane_##kind##_args *a, void *scratch, const void *consts)
#define CORRUPTER(id) CORRUPTER_OF(packet, id)
#define INNER() corrupt_inner(a, scratch, consts)

#include "batches.h"

static int corrupting_is(const char *name);

#include "packets_gcm.h"

typedef struct {
    const char *name;
    int (*run)(void);
} group;

#include "modes.h"

static const group groups[] = {
    {"lengths", group_lengths}, {"alignment", group_alignment}, {"associated-data", group_ad},
    {"parts", group_parts},     {"counter", group_counter},     {"edge", group_edge},
    {"long", group_long},       {"batches", group_batches},
};

static const group gcm_groups[] = {
    {"lengths", group_lengths},     {"alignment", group_alignment}, {"associated-data", group_ad},
    {"parts", group_parts},         {"counter", group_gcm_counter}, {"edge", group_gcm_edge},
    {"long", group_long},           {"batches", group_batches},
#if defined(SEALANE_SIV_KERNELS)
    {"polyval", group_gcm_polyval},
#endif
};

/* For levels that have a batch kernel. */
static const group batch_groups[] = {
    {"batch-lengths", group_batch_lengths},
    {"batch-edge", group_batch_edge},
    {"batch-mixes", group_batch_mixes},
};

#include "corrupters.h"
#include "dispatch.h"
#include "max_level.h"
#include "primitives.h"

static const group process_groups[] = {
    {"primitives give their specifications' answers", check_primitives},
    {"AES gives its specification's answers", check_aes},
    {"GHASH multiplies by the definition", check_ghash},
    {"self-test is obeyed", check_selftest},
    {"microarchitectures", check_microarchitecture},
    {"where the choice starts", check_start},
    {"environment is obeyed", check_environment},
    {"a process whose level fails", check_failing},
    {"the program's cap is obeyed", check_max_level},
};

#include "benchmark.h"

/* ---- main ---- */

static unsigned passed, failed, not_run;

/* Levels of ChaCha20-Poly1305 are reported without the primitive. */
static void report(const char *level, const char *name, int outcome)
{
    char text_of_job[512] = "";
    passed += outcome == 1, failed += outcome == 0, not_run += outcome == -1;
    if (outcome == 0 && now.level.name)
        describe(text_of_job, sizeof text_of_job);
    printf("%s %s%s%s/%s%s%s\n",
           outcome == 1   ? "ok  "
           : outcome == 0 ? "FAIL"
                          : "not run",
           now.level.name && now.primitive != SEALANE_CHACHA20POLY1305 ? sealane_tables[now.primitive].primitive : "",
           now.level.name && now.primitive != SEALANE_CHACHA20POLY1305 ? " " : "", level, name,
           outcome == 0 ? ": " : "", outcome == 0 ? failure : "");
    if (*text_of_job)
        printf("     %s\n", text_of_job);
    fflush(stdout);
    if (corrupting && outcome == 0)
        exit(1);
}

static void run_groups(const group *g, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        now.group = g[i].name;
        report(now.level.name, g[i].name, g[i].run());
    }
}

static void check_level(const sealane_table *table, const sealane_level *level, uint32_t features)
{
    static const struct {
        const group *groups;
        size_t count;
    } of[SEALANE_ALL_TABLES] = {{groups, sizeof groups / sizeof *groups},
                                {gcm_groups, sizeof gcm_groups / sizeof *gcm_groups},
                                {mode_groups, sizeof mode_groups / sizeof *mode_groups},
                                {mask_groups, sizeof mask_groups / sizeof *mask_groups}};
    const int primitive = (int)(table - sealane_tables);
    const group *all = of[primitive].groups;
    const size_t count = of[primitive].count;
    if (level->needs & ~features) {
        printf("not run: %s %s, this CPU lacks it\n", table->primitive, level->name);
        not_run += (unsigned)count;
        return;
    }
    memset(&now, 0, sizeof now);
    now.level = *level, now.primitive = primitive, now.gcm = primitive == SEALANE_AESGCM;
    if (primitive == SEALANE_CHACHA20POLY1305 && level->kernel == sealane_chacha20poly1305_portable)
        now.level.batch = portable_batch;
    if (corrupting && corrupting->kernel) {
        corrupt_inner = level->kernel;
        now.level.kernel = corrupting->kernel;
    }
    if (corrupting && corrupting->batch) {
        corrupt_batch = now.level.batch;
        now.level.batch.kernel = corrupting->batch;
    }
    if (corrupting == NULL || corrupting->batch == NULL)
        run_groups(all, count);
    if (now.level.batch.kernel)
        run_groups(batch_groups, sizeof batch_groups / sizeof *batch_groups);
    now.level.name = NULL;
}

static void catch_faults(void)
{
    static uint8_t stack[1 << 16];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

/* The corrupters of a primitive in order; NULL after the last. Modes have only their own. */
static const corrupter *corrupter_at(size_t i, int primitive)
{
    static const struct {
        const corrupter *rows;
        size_t count;
    } own[SEALANE_ALL_TABLES] = {{chacha_corrupters, sizeof chacha_corrupters / sizeof *chacha_corrupters},
                                 {gcm_corrupters, sizeof gcm_corrupters / sizeof *gcm_corrupters},
                                 {mode_corrupters, sizeof mode_corrupters / sizeof *mode_corrupters},
                                 {mask_corrupters, sizeof mask_corrupters / sizeof *mask_corrupters}};
    const int p = primitive < 0 ? SEALANE_CHACHA20POLY1305 : primitive;
    const size_t common = p < SEALANE_TABLES ? sizeof corrupters / sizeof *corrupters : 0;
    if (i < common)
        return &corrupters[i];
    return i - common < own[p].count ? &own[p].rows[i - common] : NULL;
}

static void list_levels(uint32_t features)
{
    for (const sealane_table *t = sealane_tables; t < sealane_tables + SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i + 1 < t->count; i++)
            printf("%s %s %s\n", t->primitive, t->levels[i].name, t->levels[i].needs & ~features ? "lacks" : "runs");
}

static int find_corrupter(const char *name, int primitive)
{
    for (size_t i = 0; corrupter_at(i, primitive); i++)
        if (strcmp(corrupter_at(i, primitive)->name, name) == 0)
            corrupting = corrupter_at(i, primitive);
    return corrupting != NULL;
}

static int find_primitive(const char *name)
{
    for (int i = 0; i < SEALANE_ALL_TABLES; i++)
        if (strcmp(sealane_tables[i].primitive, name) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int want_bench = 0, is_short = 0, primitive = -1;
    seed = seed_of_run();
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--seed=", 7) == 0) {
            seed = strtoull(argv[i] + 7, NULL, 0);
        } else if (strncmp(argv[i], "--level=", 8) == 0) {
            only = argv[i] + 8;
        } else if (strcmp(argv[i], "--bench") == 0) {
            want_bench = 1;
        } else if (strcmp(argv[i], "--short") == 0) {
            is_short = 1;
        } else if (strcmp(argv[i], "--some") == 0) {
            some = 1;
        } else if (strcmp(argv[i], "--levels") == 0) {
            list_levels(sealane_cpu_features());
            return 0;
        } else if (strcmp(argv[i], "--list") == 0) {
            for (size_t j = 0; corrupter_at(j, primitive); j++)
                puts(corrupter_at(j, primitive)->name);
            return 0;
        } else if (strncmp(argv[i], "--primitive=", 12) == 0 && find_primitive(argv[i] + 12) >= 0) {
            primitive = find_primitive(argv[i] + 12);
        } else if (strncmp(argv[i], "--corrupt=", 10) != 0 || !find_corrupter(argv[i] + 10, primitive)) {
            fprintf(stderr, "check: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    int known = only == NULL;
    for (int i = 0; i < SEALANE_ALL_TABLES; i++)
        known |= only && sealane_level_find(&sealane_tables[i], only) >= 0;
    if (!known) {
        fprintf(stderr, "check: no level %s in this build\n", only);
        return 2;
    }
    if (want_bench)
        return bench(only, is_short);

    const uint32_t features = sealane_cpu_features();
#if defined(__arm__)
    abi_vector_bytes = features & SEALANE_ARM_NEON ? 8 : 0;
#elif defined(__x86_64__)
    abi_vector_bytes = features & SEALANE_X86_AVX512F ? 64 : features & SEALANE_X86_AVX ? 32 : 16;
#endif
    printf("check: seed %#llx%s%s\n", (unsigned long long)seed, corrupting ? ", corrupter " : "",
           corrupting ? corrupting->name : "");
    catch_faults();
    arenas_new();
    mode_arenas_new();
    /* Process-wide checks cannot find a corrupted kernel. */
    const int of_kernels = corrupting && (corrupting->kernel || corrupting->batch);
    for (size_t i = 0; !of_kernels && i < sizeof process_groups / sizeof *process_groups; i++)
        report("dispatch", process_groups[i].name, process_groups[i].run());
    for (int t = 0; t < SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i < sealane_tables[t].count; i++) {
            const sealane_level *level = &sealane_tables[t].levels[i];
            if ((primitive < 0 || primitive == t) && (only == NULL || strcmp(only, level->name) == 0))
                check_level(&sealane_tables[t], level, features);
        }
    printf("check: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
