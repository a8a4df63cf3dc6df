/* padding: provider/padding.c removes the same bytes as a straightforward implementation of RFC 5652 and RFC 5246,
 * for every length of padding and MAC.
 * Under valgrind, memcheck follows the undefined bytes of a record through every instruction. No branch and no
 * address may depend on them.
 *
 *     padding                           all results
 *     valgrind --quiet padding --secret    records are secret
 *     ... --plant=NAME                  must fail: mac, text, pkcs7: a wrong result; under valgrind plain: the
 * straightforward implementation in place of the code */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/memcheck.h>

#include "../padding.h"

enum { LONGEST = 1100 };

static const char *plant = "";
static uint8_t record[LONGEST], fake[PADDING_MAC_MAX], mac[PADDING_MAC_MAX];

static int planted(const char *name)
{
    return strcmp(plant, name) == 0;
}

static uint8_t next_byte(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(state >> 56);
}

/* ---- The straightforward implementation ---- */

static int plain_pkcs7(const uint8_t *block)
{
    const int n = block[15];
    if (n < 1 || n > 16)
        return -1;
    for (int i = 16 - n; i < 16; i++)
        if (block[i] != n)
            return -1;
    return 16 - n;
}

static int plain_tls(const uint8_t *r, size_t bytes, int is_ssl3, size_t mac_bytes, uint8_t *m, size_t *text_bytes)
{
    if (bytes < mac_bytes + 1)
        return 0;
    size_t n = r[bytes - 1] + (size_t)1;
    int good = n + mac_bytes <= bytes && (!is_ssl3 || n <= 16);
    for (size_t i = 1; good && !is_ssl3 && i <= n; i++)
        good = r[bytes - i] == n - 1;
    if (!good && mac_bytes == 0)
        return 0;
    n = good ? n : 0;
    *text_bytes = bytes - n - mac_bytes;
    memcpy(m, good ? r + *text_bytes : fake, mac_bytes);
    return 1;
}

/* ---- Results ---- */

static int check_record(size_t bytes, int is_ssl3, size_t mac_bytes)
{
    uint8_t wanted_mac[PADDING_MAC_MAX] = {0};
    size_t wanted = 0, got = 0;
    memset(mac, 0, sizeof mac);
    const int is = padding_tls(record, bytes, is_ssl3, mac_bytes, fake, mac, &got);
    mac[0] ^= planted("mac") && mac_bytes == 20 && bytes > 300;
    got += planted("text") && bytes > 300;
    return is == plain_tls(record, bytes, is_ssl3, mac_bytes, wanted_mac, &wanted) && got == wanted &&
           memcmp(mac, wanted_mac, sizeof mac) == 0;
}

/* Right padding of every length, then one wrong byte at every position in it, before it and after it. */
static int check_length(size_t bytes, size_t mac_bytes)
{
    int ok = 1;
    for (size_t n = 1; n <= 256; n++) {
        for (size_t i = 0; i < bytes; i++)
            record[i] = next_byte();
        memset(record + bytes - (n < bytes ? n : bytes), (int)(n - 1), n < bytes ? n : bytes);
        record[bytes - 1] = (uint8_t)(n - 1);
        ok &= check_record(bytes, 0, mac_bytes) && check_record(bytes, 1, mac_bytes);
        for (size_t at = 1; at <= bytes && at <= n + 2; at += 1 + (n > 20 && at > 4 && at + 6 < n) * 31) {
            record[bytes - at] ^= 0x80;
            ok &= check_record(bytes, 0, mac_bytes);
            record[bytes - at] ^= 0x80;
        }
    }
    return ok;
}

static int check_pkcs7(void)
{
    uint8_t block[16];
    int ok = 1;
    for (int last = 0; last < 256; last++) {
        for (int n = 0; n <= 16; n++) {
            for (int wrong = 0; wrong < 16; wrong++) {
                for (int i = 0; i < 16; i++)
                    block[i] = (uint8_t)(i < 16 - n ? next_byte() : last);
                block[15] = (uint8_t)last;
                block[wrong] ^= (uint8_t)(n & 1);
                ok &= padding_pkcs7(block) == plain_pkcs7(block) + (planted("pkcs7") && last == 9);
            }
        }
    }
    return ok;
}

/* ---- Time ---- */

static int is_silent(size_t bytes, size_t mac_bytes, size_t n, int is_ssl3)
{
    const unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
    uint8_t m[PADDING_MAC_MAX];
    size_t text_bytes;
    memset(record, (int)(n - 1), bytes);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(record, sizeof record);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(fake, sizeof fake);
    if (planted("plain"))
        plain_tls(record, bytes, is_ssl3, mac_bytes, m, &text_bytes);
    else
        padding_tls(record, bytes, is_ssl3, mac_bytes, fake, m, &text_bytes);
    return VALGRIND_COUNT_ERRORS == before;
}

static int is_silent_pkcs7(void)
{
    const unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
    uint8_t block[16];
    memset(block, 5, sizeof block);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(block, sizeof block);
    volatile int n = planted("plain") ? plain_pkcs7(block) : padding_pkcs7(block);
    (void)n;
    return VALGRIND_COUNT_ERRORS == before;
}

int main(int argc, char **argv)
{
    static const size_t macs[] = {0, 1, 16, 20, 32, 48, 64};
    int secret = 0, passed = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--secret") == 0)
            secret = 1;
        else if (strncmp(argv[i], "--plant=", 8) == 0)
            plant = argv[i] + 8;
        else
            return 2;
    if (secret && !RUNNING_ON_VALGRIND)
        return 2;
    for (size_t i = 0; i < sizeof fake; i++)
        fake[i] = (uint8_t)(0xf0 + i);
    for (size_t m = 0; m < sizeof macs / sizeof macs[0]; m++) {
        int ok = 1;
        for (size_t bytes = 1; bytes < LONGEST; bytes = secret        ? bytes * 2 + 7
                                                        : bytes < 48  ? bytes + 1
                                                        : bytes < 400 ? bytes + 13
                                                                      : bytes + 200)
            ok &= !secret ? check_length(bytes, macs[m])
                          : is_silent(bytes, macs[m], 1, 0) & is_silent(bytes, macs[m], 200, 0) &
                                is_silent(bytes, macs[m], 9, 1);
        passed += ok, failed += !ok;
        printf("%s records with a MAC of %d bytes%s\n", ok ? "ok  " : "FAIL", (int)macs[m], secret ? ", secret" : "");
    }
    const int ok = secret ? is_silent_pkcs7() : check_pkcs7();
    passed += ok, failed += !ok;
    printf("%s PKCS #7\n", ok ? "ok  " : "FAIL");
    printf("padding: %d passed, %d failed, 0 not run\n", passed, failed);
    return failed != 0;
}
