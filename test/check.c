/* check: every level against the portable code, and a benchmark of all of them.
 *
 *     check                  all checks of every level that this CPU can run
 *     check --seed=N         the same random choices again
 *     check --level=NAME     one level only, of all primitives that have it
 *     check --primitive=NAME chacha20poly1305, aesgcm, aes, chacha20masks: only that; with --list and --corrupt, its
 * corrupters check --corrupt=NAME   the same with a kernel that is wrong in one way: must fail check --list the names
 * of the corrupters check --bench          nanoseconds and megabytes per second; with --short only a few sizes of the
 * best level
 *
 * Kernels are called through a trampoline that watches the calling convention, on buffers that end or begin at a page
 * that cannot be touched. */
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

/* ---- Random numbers (splitmix64) ---- */

static uint64_t seed;

static uint64_t random64(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(random64() % n);
}

static void randomise(void *p, size_t bytes)
{
    uint8_t *b = p;
    for (; bytes >= 8; bytes -= 8, b += 8)
        store64(b, random64());
    for (; bytes > 0; bytes--)
        *b++ = (uint8_t)random64();
}

/* ---- Memory between two pages that cannot be touched ---- */

typedef struct {
    uint8_t *base;
    size_t room;
} arena;

static arena arena_new(size_t room)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    room = (room + page - 1) / page * page;
    uint8_t *p = mmap(NULL, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 || mprotect(p + page + room, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(2);
    }
    return (arena){p + page, room};
}

/* bytes that end at the upper guard page, or begin skew bytes behind the lower one. */
static uint8_t *arena_place(const arena *a, size_t bytes, int at_end, size_t skew)
{
    return at_end ? a->base + a->room - bytes : a->base + skew;
}

enum { LONGEST = 1 << 17, LONGEST_AD = 1 << 13, CANARY = 96 };

static arena arena_out, arena_in, arena_ad, arena_key, arena_nonce, arena_tag, arena_state, arena_args, arena_scratch,
    arena_batch_scratch;

static void arenas_new(void)
{
    arena_out = arena_new(LONGEST), arena_in = arena_new(LONGEST), arena_ad = arena_new(LONGEST_AD);
    arena_key = arena_new(1), arena_nonce = arena_new(1), arena_tag = arena_new(1), arena_state = arena_new(1);
    arena_args = arena_new(1), arena_scratch = arena_new(SEALANE_SCRATCH_BYTES);
    arena_batch_scratch = arena_new(SEALANE_BATCH_SCRATCH_BYTES);
}

/* ---- Calling convention (abi_x86_64.S, abi_aarch64.S, abi_arm.S) ---- */

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

void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);

static void call_watched(sealane_kernel *kernel, const sealane_args *a, void *scratch, const void *consts)
{
    randomise(abi_before.general, sizeof abi_before.general);
    for (int i = 6; i < 16; i++)
        randomise(abi_before.vector[i], 16);
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
#elif defined(__aarch64__) || (defined(__arm__) && defined(__ARM_ARCH_ISA_ARM))
#define HAVE_ABI_CHECK 1

void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);

static void call_watched(sealane_kernel *kernel, const sealane_args *a, void *scratch, const void *consts)
{
    randomise(abi_before.general, sizeof abi_before.general);
    randomise(abi_before.vector, sizeof abi_before.vector);
    abi_call(kernel, a, scratch, consts);
}

static const char *abi_violation(void)
{
    static char text[64];
#if defined(__aarch64__)
    static const char *const names[] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"};
    const int same_control = abi_before.fpcr == abi_after.fpcr;
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
    for (int i = 0; i < 8; i++)
        if (abi_before.vector[i] != abi_after.vector[i]) {
            snprintf(text, sizeof text, "d%d was not preserved", i + 8);
            return text;
        }
    return NULL;
}
#else
#define HAVE_ABI_CHECK 0

static void call_watched(sealane_kernel *kernel, const sealane_args *a, void *scratch, const void *consts)
{
    kernel(a, scratch, consts);
}

static const char *abi_violation(void)
{
    return NULL;
}
#endif

/* ---- One packet, run on a level and compared with the portable code ---- */

enum { MAX_PARTS = 8 };

typedef struct {
    sealane_level level; /* its kernel may be a corrupter */
    int primitive;       /* SEALANE_CHACHA20POLY1305, ... */
    int gcm;             /* of AES-GCM; else of ChaCha20-Poly1305 */
    const char *group;
    size_t bytes, ad_bytes;
    int open, in_place, at_end;
    size_t skew_out, skew_in, skew_ad;
    const sealane_state *start; /* NULL: from the packet's beginning; not of AES-GCM */
    int rounds;                 /* AES-GCM: of AES */
    int with_j0;                /* AES-GCM: nonce is all of J0 */
    uint32_t counter;           /* AES-GCM: in J0 */
    int fill;                   /* -1: random text; else a byte */
    unsigned parts;
    size_t ends[MAX_PARTS]; /* where each part ends; the last at bytes */
    unsigned by_portable;   /* bit i: the portable code runs part i */
    unsigned part;          /* the one in progress */
} job;

static job now;
static char failure[256];

static int fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    return 0;
}

static void describe_mode(char *text, size_t room);

static void describe(char *text, size_t room)
{
    if (now.primitive >= SEALANE_TABLES) {
        describe_mode(text, room);
        return;
    }
    if (strncmp(now.group, "batch", 5) == 0) {
        snprintf(text, room, "%s/%s: %s, packet or lane %u", now.level.name, now.group, now.open ? "open" : "seal",
                 now.part);
        return;
    }
    char aes[40] = "";
    if (now.gcm)
        snprintf(aes, sizeof aes, ", %d rounds, %s %#x", now.rounds, now.with_j0 ? "J0" : "nonce", now.counter);
    snprintf(text, room, "%s/%s: %s %zu bytes, ad %zu, %s, %s, skew out %zu in %zu ad %zu, part %u of %u%s%s",
             now.level.name, now.group, now.open ? "open" : "seal", now.bytes, now.ad_bytes,
             now.in_place ? "in place" : "apart", now.at_end ? "before a guard page" : "after a guard page",
             now.skew_out, now.skew_in, now.skew_ad, now.part + 1, now.parts, now.start ? ", from a given state" : "",
             aes);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    char text[512];
    (void)context;
    describe(text, sizeof text);
    char line[640];
    int n = snprintf(line, sizeof line, "FAIL %s: signal %d at address %p\n", text, signal_number, info->si_addr);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(3);
    _exit(1);
}

/* Everything about one packet that is random. */
static uint8_t key[32], nonce[16], ad[LONGEST_AD], text[LONGEST], expected[LONGEST], expected_tag[16];
static sealane_gcm_key portable_key; /* key, for portable code */

typedef union {
    sealane_state chacha;
    sealane_gcm_state gcm;
} state_of_either;

_Static_assert(sizeof(sealane_state) == sizeof(sealane_gcm_state), "one size for both");

static size_t key_size(void)
{
    return now.gcm ? sizeof(sealane_gcm_key) : 32;
}

static size_t nonce_size(void)
{
    return now.with_j0 ? 16 : 12;
}

static void portable(sealane_args a, state_of_either *state, uint64_t flags)
{
    a.state = slot(state), a.flags = flags;
    if (now.gcm) {
        a.key = slot(&portable_key);
        sealane_aesgcm_portable(&a, NULL, NULL);
    } else {
        sealane_chacha20poly1305_portable(&a, NULL, NULL);
    }
}

static uint64_t first_flags(void)
{
    return SEALANE_FLAG_FIRST | (now.gcm && !now.with_j0 ? SEALANE_FLAG_NONCE : 0);
}

static void expect(void)
{
    state_of_either state;
    const sealane_args a = {
        .out = slot(expected),
        .in = slot(text),
        .bytes = now.bytes,
        .ad = slot(ad),
        .ad_bytes = now.ad_bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .tag = slot(expected_tag),
        .total = now.bytes,
    };
    if (now.start)
        state.chacha = *now.start;
    portable(a, &state, (now.start ? 0 : first_flags()) | SEALANE_FLAG_LAST | (now.open ? SEALANE_FLAG_OPEN : 0));
}

/* h mod p, by the definition. */
static void reduced(uint64_t out[3], const uint64_t h[3])
{
    sealane_state s = {.h = {h[0], h[1], h[2]}};
    uint64_t a[3] = {s.h[0], s.h[1], s.h[2]};
    for (int i = 0; i < 8; i++) { /* below 2^131 is below 3p: more than enough subtractions of p */
        uint64_t b0 = a[0] + 5, c0 = b0 < 5;
        uint64_t b1 = a[1] + c0, c1 = b1 < c0;
        uint64_t b2 = a[2] + c1;
        if (b2 < 4)
            break;
        a[0] = b0, a[1] = b1, a[2] = b2 - 4;
    }
    memcpy(out, a, sizeof a);
}

