/* The C view of kernel arguments (asm/args.h). */
#ifndef SEALANE_SRC_KERNEL_H
#define SEALANE_SRC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../asm/args.h"
#include "args.h"

/* Pointers are stored as integers, because every slot has 8 bytes on every architecture. */
static inline uint64_t slot(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline uint8_t *slot_bytes(uint64_t v)
{
    return (uint8_t *)(uintptr_t)v;
}

/* The state between the parts of a packet: Poly1305's accumulator and key, and the next block's counter. */
typedef struct sealane_state {
    uint64_t h[3], r[2], s[2];
    uint64_t counter;
} sealane_state;

/* Tests also build everything with kernels of the Windows calling convention. */
#if defined(SEALANE_TEST_WIN64)
#define SEALANE_KERNEL_ABI __attribute__((ms_abi))
#else
#define SEALANE_KERNEL_ABI
#endif

/* args has the type for the kernel. */
typedef void SEALANE_KERNEL_ABI sealane_kernel(const void *args, void *scratch, const void *consts);

/* Scratch memory for a kernel: on the stack and uninitialized. It is aligned by hand, because an aligned frame costs
 * every call registers and instructions. */
#define SCRATCH_IN(room) ((void *)(((uintptr_t)(room) + 63) & ~(uintptr_t)63))
#define SEALANE_SCRATCH_OF(name, bytes) \
    uint8_t name##_room[(bytes) + 63];  \
    void *const name = SCRATCH_IN(name##_room)
#define SEALANE_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_SCRATCH_BYTES)
#define SEALANE_BATCH_SCRATCH(name) SEALANE_SCRATCH_OF(name, SEALANE_BATCH_SCRATCH_BYTES)

#endif
