/* A part of check.c: compares the portable primitives with their specifications. */

/* RFC 8439, section 2.3.2; draft-irtf-cfrg-xchacha-03, section 2.2.1. */
static int check_primitives(void)
{
    static const uint8_t block[16] = {0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15,
                                      0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4};
    static const uint8_t subkey[32] = {0x82, 0x41, 0x3b, 0x42, 0x27, 0xb2, 0x7b, 0xfe, 0xd3, 0x0e, 0x42,
                                       0x50, 0x8a, 0x87, 0x7d, 0x73, 0xa0, 0xf9, 0xe4, 0xd5, 0x8a, 0x74,
                                       0xa8, 0x53, 0xc1, 0x2e, 0xc4, 0x13, 0x26, 0xd3, 0xec, 0xdc};
    uint8_t k[32], out[64];
    for (int i = 0; i < 32; i++)
        k[i] = (uint8_t)i;
    sealane_chacha20_block(out, k, (const uint8_t[12]){0, 0, 0, 9, 0, 0, 0, 0x4a}, 1);
    if (memcmp(out, block, 16) != 0)
        return fail("wrong ChaCha20 block");
    sealane_hchacha20(out, k, (const uint8_t[16]){0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27});
    return memcmp(out, subkey, 32) == 0 || fail("wrong HChaCha20 subkey");
}

/* FIPS 197, appendix C, in every lane, and lanes with different blocks. */
static int check_aes(void)
{
    static const uint8_t want[3][16] = {
        {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a},
        {0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71, 0x91},
        {0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89}};
    uint8_t k[32], schedule[AES_SCHEDULE_BYTES], in[AES_BATCH], out[AES_BATCH];
    aes_keys keys;
    for (int i = 0; i < 32; i++)
        k[i] = (uint8_t)i;
    for (int size = 0; size < 3; size++)
        for (int lane = 0; lane < AES_LANES; lane++) {
            randomize(in, sizeof in);
            for (int i = 0; i < 16; i++)
                in[16 * lane + i] = (uint8_t)(0x11 * i);
            sealane_aes_expand(schedule, k, aes_rounds(16 + 8 * (size_t)size));
            sealane_aes_spread(&keys, schedule, aes_rounds(16 + 8 * (size_t)size));
            sealane_aes_encrypt(&keys, out, in);
            if (memcmp(out + 16 * lane, want[size], 16) != 0)
                return fail("wrong AES block: key of %d bits, lane %d", 128 + 64 * size, lane);
        }
    return 1;
}

/* The product of two blocks from its definition (NIST SP 800-38D, algorithm 1). */
static void gf_multiply(uint64_t z[2], const uint64_t x[2], const uint64_t y[2])
{
    uint64_t v1 = y[1], v0 = y[0], z1 = 0, z0 = 0;
    for (int i = 0; i < 128; i++) {
        const uint64_t bit = 0 - (x[1 - i / 64] >> (63 - i % 64) & 1), low = 0 - (v0 & 1);
        z1 ^= v1 & bit, z0 ^= v0 & bit;
        v0 = v0 >> 1 | v1 << 63;
        v1 = v1 >> 1 ^ (low & (uint64_t)0xe1 << 56);
    }
    z[1] = z1, z[0] = z0;
}

/* Compares GHASH with the definition, also for operands of all ones, which fill the columns of the integer products. */
static int check_ghash(void)
{
    for (int i = 0; i < 3000; i++) {
        uint8_t h[16], block[16];
        uint64_t want[2];
        ghash_key k;
        randomize(h, 16), randomize(block, 16);
        if (i % 4 == 1 || i % 4 == 3)
            memset(h, 0xff, 16 - below(3));
        if (i % 4 >= 2)
            memset(block, 0xff, 16 - below(3));
        if (i % 5 == 0) /* every fourth bit: a full lane */
            for (int j = 0; j < 16; j++)
                h[j] = block[j] = (uint8_t)(0x11 << i / 5 % 4);
        const uint64_t x[2] = {load64_be(block + 8), load64_be(block)}, y[2] = {load64_be(h + 8), load64_be(h)};
        ghash_sum s = {{0}};
        gf_multiply(want, x, y);
        sealane_ghash_key(&k, h);
        sealane_ghash_blocks(&s, &k, block, 1);
        if (s.y[0] != want[0] || s.y[1] != want[1])
            return fail("wrong product");
    }
    return 1;
}
