/* AES-CTR, AES-CBC and AES-XTS of sealane.so through EVP. Tests published vectors, pieces, copies, places in a
 * block, padding, refusals, threads, allocations, and the random generator on AES-CTR.
 *
 *     modes FOLDER [--plant=CHECK]      FOLDER holds sealane.so; --plant makes one check fail */
#include <pthread.h>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "providers.h"

enum { LONGEST = 4096, THREADS = 8 };

static const char *plant = "";
static unsigned passed, failed;
static uint64_t random_state = 1;
static providers loaded;

static int planted(const char *check)
{
    return strcmp(plant, check) == 0;
}

static void verdict(const char *check, const char *cipher, int ok)
{
    printf("%s %s: %s\n", ok ? "ok  " : "FAIL", cipher, check);
    *(ok ? &passed : &failed) += 1;
    ERR_clear_error();
}

static size_t below(size_t n)
{
    return (size_t)(next_random(&random_state) % n);
}

static void fill(uint8_t *p, size_t bytes, uint64_t *state)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)next_random(state);
}

static int is_xts(const EVP_CIPHER *cipher)
{
    return EVP_CIPHER_get_mode(cipher) == EVP_CIPH_XTS_MODE;
}

static int is_cbc(const EVP_CIPHER *cipher)
{
    return EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CBC_MODE;
}

/* Processes a whole text: XTS in one piece, the others in up to `pieces` of random lengths, CBC without padding. */
static int run(EVP_CIPHER_CTX *c, uint8_t *out, const uint8_t *in, size_t bytes, size_t pieces)
{
    const EVP_CIPHER *cipher = EVP_CIPHER_CTX_get0_cipher(c);
    uint8_t *const begin = out;
    int n, ok = EVP_CIPHER_CTX_set_padding(c, 0);
    for (size_t left = bytes, piece; left > 0 && ok; left -= piece, pieces--, in += piece, out += n) {
        piece = pieces > 1 && !is_xts(cipher) ? below(left + 1) : left;
        ok = EVP_CipherUpdate(c, out, &n, in, (int)piece) && (is_cbc(cipher) || n == (int)piece);
    }
    return ok && EVP_CipherFinal_ex(c, out, &n) && n == 0 && out == begin + bytes;
}

/* ---- NIST SP 800-38A, appendices F.2 and F.5; IEEE 1619-2007, annex B: vectors 1, 2 and 15 to 17, the first 32 bytes
 * of 10 ----
 */

#define NIST_TEXT                                                      \
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51" \
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
#define NIST_IV "000102030405060708090a0b0c0d0e0f"
#define NIST_COUNTER "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define STEALING_KEY "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0"
#define FOURS "4444444444444444444444444444444444444444444444444444444444444444"

