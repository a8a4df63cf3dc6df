/* Makes a key of each cipher, and prints the levels and the batch plan of this process, and the nanoseconds of the
 * first key. test/choices starts it many times. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../include/sealane.h"
#include "../src/level.h"

/* A fault that test/choices must find. 1: a different level in each process; 2: a different batch plan; 3: a slow first
 * key. */
#ifndef PLANT
#define PLANT 0
#endif

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000LL * t.tv_sec + t.tv_nsec;
}

int main(void)
{
    static sealane_key chacha, gcm;
    static const uint8_t raw[32];
    const long long begin = now();
    const int failed = sealane_key_init(&chacha, SEALANE_CHACHA20_POLY1305, raw, 32);
    const long long first = now() - begin + (PLANT == 3 ? 60000 : 0);
    if (failed || sealane_key_init(&gcm, SEALANE_AES_128_GCM, raw, 16) != SEALANE_OK)
        return 1;
    const sealane_table *table = &sealane_tables[SEALANE_CHACHA20POLY1305];
    const sealane_batch *batch = sealane_level_batch(table, &table->levels[sealane_level_of_process(table)]);
    printf("%lld %s", first, sealane_impl_name(&chacha));
    if (PLANT == 1)
        printf("-%ld", (long)getpid());
    printf(" %s batches from [", sealane_impl_name(&gcm));
    if (PLANT == 2)
        printf("%ld ", (long)getpid());
    for (int i = 0; batch != NULL && i < batch->classes; i++)
        printf("%s%d", i ? " " : "", batch->from[i]);
    printf("]\n");
    return 0;
}
