/* api: tests the public interface like any program: vectors, tampering, wrong input, streams, pieces, threads.
 *
 *     api [FILE]               FILE: Wycheproof's and NIST's vectors, flattened by test/vectors/flatten.go
 *     api FILE --plant=NUMBER  only those of unauthenticated AES, with a fault in that one; must fail
 *     api FILE --some          flips only every 29th bit of packets, and cuts fewer into pieces: for emulated CPUs
 *     api --name               prints only the level in use
 *
 * Uses include/sealane.h only, so it can test an installed library too. */
#include <sealane.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 70000 };

static unsigned passed, failed, not_run;
static char why[200];

static int fail(const char *what, size_t number)
{
    snprintf(why, sizeof why, "%s (%zu)", what, number);
    return 0;
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

/* Every algorithm, with the nonce sizes to try. */
enum { LONGEST_NONCE = 113 };

static const struct {
    sealane_alg alg;
    size_t key_bytes, nonce_bytes;
} kinds[] = {
    {SEALANE_CHACHA20_POLY1305, 32, 12},
    {SEALANE_XCHACHA20_POLY1305, 32, 24},
    {SEALANE_AES_128_GCM, 16, 12},
    {SEALANE_AES_192_GCM, 24, 12},
    {SEALANE_AES_256_GCM, 32, 12},
    {SEALANE_AES_128_GCM, 16, 1},
    {SEALANE_AES_192_GCM, 24, 16},
    {SEALANE_AES_256_GCM, 32, LONGEST_NONCE},
    {SEALANE_AES_128_GCM, 16, LONGEST_NONCE - 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Vectors ---- */

static size_t from_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;
    unsigned byte;
    for (; hex[0] != '-' && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

typedef struct {
    uint8_t key[64], nonce[512], ad[8192], text[8192], sealed[8192], tag[64];
    size_t key_bytes, nonce_bytes, ad_bytes, text_bytes, sealed_bytes, tag_bytes;
} vector;

/* The text of a refused packet: zeroes in a separate output, and the previous content in place. */
static int taken_back(const uint8_t *out, const uint8_t *in, const uint8_t *as_it_came, size_t bytes)
{
    return out == in ? bytes == 0 || memcmp(out, as_it_came, bytes) == 0 : all(out, bytes, 0);
}

/* Opens or seals a packet in a batch, between authentic neighbors, which must not be affected. The status and the text,
 * or the bytes that a forgery leaves, must be as given. */
static int in_batch_of(int open, const sealane_key *k, uint8_t *out, const uint8_t *tag, const uint8_t *nonce,
                       size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes,
                       sealane_status status)
{
    enum { PACKETS = 9 };
    static uint8_t text[PACKETS][100], tags[PACKETS][16], numbers[PACKETS][LONGEST_NONCE];
    static uint8_t as_it_came[8192];
    static sealane_key keys[KINDS];
    static int ready;
    const size_t at = below(PACKETS);
    sealane_op ops[PACKETS];
    for (size_t i = 0; i < KINDS && !ready; i++)
        if (sealane_key_init(&keys[i], kinds[i].alg, (const uint8_t[32]){3}, kinds[i].key_bytes) != 0)
            return 0;
    ready = 1;
    const size_t first = below(KINDS);
    for (size_t i = 0; i < PACKETS; i++) {
        const size_t kind = i % 3 == 2 ? (first + i) % KINDS : i % 2; /* of many kinds, but most of the first two */
        memset(text[i], (int)i, sizeof text[i]), numbers[i][0] = (uint8_t)i;
        ops[i] = (sealane_op){.key = &keys[kind], .nonce = numbers[i], .nonce_bytes = kinds[kind].nonce_bytes};
        ops[i].in = ops[i].out = text[i], ops[i].in_bytes = 8 * i, ops[i].tag = tags[i];
    }
    if (sealane_seal_batch(ops, PACKETS) != PACKETS)
        return 0;
    ops[at] = (sealane_op){.out = out,
                           .in = in,
                           .in_bytes = bytes,
                           .ad = ad,
                           .ad_bytes = ad_bytes,
                           .key = k,
                           .nonce = nonce,
                           .nonce_bytes = nonce_bytes,
                           .expected_tag = tag};
    if (status == SEALANE_NOT_AUTHENTIC && bytes != 0)
        memcpy(as_it_came, in, bytes);
    const size_t good = open ? sealane_open_batch(ops, PACKETS) : sealane_seal_batch(ops, PACKETS);
    if (good != PACKETS - (status != SEALANE_OK) || ops[at].status != status)
        return 0;
    for (size_t i = 0; i < PACKETS; i++)
        if (i != at && (ops[i].status != SEALANE_OK || (open && !all(text[i], sizeof text[i], (uint8_t)i))))
            return 0;
    return status != SEALANE_NOT_AUTHENTIC || taken_back(out, in, as_it_came, bytes);
}

static int in_batch(const sealane_key *k, uint8_t *out, const uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes,
                    const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes, sealane_status status)
{
    return in_batch_of(1, k, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, bytes, status);
}

/* Seals and opens; invalid ones must not open. */
static int run_vector(sealane_alg alg, const vector *v, int valid)
{
    static uint8_t out[8192], tag[16];
    sealane_key k;
    if (sealane_key_init_with_tag(&k, alg, v->key, v->key_bytes, v->tag_bytes) != 0)
        return !valid;
    memset(out, 0xa5, sizeof out);
    const int opened =
        sealane_open(&k, out, v->tag, v->nonce, v->nonce_bytes, v->ad, v->ad_bytes, v->sealed, v->sealed_bytes);
    const int good_nonce = alg == SEALANE_CHACHA20_POLY1305    ? v->nonce_bytes == 12
                           : alg == SEALANE_XCHACHA20_POLY1305 ? v->nonce_bytes == 24
                                                               : v->nonce_bytes != 0;
    const sealane_status status = !good_nonce ? SEALANE_INVALID_NONCE : valid ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
    static uint8_t batched[8192];
    if (opened != (int)status)
        return 0;
    if (!in_batch(&k, batched, v->tag, v->nonce, v->nonce_bytes, v->ad, v->ad_bytes, v->sealed, v->sealed_bytes,
                  status) ||
        (valid && memcmp(batched, v->text, v->text_bytes) != 0))
        return 0;
    if (!valid)
        return all(out, v->sealed_bytes, good_nonce ? 0 : 0xa5);
    memset(tag, 0xa5, sizeof tag);
    if (memcmp(out, v->text, v->text_bytes) != 0)
        return 0;
    if (sealane_seal(&k, out, tag, v->nonce, v->nonce_bytes, v->ad, v->ad_bytes, v->text, v->text_bytes) != 0)
        return 0;
    return memcmp(out, v->sealed, v->sealed_bytes) == 0 && memcmp(tag, v->tag, v->tag_bytes) == 0 &&
           all(tag + v->tag_bytes, 16 - v->tag_bytes, 0xa5);
}

/* RFC 8439, section 2.8.2, and draft-irtf-cfrg-xchacha-03, appendix A.3.1: same key, text and associated data. */
static int check_chacha_specifications(void)
{
    static const char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
                               "future, sunscreen would be it.";
    static const char *const cases[2][3] = {
        {"070000004041424344454647",
         "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e06"
         "0b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d265"
         "86cec64b6116",
         "1ae10b594f09e26a7e902ecbd0600691"},
        {"404142434445464748494a4b4c4d4e4f5051525354555657",
         "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54"
         "c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f6"
         "15c68b13b52e",
         "c0875924c1c7987947deafd8780acf49"},
    };
    for (int i = 0; i < 2; i++) {
        vector v = {.text_bytes = sizeof text - 1};
        memcpy(v.text, text, v.text_bytes);
        v.key_bytes = from_hex(v.key, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
        v.ad_bytes = from_hex(v.ad, "50515253c0c1c2c3c4c5c6c7");
        v.nonce_bytes = from_hex(v.nonce, cases[i][0]);
        v.sealed_bytes = from_hex(v.sealed, cases[i][1]);
        v.tag_bytes = from_hex(v.tag, cases[i][2]);
        if (!run_vector(kinds[i].alg, &v, 1))
            return fail("vector of the specification", (size_t)i);
    }
    return 1;
}

/* McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B: nonce, text, ciphertext and tag of test
 * cases 1 to 18. All except the first two of each key length have the same key, and the same text or a prefix of it. */
static int check_gcm_specifications(void)
{
    static const char zero[] = "00000000000000000000000000000000", iv[] = "cafebabefacedbaddecaf888";
    static const char iv60[] =
        "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b5254"
        "16aedbf5a0de6a57a637b39b";
    static const char key[] = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
    static const char text[] =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16a"
        "edf5aa0de657ba637b391aafd255";
    static const char ad[] = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    static const struct {
        sealane_alg alg;
        const char *nonce;
        size_t text_bytes;
        const char *sealed, *tag;
    } cases[] = {
        {SEALANE_AES_128_GCM, NULL, 0, "", "58e2fccefa7e3061367f1d57a4e7455a"},
        {SEALANE_AES_128_GCM, NULL, 16, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
        {SEALANE_AES_128_GCM, iv, 64,
         "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aa"
         "c97"
         "3d58e091473f5985",
         "4d5c2af327cd64a62cf35abd2ba6fab4"},
        {SEALANE_AES_128_GCM, iv, 60,
         "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aa"
         "c97"
         "3d58e091",
         "5bc94fbc3221a5db94fae95ae7121a47"},
        {SEALANE_AES_128_GCM, "cafebabefacedbad", 60,
         "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896b424989b5e1ebac0"
         "f07"
         "c23f4598",
         "3612d2e79e3b0785561be14aaca2fccb"},
        {SEALANE_AES_128_GCM, iv60, 60,
         "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca41"
         "7034c"
         "34aee5",
         "619cc5aefffe0bfa462af43c1699d050"},
        {SEALANE_AES_192_GCM, NULL, 0, "", "cd33b28ac773f74ba00ed1f312572435"},
        {SEALANE_AES_192_GCM, NULL, 16, "98e7247c07f0fe411c267e4384b0f600", "2ff58d80033927ab8ef4d4587514f0fb"},
        {SEALANE_AES_192_GCM, iv, 64,
         "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe32"
         "4d9"
         "ccda2710acade256",
         "9924a7c8587336bfb118024db8674a14"},
        {SEALANE_AES_192_GCM, iv, 60,
         "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe32"
         "4d9"
         "ccda2710",
         "2519498e80f1478f37ba55bd6d27618c"},
        {SEALANE_AES_192_GCM, "cafebabefacedbad", 60,
         "0f10f599ae14a154ed24b36e25324db8c566632ef2bbb34f8347280fc4507057fddc29df9a471f75c66541d4d4dad1c9e93a19a58e8b4"
         "73f"
         "a0f062f7",
         "65dcc57fcf623a24094fcca40d3533f8"},
        {SEALANE_AES_192_GCM, iv60, 60,
         "d27e88681ce3243c4830165a8fdcf9ff1de9a1d8e6b447ef6ef7b79828666e4581e79012af34ddd9e2f037589b292db3e67c036745fa2"
         "2e7"
         "e9b7373b",
         "dcf566ff291c25bbb8568fc3d376a6d9"},
        {SEALANE_AES_256_GCM, NULL, 0, "", "530f8afbc74536b9a963b4f1c4cb738b"},
        {SEALANE_AES_256_GCM, NULL, 16, "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
        {SEALANE_AES_256_GCM, iv, 64,
         "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7"
         "a0a"
         "bcc9f662898015ad",
         "b094dac5d93471bdec1a502270e3cc6c"},
        {SEALANE_AES_256_GCM, iv, 60,
         "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7"
         "a0a"
         "bcc9f662",
         "76fc6ece0f4e1768cddf8853bb2d551b"},
        {SEALANE_AES_256_GCM, "cafebabefacedbad", 60,
         "c3762df1ca787d32ae47c13bf19844cbaf1ae14d0b976afac52ff7d79bba9de0feb582d33934a4f0954cc2363bc73f7862ac430e64abe"
         "499"
         "f47c9b1f",
         "3a337dbf46a792c45e454913fe2ea8f2"},
        {SEALANE_AES_256_GCM, iv60, 60,
         "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf40fc0c3b780f244452da3ebf1c5d82cdea2418997200ef"
         "82e"
         "44ae7e3f",
         "a44a8266ee1c8eb0c8b5d4cf5ae9f19a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vector v = {.text_bytes = cases[i].text_bytes};
        from_hex(v.key, cases[i].nonce ? key : zero);
        if (cases[i].nonce) {
            from_hex(v.text, text);
            v.ad_bytes = v.text_bytes == 60 ? from_hex(v.ad, ad) : 0;
        }
        v.key_bytes = cases[i].alg == SEALANE_AES_128_GCM ? 16 : cases[i].alg == SEALANE_AES_192_GCM ? 24 : 32;
        v.nonce_bytes = cases[i].nonce ? from_hex(v.nonce, cases[i].nonce) : 12;
        v.sealed_bytes = from_hex(v.sealed, cases[i].sealed);
        v.tag_bytes = from_hex(v.tag, cases[i].tag);
        if (v.sealed_bytes != v.text_bytes || !run_vector(cases[i].alg, &v, 1))
            return fail("GCM test case", i + 1);
    }
    return 1;
}

static sealane_alg algorithm_named(const char *name, size_t key_bytes)
{
    if (strcmp(name, "AES-GCM") == 0)
        return key_bytes == 16 ? SEALANE_AES_128_GCM : key_bytes == 24 ? SEALANE_AES_192_GCM : SEALANE_AES_256_GCM;
    return strcmp(name, "XCHACHA20-POLY1305") == 0 ? SEALANE_XCHACHA20_POLY1305 : SEALANE_CHACHA20_POLY1305;
}

/* The words of a line of vectors. */
static char field[9][1 << 14];

/* Reads the next line. Returns 1, 0 at the end, or -1 if it is malformed. */
static int next_vector(FILE *f, vector *v)
{
    static char line[1 << 16];
    if (fgets(line, sizeof line, f) == NULL)
        return 0;
    if (sscanf(line, "%s %s %s %s %s %s %s %s %s", field[0], field[1], field[2], field[3], field[4], field[5], field[6],
               field[7], field[8]) != 9)
        return -1;
    v->key_bytes = from_hex(v->key, field[2]);
    v->nonce_bytes = from_hex(v->nonce, field[3]);
    v->ad_bytes = from_hex(v->ad, field[4]);
    v->text_bytes = from_hex(v->text, field[5]);
    v->sealed_bytes = from_hex(v->sealed, field[6]);
    v->tag_bytes = from_hex(v->tag, field[7]);
    return 1;
}

static int is_mode(const char *algorithm)
{
    return strcmp(algorithm, "AES-ECB") == 0 || strcmp(algorithm, "AES-CBC") == 0 || strcmp(algorithm, "AES-XTS") == 0;
}

/* Returns 1, 0, or -1 if there were no vectors. */
static int check_vectors(const char *path)
{
    static vector v;
    size_t ran = 0;
    int got;
    FILE *f = path ? fopen(path, "r") : NULL;
    if (f == NULL)
        return path ? fail("cannot open the file of vectors", 0) : -1;
    while ((got = next_vector(f, &v)) == 1) {
        if (is_mode(field[0]))
            continue;
        if (!run_vector(algorithm_named(field[0], v.key_bytes), &v, strcmp(field[8], "valid") == 0)) {
            snprintf(why, sizeof why, "%.20s test %.20s", field[0], field[1]);
            fclose(f);
            return 0;
        }
        ran++;
    }
    fclose(f);
    if (got < 0)
        return fail("malformed line of vectors", ran);
    printf("     %zu vectors of Wycheproof and NIST\n", ran);
    return ran > 1900 ? 1 : fail("too few vectors", ran);
}

/* ---- Tampering: every flipped bit makes a packet refused, and in place leaves it unchanged ---- */

static int rejected(const sealane_key *k, const uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes,
                    const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t bytes)
{
    static uint8_t out[256];
    sealane_iovec pieces[2] = {{in, out, bytes / 3}, {in + bytes / 3, out + bytes / 3, bytes - bytes / 3}};
    const sealane_iovec ads = {ad, NULL, ad_bytes};
    memset(out, 0xa5, sizeof out);
    if (sealane_open(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, bytes) != SEALANE_NOT_AUTHENTIC ||
        !all(out, bytes, 0))
        return 0;
    for (int in_place = 0; in_place < 4; in_place++) { /* of each piece */
        memset(out, 0xa5, sizeof out);
        for (int i = 0; i < 2; i++) {
            sealane_iovec *v = &pieces[i];
            v->in = in + (v->out - out);
            if (in_place >> i & 1)
                memcpy(v->out, v->in, v->bytes), v->in = v->out;
        }
        if (sealane_openv(k, tag, nonce, nonce_bytes, &ads, 1, pieces, 2) != SEALANE_NOT_AUTHENTIC ||
            !taken_back(out, pieces[0].in, in, bytes / 3) ||
            !taken_back(pieces[1].out, pieces[1].in, in + bytes / 3, bytes - bytes / 3))
            return 0;
    }
    memcpy(out, in, bytes);
    if (!in_batch(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, out, bytes, SEALANE_NOT_AUTHENTIC) ||
        !in_batch(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, bytes, SEALANE_NOT_AUTHENTIC))
        return 0;
    memcpy(out, in, bytes);
    return sealane_open(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, out, bytes) == SEALANE_NOT_AUTHENTIC &&
           memcmp(out, in, bytes) == 0;
}

static int check_tampering(size_t step)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 100, 200};
    enum { NONCE, AD, TAG, TEXT, PARTS };
    for (int a = 0; a < KINDS; a++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint8_t key[32], nonce[LONGEST_NONCE], ad[13], tag[16], text[256];
            uint8_t *part[PARTS] = {nonce, ad, tag, text};
            const size_t nonce_bytes = kinds[a].nonce_bytes;
            const size_t part_bytes[PARTS] = {nonce_bytes, sizeof ad, 16, sizes[i]};
            sealane_key k;
            randomize(key, 32), randomize(nonce, sizeof nonce), randomize(ad, 13), randomize(text, sizeof text);
            if (sealane_key_init(&k, kinds[a].alg, key, kinds[a].key_bytes) != 0)
                return fail("key", 0);
            if (sealane_seal(&k, text, tag, nonce, nonce_bytes, ad, sizeof ad, text, sizes[i]) != 0)
                return fail("seal", sizes[i]);
            for (int kind = 0; kind < PARTS; kind++)
                for (size_t bit = 0; bit < 8 * part_bytes[kind]; bit += step) {
                    part[kind][bit / 8] ^= (uint8_t)(1 << bit % 8);
                    if (!rejected(&k, tag, nonce, nonce_bytes, ad, sizeof ad, text, sizes[i]))
                        return fail("a changed packet was opened, or not taken back", bit);
                    part[kind][bit / 8] ^= (uint8_t)(1 << bit % 8);
                }
            if (!rejected(&k, tag, nonce, nonce_bytes, ad, sizeof ad - 1, text, sizes[i]))
                return fail("shortened associated data", sizes[i]);
            if (sizes[i] && !rejected(&k, tag, nonce, nonce_bytes, ad, sizeof ad, text, sizes[i] - 1))
                return fail("a shortened packet was opened", sizes[i]);
            if (sealane_open(&k, text, tag, nonce, nonce_bytes, ad, sizeof ad, text, sizes[i]) != 0)
                return fail("the right packet was not opened", sizes[i]);
        }
    return 1;
}

/* ---- Wrong input: gives the reason, and writes nothing ---- */

static int check_wrong_keys(void)
{
    uint8_t key[64] = {1};
    sealane_key k, zero;
    memset(&zero, 0, sizeof zero);
    const struct {
        sealane_key *k;
        int alg;
        const uint8_t *key;
        size_t bytes;
        sealane_status status;
    } cases[] = {
        {NULL, SEALANE_CHACHA20_POLY1305, key, 32, SEALANE_NULL},
        {&k, SEALANE_CHACHA20_POLY1305, NULL, 32, SEALANE_NULL},
        {&k, SEALANE_CHACHA20_POLY1305, key, 31, SEALANE_INVALID_KEY},
        {&k, SEALANE_CHACHA20_POLY1305, key, 33, SEALANE_INVALID_KEY},
        {&k, SEALANE_CHACHA20_POLY1305, key, 0, SEALANE_INVALID_KEY},
        {&k, SEALANE_XCHACHA20_POLY1305, key, 16, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_128_GCM, key, 15, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_128_GCM, key, 24, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_128_GCM, key, 32, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_192_GCM, key, 16, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_192_GCM, key, 32, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_256_GCM, key, 16, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_256_GCM, key, 33, SEALANE_INVALID_KEY},
        {&k, SEALANE_AES_256_GCM, NULL, 32, SEALANE_NULL},
        {&k, SEALANE_AES_256_GCM, key, 0, SEALANE_INVALID_KEY},
        {&k, 0, key, 0, SEALANE_INVALID_KEY},
        {&k, 0, key, 32, SEALANE_INVALID_KEY},
        {&k, 6, key, 0, SEALANE_INVALID_KEY},
        {&k, 6, key, 32, SEALANE_INVALID_KEY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0)
            return fail("a right key was refused", i);
        if (sealane_key_init(cases[i].k, (sealane_alg)cases[i].alg, cases[i].key, cases[i].bytes) !=
            (int)cases[i].status)
            return fail("a wrong key was accepted, or refused for another reason", i);
        if (cases[i].k != NULL && memcmp(&k, &zero, sizeof k) != 0)
            return fail("a wrong key left a key behind", i);
    }
    if (strcmp(sealane_impl_name(NULL), "none") != 0 || strcmp(sealane_impl_name(&zero), "none") != 0)
        return fail("name of no key", 0);
    if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0 || strcmp(sealane_impl_name(&k), "none") == 0)
        return fail("name of a key", 0);
    if (sealane_key_init(&k, SEALANE_AES_192_GCM, key, 24) != 0 || strcmp(sealane_impl_name(&k), "none") == 0)
        return fail("name of a key", 1);
    sealane_key_wipe(&k), sealane_key_wipe(NULL);
    if (memcmp(&k, &zero, sizeof k) != 0)
        return fail("a key was not wiped", 0);
    return 1;
}

static uint8_t memory[1024], before[1024];

static int check_wrong_packets_of(sealane_alg alg, size_t key_bytes, uint64_t most)
{
    sealane_key k, wiped;
    uint8_t *m = memory;
    const uint8_t key[32] = {1};
    const int gcm = alg == SEALANE_AES_128_GCM;
    const size_t huge = sizeof(size_t) > 4 ? (size_t)(most + 1) : 0;
    const size_t huge_ad = gcm && sizeof(size_t) > 4 ? (size_t)((uint64_t)1 << 61) : (size_t)-1;
    memset(&wiped, 0, sizeof wiped);
    if (sealane_key_init(&k, alg, key, key_bytes) != 0)
        return 0;
    const struct {
        const char *what;
        const sealane_key *k;
        uint8_t *out, *tag;
        const uint8_t *nonce;
        size_t nonce_bytes;
        const uint8_t *ad;
        size_t ad_bytes;
        const uint8_t *in;
        size_t bytes;
        sealane_status status;
        int opens; /* or would open with a right tag: only sealing is a mistake */
    } cases[] = {
        {"no key", NULL, m, m + 900, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_INVALID_KEY, 0},
        {"wiped key", &wiped, m, m + 900, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_INVALID_KEY, 0},
        {"no output", &k, NULL, m + 900, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_NULL, 0},
        {"no tag", &k, m, NULL, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_NULL, 0},
        {"no nonce", &k, m, m + 900, NULL, 12, NULL, 0, m + 300, 100, SEALANE_NULL, 0},
        {"no nonce of no length", &k, m, m + 900, NULL, 0, NULL, 0, m + 300, 100, SEALANE_INVALID_NONCE, 0},
        {"short nonce", &k, m, m + 900, m + 800, gcm ? 0 : 11, NULL, 0, m + 300, 100, SEALANE_INVALID_NONCE, 0},
        {"long nonce", &k, m, m + 900, m + 800, gcm ? huge_ad : 24, NULL, 0, m + 300, 100, SEALANE_INVALID_NONCE, 0},
        {"long associated data", &k, m, m + 900, m + 800, 12, m + 300, huge_ad, m + 300, 100, SEALANE_TOO_LONG, 0},
        {"associated data of a length below zero", &k, m, m + 900, m + 800, 12, m + 300, (size_t)-1, m + 300, 100,
         SEALANE_TOO_LONG, 0},
        {"no associated data", &k, m, m + 900, m + 800, 12, NULL, 1, m + 300, 100, SEALANE_NULL, 0},
        {"no input", &k, m, m + 900, m + 800, 12, NULL, 0, NULL, 100, SEALANE_NULL, 0},
        {"too long", &k, m, m + 900, m + 800, 12, NULL, 0, m, huge, SEALANE_TOO_LONG, 0},
        {"a length below zero", &k, m, m + 900, m + 800, 12, NULL, 0, m, (size_t)-1, SEALANE_TOO_LONG, 0},
        {"half of all memory", &k, m, m + 900, m + 800, 12, NULL, 0, m, (size_t)-1 / 2 + 1, SEALANE_TOO_LONG, 0},
        {"output one above input", &k, m + 301, m + 900, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_OVERLAP, 0},
        {"output one below input", &k, m + 299, m + 900, m + 800, 12, NULL, 0, m + 300, 100, SEALANE_OVERLAP, 0},
        {"output's last byte is input's first", &k, m + 201, m + 900, m + 800, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's first byte is input's last", &k, m + 399, m + 900, m + 800, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's last byte is associated data's first", &k, m + 100, m + 900, m + 800, 12, m + 199, 5, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's first byte is associated data's last", &k, m + 100, m + 900, m + 800, 12, m + 96, 5, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's last byte is the nonce's first", &k, m + 100, m + 900, m + 199, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's first byte is the nonce's last", &k, m + 100, m + 900, m + 89, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's last byte is the tag's first", &k, m + 100, m + 199, m + 800, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"output's first byte is the tag's last", &k, m + 100, m + 85, m + 800, 12, NULL, 0, m + 300, 100,
         SEALANE_OVERLAP, 0},
        {"tag's last byte is associated data's first", &k, m, m + 900, m + 800, 12, m + 915, 5, m + 300, 100,
         SEALANE_OVERLAP, 1},
        {"tag's first byte is associated data's last", &k, m, m + 900, m + 800, 12, m + 890, 11, m + 300, 100,
         SEALANE_OVERLAP, 1},
        {"tag's last byte is the nonce's first", &k, m, m + 900, m + 915, 12, NULL, 0, m + 300, 100, SEALANE_OVERLAP,
         1},
        {"tag's first byte is the nonce's last", &k, m, m + 900, m + 889, 12, m + 300, 7, m + 300, 100, SEALANE_OVERLAP,
         1},
        {"tag in the nonce, and no text", &k, NULL, m + 900, m + 903, 12, NULL, 0, NULL, 0, SEALANE_OVERLAP, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (huge == 0 && strcmp(cases[i].what, "too long") == 0)
            continue;
        const sealane_iovec ad = {cases[i].ad, NULL, cases[i].ad_bytes},
                            text = {cases[i].in, cases[i].out, cases[i].bytes};
        static const char *const ways[] = {"seal", "seal pieces", "seal a batch",
                                           "open", "open pieces", "open a batch"};
        for (int way = 0; way < 6; way++) {
            const sealane_status want = way >= 3 && cases[i].opens ? SEALANE_NOT_AUTHENTIC : cases[i].status;
            int got = (int)want;
            randomize(memory, sizeof memory);
            memcpy(before, memory, sizeof before);
            if (want == SEALANE_NOT_AUTHENTIC && cases[i].bytes != 0)
                memset(before + (cases[i].out - m), 0, cases[i].bytes);
            if (way == 0)
                got = sealane_seal(cases[i].k, cases[i].out, cases[i].tag, cases[i].nonce, cases[i].nonce_bytes,
                                   cases[i].ad, cases[i].ad_bytes, cases[i].in, cases[i].bytes);
            else if (way == 1)
                got = sealane_sealv(cases[i].k, cases[i].tag, cases[i].nonce, cases[i].nonce_bytes, &ad, 1, &text, 1);
            else if (way == 3)
                got = sealane_open(cases[i].k, cases[i].out, cases[i].tag, cases[i].nonce, cases[i].nonce_bytes,
                                   cases[i].ad, cases[i].ad_bytes, cases[i].in, cases[i].bytes);
            else if (way == 4)
                got = sealane_openv(cases[i].k, cases[i].tag, cases[i].nonce, cases[i].nonce_bytes, &ad, 1, &text, 1);
            else if (!in_batch_of(way == 5, cases[i].k, cases[i].out, cases[i].tag, cases[i].nonce,
                                  cases[i].nonce_bytes, cases[i].ad, cases[i].ad_bytes, cases[i].in, cases[i].bytes,
                                  want))
                got = 1;
            if (got != (int)want) {
                snprintf(why, sizeof why, "%s: %s: %d instead of %d", cases[i].what, ways[way], got, (int)want);
                return 0;
            }
            if (memcmp(memory, before, sizeof before) != 0) {
                snprintf(why, sizeof why, "%s: %s: something was written", cases[i].what, ways[way]);
                return 0;
            }
        }
    }
    /* Adjacent parts are allowed, and so are the attached tag and empty parts without an address. */
    if (sealane_seal(&k, m + 200, m + 300, m + 800, 12, m + 316, 10, m + 300, 100) != 0)
        return fail("output that touches input and tag", 0);
    if (sealane_seal(&k, m + 200, m + 184, m + 300, 12, m + 174, 10, m + 300, 100) != 0 ||
        sealane_seal(&k, m + 200, m + 300, m + 188, 12, m + 190, 10, m + 200, 100) != 0)
        return fail("output that touches tag, nonce and associated data", 0);
    if (sealane_seal(&k, NULL, m, m + 800, 12, NULL, 0, NULL, 0) != 0)
        return fail("an empty packet was refused", 0);
    return sealane_open(&k, NULL, m, m + 800, 12, NULL, 0, NULL, 0) == 0 || fail("an empty packet was not opened", 0);
}

static int check_wrong_packets(void)
{
    return check_wrong_packets_of(SEALANE_CHACHA20_POLY1305, 32, ((uint64_t)1 << 38) - 64) &&
           check_wrong_packets_of(SEALANE_AES_128_GCM, 16, ((uint64_t)1 << 36) - 32);
}

static int check_wrong_pieces(void)
{
    sealane_key k;
    uint8_t *m = memory;
    const uint8_t key[32] = {1};
    static sealane_iovec many[SEALANE_IOV_MAX + 1];
    if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0)
        return 0;
    const struct {
        const char *what;
        sealane_iovec text[2];
    } cases[] = {
        {"two outputs overlap", {{m + 500, m, 64}, {m + 600, m + 63, 64}}},
        {"an output over a later input", {{m + 500, m, 64}, {m + 63, m + 200, 64}}},
        {"an output over an earlier input", {{m + 500, m, 64}, {m + 600, m + 563, 64}}},
        {"an output that is another's input", {{m + 500, m, 64}, {m, m + 200, 64}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        randomize(memory, sizeof memory);
        memcpy(before, memory, sizeof before);
        if (sealane_openv(&k, m + 900, m + 800, 12, NULL, 0, cases[i].text, 2) != SEALANE_OVERLAP ||
            memcmp(memory, before, sizeof before) != 0)
            return fail(cases[i].what, i);
        if (sealane_sealv(&k, m + 900, m + 800, 12, NULL, 0, cases[i].text, 2) != SEALANE_OVERLAP ||
            memcmp(memory, before, sizeof before) != 0)
            return fail(cases[i].what, i);
    }
    many[0] = many[SEALANE_IOV_MAX] = (sealane_iovec){m, m, 9};
    memset(m, 7, 9);
    for (size_t i = 0; i < 2; i++) {
        const size_t pieces = i == 0 ? SEALANE_IOV_MAX + 1 : (size_t)-1;
        if (sealane_sealv(&k, m + 900, m + 800, 12, NULL, 0, many, pieces) != SEALANE_TOO_LONG ||
            sealane_openv(&k, m + 900, m + 800, 12, NULL, 0, many, pieces) != SEALANE_TOO_LONG ||
            sealane_sealv(&k, m + 900, m + 800, 12, many, pieces, NULL, 0) != SEALANE_TOO_LONG ||
            sealane_openv(&k, m + 900, m + 800, 12, many, pieces, NULL, 0) != SEALANE_TOO_LONG || !all(m, 9, 7))
            return fail("too many pieces", pieces);
    }
    many[0] = (sealane_iovec){NULL, NULL, 0};
    if (sealane_sealv(&k, m + 900, m + 800, 12, NULL, 1, NULL, 0) != SEALANE_NULL ||
        sealane_sealv(&k, m + 900, m + 800, 12, NULL, 0, NULL, 1) != SEALANE_NULL)
        return fail("no list of pieces", 0);
    return sealane_sealv(&k, m + 900, m + 800, 12, NULL, 0, many, SEALANE_IOV_MAX) == 0 || fail("empty pieces", 0);
}

static int check_stream_misuse(void)
{
    sealane_key k;
    sealane_stream s, zero;
    uint8_t nonce[24] = {0}, text[64] = {0}, tag[16];
    const uint8_t key[32] = {1};
    memset(&zero, 0, sizeof zero), memset(&s, 0, sizeof s);
    if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0)
        return 0;
    if (sealane_stream_init(NULL, &k, SEALANE_STREAM_SEAL, nonce, 12) != SEALANE_NULL ||
        sealane_stream_init(&s, NULL, SEALANE_STREAM_SEAL, nonce, 12) != SEALANE_INVALID_KEY ||
        sealane_stream_init(&s, &k, (sealane_direction)2, nonce, 12) != SEALANE_INVALID_STREAM ||
        sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 24) != SEALANE_INVALID_NONCE ||
        sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, NULL, 12) != SEALANE_NULL)
        return fail("a wrong stream was begun", 0);
    for (int i = 0; i < 4; i++) { /* an operation in progress is given up */
        uint8_t *const inside = (uint8_t *)&s + 100;
        if (sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 12) != 0 ||
            (i == 0   ? sealane_stream_init(&s, NULL, SEALANE_STREAM_SEAL, nonce, 12)
             : i == 1 ? sealane_stream_init(&s, &k, (sealane_direction)2, nonce, 12)
             : i == 2 ? sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 24)
                      : sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, inside, 12) == SEALANE_OVERLAP) == 0 ||
            memcmp(&s, &zero, sizeof s) != 0)
            return fail("a stream outlived a failure to begin it anew", (size_t)i);
    }
    if (memcmp(&s, &zero, sizeof s) != 0 || sealane_stream_ad(&s, text, 1) != SEALANE_INVALID_STREAM ||
        sealane_stream_update(&s, text, text, 1) != SEALANE_INVALID_STREAM ||
        sealane_stream_seal_final(&s, tag) != SEALANE_INVALID_STREAM)
        return fail("a stream that was not begun was used", 0);
    if (sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 12) != 0)
        return fail("a stream was not begun", 0);
    memset(text, 7, sizeof text);
    if (sealane_stream_ad(&s, NULL, 1) != SEALANE_NULL || sealane_stream_update(&s, NULL, text, 1) != SEALANE_NULL ||
        sealane_stream_update(&s, text, NULL, 1) != SEALANE_NULL ||
        sealane_stream_update(&s, text + 1, text, 9) != SEALANE_OVERLAP)
        return fail("wrong input to a stream", 0);
    if (sealane_stream_ad(&s, text, (size_t)-1) != SEALANE_TOO_LONG ||
        sealane_stream_update(&s, text, text, (size_t)-1) != SEALANE_TOO_LONG || !all(text, sizeof text, 7))
        return fail("wrong input to a stream", 1);
    if (sealane_stream_update(&s, text, text, 1) != 0 || sealane_stream_ad(&s, text, 1) != SEALANE_INVALID_STREAM)
        return fail("associated data after text", 0);
    if (sealane_stream_open_final(&s, tag) != SEALANE_INVALID_STREAM ||
        sealane_stream_seal_final(&s, NULL) != SEALANE_NULL)
        return fail("the wrong end of a stream", 0);
    if (sealane_stream_seal_final(&s, tag) != 0 || memcmp(&s, &zero, sizeof s) != 0)
        return fail("the stream was not wiped", 0);
    if (sealane_stream_update(&s, text, text, 1) != SEALANE_INVALID_STREAM ||
        sealane_stream_seal_final(&s, tag) != SEALANE_INVALID_STREAM)
        return fail("a stream was used after its end", 0);
    if (sealane_stream_init(&s, &k, SEALANE_STREAM_OPEN, nonce, 12) != 0)
        return fail("a stream was not begun", 1);
    sealane_stream_wipe(&s), sealane_stream_wipe(NULL);
    return memcmp(&s, &zero, sizeof s) == 0 || fail("a stream was not wiped", 1);
}

