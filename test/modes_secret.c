/* modes_secret: sealane_aes_* and sealane_quic_* must not behave differently for different secrets, nor leave any
 * of them on the stack.
 * It tests the level of this process (SEALANE_CPU).
 *
 * Each call runs on its own prefilled stack, twice with the same secrets and then with others. A byte that changes
 * only with the secrets was derived from them.
 *
 *     modes_secret                                all lengths
 *     modes_secret --some                         texts of 17, 64 and 350 bytes, for emulated CPUs
 *     valgrind --quiet modes_secret --undefined   keys and texts are undefined: memcheck reports a branch or an address
 *                                                 made of them. Levels whose instructions it does not know are not run
 *     ... --plant=NAME                            must fail: copy, spill (a call that leaves something), branch (one
 *                                                 that looks)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else /* cross compilers do not have it */
#define VALGRIND_MAKE_MEM_UNDEFINED(p, bytes) ((void)(p), (void)(bytes), 0)
#define VALGRIND_MAKE_MEM_DEFINED(p, bytes) 0
#define VALGRIND_COUNT_ERRORS 0
#define RUNNING_ON_VALGRIND 0
#endif

#include "../src/bytes.h"
#include "../src/key.h"

enum { STACK_BYTES = 1 << 18, LONGEST = 1500, PACKETS = 9, FILL = 0xa5 };

typedef enum {
    KEY,
    ECB_ENCRYPT,
    ECB_DECRYPT,
    CTR,
    CBC_ENCRYPT,
    CBC_DECRYPT,
    CBC_BATCH,
    CMAC,
    CMAC_VERIFY,
    CMAC_BATCH,
    CMAC_VERIFY_BATCH,
    CCM_SEAL,
    CCM_OPEN,
    CCM_FORGED,
    CCM_SEAL_BATCH,
    CCM_OPEN_BATCH,
    SIV_SEAL,
    SIV_OPEN,
    SIV_FORGED,
    SSH_SEAL,
    SSH_OPEN,
    SSH_FORGED,
    CHACHA20,
    SSH_LENGTH,
    XTS_KEY,
    XTS_ENCRYPT,
    XTS_DECRYPT,
    QUIC_KEYS,
    MASK,
    PROTECT,
    UNPROTECT,
    FORGED,
    WAYS
} way;

static const char *const way_names[WAYS] = {"key",
                                            "ECB",
                                            "ECB backwards",
                                            "CTR in pieces",
                                            "CBC",
                                            "CBC backwards",
                                            "CBC batch",
                                            "CMAC",
                                            "CMAC compared",
                                            "CMAC batch",
                                            "CMAC batch compared",
                                            "CCM",
                                            "CCM backwards",
                                            "CCM forged",
                                            "CCM batch",
                                            "CCM batch backwards",
                                            "GCM-SIV",
                                            "GCM-SIV backwards",
                                            "GCM-SIV forged",
                                            "SSH",
                                            "SSH backwards",
                                            "SSH forged",
                                            "ChaCha20",
                                            "SSH length",
                                            "XTS key",
                                            "XTS",
                                            "XTS backwards",
                                            "QUIC keys",
                                            "mask",
                                            "protect",
                                            "unprotect",
                                            "unprotect forgeries"};

/* One call. All of it has the same address in every run. */
static struct {
    way way;
    size_t key_bytes, bytes;
    sealane_alg alg;
    int bad;
    uint8_t *end;
    sealane_aes_key aes;
    sealane_xts_key xts;
    sealane_aes_ctr ctr;
    sealane_aes_cmac cmac;
    sealane_ccm_key ccm;
    sealane_gcm_siv_key siv;
    sealane_ssh_key ssh;
    uint32_t length;
    uint8_t tag[16];
    sealane_quic_keys quic;
    uint8_t key[64], hp[32], iv[16], text[LONGEST], out[LONGEST], ivs[PACKETS][16], texts[PACKETS][LONGEST];
    sealane_cbc_op cbc[PACKETS];
    sealane_cmac_op cmacs[PACKETS];
    sealane_ccm_op ccms[PACKETS];
    sealane_quic_packet packets[PACKETS];
} now;

static const char *plant = "";
static uint8_t *stack;
static volatile uint8_t sink;

