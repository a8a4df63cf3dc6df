/* Compares crypto_sealane with sealane's own calls. It uses random bursts of packets with different sessions,
 * directions, lengths, segments and positions, some of them forged. It also tests the synchronous interface and
 * refusals.
 *
 *     driver EAL-OPTIONS -- [--plant=CHECK]      --plant makes one check fail */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cryptodev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "../../include/sealane.h"

enum { SESSIONS = 14, BURSTS = 400, BURST = 100, LONGEST = 3000, NONCE = 12, DESCRIPTORS = 256 };
#define NONCE_AT (sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op))

static const char *plant = "";
static unsigned passed, failed;
static struct rte_mempool *buffers, *operations, *session_pool;
static uint8_t device;

static void verdict(const char *check, bool ok)
{
    printf("%s %s\n", ok ? "ok  " : "FAIL", check);
    *(ok ? &passed : &failed) += 1;
}

static bool planted(const char *check)
{
    return strcmp(plant, check) == 0;
}

static unsigned below(unsigned n)
{
    return (unsigned)random() % n;
}

static void fill(uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)random();
}

/* ---- Sessions ---- */

struct session {
    void *handle;
    sealane_key key;
    unsigned tag_bytes, ad_bytes;
    bool opens;
};
static struct session sessions[SESSIONS];

static struct rte_crypto_sym_xform xform_of(bool chacha, unsigned key_bytes, const uint8_t *key, unsigned tag_bytes,
                                            unsigned ad_bytes, bool opens)
{
    return (struct rte_crypto_sym_xform){
        .type = RTE_CRYPTO_SYM_XFORM_AEAD,
        .aead =
            {
                .op = opens ? RTE_CRYPTO_AEAD_OP_DECRYPT : RTE_CRYPTO_AEAD_OP_ENCRYPT,
                .algo = chacha ? RTE_CRYPTO_AEAD_CHACHA20_POLY1305 : RTE_CRYPTO_AEAD_AES_GCM,
                .key = {key, (uint16_t)key_bytes},
                .iv = {NONCE_AT, NONCE},
                .digest_length = (uint16_t)tag_bytes,
                .aad_length = (uint16_t)ad_bytes,
            },
    };
}

/* One session for each key size, two tag lengths, and each direction. */
static bool make_sessions(void)
{
    static const struct {
        sealane_alg alg;
        unsigned key_bytes, tag_bytes, ad_bytes;
    } kinds[SESSIONS / 2] = {
        {SEALANE_AES_128_GCM, 16, 16, 12},        {SEALANE_AES_128_GCM, 16, 12, 8},
        {SEALANE_AES_192_GCM, 24, 16, 0},         {SEALANE_AES_256_GCM, 32, 16, 13},
        {SEALANE_AES_256_GCM, 32, 13, 64},        {SEALANE_CHACHA20_POLY1305, 32, 16, 12},
        {SEALANE_CHACHA20_POLY1305, 32, 16, 100},
    };
    for (unsigned i = 0; i < SESSIONS; i++) {
        const unsigned kind = i / 2;
        struct session *s = &sessions[i];
        uint8_t key[32];
        fill(key, sizeof key);
        *s = (struct session){.tag_bytes = kinds[kind].tag_bytes, .ad_bytes = kinds[kind].ad_bytes, .opens = i % 2};
        struct rte_crypto_sym_xform xform = xform_of(kinds[kind].alg == SEALANE_CHACHA20_POLY1305,
                                                     kinds[kind].key_bytes, key, s->tag_bytes, s->ad_bytes, s->opens);
        s->handle = rte_cryptodev_sym_session_create(device, &xform, session_pool);
        if (s->handle == NULL ||
            sealane_key_init_with_tag(&s->key, kinds[kind].alg, key, kinds[kind].key_bytes, s->tag_bytes) != 0)
            return false;
    }
    return true;
}

