/* The offered ciphers and their shared declarations. */
#ifndef SEALANE_PROVIDER_CIPHER_H
#define SEALANE_PROVIDER_CIPHER_H

#include <openssl/core_dispatch.h>
#include <openssl/proverr.h>

#include "../src/bytes.h"
#include "../src/level.h"
#include "core.h"
#include "params.h"

/* Properties that all contexts share; lengths in bytes. */
typedef struct cipher_shape {
    size_t key_bytes, iv_bytes;
    unsigned mode; /* EVP_CIPH_*_MODE; 0 for a stream cipher */
    int aead;
} cipher_shape;

extern const OSSL_DISPATCH chacha20_poly1305_functions[];
extern const OSSL_DISPATCH chacha20_functions[];
extern const OSSL_DISPATCH aes_128_gcm_functions[];
extern const OSSL_DISPATCH aes_192_gcm_functions[];
extern const OSSL_DISPATCH aes_256_gcm_functions[];
extern const OSSL_DISPATCH aes_128_gcm_siv_functions[];
extern const OSSL_DISPATCH aes_256_gcm_siv_functions[];
extern const OSSL_DISPATCH aes_128_cbc_functions[];
extern const OSSL_DISPATCH aes_192_cbc_functions[];
extern const OSSL_DISPATCH aes_256_cbc_functions[];
extern const OSSL_DISPATCH aes_128_ctr_functions[];
extern const OSSL_DISPATCH aes_192_ctr_functions[];
extern const OSSL_DISPATCH aes_256_ctr_functions[];
extern const OSSL_DISPATCH aes_128_xts_functions[];
extern const OSSL_DISPATCH aes_256_xts_functions[];

/* The levels of AES-GCM, and of AES in other modes, in this process. */
const sealane_level *aesgcm_level(void);
const sealane_level *aes_level(void);

/* OSSL_FUNC_cipher_get_params and _gettable_params. */
int cipher_get_params(const cipher_shape *shape, OSSL_PARAM params[]);
OSSL_FUNC_cipher_gettable_params_fn cipher_gettable_params;

/* The parameters keylen and ivlen. They can be read, and set only to their fixed values. */
int cipher_get_lengths(const core *c, const cipher_shape *shape, const found_params *found);
int cipher_set_lengths(const core *c, const cipher_shape *shape, const found_params *found);

/* Checks the lengths of a key and an IV; either may be NULL. */
int cipher_init_lengths(const core *c, const cipher_shape *shape, const void *key, size_t key_bytes, const void *iv,
                        size_t iv_bytes);

/* Sets a parameter if it is present. */
int cipher_answer(const core *c, OSSL_PARAM *p, size_t value);

/* Compares the first bytes of two tags in constant time. */
static inline int cipher_equal(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    uint64_t difference = 0;
    for (size_t i = 0; i < bytes; i++)
        difference |= a[i] ^ b[i];
    return hide(difference) == 0;
}

/* Versions of clang-format format braces in a macro differently. */
/* clang-format off */
#define FUNCTION(id, function) {OSSL_FUNC_CIPHER_##id, (void (*)(void))function}
/* clang-format on */

#endif
