/* modes_openssl: AES in the modes that do not authenticate, CMAC and CCM beside OpenSSL's, with random keys, texts,
 * pieces and mistakes.
 *
 *     modes_openssl [--seconds=N] [--corrupt]    --corrupt: one bit of OpenSSL's output is wrong now and then; must
 * fail */
#include <sealane.h>

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "seed.h"

enum { LONGEST = 20000 };

static uint64_t seed, cases;
static int corrupt;
static uint8_t text[LONGEST + 64], want[LONGEST + 64], got[LONGEST + 64];

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

static void randomize(uint8_t *p, size_t n)
{
    while (n-- > 0)
        *p++ = (uint8_t)random64();
}

static void must(int holds, const char *what, size_t bytes)
{
    if (holds)
        return;
    printf("FAIL %s, %zu bytes, case %llu\n", what, bytes, (unsigned long long)cases);
    exit(1);
}

/* mode has OpenSSL's spelling. */
static void openssl(const char *mode, size_t key_bits, int encrypt, const uint8_t *key, const uint8_t *iv, size_t bytes)
{
    char name[32];
    int n = 0;
    snprintf(name, sizeof name, "AES-%zu-%s", key_bits, mode);
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const int ok = c != NULL && EVP_CipherInit_ex2(ctx, c, key, iv, encrypt, NULL) == 1 &&
                   EVP_CIPHER_CTX_set_padding(ctx, 0) == 1 && EVP_CipherUpdate(ctx, want, &n, text, (int)bytes) == 1;
    must(ok && (size_t)n == bytes, name, bytes);
    if (corrupt && bytes > 0 && below(50) == 0)
        want[below(bytes)] ^= 1;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(c);
}

static size_t some_length(void)
{
    return below((size_t)1 << (1 + below(14)));
}

/* The input, which is sometimes the output buffer. */
static const uint8_t *input(size_t bytes)
{
    memset(got, 0xa5, sizeof got);
    if (below(2))
        return text;
    memcpy(got, text, bytes);
    return got;
}

static void same(const char *what, size_t bytes)
{
    must(memcmp(got, want, bytes) == 0, what, bytes);
    for (size_t i = bytes; i < bytes + 64; i++)
        must(got[i] == 0xa5, "written past the end", bytes);
}

static void ctr(const uint8_t *key, size_t key_bytes)
{
    sealane_aes_key k;
    sealane_aes_ctr s;
    uint8_t iv[16];
    const size_t bytes = some_length();
    randomize(iv, 16), randomize(text, bytes);
    if (below(2))
        memset(iv + below(12), 0xff, 4), iv[12] = iv[13] = iv[14] = 0xff; /* carries far */
    openssl("CTR", 8 * key_bytes, 1, key, iv, bytes);
    const uint8_t *in = input(bytes);
    must(sealane_aes_key_init(&k, key, key_bytes) == 0 && sealane_aes_ctr_init(&s, iv, 128) == 0, "set-up", bytes);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = some_length();
        n = n < bytes - at ? n : bytes - at;
        must(sealane_aes_ctr_xor(&k, &s, got + at, in + at, n) == 0, "CTR", bytes);
    }
    same("CTR", bytes);
}

static void cbc(const uint8_t *key, size_t key_bytes)
{
    sealane_aes_key k;
    uint8_t iv[16], chain[16];
    const size_t bytes = some_length() & ~(size_t)15;
    const int encrypt = (int)below(2);
    randomize(iv, 16), randomize(text, bytes), memcpy(chain, iv, 16);
    openssl("CBC", 8 * key_bytes, encrypt, key, iv, bytes);
    const uint8_t *in = input(bytes);
    must(sealane_aes_key_init(&k, key, key_bytes) == 0, "set-up", bytes);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = (some_length() & ~(size_t)15) + 16;
        n = n < bytes - at ? n : bytes - at;
        must((encrypt ? sealane_aes_cbc_encrypt : sealane_aes_cbc_decrypt)(&k, chain, got + at, in + at, n) == 0, "CBC",
             bytes);
    }
    same(encrypt ? "CBC encryption" : "CBC decryption", bytes);
}

