/* crypto_sealane: a DPDK cryptodev driver over sealane's batches. docs/dpdk.md says how to build and load it.
 *
 * A burst is processed when it is enqueued: packets in one buffer go to sealane_seal_batch or sealane_open_batch, and
 * chained ones to sealane_sealv or sealane_openv. The finished operations wait in a ring, in order, for dequeue.
 *
 *   formats     AES-GCM with keys of 16, 24 or 32 bytes and tags of 12 to 16; ChaCha20-Poly1305. Nonces have 12 bytes.
 *   aliasing    in place, or out of place between distinct mbufs.
 *   on failure  a forged packet gets RTE_CRYPTO_OP_STATUS_AUTH_FAILED. Its text is zeroed, or in place the ciphertext
 *               stands as it came. A mistake gets RTE_CRYPTO_OP_STATUS_INVALID_ARGS and writes nothing.
 *   threads     a queue pair belongs to one thread at a time; a session may be used by all of the process that made it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <bus_vdev_driver.h>
#include <cryptodev_pmd.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "../include/sealane.h"

#define BURST 64  /* packets in one batch */
#define PIECES 64 /* of a chained packet; longer chains are refused */
#define NONCE_BYTES 12

static uint8_t driver_id;

struct session {
    sealane_key key;
    uint16_t nonce_offset; /* from the start of struct rte_crypto_op */
    uint16_t ad_bytes;
    bool opens;
};

/* Packets of one direction that wait for their batch. */
struct batch {
    unsigned count;
    sealane_op packets[BURST];
    struct rte_crypto_op *ops[BURST];
};

struct queue {
    struct rte_ring *done;
    struct rte_cryptodev_stats stats;
    struct batch batches[2]; /* for sealing and for opening */
};

/* ---- Sessions ---- */

#define AEAD(algorithm, min_key, max_key, key_step, min_tag, max_tag, tag_step) \
    {                                                                           \
        .op = RTE_CRYPTO_OP_TYPE_SYMMETRIC,                                     \
        .sym = {                                                                \
            .xform_type = RTE_CRYPTO_SYM_XFORM_AEAD,                            \
            .aead =                                                             \
                {                                                               \
                    .algo = algorithm,                                          \
                    .block_size = 1,                                            \
                    .key_size = {min_key, max_key, key_step},                   \
                    .digest_size = {min_tag, max_tag, tag_step},                \
                    .aad_size = {0, UINT16_MAX, 1},                             \
                    .iv_size = {NONCE_BYTES, NONCE_BYTES, 0},                   \
                },                                                              \
        },                                                                      \
    }

static const struct rte_cryptodev_capabilities capabilities[] = {
    AEAD(RTE_CRYPTO_AEAD_AES_GCM, 16, 32, 8, 12, 16, 1),
    AEAD(RTE_CRYPTO_AEAD_CHACHA20_POLY1305, 32, 32, 0, 16, 16, 0),
    RTE_CRYPTODEV_END_OF_CAPABILITIES_LIST(),
};

/* 0 if there is no such algorithm. */
static sealane_alg algorithm_of(const struct rte_crypto_aead_xform *aead)
{
    if (aead->algo == RTE_CRYPTO_AEAD_CHACHA20_POLY1305)
        return aead->key.length == SEALANE_CHACHA20_POLY1305_KEY_BYTES ? SEALANE_CHACHA20_POLY1305 : 0;
    if (aead->algo != RTE_CRYPTO_AEAD_AES_GCM)
        return 0;
    switch (aead->key.length) {
    case SEALANE_AES_128_GCM_KEY_BYTES:
        return SEALANE_AES_128_GCM;
    case SEALANE_AES_192_GCM_KEY_BYTES:
        return SEALANE_AES_192_GCM;
    case SEALANE_AES_256_GCM_KEY_BYTES:
        return SEALANE_AES_256_GCM;
    default:
        return 0;
    }
}

static unsigned session_bytes(struct rte_cryptodev *device)
{
    (void)device;
    return sizeof(struct session);
}