static const struct {
    const char *cipher, *key, *iv, *text, *sealed;
} vectors[] = {
    {"AES-128-CTR", "2b7e151628aed2a6abf7158809cf4f3c", NIST_COUNTER, NIST_TEXT,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
    {"AES-192-CTR", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", NIST_COUNTER, NIST_TEXT,
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
    {"AES-256-CTR", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", NIST_COUNTER, NIST_TEXT,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
    {"AES-128-CBC", "2b7e151628aed2a6abf7158809cf4f3c", NIST_IV, NIST_TEXT,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
    {"AES-192-CBC", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", NIST_IV, NIST_TEXT,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"},
    {"AES-256-CBC", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", NIST_IV, NIST_TEXT,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"},
    {"AES-128-XTS", "1111111111111111111111111111111122222222222222222222222222222222",
     "33333333330000000000000000000000", FOURS, "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"},
    {"AES-128-XTS", "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f022222222222222222222222222222222",
     "33333333330000000000000000000000", FOURS, "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"},
    {"AES-128-XTS", STEALING_KEY, "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f10",
     "6c1625db4671522d3d7599601de7ca09ed"},
    {"AES-128-XTS", STEALING_KEY, "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f1011",
     "d069444b7a7e0cab09e24447d24deb1fedbf"},
    {"AES-128-XTS", STEALING_KEY, "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f101112",
     "e5df1351c0544ba1350b3363cd8ef4beedbf9d"},
    {"AES-256-XTS",
     "2718281828459045235360287471352662497757247093699959574966967627"
     "3141592653589793238462643383279502884197169399375105820974944592",
     "ff000000000000000000000000000000", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"},
};

static size_t unhex(uint8_t *out, const char *hex)
{
    size_t bytes = 0;
    for (; sscanf(hex + 2 * bytes, "%2hhx", &out[bytes]) == 1; bytes++)
        ;
    return bytes;
}

static void check_vectors(const EVP_CIPHER *cipher, const char *name)
{
    int ok = 1, found = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t key[65], iv[17], text[65], sealed[65], out[65];
        if (strcmp(vectors[i].cipher, name) != 0)
            continue;
        unhex(key, vectors[i].key);
        unhex(iv, vectors[i].iv);
        const size_t bytes = unhex(text, vectors[i].text);
        unhex(sealed, vectors[i].sealed);
        sealed[0] ^= planted("vectors");
        for (size_t pieces = 1; pieces < 6; pieces++)
            ok &= EVP_EncryptInit_ex(c, cipher, NULL, key, iv) && run(c, out, text, bytes, pieces) &&
                  memcmp(out, sealed, bytes) == 0 && EVP_DecryptInit_ex(c, NULL, NULL, key, iv) &&
                  run(c, out, out, bytes, pieces) && memcmp(out, text, bytes) == 0;
        found++;
    }
    EVP_CIPHER_CTX_free(c);
    verdict("published vectors", name, ok && found > 0);
}

/* ---- Names, copies, places ---- */

static void hash_name(const char *name, void *v)
{
    uint64_t h = 14695981039346656037u;
    for (; *name != 0; name++)
        h = (h ^ (uint8_t)*name) * 1099511628211u;
    *(uint64_t *)v += h;
}

static void check_names(const EVP_CIPHER *cipher, const EVP_CIPHER *other, const char *name)
{
    uint64_t names[2] = {0};
    EVP_CIPHER_names_do_all(cipher, hash_name, &names[0]);
    EVP_CIPHER_names_do_all(other, hash_name, &names[1]);
    verdict("the default provider's names, kind and lengths", name,
            names[0] == names[1] + (uint64_t)planted("names") &&
                EVP_CIPHER_get_nid(cipher) == EVP_CIPHER_get_nid(other) &&
                EVP_CIPHER_get_flags(cipher) == EVP_CIPHER_get_flags(other) &&
                EVP_CIPHER_get_block_size(cipher) == EVP_CIPHER_get_block_size(other));
}

typedef struct {
    uint8_t key[64], iv[16], text[LONGEST], sealed[LONGEST], out[LONGEST];
} work;

/* A copy continues independently. The counter and the position in its block can be read, and set in a new context. */
static void check_copies(const EVP_CIPHER *cipher, const char *name)
{
    static work w;
    int ok = 1, n;
    for (size_t bytes = 16; bytes < 600; bytes += 7) {
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new(), *again = EVP_CIPHER_CTX_new();
        const size_t cut = is_xts(cipher) ? 0 : below(bytes + 1);
        uint8_t iv[16];
        fill(w.key, sizeof w.key + sizeof w.iv + bytes, &random_state);
        ok &= EVP_EncryptInit_ex(c, cipher, NULL, w.key, w.iv) && run(c, w.sealed, w.text, bytes, 1);
        ok &= EVP_EncryptInit_ex(c, cipher, NULL, w.key, w.iv);
        ok &= cut == 0 || EVP_EncryptUpdate(c, w.out, &n, w.text, (int)cut);
        ok &= EVP_CIPHER_CTX_copy(copy, c) && EVP_CIPHER_CTX_get_updated_iv(c, iv, sizeof iv) > 0;
        ok &= EVP_EncryptInit_ex(again, cipher, NULL, w.key, iv) &&
              EVP_CIPHER_CTX_get_num(c) == (is_xts(cipher) ? 0 : (int)cut % 16) &&
              (is_xts(cipher) || EVP_CIPHER_CTX_set_num(again, EVP_CIPHER_CTX_get_num(c) ^ planted("places")) > 0);
        ok &= run(c, w.out + cut, w.text + cut, bytes - cut, 1) && memcmp(w.out, w.sealed, bytes) == 0;
        EVP_CIPHER_CTX_free(c);
        memset(w.out + cut, planted("copies"), bytes - cut);
        ok &= planted("copies") || run(copy, w.out + cut, w.text + cut, bytes - cut, 1);
        ok &= memcmp(w.out, w.sealed, bytes) == 0;
        memset(w.out + cut, 0, bytes - cut);
        ok &= run(again, w.out + cut, w.text + cut, bytes - cut, 2) && memcmp(w.out, w.sealed, bytes) == 0;
        EVP_CIPHER_CTX_free(copy);
        EVP_CIPHER_CTX_free(again);
    }
    verdict("a copy, and a new context at the same place, go on", name, ok);
}

/* ---- Refusals ---- */

static int is_refused(int result, int reason)
{
    const int is = result <= 0 && (reason == 0 || ERR_GET_REASON(ERR_peek_error()) == reason);
    ERR_clear_error();
    return is;
}

static void check_xts_refusals(const EVP_CIPHER *cipher, const char *name)
{
    static work w;
    static uint8_t unit[(1 << 24) + 1], untouched[64];
    const size_t half = (size_t)EVP_CIPHER_get_key_length(cipher) / 2;
    int n, ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    memset(w.out, 0, sizeof w.out);
    fill(w.key, sizeof w.key + sizeof w.iv, &random_state);
    ok &= EVP_EncryptInit_ex(c, cipher, NULL, w.key, NULL);
    ok &= is_refused(EVP_EncryptUpdate(c, w.out, &n, w.text, 32), PROV_R_CIPHER_OPERATION_FAILED); /* no tweak */
    ok &= EVP_EncryptInit_ex(c, NULL, NULL, NULL, w.iv);
    for (int bytes = 0; bytes < 16 + planted("refusals"); bytes++)
        ok &= EVP_Cipher(c, w.out, w.text, (unsigned)bytes) <= 0 && memcmp(w.out, untouched, sizeof untouched) == 0;
    ERR_clear_error();
    ok &= is_refused(EVP_EncryptUpdate(c, unit, &n, unit, 1 << 24 | 1), PROV_R_XTS_DATA_UNIT_IS_TOO_LARGE);
    ok &= unit[0] == 0 && unit[1 << 24] == 0;
    ok &= EVP_CIPHER_CTX_set_key_length(c, 16) <= 0;
    memcpy(w.key + half, w.key, half);
    ok &= is_refused(EVP_EncryptInit_ex(c, NULL, NULL, w.key, w.iv), PROV_R_XTS_DUPLICATED_KEYS);
    ok &= EVP_DecryptInit_ex(c, NULL, NULL, w.key, w.iv) && EVP_DecryptUpdate(c, w.out, &n, w.text, 40);
    ok &= is_refused(EVP_EncryptInit_ex(c, NULL, NULL, NULL, w.iv), PROV_R_XTS_DUPLICATED_KEYS);
    EVP_CIPHER_CTX_free(c);
    verdict("short and long units, equal halves and no tweak are refused", name, ok);
}

/* CBC: text of any length in pieces, separate and in place, padded like the default provider's; a copy continues. */
static void check_padded(const EVP_CIPHER *cipher, const EVP_CIPHER *other, const char *name)
{
    static work w;
    int ok = 1, n, sealed_bytes;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    for (int i = 0; i < 3000; i++) {
        const size_t bytes = below(i % 16 == 0 ? LONGEST - 32 : 200);
        const int in_place = i & 1;
        uint8_t *out = w.out;
        size_t at = 0, done;
        fill(w.key, sizeof w.key + sizeof w.iv + bytes, &random_state);
        ok &= EVP_EncryptInit_ex(c, other, NULL, w.key, w.iv) &&
              EVP_EncryptUpdate(c, w.sealed, &sealed_bytes, w.text, (int)bytes) &&
              EVP_EncryptFinal_ex(c, w.sealed + sealed_bytes, &n);
        sealed_bytes += n;
        for (int enc = 1; enc >= 0; enc--) {
            const size_t all = enc ? bytes : (size_t)sealed_bytes;
            const uint8_t *from = enc ? w.text : w.sealed;
            ok &= EVP_CipherInit_ex(c, cipher, NULL, w.key, w.iv, enc);
            memcpy(out, from, in_place ? all : 0);
            for (at = done = 0; at < all; at += (size_t)n) {
                const size_t piece = 1 + below(all - at);
                ok &= EVP_CipherUpdate(c, out + done, &n, in_place ? out + at : from + at, (int)piece);
                done += (size_t)n, n = (int)piece;
                if (i % 5 == 0) { /* continues in the copy, and the original is freed */
                    ok &= EVP_CIPHER_CTX_copy(copy, c);
                    EVP_CIPHER_CTX *spent = c;
                    c = copy, copy = spent;
                    EVP_CIPHER_CTX_reset(copy);
                }
            }
            ok &= EVP_CipherFinal_ex(c, out + done, &n) > 0;
            done += (size_t)n;
            ok &= done == (enc ? (size_t)sealed_bytes : bytes) && memcmp(out, enc ? w.sealed : w.text, done) == 0;
            if (planted("padding") && i == 2000)
                w.sealed[0] ^= 1;
        }
    }
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(copy);
    verdict("padded text in pieces, in place, and from a copy", name, ok);
}

/* Every last byte, before and after right and wrong padding: wrong padding gives bad_decrypt, and no text. */
static void check_cbc_refusals(const EVP_CIPHER *cipher, const char *name)
{
    static work w;
    static const uint8_t untouched[32];
    int n, ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    ok &= EVP_EncryptInit_ex(c, cipher, NULL, NULL, w.iv);
    ok &= is_refused(EVP_EncryptUpdate(c, w.out, &n, w.text, 32), PROV_R_NO_KEY_SET);
    ok &= is_refused(EVP_EncryptFinal_ex(c, w.out, &n), PROV_R_NO_KEY_SET);
    for (int last = 0; last < 256; last++) {
        for (int wrong = 0; wrong <= 16; wrong++) { /* at which byte from the end; 0: nowhere */
            const int right = last >= 1 && last <= 16 && (wrong <= 1 || wrong > last);
            memset(w.text, 0xee, 32);
            memset(w.text + 32 - (last < 16 ? last : 16), last, (size_t)(last < 16 ? last : 16));
            w.text[31] = (uint8_t)last;
            if (wrong > 1)
                w.text[32 - wrong] ^= 0x40;
            else if (wrong == 1)
                w.text[15] ^= 0x40; /* in the block before: no matter */
            ok &= EVP_EncryptInit_ex(c, NULL, NULL, w.key, w.iv) && run(c, w.sealed, w.text, 32, 1);
            memset(w.out, 0, sizeof w.out);
            ok &= EVP_DecryptInit_ex(c, NULL, NULL, w.key, w.iv) && EVP_CIPHER_CTX_set_padding(c, 1) &&
                  EVP_DecryptUpdate(c, w.out, &n, w.sealed, 32) && n == 16;
            const int result = EVP_DecryptFinal_ex(c, w.out + 16, &n);
            if (right && !(planted("refusals") && last == 7))
                ok &= result > 0 && n == 16 - last && memcmp(w.out + 16, w.text + 16, (size_t)n) == 0;
            else
                ok &= is_refused(result, PROV_R_BAD_DECRYPT) && memcmp(w.out + 16, untouched, 32) == 0;
        }
    }
    for (int bytes = 1; bytes < 16; bytes++)
        for (int padded = 0; padded < 2; padded++) {
            ok &= EVP_DecryptInit_ex(c, NULL, NULL, w.key, w.iv) && EVP_CIPHER_CTX_set_padding(c, padded) &&
                  EVP_DecryptUpdate(c, w.out, &n, w.sealed, bytes) && n == 0;
            ok &= is_refused(EVP_DecryptFinal_ex(c, w.out, &n), PROV_R_WRONG_FINAL_BLOCK_LENGTH);
            ok &= EVP_EncryptInit_ex(c, NULL, NULL, w.key, w.iv) && EVP_CIPHER_CTX_set_padding(c, 0) &&
                  EVP_EncryptUpdate(c, w.out, &n, w.sealed, bytes) && n == 0;
            ok &= is_refused(EVP_EncryptFinal_ex(c, w.out, &n), PROV_R_WRONG_FINAL_BLOCK_LENGTH);
            ok &= EVP_Cipher(c, w.out, w.sealed, (unsigned)bytes) <= 0;
            ERR_clear_error();
        }
    EVP_CIPHER_CTX_free(c);
    verdict("wrong padding, parts of a block and no key are refused", name, ok);
}

static void check_ctr_refusals(const EVP_CIPHER *cipher, const char *name)
{
    static work w;
    unsigned number = planted("refusals") ? 15 : 16;
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_NUM, &number), OSSL_PARAM_construct_end()};
    int n, ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    ok &= EVP_EncryptInit_ex(c, cipher, NULL, NULL, w.iv);
    ok &= is_refused(EVP_EncryptUpdate(c, w.out, &n, w.text, 32), PROV_R_NO_KEY_SET);
    ok &= is_refused(EVP_EncryptFinal_ex(c, w.out, &n), PROV_R_NO_KEY_SET);
    ok &= is_refused(EVP_CIPHER_CTX_set_params(c, params), PROV_R_FAILED_TO_GET_PARAMETER);
    EVP_CIPHER_CTX_free(c);
    verdict("no key, and no place in a block, are refused", name, ok);
}

/* ---- Memory and threads ---- */

static uint64_t allocations;

static void *counting_malloc(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return malloc(n);
}

static void *counting_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return realloc(p, n);
}

static void counting_free(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

static void check_allocations(const EVP_CIPHER *cipher, const char *name)
{
    static work w;
    int ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, NULL, NULL, 1);
    const uint64_t before = allocations;
    for (int i = 0; i < 100; i++) {
        fill(w.key, sizeof w.key + sizeof w.iv, &random_state);
        ok &= EVP_EncryptInit_ex(c, NULL, NULL, w.key, w.iv) &&
              run(c, w.out, w.text, is_cbc(cipher) ? 16 * (size_t)i : 16 + (size_t)i, 3);
        if (planted("allocations") && i == 50)
            OPENSSL_free(OPENSSL_malloc(1));
    }
    ok &= allocations == before && before != 0;
    EVP_CIPHER_CTX_free(c);
    verdict("no allocation per text", name, ok);
}

typedef struct {
    const EVP_CIPHER *cipher[2];
    uint64_t state;
    int ok;
} worker;

static void *in_thread(void *v)
{
    static work shared;
    worker *t = v;
    work *own = malloc(sizeof *own), *w = planted("threads") ? &shared : own;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    t->ok = 1;
    for (int i = 0; i < 200; i++) {
        size_t bytes = 16 + next_random(&t->state) % (LONGEST - 16);
        if (is_cbc(t->cipher[0]))
            bytes &= ~(size_t)15;
        fill(w->key, sizeof w->key + sizeof w->iv + 64, &t->state);
        for (int side = 0; side < 2; side++)
            t->ok &= EVP_EncryptInit_ex(c, t->cipher[side], NULL, w->key, w->iv) &&
                     run(c, side == 0 ? w->sealed : w->out, w->text, bytes, 1);
        t->ok &= memcmp(w->sealed, w->out, bytes) == 0 && EVP_DecryptInit_ex(c, t->cipher[0], NULL, w->key, w->iv) &&
                 run(c, w->out, w->sealed, bytes, 1) && memcmp(w->out, w->text, bytes) == 0;
    }
    EVP_CIPHER_CTX_free(c);
    free(own);
    return NULL;
}

static void check_threads(const EVP_CIPHER *cipher, const EVP_CIPHER *other, const char *name)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int ok = 1;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){{cipher, other}, (uint64_t)i + 1, 0};
        ok &= pthread_create(&threads[i], NULL, in_thread, &workers[i]) == 0;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ok &= workers[i].ok;
    }
    verdict("8 threads beside the default provider", name, ok);
}

