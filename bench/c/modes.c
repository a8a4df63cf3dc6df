/* modes: compares unauthenticated AES, CCM, CMAC, GCM-SIV and QUIC packet protection with OpenSSL and ipsec-mb.
 *
 *     bench-modes [--seconds=S] [--fault=ROW] [--list]
 *
 * Each row alternates the peer and sealane in short repetitions, and takes the minimum time of each; ratios belong to
 * one run. Before that, both must give the same bytes. --fault corrupts one byte of the peer's output, which this
 * check must find. SEALANE_CPU names the level. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include <sealane.h>

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>
#define HAVE_IPSEC
#endif

enum { LONGEST = 16384, PACKETS = 64, PACKET = 1200, HEADER = 9 + 4 };

static uint8_t key[64], iv[16], text[LONGEST + 64], got[LONGEST + 64], want[LONGEST + 64];
static size_t bytes;
static int encrypting;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-modes: %s\n", what);
    exit(1);
}

/* ---- OpenSSL: one context for all texts; a text is an initial value and one update, as in TLS and dm-crypt ---- */

static EVP_CIPHER_CTX *evp;

static void evp_start(const char *name, int encrypt)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
    evp = EVP_CIPHER_CTX_new();
    must(c != NULL && EVP_CipherInit_ex2(evp, c, key, iv, encrypt, NULL) == 1, name);
    EVP_CIPHER_CTX_set_padding(evp, 0);
    EVP_CIPHER_free(c);
    encrypting = encrypt;
}

static void evp_text(void)
{
    int n = 0;
    must(EVP_CipherInit_ex2(evp, NULL, NULL, iv, encrypting, NULL) == 1 &&
             EVP_CipherUpdate(evp, want, &n, text, (int)bytes) == 1,
         "EVP");
}

static sealane_aes_key aes_key;
static sealane_xts_key xts_key;

static void ctr(void)
{
    sealane_aes_ctr s;
    must(sealane_aes_ctr_init(&s, iv, 128) == 0 && sealane_aes_ctr_xor(&aes_key, &s, got, text, bytes) == 0, "CTR");
}

static void cbc(void)
{
    uint8_t chain[16];
    memcpy(chain, iv, 16);
    must((encrypting ? sealane_aes_cbc_encrypt : sealane_aes_cbc_decrypt)(&aes_key, chain, got, text, bytes) == 0,
         "CBC");
}

static void xts(void)
{
    must((encrypting ? sealane_aes_xts_encrypt : sealane_aes_xts_decrypt)(&xts_key, iv, got, text, bytes) == 0, "XTS");
}

static void ctr_start(void)
{
    evp_start("AES-128-CTR", 1);
}

static void cbc_encrypt_start(void)
{
    evp_start("AES-128-CBC", 1);
}

static void cbc_decrypt_start(void)
{
    evp_start("AES-128-CBC", 0);
}

static void xts_start(void)
{
    evp_start("AES-128-XTS", 1);
}

static void xts_decrypt_start(void)
{
    evp_start("AES-128-XTS", 0);
}

/* Eight texts of one length, side by side and one after the other. */
enum { TEXTS = 8 };

static void cbc_batch(void)
{
    sealane_cbc_op ops[TEXTS];
    uint8_t ivs[TEXTS][16];
    for (size_t i = 0; i < TEXTS; i++) {
        memcpy(ivs[i], iv, 16);
        ops[i] =
            (sealane_cbc_op){&aes_key, ivs[i], got + i * (bytes / TEXTS), text + i * (bytes / TEXTS), bytes / TEXTS, 0};
    }
    must(sealane_aes_cbc_encrypt_batch(ops, TEXTS) == TEXTS, "CBC batch");
}

