/* quic: tests QUIC packets through the public interface.
 *
 *     quic [FILE]           FILE: test/vectors/quic/appendix_a.json, flattened; the samples, and batches
 *     quic --plant=NAME     the same with one fault; must fail
 *
 * Batches of all sizes, of mixed keys and headers, with some forgeries and mistakes, must give the same results as
 * single packets. */
#include <sealane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1600, MOST = 150 };

static uint64_t random_state = 0x243f6a8885a308d3; /* the choices are the same in every run */
static const char *plant = "";
static unsigned failed;

static size_t below(size_t n)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

static void randomize(uint8_t *p, size_t n)
{
    while (n-- > 0)
        *p++ = (uint8_t)below(256);
}

static int planted(const char *name)
{
    return strcmp(plant, name) == 0;
}

static void check(int holds, const char *what, size_t number)
{
    if (holds)
        return;
    failed++;
    printf("FAIL %s (%zu)\n", what, number);
}

static size_t from_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

/* ---- Samples ---- */

static void mask_of(const sealane_quic_keys *k, const uint8_t *plain, const uint8_t *packet, size_t pn_offset);

static void sample(const char *alg, char *const hex[3], uint64_t number, const char *header_hex,
                   const char *payload_hex, size_t payload_bytes, const char *packet_hex)
{
    uint8_t key[32], iv[12], hp[32], bytes[ROOM] = {0}, packet[ROOM], plain[ROOM];
    sealane_quic_keys k;
    const size_t key_bytes = from_hex(key, hex[0]), header = from_hex(bytes, header_hex);
    from_hex(iv, hex[1]), from_hex(hp, hex[2]), from_hex(bytes + header, payload_hex);
    const size_t packet_bytes = from_hex(packet, packet_hex), pn_offset = header - (bytes[0] & 3) - 1;
    memcpy(plain, bytes, sizeof plain);
    check(sealane_quic_keys_init(&k, *alg == 'c' ? SEALANE_CHACHA20_POLY1305 : SEALANE_AES_128_GCM, key, iv, hp,
                                 key_bytes) == 0,
          "keys", key_bytes);
    sealane_quic_packet p = {.keys = &k, .bytes = bytes, .packet_bytes = packet_bytes, .pn_offset = pn_offset};
    p.number = number;
    check(packet_bytes == header + payload_bytes + 16, "length", packet_bytes);
    check(sealane_quic_protect_batch(&p, 1) == 1, "status", number);
    packet[0] ^= planted("packet");
    check(memcmp(bytes, packet, packet_bytes) == 0, "packet", packet_bytes);
    packet[0] ^= planted("packet");
    mask_of(&k, plain, packet, pn_offset);
    p.number = number - number % 2;
    check(sealane_quic_unprotect_batch(&p, 1) == 1 && p.number == number, "number", (size_t)p.number);
    check(p.payload == bytes + header && p.payload_bytes == payload_bytes &&
              memcmp(bytes, plain, header + payload_bytes) == 0,
          "payload", payload_bytes);
}

/* The mask of a header: the difference between the protected and the plain header (RFC 9001, section 5.4.1). */
static void mask_of(const sealane_quic_keys *k, const uint8_t *plain, const uint8_t *packet, size_t pn_offset)
{
    uint8_t mask[5];
    const size_t number_bytes = (size_t)(plain[0] & 3) + 1;
    int ok = sealane_quic_mask(k, mask, packet + pn_offset + 4) == 0;
    mask[2] ^= planted("mask");
    ok &= (packet[0] ^ plain[0]) == (mask[0] & (plain[0] & 0x80 ? 0x0f : 0x1f));
    for (size_t i = 0; i < number_bytes; i++)
        ok &= (packet[pn_offset + i] ^ plain[pn_offset + i]) == mask[1 + i];
    check(ok, "mask", number_bytes);
}