static int same_gcm_state(const sealane_gcm_state *got, const sealane_gcm_state *want)
{
    if (memcmp(got->y, want->y, sizeof got->y) != 0)
        return fail("wrong GHASH in the state");
    if (memcmp(got->counter, want->counter, sizeof got->counter) != 0)
        return fail("wrong counter block in the state");
    return memcmp(got->mask, want->mask, sizeof got->mask) == 0 || fail("wrong encrypted J0 in the state");
}

static int same_state(const state_of_either *either, const state_of_either *wanted)
{
    const sealane_state *got = &either->chacha, *want = &wanted->chacha;
    uint64_t g[3], w[3];
    if (now.gcm)
        return same_gcm_state(&either->gcm, &wanted->gcm);
    if (got->h[2] > 7)
        return fail("the accumulator left in the state is not below 2^131");
    reduced(g, got->h), reduced(w, want->h);
    if (memcmp(g, w, sizeof g) != 0)
        return fail("wrong accumulator in the state");
    if (memcmp(got->r, want->r, sizeof got->r) != 0 || memcmp(got->s, want->s, sizeof got->s) != 0)
        return fail("wrong Poly1305 key in the state");
    if ((uint32_t)got->counter != (uint32_t)want->counter) /* behind the last block there is: 2^32, or 0 */
        return fail("counter %llu in the state instead of %llu", (unsigned long long)got->counter,
                    (unsigned long long)want->counter);
    return 1;
}

/* Where the scratch memory of a level's kernel ends; a Go frame has no more. */
static size_t scratch_end(const sealane_level *level)
{
    for (size_t i = 0; scratch_ends[i].level != NULL; i++)
        if (strcmp(scratch_ends[i].primitive, sealane_tables[now.primitive].primitive) == 0 &&
            strcmp(scratch_ends[i].level, level->name) == 0)
            return scratch_ends[i].end;
    return SEALANE_SCRATCH_BYTES;
}

static int scratch_wiped(const arena *a, size_t end, uint8_t pattern)
{
    const uint8_t *scratch = a->base;
    for (size_t i = a->room; i-- > SEALANE_SCRATCH_SAVE_BYTES;)
        if (scratch[i] != pattern && (scratch[i] != 0 || i >= end))
            return fail(i < end ? "scratch byte %zu was written and not wiped"
                                : "scratch byte %zu was written, behind the end that the kernel states",
                        i);
    return 1;
}

/* One call of a kernel, its arguments and scratch memory watched. */
static int call_kernel(const sealane_args *a, sealane_kernel *kernel, const void *consts, const arena *scratch,
                       size_t end)
{
    sealane_args *args = (void *)arena_place(&arena_args, sizeof *args, 1, 0);
    const uint8_t pattern = (uint8_t)(random64() | 1);
    *args = *a;
    memset(scratch->base, pattern, scratch->room);
    call_watched(kernel, args, scratch->base, consts);
    const char *violation = HAVE_ABI_CHECK ? abi_violation() : NULL;
    if (violation)
        return fail("%s", violation);
    if (memcmp(args, a, sizeof *a) != 0)
        return fail("the arguments were changed");
    return kernel == sealane_chacha20poly1305_portable || scratch_wiped(scratch, end, pattern);
}

static int call_part(const sealane_args *a, const sealane_level *level)
{
    return call_kernel(a, level->kernel, level->consts, &arena_scratch, scratch_end(level));
}

static int run_parts(sealane_args a, state_of_either *state, uint8_t *tag)
{
    static uint8_t unused_out[LONGEST], copy_in[LONGEST];
    static uint8_t unused_tag[16];
    const sealane_level by_portable = {.name = "portable",
                                       .kernel = now.gcm ? sealane_aesgcm_portable : sealane_chacha20poly1305_portable};
    const uint64_t out = a.out, in = a.in;
    size_t done = 0;
    for (now.part = 0; now.part < now.parts; done = now.ends[now.part++]) {
        const int first = now.part == 0 && !now.start, last = now.part + 1 == now.parts;
        a.out = out + done, a.in = in + done, a.bytes = now.ends[now.part] - done;
        const int public_counter = now.gcm && !now.with_j0 && now.part % 2;
        a.flags = (first            ? first_flags()
                   : public_counter ? SEALANE_FLAG_NONCE
                                    : 0) |
                  (last ? SEALANE_FLAG_LAST : 0) | (now.open ? SEALANE_FLAG_OPEN : 0);
        state_of_either want = *state;
        if (!last) {
            sealane_args w = a;
            if (a.bytes)
                memcpy(copy_in, slot_bytes(a.in), a.bytes);
            w.out = slot(unused_out), w.in = slot(copy_in), w.tag = slot(unused_tag);
            portable(w, &want, a.flags);
        }
        const int is_portable = now.by_portable >> now.part & 1;
        sealane_args call = a;
        if (is_portable && now.gcm)
            call.key = slot(&portable_key);
        if (!call_part(&call, is_portable ? &by_portable : &now.level))
            return 0;
        if (last ? memcmp(state, &want, sizeof want) != 0 : !same_state(state, &want))
            return last ? fail("the state was written with LAST") : 0;
        for (int i = 0; !last && i < 16; i++)
            if (tag[i] != 0xa5)
                return fail("the tag was written without LAST");
    }
    return 1;
}

static int only_output_written(const uint8_t *out)
{
    const uint8_t *low = out - arena_out.base < CANARY ? arena_out.base : out - CANARY;
    const uint8_t *end = out + now.bytes, *top = arena_out.base + arena_out.room;
    const uint8_t *high = top - end < CANARY ? top : end + CANARY;
    for (const uint8_t *p = low; p < high; p++)
        if ((p < out || p >= end) && *p != 0xc3)
            return fail("byte %td relative to the output was written", p - out);
    return 1;
}

/* Makes the key at keys, as the kernel wants it. */
static int set_up_key(uint8_t *keys)
{
    memcpy(keys, key, 32);
    if (!now.gcm)
        return 1;
    const size_t raw_bytes = (size_t)(4 * now.rounds - 24);
    const sealane_args a = {.key = slot(&portable_key), .flags = SEALANE_FLAG_SETUP};
    sealane_args b = a;
    sealane_gcm_key *k = (sealane_gcm_key *)(void *)keys;
    randomise(k, sizeof *k);
    k->rounds = portable_key.rounds = (uint64_t)now.rounds;
    memcpy(k->schedule, key, raw_bytes), memcpy(portable_key.schedule, key, raw_bytes);
    sealane_aesgcm_portable(&a, NULL, NULL);
    b.key = slot(k);
    if (!call_part(&b, &now.level))
        return 0;
    return k->rounds == (uint64_t)now.rounds || fail("the number of rounds was changed");
}

static int run_now(void)
{
    uint8_t *out = arena_place(&arena_out, now.bytes, now.at_end, now.skew_out);
    uint8_t *in = now.in_place ? out : arena_place(&arena_in, now.bytes, now.at_end, now.skew_in);
    uint8_t *ads = arena_place(&arena_ad, now.ad_bytes, now.at_end, now.skew_ad);
    uint8_t *keys = arena_place(&arena_key, key_size(), now.at_end, now.gcm ? now.skew_in & ~(size_t)7 : now.skew_in);
    uint8_t *nonces = arena_place(&arena_nonce, nonce_size(), now.at_end, now.skew_ad);
    uint8_t *tag = arena_place(&arena_tag, 16, now.at_end, now.skew_out);
    static uint8_t keys_before[sizeof(sealane_gcm_key)];
    state_of_either *state = (void *)arena_place(&arena_state, sizeof *state, now.at_end, 0);

    randomise(key, 32), randomise(nonce, 16), randomise(ad, now.ad_bytes);
    if (now.with_j0)
        store32(nonce + 12, swap32(now.counter));
    if (!set_up_key(keys))
        return 0;
    memcpy(keys_before, keys, key_size());
    if (now.fill < 0)
        randomise(text, now.bytes);
    else
        memset(text, now.fill, now.bytes);
    expect();

    const size_t low = (size_t)(out - arena_out.base) < CANARY ? (size_t)(out - arena_out.base) : CANARY;
    const size_t above = (size_t)(arena_out.base + arena_out.room - out);
    memset(out - low, 0xc3, low + (above < now.bytes + CANARY ? above : now.bytes + CANARY));
    if (now.bytes)
        memcpy(in, text, now.bytes);
    memcpy(ads, ad, now.ad_bytes), memcpy(nonces, nonce, nonce_size());
    memset(tag, 0xa5, 16);
    if (now.start)
        state->chacha = *now.start;
    else
        randomise(state, sizeof *state);

    const sealane_args a = {
        .out = slot(now.bytes ? out : NULL),
        .in = slot(now.bytes ? in : NULL),
        .ad = slot(now.ad_bytes ? ads : NULL),
        .ad_bytes = now.ad_bytes,
        .key = slot(keys),
        .nonce = slot(nonces),
        .tag = slot(tag),
        .state = slot(now.parts == 1 && !now.start ? NULL : state),
        .total = now.bytes,
    };
    if (!run_parts(a, state, tag))
        return 0;
    for (size_t i = 0; i < now.bytes; i++)
        if (out[i] != expected[i])
            return fail("output byte %zu is wrong", i);
    if (memcmp(tag, expected_tag, 16) != 0)
        return fail("wrong tag");
    if (!now.in_place && now.bytes && memcmp(in, text, now.bytes) != 0)
        return fail("the input was changed");
    if (memcmp(ads, ad, now.ad_bytes) || memcmp(keys, keys_before, key_size()) || memcmp(nonces, nonce, nonce_size()))
        return fail("associated data, key or nonce was changed");
    return only_output_written(out);
}

