#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cpu.h"
#include "../../src/key.h"

peer peers[MAX_PEERS];
size_t peer_count;

static const algorithm algorithms[] = {
    {"ChaCha20-Poly1305", SEALANE_CHACHA20_POLY1305, 32},
    {"AES-128-GCM", SEALANE_AES_128_GCM, 16},
    {"AES-256-GCM", SEALANE_AES_256_GCM, 32},
};
const algorithm *alg = &algorithms[0];

int choose_algorithm(const char *name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i].name, name) == 0) {
            alg = &algorithms[i];
            return 1;
        }
    return 0;
}

static int is_chacha(void)
{
    return alg->number == SEALANE_CHACHA20_POLY1305;
}

static void add(peer p)
{
    if (peer_count == MAX_PEERS) {
        fprintf(stderr, "bench: more than %d candidates\n", MAX_PEERS);
        exit(1);
    }
    peers[peer_count++] = p;
}

/* Whether other libraries must not use an extension. SEALANE_BENCH_PEERS names the last allowed one, or is empty. This
 * simulates another CPU for tools/x86cost; for OpenSSL, OPENSSL_ia32cap does the same. */
__attribute__((unused)) static int peers_below(const char *extension)
{
    /* ssse3 has no AES, avx adds AES, aesni adds AVX2. */
    static const char *const order[] = {"ssse3", "avx", "aesni", "vaes", "avx512"};
    const char *most = getenv("SEALANE_BENCH_PEERS");
    for (size_t i = 0; most && i < sizeof order / sizeof *order && strcmp(order[i], extension) != 0; i++)
        if (strcmp(order[i], most) == 0)
            return 1;
    return 0;
}

/* Libraries without per-key state take the raw key. Unused if there is no such library. */
__attribute__((unused)) static void *copy_key(const peer *self, const uint8_t *key)
{
    (void)self;
    void *copy = malloc(32);
    return copy ? memcpy(copy, key, 32) : NULL;
}

#if __has_include(<openssl/evp.h>)
#include <openssl/crypto.h>
#include <openssl/evp.h>

/* One reusable context per direction and key: each packet sets only the nonce. */
typedef struct openssl_session {
    EVP_CIPHER_CTX *seal, *open;
} openssl_session;

static const char *openssl_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

static int openssl_rekey(void *session, const uint8_t *key)
{
    return EVP_EncryptInit_ex(((openssl_session *)session)->seal, NULL, NULL, key, NULL) != 1;
}

static const EVP_CIPHER *openssl_cipher(void)
{
    return is_chacha() ? EVP_chacha20_poly1305() : alg->key_bytes == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
}

static void *openssl_start(const peer *self, const uint8_t *key)
{
    (void)self;
    openssl_session *s = malloc(sizeof *s);
    if (!s || !(s->seal = EVP_CIPHER_CTX_new()) || !(s->open = EVP_CIPHER_CTX_new()) ||
        EVP_EncryptInit_ex(s->seal, openssl_cipher(), NULL, key, NULL) != 1 ||
        EVP_DecryptInit_ex(s->open, openssl_cipher(), NULL, key, NULL) != 1)
        return NULL;
    return s;
}

static int openssl_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                        size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    EVP_CIPHER_CTX *ctx = ((openssl_session *)session)->seal;
    int n;
    if (EVP_EncryptInit_ex(ctx, NULL, NULL, NULL, nonce) != 1)
        return -1;
    if (ad_bytes && EVP_EncryptUpdate(ctx, NULL, &n, ad, (int)ad_bytes) != 1)
        return -1;
    if (EVP_EncryptUpdate(ctx, out, &n, in, (int)bytes) != 1 || EVP_EncryptFinal_ex(ctx, out + n, &n) != 1)
        return -1;
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) != 1;
}

static int openssl_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                        size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    EVP_CIPHER_CTX *ctx = ((openssl_session *)session)->open;
    uint8_t expected[16]; /* the control function takes a non-const pointer */
    int n;
    memcpy(expected, tag, 16);
    if (EVP_DecryptInit_ex(ctx, NULL, NULL, NULL, nonce) != 1 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, expected) != 1)
        return -1;
    if (ad_bytes && EVP_DecryptUpdate(ctx, NULL, &n, ad, (int)ad_bytes) != 1)
        return -1;
    if (EVP_DecryptUpdate(ctx, out, &n, in, (int)bytes) != 1)
        return -1;
    return EVP_DecryptFinal_ex(ctx, out + n, &n) != 1;
}

