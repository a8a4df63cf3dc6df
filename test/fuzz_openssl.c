/* fuzz_openssl: compares every level, streams, pieces and batches with OpenSSL's ChaCha20-Poly1305 and AES-GCM.
 *
 *     fuzz_openssl [--seconds=N] [--seed=N] [--corrupt]    random packets; --corrupt plants a difference: must fail
 *     clang -fsanitize=fuzzer ... -DSEALANE_LIBFUZZER      the same, guided by coverage
 *
 * The first bytes of an input choose lengths, cuts and direction; the rest is key, nonce, associated data and text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>

#include "../src/cpu.h"
#include "../src/key.h"
#include "seed.h"

enum { LONGEST = 1 << 16, LONGEST_AD = 1 << 10 };

static int plant;
static uint64_t packets;

typedef struct {
    const uint8_t *at;
    size_t left;
} source;

/* Takes the next n bytes, or zeroes after the end of the input. */
static void take(source *s, uint8_t *out, size_t n)
{
    const size_t have = n < s->left ? n : s->left;
    memcpy(out, s->at, have);
    memset(out + have, 0, n - have);
    s->at += have, s->left -= have;
}

static size_t take_number(source *s, size_t limit)
{
    uint8_t b[4];
    take(s, b, 4);
    return load32(b) % limit;
}

static void die(const char *what, const char *level, size_t bytes, size_t ad_bytes)
{
    printf("FAIL %s: level %s, %zu bytes, ad %zu\n", what, level, bytes, ad_bytes);
    fflush(stdout);
    abort();
}

static sealane_alg alg;
static size_t key_bytes, nonce_bytes;

static const EVP_CIPHER *openssl_cipher(void)
{
    return alg == SEALANE_AES_128_GCM   ? EVP_aes_128_gcm()
           : alg == SEALANE_AES_192_GCM ? EVP_aes_192_gcm()
           : alg == SEALANE_AES_256_GCM ? EVP_aes_256_gcm()
                                        : EVP_chacha20_poly1305();
}

static void openssl_seal(uint8_t *out, uint8_t tag[16], const uint8_t *key, const uint8_t *nonce, const uint8_t *ad,
                         size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    static EVP_CIPHER_CTX *c;
    int n;
    if (c == NULL)
        c = EVP_CIPHER_CTX_new();
    if (!EVP_EncryptInit_ex(c, openssl_cipher(), NULL, NULL, NULL) ||
        !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce_bytes, NULL) ||
        !EVP_EncryptInit_ex(c, NULL, NULL, key, nonce) ||
        (ad_bytes && !EVP_EncryptUpdate(c, NULL, &n, ad, (int)ad_bytes)) ||
        (bytes && !EVP_EncryptUpdate(c, out, &n, in, (int)bytes)) || !EVP_EncryptFinal_ex(c, out + bytes, &n) ||
        !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag)) {
        fprintf(stderr, "OpenSSL failed\n");
        exit(2);
    }
}

static uint8_t key[32], nonce[128], ad[LONGEST_AD], text[LONGEST], want[LONGEST + 64], got[LONGEST], want_tag[16],
    got_tag[16];

static void whole(const sealane_key *k, size_t bytes, size_t ad_bytes)
{
    const char *name = sealane_impl_name(k);
    if (sealane_seal(k, got, got_tag, nonce, nonce_bytes, ad, ad_bytes, text, bytes) != 0)
        die("sealane_seal refused", name, bytes, ad_bytes);
    if (plant && bytes >= 100)
        got[99] ^= 1;
    if (memcmp(got, want, bytes) != 0 || memcmp(got_tag, want_tag, 16) != 0)
        die("sealed differently", name, bytes, ad_bytes);
    if (sealane_open(k, got, want_tag, nonce, nonce_bytes, ad, ad_bytes, got, bytes) != 0 ||
        memcmp(got, text, bytes) != 0)
        die("not opened", name, bytes, ad_bytes);
}