static void retry(uint32_t version, const char *dcid_hex, const char *packet_hex)
{
    uint8_t dcid[32], packet[ROOM], tag[16];
    const size_t dcid_bytes = from_hex(dcid, dcid_hex), n = from_hex(packet, packet_hex) - 16;
    packet[n] ^= planted("retry");
    check(sealane_quic_retry_tag(tag, version, dcid, dcid_bytes, packet, n) == 0 && memcmp(tag, packet + n, 16) == 0,
          "retry", version);
    check(sealane_quic_retry_tag(tag, 2, dcid, dcid_bytes, packet, n) == SEALANE_INVALID_KEY, "version", 2);
}

static size_t samples(const char *path)
{
    static char line[8000], f[9][4000];
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    for (; file != NULL && fgets(line, sizeof line, file); lines++) {
        if (sscanf(line, "packet %3999s %3999s %3999s %3999s %3999s %3999s %3999s %3999s %3999s", f[0], f[1], f[2],
                   f[3], f[4], f[5], f[6], f[7], f[8]) == 9)
            sample(f[0], (char *const[]){f[1], f[2], f[3]}, strtoull(f[4], NULL, 10), f[5], f[6],
                   (size_t)strtoul(f[7], NULL, 10), f[8]);
        else if (sscanf(line, "retry %3999s %3999s %3999s", f[0], f[1], f[2]) == 3)
            retry((uint32_t)strtoul(f[0], NULL, 10), f[1], f[2]);
        else
            check(0, "a line that is none", lines);
    }
    if (file != NULL)
        fclose(file);
    return lines;
}

/* ---- Batches ---- */

static sealane_quic_keys keys[7], later[7], wiped;
static uint8_t memory[MOST][ROOM], alone[MOST][ROOM], plain_text[MOST][ROOM], as_it_came[MOST][ROOM];

static void make_keys(void)
{
    static const sealane_alg algs[] = {SEALANE_AES_128_GCM, SEALANE_AES_256_GCM, SEALANE_CHACHA20_POLY1305};
    for (size_t i = 0; i < 7; i++) {
        uint8_t key[32], iv[12], hp[32];
        randomize(key, 32), randomize(iv, 12), randomize(hp, 32);
        int bad = sealane_quic_keys_init(&keys[i], algs[i % 3], key, iv, hp, i % 3 ? 32 : 16);
        randomize(key, 32);
        bad |= sealane_quic_keys_init(&later[i], algs[i % 3], key, iv, hp, i % 3 ? 32 : 16);
        check(!bad, "keys", i);
    }
}

/* alike: 0, or the size of every packet. All keys then have one algorithm, and all headers one length. */
static sealane_quic_packet make_packet(uint8_t *bytes, size_t *key, size_t alike)
{
    const int is_long = (int)below(2);
    sealane_quic_packet p = {.bytes = bytes, .pn_offset = alike ? 9 : 1 + below(40)};
    randomize(bytes, ROOM);
    *key = alike ? alike % 3 + 3 * below(2) : below(7);
    bytes[0] = (uint8_t)((is_long ? 0xc0 : 0x40) | below(4) | (is_long ? 0x30 & bytes[0] : 0x24 & bytes[0]));
    p.keys = !is_long && (bytes[0] & 4) ? &later[*key] : &keys[*key];
    p.packet_bytes = alike ? alike : p.pn_offset + 20 + below(1200);
    p.number = below(1 << (8 * ((bytes[0] & 3) + 1) - 2 < 30 ? 8 * ((bytes[0] & 3) + 1) - 2 : 30));
    return p;
}

