/* Tests sealane.so through EVP: published vectors, pieces, copies, threads, allocations.
 *
 *     evp FOLDER WYCHEPROOF AEADS [--plant=CHECK]      FOLDER contains sealane.so; --plant makes one check fail
 *
 * test/vectors/flatten.go makes WYCHEPROOF and AEADS from Wycheproof's files, AEADS from those for AES-GCM-SIV. */
#include <pthread.h>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/self_test.h>

#include "providers.h"

enum { LONGEST = 20000, THREADS = 8, LONGEST_IV = 300 };

static const char *plant = "";
static unsigned passed, failed;
static uint64_t random_state = 1;
static providers loaded;

static int planted(const char *check)
{
    return strcmp(plant, check) == 0;
}

static void verdict(const char *check, int ok)
{
    printf("%s %s\n", ok ? "ok  " : "FAIL", check);
    *(ok ? &passed : &failed) += 1;
}

typedef struct {
    uint8_t key[32], iv[LONGEST_IV], tag[16];
    size_t key_bytes, iv_bytes, ad_bytes, bytes;
    uint8_t ad[LONGEST], text[LONGEST], sealed[LONGEST];
} packet;

static int below(size_t n)
{
    return (int)(next_random(&random_state) % n);
}

/* Processes a text in up to `pieces` pieces of random lengths. */
static int update_in_pieces(EVP_CIPHER_CTX *c, uint8_t *out, const uint8_t *in, size_t bytes, int pieces)
{
    int n, ok = 1;
    for (; pieces > 1 && bytes > 0; pieces--) {
        const int piece = below(bytes + 1);
        ok &= EVP_CipherUpdate(c, out, &n, in, piece);
        in += piece, bytes -= (size_t)piece;
        out = out == NULL ? NULL : out + piece;
    }
    return ok & EVP_CipherUpdate(c, out, &n, in, (int)bytes);
}

/* AES-GCM-SIV takes its text in one piece. OpenSSL before 3.2 has no name for its mode. */
static int is_siv(const EVP_CIPHER *cipher)
{
    return EVP_CIPHER_get_mode(cipher) == 0x10005;
}

static int update_text(EVP_CIPHER_CTX *c, uint8_t *out, const uint8_t *in, size_t bytes, int pieces)
{
    return update_in_pieces(c, out, in, bytes, is_siv(EVP_CIPHER_CTX_get0_cipher(c)) ? 1 : pieces);
}

static int seal(EVP_CIPHER_CTX *c, const packet *p, uint8_t *out, uint8_t tag[16], int pieces)
{
    int n;
    return EVP_EncryptInit_ex(c, NULL, NULL, p->key, p->iv) &&
           /* An empty update makes the default provider forget the last packet's associated data. */
           (!is_siv(EVP_CIPHER_CTX_get0_cipher(c)) || EVP_EncryptUpdate(c, NULL, &n, p->ad, 0)) &&
           (p->ad_bytes == 0 || update_in_pieces(c, NULL, p->ad, p->ad_bytes, pieces)) &&
           update_text(c, out, p->text, p->bytes, pieces) && EVP_EncryptFinal_ex(c, NULL, &n) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}

static int open_packet(EVP_CIPHER_CTX *c, const packet *p, uint8_t *out, int pieces)
{
    int n;
    return EVP_DecryptInit_ex(c, NULL, NULL, p->key, p->iv) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, (void *)p->tag) &&
           (p->ad_bytes == 0 || update_in_pieces(c, NULL, p->ad, p->ad_bytes, pieces)) &&
           update_text(c, out, p->sealed, p->bytes, pieces) && EVP_DecryptFinal_ex(c, NULL, &n);
}

/* ---- Wycheproof ---- */

static int unhex(uint8_t *out, size_t room, const char *hex, size_t *bytes)
{
    if (strcmp(hex, "-") == 0)
        hex = "";
    *bytes = strlen(hex) / 2;
    for (size_t i = 0; i < *bytes && i < room; i++)
        if (sscanf(hex + 2 * i, "%2hhx", &out[i]) != 1)
            return 0;
    return *bytes <= room;
}

