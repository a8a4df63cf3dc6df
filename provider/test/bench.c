/* Compares sealane's provider with the default one, through EVP, in one process: both alternate, and the minimum times
 * are compared.
 *
 *     bench FOLDER [--seconds=N] [--rows]      FOLDER contains sealane.so
 *
 * --rows prints "cipher bytes operation default sealane", in nanoseconds, for a table of several OpenSSLs. A packet
 * is processed as in TLS: a reused context, a new IV, 13 bytes of associated data, one update, final, and the tag.
 * The program fails if a ratio is below the floor of its size. This applies if SEALANE_BENCH_CLASS, the CPU's class,
 * is that of the floors. With --rows it fails if a ratio is below 1. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>

#include "providers.h"

enum { SIDES = 2, LONGEST = 16384, BATCH_NS = 20000 };

typedef struct {
    const char *cipher;
    int bytes;
    double seal_floor, open_floor; /* 0 for no floor */
} work;

static const work works[] = {
    {"ChaCha20-Poly1305", 64, 1.3, 0},
    {"ChaCha20-Poly1305", 256, 1.6, 0},
    {"ChaCha20-Poly1305", 576, 0, 0},
    {"ChaCha20-Poly1305", 1024, 0, 0},
    {"ChaCha20-Poly1305", 1420, 2.0, 0},
    {"ChaCha20-Poly1305", 4096, 0, 0},
    {"ChaCha20-Poly1305", 8192, 1.6, 0},
    {"ChaCha20-Poly1305", 16384, 1.6, 0},
    {"AES-128-GCM", 64, 1.2, 1.2},
    {"AES-128-GCM", 256, 1.4, 1.4},
    {"AES-128-GCM", 576, 0, 0},
    {"AES-128-GCM", 1024, 0, 0},
    {"AES-128-GCM", 1420, 1.7, 1.7},
    {"AES-128-GCM", 4096, 0, 0},
    {"AES-128-GCM", 8192, 2.8, 2.8},
    {"AES-128-GCM", 16384, 3.2, 3.2},
    {"AES-256-GCM", 64, 1.2, 1.2},
    {"AES-256-GCM", 256, 1.4, 1.4},
    {"AES-256-GCM", 576, 0, 0},
    {"AES-256-GCM", 1024, 0, 0},
    {"AES-256-GCM", 1420, 1.7, 1.7},
    {"AES-256-GCM", 4096, 0, 0},
    {"AES-256-GCM", 8192, 2.8, 2.8},
    {"AES-256-GCM", 16384, 3.2, 3.2},
    {"AES-128-GCM-SIV", 64, 1.0, 1.0},
    {"AES-128-GCM-SIV", 256, 0, 0},
    {"AES-128-GCM-SIV", 1420, 4.0, 4.0},
    {"AES-128-GCM-SIV", 4096, 0, 0},
    {"AES-128-GCM-SIV", 16384, 8.0, 8.0},
    {"AES-256-GCM-SIV", 64, 1.0, 1.0},
    {"AES-256-GCM-SIV", 256, 0, 0},
    {"AES-256-GCM-SIV", 1420, 4.0, 4.0},
    {"AES-256-GCM-SIV", 4096, 0, 0},
    {"AES-256-GCM-SIV", 16384, 8.0, 8.0},
    {"ChaCha20", 64, 1.0, 0},
    {"ChaCha20", 256, 0, 0},
    {"ChaCha20", 576, 0, 0},
    {"ChaCha20", 1024, 0, 0},
    {"ChaCha20", 1420, 1.0, 0},
    {"ChaCha20", 4096, 0, 0},
    {"ChaCha20", 8192, 0, 0},
    {"ChaCha20", 16384, 1.0, 0},
    {"AES-128-CTR", 64, 1.0, 0},
    {"AES-128-CTR", 256, 0, 0},
    {"AES-128-CTR", 1024, 0, 0},
    {"AES-128-CTR", 1420, 0, 0},
    {"AES-128-CTR", 4096, 0, 0},
    {"AES-128-CTR", 16384, 2.5, 0},
    {"AES-256-CTR", 64, 1.0, 0},
    {"AES-256-CTR", 256, 0, 0},
    {"AES-256-CTR", 1024, 0, 0},
    {"AES-256-CTR", 1420, 0, 0},
    {"AES-256-CTR", 4096, 0, 0},
    {"AES-256-CTR", 16384, 2.5, 0},
    {"AES-128-CBC", 64, 1.0, 1.0},
    {"AES-128-CBC", 256, 0, 0},
    {"AES-128-CBC", 1024, 0, 0},
    {"AES-128-CBC", 1424, 0, 0},
    {"AES-128-CBC", 4096, 0.98, 2.0},
    {"AES-128-CBC", 16384, 0, 0},
    {"AES-256-CBC", 64, 1.0, 1.0},
    {"AES-256-CBC", 256, 0, 0},
    {"AES-256-CBC", 1024, 0, 0},
    {"AES-256-CBC", 1424, 0, 0},
    {"AES-256-CBC", 4096, 0.98, 2.0},
    {"AES-256-CBC", 16384, 0, 0},
    {"AES-128-XTS", 64, 0, 0},
    {"AES-128-XTS", 256, 0, 0},
    {"AES-128-XTS", 1024, 0, 0},
    {"AES-128-XTS", 1420, 0, 0},
    {"AES-128-XTS", 4096, 0, 0},
    {"AES-128-XTS", 16384, 0, 0},
    {"AES-256-XTS", 64, 0, 0},
    {"AES-256-XTS", 256, 0, 0},
    {"AES-256-XTS", 1024, 0, 0},
    {"AES-256-XTS", 1420, 0, 0},
    {"AES-256-XTS", 4096, 0, 0},
    {"AES-256-XTS", 16384, 0, 0},
};
enum { WORKS = sizeof works / sizeof works[0] };

