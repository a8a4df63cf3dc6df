/* modes runs one operation of AES without authentication, between the marks of x86cost.py. README.md says how to use
 * it.
 *
 *     modes ctr|cbc|xts BYTES      sealane's C API, the level by SEALANE_CPU; openssl-ctr and so on: EVP of libcrypto
 *     modes masks-LEVEL COUNT      one kernel call for header masks of AES-128; chacha20masks-LEVEL: of ChaCha20
 */
#include <sealane.h>

#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../asm/args.h"

enum { CALLS = 12, MOST = 16384, LANES = 64 };

__attribute__((noinline)) void mark_start(void);
__attribute__((noinline)) void mark_end(void);

void mark_start(void)
{
    __asm__ volatile("");
}

void mark_end(void)
{
    __asm__ volatile("");
}

typedef void kernel(const void *args, void *scratch, const void *consts);
#define KERNEL(name)    \
    extern kernel name; \
    extern const uint8_t name##_constants[];
KERNEL(sealane_aes_avx2)
KERNEL(sealane_aes_aesni)
KERNEL(sealane_chacha20masks_avx2)

static const struct {
    const char *name;
    kernel *run;
    const uint8_t *constants;
    int aes;
} mask_kernels[] = {
    {"masks-avx2", sealane_aes_avx2, sealane_aes_avx2_constants, 1},
    {"masks-aesni", sealane_aes_aesni, sealane_aes_aesni_constants, 1},
    {"chacha20masks-avx2", sealane_chacha20masks_avx2, sealane_chacha20masks_avx2_constants, 0},
};

static uint8_t in[MOST], out[MOST], key[64], iv[16];
static uint8_t keys[LANES][SEALANE_AES_KEY_BYTES] __attribute__((aligned(64)));
static uint8_t scratch[SEALANE_SCRATCH_BYTES] __attribute__((aligned(64)));
static uint64_t lanes[LANES][SEALANE_LANE_STRIDE / 8], arguments[SEALANE_ARGS_BYTES / 8];

static void put(uint64_t *block, int offset, const void *pointer)
{
    block[offset / 8] = (uintptr_t)pointer;
}

static int masks(const char *name, size_t count)
{
    for (size_t i = 0; i < sizeof mask_kernels / sizeof mask_kernels[0]; i++) {
        if (strcmp(mask_kernels[i].name, name) != 0)
            continue;
        for (size_t l = 0; l < count; l++) {
            if (mask_kernels[i].aes) {
                uint64_t setup[SEALANE_ARGS_BYTES / 8] = {0}, rounds = 10;
                memcpy(keys[l], &rounds, 8);
                keys[l][SEALANE_AES_KEY_SCHEDULE] = (uint8_t)l;
                put(setup, SEALANE_MODE_KEY, keys[l]);
                setup[SEALANE_MODE_OPERATION / 8] = SEALANE_AES_SETUP;
                mask_kernels[i].run(setup, scratch, mask_kernels[i].constants);
            }
            put(lanes[l], SEALANE_MODE_LANE_OUT, out + 16 * l);
            put(lanes[l], SEALANE_MODE_LANE_IN, in + 16 * l);
            put(lanes[l], SEALANE_MODE_LANE_KEY, keys[l]);
        }
        put(arguments, SEALANE_MODE_LANES, lanes);
        arguments[SEALANE_MODE_COUNT / 8] = count;
        arguments[SEALANE_MODE_OPERATION / 8] = SEALANE_AES_MASKS;
        for (int call = 0; call < CALLS; call++) {
            mark_start();
            mask_kernels[i].run(arguments, scratch, mask_kernels[i].constants);
            mark_end();
        }
        return 0;
    }
    return 1;
}

static int openssl(const char *mode, int decrypt, size_t bytes)
{
    char name[32];
    snprintf(name, sizeof name, "AES-128-%s", mode);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n, bad = !cipher || !EVP_CipherInit_ex2(ctx, cipher, key, iv, !decrypt, NULL) ||
                 !EVP_CIPHER_CTX_set_padding(ctx, 0);
    for (int call = 0; call < CALLS && !bad; call++) {
        int fresh = strcmp(mode, "XTS") == 0;
        mark_start();
        if (fresh)
            bad |= !EVP_CipherInit_ex2(ctx, NULL, NULL, iv, -1, NULL);
        bad |= !EVP_CipherUpdate(ctx, out, &n, in, (int)bytes);
        mark_end();
    }
    return bad;
}

int main(int argc, char **argv)
{
    size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    sealane_aes_key k;
    sealane_aes_ctr ctr;
    sealane_xts_key xts;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(7 * i);
    if (bytes == 0 || bytes > MOST || bytes % 16 != 0)
        bytes = 0;
    const char *op = argc == 3 ? argv[1] : "";
    int bad = sealane_aes_key_init(&k, key, 16) || sealane_aes_ctr_init(&ctr, iv, 128) ||
              sealane_aes_xts_key_init(&xts, key, 32);
    size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (strstr(op, "masks") && count > 0 && count <= LANES)
        return masks(op, count);
    if (bytes > 0 && strcmp(op, "openssl-ctr") == 0)
        return openssl("CTR", 0, bytes);
    if (bytes > 0 && strcmp(op, "openssl-cbc") == 0)
        return openssl("CBC", 1, bytes);
    if (bytes > 0 && strcmp(op, "openssl-xts") == 0)
        return openssl("XTS", 0, bytes);
    if (bad || bytes == 0 || !strstr("ctr cbc xts", op)) {
        fputs("modes ctr|cbc|xts|openssl-ctr|openssl-cbc|openssl-xts BYTES, masks-LEVEL|chacha20masks-LEVEL COUNT\n",
              stderr);
        return 2;
    }
    for (int call = 0; call < CALLS; call++) {
        mark_start();
        if (op[0] == 'x')
            bad |= sealane_aes_xts_encrypt(&xts, iv, out, in, bytes);
        else if (op[1] == 't')
            bad |= sealane_aes_ctr_xor(&k, &ctr, out, in, bytes);
        else
            bad |= sealane_aes_cbc_decrypt(&k, iv, out, in, bytes);
        mark_end();
    }
    return bad;
}
