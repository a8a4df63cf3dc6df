/* The choice of levels: by the CPU's features and its microarchitecture, the cap, and the known-answer tests. */
#include "level.h"

#include <stdio.h>
#include <string.h>

#include "cpu.h"

int sealane_level_find(const sealane_table *table, const char *name)
{
    for (unsigned i = 0; i < table->count; i++)
        if (strcmp(table->levels[i].name, name) == 0)
            return (int)i;
    return -1;
}

const sealane_microarchitecture *sealane_microarchitecture_of(uint32_t vendor, uint32_t model)
{
    const sealane_microarchitecture *m = sealane_microarchitectures;
    while (m->vendor != 0 && (m->vendor != vendor || model < m->from || model > m->to))
        m++;
    return m;
}

const sealane_microarchitecture *sealane_microarchitecture_of_process(void)
{
    static const sealane_microarchitecture *_Atomic chosen;
    const sealane_microarchitecture *known = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (known == NULL) {
        const sealane_cpu_identity cpu = sealane_cpu_identify();
        const sealane_microarchitecture *found = sealane_microarchitecture_of(cpu.vendor, cpu.model);
        if (atomic_compare_exchange_strong(&chosen, &known, found))
            known = found;
    }
    return known;
}

unsigned sealane_level_start(const sealane_table *table, const sealane_microarchitecture *cpu, int cap)
{
    const char *const first = cpu->first[table - sealane_tables];
    const unsigned start = first == NULL ? 0 : (unsigned)sealane_level_find(table, first);
    for (unsigned i = (unsigned)cap; cap >= 0 && i < sealane_level_name_count; i++) {
        const int level = sealane_level_find(table, sealane_level_names[i]);
        if (level >= 0)
            return i == (unsigned)cap || (unsigned)level > start ? (unsigned)level : start;
    }
    return start;
}

int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features,
                         void (*failed)(const sealane_level *))
{
    for (unsigned i = start; i < table->count; i++) {
        if ((table->levels[i].needs & ~features) != 0)
            continue;
        if (table->selftest(&table->levels[i]))
            return (int)i;
        failed(&table->levels[i]);
    }
    return -1;
}

static void report_failed(const sealane_level *level)
{
    for (const sealane_table *t = sealane_tables; t < sealane_tables + SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i < t->count; i++)
            if (level == &t->levels[i])
                fprintf(stderr, "sealane: %s: level %s fails its self-test on this CPU and is not used\n", t->primitive,
                        level->name);
}

int sealane_level_of_process(const sealane_table *table)
{
    static atomic_int outcomes[SEALANE_ALL_TABLES]; /* 0: not known yet; else level + 2, so that 1 stands for -1 */

    atomic_int *outcome = &outcomes[table - sealane_tables];
    int known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == 0) {
        const unsigned start =
            sealane_level_start(table, sealane_microarchitecture_of_process(), sealane_cap_of_process());
        const int found = sealane_level_choose(table, start, sealane_cpu_features(), report_failed) + 2;
        if (atomic_compare_exchange_strong(outcome, &known, found))
            known = found;
    }
    return known - 2;
}

static void report_failed_batch(const sealane_table *table, const sealane_level *level)
{
    fprintf(stderr, "sealane: %s: level %s fails its self-test of batches on this CPU, and does packets one by one\n",
            table->primitive, level->name);
}

const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level, atomic_int *outcome,
                                          sealane_batch_failed *failed)
{
    enum { UNKNOWN, WORKS, FAILS };
    if (level->batch.kernel == NULL)
        return NULL;
    int known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == UNKNOWN) {
        known = table->batch_selftest(level) ? WORKS : FAILS;
        if (atomic_exchange(outcome, known) == UNKNOWN && known == FAILS)
            failed(table, level);
    }
    return known == WORKS ? &level->batch : NULL;
}

const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level)
{
    static atomic_int outcomes[SEALANE_ALL_TABLES][SEALANE_LEVELS_MAX];
    return sealane_batch_choose(table, level, &outcomes[table - sealane_tables][level - table->levels],
                                report_failed_batch);
}
