/* The planner of batches, with a choice of batch kernels of the caller's; for tests. */
#ifndef SEALANE_SRC_BATCH_H
#define SEALANE_SRC_BATCH_H

#include "../include/sealane.h"
#include "level.h"

typedef const sealane_batch *sealane_batch_choice(const sealane_table *table, const sealane_level *level);

/* sealane_seal_batch, or with SEALANE_FLAG_OPEN sealane_open_batch. */
size_t sealane_batch_run(sealane_op *ops, size_t n, uint64_t direction, sealane_batch_choice *choice);

#endif