static void evp_texts(void)
{
    int n = 0;
    for (size_t i = 0; i < TEXTS; i++)
        must(EVP_CipherInit_ex2(evp, NULL, NULL, iv, 1, NULL) == 1 &&
                 EVP_CipherUpdate(evp, want + i * (bytes / TEXTS), &n, text + i * (bytes / TEXTS),
                                  (int)(bytes / TEXTS)) == 1,
             "EVP");
}

/* ---- CCM, CMAC, GCM-SIV: a text and its tag have the stated bytes together; 13 bytes of associated data ---- */

enum { TAG = 16, NONCE = 12, AD = 13 };

static sealane_ccm_key ccm_key;
static sealane_gcm_siv_key siv_key;
static sealane_key gcm_key;
static EVP_MAC_CTX *mac;

static void tagged_start(void)
{
    memset(got, 0, sizeof got), memset(want, 0, sizeof want);
    must(sealane_aes_ccm_key_init(&ccm_key, key, 16, TAG) == 0 &&
             sealane_aes_gcm_siv_key_init(&siv_key, key, 16) == 0 &&
             sealane_key_init(&gcm_key, SEALANE_AES_128_GCM, key, 16) == 0,
         "keys");
}

static void ccm_start(void)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "AES-128-CCM", NULL);
    tagged_start();
    evp = EVP_CIPHER_CTX_new();
    must(c != NULL && EVP_EncryptInit_ex2(evp, c, NULL, NULL, NULL) == 1 &&
             EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_SET_IVLEN, NONCE, NULL) == 1 &&
             EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_SET_TAG, TAG, NULL) == 1 &&
             EVP_EncryptInit_ex2(evp, NULL, key, iv, NULL) == 1,
         "AES-128-CCM");
    EVP_CIPHER_free(c);
}

static void ccm(void)
{
    must(sealane_aes_ccm_seal(&ccm_key, got, got + bytes - TAG, iv, NONCE, key, AD, text, bytes - TAG) == 0, "CCM");
}

static void evp_ccm(void)
{
    int n = 0;
    must(EVP_EncryptInit_ex2(evp, NULL, NULL, iv, NULL) == 1 &&
             EVP_EncryptUpdate(evp, NULL, &n, NULL, (int)bytes - TAG) == 1 &&
             EVP_EncryptUpdate(evp, NULL, &n, key, AD) == 1 &&
             EVP_EncryptUpdate(evp, want, &n, text, (int)bytes - TAG) == 1 &&
             EVP_EncryptFinal_ex(evp, want + n, &n) == 1 &&
             EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_GET_TAG, TAG, want + bytes - TAG) == 1,
         "EVP's CCM");
}

static void cmac_start(void)
{
    char name[] = "AES-128-CBC";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("cipher", name, 0), OSSL_PARAM_construct_end()};
    EVP_MAC *m = EVP_MAC_fetch(NULL, "CMAC", NULL);
    tagged_start();
    mac = EVP_MAC_CTX_new(m);
    must(mac != NULL && EVP_MAC_init(mac, key, 16, params) == 1, "CMAC");
    EVP_MAC_free(m);
}

static void cmac(void)
{
    sealane_aes_cmac s;
    must(sealane_aes_cmac_init(&s) == 0 && sealane_aes_cmac_update(&aes_key, &s, text, bytes) == 0 &&
             sealane_aes_cmac_final(&aes_key, &s, got + bytes - TAG) == 0,
         "CMAC");
}

static void evp_cmac(void)
{
    size_t n;
    must(EVP_MAC_init(mac, NULL, 0, NULL) == 1 && EVP_MAC_update(mac, text, bytes) == 1 &&
             EVP_MAC_final(mac, want + bytes - TAG, &n, TAG) == 1,
         "EVP's CMAC");
}

