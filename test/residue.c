/* residue: the stack after a call does not depend on keys, texts or tags, so no secret remains there.
 *
 * A call runs on its own stack, which was filled with one byte, twice with the same secrets and then with others.
 * Everything else is equal: lengths, addresses, nonces, associated data. A byte that changes only with the secrets
 * was derived from them. Examples are a key, a round key, key stream, a power of H, or a spilled register.
 *
 * The same stack shows how much of it each call and the first calls of a process have used. This may not exceed the
 * limits in sealane.h and docs/api.md.
 *
 *     residue                 all levels that this CPU can run
 *     residue --some          texts of 1, 64 and 350 bytes, for emulated CPUs, whose kernels take 320 bytes at a time
 *     residue --plant=NAME    a front end that leaves something, or uses more; must fail: copy, spill, tag, deep */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/cpu.h"
#include "../src/key.h"

enum { STACK_BYTES = 1 << 17, LONGEST = 1500, PACKETS = 9, FILL = 0xa5 };

static uint8_t *stack;

typedef enum { KEY, SEAL, OPEN, FORGED, STREAM_SEAL, STREAM_OPEN, PIECES, BATCH_SEAL, BATCH_OPEN, WAYS } way;

static const char *const way_names[WAYS] = {"key set-up",     "seal",          "open",
                                            "open a forgery", "seal a stream", "open a stream",
                                            "pieces",         "seal a batch",  "open a batch"};

typedef struct {
    sealane_alg alg;
    size_t key_bytes, nonce_bytes, tag_bytes;
} kind;