static void streamed(const sealane_key *k, size_t bytes, size_t ad_bytes, source *s)
{
    const size_t most = 1 + take_number(s, 1000);
    sealane_stream stream;
    int bad = sealane_stream_init(&stream, k, SEALANE_STREAM_OPEN, nonce, nonce_bytes);
    for (size_t at = 0, n; at < ad_bytes; at += n) {
        n = (1 + take_number(s, 40)) % (ad_bytes - at + 1);
        n += n == 0;
        bad |= sealane_stream_ad(&stream, ad + at, n);
    }
    for (size_t at = 0, n; at < bytes; at += n) {
        n = (1 + take_number(s, most)) % (bytes - at + 1);
        n += n == 0;
        bad |= sealane_stream_update(&stream, got + at, want + at, n);
    }
    bad |= sealane_stream_open_final(&stream, want_tag);
    if (bad || memcmp(got, text, bytes) != 0)
        die("a stream did not open", sealane_impl_name(k), bytes, ad_bytes);
}

static void in_pieces(const sealane_key *k, size_t bytes, size_t ad_bytes, source *s)
{
    const size_t cut = take_number(s, bytes + 1), ad_cut = take_number(s, ad_bytes + 1);
    const sealane_iovec pieces[2] = {{text, got, cut}, {text + cut, got + cut, bytes - cut}};
    const sealane_iovec ads[2] = {{ad, NULL, ad_cut}, {ad + ad_cut, NULL, ad_bytes - ad_cut}};
    if (sealane_sealv(k, got_tag, nonce, nonce_bytes, ads, 2, pieces, 2) != 0 || memcmp(got, want, bytes) != 0 ||
        memcmp(got_tag, want_tag, 16) != 0)
        die("pieces were sealed differently", sealane_impl_name(k), bytes, ad_bytes);
}

enum { MOST_IN_BATCH = 40, LONGEST_IN_BATCH = 2200 };

/* Parts of the text become packets of a batch, each with its own nonce and length, which are sealed and opened in
 * place. */