/* Eight packets of one length in one call, or in one call each. */
static void ccm_batch(void)
{
    sealane_ccm_op ops[TEXTS];
    const size_t each = bytes / TEXTS;
    for (size_t i = 0; i < TEXTS; i++)
        ops[i] = (sealane_ccm_op){.out = got + i * each,
                                  .in = text + i * each,
                                  .in_bytes = each - TAG,
                                  .ad = key,
                                  .ad_bytes = AD,
                                  .key = &ccm_key,
                                  .nonce = iv,
                                  .nonce_bytes = NONCE,
                                  .tag = got + (i + 1) * each - TAG};
    must(sealane_aes_ccm_seal_batch(ops, TEXTS) == TEXTS, "CCM batch");
}

static void ccm_each(void)
{
    const size_t each = bytes / TEXTS;
    for (size_t i = 0; i < TEXTS; i++)
        must(sealane_aes_ccm_seal(&ccm_key, want + i * each, want + (i + 1) * each - TAG, iv, NONCE, key, AD,
                                  text + i * each, each - TAG) == 0,
             "CCM");
}

static void cmac_batch(void)
{
    sealane_cmac_op ops[TEXTS];
    const size_t each = bytes / TEXTS;
    for (size_t i = 0; i < TEXTS; i++)
        ops[i] = (sealane_cmac_op){
            .key = &aes_key, .in = text + i * each, .in_bytes = each, .mac = got + (i + 1) * each - TAG};
    must(sealane_aes_cmac_batch(ops, TEXTS) == TEXTS, "CMAC batch");
}

static void cmac_each(void)
{
    const size_t each = bytes / TEXTS;
    sealane_aes_cmac s;
    for (size_t i = 0; i < TEXTS; i++)
        must(sealane_aes_cmac_init(&s) == 0 && sealane_aes_cmac_update(&aes_key, &s, text + i * each, each) == 0 &&
                 sealane_aes_cmac_final(&aes_key, &s, want + (i + 1) * each - TAG) == 0,
             "CMAC");
}

static void siv(void)
{
    must(sealane_aes_gcm_siv_seal(&siv_key, got, got + bytes, iv, NONCE, key, AD, text, bytes) == 0, "GCM-SIV");
}

#if OPENSSL_VERSION_NUMBER >= 0x30200000L /* first version with GCM-SIV */
static void siv_start(void)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "AES-128-GCM-SIV", NULL);
    tagged_start();
    evp = EVP_CIPHER_CTX_new();
    must(c != NULL && EVP_EncryptInit_ex2(evp, c, key, iv, NULL) == 1, "AES-128-GCM-SIV");
    EVP_CIPHER_free(c);
}

/* OpenSSL 4.0.3 keeps associated data for the next packet unless that has some. */
static void evp_siv(void)
{
    int n = 0;
    must(EVP_EncryptInit_ex2(evp, NULL, NULL, iv, NULL) == 1 && EVP_EncryptUpdate(evp, NULL, &n, key, 0) == 1 &&
             EVP_EncryptUpdate(evp, NULL, &n, key, AD) == 1 &&
             EVP_EncryptUpdate(evp, want, &n, text, (int)bytes) == 1 && EVP_EncryptFinal_ex(evp, want + n, &n) == 1 &&
             EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_GET_TAG, TAG, want + bytes) == 1,
         "EVP's GCM-SIV");
}
#endif

static void own_gcm(void)
{
    must(sealane_seal(&gcm_key, want, want + bytes, iv, NONCE, key, AD, text, bytes) == 0, "GCM");
}

/* ---- SSH: OpenSSL's ChaCha20 and Poly1305, combined as in OpenSSH; the bytes include the tag ---- */

static sealane_ssh_key ssh_key;
static EVP_CIPHER_CTX *length_evp;

static void ssh_start(void)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "ChaCha20", NULL);
    EVP_MAC *m = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    tagged_start();
    evp = EVP_CIPHER_CTX_new(), length_evp = EVP_CIPHER_CTX_new(), mac = EVP_MAC_CTX_new(m);
    must(sealane_ssh_key_init(&ssh_key, key, 64) == 0 && mac != NULL &&
             EVP_EncryptInit_ex2(evp, c, key, iv, NULL) == 1 &&
             EVP_EncryptInit_ex2(length_evp, c, key + 32, iv, NULL) == 1,
         "ChaCha20");
    EVP_CIPHER_free(c);
    EVP_MAC_free(m);
}