static int read_packet(packet *p, FILE *f, const EVP_CIPHER *cipher, int *valid)
{
    static char line[8 * LONGEST], field[6][2 * LONGEST + 1], algorithm[64], verdict_of[16];
    const char *wanted = is_siv(cipher)                                     ? "AES-GCM-SIV"
                         : EVP_CIPHER_get_mode(cipher) == EVP_CIPH_GCM_MODE ? "AES-GCM"
                                                                            : "CHACHA20-POLY1305";
    while (fgets(line, sizeof line, f) != NULL) {
        size_t tag_bytes, sealed_bytes;
        if (sscanf(line, "%63s %*s %40000s %40000s %40000s %40000s %40000s %40000s %15s", algorithm, field[0], field[1],
                   field[2], field[3], field[4], field[5], verdict_of) != 8)
            return 0;
        if (strcmp(algorithm, wanted) != 0 || strlen(field[0]) != 2 * (size_t)EVP_CIPHER_get_key_length(cipher) ||
            strlen(field[5]) != 2 * sizeof p->tag)
            continue;
        *valid = strcmp(verdict_of, "valid") == 0;
        return unhex(p->key, sizeof p->key, field[0], &p->key_bytes) &&
               unhex(p->iv, sizeof p->iv, field[1], &p->iv_bytes) && unhex(p->ad, LONGEST, field[2], &p->ad_bytes) &&
               unhex(p->text, LONGEST, field[3], &p->bytes) && unhex(p->sealed, LONGEST, field[4], &sealed_bytes) &&
               unhex(p->tag, sizeof p->tag, field[5], &tag_bytes);
    }
    return 0;
}

static int vector_holds(EVP_CIPHER_CTX *c, packet *p, int valid)
{
    static uint8_t out[LONGEST];
    uint8_t tag[16];
    const int takes_iv =
        EVP_CIPHER_CTX_get_mode(c) == EVP_CIPH_GCM_MODE ? p->iv_bytes >= 1 && p->iv_bytes <= 128 : p->iv_bytes == 12;
    if (EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, (int)p->iv_bytes, NULL) != takes_iv)
        return 0;
    if (!takes_iv)
        return 1;
    if (planted("vectors"))
        p->sealed[0] ^= 1;
    for (int pieces = 1; pieces < 5; pieces++) {
        if (open_packet(c, p, out, pieces) != valid || (valid && memcmp(out, p->text, p->bytes) != 0))
            return 0;
        if (!seal(c, p, out, tag, pieces))
            return 0;
        if (valid && (memcmp(out, p->sealed, p->bytes) != 0 || memcmp(tag, p->tag, 16) != 0))
            return 0;
    }
    return 1;
}

static void check_vectors(const EVP_CIPHER *cipher, const char *path, unsigned least)
{
    static packet p;
    unsigned count = 0, bad = 0;
    int valid;
    FILE *f = fopen(path, "r");
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, NULL, NULL, 1);
    while (f != NULL && read_packet(&p, f, cipher, &valid)) {
        bad += !vector_holds(c, &p, valid);
        count++;
    }
    EVP_CIPHER_CTX_free(c);
    if (f != NULL)
        fclose(f);
    printf("%s Wycheproof: %u vectors of %s, each in one to four pieces, %u wrong\n",
           bad == 0 && count >= least ? "ok  " : "FAIL", count, EVP_CIPHER_get0_name(cipher), bad);
    passed += count - bad;
    failed += bad + (count < least);
}

/* The level of ChaCha20-Poly1305, from the provider's build information. */
static const char *level_of_process(void)
{
    static char level[32];
    char *build = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &build, 0),
                           OSSL_PARAM_construct_end()};
    if (!OSSL_PROVIDER_get_params(loaded.sealane, params) || sscanf(build, "%*s level %31[^,]", level) != 1)
        snprintf(level, sizeof level, "unknown");
    return level;
}

/* ---- ChaCha20: RFC 8439, appendix A.1 (keystream; the counter is the IV's first word) ---- */

/* With the preferred provider: sealane on a level that is fast at it, otherwise the default provider. */
static void check_stream(void)
{
    static const struct {
        int key_end, counter, nonce_end;
        const char *start;
    } vectors[] = {
        {0, 0, 0, "76b8e0ada0f13d90405d6ae55386bd28"},
        {0, 1, 0, "9f07e7be5551387a98ba977c732d080d"},
        {1, 1, 0, "3aeb5224ecf849929b9d828db1ced4dd"},
        {0, 0, 2, "c2c64d378cd536374ae204b9ef933fcd"},
    };
    EVP_CIPHER *cipher = fetch(NULL, "ChaCha20", "?provider=sealane");
    const char *giver = OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher));
    int ok = strcmp(giver, strncmp(level_of_process(), "avx512", 6) == 0 ? "sealane" : "default") == 0;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t key[32] = {0}, iv[16] = {0}, zeroes[64] = {0}, out[64], want[16];
        size_t bytes;
        int n;
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
        key[31] = (uint8_t)vectors[i].key_end;
        iv[0] = (uint8_t)vectors[i].counter;
        iv[15] = (uint8_t)vectors[i].nonce_end;
        iv[1] = planted("stream");
        ok &= EVP_EncryptInit_ex(c, cipher, NULL, key, iv) && EVP_EncryptUpdate(c, out, &n, zeroes, 64) &&
              unhex(want, 16, vectors[i].start, &bytes) && memcmp(out, want, 16) == 0;
        EVP_CIPHER_CTX_free(c);
    }
    EVP_CIPHER_free(cipher);
    verdict("ChaCha20 vectors of RFC 8439", ok);
}

