/* One AES-GCM packet in progress, in pieces as EVP passes them.
 *
 * Only the request for the tag shows that there is no more text. So the first piece is assumed to be the whole text.
 * Its end goes through the kernel as the end of the packet, and the tag and the ciphertext of that end are kept. If
 * more text follows, the end is authenticated again from the copy, and the packet continues without guessing.
 *
 * All data is in the caller's memory, and may be copied at any time. */
#ifndef SEALANE_PROVIDER_GCM_PACKET_H
#define SEALANE_PROVIDER_GCM_PACKET_H

#include "../src/key.h"

enum { GCM_PACKET_HELD = 64, GCM_PACKET_COPY = 2048 };

typedef struct gcm_packet {
    const sealane_level *level;
    uint64_t ad_bytes, text_bytes;
    uint64_t done; /* text bytes absorbed in state, a multiple of 64; the ciphertext of the rest is in copy */
    uint8_t phase;
    uint8_t is_j0;           /* nonce is J0; otherwise the first 12 bytes of the counter block */
    uint8_t tag_known;       /* tag covers all data so far */
    uint8_t more;            /* the first guess was wrong */
    uint8_t keystream_known; /* keystream holds the 64 bytes at done */
    uint8_t nonce[16];       /* of the packet */
    uint8_t
        held[GCM_PACKET_HELD]; /* associated data until there is a state; then the part that does not fill 16 bytes */
    uint8_t tag[16], keystream[64];
    sealane_gcm_state state;
    sealane_gcm_key key;
    uint8_t copy[GCM_PACKET_COPY];
} gcm_packet;

/* Both discard a packet in progress. */
void gcm_packet_set_key(gcm_packet *p, const uint8_t *key, size_t bytes);
void gcm_packet_begin(gcm_packet *p, const uint8_t *nonce, size_t bytes);

/* Returns 0 over a limit, or after text. */
int gcm_packet_ad(gcm_packet *p, const uint8_t *ad, size_t bytes);

/* open: 1 decrypts, 0 encrypts; it may change within a packet. Returns 0 over the limit, with nothing written. */
int gcm_packet_text(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open);

/* Computes the tag of the complete packet. */
void gcm_packet_tag(gcm_packet *p, uint8_t tag[16]);

/* Processes a whole packet at once, with the nonce that was set. */
void gcm_packet_whole(gcm_packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes,
                      const uint8_t *in, size_t bytes, int open);

#endif
