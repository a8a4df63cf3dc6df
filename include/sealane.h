/* sealane: seals and opens network packets.
 *
 * Conventions of every function here, unless its comment says otherwise:
 *
 *   result      0, or a negative sealane_status that names the reason. errno is not used.
 *   input       NULL is allowed only if its length is 0: SEALANE_NULL.
 *   aliasing    in == out, or the two are disjoint; a partial overlap is SEALANE_OVERLAP. Output may not overlap
 *               associated data or nonce. Most protocols use tag = out + in_bytes. The raw key, nonce or counter of a
 *               key or stream may not overlap it.
 *   on failure  a mistake of the caller (a wrong length, an overlap, NULL, an invalid key) writes nothing, except
 *               status in a batch. A packet that is not authentic reveals nothing: out is zeroed or, in place, has
 *               the original ciphertext again. A failed initialization zeroes the key or stream, whatever it
 *               was before, and all functions refuse it.
 *   lengths     at most PTRDIFF_MAX, as for any object: SEALANE_TOO_LONG, as for one over a cipher's limit.
 *   threads     any number of threads may use a key that is not being written; one at a time may use a stream.
 *   memory      nothing is allocated. Stack, at most, in KiB (in portable code): a call 9 (11), a batch 26 (30),
 *               a batch of QUIC's packets 34 (38). With known-answer tests, once in a process: a first key 24 (26),
 *               a first batch 40 (42), a first batch of QUIC's packets 56 (58). Secrets are wiped from it.
 *   time        depends only on lengths, and on whether a tag is correct. On AArch64 CPUs with data-independent
 *               timing (PSTATE.DIT, FEAT_DIT), it is enabled during a call.
 *
 * Shared memory. Input is read twice, to authenticate and to decrypt it, in an order that depends on the level. in,
 * ad, nonce and tag must not change during a call: text that changes in between is decrypted without authentication.
 * If another process can write to them (shared memory, device rings), copy them first. While sealane_open,
 * sealane_openv and sealane_open_batch run, out holds unauthenticated plaintext. Only after they return does a
 * forgery reveal nothing. If others can read out, open into private memory and copy authentic text from there. */
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

/* The result of a call, or of one packet of a batch. A test for 0 suffices; the other values separate forged packets
 * from the program's mistakes. Mistakes are detected before the key is used, only from lengths and addresses. All
 * forgeries have the same result and take the same time, so their sender learns only that the packet was refused. */
typedef enum {
    SEALANE_OK = 0,
    SEALANE_NOT_AUTHENTIC = -1, /* open: the tag is wrong, for any reason */
    /* The caller's mistakes. */
    SEALANE_INVALID_KEY = -2,     /* NULL, uninitialized, wiped or damaged; in _init: wrong alg or key_bytes */
    SEALANE_INVALID_NONCE = -3,   /* wrong length for the key's algorithm */
    SEALANE_TOO_LONG = -4,        /* text or associated data over the limit, or too many pieces */
    SEALANE_NULL = -5,            /* NULL for a required argument */
    SEALANE_OVERLAP = -6,         /* out overlaps in elsewhere than exactly, or ad, nonce or tag; sealing: tag overlaps
                                     ad or nonce */
    SEALANE_INVALID_TAG = -7,     /* in _init: the algorithm has no tags of that length */
    SEALANE_INVALID_STREAM = -8,  /* no packet in progress, or not in a state for this call */
    SEALANE_INVALID_LEVEL = -9,   /* no level has that name */
    SEALANE_TOO_LATE = -10,       /* the process has already chosen its levels */
    SEALANE_NO_LEVEL = -11,       /* no level gives the known answers on this CPU */
    SEALANE_INVALID_LENGTH = -12, /* not whole blocks, or too short */
    SEALANE_RESERVED_BITS = -13   /* QUIC: authentic, but reserved header bits are not 0 */
} sealane_status;

#define SEALANE_TAG_BYTES 16

/* RFC 8439: 32-byte keys, 12-byte nonces, at most 2^38 - 64 bytes of text. */
#define SEALANE_CHACHA20_POLY1305_KEY_BYTES 32
#define SEALANE_CHACHA20_POLY1305_NONCE_BYTES 12

/* draft-irtf-cfrg-xchacha-03: 32-byte keys, 24-byte nonces (long enough to be drawn at random), the same limit. */
#define SEALANE_XCHACHA20_POLY1305_KEY_BYTES 32
#define SEALANE_XCHACHA20_POLY1305_NONCE_BYTES 24