/* ---- Copies, tampering, memory, threads ---- */

static void random_packet(packet *p, size_t bytes, uint64_t *state)
{
    p->key_bytes = 32, p->iv_bytes = 12, p->ad_bytes = 13, p->bytes = bytes;
    for (size_t i = 0; i < 32; i++)
        p->key[i] = (uint8_t)next_random(state), p->iv[i] = (uint8_t)next_random(state);
    for (size_t i = 0; i < p->ad_bytes; i++)
        p->ad[i] = (uint8_t)next_random(state);
    for (size_t i = 0; i < bytes; i++)
        p->text[i] = (uint8_t)next_random(state);
}

/* Copies a context within a packet: both continue, with the same result. */
static void check_copies(const EVP_CIPHER *cipher)
{
    static packet p;
    static uint8_t first[LONGEST], second[LONGEST];
    int ok = 1, n;
    for (size_t bytes = 0; bytes < 3000; bytes += 37) {
        uint8_t tag[2][16];
        const int cut = is_siv(cipher) ? 0 : (int)bytes / 3;
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
        random_packet(&p, bytes, &random_state);
        ok &= EVP_EncryptInit_ex(c, cipher, NULL, p.key, p.iv) && EVP_EncryptUpdate(c, NULL, &n, p.ad, 13) &&
              (cut == 0 || EVP_EncryptUpdate(c, first, &n, p.text, cut)) && EVP_CIPHER_CTX_copy(copy, c);
        memcpy(second, first, (size_t)cut);
        if (planted("copies"))
            EVP_EncryptUpdate(copy, second, &n, p.text, 1);
        ok &= EVP_EncryptUpdate(c, first + cut, &n, p.text + cut, (int)bytes - cut) &&
              EVP_EncryptFinal_ex(c, NULL, &n) && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag[0]);
        EVP_CIPHER_CTX_free(c);
        ok &= EVP_EncryptUpdate(copy, second + cut, &n, p.text + cut, (int)bytes - cut) &&
              EVP_EncryptFinal_ex(copy, NULL, &n) && EVP_CIPHER_CTX_ctrl(copy, EVP_CTRL_AEAD_GET_TAG, 16, tag[1]);
        ok &= memcmp(first, second, bytes) == 0 && memcmp(tag[0], tag[1], 16) == 0;
        memcpy(p.sealed, second, bytes);
        memcpy(p.tag, tag[0], 16);
        ok &= open_packet(copy, &p, first, 3) && memcmp(first, p.text, bytes) == 0;
        EVP_CIPHER_CTX_free(copy);
    }
    verdict("a copy in mid-packet goes on by itself", ok);
}

/* Flips every bit of a short packet. */
static void check_tampering(const EVP_CIPHER *cipher)
{
    static packet p;
    static uint8_t out[LONGEST];
    int ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, NULL, NULL, 1);
    random_packet(&p, 70, &random_state);
    ok &= seal(c, &p, p.sealed, p.tag, 1) && open_packet(c, &p, out, 1);
    for (size_t bit = 0; bit < 8 * (70 + 13 + 16 + 12); bit++) {
        packet forged = p;
        const size_t byte = bit / 8;
        uint8_t *at = byte < 70   ? &forged.sealed[byte]
                      : byte < 83 ? &forged.ad[byte - 70]
                      : byte < 99 ? &forged.tag[byte - 83]
                                  : &forged.iv[byte - 99];
        if (!planted("tampering") || bit != 300)
            *at ^= (uint8_t)(1 << bit % 8);
        ok &= !open_packet(c, &forged, out, 1 + below(3));
    }
    ok &= open_packet(c, &p, out, 1);
    EVP_CIPHER_CTX_free(c);
    verdict("every flipped bit is found", ok);
}

/* Calls that would seal two texts with one nonce, or authenticate ambiguous data, are refused and change nothing.
 * They are text, associated data or another end after the end, and associated data after text. */
