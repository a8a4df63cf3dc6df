/* One packet of ChaCha20-Poly1305 in the making, in pieces, as EVP has it.
 *
 * Nearly every packet comes as associated data, one piece of text, and the request for the tag; but only that request
 * tells that there is no more text. So a first piece of up to PACKET_COPY bytes goes through the kernel as a whole
 * packet, and its ciphertext is kept: if more text comes after all, the packet is authenticated again from the copy and
 * goes on as a stream. A longer first piece begins a stream at once; there the cost of a stream no longer matters.
 *
 * All of it is in the caller's memory, may be copied at any time, and holds no secret of a packet once its tag is made.
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
    uint8_t ad_open;    /* associated data came last: it is padded before anything else follows */
    uint8_t part_bytes; /* of part */
    uint8_t ahead;      /* since more than a short piece, key stream has been made once; the next is made ahead */
    uint64_t ad_bytes, text_bytes;
    uint8_t held[PACKET_HELD]; /* associated data until there is text */
    uint8_t tag[16];           /* of the whole packet that copy is the ciphertext of */
    sealane_state state;       /* of a stream, like all below */
    uint8_t part[16];          /* what does not yet fill a block of Poly1305 */
    uint64_t keystream_at;     /* key stream is there from this byte of the text on, a multiple of 64, */
    uint64_t keystream_bytes;  /* this long */
    union {
        uint8_t copy[PACKET_COPY];
        uint8_t keystream[KEYSTREAM_AHEAD];
    };
} packet;

static inline int packet_begun(const packet *p)
{
    return p->phase != 0;
}

/* Gives the packet up; the next piece of anything begins another. */
void packet_reset(packet *p);

/* Changes the nonce, even of a packet in the making: from the next block of the key stream on. */
void packet_set_nonce(packet *p, const uint8_t nonce[12]);

/* 0 if there has been text. */
int packet_ad(packet *p, const uint8_t *ad, size_t bytes);

/* open: 1 decrypts, 0 encrypts; a packet may even change. 0 over the length limit, with nothing written. */
int packet_text(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open);

/* The tag that belongs to the packet; resets. */
void packet_tag(packet *p, uint8_t tag[16]);

/* All of a packet at once, beside the one in the making. */
void packet_whole(const packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes, const uint8_t *in,
                  size_t bytes, int open);

#endif