static int refusal(bool chacha, unsigned key_bytes, unsigned tag_bytes, unsigned nonce_bytes)
{
    static const uint8_t key[64];
    struct rte_crypto_sym_xform xform = xform_of(chacha, key_bytes, key, tag_bytes, 0, false);
    xform.aead.iv.length = (uint16_t)nonce_bytes;
    void *made = rte_cryptodev_sym_session_create(device, &xform, session_pool);
    if (made != NULL)
        rte_cryptodev_sym_session_free(device, made);
    return made == NULL ? rte_errno : 0;
}

/* ---- Packets ---- */

/* The input, and the expected output. */
struct packet {
    const struct session *session;
    struct rte_crypto_op *op;
    enum rte_crypto_op_status status;
    unsigned bytes, head; /* text, and bytes before it in the packet */
    uint8_t in[LONGEST], out[LONGEST], tag[16], wanted_tag[16], ad[128];
    bool in_place;
};

/* A packet of `bytes` bytes in up to `pieces` segments, some of them empty. */
static struct rte_mbuf *make_buffer(const uint8_t *data, unsigned head, unsigned bytes, unsigned pieces)
{
    struct rte_mbuf *first = rte_pktmbuf_alloc(buffers);
    unsigned at = 0, total = head + bytes;
    for (struct rte_mbuf *m = first; m != NULL;) {
        const unsigned n = pieces == 1 ? total - at : below(total - at + 1);
        uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)n);
        for (unsigned i = 0; i < n; i++)
            p[i] = at + i < head || data == NULL ? 0xa5 : data[at + i - head];
        at += n;
        if (m != first)
            rte_pktmbuf_chain(first, m);
        m = --pieces > 0 ? rte_pktmbuf_alloc(buffers) : NULL;
    }
    return first;
}

static void make_packet(struct packet *p)
{
    p->session = &sessions[below(SESSIONS)];
    const struct session *s = p->session;
    p->bytes = below(8) ? below(400) : below(LONGEST);
    p->head = below(3) ? 0 : below(64);
    p->in_place = below(2);
    fill(p->in, p->bytes);
    fill(p->ad, s->ad_bytes);
    p->op = rte_crypto_op_alloc(operations, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
    uint8_t *nonce = rte_crypto_op_ctod_offset(p->op, uint8_t *, NONCE_AT);
    fill(nonce, NONCE);
    p->status = RTE_CRYPTO_OP_STATUS_SUCCESS;
    int made = sealane_seal(&s->key, p->out, p->wanted_tag, nonce, NONCE, p->ad, s->ad_bytes, p->in, p->bytes);
    if (s->opens) { /* the same in the other direction */
        uint8_t text[LONGEST];
        memcpy(text, p->in, p->bytes), memcpy(p->in, p->out, p->bytes), memcpy(p->out, text, p->bytes);
        memcpy(p->tag, p->wanted_tag, s->tag_bytes);
        if (below(4) == 0) {
            p->status = RTE_CRYPTO_OP_STATUS_AUTH_FAILED;
            p->tag[below(s->tag_bytes)] ^= (uint8_t)(1 << below(8));
            memcpy(p->wanted_tag, p->tag, s->tag_bytes);
            p->in_place ? memcpy(p->out, p->in, p->bytes) : memset(p->out, 0, p->bytes);
        }
    }
    if (made != 0)
        abort();
    struct rte_crypto_sym_op *sym = p->op->sym;
    const unsigned pieces = below(2) ? 1 : 1 + below(6);
    sym->m_src = make_buffer(p->in, p->head, p->bytes, pieces);
    sym->m_dst = p->in_place ? NULL : make_buffer(NULL, p->head, p->bytes, below(2) ? 1 : 1 + below(6));
    sym->aead.data.offset = p->head;
    sym->aead.data.length = p->bytes;
    sym->aead.aad.data = p->ad;
    sym->aead.digest.data = p->tag;
    rte_crypto_op_attach_sym_session(p->op, s->handle);
}

static bool is_right(struct packet *p)
{
    const struct rte_crypto_sym_op *sym = p->op->sym;
    const struct rte_mbuf *to = p->in_place ? sym->m_src : sym->m_dst;
    uint8_t got[LONGEST + 64], head[64];
    memset(head, 0xa5, sizeof head);
    const uint8_t *all = rte_pktmbuf_read(to, 0, p->head + p->bytes, got);
    bool ok = all != NULL && to->pkt_len == p->head + p->bytes && memcmp(all, head, p->head) == 0;
    ok = ok && memcmp(all + p->head, p->out, p->bytes) == 0 && !planted("text");
    ok = ok && memcmp(p->tag, p->wanted_tag, p->session->tag_bytes) == 0 && !planted("tag");
    return ok && p->op->status == p->status && !planted("status");
}

static void release(struct packet *p)
{
    rte_pktmbuf_free(p->op->sym->m_src);
    rte_pktmbuf_free(p->op->sym->m_dst);
    rte_crypto_op_free(p->op);
}

static void bursts(void)
{
    static struct packet packets[BURST];
    static struct rte_crypto_op *ops[BURST], *done[BURST];
    bool right = true, order = true;
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        const uint16_t n = (uint16_t)(1 + below(BURST));
        for (unsigned i = 0; i < n; i++) {
            make_packet(&packets[i]);
            ops[i] = packets[i].op;
        }
        order &= rte_cryptodev_enqueue_burst(device, 0, ops, n) == n;
        order &= rte_cryptodev_dequeue_burst(device, 0, done, n) == n && memcmp(ops, done, n * sizeof *ops) == 0;
        for (unsigned i = 0; i < n; i++) {
            right &= is_right(&packets[i]);
            release(&packets[i]);
        }
    }
    verdict("random bursts: texts, tags and statuses", right);
    verdict("random bursts: every operation comes back, in order", order && !planted("order"));
}

