/* sealane.so: the entry point, the provider's description, and the self-test at load. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* secure_getenv */
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/params.h>
#include <openssl/proverr.h>

#include "../include/sealane.h"
#include "../src/bytes.h"
#include "../src/cpu.h"
#include "../src/level.h"
#include "cipher.h"
#include "keystream.h"
#include "selftest.h"
#include "skey.h"

/* All ciphers. The names are those of the default provider, so that a fetch by any of them finds both. */
static const OSSL_ALGORITHM ciphers[] = {
    {"ChaCha20-Poly1305", "provider=sealane", chacha20_poly1305_functions, "sealane ChaCha20-Poly1305"},
    {"ChaCha20", "provider=sealane", chacha20_functions, "sealane ChaCha20"},
    {"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", "provider=sealane", aes_256_gcm_functions,
     "sealane AES-256-GCM"},
    {"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", "provider=sealane", aes_192_gcm_functions,
     "sealane AES-192-GCM"},
    {"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "provider=sealane", aes_128_gcm_functions,
     "sealane AES-128-GCM"},
    {"AES-256-GCM-SIV", "provider=sealane", aes_256_gcm_siv_functions, "sealane AES-256-GCM-SIV"},
    {"AES-128-GCM-SIV", "provider=sealane", aes_128_gcm_siv_functions, "sealane AES-128-GCM-SIV"},
    {"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", "provider=sealane", aes_256_cbc_functions, "sealane AES-256-CBC"},
    {"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", "provider=sealane", aes_192_cbc_functions, "sealane AES-192-CBC"},
    {"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", "provider=sealane", aes_128_cbc_functions, "sealane AES-128-CBC"},
    {"AES-256-CTR", "provider=sealane", aes_256_ctr_functions, "sealane AES-256-CTR"},
    {"AES-192-CTR", "provider=sealane", aes_192_ctr_functions, "sealane AES-192-CTR"},
    {"AES-128-CTR", "provider=sealane", aes_128_ctr_functions, "sealane AES-128-CTR"},
    {"AES-256-XTS:1.3.111.2.1619.0.1.2", "provider=sealane", aes_256_xts_functions, "sealane AES-256-XTS"},
    {"AES-128-XTS:1.3.111.2.1619.0.1.1", "provider=sealane", aes_128_xts_functions, "sealane AES-128-XTS"},
    {NULL, NULL, NULL, NULL},
};
_Static_assert(sizeof ciphers / sizeof ciphers[0] <= CORE_CIPHERS + 1, "room for all that may be on offer");

/* Portable code is slower than OpenSSL's own, so it is offered only on request. */
static int is_asked_for(void)
{
#if defined(__GLIBC__)
    return secure_getenv("SEALANE_CPU") != NULL || secure_getenv("SEALANE_ASM") != NULL;
#else
    return 1;
#endif
}

static int is_worthwhile(const sealane_level *level)
{
    return strcmp(level->name, "portable") != 0 || is_asked_for();
}

/* Whether OpenSSL is older than a version. If it does not report its version, it is assumed to be newer. */
static int is_before(const core *c, unsigned major, unsigned minor)
{
    char *version = NULL;
    unsigned has[2] = {0, 0};
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_CORE_VERSION, &version, 0), OSSL_PARAM_END};
    return c->get_params != NULL && c->get_params(c->handle, params) && version != NULL &&
           sscanf(version, "%u.%u", &has[0], &has[1]) == 2 && (has[0] < major || (has[0] == major && has[1] < minor));
}

/* Unauthenticated AES stays with OpenSSL if sealane is not faster. sealane is faster with AES on whole vectors, and
 * with AVX-512 on OpenSSL versions before those that use it too. */
static int is_fast_aes(const core *c, unsigned major, unsigned minor)
{
#if defined(__x86_64__)
    const sealane_level *level = aes_level();
    return (level->needs & SEALANE_X86_VAES) != 0 &&
           (!(level->needs & SEALANE_X86_AVX512F) || is_before(c, major, minor));
#else
    (void)c, (void)major, (void)minor, (void)is_before;
    return 0;
#endif
}

static int is_ctr_or_cbc(const OSSL_DISPATCH *functions)
{
    return functions == aes_128_cbc_functions || functions == aes_192_cbc_functions ||
           functions == aes_256_cbc_functions || functions == aes_128_ctr_functions ||
           functions == aes_192_ctr_functions || functions == aes_256_ctr_functions;
}

static int is_on_offer(const core *c, const OSSL_DISPATCH *functions)
{
    if (is_ctr_or_cbc(functions))
        return is_fast_aes(c, 4, 1);
    if (functions == aes_128_xts_functions || functions == aes_256_xts_functions)
        return is_fast_aes(c, 3, 5);
    if (functions == chacha20_functions)
        return keystream_is_fast(chacha20_level());
    return functions == chacha20_poly1305_functions || is_worthwhile(aesgcm_level());
}

static void offer(core *c)
{
    OSSL_ALGORITHM *offered = c->offered;
    for (const OSSL_ALGORITHM *a = ciphers; a->algorithm_names != NULL; a++)
        if (is_on_offer(c, a->implementation))
            *offered++ = *a;
}

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_cache)
{
    const core *c = provider;
    *no_cache = 0;
    if (atomic_load(&c->failed))
        return NULL;
    return operation == OSSL_OP_CIPHER ? c->offered : operation == OSSL_OP_SKEYMGMT ? skey_algorithms : NULL;
}

