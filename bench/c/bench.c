/* Compares libsealane with the C libraries that its users could choose instead, and prints one JSON object.
 *
 *     bench [--seconds S] [--cpu N] [--fault PEER] [--alg NAME] [--list]
 *     bench --region NAME --bytes N [--alg NAME] [--open]
 *
 * All candidates run in this process, pinned to one CPU. They alternate within every repetition, so that a slow phase
 * of the machine affects all of them. A repetition is a batch of packets of about BATCH_NS. The printed time is the
 * minimum per packet over all repetitions. A library with a call for many packets is also measured with it, against
 * the others in a loop. Before the measurement, every candidate must seal to the same bytes as the first, open them
 * again, and refuse a changed tag. --fault plants a wrong byte in one to show that this check can fail.
 *
 * --region measures nothing: one candidate seals or opens some packets, each between mark_start and mark_end, for
 * tools/x86cost.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peers.h"

#define BATCH_NS 12000.0
#define MAX_BATCH 512
#define TURNS 3 /* batches of each candidate per cell and repetition */
#define KEYS 64
#define MAX_BYTES 16384
#define MAX_SLOTS 64
/* Half a page from the input's page offset: accesses to one buffer never alias the other. */
#define OUTPUT_AT 2112
#define SLOT_GAP 192 /* keeps neighboring packets out of the same cache set */

enum op { SEAL, OPEN, SETUP };
static const char *const op_names[] = {"seal", "open", "setup"};

/* One row of the result: an operation and the shape of its packets. */
typedef struct cell {
    enum op op;
    size_t bytes, ad_bytes, keys;
    size_t batch;                /* packets in one call; 0: single-packet calls */
    packet packets[MAX_BATCHED]; /* of a batch; the first candidate sealed those to open */
    /* Packets to open, each with its own nonce, within the first-level cache if possible. */
    size_t slots, stride;
    uint8_t *sealed;
    uint8_t (*tags)[16];
    size_t slot;   /* index of the next packet */
    uint64_t next; /* number of the next sealed packet, which is its nonce */
    double best[MAX_PEERS];
    unsigned repeat[MAX_PEERS]; /* packets in one repetition */
} cell;

static const size_t sizes[] = {64, 256, 576, 1024, 1420, 4096, 8192, 16384};
static const size_t ad_sizes[] = {0, 13};
/* Batches have no associated data. MIX is the Internet mix: 7 of 64, 4 of 576 and 1 of 1420 bytes, interleaved. */
#define MIX 0
static const size_t batch_sizes[] = {64, 128, 256, 576, 1420, MIX};
static const size_t mix[] = {64, 576, 64, 64, 576, 64, 1420, 64, 576, 64, 64, 576};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static cell cells[2 * COUNT(sizes) * (COUNT(ad_sizes) + 1) + 1 + 2 * (2 * COUNT(batch_sizes) + 1)];
static size_t cell_count;
static void *sessions[MAX_PEERS][KEYS];
static uint8_t keys[KEYS][32];
static uint8_t ad[64];
#define BATCH_STRIDE (1536 + SLOT_GAP)
static _Alignas(4096) uint8_t batch_text[MAX_BATCHED][BATCH_STRIDE], batch_output[MAX_BATCHED][BATCH_STRIDE];
static uint8_t batch_tags[MAX_BATCHED][16];
static _Alignas(4096) uint8_t text[MAX_BYTES], output_space[OUTPUT_AT + MAX_BYTES];
static uint8_t *const output = output_space + OUTPUT_AT;

static void fail(const char *what, const char *who)
{
    fprintf(stderr, "bench: %s: %s\n", who, what);
    exit(1);
}

