/* The candidates of the benchmark: how each library seals and opens one packet, in the way its documentation gives. */
#ifndef SEALANE_BENCH_PEERS_H
#define SEALANE_BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/sealane.h"

#define MAX_PEERS 16
#define MAX_BATCHED 64 /* packets in one call */

/* A packet of a batch: the arguments of seal and open below, with its own session. */
typedef struct packet {
    void *session;
    uint8_t *out, *tag;
    const uint8_t *nonce, *in;
    size_t bytes;
} packet;

typedef struct peer {
    const char *name;    /* unique, as in the results */
    const char *library; /* what a user installs */
    const char *how;     /* which of its interfaces */
    const char *(*version)(void);
    /* Keys have alg->key_bytes. Makes what the library keeps per key; NULL on failure. */
    void *(*start)(const struct peer *self, const uint8_t *key);
    /* Gives a session another key; NULL where the library has no such step (it takes the raw key with every packet). */
    int (*rekey)(void *session, const uint8_t *key);
    /* Both return 0 on success; open returns non-zero for a packet that is not authentic. */
    int (*seal)(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                size_t ad_bytes, const uint8_t *in, size_t bytes);
    int (*open)(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                size_t ad_bytes, const uint8_t *in, size_t bytes);
    const char *level; /* sealane's own: which implementation */
    /* All packets in one call, without associated data; NULL where a library has no such thing that is any faster.
     * Fewer than all is failure. */
    size_t (*seal_batch)(const packet *packets, size_t n);
    size_t (*open_batch)(const packet *packets, size_t n);
} peer;

extern peer peers[MAX_PEERS];
extern size_t peer_count;

/* What is measured; set before the peers are gathered. */
typedef struct algorithm {
    const char *name;
    sealane_alg number;
    size_t key_bytes;
} algorithm;

extern const algorithm *alg;

/* 1 if there is an algorithm of that name, which is the one from now on. */
int choose_algorithm(const char *name);

/* Fills the table with all that this build and this CPU have: the peers first, then sealane's levels, best first. */
void gather_peers(void);

#endif
