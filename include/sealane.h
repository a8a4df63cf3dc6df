/* sealane: seals and opens network packets.
 *
 * Conventions of every function here, unless its comment says otherwise:
 *
 *   result      0, or -1 with nothing written. There is no errno and no global state.
 *   input       NULL is allowed where the length beside it is 0, and nowhere else: -1.
 *   aliasing    in == out, or the two are disjoint; a partial overlap returns -1. What is written may not overlap
 *               associated data or nonce. The attached layout of most protocols is tag = out + in_bytes.
 *   on failure  a failed open has zeroed out, and no plaintext was revealed.
 *   threads     a key that is not being written may be used by any number of threads; a stream by one at a time.
 *   memory      nothing is allocated; about 5 KiB of stack is used (16 KiB by the first key set-up in a process), and
 *               secrets are wiped from it.
 *   time        depends on lengths only, and on whether a tag was right.
 */
#ifndef SEALANE_H
#define SEALANE_H

#include <stddef.h>
#include <stdint.h>

#define SEALANE_VERSION_MAJOR 0
#define SEALANE_VERSION_MINOR 1
#define SEALANE_VERSION_PATCH 0
#define SEALANE_VERSION "0.1.0"

#if defined(_WIN32)
#if defined(SEALANE_BUILD_SHARED)
#define SEALANE_API __declspec(dllexport)
#elif defined(SEALANE_USE_SHARED)
#define SEALANE_API __declspec(dllimport)
#else
#define SEALANE_API
#endif
#elif defined(__GNUC__)
#define SEALANE_API __attribute__((visibility("default")))
#else
#define SEALANE_API
#endif

#if defined(__GNUC__)
#define SEALANE_CHECKED __attribute__((warn_unused_result))
#elif defined(_MSC_VER)
#include <sal.h>
#define SEALANE_CHECKED _Check_return_
#else
#define SEALANE_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SEALANE_TAG_BYTES 16

/* RFC 8439: 32-byte keys, 12-byte nonces, at most 2^38 - 64 bytes of text. */
#define SEALANE_CHACHA20_POLY1305_KEY_BYTES 32
#define SEALANE_CHACHA20_POLY1305_NONCE_BYTES 12

/* draft-irtf-cfrg-xchacha-03: 32-byte keys, 24-byte nonces (long enough to be drawn at random), the same limit. */
#define SEALANE_XCHACHA20_POLY1305_KEY_BYTES 32
#define SEALANE_XCHACHA20_POLY1305_NONCE_BYTES 24

/* NIST SP 800-38D: keys of 16, 24 or 32 bytes, at most 2^36 - 32 bytes of text. Nonces should have 12 bytes; any other
 * length but 0 is right too, and slower. */
#define SEALANE_AES_128_GCM_KEY_BYTES 16
#define SEALANE_AES_192_GCM_KEY_BYTES 24
#define SEALANE_AES_256_GCM_KEY_BYTES 32
#define SEALANE_AES_GCM_NONCE_BYTES 12

typedef enum {
    SEALANE_CHACHA20_POLY1305 = 1,
    SEALANE_XCHACHA20_POLY1305 = 2,
    SEALANE_AES_128_GCM = 3,
    SEALANE_AES_256_GCM = 4,
    SEALANE_AES_192_GCM = 5
} sealane_alg;

/* A key, and the implementation that was chosen for it. The caller's memory; it may be copied and moved by plain
 * assignment within a process. Its contents are private. */
typedef struct sealane_key {
    uint64_t opaque[128];
} sealane_key;

/* Makes a key ready for use by all the functions below.
 *
 * key_bytes must be what alg asks for. The first call in a process for ChaCha20-Poly1305 of either kind, and the first
 * for AES-GCM, also picks the fastest implementation that this CPU can run and that passes a known-answer test; the
 * environment variables SEALANE_CPU (the name of the best level to
 * use) and SEALANE_ASM=0 (portable code only) restrict the choice, except in set-uid programs.
 * -1: unknown or unsupported alg, wrong key_bytes, NULL, or no implementation works. */
SEALANE_API SEALANE_CHECKED int sealane_key_init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes);

/* Overwrites all of *k with zeroes; it is an invalid key from then on, and every use of it returns -1. NULL is ignored.
 */
SEALANE_API void sealane_key_wipe(sealane_key *k);

/* Name of the implementation that k uses, such as "avx512", "neon" or "portable"; "none" if *k is no valid key. Keys of
 * different algorithms may use different ones. The string lives for ever. */
SEALANE_API SEALANE_CHECKED const char *sealane_impl_name(const sealane_key *k);

/* Encrypts in_bytes of in to out, and writes the tag that authenticates them together with the ad_bytes of ad.
 *
 * The nonce must have the length that the key's algorithm asks for (AES-GCM: any but 0), and must never be used twice
 * under one key for different packets: that reveals both plaintexts and lets others forge packets. -1: invalid key,
 * wrong nonce_bytes, in_bytes or ad_bytes over the limit, a NULL with a length, an overlap. */
SEALANE_API SEALANE_CHECKED int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Checks the tag of in_bytes of ciphertext and ad_bytes of ad, and decrypts to out.
 *
 * -1 with out zeroed (also where out == in): the packet is not authentic.
 * -1 with nothing written: the caller's mistakes, as for sealane_seal. */