static void *checked(void *memory)
{
    if (!memory)
        fail("out of memory", "allocation");
    return memory;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The core's clock in GHz: dependent register additions take one cycle each on every CPU. The empty asm keeps them
 * separate; the inner loop is unrolled.
 */
#define CHAIN 16
static double clock_ghz(void)
{
    double best = 1e9;
    for (int repeat = 0; repeat < 200; repeat++) {
        uint64_t x = (uint64_t)repeat, y = x | 1;
        double start = now_ns();
        for (int i = 0; i < 1000; i++) {
#pragma GCC unroll 16
            for (int j = 0; j < CHAIN; j++) {
                x += y;
                __asm__ volatile("" : "+r"(x), "+r"(y));
            }
        }
        double ns = now_ns() - start;
        if (ns < best)
            best = ns;
    }
    return 1000 * CHAIN / best;
}

static void set_nonce(uint8_t nonce[12], uint64_t number)
{
    memset(nonce, 0, 4);
    memcpy(nonce + 4, &number, 8);
}

/* Processes n packets of a cell with one candidate; non-zero if any failed. */
static int run_packets(cell *c, size_t peer_index, unsigned n)
{
    const peer *p = &peers[peer_index];
    void **session = sessions[peer_index];
    uint8_t nonce[12], tag[16];
    int bad = 0;

    for (unsigned i = 0; i < n; i++) {
        size_t slot = c->slot;
        c->slot = slot + 1 == c->slots ? 0 : slot + 1;
        void *s = session[c->keys == 1 ? 0 : slot];
        switch (c->op) {
        case SEAL:
            set_nonce(nonce, c->next++);
            bad |= p->seal(s, output, tag, nonce, ad, c->ad_bytes, text, c->bytes);
            break;
        case OPEN:
            set_nonce(nonce, slot);
            bad |= p->open(s, output, c->tags[slot], nonce, ad, c->ad_bytes, c->sealed + slot * c->stride, c->bytes);
            break;
        case SETUP:
            bad |= p->rekey(s, keys[0]);
            break;
        }
    }
    return bad;
}

/* Runs a batch with one candidate, in one call or in a loop; returns the number of packets that failed. */
static size_t run_batch(cell *c, size_t peer_index)
{
    const peer *p = &peers[peer_index];
    void **session = sessions[peer_index];
    static uint8_t nonces[MAX_BATCHED][12];
    packet packets[MAX_BATCHED];
    size_t good = 0;

    for (size_t i = 0; i < c->batch; i++) {
        packets[i] = c->packets[i];
        packets[i].session = session[c->keys == 1 ? 0 : i];
        if (c->op == SEAL) {
            set_nonce(nonces[i], c->next++);
            packets[i].nonce = nonces[i];
        }
    }
    if (p->seal_batch)
        return c->batch - (c->op == SEAL ? p->seal_batch : p->open_batch)(packets, c->batch);
    for (size_t i = 0; i < c->batch; i++) {
        const packet *k = &packets[i];
        good += (c->op == SEAL ? p->seal(k->session, k->out, k->tag, k->nonce, NULL, 0, k->in, k->bytes)
                               : p->open(k->session, k->out, k->tag, k->nonce, NULL, 0, k->in, k->bytes)) == 0;
    }
    return c->batch - good;
}

/* The same for at least n packets. */
static int run_batches(cell *c, size_t peer_index, unsigned n)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i += c->batch)
        bad |= run_batch(c, peer_index);
    return bad != 0;
}

static void measure(cell *c, size_t peer_index)
{
    const peer *p = &peers[peer_index];
    if (c->op == SETUP && !p->rekey)
        return;
    int (*run)(cell *, size_t, unsigned) = c->batch ? run_batches : run_packets;
    unsigned n = c->repeat[peer_index];
    if (c->batch)
        n += (unsigned)(c->batch - 1), n -= n % (unsigned)c->batch;
    int bad = run(c, peer_index, 1);
    double start = now_ns();
    bad |= run(c, peer_index, n);
    double ns = (now_ns() - start) / n;
    if (bad)
        fail("a packet failed while it was timed", p->name);
    if (ns < c->best[peer_index])
        c->best[peer_index] = ns;
    double fitting = BATCH_NS / c->best[peer_index];
    c->repeat[peer_index] = fitting < 1 ? 1 : fitting > MAX_BATCH ? MAX_BATCH : (unsigned)fitting;
}

