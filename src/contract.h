/* The contract of a call: what it is given, and the one place that finds mistakes in that. From lengths and addresses
 * alone, before a key is used; a call with a mistake writes nothing. */
#ifndef SEALANE_SRC_CONTRACT_H
#define SEALANE_SRC_CONTRACT_H

#include "../include/sealane.h"
#include "bytes.h"

/* No object is longer. Below it the sum of two lengths is a size_t. */
#define LENGTH_MAX ((size_t)PTRDIFF_MAX)

/* Every test by itself: compilers join tests of pointers by logical operations, three instructions each, where a test
 * and a branch that is not taken are one. */
#define REFUSE_IF(condition, why) \
    do {                          \
        if (UNLIKELY(condition))  \
            return why;           \
        KEEP_APART();             \
    } while (0)

/* A text of at most `most` bytes: out is in, or disjoint from it. */
static ALWAYS_INLINE inline sealane_status text_mistake(const uint8_t *out, const uint8_t *in, size_t bytes,
                                                        size_t most)
{
    if (bytes == 0)
        return SEALANE_OK;
    REFUSE_IF(bytes > most, SEALANE_TOO_LONG);
    REFUSE_IF(out == NULL || in == NULL, SEALANE_NULL);
    REFUSE_IF(in != out && overlap(in, bytes, out, bytes), SEALANE_OVERLAP);
    return SEALANE_OK;
}

/* A packet. out is written, and tag when sealing; the rest is read. */
typedef struct sealane_packet {
    const sealane_key *key;
    uint8_t *out;
    const uint8_t *in;
    size_t bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const uint8_t *nonce;
    size_t nonce_bytes; /* of a length that the key takes: 1 or more */
    const uint8_t *tag;
    int open;
} sealane_packet;

/* What its key allows. */
typedef struct sealane_limits {
    size_t text, ad; /* LENGTH_MAX or less */
    size_t tag;      /* its bytes */
} sealane_limits;

/* Inlined where limits are constants, and where they are not. Short packets pay as much as a tenth of their time. */
static ALWAYS_INLINE inline sealane_status packet_mistake(const sealane_packet *p, sealane_limits most)
{
    const size_t tag_written = p->open ? 0 : most.tag;
    const sealane_status why = text_mistake(p->out, p->in, p->bytes, most.text);
    REFUSE_IF(why != SEALANE_OK, why);
    REFUSE_IF(p->tag == NULL, SEALANE_NULL);
    if (p->ad_bytes != 0) {
        REFUSE_IF(p->ad_bytes > most.ad, SEALANE_TOO_LONG);
        REFUSE_IF(p->ad == NULL, SEALANE_NULL);
        REFUSE_IF(overlap(p->ad, p->ad_bytes, p->out, p->bytes), SEALANE_OVERLAP);
        REFUSE_IF(overlap(p->ad, p->ad_bytes, p->tag, tag_written), SEALANE_OVERLAP);
    }
    REFUSE_IF(p->nonce == NULL, SEALANE_NULL);
    REFUSE_IF(overlap(p->nonce, p->nonce_bytes, p->out, p->bytes), SEALANE_OVERLAP);
    REFUSE_IF(overlap(p->nonce, p->nonce_bytes, p->tag, tag_written), SEALANE_OVERLAP);
    REFUSE_IF(overlap(p->tag, most.tag, p->out, p->bytes), SEALANE_OVERLAP);
    return SEALANE_OK;
}

/* What an object (key, stream) is made from: it lies apart from the object. */
static inline sealane_status source_mistake(const void *object, size_t object_bytes, const void *source,
                                            size_t source_bytes)
{
    return source == NULL                                        ? SEALANE_NULL
           : overlap(object, object_bytes, source, source_bytes) ? SEALANE_OVERLAP
                                                                 : SEALANE_OK;
}

#endif