/* Several adjacent texts of one length, with one key. */
static void cbc_batch(const uint8_t *key, size_t key_bytes)
{
    enum { TEXTS = 13 };
    sealane_aes_key k;
    sealane_cbc_op ops[TEXTS];
    uint8_t ivs[TEXTS][16], outs[TEXTS][512];
    must(sealane_aes_key_init(&k, key, key_bytes) == 0, "set-up", 0);
    randomize(text, sizeof text), randomize(&ivs[0][0], sizeof ivs);
    for (size_t i = 0; i < TEXTS; i++)
        ops[i] = (sealane_cbc_op){&k, ivs[i], outs[i], text + 600 * i, 16 * below(33), SEALANE_TOO_LATE};
    uint8_t before[TEXTS][16];
    memcpy(before, ivs, sizeof ivs);
    must(sealane_aes_cbc_encrypt_batch(ops, TEXTS) == TEXTS, "CBC batch", 0);
    for (size_t i = 0; i < TEXTS; i++) {
        memmove(text, ops[i].in, ops[i].in_bytes);
        openssl("CBC", 8 * key_bytes, 1, key, before[i], ops[i].in_bytes);
        must(memcmp(outs[i], want, ops[i].in_bytes) == 0, "CBC batch", ops[i].in_bytes);
    }
}

static void ecb(const uint8_t *key, size_t key_bytes)
{
    sealane_aes_key k;
    const size_t bytes = some_length() & ~(size_t)15;
    const int encrypt = (int)below(2);
    randomize(text, bytes);
    openssl("ECB", 8 * key_bytes, encrypt, key, NULL, bytes);
    const uint8_t *in = input(bytes);
    must(sealane_aes_key_init(&k, key, key_bytes) == 0 &&
             (encrypt ? sealane_aes_ecb_encrypt : sealane_aes_ecb_decrypt)(&k, got, in, bytes) == 0,
         "ECB", bytes);
    same("ECB", bytes);
}

static void xts(const uint8_t *key, size_t key_bytes)
{
    sealane_xts_key k;
    uint8_t tweak[16];
    const size_t half = key_bytes == 24 ? 16 : key_bytes, bytes = 16 + some_length();
    const int encrypt = (int)below(2);
    randomize(tweak, 16), randomize(text, bytes);
    openssl("XTS", 8 * half, encrypt, key, tweak, bytes);
    const uint8_t *in = input(bytes);
    must(sealane_aes_xts_key_init(&k, key, 2 * half) == 0 &&
             (encrypt ? sealane_aes_xts_encrypt : sealane_aes_xts_decrypt)(&k, tweak, got, in, bytes) == 0,
         "XTS", bytes);
    same(encrypt ? "XTS encryption" : "XTS decryption", bytes);
}

