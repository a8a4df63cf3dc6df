/* check: compares sealane_afalg on a real kernel with sealane in the process.
 *
 *     check FILE        FILE: vectors, flattened by test/vectors/flatten.go
 *     check --without   on a kernel that lacks AF_ALG or the ciphers
 */
#define _GNU_SOURCE
#include <sealane_afalg.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG = 70000, THREADS = 12 };

static unsigned passed, failed;
static const struct {
    sealane_alg alg;
    const char *name;
    size_t key_bytes;
} kinds[] = {{SEALANE_CHACHA20_POLY1305, "ChaCha20-Poly1305", 32},
             {SEALANE_AES_128_GCM, "AES-128-GCM", 16},
             {SEALANE_AES_192_GCM, "AES-192-GCM", 24},
             {SEALANE_AES_256_GCM, "AES-256-GCM", 32}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void outcome(int good, const char *kind, const char *what)
{
    printf("%s %s: %s\n", good ? "ok  " : "FAIL", kind, what);
    *(good ? &passed : &failed) += 1;
}

/* A key in the kernel and in the process. */
typedef struct {
    sealane_afalg kernel;
    sealane_key process;
    uint8_t key[32];
} both;

static void init(both *b, size_t kind)
{
    for (size_t i = 0; i < sizeof b->key; i++)
        b->key[i] = (uint8_t)(i * 7 + kind);
    if (sealane_afalg_init(&b->kernel, kinds[kind].alg, b->key, kinds[kind].key_bytes) != SEALANE_AFALG_OK ||
        sealane_key_init(&b->process, kinds[kind].alg, b->key, kinds[kind].key_bytes) != 0) {
        printf("FAIL %s: init\n", kinds[kind].name);
        exit(1);
    }
}

/* Seals and opens one packet, in place or separately, and a forged one, which leaves the ciphertext in place or zeroes
 * in a separate output. Returns 1 if everything is the same as in the process. */
static int packet(both *b, size_t bytes, size_t ad_bytes, int in_place)
{
    static _Thread_local uint8_t text[LONG], want[LONG], got[LONG], ad[4096];
    uint8_t tag[2][SEALANE_TAG_BYTES], nonce[12];

    for (size_t i = 0; i < bytes; i++)
        text[i] = (uint8_t)(i * i + bytes);
    for (size_t i = 0; i < ad_bytes; i++)
        ad[i] = (uint8_t)(i + 3 * bytes);
    for (size_t i = 0; i < sizeof nonce; i++)
        nonce[i] = (uint8_t)(i + bytes + ad_bytes);
    if (in_place)
        memcpy(got, text, bytes);
    if (sealane_seal(&b->process, want, tag[0], nonce, 12, ad, ad_bytes, text, bytes) != 0 ||
        sealane_afalg_seal(&b->kernel, got, tag[1], nonce, 12, ad, ad_bytes, in_place ? got : text, bytes) != 0 ||
        memcmp(want, got, bytes) != 0 || memcmp(tag[0], tag[1], sizeof tag[0]) != 0)
        return 0;
    if (sealane_afalg_open(&b->kernel, got, tag[0], nonce, 12, ad, ad_bytes, in_place ? got : want, bytes) != 0 ||
        memcmp(text, got, bytes) != 0)
        return 0;
    if (in_place)
        memcpy(got, want, bytes);
    tag[1][bytes % 16] ^= 0x10;
    if (sealane_afalg_open(&b->kernel, got, tag[1], nonce, 12, ad, ad_bytes, in_place ? got : want, bytes) !=
        SEALANE_NOT_AUTHENTIC)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != (in_place ? want[i] : 0))
            return 0;
    return 1;
}

static void lengths(size_t kind)
{
    static const size_t ads[] = {0, 1, 13, 16, 64, 255, SEALANE_AFALG_AD_MAX};
    both b;
    int good = 1;

    init(&b, kind);
    for (size_t n = 0; n <= 2048; n += kind == 0 || kind == 3 ? 1 : 61)
        good &= packet(&b, n, n % 21, n % 5 == 0);
    for (size_t i = 0; i < sizeof ads / sizeof ads[0]; i++)
        good &= packet(&b, 0, ads[i], 0) && packet(&b, 1420, ads[i], 0) && packet(&b, 16384, ads[i], 0);
    good &= packet(&b, SEALANE_AFALG_PACKET_MAX - SEALANE_AFALG_AD_MAX - 16, SEALANE_AFALG_AD_MAX, 0);
    good &= packet(&b, SEALANE_AFALG_IN_PLACE_MAX, 1, 1);
    outcome(good && sealane_afalg_in_process(&b.kernel) == 0, kinds[kind].name, "all lengths, in the kernel");
    good = packet(&b, SEALANE_AFALG_PACKET_MAX, 0, 0) && packet(&b, 1, SEALANE_AFALG_AD_MAX + 1, 0) &&
           packet(&b, SEALANE_AFALG_IN_PLACE_MAX + 1, 0, 1);
    outcome(good && sealane_afalg_in_process(&b.kernel) == 9, kinds[kind].name, "over the limits, in the process");
    sealane_afalg_close(&b.kernel);
    sealane_afalg_close(&b.kernel);
}