static const kind kinds[] = {
    {SEALANE_CHACHA20_POLY1305, 32, 12, 16}, {SEALANE_XCHACHA20_POLY1305, 32, 24, 16},
    {SEALANE_AES_128_GCM, 16, 12, 16},       {SEALANE_AES_192_GCM, 24, 12, 16},
    {SEALANE_AES_256_GCM, 32, 12, 12},       {SEALANE_AES_128_GCM, 16, 20, 16},
    {SEALANE_AES_256_GCM, 32, 200, 16},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* One call. All of its data has the same addresses in every run. */
static struct {
    const kind *kind;
    way way;
    int level, bad;
    size_t bytes, ad_bytes;
    const char *plant;
    uint8_t *end; /* of the call's stack: above it are the C library's thread and this program's frame */
    sealane_key k;
    sealane_stream s;
    uint8_t key[32], nonce[200], ad[100], text[LONGEST], out[LONGEST], tag[16];
    uint8_t texts[PACKETS][LONGEST], tags[PACKETS][16];
    sealane_op ops[PACKETS];
    int (*first)(void); /* the first call of a process, instead of a way */
} now;

/* ---- How much stack there is used, at most: sealane.h and docs/api.md have the same figures. In KiB, and in portable
 * code
 * ---- */

typedef enum { A_CALL, A_BATCH, QUIC_BATCH, FIRST_KEY, FIRST_BATCH, FIRST_QUIC_BATCH, FIGURES } figure;

static const struct {
    const char *of;
    size_t kib, portable_kib;
} figures[FIGURES] = {
    {"a call", 9, 11},       {"a batch", 26, 30},       {"a batch of QUIC's packets", 34, 38},
    {"a first key", 24, 26}, {"a first batch", 40, 42}, {"a first batch of QUIC's packets", 56, 58},
};

static size_t deepest[FIGURES];

/* The number of bytes that the call has written below its caller, including holes. */
static size_t used(const uint8_t *of)
{
    static uint8_t filled[256];
    size_t untouched = 0;
    memset(filled, FILL, sizeof filled);
    while (untouched < STACK_BYTES && memcmp(of + untouched, filled, sizeof filled) == 0) /* faster under emulation */
        untouched += sizeof filled;
    while (untouched < STACK_BYTES && of[untouched] == FILL)
        untouched++;
    return (size_t)(now.end - stack) - untouched;
}

/* Without an AES-GCM kernel, portable code runs at any level. */
static size_t most_of(figure f, int portable)
{
    const sealane_table *gcm = &sealane_tables[SEALANE_AESGCM];
    const int all = sealane_level_of_process(gcm) == (int)gcm->count - 1;
    return 1024 * (portable || all ? figures[f].portable_kib : figures[f].kib);
}

static int is_within(figure f, int portable, size_t bytes)
{
    const size_t most = most_of(f, portable);
    deepest[f] = bytes > deepest[f] ? bytes : deepest[f];
    if (bytes <= most)
        return 1;
    printf("     %s uses %zu bytes of stack, not at most %zu\n", figures[f].of, bytes, most);
    return 0;
}

/* ---- Planted faults ---- */

static volatile uint8_t sink;

static NOINLINE void leave(const uint8_t *secret, size_t bytes)
{
    volatile uint8_t copy[64];
    for (size_t i = 0; i < bytes; i++)
        copy[i] = secret[i];
    sink = copy[0];
}

/* Leaves one word derived from the key deep in the stack, as a compiler would. */
static NOINLINE void leave_spill(const uint8_t *secret)
{
    volatile uint64_t deep[300];
    deep[7] = load64(secret) * 0x9e3779b97f4a7c15 >> 32;
    sink = (uint8_t)deep[7];
}

/* Uses stack like a front end with two scratch areas. */
static NOINLINE void go_deep(void)
{
    volatile uint8_t deep[12 << 10];
    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = 0;
    sink = deep[7];
}

static NOINLINE void plant(void)
{
    if (strcmp(now.plant, "copy") == 0)
        leave(now.key, 16);
    else if (strcmp(now.plant, "spill") == 0)
        leave_spill(now.key);
    else if (strcmp(now.plant, "tag") == 0)
        leave(now.tag, 16);
    else if (strcmp(now.plant, "deep") == 0)
        go_deep();
}

/* ---- The calls ---- */

static int stream(sealane_direction direction)
{
    const size_t a = now.bytes / 3, b = now.bytes - a;
    int bad = sealane_stream_init(&now.s, &now.k, direction, now.nonce, now.kind->nonce_bytes);
    bad |= sealane_stream_ad(&now.s, now.ad, now.ad_bytes);
    bad |= sealane_stream_update(&now.s, now.out, now.text, a);
    bad |= sealane_stream_update(&now.s, now.out + a, now.text + a, b);
    return bad | (direction == SEALANE_STREAM_SEAL ? sealane_stream_seal_final(&now.s, now.tag)
                                                   : sealane_stream_open_final(&now.s, now.tag));
}

static int pieces(void)
{
    const size_t a = now.bytes / 5, n = now.kind->nonce_bytes;
    const sealane_iovec ad = {now.ad, NULL, now.ad_bytes};
    sealane_iovec v[2] = {{now.text, now.text, a}, {now.text + a, now.text + a, now.bytes - a}};
    const int bad = sealane_sealv(&now.k, now.tag, now.nonce, n, &ad, 1, v, 2);
    return bad | sealane_openv(&now.k, now.tag, now.nonce, n, &ad, 1, v, 2);
}

static int call(void)
{
    if (now.first)
        return now.first();
    const size_t n = now.kind->nonce_bytes;
    switch (now.way) {
    case KEY:
        return sealane_key_init_at(&now.k, now.kind->alg, now.key, now.kind->key_bytes, now.level);
    case SEAL:
        return sealane_seal(&now.k, now.out, now.tag, now.nonce, n, now.ad, now.ad_bytes, now.text, now.bytes);
    case OPEN:
    case FORGED:
        return sealane_open(&now.k, now.out, now.tag, now.nonce, n, now.ad, now.ad_bytes, now.text, now.bytes) !=
               (now.way == FORGED ? SEALANE_NOT_AUTHENTIC : SEALANE_OK);
    case STREAM_SEAL:
        return stream(SEALANE_STREAM_SEAL);
    case STREAM_OPEN:
        return stream(SEALANE_STREAM_OPEN);
    case PIECES:
        return pieces();
    case BATCH_SEAL:
        return sealane_seal_batch(now.ops, PACKETS) != PACKETS;
    case BATCH_OPEN:
        return sealane_open_batch(now.ops, PACKETS) != PACKETS - 1;
    default:
        return 1;
    }
}

/* Data that the C library has left there while starting the thread: glibc 2.41 writes its number. */
__attribute__((noinline)) static void paint_over(void)
{
    volatile uint8_t below[8192];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = FILL;
}

static void *on_stack(void *unused)
{
    uint8_t here;
    now.end = &here;
    paint_over();
    now.bad = call();
    if (now.plant)
        plant();
    return unused;
}

static void randomize(uint8_t *p, size_t n, uint64_t *state)
{
    for (; n > 0; n--) {
        *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
        *p++ = (uint8_t)(*state >> 24);
    }
}

/* Makes secrets number n and the other arguments on the usual stack. */
static int prepare(int n)
{
    const int opens = now.way == OPEN || now.way == FORGED || now.way == STREAM_OPEN;
    uint64_t state = 0x9e3779b97f4a7c15 * (uint64_t)(n + 1);
    randomize(now.key, sizeof now.key, &state), randomize(now.text, sizeof now.text, &state);
    memset(now.out, 0, sizeof now.out), memset(&now.s, 0, sizeof now.s);
    int bad = sealane_key_init_at(&now.k, now.kind->alg, now.key, now.kind->key_bytes, now.level);
    now.k.opaque[0] |= (uint64_t)(SEALANE_TAG_BYTES - now.kind->tag_bytes) << KEY_CUT_AT;
    if (opens)
        bad |= sealane_seal(&now.k, now.text, now.tag, now.nonce, now.kind->nonce_bytes, now.ad, now.ad_bytes, now.text,
                            now.bytes);
    if (now.way == FORGED)
        now.tag[3] ^= 4;
    for (size_t i = 0; i < PACKETS; i++) {
        const size_t bytes = now.bytes - now.bytes / 3 * i / PACKETS;
        memcpy(now.texts[i], now.text, LONGEST);
        now.ops[i] = (sealane_op){.out = now.texts[i], .in = now.texts[i], .in_bytes = bytes, .ad = now.ad};
        now.ops[i].ad_bytes = now.ad_bytes, now.ops[i].key = &now.k, now.ops[i].tag = now.tags[i];
        now.ops[i].nonce = now.nonce, now.ops[i].nonce_bytes = now.kind->nonce_bytes;
    }
    if (now.way == BATCH_OPEN) {
        bad |= sealane_seal_batch(now.ops, PACKETS) != PACKETS;
        now.tags[4][2] ^= 1;
    }
    return !bad;
}

/* Runs of one call: twice with the same secrets, then with others. */
enum { RUNS = 5 };
static const int secrets_of[RUNS] = {1, 1, 2, 3, 4};
static volatile unsigned turn; /* number of this run; volatile, see run */
static uint8_t left[RUNS][STACK_BYTES];

static void *preparation(void *made)
{
    return prepare(secrets_of[turn]) ? made : NULL;
}

/* Runs a call, and copies the stack after it to left[turn]. A new thread starts with the registers of its creator, and
 * saves some of them. So a separate thread makes the secrets, and no register value may differ between runs when the
 * second thread starts. Therefore there are no arguments, and turn is volatile. */
static NOINLINE int run(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *prepared = NULL;
    if (pthread_create(&thread, NULL, preparation, stack) != 0 || pthread_join(thread, &prepared) != 0 || !prepared)
        return 0;
    memset(stack, FILL, STACK_BYTES);
    now.bad = 1;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, on_stack, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 0;
    pthread_attr_destroy(&attributes);
    memcpy(left[turn], stack, STACK_BYTES);
    return !now.bad;
}

static size_t touched, call_count, reported;

/* 1 if nothing on the stack depends on the secrets. */
static int leaves_nothing(void)
{
    size_t residue = 0, lowest = 0, of = 0;
    for (turn = 0; turn < RUNS; turn++)
        if (!run()) {
            printf("     the call failed\n");
            return 0;
        }
    call_count++;
    for (size_t n = 2; n < RUNS; n++)
        for (size_t i = 0; i < (size_t)(now.end - stack); i++) {
            if (i % 256 == 0 && memcmp(left[0] + i, left[n] + i, 256) ==
                                    0) /* nearly all are equal, and this is faster under emulation */
                i += 255;
            else if (left[0][i] == left[1][i] && left[0][i] != left[n][i] && residue++ == 0)
                lowest = i, of = n;
        }
    touched += used(left[0]);
    const figure f = now.way == BATCH_SEAL || now.way == BATCH_OPEN ? A_BATCH : A_CALL;
    if (!is_within(f, strcmp(key_level(&now.k)->name, "portable") == 0, used(left[0])))
        return 0;
    if (residue == 0)
        return 1;
    if (reported++ >= 5)
        return 0;
    printf("     algorithm %d, nonce %zu, %s, %zu bytes, ad %zu: %zu bytes of the stack depend on secrets, the lowest "
           "%zu below the caller:",
           (int)now.kind->alg, now.kind->nonce_bytes, way_names[now.way], now.bytes, now.ad_bytes, residue,
           (size_t)(now.end - stack) - lowest);
    for (size_t i = 0; i < 16; i++)
        printf(" %02x", left[of][lowest + i]);
    printf("\n");
    return 0;
}

static int check_level(int table, int level, int some)
{
    static const size_t sizes[] = {0, 1, 16, 64, 100, 350, 1420};
    const size_t first = some != 0, count = sizeof sizes / sizeof *sizes - first;
    int good = 1;
    for (size_t i = 0; i < KINDS; i++) {
        now.kind = &kinds[i], now.level = level;
        if (table_of(now.kind->alg) != &sealane_tables[table])
            continue;
        for (int w = KEY; w < WAYS; w++)
            for (size_t j = first; j < count; j += 1 + first) {
                now.way = (way)w, now.bytes = sizes[j], now.ad_bytes = j % 3 == 2 ? 100 : 5 * j;
                if (w == KEY && j > first)
                    continue;
                good &= leaves_nothing();
            }
    }
    return good;
}

/* ---- The first calls of a process ---- */

static sealane_quic_keys quic_keys[2];
static sealane_aes_key aes_key;

static int first_key(void)
{
    return sealane_key_init(&now.k, SEALANE_CHACHA20_POLY1305, now.key, 32);
}

static int first_gcm_key(void)
{
    return sealane_key_init(&now.k, SEALANE_AES_256_GCM, now.key, 32);
}

static int first_aes_key(void)
{
    return sealane_aes_key_init(&aes_key, now.key, 32);
}

static int first_quic_keys(void)
{
    return sealane_quic_keys_init(&quic_keys[0], SEALANE_CHACHA20_POLY1305, now.key, now.nonce, now.key, 32) |
           sealane_quic_keys_init(&quic_keys[1], SEALANE_AES_128_GCM, now.key, now.nonce, now.key, 16);
}

/* Batches with existing keys. */
static int batch_of_alg(void)
{
    for (size_t i = 0; i < PACKETS; i++)
        now.ops[i] = (sealane_op){.out = now.texts[i],
                                  .in = now.texts[i],
                                  .in_bytes = 1000,
                                  .key = &now.k,
                                  .nonce = now.nonce,
                                  .nonce_bytes = 12,
                                  .tag = now.tags[i]};
    return sealane_seal_batch(now.ops, PACKETS) != PACKETS || sealane_open_batch(now.ops, PACKETS) != PACKETS;
}

static int batch_of_quic(void)
{
    sealane_quic_packet p[PACKETS];
    for (size_t i = 0; i < PACKETS; i++)
        p[i] = (sealane_quic_packet){
            .keys = &quic_keys[i % 2], .bytes = now.texts[i], .packet_bytes = 1200, .pn_offset = 9, .number = 5};
    return sealane_quic_protect_batch(p, PACKETS) != PACKETS || sealane_quic_unprotect_batch(p, PACKETS) != PACKETS;
}

static const struct {
    const char *name;
    figure figure;
    int (*before)(void), (*call)(void);
} firsts[] = {
    {"ChaCha20-Poly1305", FIRST_KEY, NULL, first_key},
    {"AES-GCM", FIRST_KEY, NULL, first_gcm_key},
    {"AES", FIRST_KEY, NULL, first_aes_key},
    {"QUIC", FIRST_KEY, NULL, first_quic_keys},
    {"all", FIRST_BATCH, NULL, sealane_init},
    {"ChaCha20-Poly1305", FIRST_BATCH, first_key, batch_of_alg},
    {"AES-GCM", FIRST_BATCH, first_gcm_key, batch_of_alg},
    {"QUIC", FIRST_QUIC_BATCH, first_quic_keys, batch_of_quic},
    {"QUIC", QUIC_BATCH, sealane_init, batch_of_quic},
};

/* In a process of its own: returns 0 if it does not use more than allowed. */
static int run_first(size_t i, int portable)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (portable)
        setenv("SEALANE_ASM", "0", 1);
    if (firsts[i].before && firsts[i].before() != 0)
        return 2;
    if (firsts[i].figure == QUIC_BATCH && first_quic_keys() != 0)
        return 2;
    now.first = firsts[i].call;
    memset(stack, FILL, STACK_BYTES);
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, on_stack, NULL) != 0 || pthread_join(thread, NULL) != 0 || now.bad)
        return 2;
    printf("%s %s of %s%s: %zu bytes of stack\n", is_within(firsts[i].figure, portable, used(stack)) ? "ok  " : "FAIL",
           figures[firsts[i].figure].of, firsts[i].name, portable ? ", portable" : "", used(stack));
    fflush(stdout);
    return used(stack) > most_of(firsts[i].figure, portable);
}

