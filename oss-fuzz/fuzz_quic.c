/* QUIC packets: arbitrary bytes are refused and left unchanged, or open. Protected packets can be unprotected. */
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const sealane_alg algs[] = {SEALANE_AES_128_GCM, SEALANE_AES_256_GCM, SEALANE_CHACHA20_POLY1305};
    static const size_t key_bytes[] = {16, 32, 32};
    enum { PACKETS = 4, BYTES = 1500 };
    static uint8_t bytes[PACKETS][BYTES], before[PACKETS][BYTES];
    sealane_quic_packet packets[PACKETS];
    sealane_quic_keys keys;
    uint8_t key[32], iv[12], hp[32];
    input from = {data, size};

    const size_t c = number(&from, 3), n = 1 + number(&from, PACKETS);
    take(&from, key, sizeof key);
    take(&from, iv, sizeof iv);
    take(&from, hp, sizeof hp);
    must(sealane_quic_keys_init(&keys, algs[c], key, iv, hp, key_bytes[c]) == 0, "keys are made");

    for (size_t i = 0; i < n; i++) {
        const size_t packet_bytes = number(&from, BYTES + 1), pn_offset = number(&from, 60);
        const uint64_t expected = number(&from, 65536);
        take(&from, bytes[i], packet_bytes);
        packets[i] = (sealane_quic_packet){.keys = &keys,
                                           .bytes = bytes[i],
                                           .packet_bytes = packet_bytes,
                                           .pn_offset = pn_offset,
                                           .number = expected,
                                           .phase = (int)number(&from, 2)};
        memcpy(before[i], bytes[i], packet_bytes);
    }
    sealane_quic_packet asked[PACKETS];
    memcpy(asked, packets, sizeof packets);
    size_t good = sealane_quic_unprotect_batch(packets, n), counted = 0;
    for (size_t i = 0; i < n; i++) {
        counted += packets[i].status == SEALANE_OK;
        if (packets[i].status != SEALANE_OK && packets[i].status != SEALANE_RESERVED_BITS)
            must(!memcmp(bytes[i], before[i], packets[i].packet_bytes) && packets[i].number == asked[i].number,
                 "a refused packet is as it came");
    }
    must(good == counted, "the count of packets that open");

    /* Protects the same bytes as headers and payloads. */
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes[i], before[i], asked[i].packet_bytes);
        if (asked[i].packet_bytes)
            bytes[i][0] &= bytes[i][0] & 0x80 ? 0xf3 : 0xe3; /* reserved bits, and the key phase of a short header */
        asked[i].phase = 0;
    }
    memcpy(packets, asked, sizeof packets);
    memcpy(before, bytes, sizeof bytes);
    good = sealane_quic_protect_batch(packets, n);
    for (size_t i = 0; i < n; i++) {
        if (packets[i].status != SEALANE_OK) {
            must(!memcmp(bytes[i], before[i], packets[i].packet_bytes), "a packet that is not protected is left alone");
            continue;
        }
        const size_t number_bytes = 1 + (before[i][0] & 3u), header = packets[i].pn_offset + number_bytes;
        sealane_quic_packet back = asked[i];
        must(sealane_quic_unprotect_batch(&back, 1) == 1 && back.number == asked[i].number,
             "what was protected is unprotected");
        must(!memcmp(bytes[i] + header, before[i] + header, packets[i].packet_bytes - header - SEALANE_TAG_BYTES),
             "the payload is what it was");
    }
    sealane_quic_keys_wipe(&keys);
    return 0;
}