static void tamper(size_t kind)
{
    uint8_t bytes[12 + 7 + 33 + 16] = {1, 2, 3}, *nonce = bytes, *ad = bytes + 12, *text = ad + 7, *tag = text + 33;
    uint8_t out[34];
    both b;
    int good;

    init(&b, kind);
    good = sealane_afalg_seal(&b.kernel, text, tag, nonce, 12, ad, 7, text, 33) == 0;
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        memset(out, 0xa5, sizeof out);
        good &= sealane_afalg_open(&b.kernel, out, tag, nonce, 12, ad, 7, text, 33) == SEALANE_NOT_AUTHENTIC &&
                out[33] == 0xa5;
        for (size_t i = 0; i < 33; i++)
            good &= out[i] == 0;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    good &= sealane_afalg_open(&b.kernel, out, tag, nonce, 12, ad, 7, text, 33) == 0;
    outcome(good && sealane_afalg_in_process(&b.kernel) == 0, kinds[kind].name, "every bit of a packet changed");
    sealane_afalg_close(&b.kernel);
    outcome(sealane_afalg_seal(&b.kernel, out, tag, nonce, 12, NULL, 0, text, 33) == SEALANE_INVALID_KEY,
            kinds[kind].name, "closed");
}

static void mistakes(void)
{
    uint8_t m[200] = {0};
    both b;
    sealane_afalg a;

    init(&b, 0);
    sealane_afalg *k = &b.kernel;
    outcome(sealane_afalg_init(&a, SEALANE_CHACHA20_POLY1305, m, 31) == SEALANE_AFALG_INVALID &&
                sealane_afalg_init(&a, SEALANE_AES_128_GCM, m, 32) == SEALANE_AFALG_INVALID &&
                sealane_afalg_init(&a, SEALANE_XCHACHA20_POLY1305, m, 32) == SEALANE_AFALG_INVALID &&
                sealane_afalg_init(&a, (sealane_alg)77, m, 32) == SEALANE_AFALG_INVALID &&
                sealane_afalg_init(NULL, SEALANE_AES_128_GCM, m, 16) == SEALANE_AFALG_INVALID &&
                sealane_afalg_init(&a, SEALANE_AES_128_GCM, NULL, 16) == SEALANE_AFALG_INVALID,
            "init", "wrong keys and algorithms");
    outcome(sealane_afalg_seal(NULL, m, m + 100, m + 120, 12, NULL, 0, m, 50) == SEALANE_INVALID_KEY &&
                sealane_afalg_seal(k, m, m + 100, m + 120, 11, NULL, 0, m, 50) == SEALANE_INVALID_NONCE &&
                sealane_afalg_seal(k, m, m + 100, NULL, 12, NULL, 0, m, 50) == SEALANE_NULL &&
                sealane_afalg_seal(k, m, NULL, m + 120, 12, NULL, 0, m, 50) == SEALANE_NULL &&
                sealane_afalg_seal(k, NULL, m + 100, m + 120, 12, NULL, 0, m, 50) == SEALANE_NULL &&
                sealane_afalg_seal(k, m, m + 100, m + 120, 12, NULL, 1, m, 50) == SEALANE_NULL &&
                sealane_afalg_seal(k, m + 1, m + 100, m + 120, 12, NULL, 0, m, 50) == SEALANE_OVERLAP &&
                sealane_afalg_seal(k, m, m + 100, m + 120, 12, m + 40, 20, m + 50, 50) == SEALANE_OVERLAP &&
                sealane_afalg_open(k, m + 1, m + 100, m + 120, 12, NULL, 0, m, 50) == SEALANE_OVERLAP,
            "seal", "mistakes");
    sealane_afalg_close(k);
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 100; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

static void failures(size_t kind)
{
    const uint8_t text[500] = {0};
    struct rlimit old, none;
    both b;
    sealane_afalg a;
    int good, ends[2];
    const int before = descriptors();

    init(&b, kind);
    getrlimit(RLIMIT_NOFILE, &old);
    none = old, none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    good = packet(&b, 1420, 13, 0) && sealane_afalg_in_process(&b.kernel) == 3;
    good &= sealane_afalg_init(&a, kinds[kind].alg, b.key, kinds[kind].key_bytes) == SEALANE_AFALG_FAILED;
    setrlimit(RLIMIT_NOFILE, &old);
    good &= packet(&b, 1420, 13, 1) && sealane_afalg_in_process(&b.kernel) == 3;
    outcome(good, kinds[kind].name, "no file descriptors");

    /* Replaces an operation by a socket that accepts packets and answers with half of one, or a byte. */
    good = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0;
    for (size_t n = 1; n <= 500; n += 499) {
        good &= dup2(ends[0], b.kernel.spare[0] - 1) >= 0 && write(ends[1], text, n) == (ssize_t)n;
        good &= packet(&b, 1000, 13, n == 500) && sealane_afalg_in_process(&b.kernel) == (n == 1 ? 4 : 5);
    }
    close(ends[0]), close(ends[1]);
    outcome(good, kinds[kind].name, "short answers");

    sealane_afalg_close(&b.kernel);
    outcome(descriptors() == before, kinds[kind].name, "descriptors given back");
}

static void *thread(void *argument)
{
    both *b = argument;
    for (size_t n = 0; n < 60; n++)
        if (!packet(b, n * 37, n % 20, n % 3 == 0))
            return b;
    return NULL;
}

static void threads(size_t kind)
{
    pthread_t t[THREADS];
    both b;
    int good = 1;

    init(&b, kind);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, thread, &b);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(t[i], &wrong);
        good &= wrong == NULL;
    }
    outcome(good && b.kernel.open <= SEALANE_AFALG_OPERATIONS, kinds[kind].name, "threads");
    sealane_afalg_close(&b.kernel);
}

