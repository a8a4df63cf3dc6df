#include "core.h"

#include <stdarg.h>

#include <openssl/err.h>
#include <openssl/proverr.h>

void core_raise(const core *c, const char *file, int line, const char *function, int reason, const char *format, ...)
{
    va_list arguments;
    if (c->new_error == NULL || c->set_error_debug == NULL || c->vset_error == NULL)
        return;
    va_start(arguments, format);
    c->new_error(c->handle);
    c->set_error_debug(c->handle, file, line, function);
    c->vset_error(c->handle, ERR_PACK(ERR_LIB_PROV, 0, reason), format, arguments);
    va_end(arguments);
}

int core_is_well(const core *c)
{
    const int failed = atomic_load_explicit(&c->failed, memory_order_relaxed);
    if (failed)
        RAISE(c, PROV_R_SELF_TEST_KAT_FAILURE);
    return !failed;
}

void *core_allocate(const core *c, size_t bytes)
{
    void *p = c->zalloc(bytes, __FILE__, __LINE__);
    if (p == NULL)
        RAISE(c, ERR_R_MALLOC_FAILURE);
    return p;
}

void core_free(const core *c, void *p, size_t bytes)
{
    c->clear_free(p, bytes, __FILE__, __LINE__);
}
