/* aeads: tests AES-CMAC, AES-CCM, AES-GCM-SIV, SSH's ChaCha20-Poly1305 and plain ChaCha20 through the public interface:
 * vectors, pieces, tampering, wrong use.
 *
 *     aeads FILE               FILE: Wycheproof's vectors, flattened by test/vectors/flatten.go
 *     aeads FILE --plant=NAME  plants a fault in a call; must fail
 *
 * Uses include/sealane.h only. */
#include <sealane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 6000, FILL = 0xa5 };

static unsigned passed, failed;
static char why[200];
static const char *plant = "";

static int fail(const char *what, size_t number)
{
    snprintf(why, sizeof why, "%s (%zu)", what, number);
    return 0;
}

static int planted(const char *name)
{
    return strcmp(plant, name) == 0;
}

static uint64_t random_state = 0x243f6a8885a308d3; /* the choices are the same in every run */

static size_t below(size_t n)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

static void randomize(uint8_t *p, size_t n)
{
    while (n-- > 0)
        *p++ = (uint8_t)below(256);
}

static int all(const uint8_t *p, size_t n, uint8_t value)
{
    while (n-- > 0)
        if (*p++ != value)
            return 0;
    return 1;
}

/* ---- The tested functions, as one kind of call ---- */

typedef struct {
    uint8_t key[64], nonce[512], ad[LONGEST], text[LONGEST], sealed[LONGEST], tag[64];
    size_t key_bytes, nonce_bytes, ad_bytes, text_bytes, sealed_bytes, tag_bytes;
} vector;

static sealane_ccm_key ccm_key;
static sealane_gcm_siv_key siv_key;
static int siv; /* tests AES-GCM-SIV instead of AES-CCM */

/* Sets up the key for tags of tag_bytes. */
static int set_up(const uint8_t *key, size_t key_bytes, size_t tag_bytes)
{
    if (siv)
        return tag_bytes == 16 ? sealane_aes_gcm_siv_key_init(&siv_key, key, key_bytes) : SEALANE_INVALID_TAG;
    return sealane_aes_ccm_key_init(&ccm_key, key, key_bytes, tag_bytes);
}