/* A packet in one part, placed at random; the groups below change what they are about. */
static void plain_job(size_t bytes)
{
    now.bytes = bytes, now.ad_bytes = below(33);
    now.open = (int)below(2), now.in_place = (int)below(2), now.at_end = (int)below(2);
    now.skew_out = now.skew_in = now.skew_ad = 0;
    now.start = NULL, now.fill = -1;
    now.rounds = 10 + 2 * (int)below(3);
    now.with_j0 = now.gcm && below(4) == 0;
    now.counter = now.with_j0 ? (uint32_t)random64() : 1;
    now.parts = 1, now.ends[0] = bytes, now.by_portable = 0, now.part = 0;
}

/* Cuts the job into parts: multiples of 64 bytes, now and then of none. */
static void cut(unsigned parts)
{
    size_t at = 0;
    now.parts = parts;
    for (unsigned i = 0; i + 1 < parts; i++) {
        size_t left = (now.bytes - at) / 64;
        at += below(4) == 0 ? 0 : 64 * below(left + 1);
        now.ends[i] = at;
    }
    now.ends[parts - 1] = now.bytes;
}

/* ---- The groups of checks ---- */

static int group_lengths(void)
{
    for (size_t bytes = 0; bytes <= 1100; bytes++)
        for (int way = 0; way < 8; way++) {
            plain_job(bytes);
            now.open = way & 1, now.in_place = way >> 1 & 1, now.at_end = way >> 2;
            if (!run_now())
                return 0;
        }
    return 1;
}

static int group_long(void)
{
    for (int i = 0; i < 250; i++) {
        plain_job(1101 + below(i < 200 ? 8000 : LONGEST - 1101 - 64));
        if (!run_now())
            return 0;
    }
    return 1;
}

static int group_alignment(void)
{
    static const size_t sizes[] = {1, 16, 63, 64, 100, 128, 255, 256, 511, 577, 1024, 1420};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t out = 0; out < 64; out++)
            for (int way = 0; way < 4; way++) {
                plain_job(sizes[i]);
                now.open = way & 1, now.in_place = way >> 1, now.at_end = 0;
                now.skew_out = out, now.skew_in = below(64), now.skew_ad = below(64);
                if (!run_now())
                    return 0;
            }
    return 1;
}

static int group_ad(void)
{
    static const size_t sizes[] = {0, 1, 64, 100, 300, 600};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t ad_bytes = 0; ad_bytes <= 160; ad_bytes++)
            for (int way = 0; way < 4; way++) {
                plain_job(sizes[i]);
                now.ad_bytes = ad_bytes <= 128 ? ad_bytes : 129 + below(LONGEST_AD - 129);
                now.open = way & 1, now.at_end = way >> 1;
                if (!run_now())
                    return 0;
            }
    return 1;
}

static int group_parts(void)
{
    for (int i = 0; i < 4000; i++) {
        plain_job(below(i < 3500 ? 2400 : 20000));
        cut(2 + (unsigned)below(MAX_PARTS - 1));
        now.by_portable = below(2) ? (unsigned)random64() : 0;
        if (!run_now())
            return 0;
    }
    return 1;
}

/* Packets whose last block has the highest counter there is, 2^32 - 1 (RFC 8439, section 2.8). */
static int group_counter(void)
{
    sealane_state start;
    for (uint64_t blocks = 1; blocks <= 70; blocks++)
        for (int way = 0; way < 8; way++) {
            plain_job(64 * (size_t)blocks - (way & 1 ? below(64) : 0));
            randomise(&start, sizeof start);
            start.h[2] &= 7, start.r[0] &= 0x0ffffffc0fffffff, start.r[1] &= 0x0ffffffc0ffffffc;
            start.counter = ((uint64_t)1 << 32) - blocks;
            now.start = &start;
            now.ad_bytes = 0;
            if (way >> 1 == 3)
                cut(2);
            if (!run_now())
                return 0;
        }
    return 1;
}

/* Accumulators and keys next to p = 2^130 - 5 and to their largest values; texts of all ones and all zeroes. With r = 1
 * a final accumulator is the sum of all blocks, and is steered to each of p - 8 to p + 8. */
static int group_edge(void)
{
    static const uint64_t ones = ~(uint64_t)0;
    static const uint64_t r_edges[][2] = {{0, 0},
                                          {1, 0},
                                          {4, 0},
                                          {0x0ffffffc0fffffff, 0x0ffffffc0ffffffc},
                                          {0, 0x0ffffffc0ffffffc},
                                          {0x0ffffffc0fffffff, 0}};
    static const uint64_t h_edges[][3] = {
        {0, 0, 0},    {ones - 4, ones, 3}, {ones - 5, ones, 3}, {ones, ones, 3}, {ones, ones, 7}, {0, 0, 4},
        {ones, 0, 0}, {ones, ones, 0},     {ones - 4, ones, 7}, {0, ones, 3},    {5, 0, 4}};
    static const size_t sizes[] = {0, 1, 16, 17, 48, 64, 128, 192, 256, 300, 511, 512, 513, 1024, 1100, 2048, 3000};
    sealane_state start = {.counter = 1};
    now.start = &start;
    for (size_t r = 0; r < sizeof r_edges / sizeof *r_edges; r++)
        for (size_t h = 0; h < sizeof h_edges / sizeof *h_edges; h++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (int fill = 0; fill < 3; fill++) {
                    plain_job(sizes[i]);
                    memcpy(start.r, r_edges[r], 16), memcpy(start.h, h_edges[h], 24);
                    memset(start.s, fill == 2 ? 0 : 0xff, 16);
                    start.counter = 1 + below(1000);
                    now.start = &start, now.open = 1, now.ad_bytes = 0;
                    now.fill = fill == 0 ? 0 : fill == 1 ? 0xff : 0xfb;
                    if (!run_now())
                        return 0;
                }
    for (int d = -8; d <= 8; d++) {
        plain_job(0);
        start = (sealane_state){.h = {(uint64_t)(-5 + d), d < 5 ? ones : 0, d < 5 ? 3 : 4}, .r = {1, 0}, .counter = 1};
        start.h[2] -= 1; /* the length block, all zero, brings 2^128 */
        randomise(start.s, 16);
        now.start = &start, now.ad_bytes = 0;
        if (!run_now())
            return 0;
    }
    return 1;
}

#define CORRUPTER(id) static void SEALANE_KERNEL_ABI id(const sealane_args *a, void *scratch, const void *consts)
#define INNER() corrupt_inner(a, scratch, consts)

#include "batches.h"

static int corrupting_is(const char *name);

/* J0 whose counter wraps around at 2^32 in every block of the packet, and in every part of it. */
static int group_gcm_counter(void)
{
    for (uint32_t blocks = 1; blocks <= 150; blocks++)
        for (int way = 0; way < 16; way++) {
            plain_job(way & 1 ? 16 * (size_t)blocks + below(64) : below(2500));
            now.with_j0 = 1, now.counter = 0 - blocks;
            if (way >> 1 == 7)
                cut(2 + (unsigned)below(3));
            if (!run_now())
                return 0;
        }
    return 1;
}

/* Texts of all zeroes and all ones, sealed and opened, whole and in parts. */
static int group_gcm_edge(void)
{
    static const int fills[] = {0, 0xff, 0x80, 0x01};
    for (size_t bytes = 0; bytes <= 2100; bytes += 1 + below(16))
        for (int way = 0; way < 8; way++) {
            plain_job(bytes);
            now.fill = fills[way >> 1], now.open = way & 1;
            if (below(3) == 0)
                cut(2);
            if (!run_now())
                return 0;
        }
    return 1;
}

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
    {"lengths", group_lengths}, {"alignment", group_alignment}, {"associated-data", group_ad},
    {"parts", group_parts},     {"counter", group_gcm_counter}, {"edge", group_gcm_edge},
    {"long", group_long},       {"batches", group_batches},
};