static const OSSL_PARAM *gettable(void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_DEFN(OSSL_PROV_PARAM_NAME, OSSL_PARAM_UTF8_PTR, NULL, 0),
        OSSL_PARAM_DEFN(OSSL_PROV_PARAM_VERSION, OSSL_PARAM_UTF8_PTR, NULL, 0),
        OSSL_PARAM_DEFN(OSSL_PROV_PARAM_BUILDINFO, OSSL_PARAM_UTF8_PTR, NULL, 0),
        OSSL_PARAM_DEFN(OSSL_PROV_PARAM_STATUS, OSSL_PARAM_INTEGER, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)provider;
    return known;
}

static int answer_text(OSSL_PARAM *p, const char *value)
{
    if (p->data_type != OSSL_PARAM_UTF8_PTR)
        return 0;
    p->return_size = strlen(value);
    if (p->data != NULL)
        *(const char **)p->data = value;
    return 1;
}

static int get_params(void *provider, OSSL_PARAM params[])
{
    const core *c = provider;
    int ok = 1;
    for (OSSL_PARAM *p = params; p->key != NULL; p++) {
        if (strcmp(p->key, OSSL_PROV_PARAM_NAME) == 0)
            ok &= answer_text(p, "sealane");
        else if (strcmp(p->key, OSSL_PROV_PARAM_VERSION) == 0)
            ok &= answer_text(p, SEALANE_VERSION);
        else if (strcmp(p->key, OSSL_PROV_PARAM_BUILDINFO) == 0)
            ok &= answer_text(p, c->build_info);
        else if (strcmp(p->key, OSSL_PROV_PARAM_STATUS) == 0)
            ok &= param_set_size(p, !atomic_load(&c->failed));
    }
    return ok;
}

/* OSSL_PROVIDER_self_test. After a failure, contexts with a key continue, but there are no new contexts and no new
 * keys. */
static int self_test(void *provider)
{
    core *c = provider;
    if (!core_is_well(c))
        return 0;
    const char *failure = selftest(c);
    if (failure == NULL)
        return 1;
    atomic_store(&c->failed, 1);
    core_raise(c, __FILE__, __LINE__, __func__, PROV_R_SELF_TEST_KAT_FAILURE, "%s", failure);
    return 0;
}

static void teardown(void *provider)
{
    core *c = provider;
    core_free(c, c, sizeof *c);
}

static const OSSL_DISPATCH functions[] = {
    {OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))teardown},
    {OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, (void (*)(void))gettable},
    {OSSL_FUNC_PROVIDER_GET_PARAMS, (void (*)(void))get_params},
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
    {OSSL_FUNC_PROVIDER_SELF_TEST, (void (*)(void))self_test},
    {0, NULL},
};

static int take_functions(core *c, const OSSL_DISPATCH *in)
{
    for (; in->function_id != 0; in++) {
        switch (in->function_id) {
        case OSSL_FUNC_CORE_NEW_ERROR:
            c->new_error = OSSL_FUNC_core_new_error(in);
            break;
        case OSSL_FUNC_CORE_SET_ERROR_DEBUG:
            c->set_error_debug = OSSL_FUNC_core_set_error_debug(in);
            break;
        case OSSL_FUNC_CORE_VSET_ERROR:
            c->vset_error = OSSL_FUNC_core_vset_error(in);
            break;
        case OSSL_FUNC_CORE_GET_PARAMS:
            c->get_params = OSSL_FUNC_core_get_params(in);
            break;
        case OSSL_FUNC_CORE_GET_LIBCTX:
            c->get_libctx = OSSL_FUNC_core_get_libctx(in);
            break;
        case OSSL_FUNC_SELF_TEST_CB:
            c->self_test_callback = OSSL_FUNC_self_test_cb(in);
            break;
        case OSSL_FUNC_CRYPTO_ZALLOC:
            c->zalloc = OSSL_FUNC_CRYPTO_zalloc(in);
            break;
        case OSSL_FUNC_CRYPTO_CLEAR_FREE:
            c->clear_free = OSSL_FUNC_CRYPTO_clear_free(in);
            break;
        }
    }
    return c->zalloc != NULL && c->clear_free != NULL;
}

static int refuse(const core *c, const char *why)
{
    core_raise(c, __FILE__, __LINE__, __func__, PROV_R_SELF_TEST_KAT_FAILURE, "sealane is not used: %s", why);
    return 0;
}

/* Checks reasons not to be loaded; OpenSSL then uses its own provider. */
static int is_fit(core *c)
{
    for (int i = 0; i <= SEALANE_AES; i++)
        if (sealane_level_of_process(&sealane_tables[i]) < 0)
            return refuse(c, "no level passes its known-answer test on this CPU");
    if (!is_worthwhile(chacha20_level()))
        return refuse(c, "this CPU has only the portable level, which is slower than OpenSSL");
    const char *failed = selftest(c);
    if (failed != NULL)
        return refuse(c, failed);
    offer(c);
    snprintf(c->build_info, sizeof c->build_info, SEALANE_VERSION ", level %s, for AES %s", chacha20_level()->name,
             aesgcm_level()->name);
    return 1;
}

SEALANE_API int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                                   void **provider)
{
    core first = {.handle = handle};
    if (!take_functions(&first, in) || !is_fit(&first))
        return 0;
    core *c = core_allocate(&first, sizeof *c);
    if (c == NULL)
        return 0;
    *c = first;
    *out = functions;
    *provider = c;
    return 1;
}