/* ---- A stream stops if its key is wiped, or becomes another algorithm's ---- */

static int stops(sealane_stream *s, uint8_t *text)
{
    uint8_t tag[16];
    memset(text, 7, 64);
    return sealane_stream_ad(s, text, 1) < 0 && sealane_stream_update(s, text, text, 64) == SEALANE_INVALID_KEY &&
           all(text, 64, 7) && sealane_stream_seal_final(s, tag) == SEALANE_INVALID_KEY &&
           sealane_stream_update(s, text, text, 64) == SEALANE_INVALID_STREAM;
}

static int check_stream_without_key(void)
{
    uint8_t nonce[LONGEST_NONCE] = {0}, text[64] = {0}, tag[16];
    const uint8_t key[32] = {1};
    sealane_key k;
    sealane_stream s;
    for (size_t i = 0; i < KINDS; i++)
        for (int what = 0; what < 4; what++) { /* before and within text; wiped, or another algorithm's */
            const size_t other = kinds[i].alg == SEALANE_AES_256_GCM ? 0 : 4;
            if (sealane_key_init(&k, kinds[i].alg, key, kinds[i].key_bytes) != 0 ||
                sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, kinds[i].nonce_bytes) != 0 ||
                (what >= 2 && sealane_stream_update(&s, text, text, 33) != 0))
                return fail("a stream was not begun", i);
            if (what % 2 == 0)
                sealane_key_wipe(&k);
            else if (sealane_key_init(&k, kinds[other].alg, key, kinds[other].key_bytes) != 0)
                return fail("key", other);
            if (!stops(&s, text))
                return fail("a stream went on without its key", i);
        }
    if (sealane_key_init(&k, SEALANE_AES_128_GCM, key, 16) != 0 ||
        sealane_stream_init(&s, &k, SEALANE_STREAM_OPEN, nonce, 12) != 0)
        return fail("a stream was not begun", 0);
    memset(tag, 0, sizeof tag), sealane_key_wipe(&k);
    return sealane_stream_open_final(&s, tag) == SEALANE_INVALID_KEY || fail("a stream opened without its key", 0);
}

