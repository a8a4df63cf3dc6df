/* The candidates of the benchmark: how each library seals and opens one packet, according to its documentation. */
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
    const char *library; /* the library that a user installs */
    const char *how;     /* which interface of the library */
    const char *(*version)(void);
    /* Makes the library's per-key state; NULL on failure. Keys have alg->key_bytes. */
    void *(*start)(const struct peer *self, const uint8_t *key);
    /* Sets another key; NULL if the library takes the raw key with every packet. */
    int (*rekey)(void *session, const uint8_t *key);
    /* Both return 0 on success; open returns non-zero for a packet that is not authentic. */
    int (*seal)(void *session, uint8_t *out, uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                size_t ad_bytes, const uint8_t *in, size_t bytes);
    int (*open)(void *session, uint8_t *out, const uint8_t tag[16], const uint8_t nonce[12], const uint8_t *ad,
                size_t ad_bytes, const uint8_t *in, size_t bytes);
    const char *level; /* for sealane: which implementation */
    /* All packets in one call, without associated data; NULL if a library has no faster call for this. Returns the
     * number of packets that succeeded. */
    size_t (*seal_batch)(const packet *packets, size_t n);
    size_t (*open_batch)(const packet *packets, size_t n);
} peer;

extern peer peers[MAX_PEERS];
extern size_t peer_count;

/* The algorithm under test; set before the peers are gathered. */
typedef struct algorithm {
    const char *name;
    sealane_alg number;
    size_t key_bytes;
} algorithm;

extern const algorithm *alg;

/* Selects the algorithm with that name; 1 if it exists. */
int choose_algorithm(const char *name);

/* Fills the table with all candidates of this build and CPU: the peers first, then sealane's levels, best first. */
void gather_peers(void);

#endif