static int session_configure(struct rte_cryptodev *device, struct rte_crypto_sym_xform *xform,
                             struct rte_cryptodev_sym_session *outer)
{
    (void)device;
    if (xform == NULL || outer == NULL)
        return -EINVAL;
    const struct rte_crypto_aead_xform *aead = &xform->aead;
    if (xform->type != RTE_CRYPTO_SYM_XFORM_AEAD || xform->next != NULL || aead->iv.length != NONCE_BYTES)
        return -ENOTSUP;
    const sealane_alg algorithm = algorithm_of(aead);
    if (algorithm == 0)
        return -ENOTSUP;
    struct session *session = CRYPTODEV_GET_SYM_SESS_PRIV(outer);
    switch (
        sealane_key_init_with_tag(&session->key, algorithm, aead->key.data, aead->key.length, aead->digest_length)) {
    case SEALANE_OK:
        break;
    case SEALANE_INVALID_TAG:
    case SEALANE_NO_LEVEL:
        return -ENOTSUP;
    default:
        return -EINVAL;
    }
    session->nonce_offset = aead->iv.offset;
    session->ad_bytes = aead->aad_length;
    session->opens = aead->op == RTE_CRYPTO_AEAD_OP_DECRYPT;
    return 0;
}

static void session_clear(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *outer)
{
    (void)device;
    struct session *session = CRYPTODEV_GET_SYM_SESS_PRIV(outer);
    sealane_key_wipe(&session->key);
}

/* ---- Packets ---- */

static uint64_t total(const struct rte_crypto_sgl *vectors)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < vectors->num; i++)
        sum += vectors->vec[i].len;
    return sum;
}

/* Pairs `length` bytes after the first `head` bytes of source and destination (the source again if `to` is NULL).
 * Returns the number of pieces, or -1 if there are more than PIECES or either is too short. */
static int pieces_of(sealane_iovec pieces[PIECES], const struct rte_crypto_sgl *from, const struct rte_crypto_sgl *to,
                     uint64_t head, uint64_t length)
{
    if (to == NULL)
        to = from;
    uint32_t in = 0, out = 0;                     /* current vectors */
    uint64_t in_offset = head, out_offset = head; /* offsets in them */
    int count = 0;
    while (length > 0) {
        while (in < from->num && in_offset >= from->vec[in].len)
            in_offset -= from->vec[in++].len;
        while (out < to->num && out_offset >= to->vec[out].len)
            out_offset -= to->vec[out++].len;
        if (in == from->num || out == to->num || count == PIECES)
            return -1;
        const uint64_t bytes = RTE_MIN(length, RTE_MIN(from->vec[in].len - in_offset, to->vec[out].len - out_offset));
        pieces[count++] = (sealane_iovec){(const uint8_t *)from->vec[in].base + in_offset,
                                          (uint8_t *)to->vec[out].base + out_offset, bytes};
        in_offset += bytes, out_offset += bytes, length -= bytes;
    }
    return count;
}

static sealane_status run_pieces(const struct session *session, const sealane_iovec *pieces, int count,
                                 const uint8_t *nonce, const uint8_t *ad, uint8_t *tag)
{
    if (count < 0)
        return SEALANE_TOO_LONG;
    const sealane_iovec associated = {ad, NULL, session->ad_bytes};
    return session->opens
               ? sealane_openv(&session->key, tag, nonce, NONCE_BYTES, &associated, 1, pieces, (size_t)count)
               : sealane_sealv(&session->key, tag, nonce, NONCE_BYTES, &associated, 1, pieces, (size_t)count);
}

static enum rte_crypto_op_status status_of(sealane_status status)
{
    switch (status) {
    case SEALANE_OK:
        return RTE_CRYPTO_OP_STATUS_SUCCESS;
    case SEALANE_NOT_AUTHENTIC:
        return RTE_CRYPTO_OP_STATUS_AUTH_FAILED;
    case SEALANE_INVALID_KEY:
        return RTE_CRYPTO_OP_STATUS_INVALID_SESSION;
    default:
        return RTE_CRYPTO_OP_STATUS_INVALID_ARGS;
    }
}

static void run_batch(struct batch *batch, bool opens)
{
    size_t good =
        opens ? sealane_open_batch(batch->packets, batch->count) : sealane_seal_batch(batch->packets, batch->count);
    (void)good; /* each packet has its own status */
    for (unsigned i = 0; i < batch->count; i++)
        batch->ops[i]->status = status_of(batch->packets[i].status);
    batch->count = 0;
}