static void check_refusals(const EVP_CIPHER *cipher)
{
    static packet p;
    static uint8_t out[LONGEST], untouched[LONGEST];
    int n, ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, NULL, NULL, 1);
    for (size_t bytes = 1; bytes < 5000; bytes = 2 * bytes + 3) {
        uint8_t tag[16];
        random_packet(&p, bytes, &random_state);
        ok &= seal(c, &p, p.sealed, p.tag, 1);
        for (int decrypt = 0; decrypt < 2; decrypt++) {
            const uint8_t *in = decrypt ? p.sealed : p.text;
            ok &= EVP_CipherInit_ex(c, NULL, NULL, p.key, p.iv, !decrypt) && EVP_CipherUpdate(c, NULL, &n, p.ad, 13) &&
                  EVP_CipherUpdate(c, out, &n, in, 1);
            ok &= EVP_CipherUpdate(c, NULL, &n, p.ad, 13) <= 0 && EVP_Cipher(c, NULL, p.ad, 13) <= 0;
            if (planted("refusals"))
                ok &= EVP_CipherInit_ex(c, NULL, NULL, NULL, p.iv, !decrypt);
            ok &= EVP_CipherUpdate(c, out + 1, &n, in + 1, (int)bytes - 1) &&
                  (!decrypt || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, p.tag)) &&
                  EVP_CipherFinal_ex(c, untouched, &n) == 1;
            ok &= memcmp(out, decrypt ? p.text : p.sealed, bytes) == 0;
            memset(out, 0xa5, sizeof out);
            memset(untouched, 0xa5, sizeof untouched);
            for (int again = 0; again < 2; again++) {
                ok &= EVP_CipherUpdate(c, out, &n, in, (int)bytes) <= 0 &&
                      EVP_Cipher(c, out, in, (unsigned)bytes) <= 0 && EVP_CipherUpdate(c, NULL, &n, p.ad, 13) <= 0 &&
                      EVP_CipherFinal_ex(c, out, &n) <= 0;
                ok &= memcmp(out, untouched, bytes) == 0;
                ok &=
                    decrypt || (EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) && memcmp(tag, p.tag, 16) == 0);
                ok &= EVP_CipherInit_ex(c, NULL, NULL, again ? NULL : p.key, NULL, !decrypt); /* no new IV */
            }
        }
    }
    ERR_clear_error();
    EVP_CIPHER_CTX_free(c);
    verdict("an ended packet takes nothing more, nor text associated data", ok);
}

/* AES-GCM-SIV: the same for a text in one update, which also never releases unauthentic data. */
static void check_siv_refusals(const EVP_CIPHER *cipher)
{
    static packet p;
    static uint8_t out[LONGEST], untouched[LONGEST], zeroes[LONGEST], long_ad[LONGEST];
    int n, ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    memset(untouched, 0xa5, sizeof untouched);
    for (size_t bytes = 0; bytes < 5000; bytes = 2 * bytes + 3) {
        uint8_t tag[16];
        random_packet(&p, bytes, &random_state);
        memcpy(out, untouched, sizeof out);
        ok &= EVP_CIPHER_CTX_reset(c) && EVP_EncryptInit_ex(c, cipher, NULL, NULL, p.iv) &&
              EVP_EncryptUpdate(c, out, &n, p.text, (int)bytes) <= 0 && /* no key */
              EVP_EncryptInit_ex(c, NULL, NULL, p.key, NULL) && EVP_CIPHER_CTX_reset(c) &&
              EVP_EncryptInit_ex(c, cipher, NULL, p.key, NULL) &&
              EVP_EncryptUpdate(c, out, &n, p.text, (int)bytes) <= 0; /* no IV */
        ok &= EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, 13, NULL) <= 0 &&
              EVP_DecryptInit_ex(c, NULL, NULL, NULL, p.iv) &&
              EVP_DecryptUpdate(c, out, &n, p.text, (int)bytes) <= 0 && /* no tag */
              EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 15, p.tag) <= 0 && memcmp(out, untouched, bytes) == 0;
        ok &= EVP_EncryptInit_ex(c, NULL, NULL, NULL, p.iv) &&
              EVP_EncryptUpdate(c, NULL, &n, long_ad, (int)(4 * bytes % LONGEST)) && /* of another packet */
              EVP_EncryptFinal_ex(c, out, &n) <= 0 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) <= 0;
        ok &= seal(c, &p, p.sealed, p.tag, 1);
        ok &= EVP_EncryptUpdate(c, NULL, &n, p.ad, 13) <= 0 && EVP_EncryptFinal_ex(c, out, &n) &&
              EVP_EncryptUpdate(c, out, &n, p.text, (int)bytes) <= 0 && memcmp(out, untouched, bytes) == 0 &&
              EVP_EncryptFinal_ex(c, out, &n) <= 0 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) <= 0;
        ok &= open_packet(c, &p, out, 2) && memcmp(out, p.text, bytes) == 0 && EVP_DecryptFinal_ex(c, out, &n) &&
              EVP_DecryptUpdate(c, out, &n, p.sealed, (int)bytes) <= 0 && EVP_DecryptFinal_ex(c, out, &n) <= 0;
        ok &= open_packet(c, &p, out, 1) && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, p.iv) &&
              EVP_DecryptFinal_ex(c, out, &n) <= 0; /* the text was not of this tag */
        ok &= EVP_DecryptInit_ex(c, NULL, NULL, NULL, p.iv) && EVP_DecryptFinal_ex(c, out, &n) <= 0;
        p.tag[3] ^= (uint8_t)!planted("refusals");
        ok &= !open_packet(c, &p, out, 1) && memcmp(out, zeroes, bytes) == 0;
        memcpy(out, p.sealed, bytes);
        ok &= EVP_DecryptInit_ex(c, NULL, NULL, NULL, p.iv) && EVP_DecryptUpdate(c, out, &n, out, (int)bytes) &&
              EVP_DecryptFinal_ex(c, out, &n) <= 0 && memcmp(out, p.sealed, bytes) == 0;
    }
    ERR_clear_error();
    EVP_CIPHER_CTX_free(c);
    verdict("AES-GCM-SIV: a second text, no tag, and what is not authentic", ok);
}