/* ---- Short tags ---- */

/* 12 to 15 bytes: which bytes are read and written, and that every bit of them counts. */
static int check_short_tag(sealane_alg alg, size_t key_bytes, size_t tag_bytes)
{
    enum { BYTES = 100 };
    const uint8_t key[32] = {1, 2}, nonce[24] = {3}, ad[9] = {4};
    uint8_t text[BYTES] = {5}, out[BYTES + 16], piece[BYTES + 16], whole[16];
    sealane_key k, full;
    sealane_stream s;
    const sealane_iovec ads = {ad, NULL, sizeof ad}, pieces[2] = {{text, piece, 70}, {text + 70, piece + 70, 30}},
                        back[2] = {{out, piece, 70}, {out + 70, piece + 70, 30}};
    if (sealane_key_init_with_tag(&k, alg, key, key_bytes, tag_bytes) != 0 ||
        sealane_key_init(&full, alg, key, key_bytes) != 0)
        return fail("key", tag_bytes);
    memset(out, 0xa5, sizeof out), memset(piece, 0xa5, sizeof piece);
    if (sealane_seal(&full, out, whole, nonce, 12, ad, sizeof ad, text, BYTES) != 0 ||
        sealane_seal(&k, out, out + BYTES, nonce, 12, ad, sizeof ad, text, BYTES) != 0 ||
        memcmp(out + BYTES, whole, tag_bytes) != 0 || !all(out + BYTES + tag_bytes, 16 - tag_bytes, 0xa5))
        return fail("sealed with a wrong tag, or wrote past it", tag_bytes);
    if (sealane_sealv(&k, piece + BYTES, nonce, 12, &ads, 1, pieces, 2) != 0 || memcmp(piece, out, sizeof out) != 0)
        return fail("pieces sealed otherwise", tag_bytes);
    memset(piece, 0xa5, sizeof piece);
    if (sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, 12) != 0 || sealane_stream_ad(&s, ad, sizeof ad) != 0 ||
        sealane_stream_update(&s, piece, text, BYTES) != 0 || sealane_stream_seal_final(&s, piece + BYTES) != 0 ||
        memcmp(piece, out, sizeof out) != 0)
        return fail("a stream sealed otherwise", tag_bytes);
    for (size_t bit = 0; bit <= 8 * tag_bytes; bit++) {
        memcpy(piece + BYTES, out + BYTES, 16);
        const int want = bit == 8 * tag_bytes ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
        if (bit == 8 * sizeof whole)
            break;
        piece[BYTES + bit / 8] ^= (uint8_t)(1 << bit % 8); /* the last time a byte that is not the tag's, if there is */
        if (sealane_open(&k, piece, piece + BYTES, nonce, 12, ad, sizeof ad, out, BYTES) != want ||
            (want == 0 ? memcmp(piece, text, BYTES) != 0 : !all(piece, BYTES, 0)) ||
            sealane_openv(&k, piece + BYTES, nonce, 12, &ads, 1, back, 2) != want ||
            !in_batch(&k, piece, piece + BYTES, nonce, 12, ad, sizeof ad, out, BYTES, (sealane_status)want))
            return fail("a bit of a short tag did not count, or one past it did", bit);
        if (sealane_stream_init(&s, &k, SEALANE_STREAM_OPEN, nonce, 12) != 0 ||
            sealane_stream_ad(&s, ad, sizeof ad) != 0 || sealane_stream_update(&s, piece, out, BYTES) != 0 ||
            sealane_stream_open_final(&s, piece + BYTES) != want)
            return fail("a bit of a stream's short tag did not count, or one past it did", bit);
    }
    /* The tag with its own length may be adjacent to the text. */
    memcpy(piece, out, BYTES);
    if (sealane_open(&k, piece + tag_bytes, piece, nonce, 12, ad, sizeof ad, piece + tag_bytes, BYTES) !=
        SEALANE_NOT_AUTHENTIC)
        return fail("a tag in front of the text was refused", tag_bytes);
    return sealane_open(&k, piece + tag_bytes - 1, piece, nonce, 12, ad, sizeof ad, piece + tag_bytes - 1, BYTES) ==
               SEALANE_OVERLAP ||
           fail("a tag that overlaps the text was accepted", tag_bytes);
}

