/* Layout of the arguments of every sealane kernel: void kernel(const args *, void *scratch, const void *consts).
 *
 * The only place that defines offsets. There are three kinds of kernels, and args is a structure for each. ARG is
 * for packets, BATCH for batches, MODE for AES modes and header masks. From here make gen writes the structures of
 * C, Go and Rust, with these comments. Each has SEALANE_ARGS_BYTES. A slot is 8 bytes wide on every architecture,
 * and a pointer occupies its low bytes. A kernel does not read slots that its kind does not name.
 */
#ifndef SEALANE_ASM_ARGS_H
#define SEALANE_ASM_ARGS_H

/* Packets: ChaCha20-Poly1305 or AES-GCM seals or opens one packet, or one part of a long one. */
#define SEALANE_ARG_OUT 0       /* output text; equal to in, or disjoint from it */
#define SEALANE_ARG_IN 8        /* input text */
#define SEALANE_ARG_BYTES 16    /* bytes of input and output in this call; a multiple of 64 unless LAST is set */
#define SEALANE_ARG_AD 24       /* associated data; read only with FIRST */
#define SEALANE_ARG_AD_BYTES 32 /* its bytes; with LAST they also go into the length block */
#define SEALANE_ARG_KEY 40      /* 32 bytes */
#define SEALANE_ARG_NONCE 48    /* 12 bytes */
#define SEALANE_ARG_TAG 56      /* 16 bytes, written with LAST: the packet's tag (open: the caller compares it) */
#define SEALANE_ARG_STATE 64    /* SEALANE_STATE_BYTES; read without FIRST, written without LAST; unused with both */
#define SEALANE_ARG_TOTAL 72    /* bytes of text in the whole packet, for the length block; read with LAST */
#define SEALANE_ARG_FLAGS 80    /* SEALANE_FLAG_* */
#define SEALANE_ARGS_BYTES 88

#define SEALANE_FLAG_FIRST 1 /* derive the Poly1305 key from block 0, absorb the associated data, start at block 1 */
#define SEALANE_FLAG_LAST 2  /* absorb the lengths and write the tag */
#define SEALANE_FLAG_OPEN 4  /* authenticate the input (ciphertext) instead of the output */

/* State between the parts of one packet. */
#define SEALANE_STATE_H 0        /* three 64-bit words: Poly1305 accumulator, below 2^131, not fully reduced */
#define SEALANE_STATE_R 24       /* two 64-bit words: clamped r */
#define SEALANE_STATE_S 40       /* two 64-bit words: s */
#define SEALANE_STATE_COUNTER 56 /* 64-bit counter of the next ChaCha20 block; kernels read its lower 32 bits */
#define SEALANE_STATE_BYTES 64

/* Batches: many packets in one call. Each lane is a whole packet with its own key; lanes do not overlap each other. */
#define SEALANE_BATCH_LANES 8  /* array of lanes, aligned to 64 bytes in C, to 8 in Go */
#define SEALANE_BATCH_COUNT 16 /* number of lanes, in any order; fastest if adjacent packets have similar lengths */
#define SEALANE_BATCH_FLAGS 80 /* SEALANE_FLAG_OPEN or 0 */

/* A lane: the first eight slots of the arguments above, one cache line. */
#define SEALANE_LANE_OUT 0
#define SEALANE_LANE_IN 8
#define SEALANE_LANE_BYTES 16
#define SEALANE_LANE_AD 24
#define SEALANE_LANE_AD_BYTES 32
#define SEALANE_LANE_KEY 40   /* 32 bytes; AES-GCM: a key that the same level has set up */
#define SEALANE_LANE_NONCE 48 /* 12 bytes */
#define SEALANE_LANE_TAG 56   /* 16 bytes, written: the computed tag of the packet */
#define SEALANE_LANE_STRIDE 64

/* AES-GCM: the arguments and flags of ChaCha20-Poly1305, with these exceptions. KEY is a SEALANE_GCM_KEY, which a
 * call with only SETUP makes from its ROUNDS and the raw key. NONCE, read with FIRST, is the 16-byte block J0 (NIST
 * SP 800-38D, 7.1).
 */
/* NONCE has 12 bytes, and J0 is these followed by a 32-bit 1. So the kernel need not wait for a new copy of J0 in
 * memory. In later parts the flag is optional. It then means that J0 had this form, so the counter is public. */
#define SEALANE_FLAG_NONCE 16
#define SEALANE_FLAG_SETUP 8 /* expand the key at GCM_KEY_SCHEDULE and make GCM_KEY_TABLE; reads only KEY */
/* SETUP with NONCE: make only GCM_KEY_TABLE, from the 16-byte hash key at NONCE. ROUNDS and SCHEDULE stay the same. */
/* POLYVAL (RFC 8452, section 3) in place of GHASH, and no AES. It is for AES-GCM-SIV, on x86-64, ARM and at portable
 * levels. With SETUP and NONCE, the hash key is that of POLYVAL, and BYTES is the length of the longest text or
 * associated data under it. Otherwise AD and IN are authenticated, and with LAST the lengths. OUT, NONCE and SCHEDULE
 * are not used, OPEN is not set, and only Y of STATE is used. TAG is the sum. */
#define SEALANE_FLAG_POLYVAL 32