static void batch(size_t n, size_t alike)
{
    static sealane_quic_packet packets[MOST], one[MOST], single[MOST];
    static size_t key[MOST];
    static uint64_t number[MOST];
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        packets[i] = make_packet(memory[i], &key[i], alike);
        if (below(15) == 0)
            packets[i].packet_bytes = packets[i].pn_offset + below(20);
        if (below(30) == 0)
            packets[i].keys = &wiped;
        memcpy(alone[i], memory[i], ROOM), memcpy(plain_text[i], memory[i], ROOM);
        one[i] = packets[i], one[i].bytes = alone[i];
        good += sealane_quic_protect_batch(&one[i], 1);
    }
    check(sealane_quic_protect_batch(packets, n) == good, "how many are good", n);
    for (size_t i = 0; i < n; i++) {
        memory[i][5] ^= (planted("batch") && n == 70 && i == 69) || (planted("alike") && alike && n == 70 && i == 69);
        check(packets[i].status == one[i].status && memcmp(memory[i], alone[i], ROOM) == 0, "a packet of a batch", i);
    }
    good = 0;
    for (size_t i = 0; i < n; i++) {
        const int sound = packets[i].status == SEALANE_OK && below(6) != 0;
        if (packets[i].status == SEALANE_OK && !sound)
            memory[i][below(packets[i].packet_bytes)] ^= (uint8_t)(1 << below(8));
        one[i].status = sound ? SEALANE_OK : packets[i].status ? packets[i].status : SEALANE_NOT_AUTHENTIC;
        if (packets[i].keys != &wiped)
            packets[i].keys = &keys[key[i]], packets[i].other = &later[key[i]];
        good += sound;
        memcpy(alone[i], memory[i], ROOM), memcpy(as_it_came[i], memory[i], ROOM), number[i] = packets[i].number;
        single[i] = packets[i], single[i].bytes = alone[i];
        check(sealane_quic_unprotect_batch(&single[i], 1) == (size_t)sound, "opened by itself", i);
        alone[i][5] ^= planted("single") && i == 3;
    }
    check(sealane_quic_unprotect_batch(packets, n) == good, "how many are opened", n);
    for (size_t i = 0; i < n; i++) {
        check(packets[i].status == one[i].status, "status", i);
        check(single[i].status == packets[i].status && single[i].number == packets[i].number &&
                  single[i].payload_bytes == packets[i].payload_bytes &&
                  (single[i].payload == NULL) == (packets[i].payload == NULL) &&
                  (single[i].payload == NULL ||
                   single[i].payload - single[i].bytes == packets[i].payload - packets[i].bytes) &&
                  memcmp(memory[i], alone[i], ROOM) == 0,
              "by itself it is another", i);
        if (packets[i].status != SEALANE_OK) {
            check(memcmp(memory[i], as_it_came[i], ROOM) == 0 && packets[i].number == number[i],
                  "a packet that was refused is not as it came", i);
            check(packets[i].payload == NULL && packets[i].payload_bytes == 0, "a payload of a refused packet", i);
            continue;
        }
        check(packets[i].number == one[i].number &&
                  memcmp(packets[i].payload, plain_text[i] + (packets[i].payload - packets[i].bytes),
                         packets[i].payload_bytes) == 0,
              "payload", i);
    }
}