static int check_short_tags(void)
{
    const uint8_t key[32] = {1};
    sealane_key k, zero;
    memset(&zero, 0, sizeof zero), memset(&k, 1, sizeof k);
    for (size_t tag_bytes = 0; tag_bytes < 20; tag_bytes++)
        for (size_t i = 0; i < 5; i++) {
            const int gcm = i >= 2, good = tag_bytes == 16 || (gcm && tag_bytes >= 12 && tag_bytes < 16);
            const int result = sealane_key_init_with_tag(&k, kinds[i].alg, key, kinds[i].key_bytes, tag_bytes);
            if (result != (good ? SEALANE_OK : SEALANE_INVALID_TAG) || (!good && memcmp(&k, &zero, sizeof k) != 0))
                return fail("a length of tags", tag_bytes);
            if (good && gcm && !check_short_tag(kinds[i].alg, kinds[i].key_bytes, tag_bytes))
                return 0;
        }
    return 1;
}

/* ---- Damaged keys ---- */

/* For any value of a key's first word, no call leaves the tables: all refuse it, or it works at one of the levels.
 * Otherwise memory could be damaged, mostly in ways that only the sanitizers detect. */
static int refused_everywhere(const sealane_key *k, size_t nonce_bytes)
{
    const uint8_t nonce[LONGEST_NONCE] = {2};
    uint8_t text[100] = {0}, tag[16] = {0};
    return sealane_seal(k, text, tag, nonce, nonce_bytes, NULL, 0, text, sizeof text) == SEALANE_INVALID_KEY &&
           sealane_open(k, text, tag, nonce, nonce_bytes, NULL, 0, text, sizeof text) == SEALANE_INVALID_KEY &&
           in_batch(k, text, tag, nonce, nonce_bytes, NULL, 0, text, sizeof text, SEALANE_INVALID_KEY);
}