/* Of levels that have a batch kernel. */
static const group batch_groups[] = {
    {"batch-lengths", group_batch_lengths},
    {"batch-edge", group_batch_edge},
    {"batch-mixes", group_batch_mixes},
};

/* ---- Corrupters: kernels that are wrong in one way ---- */

CORRUPTER(corrupt_tag_bit)
{
    INNER();
    if (a->bytes == 777 && (a->flags & SEALANE_FLAG_LAST))
        slot_bytes(a->tag)[15] ^= 0x80;
}

CORRUPTER(corrupt_text_bit)
{
    INNER();
    if (a->bytes == 333 && (a->flags & SEALANE_FLAG_OPEN))
        slot_bytes(a->out)[332] ^= 1;
}

CORRUPTER(corrupt_write_behind)
{
    INNER();
    if (a->bytes == 130)
        slot_bytes(a->out)[130] = 0;
}

CORRUPTER(corrupt_write_before)
{
    INNER();
    if (a->bytes == 130)
        slot_bytes(a->out)[-1] = 0;
}

CORRUPTER(corrupt_read_behind)
{
    INNER();
    if (a->bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->in) + a->bytes);
}

CORRUPTER(corrupt_read_before)
{
    INNER();
    if (a->bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->in) - 1);
}

CORRUPTER(corrupt_read_behind_ad)
{
    INNER();
    if (a->ad_bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->ad) + a->ad_bytes);
}

CORRUPTER(corrupt_read_behind_key)
{
    INNER();
    (void)*(volatile uint8_t *)(slot_bytes(a->key) + key_size());
}

CORRUPTER(corrupt_read_behind_nonce)
{
    INNER();
    if (a->flags & SEALANE_FLAG_FIRST)
        (void)*(volatile uint8_t *)(slot_bytes(a->nonce) + nonce_size());
}

CORRUPTER(corrupt_write_behind_tag)
{
    INNER();
    if (a->flags & SEALANE_FLAG_LAST)
        slot_bytes(a->tag)[16] = 0;
}

CORRUPTER(corrupt_input)
{
    INNER();
    if (a->in != a->out && a->bytes == 1000)
        slot_bytes(a->in)[999] ^= 1;
}

CORRUPTER(corrupt_arguments)
{
    INNER();
    ((sealane_args *)(uintptr_t)a)->bytes ^= a->bytes == 900;
}

CORRUPTER(corrupt_long_ad)
{
    INNER();
    if (a->ad_bytes > 128 && (a->flags & SEALANE_FLAG_LAST))
        slot_bytes(a->tag)[0] ^= 1;
}

CORRUPTER(corrupt_long_text)
{
    INNER();
    if (a->bytes > 9000)
        slot_bytes(a->out)[9000] ^= 1;
}

CORRUPTER(corrupt_alignment)
{
    INNER();
    if (a->out % 64 == 37 && a->bytes > 255)
        slot_bytes(a->out)[255] ^= 1;
}

CORRUPTER(corrupt_scratch)
{
    INNER();
    memcpy((uint8_t *)scratch + SEALANE_SCRATCH_BYTES - 8, slot_bytes(a->key), 8);
}

/* Writes, and wipes, a byte that the kernel states not to use. Where none states that, it leaves one. */
CORRUPTER(corrupt_scratch_end)
{
    INNER();
    const size_t end = scratch_end(&now.level);
    ((volatile uint8_t *)scratch)[end < SEALANE_SCRATCH_BYTES ? end : end - 1] = end == SEALANE_SCRATCH_BYTES;
}

CORRUPTER(corrupt_write_behind_scratch)
{
    INNER();
    ((volatile uint8_t *)scratch)[SEALANE_SCRATCH_BYTES] = 0;
}

CORRUPTER(corrupt_empty_part)
{
    if (a->bytes != 0 || (a->flags & (SEALANE_FLAG_FIRST | SEALANE_FLAG_SETUP)))
        INNER();
}

static sealane_state *state_of(const sealane_args *a)
{
    return a->flags & SEALANE_FLAG_LAST ? NULL : (sealane_state *)(uintptr_t)a->state;
}

/* The right value modulo p, but too large. */
CORRUPTER(corrupt_state_range)
{
    INNER();
    sealane_state *s = state_of(a);
    for (int i = 0; s && s->h[2] < 8 && i < 3; i++) {
        uint64_t h0 = s->h[0] - 5, borrow0 = s->h[0] < 5;
        uint64_t h1 = s->h[1] - borrow0, borrow1 = s->h[1] < borrow0;
        s->h[0] = h0, s->h[1] = h1, s->h[2] += 4 - borrow1;
    }
}

CORRUPTER(corrupt_state_counter)
{
    INNER();
    if (state_of(a) && a->bytes > 64)
        state_of(a)->counter++;
}

CORRUPTER(corrupt_state_r)
{
    INNER();
    if (state_of(a))
        state_of(a)->r[1] ^= (uint64_t)1 << 59;
}

/* Block numbers near 2^32 that run into the nonce. */
CORRUPTER(corrupt_counter_limit)
{
    const uint64_t before = a->flags & SEALANE_FLAG_FIRST ? 1 : ((sealane_state *)(uintptr_t)a->state)->counter;
    INNER();
    if (before + (a->bytes + 63) / 64 == (uint64_t)1 << 32 && a->bytes % 64 != 0)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}

/* The final subtraction of p left out: differs where the result is below 5. */
CORRUPTER(corrupt_final_reduction)
{
    sealane_state s = {.h = {9}};
    if (!(a->flags & SEALANE_FLAG_FIRST))
        s = *(sealane_state *)(uintptr_t)a->state;
    INNER();
    if ((a->flags & (SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST)) != SEALANE_FLAG_LAST)
        return;
    uint8_t *tag = slot_bytes(a->tag);
    uint64_t low = load64(tag) - s.s[0], high = load64(tag + 8) - s.s[1] - (load64(tag) < s.s[0]);
    if (high == 0 && low < 5) {
        uint64_t t = load64(tag) - 5;
        store64(tag + 8, load64(tag + 8) - (load64(tag) < 5));
        store64(tag, t);
    }
}

/* A carry lost when every limb is full. */
CORRUPTER(corrupt_all_ones)
{
    int ones = a->bytes >= 64 && (a->flags & SEALANE_FLAG_OPEN) && (a->flags & SEALANE_FLAG_LAST);
    for (size_t i = 0; ones && i < a->bytes; i++)
        ones = slot_bytes(a->in)[i] == 0xff;
    INNER();
    if (ones)
        slot_bytes(a->tag)[8] ^= 1;
}

static sealane_gcm_state *gcm_state_of(const sealane_args *a)
{
    return a->flags & (SEALANE_FLAG_LAST | SEALANE_FLAG_SETUP) ? NULL : (sealane_gcm_state *)(uintptr_t)a->state;
}

CORRUPTER(corrupt_gcm_ghash)
{
    INNER();
    if (gcm_state_of(a) && a->bytes >= 128)
        gcm_state_of(a)->y[15] ^= 1;
}

CORRUPTER(corrupt_gcm_counter)
{
    INNER();
    if (gcm_state_of(a) && a->bytes > 64)
        gcm_state_of(a)->counter[15]++;
}

CORRUPTER(corrupt_gcm_mask)
{
    INNER();
    if (gcm_state_of(a) && !(a->flags & SEALANE_FLAG_FIRST))
        gcm_state_of(a)->mask[0] ^= 1;
}

/* The prefix is not left alone by a counter that wraps around. */
CORRUPTER(corrupt_gcm_wrap)
{
    INNER();
    if (!(a->flags & SEALANE_FLAG_FIRST) || !now.with_j0 || a->bytes == 0)
        return;
    const uint32_t counter = swap32(load32(slot_bytes(a->nonce) + 12)), blocks = (uint32_t)((a->bytes + 15) / 16);
    if (counter + blocks < blocks && counter + blocks != 0)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}