/* The caller's mistakes, reserved bits, and packets of every length. */
static void mistakes(void)
{
    static uint8_t bytes[100], expected[100];
    static const uint8_t zeroes[100];
    sealane_quic_keys k;
    check(sealane_quic_keys_init(&k, SEALANE_AES_192_GCM, zeroes, zeroes, zeroes, 24) == SEALANE_INVALID_KEY, "192", 0);
    check(sealane_quic_keys_init(&k, SEALANE_AES_128_GCM, zeroes, zeroes, NULL, 16) == SEALANE_NULL, "NULL", 0);
    check(sealane_quic_keys_init(&k, SEALANE_AES_128_GCM, zeroes, zeroes, zeroes, 32) == SEALANE_INVALID_KEY, "32", 0);
    check(sealane_quic_protect_batch(NULL, 3) == 0 && sealane_quic_unprotect_batch(NULL, 3) == 0, "no packets", 0);
    for (int sealing = 0; sealing < 2; sealing++)
        for (size_t at = 0; at < 3; at++) {
            sealane_quic_packet p = {.keys = &keys[0], .bytes = bytes, .packet_bytes = (size_t)-1 - 7 * at};
            p.pn_offset = at;
            check((sealing ? sealane_quic_protect_batch : sealane_quic_unprotect_batch)(&p, 1) == 0 &&
                      p.status == SEALANE_TOO_LONG && memcmp(bytes, zeroes, sizeof bytes) == 0,
                  "a length below zero", at);
        }
    for (size_t n = 0; n <= 60; n++)
        for (size_t at = 0; at <= 61; at++) {
            sealane_quic_packet p = {.keys = &keys[0], .bytes = bytes, .packet_bytes = n, .pn_offset = at};
            memset(bytes, 0x41, sizeof bytes);
            const int fits = at >= 1 && at + 20 <= n;
            check(sealane_quic_unprotect_batch(&p, 1) == 0, "opened", n);
            check(p.status == (fits ? SEALANE_NOT_AUTHENTIC : SEALANE_INVALID_LENGTH), "unprotect", n);
            memset(bytes, 0x41, sizeof bytes);
            check(sealane_quic_protect_batch(&p, 1) == (size_t)fits, "protect", n);
            memset(expected, 0x41, sizeof expected);
            check(fits || memcmp(bytes, expected, sizeof bytes) == 0, "a mistake that was written to", n);
            check(bytes[n] == 0x41, "written past the end", n);
        }
    for (int i = 0; i < 4; i++) {
        static const uint8_t first[] = {0x48, 0x50, 0xc4, 0xc8};
        sealane_quic_packet p = {.keys = &keys[i], .bytes = bytes, .packet_bytes = 60, .pn_offset = 1};
        bytes[0] = first[i];
        check(sealane_quic_protect_batch(&p, 1) == 1 && sealane_quic_unprotect_batch(&p, 1) == 0 &&
                  p.status == SEALANE_RESERVED_BITS && p.payload != NULL,
              "reserved bits", (size_t)i);
    }
    sealane_quic_packet p = {.keys = &keys[0], .bytes = bytes, .packet_bytes = 60, .pn_offset = 1};
    p.number = (uint64_t)1 << 62;
    check(sealane_quic_protect_batch(&p, 1) == 0 && p.status == SEALANE_TOO_LONG, "number", 0);
    p.number = 0, p.bytes = NULL;
    check(sealane_quic_protect_batch(&p, 1) == 0 && p.status == SEALANE_NULL, "NULL", 1);
    sealane_quic_keys none = keys[0];
    uint8_t mask[6] = {1, 1, 1, 1, 1, 1};
    check(sealane_quic_mask(&keys[0], NULL, bytes) == SEALANE_NULL, "NULL", 2);
    check(sealane_quic_mask(&keys[0], mask, NULL) == SEALANE_NULL, "NULL", 3);
    check(sealane_quic_mask(NULL, mask, bytes) == SEALANE_INVALID_KEY, "no keys", 1);
    sealane_quic_keys_wipe(&none);
    check(sealane_quic_mask(&none, mask, bytes) == SEALANE_INVALID_KEY, "no keys", 2);
    check(memcmp(mask, (const uint8_t[6]){1, 1, 1, 1, 1, 1}, 6) == 0, "a mask of a mistake", 0);
    check(sealane_quic_mask(&keys[0], mask, bytes) == 0 && mask[5] == 1, "written past the mask", 0);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--plant=", 8) == 0)
            plant = argv[i] + 8;
        else
            path = argv[i];
    const size_t lines = path ? samples(path) : 0;
    check(path == NULL || lines == 8, "samples", lines);
    make_keys();
    for (size_t n = 0; n < MOST; n += n < 70 ? 1 : 13)
        batch(n, 0);
    /* As from a sender: the remainder modulo 3 selects AES-128, AES-256 or ChaCha20-Poly1305. */
    static const size_t sizes[] = {45, 300, 301, 302, 595, 1200, 1201, 1202, 1500};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t n = 2; n < MOST; n += n < 18 ? 1 : 52)
            batch(n, sizes[i]);
    mistakes();
    printf("quic: %zu samples, %u failed%s\n", lines, failed, path ? "" : "; samples not run");
    return failed != 0;
}