static void batched(const sealane_key *k, size_t bytes, size_t ad_bytes, source *s)
{
    static uint8_t out[MOST_IN_BATCH][LONGEST_IN_BATCH], tags[MOST_IN_BATCH][16], nonces[MOST_IN_BATCH][sizeof nonce];
    const size_t n = take_number(s, MOST_IN_BATCH + 1),
                 most = take_number(s, (bytes < LONGEST_IN_BATCH ? bytes : LONGEST_IN_BATCH) + 1);
    sealane_op ops[MOST_IN_BATCH];
    for (size_t i = 0; i < n; i++) {
        memcpy(nonces[i], nonce, nonce_bytes), nonces[i][nonce_bytes - 1] ^= (uint8_t)i;
        ops[i] = (sealane_op){.out = out[i],
                              .in = text,
                              .ad = ad,
                              .ad_bytes = take_number(s, (ad_bytes < 40 ? ad_bytes : 40) + 1),
                              .key = k,
                              .nonce = nonces[i],
                              .nonce_bytes = nonce_bytes,
                              .tag = tags[i]};
        ops[i].in_bytes = take_number(s, most + 1);
    }
    if (sealane_seal_batch(ops, n) != n)
        die("a batch was not sealed", sealane_impl_name(k), bytes, ad_bytes);
    for (size_t i = 0; i < n; i++) {
        openssl_seal(want, want_tag, key, nonces[i], ad, ops[i].ad_bytes, text, ops[i].in_bytes);
        if (memcmp(out[i], want, ops[i].in_bytes) != 0 || memcmp(tags[i], want_tag, 16) != 0)
            die("sealed differently in a batch", sealane_impl_name(k), ops[i].in_bytes, ops[i].ad_bytes);
        ops[i].in = out[i];
    }
    const size_t forged = n ? take_number(s, n) : 0;
    tags[forged][take_number(s, 16)] ^= 1;
    if (n && (sealane_open_batch(ops, n) != n - 1 || ops[forged].status != SEALANE_NOT_AUTHENTIC))
        die("not opened in a batch", sealane_impl_name(k), bytes, ad_bytes);
    for (size_t i = 0; i < n; i++)
        if (i != forged && memcmp(out[i], text, ops[i].in_bytes) != 0)
            die("opened differently in a batch", sealane_impl_name(k), ops[i].in_bytes, ops[i].ad_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, size};
    static uint32_t features;
    if (features == 0)
        features = sealane_cpu_features();
    const size_t shape = take_number(&s, 16);
    const size_t bytes = take_number(&s, shape == 0 ? LONGEST : shape < 4 ? 5000 : 700);
    const size_t ad_bytes = take_number(&s, shape % 2 ? LONGEST_AD : 33);
    static const sealane_alg algs[] = {SEALANE_CHACHA20_POLY1305, SEALANE_AES_128_GCM, SEALANE_AES_192_GCM,
                                       SEALANE_AES_256_GCM};
    const size_t which = take_number(&s, 4);
    alg = algs[which], key_bytes = which == 0 ? 32 : 8 + 8 * which;
    nonce_bytes = which == 0 || take_number(&s, 3) != 0 ? 12 : 1 + take_number(&s, sizeof nonce);
    take(&s, key, 32), take(&s, nonce, nonce_bytes), take(&s, ad, ad_bytes), take(&s, text, bytes);
    openssl_seal(want, want_tag, key, nonce, ad, ad_bytes, text, bytes);
    const sealane_table *table = table_of(alg);
    for (unsigned l = 0; l < table->count; l++) {
        sealane_key k;
        source cuts = s;
        if (table->levels[l].needs & ~features)
            continue;
        if (sealane_key_init_at(&k, alg, key, key_bytes, (int)l) != 0)
            die("key", table->levels[l].name, 0, 0);
        whole(&k, bytes, ad_bytes);
        streamed(&k, bytes, ad_bytes, &cuts);
        in_pieces(&k, bytes, ad_bytes, &cuts);
    }
    for (unsigned l = 0; shape % 4 == 0 && l < table->count; l++) {
        sealane_key k;
        source cuts = s;
        if (!(table->levels[l].needs & ~features) && sealane_key_init_at(&k, alg, key, key_bytes, (int)l) == 0)
            batched(&k, bytes, ad_bytes, &cuts);
    }
    packets++;
    return 0;
}

#if !defined(SEALANE_LIBFUZZER)
int main(int argc, char **argv)
{
    static uint8_t input[LONGEST + LONGEST_AD + 4096];
    uint64_t seed = seed_of_run(), limit = 10;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--seconds=", 10) == 0)
            limit = strtoull(argv[i] + 10, NULL, 0);
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = strtoull(argv[i] + 7, NULL, 0);
        else if (strcmp(argv[i], "--corrupt") == 0)
            plant = 1;
    }
    printf("fuzz_openssl: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    const time_t end = time(NULL) + (time_t)limit;
    for (uint64_t round = 0; round % 64 != 0 || time(NULL) < end; round++) {
        /* Mostly random, with some long runs of one byte, which cause carries. */
        for (size_t i = 0; i < sizeof input; i += 8) {
            uint64_t z = seed += 0x9e3779b97f4a7c15;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
            z = (z ^ z >> 27) * 0x94d049bb133111eb;
            store64(input + i, z ^ z >> 31);
        }
        if (round % 4 == 3)
            memset(input + 12 + 44 + input[0], round & 4 ? 0xff : 0, 60000);
        LLVMFuzzerTestOneInput(input, sizeof input);
    }
    printf("fuzz_openssl: %llu packets on every level of this CPU, the same as OpenSSL's\n",
           (unsigned long long)packets);
    printf("fuzz_openssl: 1 passed, 0 failed, 0 not run\n");
    return 0;
}
#endif
