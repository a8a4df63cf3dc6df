/* AES-CBC (NIST SP 800-38A, section 6.2): text in pieces, with or without PKCS #7 padding, and records of TLS 1.0 to
 * 1.2. libssl leaves padding and MAC of these records to the provider. Ciphertext stealing is not included; OpenSSL
 * has it under other names. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* getentropy */
#endif
#include "aesmodes.h"

#include <string.h>

#include <openssl/prov_ssl.h>
#include <sys/random.h>

/* Whole blocks; out is equal to in or disjoint from it. */
static int blocks(context *c, uint8_t *out, const uint8_t *in, size_t bytes)
{
    return bytes == 0 ||
           (c->enc ? sealane_aes_cbc_encrypt : sealane_aes_cbc_decrypt)(&c->key.text, c->cbc.chain, out, in, bytes) ==
               SEALANE_OK ||
           aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
}

/* ---- Text in pieces ---- */

/* How many blocks of the held bytes and `bytes` more can be processed now. When decrypting with padding, the last block
 * is held, because it may be the last of the text. */
static size_t ready(const context *c, size_t bytes)
{
    const size_t all = c->cbc.held_bytes + bytes;
    return all / BLOCK - (all > 0 && all % BLOCK == 0 && !c->enc && c->pad);
}

static void hold(context *c, const uint8_t *in, size_t bytes)
{
    if (bytes > 0)
        memcpy(c->cbc.held + c->cbc.held_bytes, in, bytes);
    c->cbc.held_bytes += bytes;
}

/* The first block starts with the held bytes. Moves input ahead where output would overwrite it before it is read. */
static int text_update(context *c, uint8_t *out, const uint8_t *in, size_t bytes, size_t out_bytes)
{
    uint8_t tail[BLOCK];
    const size_t filled = c->cbc.held_bytes == 0 ? 0 : BLOCK - c->cbc.held_bytes;
    const size_t first = c->cbc.held_bytes == 0 ? 0 : BLOCK, whole = out_bytes - first;
    const size_t tail_bytes = bytes - filled - whole;
    hold(c, in, filled);
    if (tail_bytes > 0)
        memcpy(tail, in + filled + whole, tail_bytes);
    const uint8_t *rest = in + filled;
    if (whole > 0 && overlap(out, out_bytes, rest, whole) && rest != out + first) {
        memmove(out + first, rest, whole);
        rest = out + first;
    }
    if (!blocks(c, out, c->cbc.held, first) || !blocks(c, out + first, rest, whole))
        return 0;
    c->cbc.held_bytes = 0;
    hold(c, tail, tail_bytes);
    wipe(tail, sizeof tail);
    return 1;
}

static int record_update(context *c, uint8_t *out, size_t *out_bytes, size_t out_size, const uint8_t *in, size_t bytes);

int cbc_update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in, size_t bytes)
{
    context *c = v;
    if (!c->has_key)
        return aes_raise(c, PROV_R_NO_KEY_SET);
    if (c->tls_version > 0)
        return record_update(c, out, out_bytes, out_size, in, bytes);
    const size_t n = BLOCK * ready(c, bytes);
    if (out_size < n)
        return aes_raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (n == 0)
        hold(c, in, bytes);
    else if (!text_update(c, out, in, bytes, n))
        return 0;
    *out_bytes = n;
    return 1;
}

static int encrypt_last(context *c, uint8_t *out, size_t *out_bytes, size_t out_size)
{
    if (c->pad) {
        const size_t n = BLOCK - c->cbc.held_bytes;
        memset(c->cbc.held + c->cbc.held_bytes, (int)n, n);
    } else if (c->cbc.held_bytes > 0) {
        return aes_raise(c, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
    } else {
        *out_bytes = 0;
        return 1;
    }
    if (out_size < BLOCK)
        return aes_raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!blocks(c, out, c->cbc.held, BLOCK))
        return 0;
    *out_bytes = BLOCK;
    return 1;
}