/* NIST SP 800-38D: keys of 16, 24 or 32 bytes, at most 2^36 - 32 bytes of text. Nonces should have 12 bytes; any
 * other length except 0 is valid, but slower. */
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

/* The version of the loaded library, in the form of SEALANE_VERSION, the version of this header. */
SEALANE_API SEALANE_CHECKED const char *sealane_version(void);

/* Does in advance, for all algorithms, the work of the first key and the first batch: chooses levels and runs their
 * known-answer tests. After it no function here makes a system call. Call it before a process gives up system calls
 * (seccomp), starts threads, or must not be late. It is optional, and may be called from any thread any number of
 * times. SEALANE_NO_LEVEL: an algorithm has no level, and its keys will be refused. */
SEALANE_API SEALANE_CHECKED int sealane_init(void);

/* Any fault of the choice of levels so far, in one line of English, or NULL. Either SEALANE_CPU or SEALANE_ASM has
 * an invalid value, or a level fails its known-answer test and a slower one is used. The library prints nothing
 * itself, so call this after sealane_init. Any thread; the string is static. */
SEALANE_API SEALANE_CHECKED const char *sealane_warning(void);

/* A key, with the implementation chosen for it. It is in the caller's memory, and may be copied and moved by plain
 * assignment within a process. Its contents are private. */
typedef struct sealane_key {
    uint64_t opaque[128];
} sealane_key;

/* Initializes a key for all functions below.
 *
 * key_bytes must match alg. The first call in a process picks the fastest level (implementation) of
 * ChaCha20-Poly1305, or of AES-GCM. The level must be supported by this CPU, be allowed, and pass a known-answer
 * test. sealane_set_max_level and the environment restrict the allowed levels: SEALANE_CPU (the name of the best
 * level to use) and SEALANE_ASM=0 (portable code only). The environment is read once, and never in privileged
 * programs (set-uid, set-gid, file capabilities). The choice holds for the life of the process.
 * SEALANE_INVALID_KEY, _NULL, _OVERLAP (key lies in *k) or _NO_LEVEL; then *k is zeroed and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_key_init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes);

/* sealane_key_init for protocols that truncate AES-GCM's tag (IPsec ESP with an ICV of 12 bytes, RFC 4106). All
 * functions write and read tags of tag_bytes, 12 to 16, with this key instead of SEALANE_TAG_BYTES, and access no
 * bytes after them. Packets with such tags are never processed in the lanes of a batch.
 *
 * The length belongs to the key and not to a call, because it must never come from a packet. An attacker who chooses
 * how much of a tag is compared can forge. Each byte less makes a forgery 256 times as likely. In GCM, one successful
 * forgery helps to find the hash key, and thereby all others (Ferguson 2005). NIST SP 800-38D (section 5.2.1.2,
 * appendix C) allows tags below 12 bytes only with limits on the number and length of packets. A library cannot
 * enforce those. They are refused: SEALANE_INVALID_TAG. ChaCha20-Poly1305 and XChaCha20-Poly1305 have only 16-byte
 * tags (RFC 8439, RFC 7634). */
SEALANE_API SEALANE_CHECKED int sealane_key_init_with_tag(sealane_key *k, sealane_alg alg, const uint8_t *key,
                                                          size_t key_bytes, size_t tag_bytes);

/* Caps the levels of this process: name is the best one to use, as in SEALANE_CPU ("avx2", "neon", ..., "portable";
 * sealane_impl_name returns a key's). The names of all architectures have one order, x86-64 before ARM, which
 * `sealane info` prints; levels before name are not used. A cipher without a level of that name takes the next one.
 * Names of other architectures cap nothing. The environment can lower this cap, but not raise it.
 *
 * Call it before the process makes its first key, from any thread; the last of several calls counts. After the first
 * sealane_key_init it returns SEALANE_TOO_LATE and changes nothing. If it runs concurrently with the first
 * sealane_key_init, it returns 0 if and only if all keys respect the cap. SEALANE_NULL, SEALANE_INVALID_LEVEL:
 * nothing is changed. */
SEALANE_API SEALANE_CHECKED int sealane_set_max_level(const char *name);

/* Zeroes *k, which makes it an invalid key: every later use of it, also by a stream begun with it, is refused. NULL
 * is ignored. */
SEALANE_API void sealane_key_wipe(sealane_key *k);