static NOINLINE void leave(void)
{
    volatile uint8_t copy[32];
    volatile uint64_t deep[300];
    for (size_t i = 0; i < sizeof copy; i++)
        copy[i] = strcmp(plant, "copy") == 0 ? now.key[i] : 0;
    deep[7] = strcmp(plant, "spill") == 0 ? load64(now.key) * 0x9e3779b97f4a7c15 >> 32 : 0;
    sink = (uint8_t)(copy[0] + deep[7]);
    if (strcmp(plant, "branch") == 0 && now.key[3] & 1)
        sink++;
}

static int ctr_pieces(void)
{
    const size_t a = now.bytes / 3;
    int bad = sealane_aes_ctr_init(&now.ctr, now.iv, 128);
    bad |= sealane_aes_ctr_xor(&now.aes, &now.ctr, now.out, now.text, a);
    bad |= sealane_aes_ctr_xor(&now.aes, &now.ctr, now.out + a, now.text + a, now.bytes - a);
    sealane_aes_ctr_wipe(&now.ctr);
    return bad;
}

static int cmac_pieces(int compare)
{
    const size_t a = now.bytes / 3;
    int bad = sealane_aes_cmac_init(&now.cmac);
    bad |= sealane_aes_cmac_update(&now.aes, &now.cmac, now.text, a);
    bad |= sealane_aes_cmac_update(&now.aes, &now.cmac, now.text + a, now.bytes - a);
    if (!compare)
        return bad | sealane_aes_cmac_final(&now.aes, &now.cmac, now.tag);
    return bad || sealane_aes_cmac_verify(&now.aes, &now.cmac, now.tag, 16) != SEALANE_NOT_AUTHENTIC;
}

