/* Takes numbers and bytes from the front of a fuzzer's input. After its end everything is zero. */
#ifndef SEALANE_INPUT_H
#define SEALANE_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sealane.h>

enum { LONGEST = 4096 };

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

static inline void take(input *from, uint8_t *out, size_t bytes)
{
    const size_t have = bytes < from->left ? bytes : from->left;
    if (have)
        memcpy(out, from->at, have);
    memset(out + have, 0, bytes - have);
    from->at += have;
    from->left -= have;
}

/* 0 to limit - 1. */
static inline size_t number(input *from, size_t limit)
{
    uint8_t b[2];
    take(from, b, sizeof b);
    return (size_t)(b[0] | b[1] << 8) % limit;
}

/* A failure ends the fuzzer, which stores the input. */
static inline void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "not so: %s\n", what);
        abort();
    }
}

#endif