static void ssh(void)
{
    must(sealane_ssh_seal(&ssh_key, 7, got, got + bytes - TAG, text, bytes - TAG) == 0, "SSH");
}

static void evp_ssh(void)
{
    static const uint8_t zero[32], first[16] = {[15] = 7}, second[16] = {[0] = 1, [15] = 7};
    uint8_t one_time[32];
    size_t size;
    int n;
    must(EVP_EncryptInit_ex2(evp, NULL, NULL, first, NULL) == 1 &&
             EVP_EncryptUpdate(evp, one_time, &n, zero, 32) == 1 &&
             EVP_EncryptInit_ex2(length_evp, NULL, NULL, first, NULL) == 1 &&
             EVP_EncryptUpdate(length_evp, want, &n, text, 4) == 1 &&
             EVP_EncryptInit_ex2(evp, NULL, NULL, second, NULL) == 1 &&
             EVP_EncryptUpdate(evp, want + 4, &n, text + 4, (int)bytes - TAG - 4) == 1 &&
             EVP_MAC_init(mac, one_time, 32, NULL) == 1 && EVP_MAC_update(mac, want, bytes - TAG) == 1 &&
             EVP_MAC_final(mac, want + bytes - TAG, &size, TAG) == 1,
         "EVP's ChaCha20 and Poly1305");
}

/* ---- QUIC: up to 64 packets of 1200 bytes with one key ---- */

static size_t packet_count(void)
{
    return bytes / PACKET;
}

static sealane_quic_keys quic_keys;
static uint8_t packets[2][PACKETS][PACKET];

static void quic_protect(void)
{
    static sealane_quic_packet p[PACKETS];
    const size_t n = packet_count();
    for (size_t i = 0; i < n; i++) {
        packets[0][i][0] = 0x43;
        p[i] =
            (sealane_quic_packet){.keys = &quic_keys, .bytes = packets[0][i], .packet_bytes = PACKET, .pn_offset = 9};
        p[i].number = i;
    }
    must(sealane_quic_protect_batch(p, n) == n, "QUIC");
}

#if defined(HAVE_IPSEC)
static IMB_MGR *manager;
static struct gcm_key_data gcm_keys __attribute__((aligned(64)));
static uint8_t mask_keys[2][16 * 15] __attribute__((aligned(64))), masks[PACKETS][16];

static void ipsec_start(void)
{
    if (manager == NULL) {
        manager = alloc_mb_mgr(0);
        init_mb_mgr_auto(manager, NULL);
    }
    IMB_AES128_GCM_PRE(manager, key, &gcm_keys);
    IMB_AES_KEYEXP_128(manager, key + 32, mask_keys[0], mask_keys[1]);
    must(sealane_quic_keys_init(&quic_keys, SEALANE_AES_128_GCM, key, iv, key + 32, 16) == 0, "keys");
    memset(packets, 0, sizeof packets);
}