static int call(void)
{
    const size_t whole = now.bytes & ~(size_t)15;
    switch (now.way) {
    case KEY:
        return sealane_aes_key_init(&now.aes, now.key, now.key_bytes);
    case ECB_ENCRYPT:
        return sealane_aes_ecb_encrypt(&now.aes, now.out, now.text, whole);
    case ECB_DECRYPT:
        return sealane_aes_ecb_decrypt(&now.aes, now.out, now.text, whole);
    case CTR:
        return ctr_pieces();
    case CBC_ENCRYPT:
        return sealane_aes_cbc_encrypt(&now.aes, now.iv, now.out, now.text, whole);
    case CBC_DECRYPT:
        return sealane_aes_cbc_decrypt(&now.aes, now.iv, now.out, now.text, whole);
    case CBC_BATCH:
        return sealane_aes_cbc_encrypt_batch(now.cbc, PACKETS) != PACKETS;
    case CMAC:
    case CMAC_VERIFY:
        return cmac_pieces(now.way == CMAC_VERIFY);
    case CMAC_BATCH:
        return sealane_aes_cmac_batch(now.cmacs, PACKETS) != PACKETS;
    case CMAC_VERIFY_BATCH:
        return sealane_aes_cmac_verify_batch(now.cmacs, PACKETS) != 0;
    case CCM_SEAL:
        return sealane_aes_ccm_seal(&now.ccm, now.out, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
    case CCM_OPEN:
        return sealane_aes_ccm_open(&now.ccm, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
    case CCM_FORGED:
        return sealane_aes_ccm_open(&now.ccm, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes) !=
               SEALANE_NOT_AUTHENTIC;
    case CCM_SEAL_BATCH:
        return sealane_aes_ccm_seal_batch(now.ccms, PACKETS) != PACKETS;
    case CCM_OPEN_BATCH: /* one is forged */
        return sealane_aes_ccm_open_batch(now.ccms, PACKETS) != PACKETS - 1;
    case SIV_SEAL:
        return sealane_aes_gcm_siv_seal(&now.siv, now.out, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
    case SIV_OPEN:
        return sealane_aes_gcm_siv_open(&now.siv, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
    case SIV_FORGED:
        return sealane_aes_gcm_siv_open(&now.siv, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes) !=
               SEALANE_NOT_AUTHENTIC;
    case SSH_SEAL:
        return sealane_ssh_seal(&now.ssh, 7, now.out, now.tag, now.text, now.bytes);
    case SSH_OPEN:
        return sealane_ssh_open(&now.ssh, 7, now.text, now.tag, now.text, now.bytes);
    case SSH_FORGED:
        return sealane_ssh_open(&now.ssh, 7, now.text, now.tag, now.text, now.bytes) != SEALANE_NOT_AUTHENTIC;
    case CHACHA20: /* over the carry */
        return sealane_chacha20_xor(&now.ssh.text, now.iv, 0xfffffffe, now.out, now.text, now.bytes);
    case SSH_LENGTH:
        return sealane_ssh_length(&now.ssh, 7, &now.length, now.text);
    case XTS_KEY:
        return sealane_aes_xts_key_init(&now.xts, now.key, now.key_bytes == 24 ? 32 : 2 * now.key_bytes);
    case XTS_ENCRYPT:
        return sealane_aes_xts_encrypt(&now.xts, now.iv, now.out, now.text, now.bytes);
    case XTS_DECRYPT:
        return sealane_aes_xts_decrypt(&now.xts, now.iv, now.out, now.text, now.bytes);
    case QUIC_KEYS:
        return sealane_quic_keys_init(&now.quic, now.alg, now.key, now.iv, now.hp, now.key_bytes);
    case MASK:
        return sealane_quic_mask(&now.quic, now.out, now.text);
    case PROTECT:
        return sealane_quic_protect_batch(now.packets, PACKETS) != PACKETS;
    case UNPROTECT:
        return sealane_quic_unprotect_batch(now.packets, PACKETS) != PACKETS;
    default:
        return sealane_quic_unprotect_batch(now.packets, PACKETS) != PACKETS - 1;
    }
}

static void *on_stack(void *unused)
{
    uint8_t here;
    volatile uint8_t below[8192];
    now.end = &here;
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = FILL;
    now.bad = call();
    if (*plant)
        leave();
    return unused;
}

/* ---- Input ---- */

static void randomize(uint8_t *p, size_t n, uint64_t *state)
{
    for (; n > 0; n--) {
        *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
        *p++ = (uint8_t)(*state >> 24);
    }
}

static void undefine(void *p, size_t bytes)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
}

static int is_opening(void)
{
    return now.way == UNPROTECT || now.way == FORGED;
}

/* Packets with a short header, 8 bytes of connection ID and 2 of number. A header is not secret once it is
 * unprotected, and the start of the packet depends on it. The key of header protection is therefore the same in
 * all runs. */
static int prepare_packets(void)
{
    int bad = sealane_quic_keys_init(&now.quic, now.alg, now.key, now.iv, now.hp, now.key_bytes);
    for (size_t i = 0; i < PACKETS; i++) {
        const size_t bytes = 60 + now.bytes * (20 - i) / 24;
        now.texts[i][0] = 0x41;
        memset(now.texts[i] + 1, 7, 8);
        now.packets[i] = (sealane_quic_packet){.keys = &now.quic, .bytes = now.texts[i], .packet_bytes = bytes};
        now.packets[i].pn_offset = 9, now.packets[i].number = 1000 + i;
    }
    if (is_opening())
        bad |= sealane_quic_protect_batch(now.packets, PACKETS) != PACKETS;
    if (is_opening()) /* the bytes on the wire are public, the plaintext is secret */
        (void)VALGRIND_MAKE_MEM_DEFINED(now.texts, sizeof now.texts);
    if (now.way == FORGED)
        now.texts[4][40] ^= 1;
    return bad;
}

/* Batches of CMAC and CCM, whose fifth packet is forged. */
static int prepare_batches(void)
{
    for (size_t i = 0; i < PACKETS; i++) {
        const size_t bytes = now.bytes * (20 - i) / 24;
        now.cmacs[i] = (sealane_cmac_op){
            .key = &now.aes, .in = now.texts[i], .in_bytes = bytes, .mac = now.ivs[i], .mac_bytes = 16};
        now.ccms[i] = (sealane_ccm_op){.out = now.texts[i],
                                       .in = now.texts[i],
                                       .in_bytes = bytes,
                                       .ad = now.iv,
                                       .ad_bytes = 16 - i,
                                       .key = &now.ccm,
                                       .nonce = now.iv,
                                       .nonce_bytes = 12,
                                       .tag = now.ivs[i]};
    }
    if (now.way != CCM_OPEN_BATCH)
        return 0;
    const int bad = sealane_aes_ccm_seal_batch(now.ccms, PACKETS) != PACKETS;
    (void)VALGRIND_MAKE_MEM_DEFINED(now.texts, sizeof now.texts);
    (void)VALGRIND_MAKE_MEM_DEFINED(now.ivs, sizeof now.ivs);
    now.ivs[4][3] ^= 1;
    return bad;
}

/* Secrets number n. For valgrind they are undefined from here on. */
static int prepare(int n, int is_undefined)
{
    uint64_t state = 0x9e3779b97f4a7c15 * (uint64_t)(n + 1), same = 77;
    randomize(now.key, sizeof now.key, &state), randomize(now.text, sizeof now.text, &state);
    randomize(now.texts[0], sizeof now.texts, &state);
    randomize(now.hp, sizeof now.hp, is_opening() ? &same : &state);
    memset(now.iv, 3, sizeof now.iv), memset(now.ivs, 4, sizeof now.ivs), memset(now.out, 0, sizeof now.out);
    if (is_undefined)
        undefine(now.key, sizeof now.key), undefine(now.text, sizeof now.text), undefine(now.texts, sizeof now.texts);
    if (is_undefined && !is_opening())
        undefine(now.hp, sizeof now.hp);
    int bad = now.way == KEY || now.way == QUIC_KEYS ? 0 : sealane_aes_key_init(&now.aes, now.key, now.key_bytes);
    memset(now.tag, 5, sizeof now.tag);
    if (now.way >= CCM_SEAL && now.way <= CCM_OPEN_BATCH)
        bad |= sealane_aes_ccm_key_init(&now.ccm, now.key, now.key_bytes, 16);
    if (now.way >= SIV_SEAL && now.way <= SIV_FORGED)
        bad |= sealane_aes_gcm_siv_key_init(&now.siv, now.key, now.key_bytes);
    if (now.way >= SSH_SEAL && now.way <= SSH_LENGTH)
        bad |= sealane_ssh_key_init(&now.ssh, now.key, 64);
    if (now.way == SSH_OPEN) {
        bad |= sealane_ssh_seal(&now.ssh, 7, now.text, now.tag, now.text, now.bytes);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.text, sizeof now.text);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.tag, sizeof now.tag);
    }
    if (now.way == SIV_OPEN) {
        bad |= sealane_aes_gcm_siv_seal(&now.siv, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.text, sizeof now.text);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.tag, sizeof now.tag);
    }
    if (now.way == CCM_OPEN) { /* the bytes on the wire are public */
        bad |= sealane_aes_ccm_seal(&now.ccm, now.text, now.tag, now.iv, 12, now.iv, 15, now.text, now.bytes);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.text, sizeof now.text);
        (void)VALGRIND_MAKE_MEM_DEFINED(now.tag, sizeof now.tag);
    }
    if (now.way == XTS_ENCRYPT || now.way == XTS_DECRYPT)
        bad |= sealane_aes_xts_key_init(&now.xts, now.key, now.key_bytes == 32 ? 64 : 32);
    if (now.way == MASK)
        bad |= sealane_quic_keys_init(&now.quic, now.alg, now.key, now.iv, now.hp, now.key_bytes);
    for (size_t i = 0; i < PACKETS; i++)
        now.cbc[i] = (sealane_cbc_op){.key = &now.aes,
                                      .iv = now.ivs[i],
                                      .out = now.texts[i],
                                      .in = now.texts[i],
                                      .in_bytes = (now.bytes * (20 - i) / 24) & ~(size_t)15};
    bad |= prepare_batches();
    if (now.way >= PROTECT)
        bad |= prepare_packets();
    return !bad;
}

