/* The contract of a call: its arguments, and the only place that checks them. The checks use only lengths and
 * addresses, and come before any use of a key. A call with a mistake writes nothing. */
#ifndef SEALANE_SRC_CONTRACT_H
#define SEALANE_SRC_CONTRACT_H

#include "../include/sealane.h"
#include "bytes.h"

/* The largest possible object. The sum of two such lengths fits in a size_t. */
#define LENGTH_MAX ((size_t)PTRDIFF_MAX)

/* Each test is separate. Compilers join tests of pointers with logical operations, three instructions each, although
 * a test and an untaken branch are one instruction. */
#define REFUSE_IF(condition, why) \
    do {                          \
        if (UNLIKELY(condition))  \
            return why;           \
        KEEP_APART();             \
    } while (0)

/* A text of at most `most` bytes: out is equal to in, or disjoint from it. */
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

/* A packet. out is written, and so is tag when sealing; the rest is only read. */
typedef struct sealane_packet {
    const sealane_key *key;
    uint8_t *out;
    const uint8_t *in;
    size_t bytes;
    const uint8_t *ad;
    size_t ad_bytes;
    const uint8_t *nonce;
    size_t nonce_bytes; /* valid for the key: 1 or more */
    const uint8_t *tag;
    int open;
} sealane_packet;

/* The limits of a key. */
typedef struct sealane_limits {
    size_t text, ad; /* at most LENGTH_MAX */
    size_t tag;      /* size of the tag in bytes */
} sealane_limits;

/* Inlined both where limits are constants and where they are not. It takes up to a tenth of the time of short
 * packets. */
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

/* The source of an object (key, stream) must not overlap it. */
static inline sealane_status source_mistake(const void *object, size_t object_bytes, const void *source,
                                            size_t source_bytes)
{
    return source == NULL                                        ? SEALANE_NULL
           : overlap(object, object_bytes, source, source_bytes) ? SEALANE_OVERLAP
                                                                 : SEALANE_OK;
}

#endif
