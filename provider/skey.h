/* Keys as objects, which OpenSSL supports since 3.5 (EVP_SKEY). Ciphers of sealane accept only sealane's objects, and
 * other ciphers and MACs do not accept these. Programs get them only by asking for "provider=sealane-keys", not by
 * preferring sealane.
 *
 * The numbers are from OpenSSL 3.5's headers, so that the provider can be built with the headers of 3.0. Older OpenSSL
 * versions do not request these functions. */
#ifndef SEALANE_PROVIDER_SKEY_H
#define SEALANE_PROVIDER_SKEY_H

#include "core.h"

#ifndef OSSL_OP_SKEYMGMT
#define OSSL_OP_SKEYMGMT 15
#endif
#ifndef OSSL_FUNC_CIPHER_ENCRYPT_SKEY_INIT
#define OSSL_FUNC_CIPHER_ENCRYPT_SKEY_INIT 19
#define OSSL_FUNC_CIPHER_DECRYPT_SKEY_INIT 20
#endif

enum { SKEY_BYTES = 64 }; /* at most */

typedef struct skey {
    const core *core;
    size_t bytes;
    uint8_t key[SKEY_BYTES];
} skey;

extern const OSSL_ALGORITHM skey_algorithms[];

/* The four functions that start encryption or decryption, with a key as bytes or (3.5) as an object. They call a
 * function whose last argument is "encrypting?". */
#define INIT_BY(direction, init, enc)                                                                         \
    static int direction##_init(void *v, const unsigned char *key, size_t key_bytes, const unsigned char *iv, \
                                size_t iv_bytes, const OSSL_PARAM params[])                                   \
    {                                                                                                         \
        return init(v, key, key_bytes, iv, iv_bytes, params, enc);                                            \
    }                                                                                                         \
    static int direction##_skey_init(void *v, void *skeydata, const unsigned char *iv, size_t iv_bytes,       \
                                     const OSSL_PARAM params[])                                               \
    {                                                                                                         \
        const skey *k = skeydata;                                                                             \
        return init(v, k == NULL ? NULL : k->key, k == NULL ? 0 : k->bytes, iv, iv_bytes, params, enc);       \
    }
#define INITS_BY(init)        \
    INIT_BY(encrypt, init, 1) \
    INIT_BY(decrypt, init, 0)

#endif
