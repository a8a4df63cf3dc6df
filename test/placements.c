/* placements: compares where the parts of a packet may lie with a straightforward reading of include/sealane.h.
 *
 *     placements    seals and opens packets whose parts overlap in every way: individually and in a batch
 *
 * The reference marks bytes, and does no arithmetic on addresses. A refused call must leave everything unchanged. An
 * accepted one must give the same result as with all parts far apart; a forgery in place restores its input. Uses
 * include/sealane.h only. */
#include <sealane.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1024, NONCE = 12, TAG = SEALANE_TAG_BYTES, NEIGHBORS = 3 };
enum { OUT, IN, AD, NONCE_PART, TAG_PART, PARTS };
static const char *const part_names[PARTS] = {"output", "input", "associated data", "nonce", "tag"};

enum { ABSENT = -1 };

typedef struct {
    sealane_key *key;
    int at[PARTS]; /* offset in the room; ABSENT: NULL */
    size_t bytes, ad_bytes, nonce_bytes;
} placement;

static uint8_t room[ROOM], before[ROOM], want[ROOM];
static sealane_key chacha, gcm;
static unsigned long tried, refused, failures;

static size_t length(const placement *p, int part)
{
    const size_t lengths[PARTS] = {p->bytes, p->bytes, p->ad_bytes, p->nonce_bytes, TAG};
    return lengths[part];
}

/* 1 if the parts share a byte. */
static int share(const placement *p, int a, int b)
{
    uint8_t has[ROOM] = {0};
    for (size_t i = 0; i < length(p, a) && p->at[a] != ABSENT; i++)
        has[(size_t)p->at[a] + i] = 1;
    for (size_t i = 0; i < length(p, b) && p->at[b] != ABSENT; i++)
        if (has[(size_t)p->at[b] + i])
            return 1;
    return 0;
}

/* The status that the header specifies for such a packet with a right tag. */
static sealane_status rule(const placement *p, int open)
{
    if (p->key == NULL)
        return SEALANE_INVALID_KEY;
    if (p->key == &gcm ? p->nonce_bytes == 0 : p->nonce_bytes != NONCE)
        return SEALANE_INVALID_NONCE;
    for (int part = 0; part < PARTS; part++)
        if (p->at[part] == ABSENT && length(p, part) != 0)
            return SEALANE_NULL;
    if (share(p, OUT, AD) || share(p, OUT, NONCE_PART) || share(p, OUT, TAG_PART))
        return SEALANE_OVERLAP;
    if (p->at[OUT] != p->at[IN] && share(p, OUT, IN))
        return SEALANE_OVERLAP;
    if (!open && (share(p, TAG_PART, AD) || share(p, TAG_PART, NONCE_PART)))
        return SEALANE_OVERLAP;
    return SEALANE_OK;
}

static uint8_t *address(const placement *p, int part)
{
    return p->at[part] == ABSENT ? NULL : room + p->at[part];
}

static int run(const placement *p, int open)
{
    uint8_t *const out = address(p, OUT), *const tag = address(p, TAG_PART);
    const uint8_t *const in = address(p, IN), *const ad = address(p, AD), *const nonce = address(p, NONCE_PART);
    return open ? sealane_open(p->key, out, tag, nonce, p->nonce_bytes, ad, p->ad_bytes, in, p->bytes)
                : sealane_seal(p->key, out, tag, nonce, p->nonce_bytes, ad, p->ad_bytes, in, p->bytes);
}

/* The same in a batch. The other packets must not be affected. */
static int run_in_batch(const placement *p, int open)
{
    static uint8_t texts[NEIGHBORS + 1][64], tags[NEIGHBORS + 1][TAG];
    static const uint8_t nonce[NONCE] = {9};
    sealane_op ops[NEIGHBORS + 1];
    sealane_key *const key = p->key == NULL ? &chacha : p->key;
    const size_t bytes = p->bytes < 64 ? p->bytes : 0, at = p->bytes % (NEIGHBORS + 1);
    for (size_t i = 0; i < NEIGHBORS + 1; i++) {
        memset(texts[i], (int)i, 64);
        if (open && sealane_seal(key, texts[i], tags[i], nonce, NONCE, NULL, 0, texts[i], bytes) != 0)
            return 1;
        ops[i] = (sealane_op){.out = texts[i],
                              .in = texts[i],
                              .in_bytes = bytes,
                              .key = key,
                              .nonce = nonce,
                              .nonce_bytes = NONCE,
                              .tag = tags[i]};
    }
    ops[at] = (sealane_op){.out = address(p, OUT),
                           .in = address(p, IN),
                           .in_bytes = p->bytes,
                           .ad = address(p, AD),
                           .ad_bytes = p->ad_bytes,
                           .key = p->key,
                           .nonce = address(p, NONCE_PART),
                           .nonce_bytes = p->nonce_bytes,
                           .tag = address(p, TAG_PART)};
    const size_t good = open ? sealane_open_batch(ops, NEIGHBORS + 1) : sealane_seal_batch(ops, NEIGHBORS + 1);
    return good == NEIGHBORS + (ops[at].status == SEALANE_OK) ? (int)ops[at].status : 1;
}

