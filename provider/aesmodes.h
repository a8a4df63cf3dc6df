/* A context of AES in the modes that do not authenticate, and their shared code. */
#ifndef SEALANE_PROVIDER_AESMODES_H
#define SEALANE_PROVIDER_AESMODES_H

#include <openssl/evp.h>

#include "../include/sealane.h"
#include "cipher.h"
#include "padding.h"

enum { BLOCK = 16 };

typedef struct {
    const core *core;
    const cipher_shape *shape;
    int enc, has_key, has_iv;
    int halves_equal; /* XTS: of the key, which then only decrypts */
    size_t pad;       /* CBC: whether there is padding; elsewhere asked for and set, without a meaning */
    size_t num;       /* CTR: the place that was set, until the next text, 0 is none; CBC: asked for and set */
    size_t tls_version, tls_mac_bytes;
    const uint8_t *tls_mac;
    uint8_t iv[BLOCK]; /* as it was set */
    sealane_aes_ctr ctr;
    struct {
        uint8_t chain[BLOCK]; /* the last block of ciphertext, before it the IV */
        uint8_t held[BLOCK];  /* what waits for more of the text */
        size_t held_bytes;
        int has_fake;
        uint8_t fake[PADDING_MAC_MAX]; /* random: the MAC of a record whose padding is wrong */
        uint8_t mac[PADDING_MAC_MAX];  /* of the last record, and where its caller finds it */
    } cbc;
    sealane_xts_key key; /* modes other than XTS use the first of its two */
} context;

/* Raises the reason; 0. */
int aes_raise(const context *c, int reason);

/* The input to read: itself, or the output, where it is copied to if the two overlap in part. */
const uint8_t *aes_apart(uint8_t *out, const uint8_t *in, size_t bytes);

OSSL_FUNC_cipher_update_fn cbc_update;
OSSL_FUNC_cipher_final_fn cbc_final;
OSSL_FUNC_cipher_cipher_fn cbc_cipher;

#endif