static uint64_t allocations;

static void *counting_malloc(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return malloc(n);
}

static void *counting_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return realloc(p, n);
}

static void counting_free(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

static void check_allocations(const EVP_CIPHER *cipher)
{
    static packet p;
    static uint8_t out[LONGEST];
    int ok = 1;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, NULL, NULL, 1);
    const uint64_t before = allocations;
    for (int i = 0; i < 200; i++) {
        random_packet(&p, (size_t)i * 97, &random_state);
        ok &= seal(c, &p, p.sealed, p.tag, 1 + i % 4) && open_packet(c, &p, out, 1 + i % 3);
        if (planted("allocations") && i == 100)
            OPENSSL_free(OPENSSL_malloc(1));
    }
    if (allocations != before || before == 0)
        ok = 0;
    EVP_CIPHER_CTX_free(c);
    verdict("no allocation per packet", ok);
}

typedef struct {
    const EVP_CIPHER *sealane, *other;
    uint64_t state;
    int ok;
} worker;

static void *work(void *v)
{
    static packet shared;
    worker *w = v;
    packet *own = malloc(sizeof *own), *p = planted("threads") ? &shared : own;
    uint8_t *out = malloc(LONGEST), tag[16];
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *d = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, w->sealane, NULL, NULL, NULL, 1);
    EVP_CipherInit_ex(d, w->other, NULL, NULL, NULL, 1);
    w->ok = 1;
    for (int i = 0; i < 400; i++) {
        random_packet(p, next_random(&w->state) % 4000, &w->state);
        w->ok &= seal(d, p, p->sealed, p->tag, 1) && seal(c, p, out, tag, 1) && memcmp(out, p->sealed, p->bytes) == 0 &&
                 memcmp(tag, p->tag, 16) == 0 && open_packet(c, p, out, 1) && memcmp(out, p->text, p->bytes) == 0;
    }
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(d);
    free(out);
    free(own);
    return NULL;
}

static void check_threads(const EVP_CIPHER *sealane, const EVP_CIPHER *other)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int ok = 1;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){sealane, other, (uint64_t)i + 1, 0};
        ok &= pthread_create(&threads[i], NULL, work, &workers[i]) == 0;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ok &= workers[i].ok;
    }
    verdict("8 threads", ok);
}

/* Creates and frees library contexts, each with its own provider; the leak check finds what they leave behind. */
static void check_reloading(const char *folder)
{
    int ok = 1;
    for (int i = 0; i < 20; i++) {
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        OSSL_PROVIDER_set_default_search_path(libctx, folder);
        OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, "sealane");
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "ChaCha20-Poly1305", NULL);
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
        const char *name = NULL, *build = NULL;
        OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_NAME, (char **)&name, 0),
                               OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, (char **)&build, 0),
                               OSSL_PARAM_construct_end()};
        ok &= provider != NULL && OSSL_PROVIDER_get_params(provider, params) &&
              strcmp(name, planted("reloading") ? "default" : "sealane") == 0 && strstr(build, "level ") != NULL &&
              EVP_EncryptInit_ex(c, cipher, NULL, NULL, NULL);
        EVP_CIPHER_CTX_free(c);
        EVP_CIPHER_free(cipher);
        OSSL_PROVIDER_unload(provider);
        OSSL_LIB_CTX_free(libctx);
    }
    if (planted("leak")) /* a context that is never freed */
        ok &= EVP_CIPHER_CTX_new() != NULL && EVP_CIPHER_CTX_new() != NULL;
    verdict("loading and unloading", ok);
}