/* The queue accepts as many operations as its ring holds; statistics count them. */
static void full_queue(void)
{
    static struct packet packets[BURST];
    static struct rte_crypto_op *done[BURST];
    struct rte_cryptodev_stats stats;
    unsigned taken = 0, back = 0, n = 0;
    rte_cryptodev_stats_reset(device);
    for (; n < 6; n++) { /* the same operations again: their contents do not matter here */
        struct rte_crypto_op *ops[BURST];
        for (unsigned i = 0; i < BURST; i++) {
            if (n == 0)
                make_packet(&packets[i]);
            ops[i] = packets[i].op;
        }
        taken += rte_cryptodev_enqueue_burst(device, 0, ops, BURST);
    }
    for (unsigned got; (got = rte_cryptodev_dequeue_burst(device, 0, done, BURST)) > 0;)
        back += got;
    rte_cryptodev_stats_get(device, &stats);
    verdict("a full queue refuses the rest", taken >= DESCRIPTORS && taken < 6 * BURST && back == taken);
    verdict("statistics", stats.enqueued_count == taken && stats.dequeued_count == back && !planted("statistics"));
    for (unsigned i = 0; i < BURST; i++)
        release(&packets[i]);
}

/* ---- Mistakes ---- */

enum mistake { BEYOND, FAR_BEYOND, SHORT_DESTINATION, NO_SESSION, SESSIONLESS, OVERLAP, MISTAKES };