static void add_openssl(void)
{
    add((peer){"openssl", "OpenSSL", "EVP, one context per key", openssl_version, openssl_start, openssl_rekey,
               openssl_seal, openssl_open, NULL, NULL, NULL});
}
#else
static void add_openssl(void)
{
}
#endif

#if __has_include(<sodium.h>)
#include <sodium.h>

#ifdef __x86_64__
/* Replaces libsodium's function, which checks only the CPU. */
int sodium_runtime_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && !peers_below("aesni");
}
#endif

static int sodium_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                       size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return crypto_aead_chacha20poly1305_ietf_encrypt_detached(out, tag, NULL, in, bytes, ad, ad_bytes, NULL, nonce,
                                                              session);
}

static int sodium_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                       size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(out, NULL, in, bytes, tag, ad, ad_bytes, nonce, session);
}

static void *sodium_aes_start(const peer *self, const uint8_t *key)
{
    (void)self;
    crypto_aead_aes256gcm_state *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    return s && crypto_aead_aes256gcm_beforenm(s, key) == 0 ? s : NULL;
}

static int sodium_aes_rekey(void *session, const uint8_t *key)
{
    return crypto_aead_aes256gcm_beforenm(session, key);
}

static int sodium_aes_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                           size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return crypto_aead_aes256gcm_encrypt_detached_afternm(out, tag, NULL, in, bytes, ad, ad_bytes, NULL, nonce,
                                                          session);
}

static int sodium_aes_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12],
                           const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return crypto_aead_aes256gcm_decrypt_detached_afternm(out, NULL, in, bytes, tag, ad, ad_bytes, nonce, session);
}

static void add_sodium(void)
{
    if (sodium_init() < 0)
        return;
    if (alg->number == SEALANE_AES_256_GCM && crypto_aead_aes256gcm_is_available())
        add((peer){"libsodium", "libsodium", "aes256gcm, key set up before", sodium_version_string, sodium_aes_start,
                   sodium_aes_rekey, sodium_aes_seal, sodium_aes_open, NULL, NULL, NULL});
    if (is_chacha())
        add((peer){"libsodium", "libsodium", "ietf, detached tag", sodium_version_string, copy_key, NULL, sodium_seal,
                   sodium_open, NULL, NULL, NULL});
}
#else
static void add_sodium(void)
{
}
#endif

#if __has_include(<gcrypt.h>)
#include <gcrypt.h>

static const char *gcrypt_version(void)
{
    return gcry_check_version(NULL);
}

static int gcrypt_rekey(void *session, const uint8_t *key)
{
    return gcry_cipher_setkey(session, key, alg->key_bytes) != 0;
}

static void *gcrypt_start(const peer *self, const uint8_t *key)
{
    (void)self;
    const int cipher = is_chacha()            ? GCRY_CIPHER_CHACHA20
                       : alg->key_bytes == 16 ? GCRY_CIPHER_AES128
                                              : GCRY_CIPHER_AES256;
    gcry_cipher_hd_t handle;
    if (gcry_cipher_open(&handle, cipher, is_chacha() ? GCRY_CIPHER_MODE_POLY1305 : GCRY_CIPHER_MODE_GCM, 0) != 0)
        return NULL;
    return gcrypt_rekey(handle, key) ? NULL : handle;
}

static int gcrypt_begin(gcry_cipher_hd_t handle, const uint8_t nonce[12], const uint8_t *ad, size_t ad_bytes)
{
    if (gcry_cipher_setiv(handle, nonce, 12) != 0 || (ad_bytes && gcry_cipher_authenticate(handle, ad, ad_bytes) != 0))
        return -1;
    return gcry_cipher_final(handle) != 0;
}

static int gcrypt_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                       size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return gcrypt_begin(session, nonce, ad, ad_bytes) || gcry_cipher_encrypt(session, out, bytes, in, bytes) != 0 ||
           gcry_cipher_gettag(session, tag, 16) != 0;
}

static int gcrypt_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                       size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return gcrypt_begin(session, nonce, ad, ad_bytes) || gcry_cipher_decrypt(session, out, bytes, in, bytes) != 0 ||
           gcry_cipher_checktag(session, tag, 16) != 0;
}