static uint8_t text[LONGEST], sealed[SIDES][LONGEST], tag[SIDES][16], ad[13], iv[16];
static uint8_t key[64] = {1}; /* with different halves */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(int ok, const char *what)
{
    if (!ok) {
        printf("FAIL %s\n", what);
        exit(1);
    }
}

typedef struct {
    EVP_CIPHER_CTX *ctx;
    int side, bytes, aead, siv;
} subject;

/* The default provider's AES-GCM-SIV keeps the last packet's associated data for the next one, until an empty
 * update.
 */
static int forget(const subject *s)
{
    int n;
    return !s->siv || EVP_CipherUpdate(s->ctx, NULL, &n, ad, 0);
}

static void seal(const subject *s)
{
    int n, ok;
    iv[0]++;
    ok = EVP_EncryptInit_ex(s->ctx, NULL, NULL, NULL, iv);
    if (s->aead)
        ok &= forget(s) & EVP_EncryptUpdate(s->ctx, NULL, &n, ad, sizeof ad);
    ok &= EVP_EncryptUpdate(s->ctx, sealed[s->side], &n, text, s->bytes) & EVP_EncryptFinal_ex(s->ctx, NULL, &n);
    if (s->aead)
        ok &= EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag[s->side]);
    check(ok, "seal");
}

static void open_packet(const subject *s)
{
    static uint8_t opened[LONGEST];
    int n, ok;
    ok = EVP_DecryptInit_ex(s->ctx, NULL, NULL, NULL, iv);
    if (s->aead)
        ok &= EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag[s->side]) & forget(s) &
              EVP_DecryptUpdate(s->ctx, NULL, &n, ad, sizeof ad);
    ok &= EVP_DecryptUpdate(s->ctx, opened, &n, sealed[s->side], s->bytes) & EVP_DecryptFinal_ex(s->ctx, NULL, &n);
    check(ok, "open");
}