static void cmac(const uint8_t *key, size_t key_bytes)
{
    static const char *const names[] = {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC"};
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string("cipher", (char *)(uintptr_t)names[(key_bytes - 16) / 8], 0),
        OSSL_PARAM_construct_end(),
    };
    sealane_aes_key k;
    sealane_aes_cmac s;
    const size_t bytes = some_length();
    size_t n;
    randomize(text, bytes), memset(want, 0xa5, 80), memset(got, 0xa5, 80);
    EVP_MAC *m = EVP_MAC_fetch(NULL, "CMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(m);
    must(ctx != NULL && EVP_MAC_init(ctx, key, key_bytes, params) == 1 && EVP_MAC_update(ctx, text, bytes) == 1 &&
             EVP_MAC_final(ctx, want, &n, 16) == 1 && n == 16,
         "OpenSSL's CMAC", bytes);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(m);
    must(sealane_aes_key_init(&k, key, key_bytes) == 0 && sealane_aes_cmac_init(&s) == 0, "set-up", bytes);
    for (size_t at = 0; at < bytes; at += n) {
        n = some_length();
        n = n < bytes - at ? n : bytes - at;
        must(sealane_aes_cmac_update(&k, &s, text + at, n) == 0, "CMAC", bytes);
    }
    must(sealane_aes_cmac_final(&k, &s, got) == 0, "CMAC", bytes);
    same("CMAC", 16);
}

/* Both directions are tried, sometimes with associated data whose length takes six bytes. */
static void ccm(const uint8_t *key, size_t key_bytes)
{
    static uint8_t ad[70000];
    char name[32];
    sealane_ccm_key k;
    uint8_t nonce[13], tag[16], ours[16];
    const size_t bytes = some_length(), nonce_bytes = 7 + below(7), tag_bytes = 4 + 2 * below(7);
    const size_t ad_bytes = below(8) ? below(100) : 0xff00 - 3 + below(6);
    int n, ok;
    randomize(nonce, 13), randomize(text, bytes), randomize(ad, ad_bytes);
    snprintf(name, sizeof name, "AES-%zu-CCM", 8 * key_bytes);
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    ok = c != NULL && EVP_EncryptInit_ex2(ctx, c, NULL, NULL, NULL) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce_bytes, NULL) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)tag_bytes, NULL) == 1 &&
         EVP_EncryptInit_ex2(ctx, NULL, key, nonce, NULL) == 1 &&
         EVP_EncryptUpdate(ctx, NULL, &n, NULL, (int)bytes) == 1;
    if (ad_bytes != 0)
        ok = ok && EVP_EncryptUpdate(ctx, NULL, &n, ad, (int)ad_bytes) == 1;
    ok = ok && EVP_EncryptUpdate(ctx, want, &n, text, (int)bytes) == 1 && EVP_EncryptFinal_ex(ctx, want + n, &n) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)tag_bytes, tag) == 1;
    must(ok, name, bytes);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(c);
    if (corrupt && below(50) == 0)
        tag[below(tag_bytes)] ^= 1;
    const uint8_t *in = input(bytes);
    must(sealane_aes_ccm_key_init(&k, key, key_bytes, tag_bytes) == 0, "set-up", bytes);
    must(sealane_aes_ccm_seal(&k, got, ours, nonce, nonce_bytes, ad, ad_bytes, in, bytes) == 0 &&
             memcmp(ours, tag, tag_bytes) == 0,
         "CCM's tag", bytes);
    same("CCM", bytes);
    must(sealane_aes_ccm_open(&k, got, tag, nonce, nonce_bytes, ad, ad_bytes, got, bytes) == 0 &&
             memcmp(got, text, bytes) == 0,
         "CCM backwards", bytes);
}