static void add_gcrypt(void)
{
    /* Before any other call, which would initialize the library. */
    if (peers_below("avx"))
        gcry_control(GCRYCTL_DISABLE_HWF, "intel-avx:intel-aesni:intel-pclmul", NULL);
    if (peers_below("aesni"))
        gcry_control(GCRYCTL_DISABLE_HWF, "intel-avx2:intel-bmi2", NULL);
    if (peers_below("vaes"))
        gcry_control(GCRYCTL_DISABLE_HWF, "intel-vaes-vpclmul", NULL);
    if (peers_below("avx512"))
        gcry_control(GCRYCTL_DISABLE_HWF, "intel-avx512", NULL); /* unknown to old versions, which do not use AVX-512 */
    if (!gcry_check_version(NULL))
        return;
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    add((peer){"libgcrypt", "libgcrypt", "one handle per key", gcrypt_version, gcrypt_start, gcrypt_rekey, gcrypt_seal,
               gcrypt_open, NULL, NULL, NULL});
}
#else
static void add_gcrypt(void)
{
}
#endif

#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>

static IMB_MGR *manager; /* for its best instruction set */

static const char *ipsec_version(void)
{
    return imb_get_version_str();
}

static int tags_differ(const uint8_t a[16], const uint8_t b[16])
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) != 0;
}

static int ipsec_direct_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                             size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    struct chacha20_poly1305_context_data ctx;
    IMB_CHACHA20_POLY1305_INIT(manager, session, &ctx, nonce, ad, ad_bytes);
    IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, session, &ctx, out, in, bytes);
    IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager, &ctx, tag, 16);
    return 0;
}

static int ipsec_direct_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12],
                             const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    struct chacha20_poly1305_context_data ctx;
    uint8_t computed[16];
    IMB_CHACHA20_POLY1305_INIT(manager, session, &ctx, nonce, ad, ad_bytes);
    IMB_CHACHA20_POLY1305_DEC_UPDATE(manager, session, &ctx, out, in, bytes);
    IMB_CHACHA20_POLY1305_DEC_FINALIZE(manager, &ctx, computed, 16);
    return tags_differ(computed, tag);
}

static int ipsec_job(IMB_CIPHER_DIRECTION direction, const uint8_t *key, uint8_t *out, uint8_t tag[16],
                     const uint8_t nonce[12], const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
    job->cipher_direction = direction;
    job->chain_order = direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
    job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
    job->enc_keys = key;
    job->dec_keys = key;
    job->key_len_in_bytes = 32;
    job->u.CHACHA20_POLY1305.aad = ad;
    job->u.CHACHA20_POLY1305.aad_len_in_bytes = ad_bytes;
    job->src = in;
    job->dst = out;
    job->iv = nonce;
    job->iv_len_in_bytes = 12;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = bytes;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = bytes;
    job->auth_tag_output = tag;
    job->auth_tag_output_len_in_bytes = 16;
    job = IMB_SUBMIT_JOB_NOCHECK(manager);
    return !job || job->status != IMB_STATUS_COMPLETED;
}

static int ipsec_job_seal(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                          size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return ipsec_job(IMB_DIR_ENCRYPT, session, out, tag, nonce, ad, ad_bytes, in, bytes);
}

static int ipsec_job_open(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12],
                          const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    uint8_t computed[16];
    return ipsec_job(IMB_DIR_DECRYPT, session, out, computed, nonce, ad, ad_bytes, in, bytes) ||
           tags_differ(computed, tag);
}

/* The functions that depend on the key size, 128 or 256. */
#define IPSEC_GCM(bits)                                                                                       \
    static int ipsec_rekey_##bits(void *session, const uint8_t *key)                                          \
    {                                                                                                         \
        IMB_AES##bits##_GCM_PRE(manager, key, session);                                                       \
        return 0;                                                                                             \
    }                                                                                                         \
    static int ipsec_seal_##bits(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12],       \
                                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)         \
    {                                                                                                         \
        _Alignas(64) struct gcm_context_data ctx;                                                             \
        IMB_AES##bits##_GCM_ENC(manager, session, &ctx, out, in, bytes, nonce, ad, ad_bytes, tag, 16);        \
        return 0;                                                                                             \
    }                                                                                                         \
    static int ipsec_open_##bits(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], \
                                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)         \
    {                                                                                                         \
        _Alignas(64) struct gcm_context_data ctx;                                                             \
        uint8_t computed[16];                                                                                 \
        IMB_AES##bits##_GCM_DEC(manager, session, &ctx, out, in, bytes, nonce, ad, ad_bytes, computed, 16);   \
        return tags_differ(computed, tag);                                                                    \
    }
IPSEC_GCM(128)
IPSEC_GCM(256)

static void *ipsec_gcm_start(const peer *self, const uint8_t *key)
{
    struct gcm_key_data *k = aligned_alloc(64, (sizeof *k + 63) / 64 * 64);
    return k && self->rekey(k, key) == 0 ? k : NULL;
}