static void add_cell(enum op op, size_t bytes, size_t ad_bytes, size_t key_count)
{
    cell *c = &cells[cell_count++];
    *c = (cell){.op = op, .bytes = bytes, .ad_bytes = ad_bytes, .keys = key_count};
    c->slots = key_count > 1 ? key_count : 1;
    if (op == OPEN && key_count == 1) {
        c->slots = MAX_BYTES / bytes;
        if (c->slots > MAX_SLOTS)
            c->slots = MAX_SLOTS;
    }
    for (size_t i = 0; i < MAX_PEERS; i++) {
        c->best[i] = 1e12;
        c->repeat[i] = 1;
    }
    if (op != OPEN)
        return;

    c->stride = (bytes + 63) / 64 * 64 + SLOT_GAP;
    c->sealed = checked(aligned_alloc(4096, (c->slots * c->stride + 4095) / 4096 * 4096));
    c->tags = checked(malloc(c->slots * sizeof *c->tags));
    for (size_t slot = 0; slot < c->slots; slot++) {
        uint8_t nonce[12];
        set_nonce(nonce, slot);
        if (peers[0].seal(sessions[0][c->keys == 1 ? 0 : slot], c->sealed + slot * c->stride, c->tags[slot], nonce, ad,
                          ad_bytes, text, bytes))
            fail("seal failed", peers[0].name);
    }
}

/* Makes the packets of a batch, each with its own input and output memory. */
static void add_batch(enum op op, size_t bytes, size_t key_count, size_t batch)
{
    cell *c = &cells[cell_count++];
    *c = (cell){.op = op, .bytes = bytes, .keys = key_count, .batch = batch};
    for (size_t i = 0; i < MAX_PEERS; i++)
        c->best[i] = 1e12, c->repeat[i] = 1;
    if (op == OPEN) {
        c->sealed = checked(aligned_alloc(4096, sizeof batch_text));
        c->tags = checked(malloc(batch * sizeof *c->tags));
    }
    for (size_t i = 0; i < batch; i++) {
        packet *k = &c->packets[i];
        *k = (packet){.out = batch_output[i], .in = batch_text[i], .tag = batch_tags[i]};
        k->bytes = bytes == MIX ? mix[i % COUNT(mix)] : bytes;
        if (op == SEAL)
            continue;
        uint8_t *nonce = checked(malloc(12)), *sealed = c->sealed + i * BATCH_STRIDE;
        set_nonce(nonce, i);
        if (peers[0].seal(sessions[0][key_count == 1 ? 0 : i], sealed, c->tags[i], nonce, NULL, 0, batch_text[i],
                          k->bytes))
            fail("seal failed", peers[0].name);
        k->in = sealed, k->tag = c->tags[i], k->nonce = nonce;
    }
}

/* A batch must match the first candidate's bytes, open, and lose only a packet that was changed. */
static void check_batch(const cell *opening, size_t peer_index, const char *fault)
{
    const peer *p = &peers[peer_index];
    cell seal = *opening, open = *opening;
    const size_t last = opening->batch - 1;
    seal.op = SEAL, seal.next = 0; /* the nonces of the packets to open */
    for (size_t i = 0; i <= last; i++)
        seal.packets[i].in = batch_text[i], seal.packets[i].tag = batch_tags[i];
    if (run_batch(&seal, peer_index))
        fail("a batch was not sealed", p->name);
    if (fault && strcmp(fault, p->name) == 0)
        batch_output[last][opening->packets[last].bytes - 1] ^= 1;
    for (size_t i = 0; i <= last; i++)
        if (memcmp(batch_output[i], opening->packets[i].in, opening->packets[i].bytes) != 0 ||
            memcmp(batch_tags[i], opening->tags[i], 16) != 0)
            fail("sealed a batch to other bytes than the first candidate", p->name);
    if (run_batch(&open, peer_index))
        fail("did not open a batch", p->name);
    for (size_t i = 0; i <= last; i++)
        if (memcmp(batch_output[i], batch_text[i], opening->packets[i].bytes) != 0)
            fail("opened a batch to other bytes than were sealed", p->name);
    opening->tags[last][15] ^= 0x80;
    if (run_batch(&open, peer_index) != 1)
        fail("opened a packet of a batch with a wrong tag, or lost another", p->name);
    opening->tags[last][15] ^= 0x80;
}