static int check_damaged_keys(void)
{
    const uint8_t key[32] = {1};
    for (size_t i = 0; i < 5; i++) {
        sealane_key k;
        memset(&k, 0, sizeof k);
        if (sealane_key_init(&k, kinds[i].alg, key, kinds[i].key_bytes) != 0)
            return fail("key", i);
        const uint64_t word = k.opaque[0];
        size_t known = 0;
        for (uint64_t low = 0; low < 256; low++) { /* algorithm and level */
            k.opaque[0] = (word & ~(uint64_t)0xff) | low;
            if (strcmp(sealane_impl_name(&k), "none") != 0)
                known++;
            else if (!refused_everywhere(&k, 12) || !refused_everywhere(&k, kinds[i].nonce_bytes))
                return fail("a key of no algorithm or level was used", (size_t)low);
        }
        if (known < 5 || known > 5 * 8)
            return fail("how many algorithms and levels there are", known);
        for (uint64_t cut = 1; cut < 256; cut++) {
            k.opaque[0] = word | cut << 8;
            if (cut > (i >= 2 ? 4 : 0) && !refused_everywhere(&k, kinds[i].nonce_bytes))
                return fail("a tag that is too short", (size_t)cut);
        }
        for (unsigned bit = 16; bit < 64; bit++) {
            k.opaque[0] = word ^ (uint64_t)1 << bit;
            if (!refused_everywhere(&k, kinds[i].nonce_bytes))
                return fail("a damaged key was used", bit);
        }
    }
    return 1;
}