/* The expected status, and content of the room after the call. A packet to open has a right tag if all its parts have
 * room; the first bytes of its text tell. */
static int expect(const placement *p, int open)
{
    static uint8_t out[ROOM], tag[TAG];
    const sealane_status why = rule(p, open);
    int status = (int)why;
    memcpy(want, before, ROOM);
    if (why == SEALANE_OK && open) {
        status = sealane_open(p->key, out, before + p->at[TAG_PART], before + p->at[NONCE_PART], p->nonce_bytes,
                              before + p->at[AD], p->ad_bytes, before + p->at[IN], p->bytes);
        if (p->at[OUT] != ABSENT && (status == SEALANE_OK || p->at[OUT] != p->at[IN]))
            memcpy(want + p->at[OUT], out, p->bytes);
    } else if (why == SEALANE_OK) {
        status = sealane_seal(p->key, out, tag, before + p->at[NONCE_PART], p->nonce_bytes, before + p->at[AD],
                              p->ad_bytes, before + p->at[IN], p->bytes);
        if (p->at[OUT] != ABSENT)
            memcpy(want + p->at[OUT], out, p->bytes);
        memcpy(want + p->at[TAG_PART], tag, TAG);
    }
    return status;
}

static void fail(const placement *p, const char *what, int open, int got, int expected)
{
    if (failures++ >= 5)
        return;
    printf("FAIL %s, %s: %d instead of %d, or other bytes; %zu of text, %zu of associated data, nonce of %zu;", what,
           open ? "open" : "seal", got, expected, p->bytes, p->ad_bytes, p->nonce_bytes);
    for (int part = 0; part < PARTS; part++)
        printf(" %s at %d", part_names[part], p->at[part]);
    printf("\n");
}

