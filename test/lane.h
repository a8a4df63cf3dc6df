#ifndef SEALANE_TEST_LANE_H
#define SEALANE_TEST_LANE_H

#include "../src/kernel.h"

/* The kernel arguments for one packet of a batch. */
static inline sealane_packet_args lane_args(const sealane_lane *l, uint64_t direction)
{
    return (sealane_packet_args){
        .out = l->out,
        .in = l->in,
        .bytes = l->bytes,
        .ad = l->ad,
        .ad_bytes = l->ad_bytes,
        .key = l->key,
        .nonce = l->nonce,
        .tag = l->tag,
        .total = l->bytes,
        .flags = direction | SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST,
    };
}

#endif
