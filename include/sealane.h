/* sealane: seals and opens network packets.
 *
 * Conventions of every function here, unless its comment says otherwise:
 *
 *   result      0, or a negative sealane_status that says why not. There is no errno.
 *   input       NULL is allowed where the length beside it is 0, and nowhere else: SEALANE_NULL.
 *   aliasing    in == out, or the two are disjoint; a partial overlap is SEALANE_OVERLAP. What is written may not
 *               overlap associated data or nonce. The attached layout of most protocols is tag = out + in_bytes. What
 *               a key or a stream is made of (raw key, nonce, counter) may not lie in it.
 *   on failure  a mistake of the caller's (a wrong length, an overlap, NULL, an invalid key) writes nothing, except
 *               status in a batch. Of a packet that is not authentic nothing is revealed: out is zeroed, or where it
 *               is in the ciphertext stands there again as it came. A key or stream that cannot be made is zeroed,
 *               whatever it was, and is refused by all functions.
 *   lengths     none is above PTRDIFF_MAX, as no object is: SEALANE_TOO_LONG, as for one over a cipher's limit.
 *   threads     a key that is not being written may be used by any number of threads; a stream by one at a time.
 *   memory      nothing is allocated. Stack, at most, in KiB (in portable code): a call 9 (11), a batch 26 (30),
 *               a batch of QUIC's packets 34 (38). With known-answer tests, once in a process: a first key 24 (26),
 *               a first batch 40 (42), a first batch of QUIC's packets 56 (58). Secrets are wiped from it.
 *   time        depends on lengths only, and on whether a tag was right. On AArch64 CPUs that have a mode for it
 *               (PSTATE.DIT, FEAT_DIT) it is on while a call runs.
 *
 * Shared memory. Input is read twice: ciphertext to authenticate it, and again to decrypt it; in which order is the
 * level's affair. in, ad, nonce and tag must not change while a call runs: text that changes in between is decrypted
 * without having been authenticated. Where another process can write to them (shared memory, rings of a device), copy
 * them first. While sealane_open, sealane_openv and sealane_open_batch run, out has plaintext that is not authenticated
 * yet; that nothing of a forgery is revealed holds when they have returned. Where others can read out, open to memory
 * of your own and copy what was authentic. */
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

/* What became of a call, or of one packet of a batch. A test for 0 is enough; the rest tells a forged packet from a
 * mistake of the program's own. Mistakes are found before the key is used, from lengths and addresses alone, and all
 * forgeries are one and the same, in result and in time: whoever made the packet learns nothing from either but that it
 * was refused. */
typedef enum {
    SEALANE_OK = 0,
    SEALANE_NOT_AUTHENTIC = -1, /* open: the tag is wrong, whatever the reason */
    /* The caller's mistakes. */
    SEALANE_INVALID_KEY = -2,     /* NULL, never set up, wiped or damaged; to be set up: wrong alg or key_bytes */
    SEALANE_INVALID_NONCE = -3,   /* its length is not what the key's algorithm asks for */
    SEALANE_TOO_LONG = -4,        /* text or associated data over the limit, or too many pieces */
    SEALANE_NULL = -5,            /* a NULL where something must be */
    SEALANE_OVERLAP = -6,         /* out overlaps in elsewhere than exactly, or ad, nonce or tag; sealing: tag overlaps
                                     ad or nonce */
    SEALANE_INVALID_TAG = -7,     /* to be set up: the algorithm has no tags of that length */
    SEALANE_INVALID_STREAM = -8,  /* no packet in progress, or not one that this can be asked of now */
    SEALANE_INVALID_LEVEL = -9,   /* no level has that name */
    SEALANE_TOO_LATE = -10,       /* the process has chosen its levels */
    SEALANE_NO_LEVEL = -11,       /* no level gives the known answers on this CPU */
    SEALANE_INVALID_LENGTH = -12, /* no whole blocks where they must be, or less than there must be */
    SEALANE_RESERVED_BITS = -13   /* QUIC: authentic, but bits of its header that must be zero are not */
} sealane_status;

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

/* The version of the library that runs, as in SEALANE_VERSION, which is that of this header. */
SEALANE_API SEALANE_CHECKED const char *sealane_version(void);

/* Does at once, for all algorithms, what the first key and the first batch of each would do: chooses levels and runs
 * their known-answer tests. After it no function here asks the system for anything: call it before a process gives up
 * system calls (seccomp), starts threads, or must be on time. Optional, from any thread, any number of times.
 * SEALANE_NO_LEVEL: an algorithm has none, and its keys will be refused. */
