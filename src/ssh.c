/* chacha20-poly1305@openssh.com (OpenSSH's PROTOCOL.chacha20poly1305), with the kernels of ChaCha20-Poly1305.
 *
 * Kernels compute Poly1305 as that of associated data, with block 0 of the same keystream as the key. Portable code
 * adds the partial block at the end and finishes, because no lengths are authenticated.
 */
#include "../include/sealane.h"

#include "contract.h"
#include "dit.h"
#include "key.h"

enum { LENGTH_BYTES = 4, NONCE_BYTES = 12 };

int sealane_ssh_key_init(sealane_ssh_key *k, const uint8_t *key, size_t key_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    int failed =
        key_bytes != SEALANE_SSH_KEY_BYTES ? SEALANE_INVALID_KEY : source_mistake(k, sizeof *k, key, key_bytes);
    if (!failed)
        failed = sealane_key_init(&k->text, SEALANE_CHACHA20_POLY1305, key, 32);
    if (!failed)
        failed = sealane_key_init(&k->length, SEALANE_CHACHA20_POLY1305, key + 32, 32);
    if (!failed && sealane_level_of_process(&sealane_tables[SEALANE_CHACHA20MASKS]) < 0)
        failed = SEALANE_NO_LEVEL;
    if (failed)
        wipe(k, sizeof *k);
    return failed;
}

void sealane_ssh_key_wipe(sealane_ssh_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

static int is_ssh_key(const sealane_ssh_key *k)
{
    return k != NULL && key_valid(&k->text) && key_valid(&k->length) &&
           key_alg(&k->text) == SEALANE_CHACHA20_POLY1305 && key_alg(&k->length) == SEALANE_CHACHA20_POLY1305;
}

/* The first bytes of RFC 8439's nonce are the upper half of the counter here, which is 0 because no packet is that
 * long. */
static void make_nonce(uint8_t nonce[NONCE_BYTES], uint32_t sequence)
{
    memset(nonce, 0, NONCE_BYTES);
    store32(nonce + 8, swap32(sequence));
}

static void authenticate(const sealane_key *k, const uint8_t nonce[NONCE_BYTES], uint8_t tag[16], const uint8_t *in,
                         size_t bytes)
{
    const size_t whole = bytes & ~(size_t)15;
    sealane_state state;
    const sealane_packet_args a = {
        .ad = slot(in),
        .ad_bytes = whole,
        .key = slot(key_bytes_of(k)),
        .nonce = slot(nonce),
        .state = slot(&state),
        .flags = SEALANE_FLAG_FIRST,
    };
    sealane_call(key_level(k), &a);
    if (bytes != whole)
        sealane_poly1305_last(&state, in + whole, bytes - whole);
    sealane_poly1305_tag(&state, tag);
    wipe(&state, sizeof state);
}

/* Encrypts or decrypts the length with the first bytes of block 0, which a QUIC header mask kernel can make. */
static void crypt_length(const sealane_key *k, const uint8_t nonce[NONCE_BYTES], uint8_t *out, const uint8_t *in)
{
    const sealane_table *table = &sealane_tables[SEALANE_CHACHA20MASKS];
    uint8_t counter_and_nonce[4 + NONCE_BYTES] = {0}, mask[8];
    sealane_mode_lane lane;
    sealane_mode_args a;
    memcpy(counter_and_nonce + 4, nonce, NONCE_BYTES);
    lane.out = slot(mask), lane.in = slot(counter_and_nonce), lane.key = slot(key_bytes_of(k));
    a.lanes = slot(&lane), a.count = 1, a.operation = SEALANE_AES_MASKS;
    sealane_call(&table->levels[sealane_level_of_process(table)], &a);
    store32(out, load32(in) ^ load32(mask));
    wipe(mask, sizeof mask);
}

/* Encrypts or decrypts text and length. */
static void crypt_both(const sealane_ssh_key *k, const uint8_t nonce[NONCE_BYTES], uint8_t *out, const uint8_t *in,
                       size_t bytes)
{
    crypt_length(&k->length, nonce, out, in);
    if (bytes != LENGTH_BYTES)
        sealane_chacha20_part(&k->text, nonce, 1, out + LENGTH_BYTES, in + LENGTH_BYTES, bytes - LENGTH_BYTES);
}

int sealane_ssh_length(const sealane_ssh_key *k, uint32_t sequence, uint32_t *packet_length, const uint8_t in[4])
{
    uint8_t nonce[NONCE_BYTES], length[LENGTH_BYTES];
    if (!is_ssh_key(k))
        return SEALANE_INVALID_KEY;
    if (packet_length == NULL || in == NULL)
        return SEALANE_NULL;
    if (overlap(packet_length, sizeof *packet_length, in, LENGTH_BYTES))
        return SEALANE_OVERLAP;
    const uint64_t dit = dit_on();
    make_nonce(nonce, sequence);
    crypt_length(&k->length, nonce, length, in);
    *packet_length = swap32(load32(length));
    wipe(length, sizeof length);
    sealane_burn_stack();
    dit_restore(dit);
    return SEALANE_OK;
}

static int mistake(const sealane_ssh_key *k, const sealane_packet *p)
{
    if (!is_ssh_key(k))
        return SEALANE_INVALID_KEY;
    if (p->bytes < LENGTH_BYTES)
        return SEALANE_INVALID_LENGTH;
    return packet_mistake(p, (sealane_limits){length_within(((uint64_t)1 << 32) + 3), 0, SEALANE_TAG_BYTES});
}

int sealane_ssh_seal(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out, uint8_t tag[16], const uint8_t *in,
                     size_t in_bytes)
{
    uint8_t nonce[NONCE_BYTES];
    const sealane_packet p = {NULL, out, in, in_bytes, NULL, 0, nonce, NONCE_BYTES, tag, 0};
    const int why = mistake(k, &p);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    make_nonce(nonce, sequence);
    crypt_both(k, nonce, out, in, in_bytes);
    authenticate(&k->text, nonce, tag, out, in_bytes);
    sealane_burn_stack();
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_ssh_open(const sealane_ssh_key *k, uint32_t sequence, uint8_t *out, const uint8_t tag[16],
                     const uint8_t *in, size_t in_bytes)
{
    uint8_t nonce[NONCE_BYTES], expected[16];
    const sealane_packet p = {NULL, out, in, in_bytes, NULL, 0, nonce, NONCE_BYTES, tag, 1};
    const int why = mistake(k, &p);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    make_nonce(nonce, sequence);
    authenticate(&k->text, nonce, expected, in, in_bytes);
    const int same = equal16(expected, tag);
    wipe(expected, sizeof expected);
    if (same)
        crypt_both(k, nonce, out, in, in_bytes);
    else if (out != in)
        memset(out, 0, in_bytes);
    sealane_burn_stack();
    dit_restore(dit);
    return same ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
}
