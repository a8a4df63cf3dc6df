/* Where random tests begin: the number in the environment variable SEALANE_SEED, so that a run can be made again; a new
 * one for each run where that is not set. Tests print what they began with. */
#ifndef SEALANE_TEST_SEED_H
#define SEALANE_TEST_SEED_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t seed_of_run(void)
{
    const char *const given = getenv("SEALANE_SEED");
    if (given != NULL && *given != 0)
        return strtoull(given, NULL, 0);
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