#define SEALANE_GCM_KEY_ROUNDS 0    /* 64 bits: 10, 12 or 14, set before SETUP */
#define SEALANE_GCM_KEY_SCHEDULE 16 /* before SETUP, 16, 24 or 32 bytes of key; then 240 in the level's format */
#define SEALANE_GCM_KEY_TABLE 256   /* powers of the hash key, in the level's format */
#define SEALANE_GCM_KEY_BYTES 960

/* State between the parts of one packet. It is the same at every level, so another level may process the next part. */
#define SEALANE_GCM_STATE_Y 0        /* 16 bytes: GHASH so far, as a block in the standard's byte order */
#define SEALANE_GCM_STATE_COUNTER 16 /* 16 bytes: the next counter block */
#define SEALANE_GCM_STATE_MASK 32    /* 16 bytes: the encrypted J0 */
#define SEALANE_GCM_STATE_BYTES 64

/* Modes: AES modes without authentication, one kernel per level, sealane_aes_<level>, and masks by ChaCha20. The
 * operation determines the slots that are used. All texts are whole blocks, or empty. Front ends implement ciphertext
 * stealing, and 128-bit counters: they end a call where the lower 32 bits wrap around. Initial values and counters are
 * public, tweaks are not. OUT is IN or disjoint from it. */
#define SEALANE_MODE_OPERATION 80 /* one of SEALANE_AES_SETUP to SEALANE_AES_CTR_LITTLE */
#define SEALANE_MODE_KEY 40       /* a SEALANE_AES_KEY, for one text and for SETUP */
/* One text: ECB, CTR, CBC decryption, XTS. */
#define SEALANE_MODE_OUT 0
#define SEALANE_MODE_IN 8
#define SEALANE_MODE_BYTES 16 /* bytes of the text */
#define SEALANE_MODE_STATE 64 /* 16 bytes: read, and updated for the text's next call; disjoint from the text */
/* SETUP. */
#define SEALANE_MODE_ENCRYPTS_ONLY 16 /* if not 0, AES_KEY_INVERSE may be left unchanged */
/* Lanes, each with its own key: CBC encryption and masks. No lane overlaps another. */
#define SEALANE_MODE_LANES 8       /* array of lanes */
#define SEALANE_MODE_COUNT 16      /* number of lanes, at least 1; all keys have the same ROUNDS */
#define SEALANE_MODE_BYTES_EACH 72 /* CBC encryption: bytes of text in each lane, at least 16 */

/* A lane of a mode, SEALANE_LANE_STRIDE bytes. */
#define SEALANE_MODE_LANE_OUT 0
#define SEALANE_MODE_LANE_IN 8
#define SEALANE_MODE_LANE_KEY 40
#define SEALANE_MODE_LANE_CHAIN 48 /* CBC encryption: 16 bytes like STATE above */

#define SEALANE_AES_SETUP 0       /* set up KEY from ROUNDS and the raw key in SCHEDULE */
#define SEALANE_AES_ECB_ENCRYPT 1 /* each block separately; no STATE */
#define SEALANE_AES_ECB_DECRYPT 2
#define SEALANE_AES_CTR 3         /* STATE: the counter block; its last 4 bytes count, big-endian, and wrap around */
#define SEALANE_AES_CBC_DECRYPT 4 /* STATE: the block before the first; updated to the last block of the input */
#define SEALANE_AES_XTS_ENCRYPT 5 /* STATE: encrypted tweak of the first block; updated to that after the last */
#define SEALANE_AES_XTS_DECRYPT 6
#define SEALANE_AES_CBC_ENCRYPT 7 /* independent lanes */
#define SEALANE_AES_MASKS 8       /* lanes of one block each, without chaining */

/* Like CTR, but the first 4 bytes count, little-endian: AES-GCM-SIV's (RFC 8452), on x86-64, ARM and at portable
 * levels. */
#define SEALANE_AES_CTR_LITTLE 9

/* The first two are as in a SEALANE_GCM_KEY. */
#define SEALANE_AES_KEY_ROUNDS 0    /* 64 bits: 10, 12 or 14, set before SETUP */
#define SEALANE_AES_KEY_SCHEDULE 16 /* before SETUP, 16, 24 or 32 bytes of key; then 240 in the level's format */
#define SEALANE_AES_KEY_INVERSE 256 /* 240 bytes: decryption keys in the level's format */
#define SEALANE_AES_KEY_BYTES 512

/* Masks by ChaCha20 (RFC 9001, 5.4.4), sealane_chacha20masks_<level>, for any operation. For each lane, KEY has 32
 * bytes, and IN the counter and nonce in the order of ChaCha20's state, 16 bytes. The first 8 bytes of the resulting
 * block go to OUT. */

/* Scratch memory: 64-byte aligned, uninitialized. The kernel wipes all bytes that it wrote there before it returns. */
#define SEALANE_SCRATCH_SAVE 0         /* first 256 bytes: reserved for the macros, now unused */
#define SEALANE_SCRATCH_SAVE_BYTES 256 /* kernels use the bytes after these */
#define SEALANE_SCRATCH_BYTES 4096
#define SEALANE_BATCH_SCRATCH_BYTES 11776 /* for batch kernels */

#endif