/* Nanoseconds per packet of each side: batches alternate, and the minimum counts. */
static void measure(subject s[SIDES], void (*run)(const subject *), double seconds, double best[SIDES])
{
    const double end = now() + seconds * 1e9;
    int packets = 1;
    for (int side = 0; side < SIDES; side++)
        best[side] = 1e18;
    do {
        for (int side = 0; side < SIDES; side++) {
            const double begin = now();
            for (int i = 0; i < packets; i++)
                run(&s[side]);
            const double each = (now() - begin) / packets;
            if (each < best[side])
                best[side] = each;
        }
        packets = 1 + (int)(BATCH_NS / best[0]);
    } while (now() < end);
}

static int rows;

static int report(const work *w, const char *operation, const double best[SIDES], double floor)
{
    const double ratio = best[0] / best[1];
    char name[64];
    if (rows) {
        printf("%s %d %s %.1f %.1f\n", w->cipher, w->bytes, operation, best[0], best[1]);
        return ratio >= 1;
    }
    snprintf(name, sizeof name, "%s %s", w->cipher, operation);
    const int ok = ratio >= floor;
    printf("| %s | %d | %.0f | %.0f | %.2f | ", name, w->bytes, best[0], best[1], ratio);
    if (floor > 0)
        printf("%.1f %s |\n", floor, ok ? "met" : "MISSED");
    else
        printf("|\n");
    return ok;
}

int main(int argc, char **argv)
{
    double seconds = 0.25;
    int missed = 0;
    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "--seconds=", 10) == 0)
            seconds = strtod(argv[i] + 10, NULL);
        else if (strcmp(argv[i], "--rows") == 0)
            rows = 1;
        else
            return 2;
    /* The output of bench-go -class. */
    const char *class = getenv("SEALANE_BENCH_CLASS");
    const int held = class == NULL || strcmp(class, "AMD family 26, AVX-512 IFMA") == 0;
    const providers loaded = load_providers(NULL, argv[1]);
    if (!rows)
        printf("| | bytes | default, ns | sealane, ns | times as fast | floor |\n|---|---:|---:|---:|---:|---|\n");
    for (int i = 0; i < WORKS; i++) {
        const work *w = &works[i];
        if (!is_offered(NULL, w->cipher) || !has_cipher(NULL, w->cipher, "provider=default"))
            continue;
        EVP_CIPHER *c[SIDES] = {fetch(NULL, w->cipher, "provider=default"), fetch(NULL, w->cipher, "provider=sealane")};
        subject s[SIDES];
        double best[SIDES];
        for (int side = 0; side < SIDES; side++) {
            s[side] = (subject){EVP_CIPHER_CTX_new(), side, w->bytes,
                                (EVP_CIPHER_get_flags(c[0]) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0,
                                strstr(w->cipher, "SIV") != NULL};
            check(EVP_EncryptInit_ex(s[side].ctx, c[side], NULL, key, iv) && EVP_CIPHER_CTX_set_padding(s[side].ctx, 0),
                  "init");
        }
        measure(s, seal, seconds, best);
        missed += !report(w, "seal", best, held ? w->seal_floor : 0);
        iv[0] = 0;
        for (int side = 0; side < SIDES; side++) {
            iv[0] = 0;
            seal(&s[side]);
        }
        check(memcmp(sealed[0], sealed[1], (size_t)w->bytes) == 0 && memcmp(tag[0], tag[1], 16) == 0,
              "the same packet");
        if (s[0].aead || EVP_CIPHER_get_mode(c[0]) == EVP_CIPH_XTS_MODE ||
            EVP_CIPHER_get_mode(c[0]) == EVP_CIPH_CBC_MODE) {
            for (int side = 0; side < SIDES && !s[0].aead;
                 side++) /* the default provider's keys are for one direction */
                check(EVP_DecryptInit_ex(s[side].ctx, NULL, NULL, key, iv), "init");
            measure(s, open_packet, seconds, best);
            missed += !report(w, "open", best, held ? w->open_floor : 0);
        }
        for (int side = 0; side < SIDES; side++) {
            EVP_CIPHER_CTX_free(s[side].ctx);
            EVP_CIPHER_free(c[side]);
        }
    }
    unload_providers(&loaded);
    return missed != 0;
}
