/* Contexts of the unauthenticated AES modes, and their shared code. */
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
    int halves_equal; /* XTS: both halves of the key are equal, so it may only decrypt */
    size_t pad;       /* CBC: whether there is padding; in other modes without effect */
    size_t num;       /* CTR: the position that was set, until the next text, or 0; CBC: without effect */
    size_t tls_version, tls_mac_bytes;
    const uint8_t *tls_mac;
    uint8_t iv[BLOCK]; /* the value that was set */
    sealane_aes_ctr ctr;
    struct {
        uint8_t chain[BLOCK]; /* the last block of ciphertext, at first the IV */
        uint8_t held[BLOCK];  /* input that waits for the rest of its block */
        size_t held_bytes;
        int has_fake;
        uint8_t fake[PADDING_MAC_MAX]; /* random MAC for records with wrong padding */
        uint8_t mac[PADDING_MAC_MAX];  /* of the last record; the caller reads it here */
    } cbc;
    sealane_xts_key key; /* modes other than XTS use the first of its two keys */
} context;

/* Raises an error with this reason, and returns 0. */
int aes_raise(const context *c, int reason);

/* Returns the input to read: in itself, or out if the two overlap partially; then in is copied there. */
const uint8_t *aes_apart(uint8_t *out, const uint8_t *in, size_t bytes);

OSSL_FUNC_cipher_update_fn cbc_update;
OSSL_FUNC_cipher_final_fn cbc_final;
OSSL_FUNC_cipher_cipher_fn cbc_cipher;

#endif
