/* AES-CMAC (NIST SP 800-38B) and AES-CCM (NIST SP 800-38C). Both chain blocks like CBC and keep only the last one. */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "contract.h"
#include "cpu.h"
#include "dit.h"
#include "key.h"

/* An AES key, with the level and schedules that a kernel takes. */
typedef struct {
    const sealane_aes_schedules *key;
    const sealane_level *level;
} aes;

static inline int aes_of(aes *k, const sealane_aes_key *key)
{
    k->key = sealane_aes_schedules_of(key, &k->level);
    return k->key != NULL;
}

/* chain = E(chain + block) for each whole block: CBC, of whose ciphertext only the last block is kept. */
enum { LARGE = 512 };

static void absorb(const aes *k, uint8_t chain[16], const uint8_t *in, size_t bytes)
{
    SEALANE_SCRATCH(scratch);
    uint8_t thrown_away[LARGE];
    sealane_mode_lane lane;
    sealane_mode_args a;
    lane.out = slot(thrown_away), lane.key = slot(k->key), lane.chain = slot(chain);
    a.lanes = slot(&lane), a.count = 1, a.operation = SEALANE_AES_CBC_ENCRYPT;
    const size_t most = bytes < LARGE ? bytes : LARGE;
    for (size_t n; bytes > 0; bytes -= n, in += n) {
        n = bytes < LARGE ? bytes : LARGE;
        lane.in = slot(in), a.bytes_each = n;
        k->level->kernel(&a, scratch, k->level->consts);
    }
    wipe(thrown_away, most);
}

/* The same for any length; the last block is padded with zeroes. */
static void absorb_padded(const aes *k, uint8_t chain[16], const uint8_t *in, size_t bytes)
{
    const size_t whole = bytes & ~(size_t)15;
    if (whole != 0)
        absorb(k, chain, in, whole);
    if (bytes != whole) {
        uint8_t last[16] = {0};
        memcpy(last, in + whole, bytes - whole);
        absorb(k, chain, last, 16);
        wipe(last, sizeof last);
    }
}

/* ---- CMAC ---- */

#define CMAC_MARK 0x736c6d31

static inline int is_cmac(const sealane_aes_cmac *s)
{
    return s != NULL && s->ready == CMAC_MARK && s->held_bytes <= 16;
}

int sealane_aes_cmac_init(sealane_aes_cmac *s)
{
    if (s == NULL)
        return SEALANE_INVALID_STREAM;
    wipe(s, sizeof *s);
    s->ready = CMAC_MARK;
    return SEALANE_OK;
}

void sealane_aes_cmac_wipe(sealane_aes_cmac *s)
{
    if (s != NULL)
        wipe(s, sizeof *s);
}

/* The last block, whole or not, is held until the end, because a subkey is added to it. */
static void update(const aes *k, sealane_aes_cmac *s, const uint8_t *in, size_t bytes)
{
    const size_t room = 16 - s->held_bytes, first = bytes < room ? bytes : room;
    memcpy(s->held + s->held_bytes, in, first);
    s->held_bytes += (uint32_t)first;
    in += first, bytes -= first;
    if (bytes == 0)
        return;
    absorb(k, s->chain, s->held, 16);
    const size_t whole = (bytes - 1) & ~(size_t)15;
    if (whole != 0)
        absorb(k, s->chain, in, whole);
    memcpy(s->held, in + whole, bytes - whole);
    s->held_bytes = (uint32_t)(bytes - whole);
}

int sealane_aes_cmac_update(const sealane_aes_key *key, sealane_aes_cmac *s, const uint8_t *in, size_t in_bytes)
{
    aes k;
    if (!is_cmac(s))
        return SEALANE_INVALID_STREAM;
    if (!aes_of(&k, key))
        return SEALANE_INVALID_KEY;
    if (in_bytes == 0)
        return SEALANE_OK;
    if (in_bytes > LENGTH_MAX)
        return SEALANE_TOO_LONG;
    const sealane_status why = source_mistake(s, sizeof *s, in, in_bytes);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    update(&k, s, in, in_bytes);
    dit_restore(dit);
    return SEALANE_OK;
}