/* The segments of a packet, or NULL if it has more than PIECES. */
static struct rte_crypto_sgl segments_of(const struct rte_mbuf *packet, struct rte_crypto_vec segments[PIECES])
{
    struct rte_crypto_sgl all = {segments, 0};
    for (; packet != NULL; packet = packet->next) {
        if (all.num == PIECES)
            return (struct rte_crypto_sgl){segments, 0};
        segments[all.num++] =
            (struct rte_crypto_vec){.base = rte_pktmbuf_mtod(packet, void *), .len = packet->data_len};
    }
    return all;
}

/* A packet whose text is in more than one buffer. */
static sealane_status run_chained(const struct session *session, const struct rte_crypto_sym_op *sym,
                                  const uint8_t *nonce)
{
    struct rte_crypto_vec in[PIECES], out[PIECES];
    sealane_iovec pieces[PIECES];
    const struct rte_crypto_sgl from = segments_of(sym->m_src, in), to = segments_of(sym->m_dst, out);
    const int count =
        pieces_of(pieces, &from, sym->m_dst == NULL ? NULL : &to, sym->aead.data.offset, sym->aead.data.length);
    return run_pieces(session, pieces, count, nonce, sym->aead.aad.data, sym->aead.digest.data);
}

/* Processes an operation, or adds it to its batch. */
static void take(struct queue *queue, struct rte_crypto_op *op)
{
    struct rte_crypto_sym_op *sym = op->sym;
    if (op->type != RTE_CRYPTO_OP_TYPE_SYMMETRIC || op->sess_type != RTE_CRYPTO_OP_WITH_SESSION ||
        sym->session == NULL) {
        op->status = RTE_CRYPTO_OP_STATUS_INVALID_SESSION;
        return;
    }
    const struct session *session = CRYPTODEV_GET_SYM_SESS_PRIV(sym->session);
    struct rte_mbuf *from = sym->m_src, *to = sym->m_dst == NULL ? from : sym->m_dst;
    const uint32_t offset = sym->aead.data.offset;
    uint8_t *nonce = rte_crypto_op_ctod_offset(op, uint8_t *, session->nonce_offset);
    if (from->nb_segs > 1 || to->nb_segs > 1) {
        op->status = status_of(run_chained(session, sym, nonce));
        return;
    }
    if ((uint64_t)offset + sym->aead.data.length > RTE_MIN(from->data_len, to->data_len)) {
        op->status = RTE_CRYPTO_OP_STATUS_INVALID_ARGS;
        return;
    }
    struct batch *batch = &queue->batches[session->opens];
    batch->ops[batch->count] = op;
    batch->packets[batch->count] = (sealane_op){
        .out = rte_pktmbuf_mtod_offset(to, uint8_t *, offset),
        .in = rte_pktmbuf_mtod_offset(from, uint8_t *, offset),
        .in_bytes = sym->aead.data.length,
        .ad = sym->aead.aad.data,
        .ad_bytes = session->ad_bytes,
        .key = &session->key,
        .nonce = nonce,
        .nonce_bytes = NONCE_BYTES,
        .tag = sym->aead.digest.data,
    };
    if (++batch->count == BURST)
        run_batch(batch, session->opens);
}

static uint16_t enqueue_burst(void *pair, struct rte_crypto_op **ops, uint16_t count)
{
    struct queue *queue = pair;
    count = (uint16_t)RTE_MIN((unsigned)count, rte_ring_free_count(queue->done));
    for (uint16_t i = 0; i < count; i++)
        take(queue, ops[i]);
    for (unsigned opens = 0; opens < 2; opens++)
        if (queue->batches[opens].count > 0)
            run_batch(&queue->batches[opens], opens);
    queue->stats.enqueued_count += rte_ring_enqueue_burst(queue->done, (void **)ops, count, NULL);
    return count;
}

static uint16_t dequeue_burst(void *pair, struct rte_crypto_op **ops, uint16_t count)
{
    struct queue *queue = pair;
    const unsigned taken = rte_ring_dequeue_burst(queue->done, (void **)ops, count, NULL);
    queue->stats.dequeued_count += taken;
    return (uint16_t)taken;
}

