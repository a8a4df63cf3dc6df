/* Both providers in one process, for the tests. */
#ifndef SEALANE_PROVIDER_TEST_PROVIDERS_H
#define SEALANE_PROVIDER_TEST_PROVIDERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/proverr.h>

typedef struct {
    OSSL_PROVIDER *stock, *sealane;
} providers;

/* Loads sealane.so from a folder, with the default provider, into a library context (NULL is the default one). */
static inline providers load_providers(OSSL_LIB_CTX *libctx, const char *folder)
{
    providers p = {NULL, NULL};
    if (OSSL_PROVIDER_set_default_search_path(libctx, folder)) {
        p.stock = OSSL_PROVIDER_load(libctx, "default");
        p.sealane = OSSL_PROVIDER_load(libctx, "sealane");
    }
    if (p.stock == NULL || p.sealane == NULL) {
        ERR_print_errors_fp(stdout);
        printf("FAIL the provider in %s does not load\n", folder);
        exit(1);
    }
    return p;
}

static inline void unload_providers(const providers *p)
{
    OSSL_PROVIDER_unload(p->sealane);
    OSSL_PROVIDER_unload(p->stock);
}

static inline EVP_CIPHER *fetch(OSSL_LIB_CTX *libctx, const char *name, const char *properties)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(libctx, name, properties);
    if (c == NULL) {
        printf("FAIL no %s with %s\n", name, properties == NULL ? "any properties" : properties);
        exit(1);
    }
    return c;
}

static inline int has_cipher(OSSL_LIB_CTX *libctx, const char *name, const char *properties)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(libctx, name, properties);
    EVP_CIPHER_free(c);
    ERR_clear_error();
    return c != NULL;
}

/* Whether sealane offers it at the level of this process. */
static inline int is_offered(OSSL_LIB_CTX *libctx, const char *name)
{
    return has_cipher(libctx, name, "provider=sealane");
}

/* splitmix64: the seed determines the whole run. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#endif