/* Like EVP, the result tells whether the padding was right. With unauthenticated text, this reveals plaintext. */
static int decrypt_last(context *c, uint8_t *out, size_t *out_bytes, size_t out_size)
{
    uint8_t last[BLOCK];
    if (c->cbc.held_bytes == 0 && !c->pad) {
        *out_bytes = 0;
        return 1;
    }
    if (c->cbc.held_bytes != BLOCK)
        return aes_raise(c, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
    if (!blocks(c, last, c->cbc.held, BLOCK))
        return 0;
    const int n = c->pad ? padding_pkcs7(last) : BLOCK;
    const int ok = n >= 0 && out_size >= (size_t)n;
    if (ok && n > 0)
        memcpy(out, last, (size_t)n);
    wipe(last, sizeof last);
    if (!ok)
        return aes_raise(c, n < 0 ? PROV_R_BAD_DECRYPT : PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    *out_bytes = (size_t)n;
    return 1;
}

int cbc_final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    context *c = v;
    if (!c->has_key)
        return aes_raise(c, PROV_R_NO_KEY_SET);
    if (c->tls_version > 0) /* a record is complete in each call */
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    if (!(c->enc ? encrypt_last : decrypt_last)(c, out, out_bytes, out_size))
        return 0;
    wipe(c->cbc.held, sizeof c->cbc.held);
    c->cbc.held_bytes = 0;
    return 1;
}

/* Whole blocks, without padding and independent of held bytes. */
int cbc_cipher(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in, size_t bytes)
{
    context *c = v;
    if (!c->has_key)
        return aes_raise(c, PROV_R_NO_KEY_SET);
    if (out_size < bytes)
        return aes_raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!blocks(c, out, aes_apart(out, in, bytes), bytes))
        return 0;
    *out_bytes = bytes;
    return 1;
}

/* ---- TLS records: one per call, in place ---- */

/* Adds padding before encryption. Each padding byte is the padding length less one; in SSL 3, all except the last are
 * zero. */
static int encrypt_record(context *c, uint8_t *record, size_t *out_bytes, size_t out_size, size_t bytes)
{
    const size_t n = BLOCK - bytes % BLOCK;
    if (out_size - bytes < n)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    memset(record + bytes, c->tls_version == SSL3_VERSION ? 0 : (int)(n - 1), n);
    record[bytes + n - 1] = (uint8_t)(n - 1);
    if (!blocks(c, record, record, bytes + n))
        return 0;
    c->tls_mac = NULL;
    *out_bytes = bytes + n;
    return 1;
}

/* The size of the explicit IV at the start of a record of that version; -1 for versions without CBC. */
static int explicit_iv(size_t version)
{
    switch (version) {
    case SSL3_VERSION:
    case TLS1_VERSION:
        return 0;
    case TLS1_1_VERSION:
    case TLS1_2_VERSION:
    case DTLS1_VERSION:
    case DTLS1_2_VERSION:
    case DTLS1_BAD_VER:
        return BLOCK;
    default:
        return -1;
    }
}

/* The text starts after the explicit IV, where libssl looks for it. Only its length and the MAC reveal the
 * padding. */
static int decrypt_record(context *c, uint8_t *record, size_t *out_bytes, size_t bytes)
{
    const int iv_bytes = explicit_iv(c->tls_version);
    const size_t iv = iv_bytes < 0 ? 0 : (size_t)iv_bytes;
    if (!c->cbc.has_fake && getentropy(c->cbc.fake, sizeof c->cbc.fake) != 0)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    c->cbc.has_fake = 1;
    if (bytes % BLOCK != 0 || bytes < iv)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    if (!blocks(c, record, record, bytes))
        return 0;
    if (iv_bytes < 0)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    c->tls_mac = c->tls_mac_bytes > 0 ? c->cbc.mac : NULL;
    if (!padding_tls(record + iv, bytes - iv, c->tls_version == SSL3_VERSION, c->tls_mac_bytes, c->cbc.fake, c->cbc.mac,
                     out_bytes))
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    return 1;
}

static int record_update(context *c, uint8_t *out, size_t *out_bytes, size_t out_size, const uint8_t *in, size_t bytes)
{
    if (in == NULL || in != out || out_size < bytes || !c->pad)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    return c->enc ? encrypt_record(c, out, out_bytes, out_size, bytes) : decrypt_record(c, out, out_bytes, bytes);
}
