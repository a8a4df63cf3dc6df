/* Batches with a given choice of batch kernels, for tests; and their lanes. */
#ifndef SEALANE_SRC_BATCH_H
#define SEALANE_SRC_BATCH_H

#include "../include/sealane.h"
#include "level.h"

typedef const sealane_batch *sealane_batch_choice(const sealane_table *table, const sealane_level *level);

/* Implements sealane_seal_batch, or sealane_open_batch with SEALANE_FLAG_OPEN. */
size_t sealane_batch_run(sealane_op *ops, size_t n, uint64_t direction, sealane_batch_choice *choice);

enum { SEALANE_LANES_MAX = 64 };

/* Runs 1 to SEALANE_LANES_MAX valid packets with keys of that level: side by side if that is faster and batch is not
 * NULL. Writes the computed tag of each lane. Lanes are aligned to 64 bytes. */
void sealane_run_lanes(const sealane_level *level, const sealane_batch *batch, const sealane_lane *lanes, size_t n,
                       uint64_t direction);

/* The same for one packet, whose arguments start with its lane. So the lane need not be copied, which would stall on
 * its stores. */
void sealane_run_lane(const sealane_level *level, sealane_packet_args *a, uint64_t direction);

#endif