/* One of the key lengths. */
CORRUPTER(corrupt_gcm_key)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_SETUP) && now.rounds == 12)
        ((sealane_gcm_key *)(uintptr_t)a->key)->schedule[5] ^= 1;
}

/* Writes to a key in use, as one would to count packets. */
CORRUPTER(corrupt_gcm_key_in_use)
{
    INNER();
    if (!(a->flags & SEALANE_FLAG_SETUP))
        ((sealane_gcm_key *)(uintptr_t)a->key)->unused++;
}

/* J0 where there is but a nonce. */
CORRUPTER(corrupt_gcm_nonce)
{
    sealane_args b = *a;
    if (a->flags & SEALANE_FLAG_FIRST)
        b.flags &= ~(uint64_t)SEALANE_FLAG_NONCE;
    corrupt_inner(&b, scratch, consts);
}

typedef struct {
    const char *name;
    sealane_kernel *kernel, *batch; /* at most one */
} corrupter;

#if defined(__x86_64__)
sealane_kernel corrupt_rbx, corrupt_rbp, corrupt_r12, corrupt_r13, corrupt_r14, corrupt_r15, corrupt_direction,
    corrupt_mxcsr, corrupt_x87_control, corrupt_x87_tag, corrupt_upper_half, corrupt_rsp, corrupt_rdi, corrupt_rsi,
    corrupt_xmm6, corrupt_xmm15;
#elif defined(__aarch64__)
#define ABI_CORRUPTERS(X) \
    X(x19) X(x20) X(x21) X(x22) X(x23) X(x24) X(x25) X(x26) X(x27) X(x28) X(sp) X(fpcr) X(d8) X(d15)
#elif HAVE_ABI_CHECK && defined(__ARM_FP)
#define ABI_CORRUPTERS(X) X(r4) X(r5) X(r6) X(r7) X(r8) X(r9) X(r10) X(r11) X(sp) X(fpscr) X(d8) X(d15)
#elif HAVE_ABI_CHECK
#define ABI_CORRUPTERS(X) X(r4) X(r5) X(r6) X(r7) X(r8) X(r9) X(r10) X(r11) X(sp)
#endif
#if defined(ABI_CORRUPTERS)
#define X(id) sealane_kernel corrupt_##id;
ABI_CORRUPTERS(X)
#undef X
#endif

static const corrupter corrupters[] = {
    {"tag-bit", corrupt_tag_bit, NULL},
    {"text-bit", corrupt_text_bit, NULL},
    {"write-behind", corrupt_write_behind, NULL},
    {"write-before", corrupt_write_before, NULL},
    {"read-behind", corrupt_read_behind, NULL},
    {"read-before", corrupt_read_before, NULL},
    {"read-behind-ad", corrupt_read_behind_ad, NULL},
    {"read-behind-key", corrupt_read_behind_key, NULL},
    {"read-behind-nonce", corrupt_read_behind_nonce, NULL},
    {"write-behind-tag", corrupt_write_behind_tag, NULL},
    {"write-behind-scratch", corrupt_write_behind_scratch, NULL},
    {"scratch-end", corrupt_scratch_end, NULL},
    {"input", corrupt_input, NULL},
    {"arguments", corrupt_arguments, NULL},
    {"long-ad", corrupt_long_ad, NULL},
    {"long-text", corrupt_long_text, NULL},
    {"alignment", corrupt_alignment, NULL},
    {"scratch", corrupt_scratch, NULL},
    {"empty-part", corrupt_empty_part, NULL},
    {"all-ones", corrupt_all_ones, NULL},
#if defined(ABI_CORRUPTERS)
#define X(id) {#id, corrupt_##id, NULL},
    ABI_CORRUPTERS(X)
#undef X
#endif
#if defined(__x86_64__)
        {"rbx", corrupt_rbx, NULL},
    {"rbp", corrupt_rbp, NULL},
    {"r12", corrupt_r12, NULL},
    {"r13", corrupt_r13, NULL},
    {"r14", corrupt_r14, NULL},
    {"r15", corrupt_r15, NULL},
    {"rsp", corrupt_rsp, NULL},
    {"direction-flag", corrupt_direction, NULL},
    {"mxcsr", corrupt_mxcsr, NULL},
    {"x87-control", corrupt_x87_control, NULL},
    {"x87-tag", corrupt_x87_tag, NULL},
    {"upper-half", corrupt_upper_half, NULL},
#if defined(SEALANE_TEST_WIN64)
    {"rdi", corrupt_rdi, NULL},
    {"rsi", corrupt_rsi, NULL},
    {"xmm6", corrupt_xmm6, NULL},
    {"xmm15", corrupt_xmm15, NULL},
#endif
#endif
    {"self-test", NULL, NULL}, /* about dispatch, below */
    {"fastest", NULL, NULL},
    {"isa", NULL, NULL},
};

static const corrupter chacha_corrupters[] = {
    {"state-range", corrupt_state_range, NULL},
    {"state-counter", corrupt_state_counter, NULL},
    {"state-r", corrupt_state_r, NULL},
    {"counter-limit", corrupt_counter_limit, NULL},
    {"final-reduction", corrupt_final_reduction, NULL},
#define X(id, name) {name, NULL, corrupt_batch_##id},
    BATCH_CORRUPTERS(X)
#undef X
        {"batch-self-test", NULL, NULL},
};

static const corrupter gcm_corrupters[] = {
    {"ghash", corrupt_gcm_ghash, NULL},
    {"counter", corrupt_gcm_counter, NULL},
    {"mask", corrupt_gcm_mask, NULL},
    {"wrap", corrupt_gcm_wrap, NULL},
    {"key", corrupt_gcm_key, NULL},
    {"key-in-use", corrupt_gcm_key_in_use, NULL},
    {"nonce", corrupt_gcm_nonce, NULL},
#define X(id, name) {name, NULL, corrupt_batch_##id},
    BATCH_CORRUPTERS(X)
#undef X
        {"batch-self-test", NULL, NULL},
};

#if defined(ABI_CORRUPTERS)
#define ABI_ROWS(id) {#id, corrupt_##id, NULL},
#else
#define ABI_CORRUPTERS(X)
#endif

static const corrupter mode_corrupters[] = {
#define X(id, name) {name, corrupt_mode_##id, NULL},
    MODE_CORRUPTERS(X) LANE_CORRUPTERS(X)
#undef X
        ABI_CORRUPTERS(ABI_ROWS){"mode-self-test", NULL, NULL},
};

static const corrupter mask_corrupters[] = {
#define X(id, name) {name, corrupt_mode_##id, NULL},
    LANE_CORRUPTERS(X)
#undef X
        {"mask-write-behind", corrupt_mode_mask_write, NULL},
    {"mode-self-test", NULL, NULL},
};

static const corrupter *corrupting; /* NULL: none */

static int corrupting_is(const char *name)
{
    return corrupting != NULL && strcmp(corrupting->name, name) == 0;
}

/* ---- Dispatch ---- */

CORRUPTER(wrong_tag)
{
    sealane_chacha20poly1305_portable(a, scratch, consts);
    if (a->bytes == 3200 && (a->flags & SEALANE_FLAG_LAST) && !corrupting_is("self-test"))
        slot_bytes(a->tag)[7] ^= 1;
}

CORRUPTER(wrong_gcm_tag)
{
    sealane_aesgcm_portable(a, scratch, consts);
    if ((a->flags & SEALANE_FLAG_LAST) && a->total == 3200 && !corrupting_is("self-test"))
        slot_bytes(a->tag)[7] ^= 1;
}

static unsigned reported;

static void count_report(const sealane_level *level)
{
    reported += strcmp(level->name, "broken") == 0;
}

static void count_batch_report(const sealane_table *table, const sealane_level *level)
{
    reported += strcmp(level->name, "broken") == 0 && table != NULL;
}

/* A batch kernel that fails its self-test is reported once and not used; one that passes is, and so is none. */
static int check_batch_selftest(const sealane_table *table, const sealane_level *broken, const sealane_level *without)
{
    _Atomic unsigned char outcome = 0, sound_outcome = 0, no_outcome = 0;
    const sealane_level *sound = &table->levels[table->count - 1];
    reported = 0;
    now.gcm = table == &sealane_tables[SEALANE_AESGCM]; /* for wrong_batch_tag */
    for (int i = 0; i < 3; i++)
        if (sealane_batch_choose(table, corrupting_is("batch-self-test") ? sound : broken, &outcome,
                                 count_batch_report) != NULL)
            return fail("a batch kernel with a wrong answer was taken");
    if (reported != 1)
        return fail("a batch kernel with a wrong answer was reported %u times", reported);
    if (sealane_batch_choose(table, sound, &sound_outcome, count_batch_report) != &sound->batch ||
        sealane_batch_choose(table, without, &no_outcome, count_batch_report) != NULL || reported != 1)
        return fail("a good batch kernel was not taken, or one that there is not was");
    return 1;
}