/* The tests that a listener observed, and the one that it asked to corrupt. */
typedef struct {
    const char *corrupt;
    unsigned starts, passes, failures, others;
} heard;

static int listen(const OSSL_PARAM params[], void *v)
{
    heard *h = v;
    const OSSL_PARAM *phase = OSSL_PARAM_locate_const(params, OSSL_PROV_PARAM_SELF_TEST_PHASE),
                     *type = OSSL_PARAM_locate_const(params, OSSL_PROV_PARAM_SELF_TEST_TYPE),
                     *what = OSSL_PARAM_locate_const(params, OSSL_PROV_PARAM_SELF_TEST_DESC);
    if (phase == NULL || type == NULL || what == NULL || strcmp(type->data, OSSL_SELF_TEST_TYPE_KAT_CIPHER) != 0) {
        h->others++;
        return 1;
    }
    h->starts += strcmp(phase->data, OSSL_SELF_TEST_PHASE_START) == 0;
    h->passes += strcmp(phase->data, OSSL_SELF_TEST_PHASE_PASS) == 0;
    h->failures += strcmp(phase->data, OSSL_SELF_TEST_PHASE_FAIL) == 0;
    return h->corrupt == NULL || planted("self-test") || strcmp(phase->data, OSSL_SELF_TEST_PHASE_CORRUPT) != 0 ||
           strcmp(what->data, h->corrupt) != 0;
}

static int status_of(const OSSL_PROVIDER *p)
{
    int status = -1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int(OSSL_PROV_PARAM_STATUS, &status), OSSL_PARAM_construct_end()};
    return OSSL_PROVIDER_get_params(p, params) ? status : -1;
}

/* A listener observes every known-answer test. A failing one prevents the provider from being loaded, or stops its
 * work.
 */
static void check_self_test(const char *folder)
{
    static const char *const names[] = {NULL,          "ChaCha20-Poly1305", "ChaCha20",        "AES-128-GCM",
                                        "AES-192-GCM", "AES-256-GCM",       "AES-128-CTR",     "AES-192-CTR",
                                        "AES-256-CTR", "AES-128-XTS",       "AES-256-XTS",     "AES-128-CBC",
                                        "AES-192-CBC", "AES-256-CBC",       "AES-128-GCM-SIV", "AES-256-GCM-SIV"};
    enum { NAMES = sizeof names / sizeof names[0], ANSWERS = NAMES - 1 };
    int ok = 1, n;
    for (int i = 0; i < NAMES; i++) {
        heard h = {.corrupt = names[i]};
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        OSSL_PROVIDER_set_default_search_path(libctx, folder);
        OSSL_SELF_TEST_set_callback(libctx, listen, &h);
        OSSL_PROVIDER *p = OSSL_PROVIDER_load(libctx, "sealane");
        const unsigned wrong = names[i] != NULL;
        ok &= (p == NULL) == (int)wrong && h.starts == ANSWERS && h.passes == ANSWERS - wrong && h.failures == wrong &&
              h.others == 0;
        OSSL_PROVIDER_unload(p);
        OSSL_LIB_CTX_free(libctx);
    }
    heard h = {.corrupt = NULL};
    uint8_t key[32] = {1}, text[16] = {2};
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER_set_default_search_path(libctx, folder);
    OSSL_SELF_TEST_set_callback(libctx, listen, &h);
    OSSL_PROVIDER *p = OSSL_PROVIDER_load(libctx, "sealane");
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "ChaCha20-Poly1305", NULL);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *other = EVP_CIPHER_CTX_new();
    ok &= p != NULL && status_of(p) == 1 && OSSL_PROVIDER_self_test(p) && status_of(p) == 1 && h.passes == 2 * ANSWERS;
    ok &= EVP_EncryptInit_ex(c, cipher, NULL, key, key);
    h.corrupt = "AES-192-GCM";
    ok &= !OSSL_PROVIDER_self_test(p) && status_of(p) == 0 && h.failures == 1;
    ok &= EVP_EncryptUpdate(c, text, &n, text, sizeof text) == 1; /* an operation in progress may finish */
    ok &= !EVP_EncryptInit_ex(c, NULL, NULL, key, key) && !EVP_EncryptInit_ex(other, cipher, NULL, key, key);
    h.corrupt = NULL;
    ok &= !OSSL_PROVIDER_self_test(p) && status_of(p) == 0; /* after a failure it stays untrusted */
    ERR_clear_error();
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(other);
    EVP_CIPHER_free(cipher);
    OSSL_PROVIDER_unload(p);
    OSSL_LIB_CTX_free(libctx);
    verdict("the self-test is heard, may be asked for, and ends all work if it fails", ok);
}