/* Multiplies by x in GF(2^128), big-endian (SP 800-38B, section 5.3). */
static void double_block(uint8_t block[16])
{
    const uint64_t high = load64_be(block), low = load64_be(block + 8);
    store64_be(block, high << 1 | low >> 63);
    keep_stores(block); /* otherwise gcc combines both halves on the stack and leaves them there */
    store64_be(block + 8, low << 1 ^ (0x87 & (0 - hide(high >> 63))));
}

/* Turns E(0) into the final block: last, padded if it is not whole, XOR a subkey (section 6.2, steps 1 and 4). */
static void last_block(uint8_t block[16], const uint8_t *last, size_t bytes)
{
    double_block(block);
    if (bytes < 16) {
        double_block(block);
        block[bytes] ^= 0x80;
    }
    for (size_t i = 0; i < bytes; i++)
        block[i] ^= last[i];
}

static void finish(const aes *k, sealane_aes_cmac *s)
{
    uint8_t last[16] = {0};
    absorb(k, last, last, 16);
    last_block(last, s->held, s->held_bytes);
    absorb(k, s->chain, last, 16);
    wipe(last, sizeof last);
}

int sealane_aes_cmac_final(const sealane_aes_key *key, sealane_aes_cmac *s, uint8_t mac[16])
{
    aes k;
    if (!is_cmac(s))
        return SEALANE_INVALID_STREAM;
    if (!aes_of(&k, key))
        return SEALANE_INVALID_KEY;
    const sealane_status why = source_mistake(s, sizeof *s, mac, 16);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    finish(&k, s);
    memcpy(mac, s->chain, 16);
    wipe(s, sizeof *s);
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_aes_cmac_verify(const sealane_aes_key *key, sealane_aes_cmac *s, const uint8_t *mac, size_t mac_bytes)
{
    aes k;
    if (!is_cmac(s))
        return SEALANE_INVALID_STREAM;
    if (!aes_of(&k, key))
        return SEALANE_INVALID_KEY;
    if (mac_bytes < 4 || mac_bytes > 16)
        return SEALANE_INVALID_TAG;
    const sealane_status why = source_mistake(s, sizeof *s, mac, mac_bytes);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    finish(&k, s);
    const int same = sealane_same_tag(s->chain, mac, mac_bytes);
    wipe(s, sizeof *s);
    dit_restore(dit);
    return same ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
}

/* ---- CCM ---- */

#define CCM_MARK 0x736c6331

static inline int ccm_tag_fits(uint64_t tag_bytes)
{
    return tag_bytes >= 4 && tag_bytes <= 16 && tag_bytes % 2 == 0;
}

/* The tag size of a key in bytes, or 0 if the key is invalid. */
static inline size_t ccm_tag_of(const sealane_ccm_key *k)
{
    if (k == NULL || k->opaque >> 32 != CCM_MARK || !ccm_tag_fits(k->opaque & 0xffffffff))
        return 0;
    return (size_t)(k->opaque & 0xffffffff);
}

int sealane_aes_ccm_key_init(sealane_ccm_key *k, const uint8_t *key, size_t key_bytes, size_t tag_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    int failed = ccm_tag_fits(tag_bytes) ? source_mistake(k, sizeof *k, key, key_bytes) : SEALANE_INVALID_TAG;
    if (key_bytes != 16 && key_bytes != 24 && key_bytes != 32)
        failed = SEALANE_INVALID_KEY;
    if (!failed)
        failed = sealane_aes_key_init(&k->aes, key, key_bytes);
    if (failed)
        wipe(k, sizeof *k);
    else
        k->opaque = (uint64_t)CCM_MARK << 32 | tag_bytes;
    return failed;
}

void sealane_aes_ccm_key_wipe(sealane_ccm_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

/* A packet in progress. */
typedef struct {
    aes k;
    const sealane_aes_key *key;
    uint8_t counter[16], chain[16], mask[16];
} ccm;

/* Writes the lengths of a packet as in B0 and the block after it (SP 800-38C, appendix A.2). Returns the size of these
 * blocks, and in *with how much associated data they include. */
static size_t lengths(uint8_t first[32], const sealane_packet *p, size_t tag_bytes, size_t *with)
{
    const size_t length_bytes = 15 - p->nonce_bytes;
    uint64_t left = p->bytes;
    memset(first, 0, 32);
    first[0] = (uint8_t)((p->ad_bytes != 0 ? 0x40 : 0) | (tag_bytes - 2) / 2 << 3 | (length_bytes - 1));
    memcpy(first + 1, p->nonce, p->nonce_bytes);
    for (size_t i = 0; i < length_bytes; i++, left >>= 8)
        first[15 - i] = (uint8_t)left;
    *with = 0;
    if (p->ad_bytes == 0)
        return 16;
    uint8_t *const second = first + 16;
    const size_t prefix = p->ad_bytes < 0xff00 ? 2 : p->ad_bytes >> 16 >> 16 == 0 ? 6 : 10;
    *with = p->ad_bytes < 16 - prefix ? p->ad_bytes : 16 - prefix;
    second[0] = 0xff, second[1] = prefix == 6 ? 0xfe : 0xff;
    left = p->ad_bytes;
    for (size_t i = prefix; i > (prefix == 2 ? 0 : 2); i--, left >>= 8)
        second[i - 1] = (uint8_t)left;
    memcpy(second + prefix, p->ad, *with);
    return 32;
}

/* Sets the counter (appendix A.3), and makes the mask of the tag. */
static void begin(ccm *c, const sealane_packet *p)
{
    memset(c->counter, 0, 16), memset(c->chain, 0, 16), memset(c->mask, 0, 16);
    c->counter[0] = (uint8_t)(14 - p->nonce_bytes);
    memcpy(c->counter + 1, p->nonce, p->nonce_bytes);
    sealane_aes_ctr_blocks(c->key, c->counter, c->mask, c->mask, 16);
}

/* XORs keystream into a part of the text: whole blocks, and possibly a partial one at the end. */
static void crypt(ccm *c, uint8_t *out, const uint8_t *in, size_t bytes)
{
    const size_t whole = bytes & ~(size_t)15;
    if (whole != 0)
        sealane_aes_ctr_blocks(c->key, c->counter, out, in, whole);
    if (bytes != whole) {
        uint8_t last[16] = {0};
        memcpy(last, in + whole, bytes - whole);
        sealane_aes_ctr_blocks(c->key, c->counter, last, last, 16);
        memcpy(out + whole, last, bytes - whole);
        wipe(last, sizeof last);
    }
}

/* How many bytes each step chains and encrypts. An x86-64 CPU with AES instructions encrypts four blocks while it waits
 * for the CBC-MAC chain of the previous four. Both fit in its reorder buffer, so CTR costs no time. Other CPUs do not
 * look so far ahead, and are faster with more blocks at a time. */
static inline size_t part_of(const sealane_level *level)
{
#if defined(SEALANE_X86_64_KERNELS)
    return level->needs & SEALANE_X86_AES ? 64 : LARGE;
#else
    (void)level;
    return LARGE;
#endif
}

/* Processes the whole packet, and leaves its tag in mask. */
static void run(ccm *c, const sealane_packet *p, size_t tag_bytes)
{
    const size_t part = part_of(c->k.level);
    uint8_t first[32];
    size_t with;
    begin(c, p);
    absorb(&c->k, c->chain, first, lengths(first, p, tag_bytes, &with));
    if (with != 0)
        absorb_padded(&c->k, c->chain, p->ad + with, p->ad_bytes - with);
    wipe(first, sizeof first);
    for (size_t at = 0, n; at < p->bytes; at += n) {
        n = p->bytes - at < part ? p->bytes - at : part;
        if (!p->open)
            absorb_padded(&c->k, c->chain, p->in + at, n);
        crypt(c, p->out + at, p->in + at, n);
        if (p->open)
            absorb_padded(&c->k, c->chain, p->out + at, n);
    }
}

/* Erases an opened forgery: zeroes a separate output, or restores the ciphertext in place. */
static sealane_status take_back(ccm *c, const sealane_packet *p)
{
    if (p->out != p->in && p->bytes != 0)
        memset(p->out, 0, p->bytes);
    if (p->out == p->in && p->bytes != 0) {
        memset(c->counter + 1 + p->nonce_bytes, 0, 15 - p->nonce_bytes);
        c->counter[15] = 1;
        crypt(c, p->out, p->in, p->bytes);
    }
    return SEALANE_NOT_AUTHENTIC;
}

static ON_SECRET_WORDS void mask_tag(ccm *c)
{
    for (size_t i = 0; i < 16; i++)
        c->mask[i] ^= c->chain[i];
}

/* Writes the tag, or compares it. */
static sealane_status end(ccm *c, const sealane_packet *p, uint8_t *tag, size_t tag_bytes)
{
    mask_tag(c);
    if (!p->open)
        memcpy(tag, c->mask, tag_bytes);
    else if (!sealane_same_tag(c->mask, p->tag, tag_bytes))
        return take_back(c, p);
    return SEALANE_OK;
}

static sealane_status ccm_mistake(ccm *c, const sealane_ccm_key *k, const sealane_packet *p)
{
    const size_t tag_bytes = ccm_tag_of(k);
    if (tag_bytes == 0 || !aes_of(&c->k, &k->aes))
        return SEALANE_INVALID_KEY;
    c->key = &k->aes;
    if (p->nonce_bytes < 7 || p->nonce_bytes > 13)
        return SEALANE_INVALID_NONCE;
    /* The length field has 15 - nonce_bytes bytes. */
    const uint64_t most = p->nonce_bytes == 7 ? UINT64_MAX : ((uint64_t)1 << 8 * (15 - p->nonce_bytes)) - 1;
    return packet_mistake(p, (sealane_limits){most < LENGTH_MAX ? (size_t)most : LENGTH_MAX, LENGTH_MAX, tag_bytes});
}

static int packet(const sealane_ccm_key *k, const sealane_packet *p, uint8_t *tag)
{
    ccm c;
    sealane_status status = ccm_mistake(&c, k, p);
    if (status != SEALANE_OK)
        return status;
    const uint64_t dit = dit_on();
    run(&c, p, ccm_tag_of(k));
    status = end(&c, p, tag, ccm_tag_of(k));
    wipe(&c, sizeof c);
    dit_restore(dit);
    return status;
}

int sealane_aes_ccm_seal(const sealane_ccm_key *k, uint8_t *out, uint8_t *tag, const uint8_t *nonce, size_t nonce_bytes,
                         const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const sealane_packet p = {NULL, out, in, in_bytes, ad, ad_bytes, nonce, nonce_bytes, tag, 0};
    return packet(k, &p, tag);
}

int sealane_aes_ccm_open(const sealane_ccm_key *k, uint8_t *out, const uint8_t *tag, const uint8_t *nonce,
                         size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const sealane_packet p = {NULL, out, in, in_bytes, ad, ad_bytes, nonce, nonce_bytes, tag, 1};
    return packet(k, &p, NULL);
}

/* ---- Several chains side by side ---- */

enum { TOGETHER = 8, STEP = 256 };

/* A text in progress. For CMAC, c contains only the chain, and packet the text and the address of its MAC. */
typedef struct {
    ccm c;
    sealane_packet packet;
    uint8_t *tag;
    sealane_status *status;
    struct {
        const uint8_t *in;
        size_t bytes;
    } parts[2], now; /* associated data and text still to chain; whole blocks of them to chain next */
    size_t tag_bytes, part;
    uint8_t block[32]; /* storage for now.in */
} job;

/* The texts have one level and number of rounds. When one ends, the next takes its place. */
typedef struct {
    int (*next)(job *j); /* selects the next blocks to chain, in now; 0 at the end */
    sealane_status (*end)(job *j);
    job *of[TOGETHER];     /* the first `count` are in progress */
    size_t count, longest; /* longest: largest step so far */
    sealane_mode_lane lanes[TOGETHER];
    job jobs[TOGETHER];
    uint8_t thrown_away[TOGETHER][STEP];
} side_by_side;

static void begin_batch(side_by_side *s, int (*next)(job *j), sealane_status (*end_of)(job *j))
{
    s->next = next, s->end = end_of, s->count = s->longest = 0;
    for (size_t i = 0; i < TOGETHER; i++)
        s->of[i] = &s->jobs[i];
}

static void run_until(side_by_side *s, size_t count)
{
    SEALANE_SCRATCH(scratch);
    sealane_mode_args a;
    a.lanes = slot(s->lanes), a.operation = SEALANE_AES_CBC_ENCRYPT;
    while (s->count > count) {
        const sealane_level *level = s->of[0]->c.k.level;
        size_t n = STEP;
        for (size_t i = 0; i < s->count; i++)
            n = s->of[i]->now.bytes < n ? s->of[i]->now.bytes : n;
        a.count = s->count, a.bytes_each = n;
        s->longest = n > s->longest ? n : s->longest;
        level->kernel(&a, scratch, level->consts);
        for (size_t i = s->count; i-- > 0;) {
            job *const j = s->of[i];
            j->now.in += n, j->now.bytes -= n;
            if (j->now.bytes != 0 || s->next(j)) {
                s->lanes[i].in = slot(j->now.in);
                continue;
            }
            *j->status = s->end(j);
            s->count--;
            s->of[i] = s->of[s->count], s->lanes[i] = s->lanes[s->count];
            s->of[s->count] = j;
        }
    }
}

/* A place to prepare the next text, with the given key. */
static job *room_for(side_by_side *s, const aes *k)
{
    const aes *const other = &s->of[0]->c.k;
    const int alike = s->count == 0 || (other->level == k->level && other->key->rounds == k->key->rounds);
    run_until(s, alike ? TOGETHER - 1 : 0);
    s->of[s->count]->c.k = *k;
    return s->of[s->count];
}

/* Starts the text that was prepared there. */
static void add(side_by_side *s)
{
    job *const j = s->of[s->count];
    sealane_mode_lane *const lane = &s->lanes[s->count++];
    lane->out = slot(s->thrown_away[j - s->jobs]), lane->in = slot(j->now.in);
    lane->key = slot(j->c.k.key), lane->chain = slot(j->c.chain);
}

static void end_batch(side_by_side *s, size_t texts)
{
    run_until(s, 0);
    const size_t used = texts < TOGETHER ? texts : TOGETHER;
    for (size_t i = 0; i < used; i++) {
        wipe(&s->jobs[i].c, sizeof s->jobs[i].c), wipe(s->jobs[i].block, sizeof s->jobs[i].block);
        wipe_long(s->thrown_away[i], s->longest);
    }
}

/* After E(0) come the text without its last block, and then that block. */
static int cmac_next(job *j)
{
    const sealane_packet *p = &j->packet;
    const size_t whole = p->bytes == 0 ? 0 : (p->bytes - 1) & ~(size_t)15;
    if (j->part == 0) {
        memcpy(j->block, j->c.chain, 16);
        memset(j->c.chain, 0, 16);
        last_block(j->block, p->bytes == 0 ? j->block : p->in + whole, p->bytes - whole);
    }
    j->part += j->part == 0 && whole == 0 ? 2 : 1;
    j->now.in = j->part == 1 ? p->in : j->block;
    j->now.bytes = j->part == 1 ? whole : 16;
    return j->part <= 2;
}

static sealane_status cmac_end(job *j)
{
    if (j->packet.open)
        return sealane_same_tag(j->c.chain, j->packet.tag, j->tag_bytes) ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
    memcpy(j->tag, j->c.chain, 16);
    return SEALANE_OK;
}

static sealane_status cmac_mistake(aes *k, const sealane_cmac_op *op, int verify)
{
    if (!aes_of(k, op->key))
        return SEALANE_INVALID_KEY;
    if (verify && (op->mac_bytes < 4 || op->mac_bytes > 16))
        return SEALANE_INVALID_TAG;
    if (op->in_bytes > LENGTH_MAX)
        return SEALANE_TOO_LONG;
    if ((op->in == NULL && op->in_bytes != 0) || op->mac == NULL)
        return SEALANE_NULL;
    return !verify && overlap(op->in, op->in_bytes, op->mac, 16) ? SEALANE_OVERLAP : SEALANE_OK;
}

static size_t cmac_batch(sealane_cmac_op *ops, size_t n, int verify)
{
    side_by_side s;
    size_t good = 0;
    aes k;
    const uint64_t dit = dit_on();
    begin_batch(&s, cmac_next, cmac_end);
    for (size_t i = 0; i < n; i++) {
        sealane_cmac_op *const op = &ops[i];
        op->status = cmac_mistake(&k, op, verify);
        if (op->status != SEALANE_OK)
            continue;
        job *const j = room_for(&s, &k);
        j->packet.in = op->in, j->packet.bytes = op->in_bytes, j->packet.open = verify;
        j->packet.tag = op->expected_mac, j->tag = op->mac, j->tag_bytes = op->mac_bytes, j->status = &op->status;
        memset(j->block, 0, 16), memset(j->c.chain, 0, 16);
        j->now.in = j->block, j->now.bytes = 16, j->part = 0;
        add(&s);
    }
    end_batch(&s, n);
    for (size_t i = 0; i < n; i++)
        good += ops[i].status == SEALANE_OK;
    dit_restore(dit);
    return good;
}

size_t sealane_aes_cmac_batch(sealane_cmac_op *ops, size_t n)
{
    return cmac_batch(ops, ops == NULL ? 0 : n, 0);
}

size_t sealane_aes_cmac_verify_batch(sealane_cmac_op *ops, size_t n)
{
    return cmac_batch(ops, ops == NULL ? 0 : n, 1);
}

/* For each part, first the whole blocks, and then a last block padded with zeroes. */
static int ccm_next(job *j)
{
    for (; j->part < 2; j->part++) {
        const uint8_t *const in = j->parts[j->part].in;
        const size_t bytes = j->parts[j->part].bytes, rest = bytes % 16;
        if (bytes >= 16) {
            j->now.in = in, j->now.bytes = bytes - rest;
            j->parts[j->part].in = in + (bytes - rest), j->parts[j->part].bytes = rest;
            return 1;
        }
        if (rest != 0) {
            memset(j->block, 0, 16), memcpy(j->block, in, rest);
            j->now.in = j->block, j->now.bytes = 16;
            j->part++;
            return 1;
        }
    }
    return 0;
}

static sealane_status ccm_end(job *j)
{
    const sealane_packet *p = &j->packet;
    if (!p->open)
        crypt(&j->c, p->out, p->in, p->bytes);
    return end(&j->c, p, j->tag, j->tag_bytes);
}

static sealane_packet packet_of(const sealane_ccm_op *op, int open)
{
    return (sealane_packet){NULL,         op->out,   op->in,          op->in_bytes, op->ad,
                            op->ad_bytes, op->nonce, op->nonce_bytes, op->tag,      open};
}

static void begin_job(job *j, const sealane_ccm_op *op, const sealane_packet *p)
{
    size_t with;
    j->packet = *p, j->tag = op->tag, j->tag_bytes = ccm_tag_of(op->key);
    j->c.key = &op->key->aes;
    begin(&j->c, p);
    if (p->open)
        crypt(&j->c, p->out, p->in, p->bytes);
    j->now.in = j->block, j->now.bytes = lengths(j->block, p, j->tag_bytes, &with), j->part = 0;
    j->parts[0].in = with == 0 ? p->ad : p->ad + with, j->parts[0].bytes = p->ad_bytes - with;
    j->parts[1].in = p->open ? p->out : p->in, j->parts[1].bytes = p->bytes;
}

static size_t ccm_batch(sealane_ccm_op *ops, size_t n, int open)
{
    side_by_side s;
    ccm checked;
    size_t good = 0;
    const uint64_t dit = dit_on();
    begin_batch(&s, ccm_next, ccm_end);
    for (size_t i = 0; i < n; i++) {
        sealane_ccm_op *const op = &ops[i];
        const sealane_packet p = packet_of(op, open);
        op->status = ccm_mistake(&checked, op->key, &p);
        if (op->status != SEALANE_OK)
            continue;
        job *const j = room_for(&s, &checked.k);
        j->status = &op->status;
        begin_job(j, op, &p);
        add(&s);
    }
    end_batch(&s, n);
    for (size_t i = 0; i < n; i++)
        good += ops[i].status == SEALANE_OK;
    dit_restore(dit);
    return good;
}

size_t sealane_aes_ccm_seal_batch(sealane_ccm_op *ops, size_t n)
{
    return ccm_batch(ops, ops == NULL ? 0 : n, 0);
}

size_t sealane_aes_ccm_open_batch(sealane_ccm_op *ops, size_t n)
{
    return ccm_batch(ops, ops == NULL ? 0 : n, 1);
}