/* A level that fails its self-test is reported and the next is taken; one that the CPU lacks is never tried. */
static int check_selftest(void)
{
    const sealane_level levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_tag, .batch = {.kernel = wrong_batch_tag}},
        {.name = "portable", .kernel = sealane_chacha20poly1305_portable},
    };
    const sealane_level gcm_levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_gcm_tag, .batch = {.kernel = wrong_batch_tag}},
        {.name = "portable", .kernel = sealane_aesgcm_portable},
    };
    const sealane_level mode_levels[2][3] = {{{.name = "absent", .needs = (uint32_t)1 << 31},
                                              {.name = "broken", .kernel = wrong_mode},
                                              {.name = "portable", .kernel = sealane_aes_portable}},
                                             {{.name = "absent", .needs = (uint32_t)1 << 31},
                                              {.name = "broken", .kernel = wrong_masks},
                                              {.name = "portable", .kernel = sealane_chacha20masks_portable}}};
    const sealane_level *const all[SEALANE_ALL_TABLES] = {levels, gcm_levels, mode_levels[0], mode_levels[1]};
    for (int t = 0; t < SEALANE_ALL_TABLES; t++) {
        sealane_table table = sealane_tables[t];
        table.levels = all[t], table.count = 3;
        reported = 0;
        if (sealane_level_choose(&table, 0, ~((uint32_t)1 << 31), count_report) != 2 || reported != 1)
            return fail("%s: a level with a wrong answer was taken", table.primitive);
        table.count = 2;
        if (sealane_level_choose(&table, 0, 0, count_report) != -1)
            return fail("%s: a level was taken though none works", table.primitive);
    }
    return check_batch_selftest(&sealane_tables[SEALANE_CHACHA20POLY1305], &levels[1], &levels[2]) &&
           check_batch_selftest(&sealane_tables[SEALANE_AESGCM], &gcm_levels[1], &gcm_levels[2]);
}

/* Times of three turns of each level of check_fastest. */
static const uint64_t *turns_of[3];
static unsigned turn_of[3];

static uint64_t ticks_told(const sealane_level *level, size_t bytes)
{
    const unsigned i = (unsigned)(level->name[0] - 'a'), turn = turn_of[i];
    turn_of[i] += bytes > 64;
    return turns_of[i][turn % (corrupting_is("fastest") ? 1 : 3)] * (bytes > 64 ? 100 : 10);
}

/* Among timed levels that the CPU runs, the one with the least product of its shortest times is taken, unless its
 * self-test fails or it is hardly faster; the limit ends turns, but not before the second. */
