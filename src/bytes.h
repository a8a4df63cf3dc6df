/* Bytes and words: loads and stores, wiping, constant-time comparison, overlap. */
#ifndef SEALANE_SRC_BYTES_H
#define SEALANE_SRC_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE __attribute__((always_inline))
#define UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
#else
#define NOINLINE
#define ALWAYS_INLINE
#define UNLIKELY(condition) (condition)
#endif

/* For functions that handle secret words. On 32-bit ARM, compilers keep some of these words on the stack. In a separate
 * function, these lie where sealane_burn_stack wipes. */
#if defined(__arm__)
#define ON_SECRET_WORDS NOINLINE __attribute__((unused))
#else
#define ON_SECRET_WORDS ALWAYS_INLINE inline
#endif

/* Data of other files of the library, accessed without the symbol table that programs can override. */
#if defined(__GNUC__) && !defined(_WIN32)
#define HIDDEN __attribute__((visibility("hidden")))
#else
#define HIDDEN
#endif

/* Keeps the tests before and after it separate. Compilers join tests of pointers with logical operations, three
 * instructions each, although a test and a branch that is not taken are one instruction. */
#if defined(__GNUC__)
#define KEEP_APART() __asm__ volatile("")
#define HAVE_NOW(x) __asm__ volatile("" : "+r"(x)) /* computes x here, not at its first use */
#else
#define KEEP_APART() ((void)0)
#define HAVE_NOW(x) ((void)(x))
#endif

static inline uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load64(const uint8_t *p)
{
    return (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32;
}

static inline void store32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static inline void store64(uint8_t *p, uint64_t v)
{
    store32(p, (uint32_t)v);
    store32(p + 4, (uint32_t)(v >> 32));
}

/* Stores 16 bytes so that one 16-byte load can follow at once; it would stall after two 8-byte stores. */
static inline void store128(uint8_t *p, uint64_t low, uint64_t high)
{
#if defined(__GNUC__) && defined(__x86_64__)
    typedef uint64_t pair __attribute__((vector_size(16)));
    const pair v = {low, high};
    memcpy(p, &v, 16);
#else
    store64(p, low), store64(p + 8, high);
#endif
}

static inline uint32_t swap32(uint32_t v)
{
#if defined(__GNUC__)
    return __builtin_bswap32(v);
#else
    return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
#endif
}

static inline uint64_t swap64(uint64_t v)
{
#if defined(__GNUC__)
    return __builtin_bswap64(v);
#else
    return (uint64_t)swap32((uint32_t)v) << 32 | swap32((uint32_t)(v >> 32));
#endif
}

static inline uint64_t load64_be(const uint8_t *p)
{
    return (uint64_t)swap32(load32(p)) << 32 | swap32(load32(p + 4));
}

static inline void store64_be(uint8_t *p, uint64_t v)
{
    store32(p, swap32((uint32_t)(v >> 32)));
    store32(p + 4, swap32((uint32_t)v));
}

/* Makes the compiler assume that the memory at p is read, so that it keeps earlier writes. */
static inline void keep_stores(void *p)
{
#if defined(__GNUC__)
    __asm__ volatile("" : : "r"(p) : "memory");
#else
    (void)*(volatile uint8_t *)p;
#endif
}

static inline void wipe(void *p, size_t bytes)
{
#if defined(__GNUC__)
    memset(p, 0, bytes);
    keep_stores(p);
#else
    volatile uint8_t *v = (volatile uint8_t *)p;
    while (bytes--)
        *v++ = 0;
#endif
}

/* Wipes in pieces: for longer ranges compilers use an instruction that starts slowly. */
static inline void wipe_long(void *p, size_t bytes)
{
    uint8_t *b = (uint8_t *)p;
    for (; bytes >= 64; b += 64, bytes -= 64)
        wipe(b, 64);
    for (; bytes >= 16; b += 16, bytes -= 16)
        wipe(b, 16);
    for (; bytes > 0; b++, bytes--)
        wipe(b, 1);
}

/* Writes an AES key to the start of its future schedule, followed by zeroes, with stores as wide as the kernels' loads:
 * otherwise these stall. */
static ON_SECRET_WORDS void put_raw_key(uint8_t *schedule, size_t schedule_bytes, const uint8_t *key, size_t key_bytes)
{
    memcpy(schedule, key, 16);
    if (key_bytes == 32)
        memcpy(schedule + 16, key + 16, 16);
    else if (key_bytes == 24)
        memcpy(schedule + 16, key + 16, 8);
    memset(schedule + key_bytes, 0, schedule_bytes - key_bytes);
}

/* Hides a value's origin from the compiler, which could otherwise turn masks into branches. */
static inline uint64_t hide(uint64_t v)
{
#if defined(__GNUC__)
    __asm__("" : "+r"(v));
#endif
    return v;
}

/* The valgrind test for secret-dependent branches marks all secrets as undefined; whether a tag is right is public. */
#if defined(SEALANE_TEST_VALGRIND)
#include <valgrind/memcheck.h>
#define DECLASSIFY(variable) ((void)VALGRIND_MAKE_MEM_DEFINED(&(variable), sizeof(variable)))
#else
#define DECLASSIFY(variable) ((void)0)
#endif

/* 1 if the two tags are equal, otherwise 0; the time does not depend on where they differ. */
static ON_SECRET_WORDS int equal16(const uint8_t *a, const uint8_t *b)
{
    /* This avoids memcpy, whose copies some compilers for ARM keep in memory. Each word is hidden after it is
     * compared. GCC 14 would join two words in a vector that it splits on the stack. GCC 12 for ARM keeps words on
     * the stack if they are hidden before the comparison. */
    int equal = (hide(load64(a) ^ load64(b)) | hide(load64(a + 8) ^ load64(b + 8))) == 0;
    DECLASSIFY(equal);
    return equal;
}

/* 1 if the two ranges share a byte. The sum of their lengths must fit in a size_t. */
static ALWAYS_INLINE inline int overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return a_bytes != 0 && b_bytes != 0 && (uintptr_t)a - (uintptr_t)b + (a_bytes - 1) < b_bytes + (a_bytes - 1);
}

#endif