/* With masks: as single-block ECB jobs, because versions before 1.4 have no call for header masks. */
static void ipsec_packets(int with_masks)
{
    struct gcm_context_data ctx;
    const size_t n = packet_count();
    for (size_t i = 0; i < n; i++) {
        uint8_t nonce[12], *b = packets[1][i];
        memcpy(nonce, iv, 12), nonce[11] ^= (uint8_t)i;
        b[0] = 0x43, b[9] = b[10] = b[11] = 0, b[12] = (uint8_t)i;
        IMB_AES128_GCM_ENC(manager, &gcm_keys, &ctx, b + HEADER, b + HEADER, PACKET - HEADER - 16, nonce, b, HEADER,
                           b + PACKET - 16, 16);
    }
    for (size_t i = 0; with_masks && i < n; i++) {
        IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
        memset(job, 0, sizeof *job);
        job->cipher_mode = IMB_CIPHER_ECB, job->hash_alg = IMB_AUTH_NULL, job->chain_order = IMB_ORDER_CIPHER_HASH;
        job->cipher_direction = IMB_DIR_ENCRYPT, job->enc_keys = mask_keys[0], job->dec_keys = mask_keys[1];
        job->key_len_in_bytes = 16, job->src = packets[1][i] + 9 + 4, job->dst = masks[i];
        job->msg_len_to_cipher_in_bytes = 16;
        IMB_SUBMIT_JOB_NOCHECK(manager);
    }
    while (with_masks && IMB_FLUSH_JOB(manager) != NULL)
        ;
    for (size_t i = 0; with_masks && i < n; i++) {
        packets[1][i][0] ^= masks[i][0] & 0x1f;
        for (size_t j = 0; j < 4; j++)
            packets[1][i][9 + j] ^= masks[i][1 + j];
    }
}

static void ipsec_quic(void)
{
    ipsec_packets(1);
}

static void ipsec_gcm(void)
{
    ipsec_packets(0);
}

/* Its QUIC calls, available since 1.4. */
#if IMB_VERSION_NUM >= IMB_VERSION(1, 4, 0)
#define HAVE_IPSEC_QUIC
static void ipsec_quic_calls(void)
{
    static uint8_t nonces[PACKETS][12];
    static void *texts[PACKETS], *tags[PACKETS], *outs[PACKETS];
    static const void *ins[PACKETS], *ivs[PACKETS], *headers[PACKETS], *samples[PACKETS];
    static uint64_t sizes[PACKETS];
    const size_t n = packet_count();
    for (size_t i = 0; i < n; i++) {
        uint8_t *b = packets[1][i];
        memcpy(nonces[i], iv, 12), nonces[i][11] ^= (uint8_t)i;
        b[0] = 0x43, b[9] = b[10] = b[11] = 0, b[12] = (uint8_t)i;
        ins[i] = texts[i] = b + HEADER, sizes[i] = PACKET - HEADER - 16, tags[i] = b + PACKET - 16;
        ivs[i] = nonces[i], headers[i] = b, samples[i] = b + 9 + 4, outs[i] = masks[i];
    }
    imb_quic_aes_gcm(manager, &gcm_keys, IMB_KEY_128_BYTES, IMB_DIR_ENCRYPT, texts, ins, sizes, ivs, headers, HEADER,
                     tags, 16, n);
    imb_quic_hp_aes_ecb(manager, mask_keys[0], outs, samples, n, IMB_KEY_128_BYTES);
    for (size_t i = 0; i < n; i++) {
        packets[1][i][0] ^= masks[i][0] & 0x1f;
        for (size_t j = 0; j < 4; j++)
            packets[1][i][9 + j] ^= masks[i][1 + j];
    }
}

static uint8_t sealed[PACKETS][PACKET];

/* With a copy of each packet, because unprotection works in place. */
static void quic_unprotect(void)
{
    static sealane_quic_packet p[PACKETS];
    const size_t n = packet_count();
    for (size_t i = 0; i < n; i++) {
        memcpy(packets[0][i], sealed[i], PACKET);
        p[i] =
            (sealane_quic_packet){.keys = &quic_keys, .bytes = packets[0][i], .packet_bytes = PACKET, .pn_offset = 9};
        p[i].number = i;
    }
    must(sealane_quic_unprotect_batch(p, n) == n, "QUIC");
}

static void ipsec_unprotect_start(void)
{
    ipsec_start();
    bytes = PACKETS * PACKET;
    quic_protect();
    memcpy(sealed, packets[0], sizeof sealed);
    memset(packets, 0, sizeof packets);
}

