/* Packets of every cipher: the single call, pieces, streams and batches agree. Sealed packets open. Changed packets do
 * not open, and leave buffers as the header promises. */
#include "input.h"

static const struct {
    sealane_alg alg;
    size_t key_bytes, nonce_bytes;
} ciphers[] = {
    {SEALANE_CHACHA20_POLY1305, 32, 12}, {SEALANE_XCHACHA20_POLY1305, 32, 24}, {SEALANE_AES_128_GCM, 16, 0},
    {SEALANE_AES_192_GCM, 24, 0},        {SEALANE_AES_256_GCM, 32, 0},
};

enum { PIECES = 8, PACKETS = 40 };

/* Cuts text into pieces whose lengths come from the input; the last one gets the rest. */
static size_t cut(input *from, sealane_iovec pieces[PIECES], const uint8_t *in, uint8_t *out, size_t bytes)
{
    const size_t n = 1 + number(from, PIECES);
    for (size_t i = 0; i < n; i++) {
        const size_t part = i + 1 < n ? number(from, bytes + 1) : bytes;
        pieces[i] = (sealane_iovec){in, out, part};
        in += part;
        out = out ? out + part : NULL;
        bytes -= part;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t ad[LONGEST], text[LONGEST], sealed[LONGEST], other[LONGEST], opened[LONGEST];
    input from = {data, size};
    uint8_t raw[32], nonce[64], tag[SEALANE_TAG_BYTES] = {0}, tag2[SEALANE_TAG_BYTES] = {0};
    sealane_key key;
    sealane_stream stream;
    sealane_iovec ad_pieces[PIECES], pieces[PIECES];

    const size_t c = number(&from, sizeof ciphers / sizeof *ciphers);
    const size_t key_bytes = ciphers[c].key_bytes;
    const size_t nonce_bytes = ciphers[c].nonce_bytes ? ciphers[c].nonce_bytes : 1 + number(&from, sizeof nonce);
    const size_t tag_bytes = ciphers[c].nonce_bytes ? 16 : 12 + number(&from, 5);
    const size_t ad_bytes = number(&from, 300), bytes = number(&from, LONGEST);
    take(&from, raw, key_bytes);
    take(&from, nonce, nonce_bytes);
    take(&from, ad, ad_bytes);
    must(sealane_key_init_with_tag(&key, ciphers[c].alg, raw, key_bytes, tag_bytes) == 0, "a key is made");

    sealane_iovec text_pieces[PIECES];
    const size_t ad_n = cut(&from, ad_pieces, ad, NULL, ad_bytes);
    const size_t n = cut(&from, pieces, text, other, bytes);
    const size_t flip = number(&from, 8 * (bytes + tag_bytes));
    const size_t packets = 1 + number(&from, PACKETS);
    take(&from, text, bytes);
    memcpy(text_pieces, pieces, sizeof pieces);

    must(sealane_seal(&key, sealed, tag, nonce, nonce_bytes, ad, ad_bytes, text, bytes) == 0, "seal");
    must(sealane_sealv(&key, tag2, nonce, nonce_bytes, ad_pieces, ad_n, text_pieces, n) == 0, "sealv");
    must(!memcmp(sealed, other, bytes) && !memcmp(tag, tag2, 16), "pieces and the whole agree");

    memset(other, 0, bytes);
    memset(tag2, 0, sizeof tag2);
    must(sealane_stream_init(&stream, &key, SEALANE_STREAM_SEAL, nonce, nonce_bytes) == 0, "a stream begins");
    for (size_t i = 0; i < ad_n; i++)
        must(sealane_stream_ad(&stream, ad_pieces[i].in, ad_pieces[i].bytes) == 0, "stream_ad");
    for (size_t i = 0; i < n; i++)
        must(sealane_stream_update(&stream, pieces[i].out, pieces[i].in, pieces[i].bytes) == 0, "stream_update");
    must(sealane_stream_seal_final(&stream, tag2) == 0, "stream_seal_final");
    must(!memcmp(sealed, other, bytes) && !memcmp(tag, tag2, 16), "a stream and the whole agree");

    /* The same packet at every position of a batch, each with its own output. */
    static uint8_t outs[PACKETS][LONGEST], tags[PACKETS][SEALANE_TAG_BYTES];
    sealane_op ops[PACKETS];
    for (size_t i = 0; i < packets; i++) {
        memset(tags[i], 0, sizeof tags[i]);
        ops[i] = (sealane_op){.out = outs[i],
                              .in = text,
                              .in_bytes = bytes,
                              .ad = ad,
                              .ad_bytes = ad_bytes,
                              .key = &key,
                              .nonce = nonce,
                              .nonce_bytes = nonce_bytes,
                              .tag = tags[i]};
    }
    must(sealane_seal_batch(ops, packets) == packets, "seal_batch");
    for (size_t i = 0; i < packets; i++)
        must(!memcmp(outs[i], sealed, bytes) && !memcmp(tags[i], tag, 16), "a batch and the whole agree");

    must(sealane_open(&key, opened, tag, nonce, nonce_bytes, ad, ad_bytes, sealed, bytes) == 0, "open");
    must(!memcmp(opened, text, bytes), "what opens is what was sealed");

    /* Flips one bit of ciphertext or tag. */
    memcpy(tag2, tag, sizeof tag);
    if (flip < 8 * bytes)
        sealed[flip / 8] ^= (uint8_t)(1 << flip % 8);
    else
        tag2[flip / 8 - bytes] ^= (uint8_t)(1 << flip % 8);
    memset(opened, 0xa5, bytes);
    must(sealane_open(&key, opened, tag2, nonce, nonce_bytes, ad, ad_bytes, sealed, bytes) == SEALANE_NOT_AUTHENTIC,
         "a forgery");
    for (size_t i = 0; i < bytes; i++)
        must(opened[i] == 0, "a forgery leaves zeroes");
    memcpy(other, sealed, bytes);
    must(sealane_open(&key, other, tag2, nonce, nonce_bytes, ad, ad_bytes, other, bytes) == SEALANE_NOT_AUTHENTIC,
         "in place");
    must(!memcmp(other, sealed, bytes), "a forgery in place leaves the ciphertext");
    sealane_key_wipe(&key);
    return 0;
}