/* Keys as objects: sealane's for its ciphers, and with the preference still the default provider's for all others. */
#if OPENSSL_VERSION_NUMBER >= 0x30500000L
static int skey_works(const char *key_type, const char *keys, const char *cipher_name, const char *properties)
{
    uint8_t key[64] = {1}, iv[16] = {2}, text[2][100] = {{3}, {3}}, *raw;
    size_t raw_bytes = 0;
    int n, ok;
    EVP_CIPHER *cipher = fetch(NULL, cipher_name, properties);
    const size_t bytes = (size_t)EVP_CIPHER_get_key_length(cipher), iv_bytes = (size_t)EVP_CIPHER_get_iv_length(cipher);
    EVP_SKEY *k = EVP_SKEY_import_raw_key(NULL, key_type, key, bytes, keys);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *d = EVP_CIPHER_CTX_new();
    ok = k != NULL && EVP_SKEY_get0_raw_key(k, (const unsigned char **)&raw, &raw_bytes) && raw_bytes == bytes &&
         memcmp(raw, key, bytes) == 0 && EVP_CipherInit_SKEY(c, cipher, k, iv, iv_bytes, 1, NULL) &&
         EVP_CipherInit_ex(d, cipher, NULL, key, iv, 1) && EVP_CipherUpdate(c, text[0], &n, text[0], 96) &&
         EVP_CipherUpdate(d, text[1], &n, text[1], 96) && memcmp(text[0], text[1], 96) == 0;
    ok = ok && EVP_CipherInit_SKEY(c, NULL, k, iv, iv_bytes, 0, NULL) && EVP_CipherInit_ex(d, NULL, NULL, key, iv, 0) &&
         (!is_siv(cipher) || (EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, key) &&
                              EVP_CIPHER_CTX_ctrl(d, EVP_CTRL_AEAD_SET_TAG, 16, key))) &&
         EVP_CipherUpdate(c, text[0], &n, text[0], 96) && EVP_CipherUpdate(d, text[1], &n, text[1], 96) &&
         memcmp(text[0], text[1], 96) == 0;
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(d);
    EVP_SKEY_free(k);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return ok;
}

/* EVP compares the providers of key and cipher before it calls either. A moved key fits. */
static int moved_key_works(EVP_SKEY *of_default)
{
    static const uint8_t iv[16];
    EVP_CIPHER *cipher = fetch(NULL, "AES-128-CBC", "provider=sealane");
    EVP_SKEY *moved =
        EVP_SKEY_to_provider(of_default, NULL, NULL, planted("skeys-moved") ? NULL : "provider=sealane-keys");
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(), *d = EVP_CIPHER_CTX_new();
    const int ok = moved != NULL && !EVP_CipherInit_SKEY(c, cipher, of_default, iv, sizeof iv, 1, NULL) &&
                   EVP_CipherInit_SKEY(d, cipher, moved, iv, sizeof iv, 1, NULL);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_CTX_free(d);
    EVP_SKEY_free(moved);
    EVP_CIPHER_free(cipher);
    return ok;
}

static int begins_with(OSSL_LIB_CTX *libctx, const char *cipher_name, EVP_SKEY *k)
{
    static const uint8_t iv[16];
    EVP_CIPHER *cipher = fetch(libctx, cipher_name, NULL);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const int ok =
        k != NULL && EVP_CipherInit_SKEY(c, cipher, k, iv, (size_t)EVP_CIPHER_get_iv_length(cipher), 1, NULL);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return ok;
}

/* If sealane is activated before the default provider, an import without properties makes a sealane key. sealane's
 * ciphers accept it. The default provider's accept it after it is moved, and keys imported for them. */