/* ---- Objects made from bytes inside them, or over others ---- */

/* No key is written: no key is half of another, and no key is all zeroes. */
static int check_sources(void)
{
    static union {
        sealane_key key;
        sealane_aes_key aes;
        sealane_xts_key xts;
        sealane_quic_keys quic;
        sealane_aes_ctr ctr;
        uint8_t bytes[sizeof(sealane_quic_keys) + 64];
    } u, zero;
    static const uint8_t other[64] = {1, 2, 3, 4, 5, 6, 7, 8};
    enum { KEY, AES, XTS, QUIC_KEY, QUIC_IV, QUIC_HP, CTR, WAYS };
    static const size_t sizes[WAYS] = {sizeof u.key,  sizeof u.aes,  sizeof u.xts, sizeof u.quic,
                                       sizeof u.quic, sizeof u.quic, sizeof u.ctr};
    for (int way = 0; way < WAYS; way++)
        for (int a = 0; a < 5; a++) {
            const sealane_alg alg = kinds[a].alg;
            const int quic = way >= QUIC_KEY && way <= QUIC_HP;
            const size_t n = way == CTR ? 16 : way == QUIC_IV ? 12 : kinds[a].key_bytes;
            const size_t places[] = {0, 8, 16, 40, sizes[way] - 1, sizes[way]};
            if (quic && alg != SEALANE_CHACHA20_POLY1305 && alg != SEALANE_AES_128_GCM && alg != SEALANE_AES_256_GCM)
                continue;
            if (way == XTS && n != 32)
                continue;
            for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                uint8_t *const source = u.bytes + places[i];
                randomize(u.bytes, sizeof u.bytes);
                const uint8_t behind = u.bytes[sizes[way] + 13];
                const int got = way == KEY   ? sealane_key_init(&u.key, alg, source, n)
                                : way == AES ? sealane_aes_key_init(&u.aes, source, n)
                                : way == XTS ? sealane_aes_xts_key_init(&u.xts, source, n)
                                : way == CTR
                                    ? sealane_aes_ctr_init(&u.ctr, source, 128)
                                    : sealane_quic_keys_init(&u.quic, alg, way == QUIC_KEY ? source : other,
                                                             way == QUIC_IV ? source : other,
                                                             way == QUIC_HP ? source : other, kinds[a].key_bytes);
                const int want = places[i] < sizes[way] ? SEALANE_OVERLAP : SEALANE_OK;
                if (got != want || (want != SEALANE_OK && memcmp(u.bytes, zero.bytes, sizes[way]) != 0) ||
                    u.bytes[sizes[way] + 13] != behind)
                    return fail("what an object is made of lay in it", 100 * (size_t)way + places[i]);
            }
        }
    for (int from = 0; from < 5; from++)
        for (int to = 0; to < 5; to++) { /* no part of a key remains in its memory */
            sealane_key again, fresh;
            memset(&fresh, 0, sizeof fresh);
            if (sealane_key_init(&again, kinds[from].alg, other, kinds[from].key_bytes) != 0 ||
                sealane_key_init(&again, kinds[to].alg, zero.bytes, kinds[to].key_bytes) != 0 ||
                sealane_key_init(&fresh, kinds[to].alg, zero.bytes, kinds[to].key_bytes) != 0 ||
                memcmp(&again, &fresh, sizeof fresh) != 0)
                return fail("a key left something in another one", (size_t)(10 * from + to));
        }
    return 1;
}

/* ---- Streams and pieces give the same results as whole packets ---- */

static uint8_t plain[LONG], sealed[LONG], other[LONG], ad[400];

static int stream_random_pieces(sealane_stream *s, uint8_t *out, const uint8_t *in, size_t bytes, size_t ad_bytes)
{
    for (size_t at = 0, n; at < ad_bytes; at += n) {
        n = below(40) % (ad_bytes - at + 1);
        if (sealane_stream_ad(s, ad + at, n) != 0)
            return 0;
    }
    const size_t most = below(2) ? 70 : 3000;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = below(most) % (bytes - at + 1);
        if (sealane_stream_update(s, out + at, in + at, n) != 0)
            return 0;
    }
    return 1;
}

static size_t random_pieces(sealane_iovec *v, size_t most, uint8_t *out, const uint8_t *in, size_t bytes)
{
    size_t n = 1 + below(most), at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t take = i + 1 == n ? bytes - at : below(bytes - at + 1);
        v[i] = (sealane_iovec){in + at, out ? out + at : NULL, take};
        at += take;
    }
    return n;
}

static int pieces_agree(const sealane_key *k, size_t nonce_bytes, size_t bytes, size_t ad_bytes)
{
    uint8_t nonce[LONGEST_NONCE], tag[16], tag2[16];
    sealane_stream s;
    sealane_iovec text[9], ads[5];
    randomize(nonce, sizeof nonce), randomize(ad, ad_bytes);
    for (size_t i = 0; i < bytes; i += 997)
        plain[i] = (uint8_t)below(256);
    if (sealane_seal(k, sealed, tag, nonce, nonce_bytes, ad, ad_bytes, plain, bytes) != 0)
        return fail("seal", bytes);

    if (sealane_stream_init(&s, k, SEALANE_STREAM_SEAL, nonce, nonce_bytes) != 0 ||
        !stream_random_pieces(&s, other, plain, bytes, ad_bytes) || sealane_stream_seal_final(&s, tag2) != 0)
        return fail("stream", bytes);
    if (memcmp(other, sealed, bytes) != 0 || memcmp(tag, tag2, 16) != 0)
        return fail("a stream sealed differently", bytes);

    if (sealane_stream_init(&s, k, SEALANE_STREAM_OPEN, nonce, nonce_bytes) != 0 ||
        !stream_random_pieces(&s, other, other, bytes, ad_bytes) || sealane_stream_open_final(&s, tag) != 0 ||
        memcmp(other, plain, bytes) != 0)
        return fail("a stream did not open", bytes);
    if (sealane_stream_init(&s, k, SEALANE_STREAM_OPEN, nonce, nonce_bytes) != 0 ||
        !stream_random_pieces(&s, other, sealed, bytes, ad_bytes) ||
        (tag2[below(16)] ^= 4, sealane_stream_open_final(&s, tag2) != SEALANE_NOT_AUTHENTIC))
        return fail("a stream opened with a wrong tag", bytes);

    size_t pieces = random_pieces(text, 9, other, plain, bytes), ad_pieces = random_pieces(ads, 5, NULL, ad, ad_bytes);
    if (sealane_sealv(k, tag2, nonce, nonce_bytes, ads, ad_pieces, text, pieces) != 0)
        return fail("pieces were refused", bytes);
    if (memcmp(other, sealed, bytes) != 0 || memcmp(tag, tag2, 16) != 0)
        return fail("pieces were sealed differently", bytes);
    pieces = random_pieces(text, 9, other, other, bytes);
    if (sealane_openv(k, tag, nonce, nonce_bytes, ads, ad_pieces, text, pieces) != 0 ||
        memcmp(other, plain, bytes) != 0)
        return fail("pieces did not open", bytes);
    return 1;
}

static int check_pieces(int packets)
{
    uint8_t key[32];
    sealane_key k;
    randomize(plain, sizeof plain);
    for (int i = 0; i < packets; i++) {
        const int a = i % KINDS;
        randomize(key, 32);
        if (sealane_key_init(&k, kinds[a].alg, key, kinds[a].key_bytes) != 0)
            return 0;
        if (!pieces_agree(&k, kinds[a].nonce_bytes, below(i % 30 ? 1500 : LONG), below(i % 3 ? 20 : sizeof ad)))
            return 0;
    }
    return 1;
}

/* ---- Threads: the first use of the library, and one key, shared by all ---- */

static const sealane_key *shared_key;

/* Opens the same packet three times in one batch, with the thread's own key and the shared one. */
static int in_batch_of_threads(const sealane_key *mine, const uint8_t *in, uint8_t *tag, const uint8_t *nonce, size_t n)
{
    uint8_t out[3][300];
    sealane_op ops[3];
    for (int i = 0; i < 3; i++)
        ops[i] = (sealane_op){.out = out[i],
                              .in = in,
                              .in_bytes = n,
                              .key = i == 1 ? mine : shared_key,
                              .nonce = nonce,
                              .nonce_bytes = 12,
                              .expected_tag = tag};
    return sealane_open_batch(ops, 3) == 3 && memcmp(out[0], out[1], n) == 0 && memcmp(out[0], out[2], n) == 0;
}

