/* stream_example: seals and opens files safely, in two ways; the second is better. Both follow the rules of
 * sealane.h about streams.
 *
 *     stream_example seal|open KEY IN OUT                  one packet: no output is kept unless its tag is right
 *     stream_example seal-chunks|open-chunks KEY IN OUT    numbered chunks; the last is marked
 *
 * KEY is a file of 32 random bytes. OUT appears only after everything has succeeded. */
#include <sealane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, PREFIX = 19, NONCE = SEALANE_XCHACHA20_POLY1305_NONCE_BYTES, TAG = SEALANE_TAG_BYTES };

static int random_bytes(uint8_t *p, size_t n)
{
    FILE *f = fopen("/dev/urandom", "rb");
    const int good = f != NULL && fread(p, 1, n, f) == n;
    if (f != NULL)
        fclose(f);
    return good;
}

/* ---- One packet as a stream. File: nonce, text, tag. ---- */

static int seal_stream(const sealane_key *k, FILE *in, FILE *out)
{
    static uint8_t part[CHUNK];
    uint8_t nonce[NONCE], tag[TAG];
    sealane_stream s;
    size_t n;
    if (!random_bytes(nonce, NONCE) || fwrite(nonce, 1, NONCE, out) != NONCE)
        return 0;
    if (sealane_stream_init(&s, k, SEALANE_STREAM_SEAL, nonce, NONCE) != 0)
        return 0;
    while ((n = fread(part, 1, sizeof part, in)) > 0)
        if (sealane_stream_update(&s, part, part, n) != 0 || fwrite(part, 1, n, out) != n)
            return sealane_stream_wipe(&s), 0;
    return !ferror(in) && sealane_stream_seal_final(&s, tag) == 0 && fwrite(tag, 1, TAG, out) == TAG;
}

/* The bytes written to out are not authenticated until this returns 1. The last TAG bytes of the file are held back.
 */
static int open_stream(const sealane_key *k, FILE *in, FILE *out)
{
    static uint8_t part[TAG + CHUNK];
    uint8_t nonce[NONCE];
    sealane_stream s;
    size_t n;
    if (fread(nonce, 1, NONCE, in) != NONCE || fread(part, 1, TAG, in) != TAG)
        return 0;
    if (sealane_stream_init(&s, k, SEALANE_STREAM_OPEN, nonce, NONCE) != 0)
        return 0;
    while ((n = fread(part + TAG, 1, CHUNK, in)) > 0) {
        uint8_t held[TAG];
        memcpy(held, part + n, TAG);
        if (sealane_stream_update(&s, part, part, n) != 0 || fwrite(part, 1, n, out) != n)
            return sealane_stream_wipe(&s), 0;
        memcpy(part, held, TAG);
    }
    return !ferror(in) && sealane_stream_open_final(&s, part) == 0;
}

/* ---- Chunks. File: prefix of the nonces, then text and tag of each chunk. ---- */

static void chunk_nonce(uint8_t nonce[NONCE], const uint8_t prefix[PREFIX], uint32_t number, int is_last)
{
    memcpy(nonce, prefix, PREFIX);
    for (int i = 0; i < 4; i++)
        nonce[PREFIX + i] = (uint8_t)(number >> 8 * (3 - i));
    nonce[PREFIX + 4] = (uint8_t)is_last;
}

/* The chunk before the end of the file is the last one, even if it is empty. */
static int at_end(FILE *f)
{
    const int c = getc(f);
    return c == EOF || ungetc(c, f) == EOF;
}

static int seal_chunks(const sealane_key *k, FILE *in, FILE *out)
{
    static uint8_t chunk[CHUNK + TAG];
    uint8_t prefix[PREFIX], nonce[NONCE];
    if (!random_bytes(prefix, PREFIX) || fwrite(prefix, 1, PREFIX, out) != PREFIX)
        return 0;
    for (uint32_t number = 0, is_last = 0; !is_last; number++) {
        const size_t n = fread(chunk, 1, CHUNK, in);
        is_last = (uint32_t)at_end(in);
        chunk_nonce(nonce, prefix, number, (int)is_last);
        if (ferror(in) || (number == UINT32_MAX && !is_last) ||
            sealane_seal(k, chunk, chunk + n, nonce, NONCE, NULL, 0, chunk, n) != 0 ||
            fwrite(chunk, 1, n + TAG, out) != n + TAG)
            return 0;
    }
    return 1;
}

/* All bytes in out are authentic and in order. Only the end is uncertain until this returns 1. */
static int open_chunks(const sealane_key *k, FILE *in, FILE *out)
{
    static uint8_t chunk[CHUNK + TAG];
    uint8_t prefix[PREFIX], nonce[NONCE];
    if (fread(prefix, 1, PREFIX, in) != PREFIX)
        return 0;
    for (uint32_t number = 0, is_last = 0; !is_last; number++) {
        const size_t bytes = fread(chunk, 1, CHUNK + TAG, in);
        is_last = (uint32_t)at_end(in);
        if (ferror(in) || bytes < TAG || (number == UINT32_MAX && !is_last))
            return 0;
        chunk_nonce(nonce, prefix, number, (int)is_last);
        if (sealane_open(k, chunk, chunk + bytes - TAG, nonce, NONCE, NULL, 0, chunk, bytes - TAG) != 0 ||
            fwrite(chunk, 1, bytes - TAG, out) != bytes - TAG)
            return 0;
    }
    return 1;
}

/* ---- OUT appears as a whole, or not at all ---- */

static int to_file(int (*work)(const sealane_key *, FILE *, FILE *), const sealane_key *k, const char *from,
                   const char *to)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.part", to) >= (int)sizeof temporary)
        return 0;
    FILE *in = fopen(from, "rb"), *out = in ? fopen(temporary, "wbx") : NULL;
    int good = out != NULL && work(k, in, out);
    if (in != NULL)
        fclose(in);
    if (out == NULL)
        return 0;
    good = fclose(out) == 0 && good;
    return (good && rename(temporary, to) == 0) || (remove(temporary), 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*work)(const sealane_key *, FILE *, FILE *);
    } ways[] = {
        {"seal", seal_stream}, {"open", open_stream}, {"seal-chunks", seal_chunks}, {"open-chunks", open_chunks}};
    uint8_t key[SEALANE_XCHACHA20_POLY1305_KEY_BYTES];
    sealane_key k;
    FILE *f = argc == 5 ? fopen(argv[2], "rb") : NULL;
    const int read = f != NULL && fread(key, 1, sizeof key, f) == sizeof key;
    if (f != NULL)
        fclose(f);
    if (!read || sealane_key_init(&k, SEALANE_XCHACHA20_POLY1305, key, sizeof key) != 0) {
        fprintf(stderr, "usage: stream_example seal|open|seal-chunks|open-chunks KEY IN OUT\n");
        return 2;
    }
    memset(key, 0, sizeof key);
    int good = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            good = to_file(ways[i].work, &k, argv[3], argv[4]);
    sealane_key_wipe(&k);
    if (!good)
        fprintf(stderr, "stream_example: %s: not done, and no %s\n", argv[3], argv[4]);
    return !good;
}
