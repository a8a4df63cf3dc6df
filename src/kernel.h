/* What a kernel is called with (asm/args.h), as C sees it. */
#ifndef SEALANE_SRC_KERNEL_H
#define SEALANE_SRC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../asm/args.h"

/* Pointers are kept as integers: every slot is 8 bytes on every architecture. */

/* A packet, or a part of one. */
typedef struct sealane_packet_args {
    uint64_t out, in, bytes;
    uint64_t ad, ad_bytes;
    uint64_t key, nonce, tag, state;
    uint64_t total, flags;
} sealane_packet_args;

/* Many packets: flags are SEALANE_FLAG_OPEN or 0. */
typedef struct sealane_batch_args {
    uint64_t unused;
    uint64_t lanes, count;
    uint64_t none[7];
    uint64_t flags;
} sealane_batch_args;

/* AES in the modes that do not authenticate, and masks: a text, or lanes, or a key that is set up. */
typedef struct sealane_mode_args {
    uint64_t out;
    union {
        uint64_t in, lanes;
    };
    union {
        uint64_t bytes, count, encrypts_only;
    };
    uint64_t unused[2];
    uint64_t key;
    uint64_t none[2];
    uint64_t state;
    uint64_t bytes_each, operation;
} sealane_mode_args;

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

/* One packet of a batch: the first slots of sealane_packet_args, with the same meaning. */
typedef struct sealane_lane {
    uint64_t out, in, bytes;
    uint64_t ad, ad_bytes;
    uint64_t key, nonce, tag;
} sealane_lane;

/* A text or a sample, with its own key. */
typedef struct sealane_mode_lane {
    uint64_t out, in;
    uint64_t unused[3];
    uint64_t key, chain;
    uint64_t none;
} sealane_mode_lane;

/* The tests also build everything with kernels of the Windows calling convention. */
#if defined(SEALANE_TEST_WIN64)
#define SEALANE_KERNEL_ABI __attribute__((ms_abi))
#else
#define SEALANE_KERNEL_ABI
#endif

/* args are of the kernel's kind. */
typedef void SEALANE_KERNEL_ABI sealane_kernel(const void *args, void *scratch, const void *consts);

/* Scratch memory as a kernel wants it, on the stack and uninitialised; aligned by hand, since a frame that is aligned
 * costs every call registers and instructions. */
#define SCRATCH_IN(room) ((void *)(((uintptr_t)(room) + 63) & ~(uintptr_t)63))
#define SEALANE_SCRATCH_OF(name, bytes) \
    uint8_t name##_room[(bytes) + 63];  \
    void *const name = SCRATCH_IN(name##_room)
#define SEALANE_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_SCRATCH_BYTES)
#define SEALANE_BATCH_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_BATCH_SCRATCH_BYTES)

#endif