static int seal(uint8_t *out, uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const int status =
        siv ? sealane_aes_gcm_siv_seal(&siv_key, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes)
            : sealane_aes_ccm_seal(&ccm_key, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
    if (planted("seal") && status == 0 && in_bytes == 33)
        out[32] ^= 1;
    return status;
}

static int open_(uint8_t *out, const uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes, const uint8_t *ad,
                 size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    int status = siv ? sealane_aes_gcm_siv_open(&siv_key, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes)
                     : sealane_aes_ccm_open(&ccm_key, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
    if (planted("forgery") && status == SEALANE_NOT_AUTHENTIC)
        status = SEALANE_OK;
    if (planted("text") && status == SEALANE_NOT_AUTHENTIC && in_bytes != 0)
        out[in_bytes - 1] ^= 1;
    return status;
}

/* ---- Vectors ---- */

static size_t from_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;
    unsigned byte;
    for (; hex[0] != '-' && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

static int cmac_vector(const vector *v, int valid)
{
    sealane_aes_key k;
    sealane_aes_cmac s;
    uint8_t mac[16];
    if (sealane_aes_key_init(&k, v->key, v->key_bytes) != 0)
        return !valid;
    if (sealane_aes_cmac_init(&s) != 0 || sealane_aes_cmac_update(&k, &s, v->text, v->text_bytes) != 0 ||
        sealane_aes_cmac_verify(&k, &s, v->tag, v->tag_bytes) != (valid ? SEALANE_OK : SEALANE_NOT_AUTHENTIC))
        return 0;
    if (sealane_aes_cmac_init(&s) != 0 || sealane_aes_cmac_update(&k, &s, v->text, v->text_bytes) != 0 ||
        sealane_aes_cmac_final(&k, &s, mac) != 0)
        return 0;
    return (memcmp(mac, v->tag, v->tag_bytes) == 0) == valid;
}

static int aead_vector(const vector *v, int valid)
{
    static uint8_t out[LONGEST], tag[16 + 16];
    if (set_up(v->key, v->key_bytes, v->tag_bytes) != 0)
        return !valid;
    const int good_nonce = siv ? v->nonce_bytes == 12 : v->nonce_bytes >= 7 && v->nonce_bytes <= 13;
    const int want = !good_nonce ? SEALANE_INVALID_NONCE : valid ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
    memset(out, FILL, sizeof out);
    if (open_(out, v->tag, v->nonce, v->nonce_bytes, v->ad, v->ad_bytes, v->sealed, v->sealed_bytes) != want)
        return 0;
    if (!valid)
        return all(out, v->sealed_bytes, good_nonce ? 0 : FILL);
    if (memcmp(out, v->text, v->text_bytes) != 0)
        return 0;
    memset(tag, FILL, sizeof tag);
    return seal(out, tag, v->nonce, v->nonce_bytes, v->ad, v->ad_bytes, v->text, v->text_bytes) == 0 &&
           memcmp(out, v->sealed, v->sealed_bytes) == 0 && memcmp(tag, v->tag, v->tag_bytes) == 0 &&
           all(tag + v->tag_bytes, sizeof tag - v->tag_bytes, FILL);
}

static int check_vectors(const char *path)
{
    static vector v;
    static char line[1 << 16], field[9][1 << 14];
    size_t ran[3] = {0};
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return fail("cannot open the file of vectors", 0);
    while (fgets(line, sizeof line, f) != NULL) {
        const int n = sscanf(line, "%s %s %s %s %s %s %s %s %s", field[0], field[1], field[2], field[3], field[4],
                             field[5], field[6], field[7], field[8]);
        const int mac = strcmp(field[0], "AES-CMAC") == 0;
        siv = strcmp(field[0], "AES-GCM-SIV") == 0;
        v.key_bytes = from_hex(v.key, field[2]), v.nonce_bytes = from_hex(v.nonce, field[3]);
        v.ad_bytes = from_hex(v.ad, field[4]), v.text_bytes = from_hex(v.text, field[5]);
        v.sealed_bytes = from_hex(v.sealed, field[6]), v.tag_bytes = from_hex(v.tag, field[7]);
        if (planted("vector") && strcmp(field[1], "40") == 0)
            v.text[0] ^= 1;
        if (n != 9 || !(mac ? cmac_vector : aead_vector)(&v, strcmp(field[8], "valid") == 0)) {
            snprintf(why, sizeof why, "%.20s test %.20s", field[0], field[1]);
            fclose(f);
            return 0;
        }
        ran[mac ? 2 : siv]++;
    }
    fclose(f);
    siv = 0;
    printf("     %zu, %zu and %zu vectors of Wycheproof\n", ran[0], ran[1], ran[2]);
    return (ran[0] == 552 && ran[1] == 202 && ran[2] == 311) || fail("how many vectors", ran[0] + ran[1] + ran[2]);
}

/* NIST SP 800-38C, examples 1 and 3; SP 800-38B, example of AES-128 with 40 bytes. */
static int check_specifications(void)
{
    uint8_t raw[16], text[40], nonce[13], ad[20], out[24], tag[8], want[16];
    sealane_aes_key k;
    sealane_aes_cmac s;
    from_hex(raw, "404142434445464748494a4b4c4d4e4f");
    for (size_t i = 0; i < 24; i++)
        text[i] = (uint8_t)(0x20 + i), ad[i % 20] = (uint8_t)(i % 20), nonce[i % 13] = (uint8_t)(0x10 + i % 13);
    if (set_up(raw, 16, 4) != 0 || seal(out, tag, nonce, 7, ad, 8, text, 4) != 0 ||
        memcmp(out, (const uint8_t[]){0x71, 0x62, 0x01, 0x5b}, 4) != 0 ||
        memcmp(tag, (const uint8_t[]){0x4d, 0xac, 0x25, 0x5d}, 4) != 0)
        return fail("SP 800-38C, example 1", 0);
    from_hex(want, "e3b201a9f5b71a7a9b1ceaeccd97e70b");
    if (set_up(raw, 16, 8) != 0 || seal(out, tag, nonce, 12, ad, 20, text, 24) != 0 || memcmp(out, want, 16) != 0 ||
        memcmp(tag, (const uint8_t[]){0x48, 0x43, 0x92, 0xfb, 0xc1, 0xb0, 0x99, 0x51}, 8) != 0)
        return fail("SP 800-38C, example 3", 0);
    from_hex(raw, "2b7e151628aed2a6abf7158809cf4f3c"), from_hex(want, "dfa66747de9ae63030ca32611497c827");
    from_hex(text, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411");
    return (sealane_aes_key_init(&k, raw, 16) == 0 && sealane_aes_cmac_init(&s) == 0 &&
            sealane_aes_cmac_update(&k, &s, text, 40) == 0 && sealane_aes_cmac_final(&k, &s, raw) == 0 &&
            memcmp(raw, want, 16) == 0) ||
           fail("SP 800-38B", 40);
}

/* ---- CMAC in pieces ---- */

static int check_pieces(void)
{
    uint8_t text[400], whole[16], pieces[16], raw[32];
    sealane_aes_key k;
    sealane_aes_cmac s;
    for (size_t bytes = 0; bytes <= sizeof text; bytes++) {
        randomize(text, sizeof text), randomize(raw, 32);
        if (sealane_aes_key_init(&k, raw, 16 + 8 * (bytes % 3)) != 0 || sealane_aes_cmac_init(&s) != 0 ||
            sealane_aes_cmac_update(&k, &s, text, bytes) != 0 || sealane_aes_cmac_final(&k, &s, whole) != 0 ||
            !all((const uint8_t *)&s, sizeof s, 0) || sealane_aes_cmac_init(&s) != 0)
            return fail("a text in one piece", bytes);
        for (size_t at = 0, n; at < bytes; at += n) {
            n = below(below(2) ? 17 : 100);
            n = n < bytes - at ? n : bytes - at;
            if (planted("piece") && at > 0 && n > 0)
                n--, at++;
            if (sealane_aes_cmac_update(&k, &s, n == 0 ? NULL : text + at, n) != 0)
                return fail("a piece", bytes);
        }
        if (sealane_aes_cmac_final(&k, &s, pieces) != 0 || memcmp(whole, pieces, 16) != 0)
            return fail("a text in pieces", bytes);
        for (size_t n = 4; n <= 16; n++) {
            pieces[n - 1] ^= 0x40;
            for (int right = 0; right < 2; right++, pieces[n - 1] ^= 0x40 * (right == 1))
                if (sealane_aes_cmac_init(&s) != 0 || sealane_aes_cmac_update(&k, &s, text, bytes) != 0 ||
                    sealane_aes_cmac_verify(&k, &s, pieces, n) != (right ? SEALANE_OK : SEALANE_NOT_AUTHENTIC) ||
                    !all((const uint8_t *)&s, sizeof s, 0))
                    return fail("comparing", n);
        }
    }
    return 1;
}

/* ---- All lengths, tampering ---- */

static uint8_t text[LONGEST], sealed[LONGEST], out[LONGEST], ad[LONGEST];

/* Opens with one bit of something flipped: separately and in place. */
static int refuses(const uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes, size_t ad_bytes, size_t bytes)
{
    memset(out, FILL, sizeof out);
    if (open_(out, tag, nonce, nonce_bytes, ad, ad_bytes, sealed, bytes) != SEALANE_NOT_AUTHENTIC ||
        !all(out, bytes, 0) || !all(out + bytes, 64, FILL))
        return 0;
    memcpy(out, sealed, bytes);
    return open_(out, tag, nonce, nonce_bytes, ad, ad_bytes, out, bytes) == SEALANE_NOT_AUTHENTIC &&
           memcmp(out, sealed, bytes) == 0;
}

static int check_lengths(void)
{
    uint8_t raw[32], nonce[13], tag[17], again[17];
    for (size_t bytes = 0; bytes <= 300; bytes++) {
        const size_t tag_bytes = siv ? 16 : 4 + 2 * below(7), nonce_bytes = siv ? 12 : 7 + below(7);
        const size_t key_bytes = siv ? 16 + 16 * below(2) : 16 + 8 * below(3), ad_bytes = below(3) ? below(70) : 0;
        randomize(raw, 32), randomize(nonce, 13), randomize(text, bytes), randomize(ad, ad_bytes);
        memset(tag, FILL, sizeof tag), memset(sealed, FILL, sizeof sealed);
        if (set_up(raw, key_bytes, tag_bytes) != 0 ||
            seal(sealed, tag, nonce, nonce_bytes, ad, ad_bytes, text, bytes) != 0 || !all(sealed + bytes, 64, FILL) ||
            !all(tag + tag_bytes, sizeof tag - tag_bytes, FILL))
            return fail("sealing", bytes);
        memcpy(out, text, bytes);
        if (seal(out, again, nonce, nonce_bytes, ad, ad_bytes, out, bytes) != 0 || memcmp(out, sealed, bytes) != 0 ||
            memcmp(tag, again, tag_bytes) != 0)
            return fail("sealing in place", bytes);
        if (open_(out, tag, nonce, nonce_bytes, ad, ad_bytes, out, bytes) != 0 || memcmp(out, text, bytes) != 0)
            return fail("opening in place", bytes);
        for (int i = 0; i < 4; i++) {
            uint8_t *const of = i == 0 ? tag : i == 1 ? sealed : i == 2 ? ad : nonce;
            const size_t n = i == 0 ? tag_bytes : i == 1 ? bytes : i == 2 ? ad_bytes : nonce_bytes;
            for (size_t bit = below(3); bit < 8 * n; bit += 1 + below(bytes > 40 ? 60 : 3)) {
                of[bit / 8] ^= (uint8_t)(1 << bit % 8);
                if (!refuses(tag, nonce, nonce_bytes, ad_bytes, bytes))
                    return fail("a forgery", bit);
                of[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
    }
    return 1;
}

/* ---- Batches ---- */

enum { TEXTS = 21, ROOM = 700 };

/* A text of a batch must give the same result as a single call. */
static struct {
    sealane_aes_key aes[TEXTS];
    sealane_ccm_key ccm[TEXTS];
    size_t bytes[TEXTS], ad_bytes[TEXTS], nonce_bytes[TEXTS], tag_bytes[TEXTS];
    uint8_t in[TEXTS][ROOM], ad[TEXTS][100], nonce[TEXTS][13], out[TEXTS][ROOM], tag[TEXTS][17];
} lot;

/* Texts with keys, some of which share one. All have one length, or each its own. */
static int draw_texts(size_t length)
{
    uint8_t raw[32];
    for (size_t i = 0; i < TEXTS; i++) {
        randomize(raw, 32), randomize(lot.in[i], ROOM), randomize(lot.ad[i], 100), randomize(lot.nonce[i], 13);
        lot.bytes[i] = length < ROOM ? length : below(4) ? below(ROOM - 20) : 16 * below(8);
        lot.ad_bytes[i] = below(3) ? below(100) : 14 * below(2);
        lot.nonce_bytes[i] = 7 + below(7), lot.tag_bytes[i] = 4 + 2 * below(7);
        const size_t key_bytes = 16 + 8 * (below(4) ? 0 : below(3));
        if (sealane_aes_key_init(&lot.aes[i], raw, key_bytes) != 0 ||
            sealane_aes_ccm_key_init(&lot.ccm[i], raw, key_bytes, lot.tag_bytes[i]) != 0)
            return 0;
    }
    memset(lot.out, FILL, sizeof lot.out), memset(lot.tag, FILL, sizeof lot.tag);
    return 1;
}

/* In one text, every fifth is forged, and every seventh has a mistake. */
static int is_forged(size_t i)
{
    return i % 5 == 2;
}

static int is_mistaken(size_t i)
{
    return i % 7 == 4;
}

static int mac_of(size_t i, uint8_t mac[16])
{
    sealane_aes_cmac s;
    return sealane_aes_cmac_init(&s) | sealane_aes_cmac_update(&lot.aes[i], &s, lot.in[i], lot.bytes[i]) |
           sealane_aes_cmac_final(&lot.aes[i], &s, mac);
}

static int check_cmac_batch(size_t count, size_t length)
{
    sealane_cmac_op ops[TEXTS];
    uint8_t want[16];
    size_t good = 0;
    if (!draw_texts(length))
        return fail("a key", 0);
    for (size_t i = 0; i < count; i++) {
        ops[i] = (sealane_cmac_op){.key = &lot.aes[i], .in = lot.in[i], .in_bytes = lot.bytes[i], .mac = lot.tag[i]};
        ops[i].key = is_mistaken(i) ? NULL : ops[i].key, good += !is_mistaken(i);
        ops[i].status = SEALANE_TOO_LATE;
    }
    const size_t made = sealane_aes_cmac_batch(ops, count);
    if (planted("mac") && count > 9)
        lot.tag[9][3] ^= 1;
    for (size_t i = 0; i < count; i++)
        if (made != good || ops[i].status != (is_mistaken(i) ? SEALANE_INVALID_KEY : SEALANE_OK) ||
            mac_of(i, want) != 0 || (!is_mistaken(i) && memcmp(lot.tag[i], want, 16) != 0) ||
            (is_mistaken(i) && !all(lot.tag[i], 16, FILL)) || lot.tag[i][16] != FILL)
            return fail("a MAC of a batch", lot.bytes[i]);
    good = 0;
    for (size_t i = 0; i < count; i++) {
        ops[i].mac_bytes = is_mistaken(i) ? i % 2 * 17 : 4 + i % 13;
        ops[i].key = &lot.aes[i], ops[i].status = SEALANE_TOO_LATE;
        lot.tag[i][3 + i % (ops[i].mac_bytes ? 1 : 2)] ^= is_forged(i);
        good += !is_mistaken(i) && !is_forged(i);
    }
    const size_t right = sealane_aes_cmac_verify_batch(ops, count);
    if (planted("verified") && count > 2)
        ops[2].status = SEALANE_OK;
    for (size_t i = 0; i < count; i++)
        if (right != good || ops[i].status != (is_mistaken(i) ? SEALANE_INVALID_TAG
                                               : is_forged(i) ? SEALANE_NOT_AUTHENTIC
                                                              : SEALANE_OK))
            return fail("a MAC compared in a batch", lot.bytes[i]);
    return 1;
}

static sealane_ccm_op op_of(size_t i, int in_place)
{
    if (in_place)
        memcpy(lot.out[i], lot.in[i], lot.bytes[i]);
    return (sealane_ccm_op){.out = lot.out[i],
                            .in = in_place ? lot.out[i] : lot.in[i],
                            .in_bytes = lot.bytes[i],
                            .ad = lot.ad_bytes[i] ? lot.ad[i] : NULL,
                            .ad_bytes = lot.ad_bytes[i],
                            .key = &lot.ccm[i],
                            .nonce = lot.nonce[i],
                            .nonce_bytes = is_mistaken(i) ? 6 : lot.nonce_bytes[i],
                            .tag = lot.tag[i],
                            .status = SEALANE_TOO_LATE};
}

/* Seals, then opens; every second text in place. */
static int check_ccm_batch(size_t count, size_t length)
{
    static uint8_t plain[TEXTS][ROOM], want[ROOM];
    sealane_ccm_op ops[TEXTS];
    uint8_t tag[16];
    size_t good = 0;
    if (!draw_texts(length))
        return fail("a key", 0);
    memcpy(plain, lot.in, sizeof plain);
    for (size_t i = 0; i < count; i++)
        ops[i] = op_of(i, i % 2), good += !is_mistaken(i);
    const size_t sealed_texts = sealane_aes_ccm_seal_batch(ops, count);
    if (planted("batch") && count > 8)
        lot.out[8][lot.bytes[8] - (lot.bytes[8] > 0)] ^= 1;
    for (size_t i = 0; i < count; i++) {
        const int status = sealane_aes_ccm_seal(&lot.ccm[i], want, tag, lot.nonce[i], ops[i].nonce_bytes, lot.ad[i],
                                                lot.ad_bytes[i], plain[i], lot.bytes[i]);
        if (sealed_texts != good || ops[i].status != status || (status == 0) == is_mistaken(i) ||
            !all(lot.out[i] + lot.bytes[i], ROOM - lot.bytes[i], FILL) ||
            (status == 0 &&
             (memcmp(lot.out[i], want, lot.bytes[i]) != 0 || memcmp(lot.tag[i], tag, lot.tag_bytes[i]) != 0)) ||
            !all(lot.tag[i] + (status == 0 ? lot.tag_bytes[i] : 0), 17 - (status == 0 ? lot.tag_bytes[i] : 0), FILL))
            return fail("sealed in a batch", lot.bytes[i]);
        if (status == 0)
            memcpy(lot.in[i], want, lot.bytes[i]);
        if (is_forged(i) && i % 2 == 0)
            lot.tag[i][lot.tag_bytes[i] - 1] ^= 0x80;
        else if (is_forged(i) && lot.bytes[i] > 0)
            lot.in[i][lot.bytes[i] - 1] ^= 1;
        else if (is_forged(i))
            lot.nonce[i][0] ^= 1;
    }
    good = 0;
    memset(lot.out, FILL, sizeof lot.out);
    for (size_t i = 0; i < count; i++)
        ops[i] = op_of(i, i % 2), good += !is_mistaken(i) && !is_forged(i);
    const size_t opened = sealane_aes_ccm_open_batch(ops, count);
    if (planted("opened") && count > 12)
        lot.out[12][0] ^= 1;
    for (size_t i = 0; i < count; i++) {
        const sealane_status right = is_mistaken(i) ? SEALANE_INVALID_NONCE
                                     : is_forged(i) ? SEALANE_NOT_AUTHENTIC
                                                    : SEALANE_OK;
        const uint8_t *const left = right == SEALANE_OK ? plain[i] : i % 2 ? lot.in[i] : NULL;
        if (opened != good || ops[i].status != right || (left != NULL && memcmp(lot.out[i], left, lot.bytes[i]) != 0) ||
            (left == NULL && !all(lot.out[i], lot.bytes[i], is_mistaken(i) ? FILL : 0)) ||
            !all(lot.out[i] + lot.bytes[i], ROOM - lot.bytes[i], FILL))
            return fail("opened in a batch", lot.bytes[i]);
    }
    return 1;
}

static int check_batches(void)
{
    for (size_t length = 0; length <= 160; length++)
        if (!check_cmac_batch(9, length) || !check_ccm_batch(TEXTS - 7 * (length % 2), length))
            return 0;
    for (size_t count = 0; count <= TEXTS; count++)
        for (int i = 0; i < 6; i++)
            if (!check_cmac_batch(count, ROOM) || !check_ccm_batch(count, ROOM))
                return 0;
    uint8_t *const in = lot.in[0], *const mac = lot.tag[0];
    sealane_cmac_op ops[] = {
        {.key = &lot.aes[0], .in = in, .in_bytes = 9, .mac = NULL},
        {.key = &lot.aes[0], .in = NULL, .in_bytes = 9, .mac = mac},
        {.key = &lot.aes[0], .in = in, .in_bytes = (size_t)-1, .mac = mac},
        {.key = &lot.aes[0], .in = in, .in_bytes = 9, .mac = in + 8},
        {.key = &lot.aes[0], .in = NULL, .in_bytes = 0, .mac = mac},
    };
    static const sealane_status refused[] = {SEALANE_NULL, SEALANE_NULL, SEALANE_TOO_LONG, SEALANE_OVERLAP, SEALANE_OK};
    if (sealane_aes_cmac_batch(ops, 5) != 1)
        return fail("how many are good", 0);
    for (size_t i = 0; i < 5; i++)
        if (ops[i].status != refused[i])
            return fail("a mistake in a batch", i);
    return (sealane_aes_cmac_batch(NULL, 3) | sealane_aes_cmac_verify_batch(NULL, 3) |
            sealane_aes_ccm_seal_batch(NULL, 3) | sealane_aes_ccm_open_batch(NULL, 3)) == 0 ||
           fail("no batch", 0);
}

/* ---- Wrong use ---- */

static int refused(const char *what, int got, int want)
{
    return (got == want && all(out, sizeof out, FILL)) || fail(what, (size_t)-got);
}

static int check_wrong_use(void)
{
    static uint8_t room[200];
    uint8_t *const tag = out + 1000, *const nonce = room;
    const uint8_t raw[32] = {1};
    sealane_ccm_key k, none;
    sealane_aes_key a;
    sealane_aes_cmac s, no_s;
    memset(out, FILL, sizeof out), memset(&no_s, 0, sizeof no_s);
    for (size_t n = 0; n <= 40; n++)
        for (size_t t = 0; t <= 20; t++) {
            const int good_key = n == 16 || n == 24 || n == 32, good_tag = t >= 4 && t <= 16 && t % 2 == 0;
            memset(&k, 3, sizeof k);
            if (sealane_aes_ccm_key_init(&k, raw, n, t) != (!good_key   ? SEALANE_INVALID_KEY
                                                            : !good_tag ? SEALANE_INVALID_TAG
                                                                        : SEALANE_OK) ||
                (!(good_key && good_tag) && !all((const uint8_t *)&k, sizeof k, 0)))
                return fail("key or tag", 100 * n + t);
        }
    if (sealane_aes_ccm_key_init(NULL, raw, 16, 16) != SEALANE_NULL ||
        sealane_aes_ccm_key_init(&none, NULL, 16, 16) != SEALANE_NULL ||
        sealane_aes_ccm_key_init(&none, (uint8_t *)&none + 8, 16, 16) != SEALANE_OVERLAP ||
        sealane_aes_ccm_key_init(&k, raw, 16, 16) != 0 || sealane_aes_key_init(&a, raw, 16) != 0 ||
        sealane_aes_cmac_init(&s) != 0 || sealane_aes_cmac_init(NULL) != SEALANE_INVALID_STREAM)
        return fail("a key", 0);
#define REFUSED(call, status) refused(#call, call, status)
    if (!REFUSED(sealane_aes_ccm_seal(&none, out, tag, nonce, 12, NULL, 0, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_ccm_open(NULL, out, tag, nonce, 12, NULL, 0, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 6, NULL, 0, text, 9), SEALANE_INVALID_NONCE) ||
        !REFUSED(sealane_aes_ccm_open(&k, out, tag, nonce, 14, NULL, 0, text, 9), SEALANE_INVALID_NONCE) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 13, NULL, 0, text, 65536), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ccm_open(&k, out, tag, nonce, 12, NULL, 0, text, 1 << 24), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ccm_open(&k, out, tag, nonce, 7, NULL, 0, text, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 7, ad, (size_t)-1, text, 9), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, NULL, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, NULL, nonce, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ccm_open(&k, out, tag, nonce, 12, NULL, 3, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ccm_open(&k, NULL, tag, nonce, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 12, NULL, 0, NULL, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 12, NULL, 0, out + 1, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, out + 8, nonce, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ccm_open(&k, out, out + 8, nonce, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, out + 8, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, tag + 15, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ccm_seal(&k, out, tag, nonce, 12, out + 8, 12, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cmac_update(&a, &no_s, text, 9), SEALANE_INVALID_STREAM) ||
        !REFUSED(sealane_aes_cmac_update(&a, NULL, text, 9), SEALANE_INVALID_STREAM) ||
        !REFUSED(sealane_aes_cmac_update(NULL, &s, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_cmac_update(&a, &s, NULL, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_cmac_update(&a, &s, text, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_cmac_update(&a, &s, s.held, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cmac_final(&a, &no_s, tag), SEALANE_INVALID_STREAM) ||
        !REFUSED(sealane_aes_cmac_final(NULL, &s, tag), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_cmac_final(&a, &s, NULL), SEALANE_NULL) ||
        !REFUSED(sealane_aes_cmac_final(&a, &s, s.chain), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cmac_verify(&a, &s, tag, 3), SEALANE_INVALID_TAG) ||
        !REFUSED(sealane_aes_cmac_verify(&a, &s, tag, 17), SEALANE_INVALID_TAG) ||
        !REFUSED(sealane_aes_cmac_verify(&a, &s, NULL, 16), SEALANE_NULL) ||
        !REFUSED(sealane_aes_cmac_verify(&a, &s, s.held, 16), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cmac_verify(NULL, &s, tag, 16), SEALANE_INVALID_KEY))
        return 0;
#undef REFUSED
    uint8_t mac[16];
    if (sealane_aes_cmac_final(&a, &s, mac) != 0 || sealane_aes_cmac_final(&a, &s, mac) != SEALANE_INVALID_STREAM)
        return fail("what was refused changed a text, or it can be ended twice", 0);
    sealane_aes_ccm_key_wipe(&k), sealane_aes_ccm_key_wipe(NULL), sealane_aes_cmac_wipe(&s),
        sealane_aes_cmac_wipe(NULL);
    return (all((const uint8_t *)&k, sizeof k, 0) &&
            sealane_aes_ccm_seal(&k, out, tag, nonce, 12, NULL, 0, text, 9) == SEALANE_INVALID_KEY) ||
           fail("a key that was wiped", 0);
}

static int check_wrong_siv(void)
{
    static uint8_t room[200];
    uint8_t *const tag = out + 1000, *const nonce = room;
    const uint8_t raw[32] = {1};
    sealane_gcm_siv_key k, none;
    memset(out, FILL, sizeof out), memset(&none, 0, sizeof none);
    for (size_t n = 0; n <= 40; n++) {
        memset(&k, 3, sizeof k);
        if (sealane_aes_gcm_siv_key_init(&k, raw, n) != (n == 16 || n == 32 ? SEALANE_OK : SEALANE_INVALID_KEY) ||
            (n != 16 && n != 32 && !all((const uint8_t *)&k, sizeof k, 0)))
            return fail("key", n);
    }
    if (sealane_aes_gcm_siv_key_init(NULL, raw, 16) != SEALANE_NULL ||
        sealane_aes_gcm_siv_key_init(&none, NULL, 16) != SEALANE_NULL ||
        sealane_aes_gcm_siv_key_init(&none, (uint8_t *)&none + 8, 16) != SEALANE_OVERLAP ||
        sealane_aes_gcm_siv_key_init(&k, raw, 32) != 0)
        return fail("a key", 0);
#define REFUSED(call, status) refused(#call, call, status)
    if (!REFUSED(sealane_aes_gcm_siv_seal(&none, out, tag, nonce, 12, NULL, 0, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_gcm_siv_open(NULL, out, tag, nonce, 12, NULL, 0, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, nonce, 11, NULL, 0, text, 9), SEALANE_INVALID_NONCE) ||
        !REFUSED(sealane_aes_gcm_siv_open(&k, out, tag, nonce, 13, NULL, 0, text, 9), SEALANE_INVALID_NONCE) ||
        !REFUSED(sealane_aes_gcm_siv_open(&k, out, tag, nonce, 12, NULL, 0, text, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, nonce, 12, ad, (size_t)-1, text, 9), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, NULL, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, NULL, nonce, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_gcm_siv_open(&k, out, tag, nonce, 12, NULL, 3, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_gcm_siv_open(&k, NULL, tag, nonce, 12, NULL, 0, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, nonce, 12, NULL, 0, out + 1, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_gcm_siv_open(&k, out, out + 8, nonce, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, out + 8, 12, NULL, 0, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_gcm_siv_seal(&k, out, tag, nonce, 12, out + 8, 12, text, 9), SEALANE_OVERLAP))
        return 0;
#undef REFUSED
    sealane_aes_gcm_siv_key_wipe(&k), sealane_aes_gcm_siv_key_wipe(NULL);
    return (all((const uint8_t *)&k, sizeof k, 0) &&
            sealane_aes_gcm_siv_seal(&k, out, tag, nonce, 12, NULL, 0, text, 9) == SEALANE_INVALID_KEY) ||
           fail("a key that was wiped", 0);
}

/* Compares long texts with POLYVAL and the cipher from their definitions (RFC 8452, sections 3 and 4), block by
 * block. */
static void polyval_step(uint8_t sum[16], const uint8_t h[16], const uint8_t block[16])
{
    uint8_t product[16] = {0}, v[16];
    for (int i = 0; i < 16; i++)
        sum[i] ^= block[i];
    /* sum * h * x^-128: from the highest power of x in h down, each step divides by x. From x^128 = x^127 + x^126 +
     * x^121 + 1 follows x^-1 = x^127 + x^126 + x^125 + x^120. */
    memcpy(v, sum, 16);
    for (int bit = 127; bit >= 0; bit--) {
        uint8_t low = v[0] & 1;
        for (int i = 0; i < 16; i++)
            v[i] = (uint8_t)(v[i] >> 1 | (i < 15 ? v[i + 1] << 7 : 0));
        if (low)
            v[15] ^= 0xe1; /* x^127 + x^126 + x^125 + x^120 */
        if (h[bit / 8] >> bit % 8 & 1)
            for (int i = 0; i < 16; i++)
                product[i] ^= v[i];
    }
    memcpy(sum, product, 16);
}

static void polyval_of(uint8_t sum[16], const uint8_t h[16], const uint8_t *in, size_t bytes)
{
    for (uint8_t block[16]; bytes > 0; in += 16, bytes -= bytes < 16 ? bytes : 16) {
        memset(block, 0, 16), memcpy(block, in, bytes < 16 ? bytes : 16);
        polyval_step(sum, h, block);
    }
}

static int siv_by_definition(const uint8_t *raw, size_t key_bytes, const uint8_t nonce[12], size_t ad_bytes,
                             size_t bytes)
{
    static sealane_aes_key generating, message;
    uint8_t in[16], block[16], keys[48], sum[16] = {0}, lengths[16] = {0};
    if (sealane_aes_key_init(&generating, raw, key_bytes) != 0)
        return 0;
    for (size_t i = 0; i < 2 + key_bytes / 8; i++) {
        memset(in, 0, 4), in[0] = (uint8_t)i, memcpy(in + 4, nonce, 12);
        if (sealane_aes_ecb_encrypt(&generating, block, in, 16) != 0)
            return 0;
        memcpy(keys + 8 * i, block, 8);
    }
    for (size_t i = 0; i < 8; i++)
        lengths[i] = (uint8_t)((uint64_t)ad_bytes * 8 >> 8 * i),
        lengths[8 + i] = (uint8_t)((uint64_t)bytes * 8 >> 8 * i);
    polyval_of(sum, keys, ad, ad_bytes), polyval_of(sum, keys, text, bytes), polyval_of(sum, keys, lengths, 16);
    for (size_t i = 0; i < 12; i++)
        sum[i] ^= nonce[i];
    sum[15] &= 0x7f;
    if (sealane_aes_key_init(&message, keys + 16, key_bytes) != 0 ||
        sealane_aes_ecb_encrypt(&message, sum, sum, 16) != 0 || memcmp(sum, out + LONGEST - 16, 16) != 0)
        return 0;
    sum[15] |= 0x80;
    for (size_t at = 0; at < bytes; at += 16) {
        if (sealane_aes_ecb_encrypt(&message, block, sum, 16) != 0)
            return 0;
        for (size_t i = 0; i < 16 && at + i < bytes; i++)
            if (sealed[at + i] != (text[at + i] ^ block[i]))
                return 0;
        for (int i = 0; i < 4 && ++sum[i] == 0; i++)
            ;
    }
    return 1;
}

static int check_siv_definition(void)
{
    uint8_t raw[32], nonce[12];
    for (int i = 0; i < 60; i++) {
        const size_t bytes = below(LONGEST - 16), ad_bytes = below(2) ? below(LONGEST) : below(40),
                     key_bytes = 16 + 16 * below(2);
        randomize(raw, 32), randomize(nonce, 12), randomize(text, bytes), randomize(ad, ad_bytes);
        siv = 1;
        if (set_up(raw, key_bytes, 16) != 0 ||
            seal(sealed, out + LONGEST - 16, nonce, 12, ad, ad_bytes, text, bytes) != 0 ||
            !siv_by_definition(raw, key_bytes, nonce, ad_bytes, bytes))
            return fail("a text by the definition", bytes);
    }
    return 1;
}

static int check_ssh(void)
{
    static sealane_ssh_key k, none;
    uint8_t raw[64], tag[17];
    uint32_t length, two[2] = {0};
    uint8_t *const beside = out + 3000;
    randomize(raw, 64);
    for (size_t n = 0; n <= 70; n++)
        if (sealane_ssh_key_init(&k, raw, n) != (n == 64 ? SEALANE_OK : SEALANE_INVALID_KEY) ||
            (n != 64 && !all((const uint8_t *)&k, sizeof k, 0)))
            return fail("key", n);
    if (sealane_ssh_key_init(NULL, raw, 64) != SEALANE_NULL || sealane_ssh_key_init(&none, NULL, 64) != SEALANE_NULL ||
        sealane_ssh_key_init(&none, (uint8_t *)&none + 8, 64) != SEALANE_OVERLAP ||
        sealane_ssh_key_init(&k, raw, 64) != 0)
        return fail("a key", 0);
    for (size_t bytes = 4; bytes <= 600; bytes++) {
        const uint32_t sequence = (uint32_t)(bytes * 0x9e3779b9);
        randomize(text, bytes), memset(tag, FILL, sizeof tag), memset(sealed, FILL, sizeof sealed);
        if (sealane_ssh_seal(&k, sequence, sealed, tag, text, bytes) != 0 || tag[16] != FILL ||
            !all(sealed + bytes, 64, FILL))
            return fail("sealing", bytes);
        memset(out, FILL, sizeof out);
        if (sealane_ssh_length(&k, sequence, &length, sealed) != 0 || length >> 24 != text[0] ||
            (length & 0xff) != text[3] || sealane_ssh_open(&k, sequence, out, tag, sealed, bytes) != 0 ||
            memcmp(out, text, bytes) != 0 || !all(out + bytes, 64, FILL))
            return fail("opening", bytes);
        for (size_t bit = below(3); bit < 8 * (bytes + 17); bit += 1 + below(60)) {
            uint8_t *const of = bit < 8 * bytes ? sealed + bit / 8 : tag + (bit / 8 - bytes);
            const uint32_t other = bit >= 8 * (bytes + 16) ? sequence + 1 + (uint32_t)below(99) : sequence;
            *of ^= (uint8_t)(other == sequence ? 1 << bit % 8 : 0);
            memset(out, FILL, sizeof out);
            if (sealane_ssh_open(&k, other, out, tag, sealed, bytes) != SEALANE_NOT_AUTHENTIC || !all(out, bytes, 0) ||
                !all(out + bytes, 64, FILL))
                return fail("a forgery", bit);
            *of ^= (uint8_t)(other == sequence ? 1 << bit % 8 : 0);
        }
    }
    memset(out, FILL, sizeof out);
#define REFUSED(call, status) refused(#call, call, status)
    if (!REFUSED(sealane_ssh_seal(&none, 1, out, beside, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_ssh_open(NULL, 1, out, beside, text, 9), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_ssh_length(&none, 1, &length, text), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_ssh_length(&k, 1, NULL, text), SEALANE_NULL) ||
        !REFUSED(sealane_ssh_length(&k, 1, &length, NULL), SEALANE_NULL) ||
        !REFUSED(sealane_ssh_length(&k, 1, two, (const uint8_t *)two + 3), SEALANE_OVERLAP) ||
        !REFUSED(sealane_ssh_seal(&k, 1, out, beside, text, 3), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_ssh_open(&k, 1, out, beside, text, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_ssh_seal(&k, 1, NULL, beside, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_ssh_seal(&k, 1, out, NULL, text, 9), SEALANE_NULL) ||
        !REFUSED(sealane_ssh_open(&k, 1, out, beside, NULL, 9), SEALANE_NULL) ||
        !REFUSED(sealane_ssh_seal(&k, 1, out, beside, out + 1, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_ssh_seal(&k, 1, out, out + 8, text, 9), SEALANE_OVERLAP) ||
        !REFUSED(sealane_ssh_open(&k, 1, out, out + 8, text, 9), SEALANE_OVERLAP))
        return 0;
#undef REFUSED
    sealane_ssh_key_wipe(&k), sealane_ssh_key_wipe(NULL);
    return (all((const uint8_t *)&k, sizeof k, 0) &&
            sealane_ssh_seal(&k, 1, out, beside, text, 9) == SEALANE_INVALID_KEY) ||
           fail("a key that was wiped", 0);
}

/* ---- Plain ChaCha20 ---- */

/* draft-agl-tls-chacha20poly1305-04, section 7. The bytes of a key are zero except the last, or count from zero. So
 * are those of a nonce, or only its first byte is set. The keystream starts at block 0. */
static const struct {
    int key_end, nonce_begin, nonce_end;
    const char *stream;
} streams[] = {
    {0, 0, 0,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669"},
    {1, 0, 0,
     "4540f05a9f1fb296d7736e7b208e3c96eb4fe1834688d2604f450952ed432d41"
     "bbe2a0b6ea7566d2a5d1e7e20d42af2c53d792b1c43fea817e9ad275ae546963"},
    {0, 0, 1,
     "de9cba7bf3d69ef5e786dc63973f653a0b49e015adbff7134fcb7df137821031"
     "e85a050278a7084527214f73efc7fa5b5277062eb7a0433e445f41e3"},
    {0, 1, 0,
     "ef3fdfd6c61578fbf5cf35bd3dd33b8009631634d21e42ac33960bd138e50d32"
     "111e4caf237ee53ca8ad6426194a88545ddc497a0b466e7d6bbdb0041b2f586b"},
    {-1, -1, -1,
     "f798a189f195e66982105ffb640bb7757f579da31602fc93ec01ac56f85ac3c1"
     "34a4547b733b46413042c9440049176905d3be59ea1c53f15916155c2be8241a"
     "38008b9a26bc35941e2444177c8ade6689de95264986d95889fb60e84629c9bd"
     "9a5acb1cc118be563eb9b3a4a472f82e09a7e778492b562ef7130e88dfe031c7"
     "9db9d4f7c7a899151b9a475032b63fc385245fe054e3dd5a97a5f576fe064025"
     "d3ce042c566ab2c507b138db853e3d6959660996546cc9c4a6eafdc777c040d7"
     "0eaf46f76dad3979e5c5360c3317166a1c894c94a371876a94df7628fe4eaaf2"
     "ccb27d5aaae0ad7ad0f9d4b6ad3b54098746d4524d38407a6deb3ab78fab78c9"},
};

static int check_streams(void)
{
    sealane_key k;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        uint8_t raw[32] = {0}, nonce[8] = {0}, want[256];
        const size_t bytes = strlen(streams[i].stream) / 2;
        for (size_t at = 0; at < bytes; at++)
            if (sscanf(streams[i].stream + 2 * at, "%2hhx", &want[at]) != 1)
                return fail("the test itself", i);
        for (int at = 0; at < 32 && streams[i].key_end < 0; at++)
            raw[at] = (uint8_t)at, nonce[at % 8] = (uint8_t)(at % 8);
        if (streams[i].key_end >= 0)
            raw[31] = (uint8_t)streams[i].key_end, nonce[0] = (uint8_t)streams[i].nonce_begin,
            nonce[7] = (uint8_t)streams[i].nonce_end;
        memset(text, 0, bytes), memset(out, FILL, sizeof out);
        want[bytes / 2] ^= (uint8_t)planted("stream");
        if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, raw, 32) != 0 ||
            sealane_chacha20_xor(&k, nonce, 0, out, text, bytes) != 0 || memcmp(out, want, bytes) != 0 ||
            !all(out + bytes, 64, FILL))
            return fail("a published stream", i);
    }
    return 1;
}

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* A block from the definition. */
static void stream_block(uint8_t block[64], const uint8_t key[32], const uint8_t nonce[8], uint64_t counter)
{
    static const uint8_t quarters[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                           {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};
    uint32_t first[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    for (int i = 0; i < 32; i++)
        first[4 + i / 4] |= (uint32_t)key[i] << i % 4 * 8;
    first[12] = (uint32_t)counter, first[13] = (uint32_t)(counter >> 32);
    for (int i = 0; i < 8; i++)
        first[14 + i / 4] |= (uint32_t)nonce[i] << i % 4 * 8;
    memcpy(x, first, sizeof x);
    for (int i = 0; i < 80; i++) {
        uint32_t *a = &x[quarters[i % 8][0]], *b = &x[quarters[i % 8][1]], *c = &x[quarters[i % 8][2]],
                 *d = &x[quarters[i % 8][3]];
        *a += *b, *d = rotate(*d ^ *a, 16), *c += *d, *b = rotate(*b ^ *c, 12);
        *a += *b, *d = rotate(*d ^ *a, 8), *c += *d, *b = rotate(*b ^ *c, 7);
    }
    for (int i = 0; i < 64; i++)
        block[i] = (uint8_t)((x[i / 4] + first[i / 4]) >> i % 4 * 8);
}

/* Any length from any counter, most of them across a carry, and refusals. */
static int check_chacha20(void)
{
    static sealane_key k, none, other;
    uint8_t raw[32], nonce[8], block[64];
    for (size_t i = 0; i < 400; i++) {
        const size_t bytes = i < 300 ? i : below(LONGEST - 64), blocks = bytes / 64 + 1;
        uint64_t counter = (uint64_t)below(1 << 30) << 32 | (i % 2 ? below(1 << 30) : 0xffffffff - below(blocks));
        if (i % 8 == 7) /* up to the last counter */
            counter = UINT64_MAX - (uint64_t)(bytes + 63) / 64;
        randomize(raw, 32), randomize(nonce, 8), randomize(text, bytes), memset(out, FILL, sizeof out);
        if (i % 3 == 0)
            memcpy(out, text, bytes);
        if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, raw, 32) != 0 ||
            sealane_chacha20_xor(&k, nonce, counter, out, i % 3 == 0 ? out : text, bytes) != 0)
            return fail("ChaCha20", bytes);
        for (size_t at = 0; at < bytes; at++) {
            if (at % 64 == 0)
                stream_block(block, raw, nonce, counter + at / 64 - (uint64_t)(planted("carry") && counter > 9));
            if (out[at] != (text[at] ^ block[at % 64]))
                return fail("ChaCha20 by its definition", bytes);
        }
        if (i % 3 != 0 && !all(out + bytes, 64, FILL))
            return fail("ChaCha20, after the text", bytes);
    }
    memset(out, FILL, sizeof out);
#define REFUSED(call, status) refused(#call, call, status)
    return sealane_key_init(&other, SEALANE_XCHACHA20_POLY1305, raw, 32) == 0 &&
           REFUSED(sealane_chacha20_xor(NULL, nonce, 0, out, text, 9), SEALANE_INVALID_KEY) &&
           REFUSED(sealane_chacha20_xor(&none, nonce, 0, out, text, 9), SEALANE_INVALID_KEY) &&
           REFUSED(sealane_chacha20_xor(&other, nonce, 0, out, text, 9), SEALANE_INVALID_KEY) &&
           REFUSED(sealane_chacha20_xor(&k, NULL, 0, out, text, 9), SEALANE_NULL) &&
           REFUSED(sealane_chacha20_xor(&k, nonce, 0, NULL, text, 9), SEALANE_NULL) &&
           REFUSED(sealane_chacha20_xor(&k, nonce, 0, out, NULL, 9), SEALANE_NULL) &&
           REFUSED(sealane_chacha20_xor(&k, nonce, 0, out, out + 1, 9), SEALANE_OVERLAP) &&
           REFUSED(sealane_chacha20_xor(&k, out + 8, 0, out, text, 9), SEALANE_OVERLAP) &&
           REFUSED(sealane_chacha20_xor(&k, nonce, 0, out, text, (size_t)-1), SEALANE_TOO_LONG) &&
           REFUSED(sealane_chacha20_xor(&k, nonce, UINT64_MAX - 1, out, text, 65), SEALANE_TOO_LONG);
#undef REFUSED
}

static void report(const char *name, int outcome)
{
    printf("%s %s%s%s\n", outcome ? "ok  " : "FAIL", name, outcome ? "" : ": ", outcome ? "" : why);
    passed += outcome != 0, failed += outcome == 0;
}

int main(int argc, char **argv)
{
    sealane_aes_key k;
    if (argc < 2 || sealane_aes_key_init(&k, (const uint8_t[16]){0}, 16) != 0)
        return 2;
    if (argc > 2 && strncmp(argv[2], "--plant=", 8) == 0)
        plant = argv[2] + 8;
    report("vectors of the specifications", check_specifications());
    report("Wycheproof", check_vectors(argv[1]));
    report("CMAC in pieces", check_pieces());
    report("CCM: lengths and forgeries", check_lengths());
    report("batches of CMAC and CCM", check_batches());
    report("wrong use", check_wrong_use());
    report("GCM-SIV by its definition", check_siv_definition());
    report("GCM-SIV: lengths and forgeries", check_lengths());
    report("wrong use of GCM-SIV", check_wrong_siv());
    report("SSH's packets", check_ssh());
    report("published streams of ChaCha20", check_streams());
    report("ChaCha20 by its definition", check_chacha20());
    printf("aeads (%s): %u passed, %u failed, 0 not run\n", sealane_aes_impl_name(&k), passed, failed);
    return failed != 0;
}