static int check_fastest(void)
{
    enum { A = 1, B = 2, ALL = A | B };
    static const struct {
        uint64_t ticks[3][3];
        int first, want, broken;
        uint32_t features;
        uint64_t limit;
    } cases[] = {
        {{{9, 8, 7}, {9, 9, 9}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX},
        {{{9, 9, 9}, {9, 9, 8}, {9, 9, 9}}, 0, 1, 0, ALL, UINT64_MAX},
        {{{5, 9, 9}, {6, 6, 6}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX},
        {{{9, 9, 9}, {9, 9, 9}, {1, 1, 1}}, 0, 0, 0, ALL, UINT64_MAX}, /* the last is not timed */
        {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 0, ALL, UINT64_MAX},
        {{{1, 1, 1}, {9, 9, 9}, {1, 1, 1}}, 1, 1, 0, ALL, UINT64_MAX},
        {{{7, 7, 7}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 1, ALL, UINT64_MAX},
        {{{100, 100, 100}, {98, 98, 98}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX},
        {{{9, 9, 9}, {1, 1, 1}, {9, 9, 9}}, 0, 0, 0, A, UINT64_MAX},
        {{{9, 9, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX},
        {{{9, 9, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 1, 0, ALL, 0},
        {{{9, 8, 8}, {9, 1, 9}, {9, 9, 9}}, 0, 1, 0, ALL, 0},
        {{{1, 1, 1}, {9, 9, 9}, {5, 5, 5}}, 2, 2, 0, ALL, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sealane_level levels[] = {
            {.name = "a", .needs = A, .kernel = sealane_chacha20poly1305_portable, .timed = 1},
            {.name = "b", .needs = B, .kernel = sealane_chacha20poly1305_portable, .timed = 1},
            {.name = "c", .kernel = sealane_chacha20poly1305_portable},
        };
        sealane_table table = sealane_tables[SEALANE_CHACHA20POLY1305];
        table.levels = levels, table.count = 3;
        if (cases[i].broken)
            levels[1].name = "broken", levels[1].kernel = wrong_tag;
        for (int j = 0; j < 3; j++)
            turns_of[j] = cases[i].ticks[j], turn_of[j] = 0;
        reported = 0;
        if (sealane_level_fastest(&table, cases[i].first, cases[i].features, ticks_told, cases[i].limit,
                                  count_report) != cases[i].want ||
            reported != (unsigned)cases[i].broken)
            return fail("case %zu: the fastest level was not taken", i);
    }
    return 1;
}

static size_t complaint_bytes; /* what the last choice wrote to the standard error */

/* What the environment makes of the choice, each in a process of its own. */
static int chosen_under(const sealane_table *table, const char *cpu, const char *asm_switch)
{
    int ends[2];
    char complaint[1000];
    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0)
            _exit(99);
        cpu ? setenv("SEALANE_CPU", cpu, 1) : unsetenv("SEALANE_CPU");
        asm_switch ? setenv("SEALANE_ASM", asm_switch, 1) : unsetenv("SEALANE_ASM");
        _exit(sealane_level_of_process(table));
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[1]);
    const ssize_t n = read(ends[0], complaint, sizeof complaint);
    complaint_bytes = n > 0 ? (size_t)n : 0;
    close(ends[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether level is the wanted one, or rivals it: which of those that are timed is chosen may change from run to run. */
static int is_like(const sealane_table *t, int level, int want)
{
    return level == want || (level >= 0 && t->levels[level].timed && t->levels[want].timed);
}

static int environment_obeyed(const sealane_table *t)
{
    const int last = (int)t->count - 1;
    int best = chosen_under(t, NULL, NULL);
    if (best < 0 || best > last)
        return fail("%s: no level was chosen", t->primitive);
    while (best > 0 && is_like(t, best - 1, best) && (t->levels[best - 1].needs & ~sealane_cpu_features()) == 0)
        best--;
    if (chosen_under(t, "portable", NULL) != last || chosen_under(t, NULL, "0") != last ||
        chosen_under(t, "avx512", "0") != last)
        return fail("%s: SEALANE_CPU=portable or SEALANE_ASM=0 was not obeyed", t->primitive);
    if (!is_like(t, chosen_under(t, "no-such-level", NULL), best) || !is_like(t, chosen_under(t, "", NULL), best) ||
        !is_like(t, chosen_under(t, NULL, "1"), best))
        return fail("%s: an environment without meaning changed the level", t->primitive);
    for (int i = best; i <= last; i++)
        if (chosen_under(t, t->levels[i].name, NULL) != i || complaint_bytes != 0)
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, t->levels[i].name);
    return 1;
}

/* A level that a primitive does not have is one between those that it has. */
static int check_environment(void)
{
    static const struct {
        int table;
        const char *cap, *level;
    } between[] = {
        {SEALANE_CHACHA20POLY1305, "aesniavx", "ssse3"},
        {SEALANE_CHACHA20POLY1305, "aesni", "ssse3"},
        {SEALANE_CHACHA20POLY1305, "ce", "neon"},
        {SEALANE_CHACHA20POLY1305, "ce32", "neon"},
#if defined(__x86_64__)
        {SEALANE_AESGCM, "ssse3", "portable"},
#endif
    };
    for (int i = 0; i < SEALANE_ALL_TABLES; i++)
        if (!environment_obeyed(&sealane_tables[i]))
            return 0;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        const sealane_table *t = &sealane_tables[between[i].table];
        const int want = sealane_level_find(t, between[i].level), best = chosen_under(t, NULL, NULL);
        if (want < 0 || (want == (int)t->count - 1 && sealane_tables[0].count == 1))
            continue;
        if (!is_like(t, chosen_under(t, between[i].cap, NULL), want > best ? want : best) || complaint_bytes != 0)
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, between[i].cap);
    }
    return 1;
}

/* ---- sealane_set_max_level; each case in a process of its own, which ends with 0 if all is right ---- */

static int process_level(int t)
{
    return sealane_level_of_process(&sealane_tables[t]);
}

static int has_only_portable(int t)
{
    const sealane_table *table = &sealane_tables[t];
    return sealane_level_choose(table, 0, sealane_cpu_features(), count_report) == (int)table->count - 1;
}

static int is_portable(int t)
{
    return process_level(t) == (int)sealane_tables[t].count - 1;
}

static int cap_holds(void)
{
    return sealane_set_max_level("portable") == SEALANE_OK && is_portable(0) && is_portable(1);
}

static int last_cap_counts(void)
{
    return sealane_set_max_level("avx512") == SEALANE_OK && sealane_set_max_level("portable") == SEALANE_OK &&
           is_portable(0) && is_portable(1);
}

static int cap_is_lifted(void)
{
    setenv("SEALANE_CPU", "portable", 1); /* the environment is not */
    return sealane_set_max_level("portable") == SEALANE_OK && sealane_set_max_level("avx512") == SEALANE_OK &&
           is_portable(0) && is_portable(1);
}

static int environment_cannot_raise(void)
{
    setenv("SEALANE_CPU", "avx512", 1);
    setenv("SEALANE_ASM", "1", 1);
    return sealane_set_max_level("portable") == SEALANE_OK && is_portable(0) && is_portable(1);
}

static int wrong_caps_are_refused(void)
{
    return sealane_set_max_level(NULL) == SEALANE_NULL && sealane_set_max_level("") == SEALANE_INVALID_LEVEL &&
           sealane_set_max_level("avx-512") == SEALANE_INVALID_LEVEL && is_portable(1) == has_only_portable(1);
}

static int cap_comes_too_late(void)
{
    sealane_key k;
    const int before = sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, (const uint8_t[32]){0}, 32),
              level = process_level(0);
    const int late = sealane_set_max_level("portable");
    return before == SEALANE_OK && late == SEALANE_TOO_LATE && process_level(0) == level &&
           is_portable(1) == has_only_portable(1);
}

static int wrong_key_settles_nothing(void)
{
    sealane_key k;
    return sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, (const uint8_t[32]){0}, 31) == SEALANE_INVALID_KEY &&
           sealane_set_max_level("portable") == SEALANE_OK && is_portable(0);
}

static int environment_is_read_once(void)
{
    process_level(0);
    setenv("SEALANE_CPU", "portable", 1);
    return is_portable(1) == has_only_portable(1);
}

static void *set_portable(void *result)
{
    *(int *)result = sealane_set_max_level("portable");
    return NULL;
}

static int race_has_one_outcome(void)
{
    pthread_t thread;
    int result = 1;
    if (pthread_create(&thread, NULL, set_portable, &result) != 0)
        return 0;
    for (unsigned i = 0, n = (unsigned)below(1 << 16); i < n; i++)
        keep_stores(&i);
    const int portable = is_portable(0);
    pthread_join(thread, NULL);
    return has_only_portable(0) || (portable ? result == SEALANE_OK : result == SEALANE_TOO_LATE && !is_portable(1));
}

static int check_max_level(void)
{
    static const struct {
        const char *name;
        int (*holds)(void);
        int times;
    } cases[] = {
        {"a cap", cap_holds, 1},
        {"the last of two caps", last_cap_counts, 1},
        {"a cap that is lifted", cap_is_lifted, 1},
        {"a higher level in the environment", environment_cannot_raise, 1},
        {"names that there are not", wrong_caps_are_refused, 1},
        {"a cap after the first key", cap_comes_too_late, 1},
        {"a wrong key", wrong_key_settles_nothing, 1},
        {"the environment after the first key", environment_is_read_once, 1},
        {"a cap beside the first key", race_has_one_outcome, 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 0; n < cases[i].times; n++) {
            int status = -1;
            fflush(stdout);
            below(2);
            const pid_t child = fork();
            if (child == 0) {
                unsetenv("SEALANE_CPU"), unsetenv("SEALANE_ASM");
                _exit(!cases[i].holds());
            }
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return fail("%s", cases[i].name);
        }
    return 1;
}

/* The features that the isa line of an assembly file names; 0 and a failure, or -1 if there is no such file. */
static int isa_line(const char *path, uint32_t *named)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } features[] = {
#if defined(__x86_64__)
#define X(id, name) {SEALANE_X86_##id, name},
        SEALANE_X86_FEATURES(X)
#else
#define X(id, name) {SEALANE_ARM_##id, name},
        SEALANE_ARM_FEATURES(X)
#endif
#undef X
    };
    const size_t count = sizeof features / sizeof *features;
    char line[512], *at = NULL;
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    while (at == NULL && fgets(line, sizeof line, f))
        if (strncmp(line, "isa ", 4) == 0 || strncmp(line, "    isa ", 8) == 0)
            at = strstr(line, "isa ") + 4;
    fclose(f);
    if (at == NULL)
        return fail("%s has no isa line", path);
    *named = 0;
    for (char *word = strtok(at, " ,\t\n"); word; word = strtok(NULL, " ,\t\n")) {
        size_t j = 0;
        while (j < count && strcmp(features[j].name, word + (*word == '.')) != 0)
            j++;
        if (j == count && strcmp(word, ".sse2") != 0)
            return fail("%s: unknown extension %s", path, word);
        *named |= j < count ? features[j].bit : 0;
    }
    if (corrupting_is("isa"))
        *named ^= features[count - 1].bit;
    return 1;
}

/* Features that the isa lines of a level's kernels name are those that the level asks for. */
static int check_isa(void)
{
#if defined(__aarch64__)
    static const char folder[] = "aarch64";
#elif defined(__arm__)
    static const char folder[] = "arm";
#else
    static const char folder[] = "x86_64";
#endif
    for (int t = 0; t < SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i + 1 < sealane_tables[t].count; i++)
            for (int batch = 0; batch < 2; batch++) {
                const sealane_level *level = &sealane_tables[t].levels[i];
                char path[256];
                uint32_t named = 0;
                const char *name = level->name;
                if (batch && level->batch.kernel == NULL)
                    continue;
                for (unsigned j = i; batch && j < sealane_tables[t].count; j++)
                    if (sealane_tables[t].levels[j].batch.kernel == level->batch.kernel)
                        name =
                            sealane_tables[t].levels[j].name; /* of levels that share it, the last gives it its name */
                snprintf(path, sizeof path, "asm/%s/%s%s_%s.S", folder, sealane_tables[t].primitive,
                         batch ? "_batch" : "", name);
                const int found = isa_line(path, &named);
                if (found != 1)
                    return found;
                if (strcmp(folder, "x86_64") == 0 && (named & SEALANE_X86_AVX2))
                    named &= ~(uint32_t)SEALANE_X86_AVX; /* implied */
                if (strcmp(name, level->name) == 0 ? named != level->needs : (named & ~level->needs) != 0)
                    return fail("%s: the isa line names %#x, the table %#x", path, named, level->needs);
            }
    return 1;
}

/* RFC 8439, section 2.3.2; draft-irtf-cfrg-xchacha-03, section 2.2.1. */
static int check_primitives(void)
{
    static const uint8_t block[16] = {0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15,
                                      0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4};
    static const uint8_t subkey[32] = {0x82, 0x41, 0x3b, 0x42, 0x27, 0xb2, 0x7b, 0xfe, 0xd3, 0x0e, 0x42,
                                       0x50, 0x8a, 0x87, 0x7d, 0x73, 0xa0, 0xf9, 0xe4, 0xd5, 0x8a, 0x74,
                                       0xa8, 0x53, 0xc1, 0x2e, 0xc4, 0x13, 0x26, 0xd3, 0xec, 0xdc};
    uint8_t k[32], out[64];
    for (int i = 0; i < 32; i++)
        k[i] = (uint8_t)i;
    sealane_chacha20_block(out, k, (const uint8_t[12]){0, 0, 0, 9, 0, 0, 0, 0x4a}, 1);
    if (memcmp(out, block, 16) != 0)
        return fail("wrong ChaCha20 block");
    sealane_hchacha20(out, k, (const uint8_t[16]){0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27});
    return memcmp(out, subkey, 32) == 0 || fail("wrong HChaCha20 subkey");
}

/* FIPS 197, appendix C, in every lane; the lanes with different blocks. */
static int check_aes(void)
{
    static const uint8_t want[3][16] = {
        {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a},
        {0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71, 0x91},
        {0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89}};
    uint8_t k[32], schedule[AES_SCHEDULE_BYTES], in[AES_BATCH], out[AES_BATCH];
    aes_keys keys;
    for (int i = 0; i < 32; i++)
        k[i] = (uint8_t)i;
    for (int size = 0; size < 3; size++)
        for (int lane = 0; lane < AES_LANES; lane++) {
            randomise(in, sizeof in);
            for (int i = 0; i < 16; i++)
                in[16 * lane + i] = (uint8_t)(0x11 * i);
            sealane_aes_expand(schedule, k, aes_rounds(16 + 8 * (size_t)size));
            sealane_aes_spread(&keys, schedule, aes_rounds(16 + 8 * (size_t)size));
            sealane_aes_encrypt(&keys, out, in);
            if (memcmp(out + 16 * lane, want[size], 16) != 0)
                return fail("wrong AES block: key of %d bits, lane %d", 128 + 64 * size, lane);
        }
    return 1;
}

/* The product of two blocks by its definition (NIST SP 800-38D, algorithm 1). */
static void gf_multiply(uint64_t z[2], const uint64_t x[2], const uint64_t y[2])
{
    uint64_t v1 = y[1], v0 = y[0], z1 = 0, z0 = 0;
    for (int i = 0; i < 128; i++) {
        const uint64_t bit = 0 - (x[1 - i / 64] >> (63 - i % 64) & 1), low = 0 - (v0 & 1);
        z1 ^= v1 & bit, z0 ^= v0 & bit;
        v0 = v0 >> 1 | v1 << 63;
        v1 = v1 >> 1 ^ (low & (uint64_t)0xe1 << 56);
    }
    z[1] = z1, z[0] = z0;
}

/* GHASH against the definition, also with operands of all ones, where columns of the integer products are fullest. */
static int check_ghash(void)
{
    for (int i = 0; i < 3000; i++) {
        uint8_t h[16], block[16];
        uint64_t want[2];
        ghash_key k;
        randomise(h, 16), randomise(block, 16);
        if (i % 4 == 1 || i % 4 == 3)
            memset(h, 0xff, 16 - below(3));
        if (i % 4 >= 2)
            memset(block, 0xff, 16 - below(3));
        if (i % 5 == 0) /* every fourth bit: a lane that is full */
            for (int j = 0; j < 16; j++)
                h[j] = block[j] = (uint8_t)(0x11 << i / 5 % 4);
        const uint64_t x[2] = {load64_be(block + 8), load64_be(block)}, y[2] = {load64_be(h + 8), load64_be(h)};
        ghash_sum s = {{0}};
        gf_multiply(want, x, y);
        sealane_ghash_key(&k, h);
        sealane_ghash_blocks(&s, &k, block, 1);
        if (s.y[0] != want[0] || s.y[1] != want[1])
            return fail("wrong product");
    }
    return 1;
}

static const group process_groups[] = {
    {"primitives give their specifications' answers", check_primitives},
    {"AES gives its specification's answers", check_aes},
    {"GHASH multiplies by the definition", check_ghash},
    {"self-test is obeyed", check_selftest},
    {"fastest of its kind", check_fastest},
    {"environment is obeyed", check_environment},
    {"the program's cap is obeyed", check_max_level},
    {"isa lines agree with the table", check_isa},
};

/* ---- Benchmark ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The fastest of many short repeats, in nanoseconds per packet. What is opened is one packet again and again. */
static double time_packets(const sealane_key *keys, unsigned key_count, size_t bytes, size_t ad_bytes, int open)
{
    static uint8_t in[1 << 16], out[1 << 16], tags[64][16];
    uint8_t number[12] = {0};
    uint32_t counter = 0;
    const unsigned packets = (unsigned)(20000 / (bytes + 100)) + 2;
    double best = 1e9;
    randomise(in, bytes);
    int bad = open && sealane_seal(keys, in, tags[0], number, 12, ad, ad_bytes, in, bytes) != 0;
    for (int repeat = 0; repeat < 120; repeat++) {
        const double start = seconds();
        for (unsigned i = 0; i < packets; i++) {
            if (open) {
                bad |= sealane_open(keys, out, tags[0], number, 12, ad, ad_bytes, in, bytes);
            } else {
                store32(number + 4, ++counter);
                bad |= sealane_seal(&keys[i % key_count], out, tags[i % 64], number, 12, ad, ad_bytes, in, bytes);
            }
        }
        const double spent = (seconds() - start) / packets;
        best = spent < best ? spent : best;
    }
    return bad ? -1 : best * 1e9;
}

typedef struct {
    const char *name;
    sealane_alg alg;
    size_t key_bytes;
} benched;

static double time_key_setup(const benched *b, int level)
{
    sealane_key k;
    double best = 1e9;
    int failed = 0;
    for (int repeat = 0; repeat < 200; repeat++) {
        const double start = seconds();
        for (int i = 0; i < 1000; i++) {
            failed |= level < 0 ? sealane_key_init(&k, b->alg, key, b->key_bytes)
                                : sealane_key_init_at(&k, b->alg, key, b->key_bytes, level);
            keep_stores(&k);
        }
        const double spent = (seconds() - start) / 1000;
        best = spent < best ? spent : best;
    }
    return failed ? -1 : best * 1e9;
}

static int bench_level(const benched *b, unsigned level, const size_t *sizes, size_t count)
{
    static sealane_key keys[64];
    for (int i = 0; i < 64; i++) {
        randomise(key, 32);
        if (sealane_key_init_at(&keys[i], b->alg, key, b->key_bytes, (int)level) != 0)
            return 1;
    }
    printf("\n%-18s %6s  %18s  %18s  %18s  %18s\n", b->name, "bytes", "seal", "seal, ad 13", "seal, 64 keys", "open");
    for (size_t i = 0; i < count; i++) {
        const size_t n = sizes[i];
        const double t[] = {time_packets(keys, 1, n, 0, 0), time_packets(keys, 1, n, 13, 0),
                            time_packets(keys, 64, n, 0, 0), time_packets(keys, 1, n, 0, 1)};
        printf("%-18s %6zu", sealane_impl_name(&keys[0]), n);
        for (int j = 0; j < 4; j++)
            printf("  %9.1f (%6.0f)", t[j], (double)n * 1e3 / t[j]);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

static int bench(const char *only, int is_short)
{
    static const benched all[] = {
        {"ChaCha20-Poly1305", SEALANE_CHACHA20_POLY1305, 32},
        {"AES-128-GCM", SEALANE_AES_128_GCM, 16},
        {"AES-256-GCM", SEALANE_AES_256_GCM, 32},
    };
    static const size_t few[] = {64, 1420, 16384}, many[] = {0, 16, 64, 256, 576, 1024, 1420, 4096, 8192, 16384};
    const size_t *sizes = is_short ? few : many, count = is_short ? 3 : sizeof many / sizeof *many;
    const uint32_t features = sealane_cpu_features();
    printf("nanoseconds per packet (megabytes per second); fastest of many short repeats\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        printf("key set-up, %s: %.1f ns\n", all[i].name, time_key_setup(&all[i], -1));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const sealane_table *t = table_of(all[i].alg);
        for (unsigned l = 0; l < t->count; l++) {
            if ((t->levels[l].needs & ~features) || (only && strcmp(only, t->levels[l].name) != 0))
                continue;
            if (bench_level(&all[i], l, sizes, count))
                return 1;
            if (is_short)
                break;
        }
    }
    return 0;
}

/* ---- main ---- */

static unsigned passed, failed, not_run;

/* The levels of ChaCha20-Poly1305 go by their names alone. */
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
    if (corrupting && corrupting->kernel) {
        corrupt_inner = level->kernel;
        now.level.kernel = corrupting->kernel;
    }
    if (corrupting && corrupting->batch) {
        corrupt_batch_inner = &level->batch;
        now.level.batch.kernel = corrupting->batch;
    }
    if (corrupting == NULL || corrupting->batch == NULL)
        run_groups(all, count);
    if (level->batch.kernel)
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

/* The corrupters for a primitive, one after the other; NULL behind the last. Modes have only their own. */
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
    seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--seed=", 7) == 0) {
            seed = strtoull(argv[i] + 7, NULL, 0);
        } else if (strncmp(argv[i], "--level=", 8) == 0) {
            only = argv[i] + 8;
        } else if (strcmp(argv[i], "--bench") == 0) {
            want_bench = 1;
        } else if (strcmp(argv[i], "--short") == 0) {
            is_short = 1;
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
    for (size_t i = 0; i < sizeof process_groups / sizeof *process_groups; i++)
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