/* Every candidate must make the same bytes as the first, and refuse a tag with one changed bit. */
static void check_agreement(const char *fault)
{
    for (size_t n = 0; n < cell_count; n++) {
        const cell *c = &cells[n];
        if (c->op != OPEN)
            continue;
        for (size_t i = 0; i < peer_count; i++) {
            const peer *p = &peers[i];
            uint8_t nonce[12], tag[16], wrong[16];
            if (c->batch) {
                check_batch(c, i, fault);
                continue;
            }
            size_t slot = c->slots - 1;
            void *s = sessions[i][c->keys == 1 ? 0 : slot];
            const uint8_t *sealed = c->sealed + slot * c->stride;

            set_nonce(nonce, slot);
            if (p->seal(s, output, tag, nonce, ad, c->ad_bytes, text, c->bytes))
                fail("seal failed", p->name);
            if (fault && strcmp(fault, p->name) == 0)
                output[c->bytes - 1] ^= 1;
            if (memcmp(output, sealed, c->bytes) != 0 || memcmp(tag, c->tags[slot], 16) != 0)
                fail("sealed to other bytes than the first candidate", p->name);
            if (p->open(s, output, tag, nonce, ad, c->ad_bytes, sealed, c->bytes) ||
                memcmp(output, text, c->bytes) != 0)
                fail("did not open what it sealed", p->name);
            memcpy(wrong, tag, 16);
            wrong[15] ^= 0x80;
            if (p->open(s, output, wrong, nonce, ad, c->ad_bytes, sealed, c->bytes) == 0)
                fail("opened a packet with a wrong tag", p->name);
        }
    }
}

__attribute__((noinline)) void mark_start(void);
__attribute__((noinline)) void mark_end(void);

void mark_start(void)
{
    __asm__ volatile("");
}

void mark_end(void)
{
    __asm__ volatile("");
}

/* Seals or opens packets of one size with one candidate, between the marks. */
static void run_region(const char *name, int open, size_t bytes)
{
    enum { CALLS = 12 };
    static uint8_t sealed[MAX_BYTES], nonces[CALLS][12], tags[CALLS][16];
    const peer *p = NULL;
    for (size_t i = 0; i < peer_count; i++)
        if (strcmp(peers[i].name, name) == 0)
            p = &peers[i];
    if (!p)
        fail("there is no such candidate here", name);
    void *s = checked(p->start(p, keys[0]));
    for (size_t i = 0; i < CALLS; i++) {
        int bad;
        set_nonce(nonces[i], i);
        if (open) {
            bad = p->seal(s, sealed, tags[i], nonces[i], ad, 0, text, bytes);
            mark_start();
            bad |= p->open(s, output, tags[i], nonces[i], ad, 0, sealed, bytes);
            mark_end();
            bad |= memcmp(output, text, bytes);
        } else {
            mark_start();
            bad = p->seal(s, output, tags[i], nonces[i], ad, 0, text, bytes);
            mark_end();
        }
        if (bad)
            fail("a packet failed", name);
    }
}

static int pin(int cpu)
{
#if defined(__linux__)
    cpu_set_t set;
    if (cpu < 0) {
        if (sched_getaffinity(0, sizeof set, &set))
            return -1;
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set))
                cpu = i;
    }
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) ? -1 : cpu;
#else
    return -1;
#endif
}

static void print_json(double ghz, int cpu, unsigned repetitions)
{
    printf("{\"clock_ghz\": %.4f, \"cpu\": %d, \"repetitions\": %u,\n \"candidates\": [", ghz, cpu, repetitions);
    for (size_t i = 0; i < peer_count; i++)
        printf("%s\n  {\"name\": \"%s\", \"library\": \"%s\", \"version\": \"%s\", \"how\": \"%s\", "
               "\"level\": \"%s\"}",
               i ? "," : "", peers[i].name, peers[i].library, peers[i].version(), peers[i].how,
               peers[i].level ? peers[i].level : "");
    printf("\n ],\n \"cells\": [");
    for (size_t n = 0; n < cell_count; n++) {
        const cell *c = &cells[n];
        const char *separator = "";
        printf("%s\n  {\"op\": \"%s\", \"bytes\": %zu, \"ad\": %zu, \"keys\": %zu, \"batch\": %zu, \"ns\": {",
               n ? "," : "", op_names[c->op], c->bytes, c->ad_bytes, c->keys, c->batch);
        for (size_t i = 0; i < peer_count; i++) {
            if (c->op == SETUP && !peers[i].rekey)
                continue;
            printf("%s\"%s\": %.3f", separator, peers[i].name, c->best[i]);
            separator = ", ";
        }
        printf("}}");
    }
    printf("\n ]}\n");
}

