/* The functions that libcrypto passes when it loads the provider: memory, and the error queue.
 *
 * The provider uses libcrypto's headers but does not link to it. So one sealane.so works with every OpenSSL 3,
 * including copies that a program carries inside itself. */
#ifndef SEALANE_PROVIDER_CORE_H
#define SEALANE_PROVIDER_CORE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

enum { CORE_CIPHERS = 16 }; /* at most */

/* One per library context. OpenSSL calls it the provider context. */
typedef struct core {
    const OSSL_CORE_HANDLE *handle;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    OSSL_FUNC_CRYPTO_zalloc_fn *zalloc;
    OSSL_FUNC_CRYPTO_clear_free_fn *clear_free;
    OSSL_FUNC_core_get_libctx_fn *get_libctx;
    OSSL_FUNC_core_get_params_fn *get_params;
    OSSL_FUNC_self_test_cb_fn *self_test_callback;
    atomic_int failed; /* a self-test has failed: all operations are refused */
    char build_info[64];
    OSSL_ALGORITHM offered[CORE_CIPHERS + 1];
} core;

/* Adds a reason of ERR_LIB_PROV, which the default provider also uses, to the error queue. */
void core_raise(const core *c, const char *file, int line, const char *function, int reason, const char *format, ...);

#define RAISE(c, reason) core_raise((c), __FILE__, __LINE__, __func__, (reason), NULL)

/* Returns 0 and raises an error after a failed self-test. Called when a context is made and when it gets a key. */
int core_is_well(const core *c);

void *core_allocate(const core *c, size_t bytes); /* zeroed; NULL with the error raised */
void core_free(const core *c, void *p, size_t bytes);

#endif
