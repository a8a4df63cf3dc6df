/* The AEADs of the Linux kernel. Source: Linux's Documentation/crypto/userspace-if.rst. */
#define _GNU_SOURCE /* accept4 */
#include "sealane_afalg.h"

#include <errno.h>
#include <linux/if_alg.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../src/bytes.h"

#ifndef SOL_ALG
#define SOL_ALG 279
#endif

enum { NONCE_BYTES = 12 };

/* One packet. The tag is input or output. */
typedef struct {
    uint32_t direction; /* ALG_OP_... */
    uint8_t *out, *tag;
    const uint8_t *nonce, *ad, *in;
    size_t ad_bytes, in_bytes;
} packet;

static int fail(int fd, int error)
{
    close(fd);
    errno = error;
    return -1;
}

/* The socket that holds a key; -1 with errno. */
static int open_transform(sealane_alg alg, const uint8_t *key, size_t key_bytes)
{
    struct sockaddr_alg name = {.salg_family = AF_ALG, .salg_type = "aead", .salg_name = "gcm(aes)"};
    const uint8_t tag[SEALANE_TAG_BYTES] = {0}; /* not read: only its length counts */
    const int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (alg == SEALANE_CHACHA20_POLY1305)
        memcpy(name.salg_name, "rfc7539(chacha20,poly1305)", sizeof "rfc7539(chacha20,poly1305)");
    if (bind(fd, (const struct sockaddr *)&name, sizeof name) != 0 ||
        setsockopt(fd, SOL_ALG, ALG_SET_KEY, key, (socklen_t)key_bytes) != 0 ||
        setsockopt(fd, SOL_ALG, ALG_SET_AEAD_AUTHSIZE, tag, sizeof tag) != 0)
        return fail(fd, errno);
    return fd;
}

static struct cmsghdr *control(struct msghdr *message, struct cmsghdr *before, int type, const void *data, size_t bytes)
{
    struct cmsghdr *c = before ? CMSG_NXTHDR(message, before) : CMSG_FIRSTHDR(message);

    c->cmsg_level = SOL_ALG;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(c), data, bytes);
    return c;
}

/* Sends a packet to an operation's socket and reads the result: 0, EBADMSG for a wrong tag, or another error. After
 * another error the output is undefined, and the socket must not be used again. */
static int run(int fd, const packet *p)
{
    const int sealing = p->direction == ALG_OP_ENCRYPT;
    const uint32_t ad_bytes = (uint32_t)p->ad_bytes;
    const size_t sent = p->ad_bytes + p->in_bytes + (sealing ? 0 : SEALANE_TAG_BYTES);
    const size_t got = p->ad_bytes + p->in_bytes + (sealing ? SEALANE_TAG_BYTES : 0);
    struct {
        uint32_t bytes;
        uint8_t nonce[NONCE_BYTES];
    } iv = {NONCE_BYTES, {0}}; /* struct af_alg_iv */
    union {
        struct cmsghdr align;
        uint8_t bytes[CMSG_SPACE(4) + CMSG_SPACE(sizeof iv) + CMSG_SPACE(4)];
    } controls = {.bytes = {0}};
    uint8_t ad[SEALANE_AFALG_AD_MAX]; /* returned by the kernel; a read without output reads a byte */
    struct iovec in[3] = {{(void *)(uintptr_t)p->ad, p->ad_bytes},
                          {(void *)(uintptr_t)p->in, p->in_bytes},
                          {p->tag, sealing ? 0 : SEALANE_TAG_BYTES}};
    const struct iovec out[3] = {
        {ad, got == 0 ? 1 : p->ad_bytes}, {p->out, p->in_bytes}, {p->tag, sealing ? SEALANE_TAG_BYTES : 0}};
    struct msghdr message = {
        .msg_iov = in, .msg_iovlen = 3, .msg_control = controls.bytes, .msg_controllen = sizeof controls.bytes};

    memcpy(iv.nonce, p->nonce, NONCE_BYTES);
    struct cmsghdr *c = control(&message, NULL, ALG_SET_OP, &p->direction, 4);
    c = control(&message, c, ALG_SET_IV, &iv, sizeof iv);
    control(&message, c, ALG_SET_AEAD_ASSOCLEN, &ad_bytes, 4);

    /* The socket's buffer holds a packet. If it did not, a blocking send would never return, since there is no other
     * reader. */
    ssize_t n = sendmsg(fd, &message, MSG_DONTWAIT);
    if (n < 0 || (size_t)n != sent)
        return n < 0 && errno != EBADMSG ? errno : EMSGSIZE;
    n = readv(fd, out, 3);
    if (n < 0)
        return errno;
    return (size_t)n == got ? 0 : EIO;
}