/* SSH packets: separate ChaCha20 and Poly1305. */
static void ssh(const uint8_t *key, size_t key_bytes)
{
    const size_t bytes = 4 + some_length();
    const uint32_t sequence = (uint32_t)random64();
    uint8_t keys[64], zero[32] = {0}, one_time[32], block[16] = {0}, tag[16], ours[16];
    uint32_t length;
    sealane_ssh_key k;
    size_t n;
    int m;
    memcpy(keys, key, 32), randomize(keys + 32, 32), randomize(text, bytes);
    for (int i = 0; i < 4; i++)
        block[12 + i] = (uint8_t)(sequence >> (24 - 8 * i)); /* after 8 bytes of counter, little-endian */
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "ChaCha20", NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    must(EVP_EncryptInit_ex2(ctx, c, keys, block, NULL) == 1 && EVP_EncryptUpdate(ctx, one_time, &m, zero, 32) == 1 &&
             EVP_EncryptInit_ex2(ctx, c, keys + 32, block, NULL) == 1 && EVP_EncryptUpdate(ctx, want, &m, text, 4) == 1,
         "ChaCha20", bytes);
    block[0] = 1;
    must(EVP_EncryptInit_ex2(ctx, c, keys, block, NULL) == 1 &&
             EVP_EncryptUpdate(ctx, want + 4, &m, text + 4, (int)bytes - 4) == 1,
         "ChaCha20", bytes);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(c);
    EVP_MAC *poly1305 = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(poly1305);
    must(EVP_MAC_init(mac, one_time, 32, NULL) == 1 && EVP_MAC_update(mac, want, bytes) == 1 &&
             EVP_MAC_final(mac, tag, &n, 16) == 1,
         "Poly1305", bytes);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_free(poly1305);
    if (corrupt && below(50) == 0)
        tag[below(16)] ^= 1;
    const uint8_t *in = input(bytes);
    must(key_bytes != 0 && sealane_ssh_key_init(&k, keys, 64) == 0 &&
             sealane_ssh_seal(&k, sequence, got, ours, in, bytes) == 0 && memcmp(ours, tag, 16) == 0,
         "SSH's tag", bytes);
    same("SSH", bytes);
    must(sealane_ssh_length(&k, sequence, &length, got) == 0 &&
             length == ((uint32_t)text[0] << 24 | (uint32_t)text[1] << 16 | (uint32_t)text[2] << 8 | text[3]) &&
             sealane_ssh_open(&k, sequence, got, tag, got, bytes) == 0 && memcmp(got, text, bytes) == 0,
         "SSH backwards", bytes);
    memcpy(got, want, bytes);
    tag[below(16)] ^= (uint8_t)(1 << below(8));
    must(sealane_ssh_open(&k, sequence, got, tag, got, bytes) == SEALANE_NOT_AUTHENTIC, "SSH, forged", bytes);
    same("SSH, forged in place", bytes);
}

/* ChaCha20 with a 64-bit counter, whose lower half often wraps around. OpenSSL carries too. */
static void chacha20(const uint8_t *key, size_t key_bytes)
{
    const size_t bytes = some_length();
    const uint64_t counter = below(2) ? random64() >> 1 : (random64() >> 1 | 0xffffffff) - below(1 + bytes / 64);
    uint8_t iv[16];
    sealane_key k;
    int m;
    for (int i = 0; i < 8; i++)
        iv[i] = (uint8_t)(counter >> 8 * i);
    randomize(iv + 8, 8), randomize(text, bytes);
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "ChaCha20", NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    must(EVP_EncryptInit_ex2(ctx, c, key, iv, NULL) == 1 && EVP_EncryptUpdate(ctx, want, &m, text, (int)bytes) == 1,
         "ChaCha20", bytes);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(c);
    const uint8_t *in = input(bytes);
    const size_t piece = 64 * below(bytes / 64 + 1);
    must(key_bytes != 0 && sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) == 0 &&
             sealane_chacha20_xor(&k, iv + 8, counter, got, in, piece) == 0 &&
             sealane_chacha20_xor(&k, iv + 8, counter + piece / 64, got + piece, in + piece, bytes - piece) == 0,
         "ChaCha20", bytes);
    same("ChaCha20", bytes);
}

int main(int argc, char **argv)
{
    double limit = 2;
    seed = seed_of_run();
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--seconds=", 10) == 0)
            limit = atof(argv[i] + 10);
        else if (strcmp(argv[i], "--corrupt") == 0)
            corrupt = 1;
        else
            return 2;
    printf("modes_openssl: seed %#llx\n", (unsigned long long)seed);
    for (const clock_t start = clock(); (double)(clock() - start) < limit * CLOCKS_PER_SEC; cases++) {
        static void (*const all[])(const uint8_t *, size_t) = {ctr, cbc, cbc_batch, ecb, xts, cmac, ccm, ssh, chacha20};
        uint8_t key[64];
        randomize(key, sizeof key);
        all[cases % 9](key, 16 + 8 * below(3));
    }
    printf("modes_openssl: %llu cases are the same\n", (unsigned long long)cases);
    return 0;
}