static void add_ipsec_gcm(void)
{
    const int is_128 = alg->key_bytes == 16;
    add((peer){"ipsec-mb direct", "ipsec-mb", is_128 ? "IMB_AES128_GCM_ENC, _DEC" : "IMB_AES256_GCM_ENC, _DEC",
               ipsec_version, ipsec_gcm_start, is_128 ? ipsec_rekey_128 : ipsec_rekey_256,
               is_128 ? ipsec_seal_128 : ipsec_seal_256, is_128 ? ipsec_open_128 : ipsec_open_256, NULL, NULL, NULL});
}

static void add_ipsec(void)
{
    manager = alloc_mb_mgr(0);
    if (!manager)
        return;
    if (peers_below("avx"))
        return; /* it needs AES instructions */
    if (peers_below("aesni"))
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0)
        init_mb_mgr_avx(manager);
#else
        return; /* it needs AVX2 */
#endif
    else if (peers_below("avx512"))
        init_mb_mgr_avx2(manager);
    else
        init_mb_mgr_auto(manager, NULL);
    if (imb_get_errno(manager) != 0)
        return;
    if (!is_chacha()) {
        add_ipsec_gcm();
        return;
    }
    add((peer){"ipsec-mb direct", "ipsec-mb", "init, update, finalize", ipsec_version, copy_key, NULL,
               ipsec_direct_seal, ipsec_direct_open, NULL, NULL, NULL});
    add((peer){"ipsec-mb job", "ipsec-mb", "job, submitted without checks", ipsec_version, copy_key, NULL,
               ipsec_job_seal, ipsec_job_open, NULL, NULL, NULL});
}
#else
static void add_ipsec(void)
{
}
#endif

typedef struct sealane_session {
    sealane_key key;
    int level;
} sealane_session;

static const char *version_of_sealane(void)
{
    return "this tree";
}

/* Through the public function if it selects the same level. */
static int sealane_rekey(void *session, const uint8_t *key)
{
    sealane_session *s = session;
    if (s->level == sealane_level_of_process(table_of(alg->number)))
        return sealane_key_init(&s->key, alg->number, key, alg->key_bytes);
    return sealane_key_init_at(&s->key, alg->number, key, alg->key_bytes, s->level);
}

static void *sealane_start(const peer *self, const uint8_t *key)
{
    sealane_session *s = malloc(sizeof *s);
    if (!s)
        return NULL;
    s->level = sealane_level_find(table_of(alg->number), self->level);
    return sealane_rekey(s, key) ? NULL : s;
}

static int sealane_seal_packet(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                               size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return sealane_seal(&((sealane_session *)session)->key, out, tag, nonce, 12, ad, ad_bytes, in, bytes);
}

static int sealane_open_packet(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12],
                               const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    return sealane_open(&((sealane_session *)session)->key, out, tag, nonce, 12, ad, ad_bytes, in, bytes);
}

static size_t run_packets(size_t run(sealane_op *, size_t), const packet *packets, size_t n)
{
    sealane_op ops[MAX_BATCHED];
    for (size_t i = 0; i < n; i++) {
        const packet *p = &packets[i];
        ops[i] = (sealane_op){.key = &((sealane_session *)p->session)->key,
                              .nonce = p->nonce,
                              .nonce_bytes = 12,
                              .in = p->in,
                              .out = p->out,
                              .in_bytes = p->bytes,
                              .tag = p->tag};
    }
    return run(ops, n);
}

static size_t sealane_seal_packets(const packet *packets, size_t n)
{
    return run_packets(sealane_seal_batch, packets, n);
}

static size_t sealane_open_packets(const packet *packets, size_t n)
{
    return run_packets(sealane_open_batch, packets, n);
}

static void add_sealane(void)
{
    static char names[MAX_PEERS][32];
    uint32_t features = sealane_cpu_features();
    const sealane_table *table = table_of(alg->number);
    for (unsigned i = 0; i < table->count; i++) {
        const sealane_level *level = &table->levels[i];
        if ((level->needs & ~features) != 0 || !table->selftest(level))
            continue;
        snprintf(names[i], sizeof names[i], "sealane %s", level->name);
        add((peer){names[i], "sealane",
                   is_chacha() ? "sealane_seal, sealane_open, sealane_seal_batch, sealane_open_batch"
                               : "sealane_seal, sealane_open",
                   version_of_sealane, sealane_start, sealane_rekey, sealane_seal_packet, sealane_open_packet,
                   level->name, sealane_seal_packets, sealane_open_packets});
    }
}

void gather_peers(void)
{
    add_openssl();
    add_sodium();
    add_gcrypt();
    add_ipsec();
    add_sealane();
}
