/* secret_valgrind: no branch and no address depends on a secret, according to valgrind's memcheck.
 *
 * Keys, nonces, texts, associated data and tags are marked undefined. memcheck tracks them bit by bit through every
 * instruction, and reports jumps and addresses derived from them. Levels whose instructions valgrind does not know are
 * not run here; secret_trace runs them.
 *
 *     valgrind --quiet secret_valgrind [--plant=NAME]    NAME: code that leaks, see planted.h; must fail */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/memcheck.h>

#include "../src/cpu.h"
#include "../src/key.h"
#include "planted.h"

enum { LONGEST = 5000 };

static uint8_t key[32], nonce[24], ad[100], text[LONGEST], out[LONGEST], tag[16];

static void make_secret(void)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof key);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(nonce, sizeof nonce);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(ad, sizeof ad);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(text, sizeof text);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(tag, sizeof tag);
}

/* Seals a few packets of up to that length, forges one, and opens them. */
static int run_batch(const sealane_key *k, size_t bytes, size_t nonce_bytes)
{
    enum { PACKETS = 7 };
    static uint8_t texts[PACKETS][LONGEST], tags[PACKETS][16];
    sealane_op ops[PACKETS];
    (void)VALGRIND_MAKE_MEM_UNDEFINED(texts, sizeof texts);
    for (size_t i = 0; i < PACKETS; i++)
        ops[i] = (sealane_op){.out = texts[i],
                              .in = texts[i],
                              .in_bytes = bytes - bytes * i / 50,
                              .ad = ad,
                              .ad_bytes = bytes % 40,
                              .key = k,
                              .nonce = nonce,
                              .nonce_bytes = nonce_bytes,
                              .tag = tags[i]};
    int bad = sealane_seal_batch(ops, PACKETS) != PACKETS;
    tags[3][5] ^= 1;
    bad |= sealane_open_batch(ops, PACKETS) != PACKETS - 1;
    return bad;
}

static int run(const sealane_table *table, int level, size_t bytes)
{
    static const struct {
        sealane_alg alg;
        size_t key_bytes, nonce_bytes;
    } all[] = {
        {SEALANE_CHACHA20_POLY1305, 32, 12}, {SEALANE_XCHACHA20_POLY1305, 32, 24}, {SEALANE_AES_128_GCM, 16, 12},
        {SEALANE_AES_192_GCM, 24, 24},       {SEALANE_AES_256_GCM, 32, 12},
    };
    int refused = 0;
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) {
        const size_t nonce_bytes = all[a].nonce_bytes, ad_bytes = bytes % 100;
        if (table_of(all[a].alg) != table)
            continue;
        sealane_key k;
        sealane_stream s;
        make_secret();
        refused |= sealane_key_init_at(&k, all[a].alg, key, all[a].key_bytes, level);
        refused |= sealane_seal(&k, out, tag, nonce, nonce_bytes, ad, ad_bytes, text, bytes);
        refused |= sealane_open(&k, out, tag, nonce, nonce_bytes, ad, ad_bytes, out, bytes);
        make_secret();
        tag[5] ^= 1;
        refused |= sealane_open(&k, out, tag, nonce, nonce_bytes, ad, ad_bytes, text, bytes) == 0;
        refused |= sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, nonce_bytes);
        refused |= sealane_stream_ad(&s, ad, ad_bytes);
        for (size_t at = 0, n; at < bytes; at += n) {
            n = bytes - at < 199 ? bytes - at : 199;
            refused |= sealane_stream_update(&s, out + at, text + at, n);
        }
        refused |= sealane_stream_seal_final(&s, tag);
        refused |= run_batch(&k, bytes, nonce_bytes);
        sealane_key_wipe(&k);
    }
    return refused;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0,   1,   15,  16,   17,   63,   64,   65,   100,  127,  128,  129, 191,
                                   192, 255, 256, 257,  320,  511,  512,  513,  576,  640,  700,  767, 768,
                                   830, 900, 960, 1023, 1024, 1025, 1420, 1472, 2047, 2048, 3000, 4999};
    const uint32_t features = sealane_cpu_features();
    unsigned passed = 0, failed = 0, not_run = 0;
    if (!RUNNING_ON_VALGRIND) {
        fprintf(stderr, "secret_valgrind: run it under valgrind\n");
        return 2;
    }
    if (argc > 1) {
        const int plant = strncmp(argv[1], "--plant=", 8) == 0 ? planted_find(argv[1] + 8) : -1;
        if (plant < 0)
            return 2;
        planted_init();
        make_secret();
        planted[plant].run(key);
        printf("secret_valgrind: %u reports about %s\n", (unsigned)VALGRIND_COUNT_ERRORS, planted[plant].name);
        return VALGRIND_COUNT_ERRORS != 0;
    }
    for (const sealane_table *t = sealane_tables; t < sealane_tables + SEALANE_TABLES; t++)
        for (unsigned l = 0; l < t->count; l++) {
            const char *name = t->levels[l].name;
            if (t->levels[l].needs & ~features) {
                printf("not run: %s %s, valgrind or this CPU lacks it\n", t->primitive, name);
                not_run++;
                continue;
            }
            const unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
            int refused = 0;
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                refused |= run(t, (int)l, sizes[i]);
            const unsigned reports = (unsigned)VALGRIND_COUNT_ERRORS - before;
            const int good = reports == 0 && !refused;
            passed += good, failed += !good;
            printf("%s %s %s: %u reports%s\n", good ? "ok  " : "FAIL", t->primitive, name, reports,
                   refused ? ", and a wrong result" : "");
        }
    printf("secret_valgrind: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