static void *thread(void *result)
{
    const uint8_t key[32] = {7}, nonce[12] = {1}, text[300] = {3};
    uint8_t out[300], tag[16], tag2[16];
    sealane_key mine;
    int bad = sealane_key_init(&mine, SEALANE_CHACHA20_POLY1305, key, 32);
    bad |= strcmp(sealane_impl_name(&mine), sealane_impl_name(shared_key)) != 0;
    for (int i = 0; i < 200 && !bad; i++) {
        bad |= sealane_seal(&mine, out, tag, nonce, 12, NULL, 0, text, (size_t)i);
        bad |= sealane_seal(shared_key, out, tag2, nonce, 12, NULL, 0, text, (size_t)i);
        bad |= memcmp(tag, tag2, 16) != 0;
        bad |= !in_batch_of_threads(&mine, out, tag, nonce, (size_t)i);
        bad |= sealane_open(shared_key, out, tag, nonce, 12, NULL, 0, out, (size_t)i);
    }
    *(int *)result = bad;
    return NULL;
}

static int check_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int results[THREADS], bad = 0;
    static sealane_key k;
    const uint8_t key[32] = {7};
    if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0)
        return fail("key", 0);
    shared_key = &k;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, &results[i]) != 0)
            return fail("pthread_create", 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL), bad |= results[i];
    return !bad || fail("threads disagree", 0);
}

static void *first_use(void *key)
{
    const uint8_t bytes[32] = {9};
    return sealane_key_init(key, SEALANE_CHACHA20_POLY1305, bytes, 32) == 0 ? key : NULL;
}

/* Several threads use the library for the first time concurrently. This must run before all other checks. */
static int check_first_use(void)
{
    enum { THREADS = 4 };
    static sealane_key keys[THREADS];
    pthread_t threads[THREADS];
    void *result;
    int good = 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, first_use, &keys[i]) != 0)
            return fail("pthread_create", 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], &result), good &= result != NULL;
    for (int i = 1; i < THREADS; i++)
        good &= memcmp(&keys[0], &keys[i], 40) == 0;
    return good || fail("threads chose different levels", 0);
}

static void report(const char *name, int outcome)
{
    passed += outcome == 1, failed += outcome == 0, not_run += outcome == -1;
    printf("%s %s%s%s\n",
           outcome == 1   ? "ok  "
           : outcome == 0 ? "FAIL"
                          : "not run",
           name, outcome ? "" : ": ", outcome ? "" : why);
}

/* ---- Unauthenticated AES modes ---- */

/* NIST SP 800-38A, F.1.1, F.2.1, F.5.1, first blocks; IEEE 1619, vector 15. */
static int check_mode_specifications(void)
{
    static const char *const want[] = {"3ad77bb40d7a3660a89ecaf32466ef97", "7649abac8119b246cee98e9b12e9197d",
                                       "874d6191b620e3261bef6864990db6ce"};
    uint8_t key[32], text[17], iv[16], out[17], expected[17];
    sealane_aes_key k;
    sealane_aes_ctr s;
    sealane_xts_key x;
    from_hex(key, "2b7e151628aed2a6abf7158809cf4f3c"), from_hex(text, "6bc1bee22e409f96e93d7e117393172a");
    if (sealane_aes_key_init(&k, key, 16) != 0)
        return fail("no key", 0);
    for (size_t i = 0; i < 3; i++) {
        from_hex(iv, i == 2 ? "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff" : "000102030405060708090a0b0c0d0e0f");
        const int bad = i == 0   ? sealane_aes_ecb_encrypt(&k, out, text, 16)
                        : i == 1 ? sealane_aes_cbc_encrypt(&k, iv, out, text, 16)
                                 : sealane_aes_ctr_init(&s, iv, 128) || sealane_aes_ctr_xor(&k, &s, out, text, 16);
        from_hex(expected, want[i]);
        if (bad || memcmp(out, expected, 16) != 0)
            return fail("a wrong block", i);
    }
    from_hex(key, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0");
    for (size_t i = 0; i < 17; i++)
        text[i] = (uint8_t)i;
    from_hex(expected, "6c1625db4671522d3d7599601de7ca09ed");
    const uint8_t tweak[16] = {0x9a, 0x78, 0x56, 0x34, 0x12};
    if (sealane_aes_xts_key_init(&x, key, 32) != 0 || sealane_aes_xts_encrypt(&x, tweak, out, text, 17) != 0 ||
        memcmp(out, expected, 17) != 0)
        return fail("XTS", 17);
    return (sealane_aes_xts_decrypt(&x, tweak, out, out, 17) == 0 && memcmp(out, text, 17) == 0) ||
           fail("XTS decryption", 17);
}

static int mode_crypt(const vector *v, int decrypt, uint8_t *out, const uint8_t *in, size_t bytes)
{
    sealane_aes_key k;
    sealane_xts_key x;
    uint8_t iv[16];
    memcpy(iv, v->nonce, 16);
    if (strcmp(field[0], "AES-XTS") == 0)
        return sealane_aes_xts_key_init(&x, v->key, v->key_bytes) == 0 &&
               (decrypt ? sealane_aes_xts_decrypt : sealane_aes_xts_encrypt)(&x, iv, out, in, bytes) == 0;
    if (sealane_aes_key_init(&k, v->key, v->key_bytes) != 0)
        return 0;
    if (strcmp(field[0], "AES-CBC") == 0)
        return (decrypt ? sealane_aes_cbc_decrypt : sealane_aes_cbc_encrypt)(&k, iv, out, in, bytes) == 0 &&
               memcmp(iv, v->sealed + bytes - 16, 16) == 0;
    return (decrypt ? sealane_aes_ecb_decrypt : sealane_aes_ecb_encrypt)(&k, out, in, bytes) == 0;
}

/* The ECB output of a block is the CTR key stream of that counter. */
static int mode_counts(const vector *v)
{
    const uint8_t zero[16] = {0};
    uint8_t out[16];
    sealane_aes_key k;
    sealane_aes_ctr s;
    return sealane_aes_key_init(&k, v->key, v->key_bytes) == 0 && sealane_aes_ctr_init(&s, v->text, 128) == 0 &&
           sealane_aes_ctr_xor(&k, &s, out, zero, 16) == 0 && memcmp(out, v->sealed, 16) == 0;
}

/* In both directions, separately and in place. */
static int run_mode_vector(const vector *v)
{
    static uint8_t out[8192 + 16];
    const size_t n = v->text_bytes;
    if (n < 16 || v->sealed_bytes != n || v->nonce_bytes != (strcmp(field[0], "AES-ECB") == 0 ? 0 : 16))
        return 0;
    for (int i = 0; i < 4; i++) {
        const int decrypt = i / 2, in_place = i % 2;
        const uint8_t *in = decrypt ? v->sealed : v->text, *want = decrypt ? v->text : v->sealed;
        memset(out, 0xa5, sizeof out);
        if (in_place)
            memcpy(out, in, n);
        if (!mode_crypt(v, decrypt, out, in_place ? out : in, n) || memcmp(out, want, n) != 0 ||
            !all(out + n, 16, 0xa5))
            return 0;
    }
    return v->nonce_bytes != 0 || mode_counts(v);
}

/* NIST's vectors; with a plant, the one with that number is wrong. */
static int check_mode_vectors(const char *path, const char *plant)
{
    static vector v;
    size_t ran = 0;
    int got;
    FILE *f = path ? fopen(path, "r") : NULL;
    if (f == NULL)
        return path ? fail("cannot open the file of vectors", 0) : -1;
    while ((got = next_vector(f, &v)) == 1) {
        if (!is_mode(field[0]))
            continue;
        if (plant != NULL && strcmp(field[1], plant) == 0)
            v.sealed[v.sealed_bytes - 1] ^= 1;
        if (!run_mode_vector(&v)) {
            snprintf(why, sizeof why, "%.30s", field[1]);
            fclose(f);
            return 0;
        }
        ran++;
    }
    fclose(f);
    if (got < 0)
        return fail("malformed line of vectors", ran);
    printf("     %zu vectors of NIST\n", ran);
    return ran == 1438 ? 1 : fail("how many vectors", ran);
}

static uint8_t mode_out[100], mode_in[100], mode_iv[16];

/* Checks a call that must be refused: its status, and that nothing was written. */
static int refused(const char *what, int got, int want)
{
    if (got != want)
        return fail(what, (size_t)-got);
    if (!all(mode_out, sizeof mode_out, 0xa5))
        return fail(what, 0);
    return all(mode_iv, 16, 7) || fail("an initial value was written", 0);
}

static int check_wrong_modes(void)
{
    static const uint8_t key[64] = {1, 2, 3};
    static sealane_aes_key k, none;
    static sealane_xts_key x, no_x;
    sealane_aes_ctr s, no_s;
    uint8_t last[16];
    memset(mode_out, 0xa5, sizeof mode_out), memset(mode_iv, 7, 16), memset(last, 0xff, 16),
        memset(&no_s, 0, sizeof no_s);
    for (size_t n = 0; n <= 40; n++)
        if ((sealane_aes_key_init(&k, key, n) == 0) != (n == 16 || n == 24 || n == 32))
            return fail("key", n);
    for (size_t n = 0; n <= 70; n++)
        if ((sealane_aes_xts_key_init(&x, key, n) == 0) != (n == 32 || n == 64))
            return fail("XTS key", n);
    if (sealane_aes_xts_key_init(&no_x, key + 3, 32) != SEALANE_INVALID_KEY ||
        sealane_aes_key_init(&none, NULL, 16) != SEALANE_NULL || sealane_aes_key_init(NULL, key, 16) == 0 ||
        strcmp(sealane_aes_impl_name(&none), "none") != 0)
        return fail("a key that is none", 0);
    if (sealane_aes_key_init(&k, key, 16) != 0 || sealane_aes_xts_key_init(&x, key, 32) != 0)
        return fail("no key", 0);
    last[15] = 0xfe; /* two blocks remain */
    if (sealane_aes_ctr_init(&s, last, 32) != 0 || sealane_aes_ctr_init(&no_s, last, 64) != SEALANE_INVALID_LENGTH ||
        sealane_aes_ctr_init(NULL, last, 128) == 0 || sealane_aes_ctr_init(&no_s, NULL, 128) != SEALANE_NULL)
        return fail("ctr_init", 0);
#define REFUSED(call, why) refused(#call, call, why)
    if (!REFUSED(sealane_aes_ecb_encrypt(&k, mode_out, mode_in, 17), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_ecb_decrypt(&k, mode_out, NULL, 16), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ecb_encrypt(&none, mode_out, mode_in, 16), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_ecb_encrypt(&k, NULL, mode_in, 16), SEALANE_NULL) ||
        !REFUSED(sealane_aes_ecb_encrypt(&k, mode_out, mode_out + 1, 32), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cbc_encrypt(&k, mode_iv, mode_out, mode_in, 31), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_cbc_decrypt(&k, mode_iv, mode_out, mode_in, 15), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_cbc_decrypt(&k, NULL, mode_out, mode_in, 16), SEALANE_NULL) ||
        !REFUSED(sealane_aes_cbc_decrypt(&k, mode_out + 8, mode_out, mode_in, 16), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_cbc_encrypt(NULL, mode_iv, mode_out, mode_in, 16), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_ecb_encrypt(&k, mode_out, mode_in, (size_t)-16), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ecb_decrypt(&k, mode_out, mode_in, (size_t)-1), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_cbc_encrypt(&k, mode_iv, mode_out, mode_in, (size_t)-16), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_cbc_decrypt(&k, mode_iv, mode_out, mode_in, (size_t)-32), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &no_s, mode_out, mode_in, (size_t)-1), SEALANE_INVALID_STREAM) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_xts_encrypt(&x, mode_iv, mode_out, mode_in, (size_t)-1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, 33), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &no_s, mode_out, mode_in, 33), SEALANE_INVALID_STREAM) ||
        !REFUSED(sealane_aes_ctr_xor(&none, &s, mode_out, mode_in, 16), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &s, mode_out, mode_out + 2, 16), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_ctr_xor(&k, &s, s.counter, mode_in, 16), SEALANE_OVERLAP) ||
        !REFUSED(sealane_aes_xts_encrypt(&x, mode_iv, mode_out, mode_in, 15), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_xts_decrypt(&x, mode_iv, mode_out, mode_in, 0), SEALANE_INVALID_LENGTH) ||
        !REFUSED(sealane_aes_xts_decrypt(&x, mode_iv, mode_out, mode_in, ((size_t)1 << 24) + 1), SEALANE_TOO_LONG) ||
        !REFUSED(sealane_aes_xts_encrypt(&no_x, mode_iv, mode_out, mode_in, 16), SEALANE_INVALID_KEY) ||
        !REFUSED(sealane_aes_xts_encrypt(&x, NULL, mode_out, mode_in, 16), SEALANE_NULL) ||
        !REFUSED(sealane_aes_xts_encrypt(&x, mode_iv, mode_out, mode_out + 1, 20), SEALANE_OVERLAP))
        return 0;
