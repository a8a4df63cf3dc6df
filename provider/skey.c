#include "skey.h"

#include <string.h>

#include <openssl/params.h>
#include <openssl/proverr.h>

/* OSSL_FUNC_SKEYMGMT_*, OSSL_SKEYMGMT_SELECT_SECRET_KEY and OSSL_SKEY_PARAM_* from OpenSSL 3.5. */
enum { FREE = 1, IMPORT = 2, EXPORT = 3, IMPORT_SETTABLE = 6 };
enum { SELECT_SECRET_KEY = 2 };
static const char raw_bytes[] = "raw-bytes", key_length[] = "key-length";

static void free_key(void *v)
{
    skey *k = v;
    if (k != NULL)
        core_free(k->core, k, sizeof *k);
}

static const OSSL_PARAM *raw_bytes_of(const OSSL_PARAM *params)
{
    for (; params != NULL && params->key != NULL; params++)
        if (strcmp(params->key, raw_bytes) == 0)
            return params;
    return NULL;
}

static void *import_key(void *provider, int selection, const OSSL_PARAM params[])
{
    const core *c = provider;
    const OSSL_PARAM *p = raw_bytes_of(params);
    if (!(selection & SELECT_SECRET_KEY) || p == NULL || p->data_type != OSSL_PARAM_OCTET_STRING || p->data == NULL) {
        RAISE(c, PROV_R_FAILED_TO_GET_PARAMETER);
        return NULL;
    }
    if (p->data_size == 0 || p->data_size > SKEY_BYTES) {
        RAISE(c, PROV_R_INVALID_KEY_LENGTH);
        return NULL;
    }
    skey *k = core_allocate(c, sizeof *k);
    if (k != NULL) {
        k->core = c;
        k->bytes = p->data_size;
        memcpy(k->key, p->data, p->data_size);
    }
    return k;
}

static int export_key(void *v, int selection, OSSL_CALLBACK *take, void *argument)
{
    skey *k = v;
    size_t bytes = k->bytes;
    const OSSL_PARAM params[] = {
        {key_length, OSSL_PARAM_UNSIGNED_INTEGER, &bytes, sizeof bytes, OSSL_PARAM_UNMODIFIED},
        {raw_bytes, OSSL_PARAM_OCTET_STRING, k->key, k->bytes, OSSL_PARAM_UNMODIFIED},
        OSSL_PARAM_END,
    };
    return (selection & SELECT_SECRET_KEY) != 0 && take(params, argument);
}

static const OSSL_PARAM *importable(void *provider)
{
    static const OSSL_PARAM known[] = {
        {raw_bytes, OSSL_PARAM_OCTET_STRING, NULL, 0, OSSL_PARAM_UNMODIFIED},
        OSSL_PARAM_END,
    };
    (void)provider;
    return known;
}

static const OSSL_DISPATCH functions[] = {
    {FREE, (void (*)(void))free_key},
    {IMPORT, (void (*)(void))import_key},
    {EXPORT, (void (*)(void))export_key},
    {IMPORT_SETTABLE, (void (*)(void))importable},
    {0, NULL},
};

const OSSL_ALGORITHM skey_algorithms[] = {
    {"AES", "provider=sealane-keys", functions, "sealane keys"},
    {"GENERIC-SECRET", "provider=sealane-keys", functions, "sealane keys"},
    {NULL, NULL, NULL, NULL},
};