/* Runs of one call: twice with the same secrets, then with others. */
enum { RUNS = 4 };
static const int secrets_of[RUNS] = {1, 1, 2, 3};
static volatile unsigned turn; /* which run this is; in memory alone, see run */
static uint8_t left[RUNS][STACK_BYTES];

static void *preparation(void *made)
{
    return prepare(secrets_of[turn], 0) ? made : NULL;
}

/* Copies the stack right after the call. A new thread begins with the registers of its creator, and saves some of
 * them. So a separate thread makes the secrets. No register may hold a value that differs between runs when the
 * second thread starts: there are no arguments, and turn is volatile. */
static NOINLINE int run(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *prepared = NULL;
    if (pthread_create(&thread, NULL, preparation, stack) != 0 || pthread_join(thread, &prepared) != 0 || !prepared)
        return 0;
    memset(stack, FILL, STACK_BYTES);
    now.bad = 1;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, on_stack, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 0;
    pthread_attr_destroy(&attributes);
    memcpy(left[turn], stack, STACK_BYTES);
    return !now.bad;
}

/* Bytes that the call has written below its caller, holes included. */
static size_t used(const uint8_t *of)
{
    static uint8_t filled[256];
    const size_t all = (size_t)(now.end - stack);
    size_t untouched = 0;
    memset(filled, FILL, sizeof filled);
    while (untouched + sizeof filled <= all && memcmp(of + untouched, filled, sizeof filled) == 0)
        untouched += sizeof filled;
    while (untouched < all && of[untouched] == FILL)
        untouched++;
    return all - untouched;
}