/* ---- By preference ---- */

/* Offered if AES works on whole vectors, and otherwise the default provider's; not if that uses AVX-512. */
static void check_preference(const char *name)
{
    char *build = NULL, level[32] = "";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &build, 0),
                           OSSL_PARAM_construct_end()};
    EVP_CIPHER *cipher = fetch(NULL, name, "?provider=sealane");
    const char *giver = OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher));
    int ok = OSSL_PROVIDER_get_params(loaded.sealane, params) && strstr(build, "for AES ") != NULL &&
             sscanf(strstr(build, "for AES "), "for AES %31s", level) == 1;
    const int fast = strcmp(level, "avx2") == 0 || (strncmp(level, "avx512", 6) == 0 &&
                                                    OpenSSL_version_num() < (is_xts(cipher) ? 0x30500000 : 0x40100000));
    ok &= strcmp(giver, fast != planted("preference") ? "sealane" : "default") == 0;
    EVP_CIPHER_free(cipher);
    verdict("sealane's where it is fast, else the default provider's", name, ok);
}

/* OpenSSL's generator encrypts with the AES-256-CTR that is preferred. */
static void check_random(const char *folder)
{
    uint8_t out[3][100] = {{0}};
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    EVP_set_default_properties(libctx, "?provider=sealane");
    const providers p = load_providers(libctx, folder);
    int ok = RAND_bytes_ex(libctx, out[0], sizeof out[0], 0) > 0 && RAND_bytes_ex(libctx, out[1], sizeof out[1], 0) > 0;
    ok &= memcmp(out[planted("random")], out[1], sizeof out[1]) != 0 && memcmp(out[0], out[2], sizeof out[2]) != 0;
    unload_providers(&p);
    OSSL_LIB_CTX_free(libctx);
    verdict("random numbers by preference", "CTR-DRBG", ok);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR", "AES-128-CBC",
                                        "AES-192-CBC", "AES-256-CBC", "AES-128-XTS", "AES-256-XTS"};
    enum { NAMES = sizeof names / sizeof names[0], NOT_RUN = 77 };
    int not_run = 0;
    if (argc < 2)
        return 2;
    if (argc > 2 && strncmp(argv[2], "--plant=", 8) == 0)
        plant = argv[2] + 8;
    CRYPTO_set_mem_functions(counting_malloc, counting_realloc, counting_free);
    loaded = load_providers(NULL, argv[1]);
    for (size_t i = 0; i < NAMES; i++) {
        check_preference(names[i]);
        if (!is_offered(NULL, names[i])) {
            not_run++;
            continue;
        }
        EVP_CIPHER *cipher = fetch(NULL, names[i], "provider=sealane"),
                   *other = fetch(NULL, names[i], "provider=default");
        check_vectors(cipher, names[i]);
        check_names(cipher, other, names[i]);
        if (is_cbc(cipher))
            check_padded(cipher, other, names[i]);
        else
            check_copies(cipher, names[i]);
        (is_xts(cipher)   ? check_xts_refusals
         : is_cbc(cipher) ? check_cbc_refusals
                          : check_ctr_refusals)(cipher, names[i]);
        check_allocations(cipher, names[i]);
        check_threads(cipher, other, names[i]);
        EVP_CIPHER_free(cipher);
        EVP_CIPHER_free(other);
    }
    check_random(argv[1]);
    unload_providers(&loaded);
    printf("modes: %u passed, %u failed, %d not run\n", passed, failed, not_run);
    if (*plant != 0 && failed == 0 && not_run == NAMES) {
        printf("not run: %s is a fault of a mode, and at this level the provider offers none\n", plant);
        return NOT_RUN;
    }
    return failed != 0;
}