SEALANE_API SEALANE_CHECKED int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Batches: many packets in one call. Small packets of a batch run side by side in the lanes of the CPU's vectors,
 * several times as fast as one by one; nothing else is different. */

/* What became of one packet of a batch. */
typedef enum {
    SEALANE_OK = 0,
    SEALANE_NOT_AUTHENTIC = -1, /* open: the tag is wrong, whatever the reason; out is zeroed */
    /* The caller's mistakes; nothing was written. */
    SEALANE_INVALID_KEY = -2,   /* NULL, never set up, or wiped */
    SEALANE_INVALID_NONCE = -3, /* its length is not what the key's algorithm asks for */
    SEALANE_TOO_LONG = -4,      /* in_bytes is over the limit */
    SEALANE_NULL = -5,          /* a NULL where something must be */
    SEALANE_OVERLAP = -6        /* out overlaps in elsewhere than exactly, or ad, nonce or tag */
} sealane_status;

/* One packet: what sealane_seal and sealane_open take, in a structure. Only status is written. */
typedef struct sealane_op {
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const sealane_key *key;
    const uint8_t *nonce;
    uint8_t *tag; /* SEALANE_TAG_BYTES: written by seal, only read by open */
    size_t nonce_bytes;
    sealane_status status; /* result */
} sealane_op;

/* Seals or opens n packets, any mix of keys, algorithms and lengths, and returns when all are done: how many have
 * SEALANE_OK. A packet that fails does not affect the others.
 *
 * Within a packet the rules are those of sealane_seal and sealane_open, and are checked. What one packet writes (out,
 * tag, status) must not overlap anything of another packet; that is not checked, and packets of which it is not true
 * may fail or hold the wrong bytes. Inputs, keys, nonces and associated data may be shared.
 *
 * Give as many packets at once as there are, best some dozens of them; their order does not matter. About 24 KiB of
 * stack is used (40 KiB by the first batch in a process, which runs a known-answer test). */
SEALANE_API size_t sealane_seal_batch(sealane_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_open_batch(sealane_op *ops, size_t n);

/* Scatter/gather: one piece of a packet. Pieces of any length, also 0, make up the text in the order given. For
 * associated data out is not looked at. */
typedef struct sealane_iovec {
    const uint8_t *in;
    uint8_t *out;
    size_t bytes;
} sealane_iovec;

#define SEALANE_IOV_MAX 1024 /* pieces of text in one call */

/* sealane_seal and sealane_open of a packet in pieces; the result is that of their concatenation.
 *
 * For every piece in == out, or the two are disjoint; and no piece's out may overlap another piece's in or out.
 * This is checked for all pairs, so the cost grows with the square of the pieces. */
SEALANE_API SEALANE_CHECKED int sealane_sealv(const sealane_key *k, uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);
SEALANE_API SEALANE_CHECKED int sealane_openv(const sealane_key *k, const uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);

/* One packet in the making, for callers whose own interface is a stream (OpenSSL's EVP). Where a packet is at hand as a
 * whole, sealane_seal and sealane_open are faster and safer. The caller's memory, its contents private; it holds key
 * material until final or wipe, and must not be copied. */
typedef struct sealane_stream {
    uint64_t opaque[64];
} sealane_stream;

typedef enum { SEALANE_STREAM_SEAL = 0, SEALANE_STREAM_OPEN = 1 } sealane_direction;

/* Begins a packet. *k must stay valid until the stream ends. */
SEALANE_API SEALANE_CHECKED int sealane_stream_init(sealane_stream *s, const sealane_key *k,
                                                    sealane_direction direction, const uint8_t *nonce,
                                                    size_t nonce_bytes);

/* Adds associated data, in any number of pieces of any length; -1 after the first update with text in it. */
SEALANE_API SEALANE_CHECKED int sealane_stream_ad(sealane_stream *s, const uint8_t *ad, size_t ad_bytes);

/* Encrypts or decrypts the next bytes of text to as many of out; any number of pieces of any length, fastest where
 * they are multiples of 64.
 *
 * When opening, what this writes is UNVERIFIED PLAINTEXT. It must not be used in any way before
 * sealane_stream_open_final has returned 0, and must be erased by the caller if it returned -1.
 * -1: over the limit, a NULL with a length, a partial overlap, or no stream in progress; the stream is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_stream_update(sealane_stream *s, uint8_t *out, const uint8_t *in,
                                                      size_t in_bytes);

/* Ends a packet: writes its tag, or returns 0 if and only if the tag is right. Wipes the stream in any case but that
 * of NULL or the wrong direction. */
SEALANE_API SEALANE_CHECKED int sealane_stream_seal_final(sealane_stream *s, uint8_t tag[SEALANE_TAG_BYTES]);
SEALANE_API SEALANE_CHECKED int sealane_stream_open_final(sealane_stream *s, const uint8_t tag[SEALANE_TAG_BYTES]);

/* Gives a packet up and wipes the stream. NULL is ignored. */
SEALANE_API void sealane_stream_wipe(sealane_stream *s);

#ifdef __cplusplus
}
#endif

#endif