/* Fills the room. If the packet can be opened, its tag is sometimes right. */
static void fill(const placement *p, int open)
{
    static uint8_t counter, out[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        room[i] = (uint8_t)(i * 7 + counter);
    if (open && counter++ % 2 && rule(p, 0) == SEALANE_OK &&
        sealane_seal(p->key, out, room + p->at[TAG_PART], room + p->at[NONCE_PART], p->nonce_bytes, room + p->at[AD],
                     p->ad_bytes, room + p->at[IN], p->bytes) == 0)
        memmove(room + p->at[IN], out, p->bytes);
    memcpy(before, room, ROOM);
}

static void try_one(const placement *p)
{
    static int (*const ways[2])(const placement *, int) = {run, run_in_batch};
    for (int open = 0; open < 2; open++) {
        fill(p, open);
        const int status = expect(p, open);
        for (int way = 0; way < 2; way++) {
            memcpy(room, before, ROOM);
            const int got = ways[way](p, open);
            if (got != status || memcmp(room, want, ROOM) != 0)
                fail(p, way ? "in a batch" : "alone", open, got, status);
            tried++, refused += got != SEALANE_OK && got != SEALANE_NOT_AUTHENTIC;
        }
    }
}

/* All parts far from each other, or the text in place. */
static placement apart(sealane_key *key, size_t bytes, size_t ad_bytes, int in_place)
{
    return (placement){key, {100, in_place ? 100 : 300, 500, 700, 900}, bytes, ad_bytes, NONCE};
}

static const size_t texts[] = {1, 2, 12, 17, 33}, ads[] = {0, 1, 13, 20};
enum { TEXTS = sizeof texts / sizeof *texts, ADS = sizeof ads / sizeof *ads };

/* One part at all positions from before another to after it. */
static void try_pairs(sealane_key *key, size_t bytes, size_t ad_bytes, int in_place)
{
    const placement far = apart(key, bytes, ad_bytes, in_place);
    for (int moved = 0; moved < PARTS; moved++)
        for (int fixed = 0; fixed < PARTS; fixed++) {
            const int first = far.at[fixed] - (int)length(&far, moved) - 1;
            const int last = far.at[fixed] + (int)length(&far, fixed) + 1;
            for (int at = first; at <= last && moved != fixed; at++) {
                placement p = far;
                p.at[moved] = at;
                if (in_place && moved <= IN)
                    p.at[OUT] = p.at[IN] = at;
                try_one(&p);
            }
        }
}

static uint64_t random_state = 0x9e3779b97f4a7c15; /* the choices are the same in every run */

static size_t below(size_t n)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

/* All parts at random in a window: narrow windows give only mistakes, wide ones few. */
static void try_anywhere(sealane_key *key)
{
    placement p = apart(key, 1 + below(20), below(3) * below(20), 0);
    const size_t window = 20 + below(300);
    for (int part = 0; part < PARTS; part++)
        p.at[part] = (int)below(window);
    if (below(3) == 0)
        p.at[IN] = p.at[OUT];
    if (below(4) == 0)
        p.at[TAG_PART] = p.at[OUT] + (int)p.bytes;
    try_one(&p);
}

/* Every combination of absent parts, of empty text and of empty associated data, with several nonce lengths. */
static void try_absent(sealane_key *key, size_t nonce_bytes)
{
    for (unsigned absent = 0; absent < 1 << PARTS; absent++)
        for (unsigned empty = 0; empty < 4; empty++) {
            placement p = apart(key, empty & 1 ? 0 : 17, empty & 2 ? 0 : 13, absent % 3 == 0);
            for (int part = 0; part < PARTS; part++)
                p.at[part] = absent >> part & 1 ? ABSENT : p.at[part];
            p.nonce_bytes = nonce_bytes;
            /* The reference uses the address of an empty part. */
            if (rule(&p, 0) == SEALANE_OK)
                for (int part = IN; part <= AD; part++)
                    p.at[part] = p.at[part] == ABSENT ? 0 : p.at[part];
            try_one(&p);
        }
}

/* Lengths at which sums with addresses wrap around. */
static void try_lengths(sealane_key *key)
{
    static const size_t huge[] = {(size_t)-1, (size_t)-2, (size_t)-17, (size_t)-200, (size_t)-1 / 2 + 1};
    for (size_t i = 0; i < 2 * sizeof huge / sizeof *huge; i++)
        for (int open = 0; open < 2; open++) {
            placement p = i % 2 ? apart(key, huge[i / 2], 13, 0) : apart(key, 17, huge[i / 2], 0);
            p.at[AD] = p.at[OUT] - 1; /* a very long part covers the output wherever it starts */
            fill(&p, 0);
            const int got = run(&p, open);
            if (got != SEALANE_TOO_LONG || memcmp(room, before, ROOM) != 0)
                fail(&p, "very much text or associated data", open, got, SEALANE_TOO_LONG);
            tried++, refused++;
        }
}

static void crashed(int signal)
{
    static const char text[] = "FAIL a call read or wrote where nothing is\n";
    (void)signal;
    fwrite(text, 1, sizeof text - 1, stdout);
    fflush(stdout);
    _Exit(1);
}

int main(void)
{
    static const uint8_t raw[32] = {1, 2, 3};
    static const size_t nonces[] = {0, 1, 11, NONCE, 13, 24};
    signal(SIGSEGV, crashed);
    if (sealane_key_init(&chacha, SEALANE_CHACHA20_POLY1305, raw, 32) != 0 ||
        sealane_key_init(&gcm, SEALANE_AES_128_GCM, raw, 16) != 0)
        return 1;
    sealane_key *const keys[] = {&chacha, &gcm, NULL};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < (size_t)TEXTS * ADS; i++)
            for (int in_place = 0; in_place < 2; in_place++)
                try_pairs(keys[k], texts[i / ADS], ads[i % ADS], in_place);
        for (int i = 0; i < 20000; i++)
            try_anywhere(keys[k]);
        try_lengths(keys[k]);
    }
    for (size_t i = 0; i < 3 * sizeof nonces / sizeof *nonces; i++)
        try_absent(keys[i % 3], nonces[i / 3]);
    if (refused < tried / 10 || refused > tried - tried / 10) {
        printf("FAIL %lu of %lu refused: too few of a kind\n", refused, tried);
        failures++;
    }
    printf("%lu placements, %lu of them refused\n", tried, refused);
    printf("placements (%s, %s): %d passed, %lu failed, 0 not run\n", sealane_impl_name(&chacha),
           sealane_impl_name(&gcm), failures == 0, failures);
    return failures != 0;
}
