/* Functions that leak their secret, one kind each; both constant-time checks must report every one that they can
 * detect. */
#ifndef SEALANE_TEST_PLANTED_H
#define SEALANE_TEST_PLANTED_H

#include <stdint.h>
#include <string.h>

static volatile uint8_t planted_sink;

/* The S-box of AES in a table, as in table-based AES, computed from its definition (FIPS 197, section 5.1.1). */
static uint8_t planted_sbox[256];

static uint8_t planted_times(uint8_t a, uint8_t b)
{
    uint8_t p = 0;
    for (; b != 0; b >>= 1, a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0)))
        p = (uint8_t)(p ^ (b & 1 ? a : 0));
    return p;
}

static void planted_init(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint8_t inverse = 1, s = 0;
        for (int n = 0; n < 254; n++)
            inverse = planted_times(inverse, (uint8_t)i);
        for (unsigned r = 0; r < 5; r++)
            s = (uint8_t)(s ^ (inverse << r | inverse >> (8 - r)));
        planted_sbox[i] = s ^ 0x63;
    }
}

static void planted_branch(const uint8_t secret[32])
{
    uint8_t n = 0;
    for (int i = 0; i < 32; i++) {
        if (secret[i] & 1)
            planted_sink = n;
        n++;
    }
}

static void planted_table(const uint8_t secret[32])
{
    for (int i = 0; i < 32; i++)
        planted_sink = planted_sbox[secret[i]];
}

static void planted_divide(const uint8_t secret[32])
{
    uint64_t v;
    memcpy(&v, secret, 8);
    planted_sink = (uint8_t)(0x123456789abcdef / (v | 1));
}

/* Stops at the first difference, like memcmp. */
static void planted_compare(const uint8_t secret[32])
{
    int i = 0;
    while (i < 31 && secret[i] == secret[i + 1])
        i++;
    planted_sink = (uint8_t)i;
}

static const struct {
    const char *name;
    void (*run)(const uint8_t secret[32]);
    int memcheck_sees_it;
} planted[] = {
    {"branch", planted_branch, 1},
    {"table", planted_table, 1},
    {"compare", planted_compare, 1},
    {"divide", planted_divide, 0},
};

enum { PLANTED = sizeof planted / sizeof planted[0] };

static int planted_find(const char *name)
{
    for (int i = 0; i < PLANTED; i++)
        if (strcmp(planted[i].name, name) == 0)
            return i;
    return -1;
}

#endif