static void check_skeys_of_the_first(const char *folder)
{
    static uint8_t key[16] = {1};
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER_set_default_search_path(libctx, folder);
    OSSL_PROVIDER *sealane = OSSL_PROVIDER_load(libctx, "sealane"), *stock = OSSL_PROVIDER_load(libctx, "default");
    EVP_SKEY *k = EVP_SKEY_import_raw_key(libctx, "AES", key, sizeof key, NULL);
    EVP_SKEY *moved = EVP_SKEY_to_provider(k, libctx, NULL, planted("skeys-first") ? NULL : "provider=default");
    EVP_SKEY *theirs = EVP_SKEY_import_raw_key(libctx, "AES", key, sizeof key, "provider=default");
    int ok = sealane != NULL && stock != NULL && k != NULL && moved != NULL &&
             strcmp(EVP_SKEY_get0_provider_name(k), "sealane") == 0 &&
             strcmp(EVP_SKEY_get0_provider_name(moved), "default") == 0;
    ok = ok && !begins_with(libctx, "AES-128-ECB", k) && begins_with(libctx, "AES-128-ECB", moved) &&
         begins_with(libctx, "AES-128-ECB", theirs);
    if (is_offered(libctx, "AES-128-GCM"))
        ok = ok && begins_with(libctx, "AES-128-GCM", k) && !begins_with(libctx, "AES-128-GCM", moved);
    EVP_SKEY_free(k);
    EVP_SKEY_free(moved);
    EVP_SKEY_free(theirs);
    OSSL_PROVIDER_unload(stock);
    OSSL_PROVIDER_unload(sealane);
    OSSL_LIB_CTX_free(libctx);
    ERR_clear_error();
    verdict("keys as objects where sealane comes first: for its ciphers, and moved for all others", ok);
}

static int check_skeys(const char *folder)
{
    static const char *const own[] = {"ChaCha20-Poly1305", "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",    "ChaCha20",
                                      "AES-128-CTR",       "AES-256-XTS", "AES-192-CBC", "AES-256-GCM-SIV"};
    static uint8_t key[65];
    int ok = 1;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (is_offered(NULL, own[i]))
            ok &= skey_works(i == 1 ? "AES" : "GENERIC-SECRET", planted("skeys") ? NULL : "provider=sealane-keys",
                             own[i], "provider=sealane");
    ok &= EVP_SKEY_import_raw_key(NULL, "AES", key, 65, "provider=sealane-keys") == NULL;
    /* The property that `sealane-openssl on` sets. */
    EVP_set_default_properties(NULL, "?provider=sealane");
    EVP_SKEY *k = EVP_SKEY_import_raw_key(NULL, "AES", key, 16, NULL);
    ok &= k != NULL && strcmp(EVP_SKEY_get0_provider_name(k), "default") == 0;
    ok &= skey_works("AES", NULL, "AES-128-OFB", NULL) && skey_works("AES", NULL, "AES-128-GCM", "provider=default");
    ok &= !is_offered(NULL, "AES-128-CBC") || moved_key_works(k);
    EVP_SKEY_free(k);
    EVP_set_default_properties(NULL, "");
    ERR_clear_error();
    verdict("keys as objects: sealane's for its ciphers only, never by preference", ok);
    check_skeys_of_the_first(folder);
    return 0;
}
#else
static int check_skeys(const char *folder)
{
    (void)folder;
    return 1; /* not run: this OpenSSL lacks it */
}
#endif

static const struct {
    const char *name;
    unsigned vectors; /* minimum number in Wycheproof */
} aeads[] = {{"ChaCha20-Poly1305", 300}, {"AES-128-GCM", 100},    {"AES-192-GCM", 100},
             {"AES-256-GCM", 100},       {"AES-128-GCM-SIV", 90}, {"AES-256-GCM-SIV", 100}};

/* Returns 0 if sealane does not offer it at this level. There is no comparison if OpenSSL lacks it. */
static int check_aead(const char *name, char **wycheproof, unsigned vectors)
{
    if (!is_offered(NULL, name))
        return 0;
    EVP_CIPHER *aead = fetch(NULL, name, "provider=sealane"), *other = EVP_CIPHER_fetch(NULL, name, "provider=default");
    ERR_clear_error();
    check_vectors(aead, wycheproof[is_siv(aead)], vectors);
    check_copies(aead);
    check_tampering(aead);
    (is_siv(aead) ? check_siv_refusals : check_refusals)(aead);
    check_allocations(aead);
    check_threads(aead, other == NULL ? aead : other);
    EVP_CIPHER_free(aead);
    EVP_CIPHER_free(other);
    return 1;
}

int main(int argc, char **argv)
{
    int not_run = 0;
    if (argc < 4)
        return 2;
    if (argc > 4 && strncmp(argv[4], "--plant=", 8) == 0)
        plant = argv[4] + 8;
    CRYPTO_set_mem_functions(counting_malloc, counting_realloc, counting_free);
    loaded = load_providers(NULL, argv[1]);
    for (size_t i = 0; i < sizeof aeads / sizeof aeads[0]; i++)
        not_run += !check_aead(aeads[i].name, argv + 2, aeads[i].vectors);
    check_stream();
    not_run += check_skeys(argv[1]);
    check_reloading(argv[1]);
    check_self_test(argv[1]);
    unload_providers(&loaded);
    printf("evp: %u passed, %u failed, %d not run\n", passed, failed, not_run);
    return failed != 0;
}
