/* The choice of levels: by CPU features, microarchitecture, cap, and known-answer tests. */
#include "level.h"

#include <string.h>

#include "../include/sealane.h"
#include "bytes.h"
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

int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features)
{
    for (unsigned i = start; i < table->count; i++)
        if ((table->levels[i].needs & ~features) == 0 && table->selftest(&table->levels[i]))
            return (int)i;
    return -1;
}

static unsigned start_of_process(const sealane_table *table)
{
    return sealane_level_start(table, sealane_microarchitecture_of_process(), sealane_cap_of_process());
}

static atomic_int outcomes[SEALANE_ALL_TABLES]; /* 0: not known yet; otherwise level + 2, so that 1 stands for -1 */

int sealane_level_of_process(const sealane_table *table)
{
    atomic_int *outcome = &outcomes[table - sealane_tables];
    int known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == 0) {
        const int found = sealane_level_choose(table, start_of_process(table), sealane_cpu_features()) + 2;
        if (atomic_compare_exchange_strong(outcome, &known, found))
            known = found;
    }
    return known - 2;
}

int sealane_level_failed(const sealane_table *table, unsigned start, uint32_t features, int chosen)
{
    for (unsigned i = start; i < (chosen < 0 ? table->count : (unsigned)chosen); i++)
        if ((table->levels[i].needs & ~features) == 0)
            return 1;
    return 0;
}

enum { UNKNOWN, WORKS, FAILS };
static atomic_int batch_outcomes[SEALANE_ALL_TABLES][SEALANE_LEVELS_MAX];

const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level, atomic_int *outcome)
{
    if (level->batch.kernel == NULL)
        return NULL;
    int known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == UNKNOWN) {
        known = table->batch_selftest(level) ? WORKS : FAILS;
        atomic_store(outcome, known);
    }
    return known == WORKS ? &level->batch : NULL;
}

const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level)
{
    return sealane_batch_choose(table, level, &batch_outcomes[table - sealane_tables][level - table->levels]);
}

NOINLINE void sealane_call(const sealane_level *level, const void *args)
{
    SEALANE_SCRATCH(scratch);
    level->kernel(args, scratch, level->consts);
}

const char *sealane_warning(void)
{
    if (sealane_environment_is_meaningless())
        return "SEALANE_CPU or SEALANE_ASM has a value that means nothing here, and no effect";
    for (unsigned t = 0; t < SEALANE_ALL_TABLES; t++) {
        const sealane_table *table = &sealane_tables[t];
        const int known = atomic_load(&outcomes[t]);
        if (known != 0 && sealane_level_failed(table, start_of_process(table), sealane_cpu_features(), known - 2))
            return "a level fails its known-answer test on this CPU and is not used: `sealane info` says which";
        for (unsigned i = 0; i < SEALANE_LEVELS_MAX; i++)
            if (atomic_load(&batch_outcomes[t][i]) == FAILS)
                return "batches fail their known-answer test on this CPU: their packets are processed individually";
    }
    return NULL;
}