SEALANE_API SEALANE_CHECKED int sealane_init(void);

/* The fault of the choice of levels so far, in one line of English: SEALANE_CPU or SEALANE_ASM has a value that
 * means nothing, or a level fails its known-answer test and a slower one is used. NULL without one. The library
 * prints nothing itself: ask after sealane_init. Any thread; the string lives for ever. */
SEALANE_API SEALANE_CHECKED const char *sealane_warning(void);

/* A key, and the implementation that was chosen for it. The caller's memory; it may be copied and moved by plain
 * assignment within a process. Its contents are private. */
typedef struct sealane_key {
    uint64_t opaque[128];
} sealane_key;

/* Makes a key ready for use by all the functions below.
 *
 * key_bytes must be what alg asks for. The first call in a process picks the fastest level (implementation) of
 * ChaCha20-Poly1305, or of AES-GCM, that this CPU can run, that is allowed, and that passes a known-answer test.
 * Allowed are all but what sealane_set_max_level and the environment forbid: SEALANE_CPU (the name of the best level to
 * use) and SEALANE_ASM=0 (portable code only), read once, and not at all in programs that have more rights than who
 * starts them (set-uid, set-gid, file capabilities). What was picked holds for the process's life.
 * SEALANE_INVALID_KEY, _NULL, _OVERLAP (key lies in *k) or _NO_LEVEL; then *k is all zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_key_init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes);

/* sealane_key_init for protocols that cut AES-GCM's tag off (IPsec ESP with an ICV of 12 bytes, RFC 4106): everything
 * that is done with this key writes and reads tags of tag_bytes, 12 to 16, in place of SEALANE_TAG_BYTES, and nothing
 * behind them. Packets with such tags are never put into the lanes of a batch.
 *
 * The length belongs to the key, and not to a call, since it must never come from a packet: an attacker who chooses
 * how much of a tag is compared can forge. Each byte less makes a forgery 256 times as likely, and with GCM one forgery
 * that succeeds helps to find the hash key, and thus all others (Ferguson 2005); so tags below 12 bytes, which NIST SP
 * 800-38D (section 5.2.1.2, appendix C) allows with limits on the number and the length of packets that a library
 * cannot see, are refused: SEALANE_INVALID_TAG. So are all but 16 bytes with ChaCha20-Poly1305 and XChaCha20-Poly1305,
 * which have no other (RFC 8439, RFC 7634). */
SEALANE_API SEALANE_CHECKED int sealane_key_init_with_tag(sealane_key *k, sealane_alg alg, const uint8_t *key,
                                                          size_t key_bytes, size_t tag_bytes);

/* Caps the levels that this process picks from: name is the best one to use, as in SEALANE_CPU ("avx2", "neon", ...,
 * "portable"; sealane_impl_name tells a key's). All names of all architectures are in one order, x86-64 before ARM,
 * which `sealane info` prints; what is before name is not used. So a cipher that has no level of that name takes the
 * next below. Names of other architectures cap nothing. The environment can lower this cap and not raise it.
 *
 * To be called before the process makes its first key, from any thread; of several calls the last one counts. The first
 * sealane_key_init ends that: from then on this returns SEALANE_TOO_LATE and changes nothing. Of a call at the same
 * time as the first sealane_key_init the outcome is the one or the other: 0 if and only if all keys keep to the cap.
 * SEALANE_NULL, SEALANE_INVALID_LEVEL: nothing is changed. */
SEALANE_API SEALANE_CHECKED int sealane_set_max_level(const char *name);

/* Overwrites all of *k with zeroes; it is an invalid key from then on, and every use of it, also by a stream that was
 * begun with it, is refused. NULL is ignored. */
SEALANE_API void sealane_key_wipe(sealane_key *k);

/* Name of the implementation that k uses, such as "avx512", "neon" or "portable"; "none" if *k is no valid key. Keys of
 * different algorithms may use different ones. The string lives for ever. */
SEALANE_API SEALANE_CHECKED const char *sealane_impl_name(const sealane_key *k);

