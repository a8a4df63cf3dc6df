/* What a kernel is called with (asm/args.h), as C sees it. */
#ifndef SEALANE_SRC_KERNEL_H
#define SEALANE_SRC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../asm/args.h"

/* Pointers are kept as integers: every slot is 8 bytes on every architecture. One block for
 * both kinds of kernels, in which each has names of its own: an initializer may have those of one. */
typedef union sealane_args {
    struct { /* a packet or a part of one; AES in the modes that do not authenticate, whose flags are an operation */
        uint64_t out, in, bytes;
        uint64_t ad, ad_bytes;
        uint64_t key, nonce, tag, state;
        uint64_t total, flags;
    };
    struct { /* many packets, masks or texts: direction is SEALANE_FLAG_OPEN or 0, or an operation of AES */
        uint64_t no_out, lanes, count, of_lanes[6], lane_bytes, direction;
    };
} sealane_args;

static inline uint64_t slot(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline uint8_t *slot_bytes(uint64_t v)
{
    return (uint8_t *)(uintptr_t)v;
}

/* What lives on between the parts of a packet: Poly1305's accumulator and key, and the next block's counter. */
typedef struct sealane_state {
    uint64_t h[3], r[2], s[2];
    uint64_t counter;
} sealane_state;

/* One packet of a batch: the first slots of the arguments, with the same meaning. */
typedef struct sealane_lane {
    uint64_t out, in, bytes;
    uint64_t ad, ad_bytes;
    uint64_t key, nonce, tag;
} sealane_lane;

static inline sealane_lane *slot_lanes(uint64_t v)
{
    return (sealane_lane *)(uintptr_t)v;
}

/* The arguments of a batch kernel (asm/args.h: BATCH_LANES, BATCH_COUNT). */
static inline sealane_args batch_args(const sealane_lane *lanes, size_t count, uint64_t direction)
{
    return (sealane_args){.lanes = slot(lanes), .count = count, .direction = direction};
}

/* The arguments of one of its packets by itself. */
static inline sealane_args lane_args(const sealane_lane *l, uint64_t direction)
{
    return (sealane_args){
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

#define SEALANE_AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #member)
SEALANE_AT(sealane_args, out, SEALANE_ARG_OUT);
SEALANE_AT(sealane_args, in, SEALANE_ARG_IN);
SEALANE_AT(sealane_args, bytes, SEALANE_ARG_BYTES);
SEALANE_AT(sealane_args, ad, SEALANE_ARG_AD);
SEALANE_AT(sealane_args, ad_bytes, SEALANE_ARG_AD_BYTES);
SEALANE_AT(sealane_args, key, SEALANE_ARG_KEY);
SEALANE_AT(sealane_args, nonce, SEALANE_ARG_NONCE);
SEALANE_AT(sealane_args, tag, SEALANE_ARG_TAG);
SEALANE_AT(sealane_args, state, SEALANE_ARG_STATE);
SEALANE_AT(sealane_args, total, SEALANE_ARG_TOTAL);
SEALANE_AT(sealane_args, flags, SEALANE_ARG_FLAGS);
SEALANE_AT(sealane_state, h, SEALANE_STATE_H);
SEALANE_AT(sealane_state, r, SEALANE_STATE_R);
SEALANE_AT(sealane_state, s, SEALANE_STATE_S);
SEALANE_AT(sealane_state, counter, SEALANE_STATE_COUNTER);
SEALANE_AT(sealane_args, lanes, SEALANE_BATCH_LANES);
SEALANE_AT(sealane_args, count, SEALANE_BATCH_COUNT);
SEALANE_AT(sealane_args, lane_bytes, SEALANE_ARG_TOTAL);
SEALANE_AT(sealane_args, direction, SEALANE_ARG_FLAGS);
SEALANE_AT(sealane_lane, out, SEALANE_LANE_OUT);
SEALANE_AT(sealane_lane, in, SEALANE_LANE_IN);
SEALANE_AT(sealane_lane, bytes, SEALANE_LANE_BYTES);
SEALANE_AT(sealane_lane, ad, SEALANE_LANE_AD);
SEALANE_AT(sealane_lane, ad_bytes, SEALANE_LANE_AD_BYTES);
SEALANE_AT(sealane_lane, key, SEALANE_LANE_KEY);
SEALANE_AT(sealane_lane, nonce, SEALANE_LANE_NONCE);
SEALANE_AT(sealane_lane, tag, SEALANE_LANE_TAG);
_Static_assert(sizeof(sealane_lane) == SEALANE_LANE_STRIDE, "lane");
_Static_assert(sizeof(sealane_args) == SEALANE_ARGS_BYTES, "args");
_Static_assert(sizeof(sealane_state) == SEALANE_STATE_BYTES, "state");

/* The tests also build everything with kernels of the Windows calling convention. */
#if defined(SEALANE_TEST_WIN64)
#define SEALANE_KERNEL_ABI __attribute__((ms_abi))
#else
#define SEALANE_KERNEL_ABI
#endif

typedef void SEALANE_KERNEL_ABI sealane_kernel(const sealane_args *args, void *scratch, const void *consts);

/* Scratch memory as a kernel wants it, on the stack and uninitialised; aligned by hand, since a frame that is aligned
 * costs every call registers and instructions. */
#define SCRATCH_IN(room) ((void *)(((uintptr_t)(room) + 63) & ~(uintptr_t)63))
#define SEALANE_SCRATCH_OF(name, bytes) \
    uint8_t name##_room[(bytes) + 63];  \
    void *const name = SCRATCH_IN(name##_room)
#define SEALANE_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_SCRATCH_BYTES)
#define SEALANE_BATCH_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_BATCH_SCRATCH_BYTES)

#endif
