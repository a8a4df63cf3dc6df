/* sealane_afalg: seals and opens packets with the AEADs of the Linux kernel, through AF_ALG sockets.
 *
 * It is for crypto engines: routers and systems on a chip with a driver in a kernel before Linux 7.2, which removes
 * engines from AF_ALG. A packet costs two system calls, and is slower than with sealane.h on every CPU for which
 * sealane has a kernel. Measure first. Add the two files to a program that has libsealane, or link
 * libsealane_afalg.a.
 *
 * The conventions are those of sealane.h, with three exceptions. errno may change, a packet needs 11 KiB of stack,
 * and the kernel's drivers determine how long a call takes. */
#ifndef SEALANE_AFALG_H
#define SEALANE_AFALG_H

#include <sealane.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of the kernel path. Larger packets are sealed and opened in the process. */
#define SEALANE_AFALG_PACKET_MAX 65536  /* associated data, text and tag together */
#define SEALANE_AFALG_AD_MAX 512        /* associated data */
#define SEALANE_AFALG_IN_PLACE_MAX 9216 /* text, where out == in */

/* How many packets of a key the kernel processes at a time; the process itself handles others. */
#define SEALANE_AFALG_OPERATIONS 8

/* A key in the kernel and in the process. The object is in the caller's memory, and its contents are private. It must
 * not be copied or moved, nor used on both sides of a fork, which share its sockets. */
typedef struct sealane_afalg {
    sealane_key key;
    int transform; /* the socket with the key */
    int spare[SEALANE_AFALG_OPERATIONS];
    int open;
    size_t in_process;
} sealane_afalg;

typedef enum {
    SEALANE_AFALG_OK = 0,
    SEALANE_AFALG_INVALID = -1,     /* the caller's mistake: alg, key_bytes, NULL */
    SEALANE_AFALG_UNSUPPORTED = -2, /* the kernel does not offer AF_ALG or the algorithm */
    SEALANE_AFALG_WRONG = -3,       /* the kernel does not seal or open as sealane does */
    SEALANE_AFALG_FAILED = -4       /* no file descriptors, no memory, or another error of the kernel */
} sealane_afalg_status;

/* Passes a copy of a ChaCha20-Poly1305 or AES-GCM key to the kernel. The first call in a process for an alg compares
 * the kernel with the code in the process. Takes one file descriptor, and up to eight more for concurrent packets. On
 * any failure *a is not a valid key, and needs no close. */
SEALANE_CHECKED sealane_afalg_status sealane_afalg_init(sealane_afalg *a, sealane_alg alg, const uint8_t *key,
                                                        size_t key_bytes);

/* sealane_seal and sealane_open, by the kernel. The process itself handles packets that the kernel refuses or fails,
 * with the same result; only a wrong tag is final. Any number of threads may use a key at once. a is NULL or closed:
 * SEALANE_INVALID_KEY. */
SEALANE_CHECKED int sealane_afalg_seal(sealane_afalg *a, uint8_t *out, uint8_t tag[SEALANE_TAG_BYTES],
                                       const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                       const uint8_t *in, size_t in_bytes);
SEALANE_CHECKED int sealane_afalg_open(sealane_afalg *a, uint8_t *out, const uint8_t tag[SEALANE_TAG_BYTES],
                                       const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes,
                                       const uint8_t *in, size_t in_bytes);

/* How many packets the process itself handled. */
size_t sealane_afalg_in_process(const sealane_afalg *a);

/* Closes the file descriptors and wipes the key, here and in the kernel. No other thread may use *a afterwards. NULL
 * and a closed key are ignored. */
void sealane_afalg_close(sealane_afalg *a);

#ifdef __cplusplus
}
#endif

#endif