static size_t from_hex(uint8_t *out, size_t most, const char *hex)
{
    size_t n = 0;
    for (; *hex != '-' && hex[0] && hex[1] && n < most; hex += 2) {
        const char byte[3] = {hex[0], hex[1], 0};
        out[n++] = (uint8_t)strtoul(byte, NULL, 16);
    }
    return n;
}

static void vectors(const char *path)
{
    static char line[9000], f[9][2200];
    static uint8_t key[32], nonce[300], ad[1100], text[1100], sealed[1100], tag[16], got[1100], got_tag[16];
    FILE *file = fopen(path, "r");
    size_t ran = 0;
    int good = file != NULL;

    while (good && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%2199s %2199s %2199s %2199s %2199s %2199s %2199s %2199s %2199s", f[0], f[1], f[2], f[3], f[4],
                   f[5], f[6], f[7], f[8]) != 9) {
            good = 0;
            break;
        }
        const size_t key_bytes = from_hex(key, sizeof key, f[2]), nonce_bytes = from_hex(nonce, sizeof nonce, f[3]);
        const size_t ad_bytes = from_hex(ad, sizeof ad, f[4]), bytes = from_hex(text, sizeof text, f[5]);
        const size_t tag_bytes = from_hex(tag, sizeof tag, f[7]);
        const int valid = strcmp(f[8], "valid") == 0;
        const int chacha = strcmp(f[0], "CHACHA20-POLY1305") == 0;
        if (nonce_bytes != 12 || tag_bytes != 16 || (!chacha && strcmp(f[0], "AES-GCM") != 0))
            continue;
        sealane_afalg a;
        from_hex(sealed, sizeof sealed, f[6]);
        const sealane_alg alg = chacha            ? SEALANE_CHACHA20_POLY1305
                                : key_bytes == 16 ? SEALANE_AES_128_GCM
                                : key_bytes == 24 ? SEALANE_AES_192_GCM
                                                  : SEALANE_AES_256_GCM;
        good &= sealane_afalg_init(&a, alg, key, key_bytes) == SEALANE_AFALG_OK;
        const int opened = sealane_afalg_open(&a, got, tag, nonce, 12, ad, ad_bytes, sealed, bytes) == 0;
        good &= opened == valid && (!opened || memcmp(got, text, bytes) == 0);
        good &= sealane_afalg_seal(&a, got, got_tag, nonce, 12, ad, ad_bytes, text, bytes) == 0;
        good &= valid == (memcmp(got, sealed, bytes) == 0 && memcmp(got_tag, tag, 16) == 0);
        good &= sealane_afalg_in_process(&a) == (ad_bytes > SEALANE_AFALG_AD_MAX ? 2 : 0);
        sealane_afalg_close(&a);
        if (!good)
            printf("%s %s\n", f[0], f[1]);
        ran++;
    }
    if (file)
        fclose(file);
    printf("%zu vectors\n", ran);
    outcome(good && ran > 400, "Wycheproof and NIST", "with 12-byte nonces");
}

int main(int count, char **arguments)
{
    const int without = count == 2 && strcmp(arguments[1], "--without") == 0;
    sealane_afalg a;
    const uint8_t key[32] = {0};

    if (count != 2)
        return 2;
    const sealane_afalg_status s = sealane_afalg_init(&a, SEALANE_CHACHA20_POLY1305, key, sizeof key);
    sealane_afalg_close(&a);
    if (s == SEALANE_AFALG_UNSUPPORTED && !without && getenv("SEALANE_AFALG_REQUIRED") == NULL)
        return 77;
    if (without) {
        for (size_t k = 0; k < KINDS; k++) {
            outcome(sealane_afalg_init(&a, kinds[k].alg, key, kinds[k].key_bytes) == SEALANE_AFALG_UNSUPPORTED,
                    kinds[k].name, "said not to be there");
            outcome(sealane_afalg_seal(&a, NULL, (uint8_t[16]){0}, key, 12, NULL, 0, NULL, 0) == SEALANE_INVALID_KEY,
                    kinds[k].name, "no valid key");
        }
    } else {
        for (size_t k = 0; k < KINDS; k++)
            lengths(k), tamper(k), failures(k), threads(k);
        mistakes();
        vectors(arguments[1]);
    }
    printf("sealane_afalg: %u passed, %u failed, 0 not run\n", passed, failed);
    return failed != 0;
}
