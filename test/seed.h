/* The seed of random tests: the number in the environment variable SEALANE_SEED, to repeat a run, or a new one. An
 * invalid value ends the program. Tests print their seed. */
#ifndef SEALANE_TEST_SEED_H
#define SEALANE_TEST_SEED_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t seed_of_run(void)
{
    const char *const given = getenv("SEALANE_SEED");
    if (given != NULL && *given != 0) {
        char *end;
        errno = 0;
        const unsigned long long seed = strtoull(given, &end, 0);
        if (*given < '0' || *given > '9' || *end != 0 || errno != 0) {
            fprintf(stderr, "SEALANE_SEED: \"%s\" is not a number from 0 to 2^64-1\n", given);
            exit(2);
        }
        return seed;
    }
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