/* Encrypts in_bytes of in to out, and writes the tag that authenticates them together with the ad_bytes of ad.
 *
 * The nonce must have the length that the key's algorithm asks for (AES-GCM: any but 0), and must never be used twice
 * under one key for different packets: that reveals both plaintexts and lets others forge packets.
 * SEALANE_INVALID_KEY, _INVALID_NONCE, _TOO_LONG, _NULL, _OVERLAP: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Checks the tag of in_bytes of ciphertext and ad_bytes of ad, and decrypts to out.
 *
 * SEALANE_NOT_AUTHENTIC: out is zeroed; where out == in, the ciphertext is as it came, so that another key can be
 * tried. The caller's mistakes as for sealane_seal: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Batches: many packets in one call. Small packets of a batch run side by side in the lanes of the CPU's vectors,
 * several times as fast as one by one; nothing else is different. */

/* One packet: what sealane_seal and sealane_open take, in a structure. Only status is written. Members that are not
 * used are 0, best by an initializer: later versions may give them a meaning. */
typedef struct sealane_op {
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const sealane_key *key;
    const uint8_t *nonce;
    union {                          /* of the length that the key says: SEALANE_TAG_BYTES */
        uint8_t *tag;                /* seal: written */
        const uint8_t *expected_tag; /* open: read */
    };
    size_t nonce_bytes;
    sealane_status status; /* result */
    uint32_t reserved;     /* up to here 80 bytes: compilers clear larger structures by `rep stos`, 10 ns */
} sealane_op;

/* Seals or opens n packets, any mix of keys, algorithms and lengths, and returns when all are done: how many have
 * SEALANE_OK. A packet that fails does not affect the others, and leaves what it leaves by itself. ops is NULL: 0.
 *
 * Within a packet the rules are those of sealane_seal and sealane_open, and are checked. What one packet writes (out,
 * tag, status) must not overlap anything of another packet; that is not checked, and packets of which it is not true
 * may fail or hold the wrong bytes. Inputs, keys, nonces and associated data may be shared.
 *
 * Give as many packets at once as there are, best some dozens of them; their order does not matter. */