/* The synchronous interface: rte_cryptodev_sym_cpu_crypto_process. Statuses are 0, EBADMSG or EINVAL. */
static uint32_t process(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *outer,
                        union rte_crypto_sym_ofs offsets, struct rte_crypto_sym_vec *packets)
{
    (void)device;
    const struct session *session = CRYPTODEV_GET_SYM_SESS_PRIV(outer);
    uint32_t good = 0;
    for (uint32_t first = 0; first < packets->num; first += BURST) {
        const uint32_t count = RTE_MIN(packets->num - first, (uint32_t)BURST);
        sealane_op ops[BURST];
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t at = first + i;
            const struct rte_crypto_sgl *to = packets->dest_sgl == NULL ? NULL : &packets->dest_sgl[at];
            sealane_iovec pieces[PIECES];
            const struct rte_crypto_sgl *from = &packets->src_sgl[at];
            const uint64_t bytes = total(from), outside = (uint64_t)offsets.ofs.cipher.head + offsets.ofs.cipher.tail;
            const int n = bytes < outside ? -1 : pieces_of(pieces, from, to, offsets.ofs.cipher.head, bytes - outside);
            const sealane_iovec none = {NULL, NULL, 0}, *text = n == 1 ? pieces : &none;
            /* A packet in pieces is processed here, and its place in the batch gets an invalid key. */
            if (n > 1 || n < 0)
                packets->status[at] =
                    run_pieces(session, pieces, n, packets->iv[at].va, packets->aad[at].va, packets->digest[at].va);
            ops[i] = (sealane_op){
                .out = text->out,
                .in = text->in,
                .in_bytes = text->bytes,
                .ad = packets->aad[at].va,
                .ad_bytes = session->ad_bytes,
                .key = n == 0 || n == 1 ? &session->key : NULL,
                .nonce = packets->iv[at].va,
                .nonce_bytes = NONCE_BYTES,
                .tag = packets->digest[at].va,
            };
        }
        size_t batched = session->opens ? sealane_open_batch(ops, count) : sealane_seal_batch(ops, count);
        (void)batched; /* each packet has its own status */
        for (uint32_t i = 0; i < count; i++) {
            int32_t *status = &packets->status[first + i];
            if (ops[i].key != NULL)
                *status = ops[i].status;
            good += *status == SEALANE_OK;
            if (*status != SEALANE_OK)
                *status = *status == SEALANE_NOT_AUTHENTIC ? EBADMSG : EINVAL;
        }
    }
    return good;
}

/* ---- The device ---- */

static int configure(struct rte_cryptodev *device, struct rte_cryptodev_config *config)
{
    (void)device, (void)config;
    return 0;
}

static int start(struct rte_cryptodev *device)
{
    (void)device;
    return sealane_init() == SEALANE_OK ? 0 : -ENOTSUP;
}

static void stop(struct rte_cryptodev *device)
{
    (void)device;
}

static int queue_release(struct rte_cryptodev *device, uint16_t id)
{
    struct queue *queue = device->data->queue_pairs[id];
    if (queue != NULL) {
        rte_ring_free(queue->done);
        rte_free(queue);
        device->data->queue_pairs[id] = NULL;
    }
    return 0;
}

static int close_device(struct rte_cryptodev *device)
{
    for (uint16_t id = 0; id < device->data->nb_queue_pairs; id++)
        queue_release(device, id);
    return 0;
}