static enum rte_crypto_op_status status_after(enum mistake mistake)
{
    struct packet p;
    do {
        make_packet(&p);
        const bool fits = !p.session->opens && p.bytes > 32 && p.op->sym->m_src->nb_segs == 1 &&
                          p.in_place == (mistake != SHORT_DESTINATION && mistake != OVERLAP) &&
                          (p.in_place || p.op->sym->m_dst->nb_segs == 1);
        if (fits)
            break;
        release(&p);
    } while (true);
    struct rte_crypto_sym_op *sym = p.op->sym;
    struct rte_mbuf *own = sym->m_dst;
    switch (mistake) {
    case BEYOND:
        sym->aead.data.length++;
        break;
    case FAR_BEYOND:
        sym->aead.data.offset = UINT32_MAX;
        break;
    case SHORT_DESTINATION:
        rte_pktmbuf_trim(sym->m_dst, 1);
        break;
    case NO_SESSION:
        sym->session = NULL;
        break;
    case SESSIONLESS:
        p.op->sess_type = RTE_CRYPTO_OP_SESSIONLESS;
        break;
    default: /* the destination is the source, one byte later */
        sym->m_dst = rte_pktmbuf_clone(sym->m_src, buffers);
        sym->m_dst->data_off++;
    }
    struct rte_crypto_op *op = p.op;
    const bool whole =
        rte_cryptodev_enqueue_burst(device, 0, &op, 1) == 1 && rte_cryptodev_dequeue_burst(device, 0, &op, 1) == 1;
    uint8_t copy[LONGEST + 64];
    const uint8_t *text = rte_pktmbuf_read(sym->m_src, p.head, p.bytes, copy);
    const bool untouched = memcmp(text, p.in, p.bytes) == 0;
    const enum rte_crypto_op_status status = op->status;
    if (mistake == OVERLAP) {
        rte_pktmbuf_free(sym->m_dst);
        sym->m_dst = own;
    }
    release(&p);
    return whole && untouched ? status : RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
}

static void mistakes(void)
{
    static const char *names[MISTAKES] = {"text beyond its packet",          "an offset of 2^32 - 1",
                                          "a destination that is too short", "no session",
                                          "a session in the operation",      "a partial overlap"};
    for (unsigned m = 0; m < MISTAKES; m++) {
        const bool session = m == NO_SESSION || m == SESSIONLESS;
        const enum rte_crypto_op_status wanted =
            session ? RTE_CRYPTO_OP_STATUS_INVALID_SESSION : RTE_CRYPTO_OP_STATUS_INVALID_ARGS;
        verdict(names[m], status_after(m) == wanted && !planted("mistakes"));
    }
    verdict("GCM with a tag of 8 bytes is refused", refusal(false, 16, 8, NONCE) == ENOTSUP);
    verdict("GCM with a key of 20 bytes is refused", refusal(false, 20, 16, NONCE) == ENOTSUP);
    verdict("GCM with a nonce of 16 bytes is refused", refusal(false, 16, 16, 16) == ENOTSUP);
    verdict("ChaCha20-Poly1305 with a tag of 12 bytes is refused", refusal(true, 32, 12, NONCE) == ENOTSUP);
    verdict("ChaCha20-Poly1305 with a key of 16 bytes is refused", refusal(true, 16, 16, NONCE) == ENOTSUP);
}

/* ---- The synchronous interface ---- */

static void synchronous(void)
{
    static struct packet packets[BURST];
    static struct rte_crypto_vec vectors[2][BURST][8];
    bool right = true;
    for (unsigned round = 0; round < BURSTS / 4; round++) {
        struct rte_crypto_sgl from[BURST], to[BURST];
        struct rte_crypto_va_iova_ptr nonces[BURST], tags[BURST], ads[BURST];
        int32_t status[BURST];
        unsigned n = 0, good = 0;
        const bool in_place = below(2), opens = below(2);
        const struct session *session = &sessions[below(SESSIONS / 2) * 2 + opens];
        while (n < 1 + round % BURST) {
            struct packet *p = &packets[n];
            make_packet(p);
            if (p->session != session || p->in_place != in_place || p->head > 0) {
                release(p);
                continue;
            }
            const struct rte_mbuf *sides[2] = {p->op->sym->m_src, p->op->sym->m_dst};
            for (unsigned side = 0; side < 2; side++) {
                struct rte_crypto_sgl *list = side == 0 ? &from[n] : &to[n];
                *list = (struct rte_crypto_sgl){vectors[side][n], 0};
                for (const struct rte_mbuf *m = sides[side]; m != NULL; m = m->next)
                    list->vec[list->num++] =
                        (struct rte_crypto_vec){.base = rte_pktmbuf_mtod(m, void *), .len = m->data_len};
            }
            nonces[n].va = rte_crypto_op_ctod_offset(p->op, uint8_t *, NONCE_AT);
            tags[n].va = p->tag;
            ads[n].va = p->ad;
            good += p->status == RTE_CRYPTO_OP_STATUS_SUCCESS;
            n++;
        }
        struct rte_crypto_sym_vec all = {.num = n,
                                         .src_sgl = from,
                                         .dest_sgl = in_place ? NULL : to,
                                         .iv = nonces,
                                         .digest = tags,
                                         .aad = ads,
                                         .status = status};
        const union rte_crypto_sym_ofs all_of_it = {.raw = 0};
        right &= rte_cryptodev_sym_cpu_crypto_process(device, session->handle, all_of_it, &all) == good;
        for (unsigned i = 0; i < n; i++) {
            packets[i].op->status = status[i] == 0         ? RTE_CRYPTO_OP_STATUS_SUCCESS
                                    : status[i] == EBADMSG ? RTE_CRYPTO_OP_STATUS_AUTH_FAILED
                                                           : RTE_CRYPTO_OP_STATUS_INVALID_ARGS;
            right &= is_right(&packets[i]);
            release(&packets[i]);
        }
    }
    verdict("the synchronous interface", right && !planted("synchronous"));
}