#undef REFUSED
    if (sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, 20) != 0 ||
        sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, 12) != 0 ||
        sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, 0) != 0 ||
        sealane_aes_ctr_xor(&k, &s, mode_out, mode_in, 1) != SEALANE_TOO_LONG)
        return fail("the last blocks before the counter wraps around", 0);
    sealane_aes_key_wipe(&k), sealane_aes_xts_key_wipe(&x), sealane_aes_ctr_wipe(&s);
    return (sealane_aes_ecb_encrypt(&k, mode_out, mode_in, 16) == SEALANE_INVALID_KEY &&
            sealane_aes_xts_encrypt(&x, mode_iv, mode_out, mode_in, 16) == SEALANE_INVALID_KEY) ||
           fail("a key that was wiped", 0);
}

/* Texts side by side, with some mistakes, and the same texts individually. */
static int check_cbc_batch(void)
{
    enum { TEXTS = 30, ROOM = 400 };
    static uint8_t in[TEXTS][ROOM], out[TEXTS][ROOM], alone[ROOM];
    uint8_t iv[TEXTS][16], chain[16], raw[32];
    sealane_aes_key keys[TEXTS];
    sealane_cbc_op ops[TEXTS];
    size_t bad = 0;
    memset(out, 0xa5, sizeof out);
    for (size_t i = 0; i < TEXTS; i++) {
        randomize(raw, 32), randomize(in[i], ROOM), memset(iv[i], (int)i, 16);
        if (sealane_aes_key_init(&keys[i], raw, 16 + 8 * (i / 4 % 3)) != 0)
            return fail("no key", i);
        ops[i] = (sealane_cbc_op){&keys[i], iv[i], out[i], in[i], 16 * below(ROOM / 16), SEALANE_OK};
        if (i % 7 == 3)
            ops[i].in_bytes = 16 * (i % 5) + 5, bad++;
    }
    if (sealane_aes_cbc_encrypt_batch(ops, TEXTS) != TEXTS - bad || sealane_aes_cbc_encrypt_batch(NULL, 3) != 0)
        return fail("how many are good", 0);
    for (size_t i = 0; i < TEXTS; i++) {
        memset(chain, (int)i, 16);
        if (ops[i].status != sealane_aes_cbc_encrypt(&keys[i], chain, alone, in[i], ops[i].in_bytes) ||
            (ops[i].status == SEALANE_OK && memcmp(alone, out[i], ops[i].in_bytes) != 0) ||
            memcmp(chain, iv[i], 16) != 0 ||
            !all(ops[i].status == SEALANE_OK ? out[i] + ops[i].in_bytes : out[i],
                 ops[i].status == SEALANE_OK ? ROOM - ops[i].in_bytes : ROOM, 0xa5))
            return fail("a text of a batch", i);
    }
    return 1;
}

int main(int argc, char **argv)
{
    sealane_key k;
    const uint8_t key[32] = {0};
    const char *path = argc > 1 ? argv[1] : NULL;
    if (path != NULL && strcmp(path, "--name") == 0) {
        const int gcm = argc > 2 && strcmp(argv[2], "aesgcm") == 0;
        const int bad = sealane_key_init(&k, gcm ? SEALANE_AES_256_GCM : SEALANE_CHACHA20_POLY1305, key, 32);
        puts(bad ? "none" : sealane_impl_name(&k));
        return bad != 0;
    }
    if (argc > 2 && strncmp(argv[2], "--plant=", 8) == 0) {
        if (check_mode_vectors(path, argv[2] + 8) == 1)
            return 0;
        printf("FAIL %s\n", why);
        return strcmp(why, argv[2] + 8) == 0 ? 1 : 2;
    }
    const int some = argc > 2 && strcmp(argv[2], "--some") == 0;
    report("first use by several threads", check_first_use());
    report("version", strcmp(sealane_version(), SEALANE_VERSION) == 0);
    report("all is ready", sealane_init() == SEALANE_OK && sealane_init() == SEALANE_OK);
    if (sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, key, 32) != 0)
        return 1;
    printf("api: level %s\n", sealane_impl_name(&k));
    report("vectors of the ChaCha20-Poly1305 specifications", check_chacha_specifications());
    report("vectors of the GCM specification", check_gcm_specifications());
    report("Wycheproof and NIST", check_vectors(path));
    report("tampering", check_tampering(some ? 29 : 1));
    report("wrong keys", check_wrong_keys());
    report("wrong packets", check_wrong_packets());
    report("wrong pieces", check_wrong_pieces());
    report("wrong use of streams", check_stream_misuse());
    report("streams whose key is gone", check_stream_without_key());
    report("short tags", check_short_tags());
    report("damaged keys", check_damaged_keys());
    report("what keys and streams are made of", check_sources());
    report("streams and pieces agree with packets", check_pieces(some ? 300 : 3000));
    report("threads share a key", check_threads());
    report("vectors of AES without authentication", check_mode_specifications());
    report("NIST's vectors of AES without authentication", check_mode_vectors(path, NULL));
    report("wrong use of AES without authentication", check_wrong_modes());
    report("texts side by side", check_cbc_batch());
    printf("api (%s): %u passed, %u failed, %u not run\n", sealane_impl_name(&k), passed, failed, not_run);
    return failed != 0;
}
