#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cpu.h"
#include "../../src/key.h"

peer peers[MAX_PEERS];
size_t peer_count;

static void add(peer p)
{
    if (peer_count == MAX_PEERS) {
        fprintf(stderr, "bench: more than %d candidates\n", MAX_PEERS);
        exit(1);
    }
    peers[peer_count++] = p;
}

/* Libraries without a per-key state take the raw key. Unused if none of them is there. */
__attribute__((unused)) static void *copy_key(const peer *self, const uint8_t key[32])
{
    (void)self;
    void *copy = malloc(32);
    return copy ? memcpy(copy, key, 32) : NULL;
}

#if __has_include(<openssl/evp.h>)
#include <openssl/crypto.h>
#include <openssl/evp.h>

/* One context per direction and key, reused: only the nonce is set per packet. */
typedef struct openssl_session {
    EVP_CIPHER_CTX *seal, *open;
} openssl_session;

static const char *openssl_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

static int openssl_rekey(void *session, const uint8_t key[32])
{
    return EVP_EncryptInit_ex(((openssl_session *)session)->seal, NULL, NULL, key, NULL) != 1;
}

static void *openssl_start(const peer *self, const uint8_t key[32])
{
    (void)self;
    openssl_session *s = malloc(sizeof *s);
    if (!s || !(s->seal = EVP_CIPHER_CTX_new()) || !(s->open = EVP_CIPHER_CTX_new()) ||
        EVP_EncryptInit_ex(s->seal, EVP_chacha20_poly1305(), NULL, key, NULL) != 1 ||
        EVP_DecryptInit_ex(s->open, EVP_chacha20_poly1305(), NULL, key, NULL) != 1)
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
    uint8_t expected[16]; /* the control takes a pointer that is not const */
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

static void add_sodium(void)
{
    if (sodium_init() >= 0)
        add((peer){"libsodium", "libsodium", "ietf, detached tag", sodium_version_string, copy_key, NULL, sodium_seal,
                   sodium_open, NULL, NULL, NULL});
}
#else
static void add_sodium(void)
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

static void add_ipsec(void)
{
    manager = alloc_mb_mgr(0);
    if (!manager)
        return;
    init_mb_mgr_auto(manager, NULL);
    if (imb_get_errno(manager) != 0)
        return;
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

static const char *sealane_version(void)
{
    return "this tree";
}

/* Through the public function where that takes the same level. */
static int sealane_rekey(void *session, const uint8_t key[32])
{
    sealane_session *s = session;
    if (s->level == sealane_level_of_process(&sealane_tables[SEALANE_CHACHA20POLY1305]))
        return sealane_key_init(&s->key, SEALANE_CHACHA20_POLY1305, key, 32);
    return sealane_key_init_at(&s->key, SEALANE_CHACHA20_POLY1305, key, 32, s->level);
}

static void *sealane_start(const peer *self, const uint8_t key[32])
{
    sealane_session *s = malloc(sizeof *s);
    if (!s)
        return NULL;
    s->level = sealane_level_find(&sealane_tables[SEALANE_CHACHA20POLY1305], self->level);
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
    for (unsigned i = 0; i < sealane_level_count; i++) {
        const sealane_level *level = &sealane_levels[i];
        if ((level->needs & ~features) != 0 || !sealane_selftest(level))
            continue;
        snprintf(names[i], sizeof names[i], "sealane %s", level->name);
        add((peer){names[i], "sealane", "sealane_seal, sealane_open, sealane_seal_batch, sealane_open_batch",
                   sealane_version, sealane_start, sealane_rekey, sealane_seal_packet, sealane_open_packet, level->name,
                   sealane_seal_packets, sealane_open_packets});
    }
}

void gather_peers(void)
{
    add_openssl();
    add_sodium();
    add_ipsec();
    add_sealane();
}
