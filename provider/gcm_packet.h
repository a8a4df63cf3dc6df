/* One packet of AES-GCM in the making, in pieces, as EVP has it.
 *
 * Only the request for the tag tells that there is no more text. So the first piece is taken for all of it: its end
 * goes through the kernel as the end of the packet, and the tag and the ciphertext of that end are kept. If more text
 * comes after all, the end is authenticated again from the copy, and the packet goes on without guessing.
 *
 * All of it is in the caller's memory, and may be copied at any time. */
#ifndef SEALANE_PROVIDER_GCM_PACKET_H
#define SEALANE_PROVIDER_GCM_PACKET_H

#include "../src/key.h"

enum { GCM_PACKET_HELD = 64, GCM_PACKET_COPY = 2048 };

typedef struct gcm_packet {
    const sealane_level *level;
    uint64_t ad_bytes, text_bytes;
    uint64_t done; /* how much of the text is in state, a multiple of 64; the ciphertext of the rest is in copy */
    uint8_t phase;
    uint8_t is_j0;                 /* nonce is J0, else the 12 bytes before the counter */
    uint8_t tag_known;             /* tag is that of all so far */
    uint8_t more;                  /* a first guess was wrong */
    uint8_t keystream_known;       /* of the 64 bytes at done */
    uint8_t nonce[16];             /* of the packet */
    uint8_t held[GCM_PACKET_HELD]; /* associated data until there is a state; then what does not fill 16 bytes */
    uint8_t tag[16], keystream[64];
    sealane_gcm_state state;
    sealane_gcm_key key;
    uint8_t copy[GCM_PACKET_COPY];
} gcm_packet;

/* Both give up a packet in the making. */
void gcm_packet_set_key(gcm_packet *p, const uint8_t *key, size_t bytes);
void gcm_packet_begin(gcm_packet *p, const uint8_t *nonce, size_t bytes);

/* 0 over a limit, or if there has been text. */
int gcm_packet_ad(gcm_packet *p, const uint8_t *ad, size_t bytes);

/* open: 1 decrypts, 0 encrypts; a packet may even change. 0 over the limit, with nothing written. */
int gcm_packet_text(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open);

/* The tag that belongs to the packet, which has ended. */
void gcm_packet_tag(gcm_packet *p, uint8_t tag[16]);

/* All of a packet at once, of the nonce that has been set. */
void gcm_packet_whole(gcm_packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes,
                      const uint8_t *in, size_t bytes, int open);

#endif