static int queue_setup(struct rte_cryptodev *device, uint16_t id, const struct rte_cryptodev_qp_conf *config,
                       int socket)
{
    char name[RTE_RING_NAMESIZE];
    queue_release(device, id);
    struct queue *queue = rte_zmalloc_socket("sealane queue", sizeof *queue, RTE_CACHE_LINE_SIZE, socket);
    if (queue == NULL)
        return -ENOMEM;
    snprintf(name, sizeof name, "sealane_%u_%u", device->data->dev_id, id);
    queue->done =
        rte_ring_create(name, rte_align32pow2(config->nb_descriptors + 1), socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (queue->done == NULL) {
        rte_free(queue);
        return -ENOMEM;
    }
    device->data->queue_pairs[id] = queue;
    return 0;
}

static void stats_get(struct rte_cryptodev *device, struct rte_cryptodev_stats *sum)
{
    for (uint16_t id = 0; id < device->data->nb_queue_pairs; id++) {
        const struct queue *queue = device->data->queue_pairs[id];
        if (queue != NULL) {
            sum->enqueued_count += queue->stats.enqueued_count;
            sum->dequeued_count += queue->stats.dequeued_count;
        }
    }
}

static void stats_reset(struct rte_cryptodev *device)
{
    for (uint16_t id = 0; id < device->data->nb_queue_pairs; id++) {
        struct queue *queue = device->data->queue_pairs[id];
        if (queue != NULL)
            queue->stats = (struct rte_cryptodev_stats){0};
    }
}

static void info(struct rte_cryptodev *device, struct rte_cryptodev_info *out)
{
    const unsigned *queues = device->data->dev_private;
    out->driver_id = device->driver_id;
    out->feature_flags = device->feature_flags;
    out->capabilities = capabilities;
    out->max_nb_queue_pairs = *queues;
    out->sym.max_nb_sessions = 0; /* no limit */
}

static struct rte_cryptodev_ops operations = {
    .dev_configure = configure,
    .dev_start = start,
    .dev_stop = stop,
    .dev_close = close_device,
    .dev_infos_get = info,
    .stats_get = stats_get,
    .stats_reset = stats_reset,
    .queue_pair_setup = queue_setup,
    .queue_pair_release = queue_release,
    .sym_session_get_size = session_bytes,
    .sym_session_configure = session_configure,
    .sym_session_clear = session_clear,
    .sym_cpu_process = process,
};

static int probe(struct rte_vdev_device *vdev)
{
    struct rte_cryptodev_pmd_init_params params = {
        .private_data_size = sizeof(unsigned),
        .socket_id = (int)rte_socket_id(),
        .max_nb_queue_pairs = RTE_CRYPTODEV_PMD_DEFAULT_MAX_NB_QUEUE_PAIRS,
    };
    const char *name = rte_vdev_device_name(vdev);
    if (name == NULL || rte_cryptodev_pmd_parse_input_args(&params, rte_vdev_device_args(vdev)) != 0)
        return -EINVAL;
    struct rte_cryptodev *device = rte_cryptodev_pmd_create(name, &vdev->device, &params);
    if (device == NULL)
        return -ENODEV;
    *(unsigned *)device->data->dev_private = params.max_nb_queue_pairs;
    device->driver_id = driver_id;
    device->dev_ops = &operations;
    device->enqueue_burst = enqueue_burst;
    device->dequeue_burst = dequeue_burst;
    device->feature_flags = RTE_CRYPTODEV_FF_SYMMETRIC_CRYPTO | RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO |
                            RTE_CRYPTODEV_FF_IN_PLACE_SGL | RTE_CRYPTODEV_FF_OOP_SGL_IN_SGL_OUT |
                            RTE_CRYPTODEV_FF_OOP_SGL_IN_LB_OUT | RTE_CRYPTODEV_FF_OOP_LB_IN_SGL_OUT |
                            RTE_CRYPTODEV_FF_OOP_LB_IN_LB_OUT;
    rte_cryptodev_pmd_probing_finish(device);
    return 0;
}

static int remove_device(struct rte_vdev_device *vdev)
{
    struct rte_cryptodev *device = rte_cryptodev_pmd_get_named_dev(rte_vdev_device_name(vdev));
    return device == NULL ? -ENODEV : rte_cryptodev_pmd_destroy(device);
}

static struct rte_vdev_driver vdev_driver = {.probe = probe, .remove = remove_device};
static struct cryptodev_driver crypto_driver;

RTE_PMD_REGISTER_VDEV(crypto_sealane, vdev_driver);
RTE_PMD_REGISTER_PARAM_STRING(crypto_sealane, "max_nb_queue_pairs=<int> socket_id=<int>");
RTE_PMD_REGISTER_CRYPTO_DRIVER(crypto_driver, vdev_driver.driver, driver_id);