static void ipsec_quic_unprotect(void)
{
    static uint8_t nonces[PACKETS][12], found[PACKETS][16];
    static void *texts[PACKETS], *tags[PACKETS], *outs[PACKETS];
    static const void *ins[PACKETS], *ivs[PACKETS], *headers[PACKETS], *samples[PACKETS];
    static uint64_t sizes[PACKETS];
    const size_t n = packet_count();
    for (size_t i = 0; i < n; i++) {
        memcpy(packets[1][i], sealed[i], PACKET);
        samples[i] = packets[1][i] + 9 + 4, outs[i] = masks[i];
    }
    imb_quic_hp_aes_ecb(manager, mask_keys[0], outs, samples, n, IMB_KEY_128_BYTES);
    for (size_t i = 0; i < n; i++) {
        uint8_t *b = packets[1][i];
        b[0] ^= masks[i][0] & 0x1f;
        for (size_t j = 0; j < 4; j++)
            b[9 + j] ^= masks[i][1 + j];
        memcpy(nonces[i], iv, 12);
        for (size_t j = 0; j < 4; j++)
            nonces[i][8 + j] ^= b[9 + j];
        ins[i] = texts[i] = b + HEADER, sizes[i] = PACKET - HEADER - 16, tags[i] = found[i];
        ivs[i] = nonces[i], headers[i] = b;
    }
    imb_quic_aes_gcm(manager, &gcm_keys, IMB_KEY_128_BYTES, IMB_DIR_DECRYPT, texts, ins, sizes, ivs, headers, HEADER,
                     tags, 16, n);
    for (size_t i = 0; i < n; i++)
        must(memcmp(found[i], packets[1][i] + PACKET - 16, 16) == 0, "tag");
}
#endif
#endif

/* ---- Rows ---- */

typedef struct {
    const char *name, *peer;
    void (*start)(void), (*ours)(void), (*theirs)(void);
    size_t sizes[8];
    int quic; /* 1: compare packets; 2: do not compare, because the peer does less */
} row;

static const row rows[] = {
    {"AES-128-CTR", "OpenSSL EVP", ctr_start, ctr, evp_text, {64, 256, 576, 1024, 1424, 4096, 8192, 16384}, 0},
    {"AES-128-CBC decryption", "OpenSSL EVP", cbc_decrypt_start, cbc, evp_text, {64, 256, 1024, 4096, 16384}, 0},
    {"AES-128-CBC encryption", "OpenSSL EVP", cbc_encrypt_start, cbc, evp_text, {64, 1024, 16384}, 0},
    {"AES-128-CBC encryption, 8 texts", "OpenSSL EVP", cbc_encrypt_start, cbc_batch, evp_texts, {512, 8192}, 0},
    {"AES-128-XTS encryption", "OpenSSL EVP", xts_start, xts, evp_text, {64, 512, 520, 4096, 16384}, 0},
    {"AES-128-XTS decryption", "OpenSSL EVP", xts_decrypt_start, xts, evp_text, {512, 520, 4096}, 0},
    {"AES-128-CCM, seal", "OpenSSL EVP", ccm_start, ccm, evp_ccm, {64, 256, 1424, 4096, 16384}, 0},
    {"AES-128-CMAC", "OpenSSL EVP", cmac_start, cmac, evp_cmac, {16, 64, 256, 1424, 16384}, 0},
    {"AES-128-CCM, seal, 8 packets", "one by one", tagged_start, ccm_batch, ccm_each, {512, 2048, 8 * 1424}, 0},
    {"AES-128-CMAC, 8 texts", "one by one", tagged_start, cmac_batch, cmac_each, {512, 2048, 8 * 1424}, 0},
    {"chacha20-poly1305@openssh.com, seal", "OpenSSL EVP", ssh_start, ssh, evp_ssh, {64, 256, 1424, 4096, 16384}, 0},
#if OPENSSL_VERSION_NUMBER >= 0x30200000L
    {"AES-128-GCM-SIV", "OpenSSL EVP", siv_start, siv, evp_siv, {64, 256, 1420, 4096, 16384}, 0},
#endif
    {"AES-128-GCM-SIV, seal", "AES-128-GCM of sealane", tagged_start, siv, own_gcm, {64, 256, 1420, 4096, 16384}, 2},
#if defined(HAVE_IPSEC)
    {"QUIC, 64 packets, AES-128-GCM", "ipsec-mb", ipsec_start, quic_protect, ipsec_quic, {PACKETS * PACKET}, 1},
#if defined(HAVE_IPSEC_QUIC)
    {"QUIC, packets of 1200 bytes, its QUIC calls",
     "ipsec-mb",
     ipsec_start,
     quic_protect,
     ipsec_quic_calls,
     {1 * PACKET, 2 * PACKET, 3 * PACKET, 4 * PACKET, 8 * PACKET, 16 * PACKET, 64 * PACKET},
     1},
    {"QUIC, unprotected, its QUIC calls",
     "ipsec-mb",
     ipsec_unprotect_start,
     quic_unprotect,
     ipsec_quic_unprotect,
     {1 * PACKET, 2 * PACKET, 3 * PACKET, 4 * PACKET, 8 * PACKET, 16 * PACKET, 64 * PACKET},
     1},
#endif
    {"QUIC, masks left out by the peer", "ipsec-mb", ipsec_start, quic_protect, ipsec_gcm, {PACKETS * PACKET}, 2},
#endif
};