/* The name of the implementation that k uses, such as "avx512", "neon" or "portable"; "none" if *k is not a valid
 * key. Keys of different algorithms may use different ones. The string is static. */
SEALANE_API SEALANE_CHECKED const char *sealane_impl_name(const sealane_key *k);

/* Encrypts in_bytes of in to out, and writes the tag that authenticates them together with the ad_bytes of ad.
 *
 * The nonce must have the length of the key's algorithm (AES-GCM: any except 0). Never use it for two different
 * packets under one key: that reveals both plaintexts and lets others forge packets. SEALANE_INVALID_KEY,
 * _INVALID_NONCE, _TOO_LONG, _NULL, _OVERLAP: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Checks the tag of in_bytes of ciphertext and ad_bytes of ad, and decrypts to out.
 *
 * SEALANE_NOT_AUTHENTIC: out is zeroed; if out == in, it has the original ciphertext, so that another key can be
 * tried. The caller's mistakes are those of sealane_seal: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[SEALANE_TAG_BYTES],
                                             const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                             size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* Batches: many packets in one call. Small packets of a batch are processed in parallel in the lanes of the CPU's
 * vectors, several times as fast as single calls. The results are the same. */

/* One packet: the arguments of sealane_seal and sealane_open in a structure. Only status is written. Set unused
 * members to 0, best by an initializer: later versions may use them. */
typedef struct sealane_op {
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const sealane_key *key;
    const uint8_t *nonce;
    union {                          /* of the key's tag length, usually SEALANE_TAG_BYTES */
        uint8_t *tag;                /* seal: written */
        const uint8_t *expected_tag; /* open: read */
    };
    size_t nonce_bytes;
    sealane_status status; /* result */
    uint32_t reserved;     /* 80 bytes in total: compilers clear larger structures by `rep stos`, 10 ns */
} sealane_op;

/* Seals or opens n packets with any mix of keys, algorithms and lengths. Returns, when all are done, how many have
 * SEALANE_OK. A packet that fails does not affect the others, and has the effects of a failed single call. ops is
 * NULL: 0.
 *
 * Each packet follows the rules of sealane_seal and sealane_open, which are checked. The output of one packet (out,
 * tag, status) must not overlap any memory of another packet. This is not checked, and packets that break the rule
 * may fail or get wrong bytes. Inputs, keys, nonces and associated data may be shared.
 *
 * Pass as many packets as are available, in any order; a few dozen are best. */