static unsigned check_firsts(void)
{
    unsigned failed = 0;
    for (size_t i = 0; i < 2 * sizeof firsts / sizeof *firsts; i++) {
        fflush(stdout);
        const pid_t child = fork();
        int status = 1;
        if (child == 0)
            _exit(run_first(i / 2, (int)(i % 2)));
        failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0, not_run = 0;
    const int some = argc > 1 && strcmp(argv[1], "--some") == 0;
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return 2;
    if (argc > 1 && strncmp(argv[1], "--plant=", 8) == 0)
        now.plant = argv[1] + 8;
    else if (argc > 1 && !some)
        return 2;
    failed += check_firsts();
    const uint32_t features = sealane_cpu_features();
    for (int t = 0; t < SEALANE_TABLES; t++)
        for (unsigned l = 0; l < sealane_tables[t].count; l++) {
            const sealane_level *level = &sealane_tables[t].levels[l];
            const int absent = (level->needs & ~features) != 0;
            touched = call_count = reported = 0;
            if (!absent)
                (void)sealane_level_batch(&sealane_tables[t],
                                          level); /* excludes its known-answer test from a batch's stack */
            const int good = absent ? -1 : check_level(t, (int)l, some);
            passed += good == 1, failed += good == 0, not_run += good == -1;
            printf("%s %s %s: %zu calls%s\n",
                   good == 1   ? "ok  "
                   : good == 0 ? "FAIL"
                               : "not run",
                   sealane_tables[t].primitive, level->name, call_count, absent ? ", this CPU lacks it" : "");
            if (good == 1 && touched < call_count * 100) {
                printf("FAIL the calls were not on that stack\n");
                failed++;
            }
        }
    for (int f = 0; f <= A_BATCH; f++)
        printf("     %s uses at most %zu bytes of stack\n", figures[f].of, deepest[f]);
    printf("residue: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