static double time_of(void (*f)(void), int repeats)
{
    const double start = seconds();
    for (int i = 0; i < repeats; i++)
        f();
    return (seconds() - start) / repeats;
}

static int run(const row *r, double limit, const char *fault)
{
    r->start();
    must(sealane_aes_key_init(&aes_key, key, 16) == 0 && sealane_aes_xts_key_init(&xts_key, key, 32) == 0, "key");
    for (int i = 0; i < 8 && r->sizes[i] != 0; i++) {
        bytes = r->sizes[i];
        r->ours(), r->theirs();
        if (r->quic && fault)
            packets[1][0][0] ^= 1;
        else if (fault)
            want[bytes - 1] ^= 1;
        if (r->quic == 1 ? memcmp(packets[0], packets[1], sizeof packets[0]) != 0
                         : !r->quic && memcmp(got, want, bytes) != 0) {
            fprintf(stderr, "bench-modes: %s of %zu bytes differs from %s's\n", r->name, bytes, r->peer);
            return 1;
        }
        double ours = 1, theirs = 1;
        const int repeats = (int)(40000 / (bytes + 200)) + 1;
        for (const double end = seconds() + limit; seconds() < end;) {
            const double a = time_of(r->ours, repeats), b = time_of(r->theirs, repeats);
            ours = a < ours ? a : ours, theirs = b < theirs ? b : theirs;
        }
        printf("%-44s %6zu  sealane %9.1f ns  %s %9.1f ns  %.2f\n", r->name, bytes, 1e9 * ours, r->peer, 1e9 * theirs,
               theirs / ours);
    }
    return 0;
}

int main(int argc, char **argv)
{
    double limit = 0.2;
    const char *fault = NULL;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(3 * i + 1);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(i * i);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--seconds=", 10) == 0)
            limit = atof(argv[i] + 10);
        else if (strncmp(argv[i], "--fault=", 8) == 0)
            fault = argv[i] + 8;
        else if (strcmp(argv[i], "--list") == 0)
            for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
                rows[j].quic == 2 ? 0 : puts(rows[j].name);
    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return 0;
    must(sealane_aes_key_init(&aes_key, key, 16) == 0, "key");
    printf("level %s; %s; nanoseconds, ratio\n", sealane_aes_impl_name(&aes_key), OpenSSL_version(OPENSSL_VERSION));
    for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
        if (run(&rows[j], limit, fault && strcmp(fault, rows[j].name) == 0 ? fault : NULL))
            return 1;
    return 0;
}
