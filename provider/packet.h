/* One ChaCha20-Poly1305 packet in progress, in pieces as EVP passes them.
 *
 * Nearly every packet consists of associated data, one piece of text, and the request for the tag. But only that
 * request shows that there is no more text. So a first piece of up to PACKET_COPY bytes goes through the kernel as a
 * whole packet, and its ciphertext is kept. If more text follows, the packet is authenticated again from the copy, and
 * continues as a stream. A longer first piece starts a stream at once; there the cost of a stream does not matter.
 *
 * All data is in the caller's memory, may be copied at any time, and contains no secret of a packet after its tag.
 */
#ifndef SEALANE_PROVIDER_PACKET_H
#define SEALANE_PROVIDER_PACKET_H

#include "../src/key.h"
#include "keystream.h"

enum { PACKET_HELD = 64, PACKET_COPY = 2048 };

typedef struct packet {
    const sealane_level *level;
    uint8_t key[32], nonce[12];
    uint8_t phase;
    uint8_t ad_open;    /* associated data was last: padding precedes anything else */
    uint8_t part_bytes; /* bytes in part */
    uint8_t ahead;      /* key stream was made once since the last long piece, so the next is made ahead */
    uint64_t ad_bytes, text_bytes;
    uint8_t held[PACKET_HELD]; /* associated data until there is text */
    uint8_t tag[16];           /* of the packet whose ciphertext is in copy */
    sealane_state state;       /* of a stream, like the fields below */
    uint8_t part[16];          /* bytes that do not fill a block of Poly1305 yet */
    uint64_t keystream_at;     /* start of keystream in the text, a multiple of 64 */
    uint64_t keystream_bytes;  /* its length */
    union {
        uint8_t copy[PACKET_COPY];
        uint8_t keystream[KEYSTREAM_AHEAD];
    };
} packet;

static inline int packet_begun(const packet *p)
{
    return p->phase != 0;
}

/* Discards the packet; the next piece starts another. */
void packet_reset(packet *p);

/* Changes the nonce, even within a packet: from the next block of key stream on. */
void packet_set_nonce(packet *p, const uint8_t nonce[12]);

/* Returns 0 after text. */
int packet_ad(packet *p, const uint8_t *ad, size_t bytes);

/* open: 1 decrypts, 0 encrypts; it may change within a packet. Returns 0 over the length limit, with nothing
 * written. */
int packet_text(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open);

/* Computes the tag of the packet, and resets. */
void packet_tag(packet *p, uint8_t tag[16]);

/* Processes a whole packet at once, independent of the one in progress. */
void packet_whole(const packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes, const uint8_t *in,
                  size_t bytes, int open);

#endif