int main(int argc, char **argv)
{
    double seconds = 10;
    int cpu = -1;
    const char *fault = NULL, *region = NULL;
    size_t region_bytes = 0;
    bool list = false, open = false;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--list") == 0)
            list = true;
        else if (strcmp(argv[i], "--open") == 0)
            open = true;
        else if (value && strcmp(argv[i], "--region") == 0)
            region = argv[++i];
        else if (value && strcmp(argv[i], "--bytes") == 0)
            region_bytes = strtoul(argv[++i], NULL, 10);
        else if (value && strcmp(argv[i], "--seconds") == 0)
            seconds = atof(argv[++i]);
        else if (value && strcmp(argv[i], "--cpu") == 0)
            cpu = atoi(argv[++i]);
        else if (value && strcmp(argv[i], "--fault") == 0)
            fault = argv[++i];
        else if (value && strcmp(argv[i], "--alg") == 0 && choose_algorithm(argv[i + 1]))
            i++;
        else {
            fprintf(stderr,
                    "usage: %s [--seconds S] [--cpu N] [--fault PEER] [--alg NAME] [--list]\n"
                    "       %s --region NAME --bytes N [--alg NAME] [--open]\n",
                    argv[0], argv[0]);
            return 2;
        }
    }

    gather_peers();
    if (list) {
        for (size_t i = 0; i < peer_count; i++)
            printf("%s\n", peers[i].name);
        return 0;
    }
    cpu = pin(cpu);

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(7 * i + (i >> 8));
    for (size_t i = 0; i < MAX_BATCHED; i++)
        memcpy(batch_text[i], text + 7 * i, BATCH_STRIDE);
    memset(ad, 0xad, sizeof ad);
    for (size_t k = 0; k < KEYS; k++)
        for (size_t j = 0; j < 32; j++)
            keys[k][j] = (uint8_t)(0x80 + 13 * k + j);
    if (region && region_bytes > MAX_BYTES)
        fail("more than 16384 bytes", region);
    if (region) {
        run_region(region, open, region_bytes);
        return 0;
    }
    for (size_t i = 0; i < peer_count; i++)
        for (size_t k = 0; k < KEYS; k++)
            if (!(sessions[i][k] = peers[i].start(&peers[i], keys[k])))
                fail("key set-up failed", peers[i].name);

    for (enum op op = SEAL; op <= OPEN; op++) {
        for (size_t a = 0; a < COUNT(ad_sizes); a++)
            for (size_t s = 0; s < COUNT(sizes); s++)
                add_cell(op, sizes[s], ad_sizes[a], 1);
        for (size_t s = 0; s < COUNT(sizes); s++)
            add_cell(op, sizes[s], 0, KEYS);
        for (size_t s = 0; s < COUNT(batch_sizes); s++)
            add_batch(op, batch_sizes[s], 1, MAX_BATCHED), add_batch(op, batch_sizes[s], KEYS, MAX_BATCHED);
        add_batch(op, 64, 1, 1);
    }
    add_cell(SETUP, 0, 0, 1);
    check_agreement(fault);

    double deadline = now_ns() + seconds * 1e9, ghz = clock_ghz();
    unsigned repetitions = 0;
    do {
        for (size_t n = 0; n < cell_count; n++)
            for (size_t turn = 0; turn < TURNS * peer_count; turn++)
                measure(&cells[n], (turn + repetitions) % peer_count);
        if (repetitions++ % 64 == 63) {
            double again = clock_ghz();
            ghz = again > ghz ? again : ghz;
        }
    } while (now_ns() < deadline);
    print_json(ghz, cpu, repetitions);
    return 0;
}