static void too_many_segments(void)
{
    struct packet p;
    do {
        make_packet(&p);
        if (p.in_place)
            break;
        release(&p);
    } while (true);
    rte_pktmbuf_free(p.op->sym->m_src);
    p.op->sym->m_src = make_buffer(p.in, p.head, p.bytes, 70);
    struct rte_crypto_op *op = p.op;
    const bool back =
        rte_cryptodev_enqueue_burst(device, 0, &op, 1) == 1 && rte_cryptodev_dequeue_burst(device, 0, &op, 1) == 1;
    verdict("70 segments are refused", back && (p.bytes == 0 || op->status == RTE_CRYPTO_OP_STATUS_INVALID_ARGS));
    release(&p);
}

static bool begin(void)
{
    const int id = rte_cryptodev_get_dev_id("crypto_sealane");
    if (id < 0)
        return false;
    device = (uint8_t)id;
    buffers = rte_pktmbuf_pool_create("buffers", 4095, 0, 0, LONGEST + 64 + RTE_PKTMBUF_HEADROOM, 0);
    operations = rte_crypto_op_pool_create("operations", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 1023, 0, NONCE, 0);
    session_pool = rte_cryptodev_sym_session_pool_create("sessions", 63,
                                                         rte_cryptodev_sym_get_private_session_size(device), 0, 0, 0);
    struct rte_cryptodev_config config = {.nb_queue_pairs = 1};
    struct rte_cryptodev_qp_conf queue = {.nb_descriptors = DESCRIPTORS, .mp_session = session_pool};
    return buffers != NULL && operations != NULL && session_pool != NULL &&
           rte_cryptodev_configure(device, &config) == 0 && rte_cryptodev_queue_pair_setup(device, 0, &queue, 0) == 0 &&
           rte_cryptodev_start(device) == 0;
}

int main(int argc, char **argv)
{
    const int used = rte_eal_init(argc, argv);
    if (used < 0)
        return 1;
    if (argc > used + 1 && strncmp(argv[used + 1], "--plant=", 8) == 0)
        plant = argv[used + 1] + 8;
    const char *seed = getenv("SEALANE_SEED");
    srandom(seed == NULL ? 1 : (unsigned)strtoul(seed, NULL, 10));
    if (!begin() || !make_sessions()) {
        verdict("the device and its sessions", false);
        return 1;
    }
    bursts();
    full_queue();
    mistakes();
    too_many_segments();
    synchronous();
    const unsigned left = rte_mempool_in_use_count(buffers) + rte_mempool_in_use_count(operations);
    verdict("no buffer and no operation is lost", left == 0);
    for (unsigned i = 0; i < SESSIONS; i++)
        rte_cryptodev_sym_session_free(device, sessions[i].handle);
    rte_cryptodev_stop(device);
    verdict("the device closes", rte_cryptodev_close(device) == 0);
    printf("%u passed, %u failed, 0 not run\n", passed, failed);
    rte_eal_cleanup();
    return failed > 0;
}
