#include "params.h"

static int is_integer(const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_INTEGER || p->data_type == OSSL_PARAM_UNSIGNED_INTEGER;
}

/* Byte i of a number, the lowest first. */
static size_t byte_at(const OSSL_PARAM *p, size_t i)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return p->data_size - 1 - i;
#else
    (void)p;
    return i;
#endif
}

int param_get_size(const OSSL_PARAM *p, size_t *value)
{
    const uint8_t *bytes = p->data;
    uint64_t v = 0;
    if (!is_integer(p) || bytes == NULL || p->data_size == 0)
        return 0;
    if (p->data_type == OSSL_PARAM_INTEGER && (bytes[byte_at(p, p->data_size - 1)] & 0x80))
        return 0;
    for (size_t i = 0; i < p->data_size; i++) {
        const uint8_t b = bytes[byte_at(p, i)];
        if (i >= sizeof v && b != 0)
            return 0;
        if (i < sizeof v)
            v |= (uint64_t)b << 8 * i;
    }
    *value = (size_t)v;
    return *value == v;
}

int param_set_size(OSSL_PARAM *p, size_t value)
{
    uint8_t *bytes = p->data;
    const uint64_t v = value;
    p->return_size = 0;
    if (!is_integer(p))
        return 0;
    p->return_size = sizeof value;
    if (bytes == NULL)
        return 1;
    if (p->data_size == sizeof value && p->data_type == OSSL_PARAM_UNSIGNED_INTEGER) {
        memcpy(bytes, &value, sizeof value); /* the usual case */
        return 1;
    }
    const size_t bits = p->data_size * 8 - (p->data_type == OSSL_PARAM_INTEGER);
    if (p->data_size == 0 || (bits < 64 && v >> bits != 0))
        return 0;
    for (size_t i = 0; i < p->data_size; i++)
        bytes[byte_at(p, i)] = i < sizeof v ? (uint8_t)(v >> 8 * i) : 0;
    p->return_size = p->data_size;
    return 1;
}