SEALANE_API SEALANE_CHECKED size_t sealane_seal_batch(sealane_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_open_batch(sealane_op *ops, size_t n);

/* Scatter/gather: one piece of a packet. Pieces of any length, including 0, form the text in the given order. For
 * associated data out is ignored. */
typedef struct sealane_iovec {
    const uint8_t *in;
    uint8_t *out;
    size_t bytes;
} sealane_iovec;

#define SEALANE_IOV_MAX 1024 /* most pieces of text, or of associated data, per call; otherwise SEALANE_TOO_LONG */

/* sealane_seal and sealane_open of a packet in pieces; the result is that of their concatenation.
 *
 * For every piece in == out, or the two are disjoint. No piece's out may overlap another piece's in or out. All pairs
 * are checked, so the cost grows with the square of the number of pieces. SEALANE_NOT_AUTHENTIC: the out of every
 * piece is zeroed or, if it is the piece's in, unchanged. A mistake writes nothing. */
SEALANE_API SEALANE_CHECKED int sealane_sealv(const sealane_key *k, uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);
SEALANE_API SEALANE_CHECKED int sealane_openv(const sealane_key *k, const uint8_t tag[SEALANE_TAG_BYTES],
                                              const uint8_t *nonce, size_t nonce_bytes, const sealane_iovec *ad,
                                              size_t ad_pieces, const sealane_iovec *text, size_t text_pieces);

/* One packet in progress, for callers whose own interface is a stream (OpenSSL's EVP). If the whole packet is
 * available, sealane_seal and sealane_open are faster and safer. The object is in the caller's memory, and its
 * contents are private. It holds key material until final or wipe, and must not be copied.
 *
 * A stream decrypts before it can authenticate: unlike other calls, a failed open leaves plaintext behind. There are
 * two safe ways to use one, with full code in test/stream_example.c:
 *
 *   hold back      decrypt to a temporary file, or to memory that no other code reads, and keep the result only if
 *                  sealane_stream_open_final returns 0:
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
 *   chunks         better: use no stream. Seal chunks of, for example, 64 KiB with sealane_seal, each with its own tag.
 *                  The nonce is a prefix that is new for each file, the chunk's number, and a last byte that is 1
 *                  only in the last chunk. Each chunk is authenticated before it is used. Missing, repeated or moved
 *                  chunks do not open, and neither does a truncated file (Hoang et al. 2015, "STREAM"):
 *
 *                      memcpy(nonce, prefix, 7), store_be32(nonce + 7, number), nonce[11] = is_last;
 *                      if (sealane_open(&key, chunk, tag, nonce, 12, NULL, 0, chunk, n) != 0)
 *                          return error;
 */
typedef struct sealane_stream {
    uint64_t opaque[64];
} sealane_stream;

typedef enum { SEALANE_STREAM_SEAL = 0, SEALANE_STREAM_OPEN = 1 } sealane_direction;

/* Begins a packet, and discards one in progress. *k must not move or change until the stream ends: if it is wiped or
 * holds another algorithm, every call except sealane_stream_wipe returns SEALANE_INVALID_KEY. SEALANE_NULL,
 * _INVALID_KEY, _INVALID_NONCE, _OVERLAP (nonce lies in *s), _INVALID_STREAM (no such direction): *s is zeroed. */
SEALANE_API SEALANE_CHECKED int sealane_stream_init(sealane_stream *s, const sealane_key *k,
                                                    sealane_direction direction, const uint8_t *nonce,
                                                    size_t nonce_bytes);

/* Adds associated data, in any number of pieces of any length. SEALANE_INVALID_STREAM: an update has already added
 * text. On failure the stream is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_stream_ad(sealane_stream *s, const uint8_t *ad, size_t ad_bytes);

/* Encrypts or decrypts the next in_bytes of text to out, in any number of pieces of any length. Multiples of 64 are
 * fastest.
 *
 * When opening, this writes UNVERIFIED PLAINTEXT. The caller must not use it until sealane_stream_open_final returns
 * 0, and must erase it if that call fails. SEALANE_TOO_LONG, _NULL, _OVERLAP, _INVALID_STREAM, _INVALID_KEY: nothing
 * is written, the stream is unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_stream_update(sealane_stream *s, uint8_t *out, const uint8_t *in,
                                                      size_t in_bytes);

/* Ends a packet: writes its tag, or returns 0 if and only if the tag is correct, and otherwise SEALANE_NOT_AUTHENTIC.
 * Wipes the stream, except after SEALANE_NULL and SEALANE_INVALID_STREAM. A mistake writes no tag. */
SEALANE_API SEALANE_CHECKED int sealane_stream_seal_final(sealane_stream *s, uint8_t tag[SEALANE_TAG_BYTES]);
SEALANE_API SEALANE_CHECKED int sealane_stream_open_final(sealane_stream *s, const uint8_t tag[SEALANE_TAG_BYTES]);

/* Discards the packet and wipes the stream. NULL is ignored. */
SEALANE_API void sealane_stream_wipe(sealane_stream *s);

/* AES (FIPS 197) in modes that encrypt but do not authenticate. docs/modes.md describes their uses; nearly always
 * sealane_seal is the better choice. The conventions above apply: a refused call writes nothing. Initial values,
 * counters and tweaks are public, and never overlap the text.
 *
 * A key for all modes except XTS, in the caller's memory. It may be copied and moved. Its contents are private. */
typedef struct sealane_aes_key {
    uint64_t opaque[66];
} sealane_aes_key;

/* Initializes a key of 16, 24 or 32 bytes. The level is chosen as by sealane_key_init. SEALANE_INVALID_KEY, _NULL,
 * _OVERLAP (key lies in *k) or _NO_LEVEL; then *k is zeroed and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_key_init(sealane_aes_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_aes_key_wipe(sealane_aes_key *k);
SEALANE_API SEALANE_CHECKED const char *sealane_aes_impl_name(const sealane_aes_key *k);

/* Single blocks (ECB): a building block for other constructions. Do not encrypt texts with it: equal blocks have
 * equal ciphertext. SEALANE_INVALID_KEY, _INVALID_LENGTH (no multiple of 16), _NULL, _OVERLAP, _TOO_LONG. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ecb_encrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in,
                                                        size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_ecb_decrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in,
                                                        size_t in_bytes);

/* Counter mode (NIST SP 800-38A, 6.5) for a text in pieces of any length. The object is in the caller's memory, and
 * its contents are private. It holds keystream: wipe it. */
typedef struct sealane_aes_ctr {
    uint8_t counter[16], stream[16];
    uint64_t blocks;
    uint32_t ready, left, limited, unused;
} sealane_aes_ctr;

/* Begins a text. counter is the counter of the first block. Its last counter_bits count: 128, which wrap around (SSH,
 * RFC 4344), or 32, which may not (IPsec, RFC 3686). Never use a value twice under one key: equal keystream reveals
 * the sum of both texts. SEALANE_INVALID_STREAM (s is NULL), _NULL, _OVERLAP (counter lies in *s), _INVALID_LENGTH
 * (other counter_bits): *s is zeroed. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ctr_init(sealane_aes_ctr *s, const uint8_t counter[16],
                                                     unsigned counter_bits);

/* Encrypts or decrypts the next piece (the same operation). SEALANE_TOO_LONG (also: a counter of 32 bits would wrap
 * around), _INVALID_STREAM, _INVALID_KEY, _NULL, _OVERLAP (also with *s): nothing is written, not even to *s. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ctr_xor(const sealane_aes_key *k, sealane_aes_ctr *s, uint8_t *out,
                                                    const uint8_t *in, size_t in_bytes);
SEALANE_API void sealane_aes_ctr_wipe(sealane_aes_ctr *s);

/* Cipher block chaining (NIST SP 800-38A, 6.2). iv must be new for each text, and unpredictable until the text is
 * chosen. The call leaves the last block of the ciphertext in iv, so that the text can continue. The caller adds and
 * removes padding. Before looking at it, compare a MAC over the ciphertext: a sender who learns that padding was
 * wrong can decrypt any text (Vaudenay 2002). SEALANE_INVALID_KEY, _INVALID_LENGTH (no multiple of 16), _NULL,
 * _OVERLAP, _TOO_LONG. */
SEALANE_API SEALANE_CHECKED int sealane_aes_cbc_encrypt(const sealane_aes_key *k, uint8_t iv[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_cbc_decrypt(const sealane_aes_key *k, uint8_t iv[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);

/* One text of a batch. A block of one text waits for the previous block of that text, but not for other texts. */
typedef struct sealane_cbc_op {
    const sealane_aes_key *key;
    uint8_t *iv;
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    sealane_status status; /* result */
} sealane_cbc_op;

/* Encrypts n texts with any mix of keys and lengths, and returns how many have SEALANE_OK. The output of one text
 * must not overlap any memory of another; this is not checked. ops is NULL: 0. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cbc_encrypt_batch(sealane_cbc_op *ops, size_t n);

/* XTS (IEEE 1619, NIST SP 800-38E), for storage sectors: two keys. */
typedef struct sealane_xts_key {
    sealane_aes_key text, tweak;
} sealane_xts_key;

/* Initializes a key of 32 bytes (AES-128) or 64 (AES-256). SEALANE_INVALID_KEY: another length, or its halves are
 * equal (FIPS 140-3 implementation guidance, C.I); SEALANE_NULL, _OVERLAP (key lies in *k), _NO_LEVEL. Then *k is
 * zeroed and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_key_init(sealane_xts_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_aes_xts_key_wipe(sealane_xts_key *k);

/* One sector of 16 to 2^24 bytes, which need not be whole blocks (ciphertext stealing). tweak is the sector's number,
 * as 16 little-endian bytes. SEALANE_INVALID_KEY, _NULL, _INVALID_LENGTH (below 16), _TOO_LONG, _OVERLAP. */
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_encrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_xts_decrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out,
                                                        const uint8_t *in, size_t in_bytes);

/* AES-CMAC (NIST SP 800-38B, RFC 4493): a MAC of a text in pieces of any length. The object is in the caller's
 * memory, and its contents are private. Wipe it if you do not finish the text. */
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

/* Ends the text: writes its MAC, or compares the 4 to 16 received bytes in constant time. Protocols with shorter MACs
 * use the first bytes. SEALANE_NOT_AUTHENTIC: the bytes are wrong. Both functions wipe *s, except after the caller's
 * mistakes, which leave it unchanged: SEALANE_INVALID_STREAM, _INVALID_KEY, _INVALID_TAG (mac_bytes), _NULL, _OVERLAP
 * (mac lies in *s). The number of compared bytes must never come from the sender. */
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_final(const sealane_aes_key *k, sealane_aes_cmac *s, uint8_t mac[16]);
SEALANE_API SEALANE_CHECKED int sealane_aes_cmac_verify(const sealane_aes_key *k, sealane_aes_cmac *s,
                                                        const uint8_t *mac, size_t mac_bytes);
SEALANE_API void sealane_aes_cmac_wipe(sealane_aes_cmac *s);

/* One text of a batch. A block of one text waits for the previous block of that text, but not for other texts. */
typedef struct sealane_cmac_op {
    const sealane_aes_key *key;
    const uint8_t *in;
    size_t in_bytes;
    union {
        uint8_t *mac;                /* 16 bytes, written */
        const uint8_t *expected_mac; /* verify: mac_bytes, read */
    };
    size_t mac_bytes;      /* verify: 4 to 16; must never come from the sender */
    sealane_status status; /* result */
} sealane_cmac_op;

/* Computes or compares the MACs of n texts with any mix of keys and lengths, and returns how many have SEALANE_OK.
 * The others have the statuses of sealane_aes_cmac_final and _verify (_OVERLAP: mac lies in in), and their macs are
 * not written. A text that fails does not affect the others. A mac must not overlap any memory of another text; this
 * is not checked. ops is NULL: 0. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cmac_batch(sealane_cmac_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_aes_cmac_verify_batch(sealane_cmac_op *ops, size_t n);

/* AES-CCM (NIST SP 800-38C, RFC 3610), which authenticates as sealane_seal does, for protocols that require it: TLS,
 * 802.11, Bluetooth, Matter. Otherwise AES-GCM is several times as fast. The key is in the caller's memory, and may
 * be copied and moved; its contents are private. */
typedef struct sealane_ccm_key {
    sealane_aes_key aes;
    uint64_t opaque;
} sealane_ccm_key;

/* Initializes a key of 16, 24 or 32 bytes, for tags of 4, 6, 8, 10, 12, 14 or 16 bytes. TLS has 16, and 8 in its
 * CCM_8 suites. With tags of 4 bytes, one forgery in 2^32 succeeds. SEALANE_INVALID_KEY, _INVALID_TAG, _NULL,
 * _OVERLAP (key lies in *k), _NO_LEVEL: *k is zeroed and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_key_init(sealane_ccm_key *k, const uint8_t *key, size_t key_bytes,
                                                         size_t tag_bytes);
SEALANE_API void sealane_aes_ccm_key_wipe(sealane_ccm_key *k);

/* As sealane_seal and sealane_open, with the key's tag length. A nonce has 7 to 13 bytes and is used once. A text has
 * less than 2^(8 * (15 - nonce_bytes)) bytes: 64 KiB with 13-byte nonces. SEALANE_INVALID_KEY, _INVALID_NONCE,
 * _TOO_LONG, _NULL, _OVERLAP: nothing is written. SEALANE_NOT_AUTHENTIC: out is zeroed or, in place, unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_seal(const sealane_ccm_key *k, uint8_t *out, uint8_t *tag,
                                                     const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                                     size_t ad_bytes, const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_ccm_open(const sealane_ccm_key *k, uint8_t *out, const uint8_t *tag,
                                                     const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                                                     size_t ad_bytes, const uint8_t *in, size_t in_bytes);

/* One packet of a batch: a sealane_op with a CCM key. */
typedef struct sealane_ccm_op {
    uint8_t *out;
    const uint8_t *in;
    size_t in_bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const sealane_ccm_key *key;
    const uint8_t *nonce;
    union {                          /* of the key's tag length */
        uint8_t *tag;                /* seal: written */
        const uint8_t *expected_tag; /* open: read */
    };
    size_t nonce_bytes;
    sealane_status status; /* result */
    uint32_t reserved;
} sealane_ccm_op;

/* As sealane_seal_batch and sealane_open_batch. Eight packets with keys of equal length are processed side by side. */
SEALANE_API SEALANE_CHECKED size_t sealane_aes_ccm_seal_batch(sealane_ccm_op *ops, size_t n);
SEALANE_API SEALANE_CHECKED size_t sealane_aes_ccm_open_batch(sealane_ccm_op *ops, size_t n);

/* AES-GCM-SIV (RFC 8452): as sealane_seal and sealane_open, but a repeated nonce reveals only whether packets are
 * equal. Use it if nonces may repeat, such as random ones of many machines under one key. It is slower than AES-GCM,
 * because each nonce has its own keys and the text is read twice. The key is in the caller's memory, and may be
 * copied and moved; its contents are private. */
typedef struct sealane_gcm_siv_key {
    sealane_aes_key aes;
    uint64_t opaque;
} sealane_gcm_siv_key;

#define SEALANE_AES_GCM_SIV_NONCE_BYTES 12

/* Initializes a key of 16 or 32 bytes. SEALANE_INVALID_KEY, _NULL, _OVERLAP (key lies in *k), _NO_LEVEL: *k is zeroed
 * and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_key_init(sealane_gcm_siv_key *k, const uint8_t *key,
                                                             size_t key_bytes);
SEALANE_API void sealane_aes_gcm_siv_key_wipe(sealane_gcm_siv_key *k);

/* A nonce has 12 bytes; text and associated data have at most 2^36 each. SEALANE_INVALID_KEY, _INVALID_NONCE,
 * _TOO_LONG, _NULL, _OVERLAP: nothing is written. SEALANE_NOT_AUTHENTIC: out is zeroed or, in place, unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_seal(const sealane_gcm_siv_key *k, uint8_t *out,
                                                         uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                                                         size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                                         const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_aes_gcm_siv_open(const sealane_gcm_siv_key *k, uint8_t *out,
                                                         const uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                                                         size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                                         const uint8_t *in, size_t in_bytes);

/* chacha20-poly1305@openssh.com (OpenSSH's PROTOCOL.chacha20poly1305): SSH packets, with a separate key that encrypts
 * their length. Both keys are for the original ChaCha20, with a counter and a nonce of 64 bits each; the nonce is the
 * packet's sequence number. The key is in the caller's memory, and may be copied and moved; its contents are private.
 */
typedef struct sealane_ssh_key {
    sealane_key text, length;
} sealane_ssh_key;

#define SEALANE_SSH_KEY_BYTES 64

/* Initializes a key from the 64 bytes that SSH derives. SEALANE_INVALID_KEY (key_bytes), _NULL, _OVERLAP (key lies in
 * *k), _NO_LEVEL: *k is zeroed and not a valid key. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_key_init(sealane_ssh_key *k, const uint8_t *key, size_t key_bytes);
SEALANE_API void sealane_ssh_key_wipe(sealane_ssh_key *k);

/* Decrypts the length of an incoming packet from its first 4 bytes: how many bytes follow these, without the tag. It
 * is NOT AUTHENTICATED until sealane_ssh_open returns 0: check its bounds before use. SEALANE_INVALID_KEY, _NULL,
 * _OVERLAP: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_length(const sealane_ssh_key *k, uint32_t sequence, uint32_t *packet_length,
                                                   const uint8_t in[4]);

/* Seals or opens a packet: 4 bytes of length, followed by padding length, payload and padding. SEALANE_INVALID_KEY,
 * _INVALID_LENGTH (less than 4 bytes), _TOO_LONG (above 2^32 + 3 bytes), _NULL, _OVERLAP: nothing is written.
 * SEALANE_NOT_AUTHENTIC: out is zeroed or, in place, unchanged. */
SEALANE_API SEALANE_CHECKED int sealane_ssh_seal(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out,
                                                 uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *in, size_t in_bytes);
SEALANE_API SEALANE_CHECKED int sealane_ssh_open(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out,
                                                 const uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *in,
                                                 size_t in_bytes);

/* The original ChaCha20 (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), with a 64-bit counter and a 64-bit
 * nonce. It is for protocols and formats that require it; RFC 8439 has 32 and 96 bits. It does NOT AUTHENTICATE:
 * compare a MAC over the ciphertext before you decrypt, or use sealane_seal. k must have SEALANE_CHACHA20_POLY1305,
 * and no other use.
 *
 * Encrypts or decrypts a text of any length (the same operation). counter is the number of its first 64-byte block,
 * usually 0. A text may be split over several calls; all except the last take whole blocks. Never use a block twice
 * under one key and nonce: equal keystream reveals the sum of both texts. SEALANE_INVALID_KEY (also: another
 * algorithm's), _NULL, _TOO_LONG (also: the counter after the text would be 2^64), _OVERLAP: nothing is written. */
#define SEALANE_CHACHA20_NONCE_BYTES 8
SEALANE_API SEALANE_CHECKED int sealane_chacha20_xor(const sealane_key *k,
                                                     const uint8_t nonce[SEALANE_CHACHA20_NONCE_BYTES],
                                                     uint64_t counter, uint8_t *out, const uint8_t *in,
                                                     size_t in_bytes);

/* QUIC packet protection (RFC 9001, section 5; RFC 9369): header masks and AEAD of many packets in one call. Derive
 * the keys with the HKDF of a TLS library; docs/modes.md has the labels.
 *
 * The keys of one direction and one encryption level, in the caller's memory. The contents are private. */
typedef struct sealane_quic_keys {
    sealane_key packet;
    sealane_aes_key mask;
    uint8_t mask_key[32], iv[12];
    uint32_t ready;
} sealane_quic_keys;

/* Initializes keys. alg is SEALANE_AES_128_GCM, SEALANE_AES_256_GCM or SEALANE_CHACHA20_POLY1305. key and hp (header
 * protection) have its key_bytes, iv has 12 bytes. SEALANE_INVALID_KEY, _NULL, _OVERLAP (one of them lies in *k),
 * _NO_LEVEL: *k is zeroed and has no valid keys. */
SEALANE_API SEALANE_CHECKED int sealane_quic_keys_init(sealane_quic_keys *k, sealane_alg alg, const uint8_t *key,
                                                       const uint8_t iv[12], const uint8_t *hp, size_t key_bytes);
SEALANE_API void sealane_quic_keys_wipe(sealane_quic_keys *k);

/* The header mask of one sample (RFC 9001, 5.4.3 and 5.4.4), for QUIC implementations that seal payloads and mask
 * headers separately. A sample is 16 bytes of ciphertext; mask may overlap it. The calls below compute several masks
 * faster. SEALANE_INVALID_KEY, _NULL: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_quic_mask(const sealane_quic_keys *k, uint8_t mask[5],
                                                  const uint8_t sample[16]);

/* A packet, protected or unprotected in place. Set unused members to 0, as in a sealane_op. */
typedef struct sealane_quic_packet {
    const sealane_quic_keys *keys;
    const sealane_quic_keys *other; /* unprotect: for short headers with the other key phase; or NULL */
    uint8_t *bytes;                 /* header, payload, and SEALANE_TAG_BYTES for the tag */
    size_t packet_bytes;            /* of all three */
    size_t pn_offset;               /* offset of the packet number */
    uint64_t number;  /* the packet number; unprotect: on entry, the expected one, 1 more than the largest of an
                         authentic packet, or 0; unchanged if the packet is refused */
    int phase;        /* unprotect: the key phase of `keys`, 0 or 1 */
    uint8_t *payload; /* result of unprotect: within bytes, or NULL */
    size_t payload_bytes;
    sealane_status status; /* result */
    uint32_t reserved;     /* 80 bytes in total, as in a sealane_op */
} sealane_quic_packet;

/* Protects n packets, and returns how many have SEALANE_OK. The last two bits of each first byte hold the length of
 * the packet number less one; the call fills in the number. SEALANE_INVALID_LENGTH: too short for a sample, that is
 * packet_bytes < pn_offset + 20, or pn_offset is 0. SEALANE_TOO_LONG: number above 2^62 - 1. After these,
 * SEALANE_INVALID_KEY and _NULL, bytes are unchanged, unprotected, and must not be sent. A packet that fails does not
 * affect the others. Packets must not overlap. */
SEALANE_API SEALANE_CHECKED size_t sealane_quic_protect_batch(sealane_quic_packet *packets, size_t n);

/* Unprotects n packets of any content, and returns how many have SEALANE_OK. SEALANE_RESERVED_BITS: authentic, with a
 * payload, but a connection error. SEALANE_NOT_AUTHENTIC, and the mistakes SEALANE_INVALID_LENGTH, _TOO_LONG,
 * _INVALID_KEY, _NULL: bytes, including the header, and number are unchanged, so that other keys can be tried. */
SEALANE_API SEALANE_CHECKED size_t sealane_quic_unprotect_batch(sealane_quic_packet *packets, size_t n);

/* The integrity tag of a Retry packet (RFC 9001, 5.8; RFC 9369, 3.3.3). retry is the packet without its tag, and dcid
 * the Destination Connection ID of the packet that it answers. SEALANE_NULL; SEALANE_INVALID_LENGTH: dcid has more
 * than 255 bytes; SEALANE_INVALID_KEY: version is neither 1 nor 0x6b3343cf: nothing is written. */
SEALANE_API SEALANE_CHECKED int sealane_quic_retry_tag(uint8_t tag[SEALANE_TAG_BYTES], uint32_t version,
                                                       const uint8_t *dcid, size_t dcid_bytes, const uint8_t *retry,
                                                       size_t retry_bytes);

#ifdef __cplusplus
}
#endif

#endif