SEALANE_API SEALANE_CHECKED size_t sealane_seal_batch(sealane_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_open_batch(sealane_op *ops, size_t n);

/* Scatter/gather: one piece of a packet. Pieces of any length, also 0, make up the text in the order given. For
 * associated data out is not looked at. */
typedef struct sealane_iovec {
    const uint8_t *in;
    uint8_t *out;
    size_t bytes;
} sealane_iovec;

#define SEALANE_IOV_MAX 1024 /* pieces of text, or of associated data, in one call; more are SEALANE_TOO_LONG */

/* sealane_seal and sealane_open of a packet in pieces; the result is that of their concatenation.
 *
 * For every piece in == out, or the two are disjoint; and no piece's out may overlap another piece's in or out.
 * This is checked for all pairs, so the cost grows with the square of the pieces. SEALANE_NOT_AUTHENTIC: the out of
 * every piece is zeroed, or where it is the piece's in as it came. A mistake writes nothing. */
SEALANE_API SEALANE_CHECKED int sealane_sealv(const sealane_key *k, uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);
SEALANE_API SEALANE_CHECKED int sealane_openv(const sealane_key *k, const uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);

/* One packet in the making, for callers whose own interface is a stream (OpenSSL's EVP). Where a packet is at hand as a
 * whole, sealane_seal and sealane_open are faster and safer. The caller's memory, its contents private; it holds key
 * material until final or wipe, and must not be copied.
 *
 * What a stream decrypts is not authenticated before its end, and is not taken back: here a failed open leaves
 * plaintext behind. Two ways of safe use; test/stream_example.c has both in full:
 *
 *   keep it back   decrypt to a temporary file, or to memory that no other code reads, and keep that only after
 *                  sealane_stream_open_final has returned 0:
 *
 *                      sealane_stream_init(&s, &key, SEALANE_STREAM_OPEN, nonce, 12);
 *                      while ((n = read(in, part, sizeof part)) > 0) {
 *                          sealane_stream_update(&s, part, part, n);
 *                          write(temporary, part, n);
 *                      }
 *                      if (sealane_stream_open_final(&s, tag) == 0)
 *                          rename(temporary_name, name);
 *                      else
 *                          unlink(temporary_name);
 *
 *   cut it up      better: no stream at all. Seal chunks of, say, 64 KiB by sealane_seal, each with its own tag; the
 *                  nonce is a prefix that is new for each file, the chunk's number, and a last byte that is 1 in the
 *                  last chunk and else 0. Each chunk is authentic before it is used, one that is missing, repeated or
 *                  moved does not open, and neither does a file that was cut off (Hoang et al. 2015, "STREAM"):
 *
 *                      memcpy(nonce, prefix, 7), store_be32(nonce + 7, number), nonce[11] = is_last;
 *                      if (sealane_open(&key, chunk, tag, nonce, 12, NULL, 0, chunk, n) != 0)
 *                          return error;
 */
typedef struct sealane_stream {
    uint64_t opaque[64];
} sealane_stream;

typedef enum { SEALANE_STREAM_SEAL = 0, SEALANE_STREAM_OPEN = 1 } sealane_direction;

/* Begins a packet. *k must stay in place and unchanged until the stream ends: once it was wiped or holds another
 * algorithm, every call but sealane_stream_wipe returns SEALANE_INVALID_KEY.
 * SEALANE_NULL, _INVALID_KEY, _INVALID_NONCE, _OVERLAP (nonce lies in *s), _INVALID_STREAM (no such direction): *s is
 * all zeroes; a packet that was in progress is given up. */
SEALANE_API SEALANE_CHECKED int sealane_stream_init(sealane_stream *s, const sealane_key *k,
                                                    sealane_direction direction, const uint8_t *nonce,
                                                    size_t nonce_bytes);

/* Adds associated data, in any number of pieces of any length; SEALANE_INVALID_STREAM after the first update with text
 * in it. On failure the stream is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_stream_ad(sealane_stream *s, const uint8_t *ad, size_t ad_bytes);

/* Encrypts or decrypts the next bytes of text to as many of out; any number of pieces of any length, fastest where
 * they are multiples of 64.
 *
 * When opening, what this writes is UNVERIFIED PLAINTEXT. It must not be used in any way before
 * sealane_stream_open_final has returned 0, and must be erased by the caller if it did not.
 * SEALANE_TOO_LONG, _NULL, _OVERLAP, _INVALID_STREAM, _INVALID_KEY: nothing is written, the stream is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_stream_update(sealane_stream *s, uint8_t *out, const uint8_t *in,
                                                      size_t in_bytes);

/* Ends a packet: writes its tag, or returns 0 if and only if the tag is right, SEALANE_NOT_AUTHENTIC if it is wrong.
 * Wipes the stream in any case but SEALANE_NULL and SEALANE_INVALID_STREAM. A mistake writes no tag. */
SEALANE_API SEALANE_CHECKED int sealane_stream_seal_final(sealane_stream *s, uint8_t tag[SEALANE_TAG_BYTES]);
SEALANE_API SEALANE_CHECKED int sealane_stream_open_final(sealane_stream *s, const uint8_t tag[SEALANE_TAG_BYTES]);

/* Gives a packet up and wipes the stream. NULL is ignored. */
SEALANE_API void sealane_stream_wipe(sealane_stream *s);

/* AES (FIPS 197) in the modes that encrypt and do not authenticate: docs/modes.md says when to use which, and that
 * nearly always it is sealane_seal. The conventions above hold: a call that is refused writes nothing. Initial values,
 * counters and tweaks are public, and never overlap the text.
 *
 * A key for all modes but XTS; the caller's memory, which may be copied and moved. Its contents are private. */
typedef struct sealane_aes_key {
    uint64_t opaque[66];
} sealane_aes_key;

/* Makes a key of 16, 24 or 32 bytes ready, at a level that is chosen like those of sealane_key_init.
 * SEALANE_INVALID_KEY, _NULL, _OVERLAP (key lies in *k) or _NO_LEVEL; then *k is all zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_key_init(sealane_aes_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_aes_key_wipe(sealane_aes_key *k);
SEALANE_API SEALANE_CHECKED const char *sealane_aes_impl_name(const sealane_aes_key *k);

/* Every block by itself (ECB): a part of other constructions, and no way to encrypt a text, as equal blocks are seen to
 * be equal. SEALANE_INVALID_KEY, _INVALID_LENGTH (no multiple of 16), _NULL, _OVERLAP, _TOO_LONG. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ecb_encrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in,
                                                        size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_ecb_decrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in,
                                                        size_t in_bytes);

/* Counter mode (NIST SP 800-38A, 6.5) of a text that comes in pieces of any length; the caller's memory, its contents
 * private. It holds keystream: wipe it. */
typedef struct sealane_aes_ctr {
    uint8_t counter[16], stream[16];
    uint64_t blocks;
    uint32_t ready, left, limited, unused;
} sealane_aes_ctr;

/* Begins a text. counter is the first block's; its last counter_bits count: 128, which wrap around (SSH, RFC 4344), or
 * 32, which may not (IPsec, RFC 3686). No value may be used twice under one key: equal keystream reveals the sum of
 * both texts. SEALANE_INVALID_STREAM (s is NULL), _NULL, _OVERLAP (counter lies in *s), _INVALID_LENGTH (other
 * counter_bits): *s is all zeroes. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ctr_init(sealane_aes_ctr *s, const uint8_t counter[16],
                                                     unsigned counter_bits);

/* Encrypts or decrypts, which is the same, the next piece. SEALANE_TOO_LONG (also: a counter of 32 bits would wrap
 * around), _INVALID_STREAM, _INVALID_KEY, _NULL, _OVERLAP (also with *s): nothing is written, not even to *s. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ctr_xor(const sealane_aes_key *k, sealane_aes_ctr *s, uint8_t *out,
                                                    const uint8_t *in, size_t in_bytes);
SEALANE_API void sealane_aes_ctr_wipe(sealane_aes_ctr *s);

/* Cipher block chaining (NIST SP 800-38A, 6.2). iv is new for each text, and unpredictable before the text is
 * chosen; it is left as the last block of the ciphertext, for a text that goes on. Padding is the caller's, who must
 * compare a MAC over the ciphertext before he looks at it: an answer that tells that padding was wrong decrypts for
 * whoever asks (Vaudenay 2002). SEALANE_INVALID_KEY, _INVALID_LENGTH (no multiple of 16), _NULL, _OVERLAP, _TOO_LONG.
 */
SEALANE_API SEALANE_CHECKED int sealane_aes_cbc_encrypt(const sealane_aes_key *k, uint8_t iv[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_cbc_decrypt(const sealane_aes_key *k, uint8_t iv[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);

/* One text of several that are encrypted side by side: a block of one waits for the block before it, but not for
 * others. */
typedef struct sealane_cbc_op {
    const sealane_aes_key *key;
    uint8_t *iv;
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    sealane_status status; /* result */
} sealane_cbc_op;

/* Encrypts n texts, any mix of keys and lengths, and returns how many have SEALANE_OK. What one text writes must not
 * overlap anything of another; that is not checked. ops is NULL: 0. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cbc_encrypt_batch(sealane_cbc_op *ops, size_t n);

/* XTS (IEEE 1619, NIST SP 800-38E), for sectors of storage: two keys. */
typedef struct sealane_xts_key {
    sealane_aes_key text, tweak;
} sealane_xts_key;

/* Makes a key of 32 bytes (AES-128) or 64 (AES-256) ready. SEALANE_INVALID_KEY: another length, or its halves are equal
 * (FIPS 140-3 implementation guidance, C.I); SEALANE_NULL, _OVERLAP (key lies in *k), _NO_LEVEL. Then *k is all
 * zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_key_init(sealane_xts_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_aes_xts_key_wipe(sealane_xts_key *k);

/* One sector of 16 bytes to 2^24, not only of whole blocks (ciphertext stealing). tweak is the sector's number, as 16
 * little-endian bytes. SEALANE_INVALID_KEY, _NULL, _INVALID_LENGTH (below 16), _TOO_LONG, _OVERLAP. */
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_encrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_decrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);

/* AES-CMAC (NIST SP 800-38B, RFC 4493): a MAC of a text that comes in pieces of any length. The caller's memory, its
 * contents private; wipe it if it is given up. */
typedef struct sealane_aes_cmac {
    uint8_t chain[16], held[16];
    uint32_t held_bytes, ready;
} sealane_aes_cmac;

/* Begins a text. SEALANE_INVALID_STREAM: s is NULL. */
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_init(sealane_aes_cmac *s);

/* Adds the next piece, under the same key in all calls for one text. SEALANE_INVALID_STREAM, _INVALID_KEY, _TOO_LONG,
 * _NULL, _OVERLAP (in lies in *s): *s is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_update(const sealane_aes_key *k, sealane_aes_cmac *s,
                                                        const uint8_t *in, size_t in_bytes);

/* Ends the text: writes its MAC, of which protocols with shorter ones take the first bytes; or compares, in constant
 * time, the 4 to 16 bytes that came. SEALANE_NOT_AUTHENTIC: they are wrong. Both wipe *s, except
 * after the caller's mistakes, which leave it unchanged: SEALANE_INVALID_STREAM, _INVALID_KEY, _INVALID_TAG
 * (mac_bytes), _NULL, _OVERLAP (mac lies in *s). The number of compared bytes must never come from the sender. */
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_final(const sealane_aes_key *k, sealane_aes_cmac *s, uint8_t mac[16]);
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_verify(const sealane_aes_key *k, sealane_aes_cmac *s,
                                                        const uint8_t *mac, size_t mac_bytes);
SEALANE_API void sealane_aes_cmac_wipe(sealane_aes_cmac *s);

/* One text of several whose MACs are made side by side: a block of one waits for the block before it, but not for
 * others. */
typedef struct sealane_cmac_op {
    const sealane_aes_key *key;
    const uint8_t *in;
    size_t in_bytes;
    union {
        uint8_t *mac;                /* of 16 bytes, written */
        const uint8_t *expected_mac; /* verify: of mac_bytes, read */
    };
    size_t mac_bytes;      /* verify: 4 to 16, which must never come from the sender */
    sealane_status status; /* result */
} sealane_cmac_op;

/* Makes or compares the MACs of n texts, any mix of keys and lengths, and returns how many have SEALANE_OK; the others'
 * statuses are those of sealane_aes_cmac_final and _verify (_OVERLAP: mac lies in in), and their macs are not written.
 * A text that fails does not affect the others. A mac must not overlap anything of another text; that is not checked.
 * ops is NULL: 0. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cmac_batch(sealane_cmac_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cmac_verify_batch(sealane_cmac_op *ops, size_t n);

/* AES-CCM (NIST SP 800-38C, RFC 3610), which authenticates as sealane_seal does, for protocols that have it: TLS,
 * 802.11, Bluetooth, Matter. Elsewhere AES-GCM is several times as fast. The caller's memory, which may be copied and
 * moved; its contents are private. */
typedef struct sealane_ccm_key {
    sealane_aes_key aes;
    uint64_t opaque;
} sealane_ccm_key;

/* Makes a key of 16, 24 or 32 bytes ready, for tags of 4, 6, 8, 10, 12, 14 or 16 bytes: TLS has 16, and 8 in its suites
 * CCM_8. A tag of 4 bytes lets one forgery in 2^32 through. SEALANE_INVALID_KEY, _INVALID_TAG, _NULL, _OVERLAP (key
 * lies in *k), _NO_LEVEL: *k is all zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_key_init(sealane_ccm_key *k, const uint8_t *key, size_t key_bytes,
                                                         size_t tag_bytes);
SEALANE_API void sealane_aes_ccm_key_wipe(sealane_ccm_key *k);

/* As sealane_seal and sealane_open, with a tag of the key's bytes. A nonce has 7 to 13 bytes and is used once; a text
 * has less than 2^(8 * (15 - nonce_bytes)) bytes: 64 KiB with 13 of nonce. SEALANE_INVALID_KEY, _INVALID_NONCE,
 * _TOO_LONG, _NULL, _OVERLAP: nothing is written. SEALANE_NOT_AUTHENTIC: out is zeroed, or in place as it came. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_seal(const sealane_ccm_key *k, uint8_t *out, uint8_t *tag,
                                                     const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                                     size_t ad_bytes, const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_open(const sealane_ccm_key *k, uint8_t *out, const uint8_t *tag,
                                                     const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                                     size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* One packet of a batch: a sealane_op with a key of CCM. */
typedef struct sealane_ccm_op {
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const sealane_ccm_key *key;
    const uint8_t *nonce;
    union {                          /* of the key's bytes */
        uint8_t *tag;                /* seal: written */
        const uint8_t *expected_tag; /* open: read */
    };
    size_t nonce_bytes;
    sealane_status status; /* result */
    uint32_t reserved;
} sealane_ccm_op;

/* As sealane_seal_batch and sealane_open_batch. Eight packets run side by side, whose keys are of one length. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_ccm_seal_batch(sealane_ccm_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_aes_ccm_open_batch(sealane_ccm_op *ops, size_t n);

/* AES-GCM-SIV (RFC 8452): as sealane_seal and sealane_open, but a nonce that is used twice tells no more than whether
 * packets are equal. For nonces that may repeat: random ones, of many machines under one key. It is slower than
 * AES-GCM, as each nonce has its own keys and the text is read twice. The caller's memory, which may be copied and
 * moved; its contents are private. */
typedef struct sealane_gcm_siv_key {
    sealane_aes_key aes;
    uint64_t opaque;
} sealane_gcm_siv_key;

#define SEALANE_AES_GCM_SIV_NONCE_BYTES 12

/* Makes a key of 16 or 32 bytes ready. SEALANE_INVALID_KEY, _NULL, _OVERLAP (key lies in *k), _NO_LEVEL: *k is all
 * zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_key_init(sealane_gcm_siv_key *k, const uint8_t *key,
                                                             size_t key_bytes);
SEALANE_API void sealane_aes_gcm_siv_key_wipe(sealane_gcm_siv_key *k);

/* A nonce has 12 bytes; text and associated data have at most 2^36 each. SEALANE_INVALID_KEY, _INVALID_NONCE,
 * _TOO_LONG, _NULL, _OVERLAP: nothing is written. SEALANE_NOT_AUTHENTIC: out is zeroed, or in place as it came. */
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_seal(const sealane_gcm_siv_key *k, uint8_t *out,
                                                         uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                                                         size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                                         const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_open(const sealane_gcm_siv_key *k, uint8_t *out,
                                                         const uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                                                         size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                                         const uint8_t *in, size_t in_bytes);

/* chacha20-poly1305@openssh.com (OpenSSH's PROTOCOL.chacha20poly1305): SSH's packets, whose length is encrypted by a
 * key of its own. Both are ChaCha20 as it was first, with a counter and a nonce of 64 bits each; the nonce is the
 * packet's sequence number. The caller's memory, which may be copied and moved; its contents are private. */
typedef struct sealane_ssh_key {
    sealane_key text, length;
} sealane_ssh_key;

#define SEALANE_SSH_KEY_BYTES 64

/* Makes a key ready, of 64 bytes as SSH derives them. SEALANE_INVALID_KEY (key_bytes), _NULL, _OVERLAP (key lies in
 * *k), _NO_LEVEL: *k is all zeroes and no valid key. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_key_init(sealane_ssh_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_ssh_key_wipe(sealane_ssh_key *k);

/* Decrypts the length of a packet that is coming in, from its first 4 bytes: how many bytes follow these, without the
 * tag. It is NOT AUTHENTIC before sealane_ssh_open has returned 0: bound it before use. SEALANE_INVALID_KEY, _NULL,
 * _OVERLAP: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_length(const sealane_ssh_key *k, uint32_t sequence, uint32_t *packet_length,
                                                   const uint8_t in[4]);

/* Seals or opens a packet: 4 bytes of length, and behind them padding length, payload and padding. SEALANE_INVALID_KEY,
 * _INVALID_LENGTH (less than 4 bytes), _TOO_LONG (above 2^32 + 3 bytes), _NULL, _OVERLAP: nothing is written.
 * SEALANE_NOT_AUTHENTIC: out is zeroed, or in place as it came. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_seal(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out,
                                                 uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_ssh_open(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out,
                                                 const uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *in,
                                                 size_t in_bytes);

/* ChaCha20 as it was first (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), with 64 bits of counter and 64 of
 * nonce, for protocols and formats that have it; RFC 8439 has 32 and 96. It does NOT AUTHENTICATE: compare a MAC over
 * the ciphertext before it is decrypted, or take sealane_seal. k has SEALANE_CHACHA20_POLY1305, and is for this alone.
 *
 * Encrypts or decrypts, which is the same, a text of any length; counter is the number of its first block of 64 bytes,
 * usually 0. A text may come in several calls: those before the last one take whole blocks. No block may be used twice
 * under one key and nonce: equal keystream reveals the sum of both texts. SEALANE_INVALID_KEY (also: another
 * algorithm's), _NULL, _TOO_LONG (also: the counter behind the text would be 2^64), _OVERLAP: nothing is written. */
#define SEALANE_CHACHA20_NONCE_BYTES 8
SEALANE_API SEALANE_CHECKED int sealane_chacha20_xor(const sealane_key *k,
                                                     const uint8_t nonce[SEALANE_CHACHA20_NONCE_BYTES],
                                                     uint64_t counter, uint8_t *out, const uint8_t *in,
                                                     size_t in_bytes);

/* QUIC's packet protection (RFC 9001, section 5; RFC 9369): header masks and AEAD of many packets in one call. Keys
 * come derived, as HKDF is in every TLS library; docs/modes.md has the labels.
 *
 * The keys of one direction and one encryption level; the caller's memory, its contents private. */
typedef struct sealane_quic_keys {
    sealane_key packet;
    sealane_aes_key mask;
    uint8_t mask_key[32], iv[12];
    uint32_t ready;
} sealane_quic_keys;

/* Makes keys ready: alg is SEALANE_AES_128_GCM, SEALANE_AES_256_GCM or SEALANE_CHACHA20_POLY1305, key and hp (header
 * protection) have its key_bytes, iv has 12 bytes. SEALANE_INVALID_KEY, _NULL, _OVERLAP (one of them lies in *k),
 * _NO_LEVEL: *k is all zeroes and no valid keys. */
SEALANE_API SEALANE_CHECKED int sealane_quic_keys_init(sealane_quic_keys *k, sealane_alg alg, const uint8_t *key,
                                                       const uint8_t iv[12], const uint8_t *hp, size_t key_bytes);
SEALANE_API void sealane_quic_keys_wipe(sealane_quic_keys *k);

/* The header mask of one sample (RFC 9001, 5.4.3 and 5.4.4), for QUIC implementations that seal payloads and mask
 * headers apart. A sample is 16 bytes of ciphertext; mask may overlap it. Several masks are made faster within the
 * calls below. SEALANE_INVALID_KEY, _NULL: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_quic_mask(const sealane_quic_keys *k, uint8_t mask[5],
                                                  const uint8_t sample[16]);

/* A packet, protected or unprotected in place. Members that are not used are 0, as in a sealane_op. */
typedef struct sealane_quic_packet {
    const sealane_quic_keys *keys;
    const sealane_quic_keys *other; /* unprotect: for short headers whose key phase bit is not `phase`; or NULL */
    uint8_t *bytes;                 /* header, payload, and SEALANE_TAG_BYTES for the tag */
    size_t packet_bytes;            /* of all three */
    size_t pn_offset;               /* where the packet number begins */
    uint64_t number;  /* the packet number; unprotect: before, the expected one, 1 more than the largest of an
                         authentic packet, or 0; left alone if the packet is refused */
    int phase;        /* unprotect: the key phase of `keys`, 0 or 1 */
    uint8_t *payload; /* result of unprotect: within bytes; NULL if there is none */
    size_t payload_bytes;
    sealane_status status; /* result */
    uint32_t reserved;     /* up to here 80 bytes, as in a sealane_op */
} sealane_quic_packet;

/* Protects n packets, and returns how many have SEALANE_OK. The first byte of each says, in its last two bits, how many
 * bytes less one the packet number has; they are filled in. SEALANE_INVALID_LENGTH: too short to take a sample, that is
 * packet_bytes < pn_offset + 20, or pn_offset is 0; SEALANE_TOO_LONG: number above 2^62 - 1; SEALANE_INVALID_KEY,
 * _NULL: bytes are left alone, unprotected as they are, and must not be sent. A packet that fails does not affect the
 * others. They must not overlap. */
SEALANE_API SEALANE_CHECKED size_t sealane_quic_protect_batch(sealane_quic_packet *packets, size_t n);

/* Unprotects n packets of any content, and returns how many have SEALANE_OK. SEALANE_RESERVED_BITS: authentic, with a
 * payload, and a connection error. SEALANE_NOT_AUTHENTIC, and the mistakes SEALANE_INVALID_LENGTH, _TOO_LONG,
 * _INVALID_KEY, _NULL: bytes and number are as they came, header included, so that other keys can be tried. */
SEALANE_API SEALANE_CHECKED size_t sealane_quic_unprotect_batch(sealane_quic_packet *packets, size_t n);

/* The integrity tag of a Retry packet (RFC 9001, 5.8; RFC 9369, 3.3.3): retry is all of it but the tag, dcid the
 * Destination Connection ID of the packet that it answers. SEALANE_NULL; SEALANE_INVALID_LENGTH: dcid has more than 255
 * bytes; SEALANE_INVALID_KEY: version is neither 1 nor 0x6b3343cf: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_quic_retry_tag(uint8_t tag[SEALANE_TAG_BYTES], uint32_t version,
                                                       const uint8_t *dcid, size_t dcid_bytes, const uint8_t *retry,
                                                       size_t retry_bytes);

#ifdef __cplusplus
}
#endif

#endif