static int leaves_nothing(void)
{
    size_t residue = 0;
    int ok = 1;
    for (turn = 0; ok && turn < RUNS; turn++)
        ok = run();
    for (size_t n = 2; ok && n < RUNS; n++)
        for (size_t i = 0; i < (size_t)(now.end - stack); i++)
            if (i % 256 == 0 && memcmp(left[0] + i, left[n] + i, 256) == 0) /* nearly all, and faster under emulation */
                i += 255;
            else
                residue += left[0][i] == left[1][i] && left[0][i] != left[n][i];
    if (ok && residue == 0 && used(left[0]) > 50)
        return 1;
    printf("     %s, key of %zu bytes, %zu bytes: %s, %zu bytes of the stack depend on secrets\n", way_names[now.way],
           now.key_bytes, now.bytes, ok ? "done" : "the call failed", residue);
    return 0;
}

static int looks_at_nothing(void)
{
    const unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
    int ok = prepare(1, 1) && !call();
    if (*plant)
        leave();
    (void)VALGRIND_MAKE_MEM_DEFINED(&now, sizeof now);
    ok &= VALGRIND_COUNT_ERRORS == before;
    if (!ok)
        printf("     %s, key of %zu bytes, %zu bytes\n", way_names[now.way], now.key_bytes, now.bytes);
    return ok;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {17, 64, 350, 16, 100, 1420}, keys[] = {16, 24, 32, 32};
    size_t count = sizeof sizes / sizeof *sizes;
    int is_undefined = 0, passed = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--undefined") == 0)
            is_undefined = 1;
        else if (strcmp(argv[i], "--some") == 0)
            count = 3;
        else if (strncmp(argv[i], "--plant=", 8) == 0)
            plant = argv[i] + 8;
        else
            return 2;
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || (is_undefined && !RUNNING_ON_VALGRIND))
        return 2;
    if (!is_undefined) { /* the CPU features that the library detects once */
        now.way = KEY, now.key_bytes = 16;
        failed += !prepare(0, 0) || call();
    }
    for (int w = KEY; w < WAYS; w++) {
        int ok = 1;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (size_t j = 0; j < count; j++) {
                now.way = (way)w, now.key_bytes = keys[k], now.bytes = sizes[j];
                now.alg = k == 0 ? SEALANE_AES_128_GCM : k == 3 ? SEALANE_CHACHA20_POLY1305 : SEALANE_AES_256_GCM;
                if ((keys[k] == 24 && w >= SIV_SEAL) || (k == 3 && w < QUIC_KEYS) || (j > 0 && w == KEY))
                    continue;
                ok &= is_undefined ? looks_at_nothing() : leaves_nothing();
            }
        passed += ok, failed += !ok;
        printf("%s %s, %s\n", ok ? "ok  " : "FAIL", way_names[w], is_undefined ? "undefined secrets" : "the stack");
    }
    printf("modes_secret: %d passed, %d failed, 0 not run\n", passed, failed);
    return failed != 0;
}
