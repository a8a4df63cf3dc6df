/* sandbox: after sealane_init no function makes a system call. All work where read, write and exit are the only allowed
 * system calls (seccomp, strict mode).
 *
 *     sandbox                 every level that this CPU can run
 *     sandbox --plant=NAME    a system call in between; must fail: getppid, open */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/sealane.h"
#include "../src/level.h"

static uint8_t text[64][300], tags[64][16], nonce[24];
static const char *plant = "";

static void plant_call(void)
{
    if (strcmp(plant, "getppid") == 0)
        (void)syscall(SYS_getppid);
    else if (strcmp(plant, "open") == 0)
        (void)open("/dev/null", O_RDONLY);
}

static int packets(sealane_alg alg, size_t key_bytes, size_t nonce_bytes)
{
    static sealane_key k;
    static sealane_stream s;
    sealane_op ops[64];
    const uint8_t raw[32] = {(uint8_t)alg};
    uint8_t tag[16];
    int bad = sealane_key_init(&k, alg, raw, key_bytes);
    memset(ops, 0, sizeof ops);
    for (size_t i = 0; i < 64; i++) {
        ops[i].in = ops[i].out = text[i], ops[i].in_bytes = 4 * i, ops[i].key = &k, ops[i].tag = tags[i];
        ops[i].nonce = nonce, ops[i].nonce_bytes = nonce_bytes;
    }
    bad |= sealane_seal(&k, text[0], tag, nonce, nonce_bytes, NULL, 0, text[0], 300);
    bad |= sealane_open(&k, text[0], tag, nonce, nonce_bytes, NULL, 0, text[0], 300);
    bad |= sealane_open(&k, text[0], tag, nonce, nonce_bytes, NULL, 0, text[0], 299) != SEALANE_NOT_AUTHENTIC;
    bad |= sealane_seal_batch(ops, 64) != 64;
    bad |= sealane_open_batch(ops, 64) != 64;
    bad |= sealane_stream_init(&s, &k, SEALANE_STREAM_SEAL, nonce, nonce_bytes);
    bad |= sealane_stream_update(&s, text[0], text[0], 100);
    bad |= sealane_stream_seal_final(&s, tag);
    return bad;
}

static int modes(void)
{
    static sealane_aes_key k;
    static sealane_xts_key x;
    static sealane_quic_keys q;
    sealane_aes_ctr c;
    const uint8_t raw[64] = {1};
    uint8_t iv[16] = {0};
    int bad = sealane_aes_key_init(&k, raw, 16) | sealane_aes_xts_key_init(&x, raw, 64);
    bad |= sealane_aes_ctr_init(&c, iv, 128) | sealane_aes_ctr_xor(&k, &c, text[0], text[0], 100);
    bad |= sealane_aes_cbc_encrypt(&k, iv, text[0], text[0], 64);
    bad |= sealane_aes_xts_encrypt(&x, iv, text[0], text[0], 100);
    for (int alg = SEALANE_CHACHA20_POLY1305; alg <= SEALANE_AES_256_GCM; alg++) {
        sealane_quic_packet p = {.keys = &q, .bytes = text[0], .packet_bytes = 200, .pn_offset = 9};
        if (alg == SEALANE_XCHACHA20_POLY1305)
            continue;
        text[0][0] = 0x41;
        bad |= sealane_quic_keys_init(&q, (sealane_alg)alg, raw, raw, raw, alg == SEALANE_AES_128_GCM ? 16 : 32);
        bad |= sealane_quic_protect_batch(&p, 1) != 1 || sealane_quic_unprotect_batch(&p, 1) != 1;
    }
    return bad;
}

/* Runs in a process of its own, which the system may kill. */
static void confined(void)
{
    if (sealane_init() != SEALANE_OK || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(77);
    int bad = packets(SEALANE_CHACHA20_POLY1305, 32, 12) | packets(SEALANE_XCHACHA20_POLY1305, 32, 24);
    bad |= packets(SEALANE_AES_128_GCM, 16, 12) | packets(SEALANE_AES_192_GCM, 24, 16);
    bad |= packets(SEALANE_AES_256_GCM, 32, 12) | modes();
    bad |= sealane_warning() != NULL;
    plant_call();
    (void)syscall(SYS_exit, bad != 0); /* _exit calls exit_group, which is not allowed */
}

/* Starts the process that has this level as its best: 1, 0, or -1 if it could not be confined. */
static int run(const char *level)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        setenv("SEALANE_CPU", level, 1);
        confined();
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    const int outcome = !WIFEXITED(status) || WEXITSTATUS(status) == 1 ? 0 : WEXITSTATUS(status) == 0 ? 1 : -1;
    printf("%s from %s on%s\n",
           outcome == 1  ? "ok  "
           : outcome < 0 ? "not run"
                         : "FAIL",
           level,
           WIFSIGNALED(status) ? ": killed for a system call"
           : outcome < 0       ? ": no strict seccomp here"
                               : "");
    return outcome;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0, not_run = 0;
    if (argc > 1 && strncmp(argv[1], "--plant=", 8) == 0)
        plant = argv[1] + 8;
    for (int t = 0; t < SEALANE_ALL_TABLES; t++)
        for (unsigned l = 0; l < sealane_tables[t].count; l++) {
            const char *name = sealane_tables[t].levels[l].name;
            int before = 0; /* an earlier table has a level with that name */
            for (int other = 0; other < t; other++)
                before |= sealane_level_find(&sealane_tables[other], name) >= 0;
            const int outcome = before ? -2 : run(name);
            passed += outcome == 1, failed += outcome == 0, not_run += outcome == -1;
        }
    printf("sandbox: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