/* Returns an unused operation socket, or -1. They are stored as descriptor + 1; 0 means none. */
static int take(sealane_afalg *a)
{
    for (int i = 0; i < SEALANE_AFALG_OPERATIONS; i++) {
        if (__atomic_load_n(&a->spare[i], __ATOMIC_RELAXED) != 0) {
            const int kept = __atomic_exchange_n(&a->spare[i], 0, __ATOMIC_ACQ_REL);
            if (kept != 0)
                return kept - 1;
        }
    }
    if (__atomic_add_fetch(&a->open, 1, __ATOMIC_RELAXED) <= SEALANE_AFALG_OPERATIONS) {
        const int fd = accept4(a->transform, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    __atomic_sub_fetch(&a->open, 1, __ATOMIC_RELAXED);
    return -1;
}

static void give(sealane_afalg *a, int fd, int error)
{
    for (int i = 0; i < SEALANE_AFALG_OPERATIONS && (error == 0 || error == EBADMSG); i++) {
        int none = 0;
        if (__atomic_compare_exchange_n(&a->spare[i], &none, fd + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return;
    }
    close(fd);
    __atomic_sub_fetch(&a->open, 1, __ATOMIC_RELAXED);
}

/* Calls run. In place, the output goes to a separate buffer first, so that the input survives a failure. */
static int run_in_place(int fd, const packet *p)
{
    uint8_t text[SEALANE_AFALG_IN_PLACE_MAX];
    packet apart = *p;

    apart.out = text;
    const int error = run(fd, &apart);
    if (error == 0)
        memcpy(p->out, text, p->in_bytes);
    wipe(text, p->in_bytes);
    return error;
}

/* Whether the kernel may process a packet. The process reports mistakes. */
static int fits(const packet *p, size_t nonce_bytes)
{
    const int in_place = p->out == p->in;

    return p->nonce != NULL && nonce_bytes == NONCE_BYTES && p->tag != NULL && (p->ad != NULL || p->ad_bytes == 0) &&
           ((p->in != NULL && p->out != NULL) || p->in_bytes == 0) && p->ad_bytes <= SEALANE_AFALG_AD_MAX &&
           p->in_bytes <= SEALANE_AFALG_PACKET_MAX - SEALANE_AFALG_AD_MAX - SEALANE_TAG_BYTES &&
           (in_place ? p->in_bytes <= SEALANE_AFALG_IN_PLACE_MAX : !overlap(p->out, p->in_bytes, p->in, p->in_bytes)) &&
           !overlap(p->out, p->in_bytes, p->ad, p->ad_bytes) && !overlap(p->out, p->in_bytes, p->nonce, NONCE_BYTES) &&
           !overlap(p->tag, SEALANE_TAG_BYTES, p->out, p->in_bytes) &&
           !overlap(p->tag, SEALANE_TAG_BYTES, p->in, p->in_bytes) &&
           !overlap(p->tag, SEALANE_TAG_BYTES, p->ad, p->ad_bytes) &&
           !overlap(p->tag, SEALANE_TAG_BYTES, p->nonce, NONCE_BYTES);
}

/* Returns 0, EBADMSG, or another error; then the process must handle the packet. */
static int by_kernel(sealane_afalg *a, const packet *p, size_t nonce_bytes)
{
    const int fd = fits(p, nonce_bytes) ? take(a) : -1;

    if (fd >= 0) {
        const int error = p->out == p->in && p->in_bytes != 0 ? run_in_place(fd, p) : run(fd, p);
        give(a, fd, error);
        if (error == 0 || error == EBADMSG)
            return error;
    }
    __atomic_add_fetch(&a->in_process, 1, __ATOMIC_RELAXED);
    return EAGAIN;
}

int sealane_afalg_seal(sealane_afalg *a, uint8_t *out, uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                       size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const packet p = {ALG_OP_ENCRYPT, out, tag, nonce, ad, in, ad_bytes, in_bytes};

    return a != NULL && by_kernel(a, &p, nonce_bytes) == 0
               ? SEALANE_OK
               : sealane_seal(a ? &a->key : NULL, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
}

int sealane_afalg_open(sealane_afalg *a, uint8_t *out, const uint8_t tag[SEALANE_TAG_BYTES], const uint8_t *nonce,
                       size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const packet p = {ALG_OP_DECRYPT, out, (uint8_t *)(uintptr_t)tag, nonce, ad, in, ad_bytes, in_bytes};

    switch (a != NULL ? by_kernel(a, &p, nonce_bytes) : EAGAIN) {
    case 0:
        return SEALANE_OK;
    case EBADMSG:
        if (in_bytes != 0 && out != in)
            memset(out, 0, in_bytes);
        return SEALANE_NOT_AUTHENTIC;
    }
    return sealane_open(a ? &a->key : NULL, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
}

static sealane_afalg_status status(int error)
{
    return error == ENOENT || error == EAFNOSUPPORT ? SEALANE_AFALG_UNSUPPORTED : SEALANE_AFALG_FAILED;
}

/* Compares the kernel with the code in the process, which has passed its known-answer tests. */
static sealane_afalg_status compare(sealane_alg alg, size_t key_bytes)
{
    const uint8_t zero[SEALANE_AES_256_GCM_KEY_BYTES] = {0};
    uint8_t text[100], want[sizeof text], got[sizeof text], tag[2][SEALANE_TAG_BYTES];
    sealane_key key;
    packet p = {ALG_OP_ENCRYPT, got, tag[1], zero, zero, text, 13, sizeof text};
    sealane_afalg_status result = SEALANE_AFALG_WRONG;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)i;
    if (sealane_key_init(&key, alg, zero, key_bytes) != 0 ||
        sealane_seal(&key, want, tag[0], zero, NONCE_BYTES, zero, 13, text, sizeof text) != 0)
        return SEALANE_AFALG_INVALID;
    const int transform = open_transform(alg, zero, key_bytes);
    if (transform < 0)
        return status(errno);
    const int fd = accept4(transform, NULL, NULL, SOCK_CLOEXEC);
    int error = fd < 0 ? errno : run(fd, &p);
    if (error != 0) {
        result = status(error);
    } else if (memcmp(got, want, sizeof got) == 0 && memcmp(tag[0], tag[1], sizeof tag[0]) == 0) {
        p.direction = ALG_OP_DECRYPT, p.in = want, tag[1][3] ^= 1;
        error = run(fd, &p);
        tag[1][3] ^= 1;
        if (error == EBADMSG && run(fd, &p) == 0 && memcmp(got, text, sizeof got) == 0)
            result = SEALANE_AFALG_OK;
    }
    if (fd >= 0)
        close(fd);
    close(transform);
    return result;
}

sealane_afalg_status sealane_afalg_init(sealane_afalg *a, sealane_alg alg, const uint8_t *key, size_t key_bytes)
{
    static int compared[SEALANE_AES_192_GCM + 1]; /* by alg: the kernel gives right results */

    if (a == NULL)
        return SEALANE_AFALG_INVALID;
    memset(a, 0, sizeof *a);
    a->transform = -1;
    if (alg == SEALANE_XCHACHA20_POLY1305 || sealane_key_init(&a->key, alg, key, key_bytes) != 0)
        return SEALANE_AFALG_INVALID;
    sealane_afalg_status result = SEALANE_AFALG_OK;
    if (!__atomic_load_n(&compared[alg], __ATOMIC_ACQUIRE)) {
        result = compare(alg, key_bytes);
        if (result == SEALANE_AFALG_OK)
            __atomic_store_n(&compared[alg], 1, __ATOMIC_RELEASE);
    }
    if (result == SEALANE_AFALG_OK && (a->transform = open_transform(alg, key, key_bytes)) < 0)
        result = status(errno);
    if (result != SEALANE_AFALG_OK)
        sealane_key_wipe(&a->key);
    return result;
}

size_t sealane_afalg_in_process(const sealane_afalg *a)
{
    return a == NULL ? 0 : __atomic_load_n(&a->in_process, __ATOMIC_RELAXED);
}

void sealane_afalg_close(sealane_afalg *a)
{
    if (a == NULL)
        return;
    for (int i = 0; i < SEALANE_AFALG_OPERATIONS; i++) {
        if (a->spare[i] != 0)
            close(a->spare[i] - 1);
        a->spare[i] = 0;
    }
    if (a->transform >= 0)
        close(a->transform);
    a->transform = -1;
    a->open = SEALANE_AFALG_OPERATIONS; /* no further operations */
    sealane_key_wipe(&a->key);
}
