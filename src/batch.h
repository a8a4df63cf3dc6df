/* The planner of batches, with a choice of batch kernels of the caller's, for tests; and a way around it. */
#ifndef SEALANE_SRC_BATCH_H
#define SEALANE_SRC_BATCH_H

#include "../include/sealane.h"
#include "level.h"

typedef const sealane_batch *sealane_batch_choice(const sealane_table *table, const sealane_level *level,
                                                  uint64_t direction);

/* sealane_seal_batch, or with SEALANE_FLAG_OPEN sealane_open_batch. */
size_t sealane_batch_run(sealane_op *ops, size_t n, uint64_t direction, sealane_batch_choice *choice);

/* Packets that are known to be without mistakes, all with keys of key's algorithm and level: in one call of the batch
 * kernel, or one by one if there is none or they are too few for it. Lanes are aligned to 64 bytes. 1: done, with the
 * tags that belong to them; 0: they are of lengths or in an order for which the planner is better, and nothing was
 * done.
 */
int sealane_batch_lanes(const sealane_key *key, const sealane_lane *lanes, size_t n, uint64_t direction);

#endif
