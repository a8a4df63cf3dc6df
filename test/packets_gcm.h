/* A part of check.c: groups of packets for AES-GCM only. */

/* J0 has a counter that wraps around at 2^32, in every block and every part of the packet. */
static int group_gcm_counter(void)
{
    for (uint32_t blocks = 1; blocks <= 150; blocks++)
        for (int way = 0; way < 16; way++) {
            plain_job(way & 1 ? 16 * (size_t)blocks + below(64) : below(2500));
            now.with_j0 = 1, now.counter = 0 - blocks;
            if (way >> 1 == 7)
                cut(2 + (unsigned)below(3));
            if (!run_now())
                return 0;
        }
    return 1;
}

#if defined(SEALANE_SIV_KERNELS)

/* POLYVAL of a hash key, associated data and text; the text in one part, or in two with `cut` bytes in the first. */
static int run_polyval(size_t ad_bytes, size_t bytes, size_t cut)
{
    static sealane_gcm_key twin, before;
    const int at_end = (int)below(2);
    uint8_t h[16], got[16], want[16];
    sealane_gcm_state state;
    sealane_gcm_key *k = (void *)arena_place(&arena_key, sizeof *k, 1, 0);
    const size_t skew = at_end || bytes > LONGEST - 64 || ad_bytes > LONGEST_AD - 64 ? 0 : below(64);
    uint8_t *in = arena_place(&arena_in, bytes, at_end, skew);
    uint8_t *of = arena_place(&arena_ad, ad_bytes, at_end, skew * 3 % 64);
    now.bytes = bytes, now.ad_bytes = ad_bytes, now.at_end = at_end, now.skew_in = skew;
    randomize(h, 16), randomize(text, bytes), randomize(ad, ad_bytes), randomize(k, sizeof *k);
    if (bytes)
        memcpy(in, text, bytes);
    if (ad_bytes)
        memcpy(of, ad, ad_bytes);
    const uint64_t set_up = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE | SEALANE_FLAG_POLYVAL;
    sealane_packet_args a = {.key = slot(&twin), .nonce = slot(h), .flags = set_up};
    a.bytes = bytes < ad_bytes ? ad_bytes : bytes;
    sealane_aesgcm_portable(&a, NULL, NULL);
    a.key = slot(k);
    memcpy(&before, k, sizeof before);
    if (!call_part(&a, &now.level))
        return 0;
    if (memcmp(&before, k, offsetof(sealane_gcm_key, table)) != 0)
        return fail("more than the table was written");
    memcpy(&before, k, sizeof before);
    sealane_packet_args whole = {.ad = slot(ad), .ad_bytes = ad_bytes, .key = slot(&twin), .tag = slot(want)};
    whole.in = slot(text), whole.bytes = whole.total = bytes;
    whole.flags = SEALANE_FLAG_POLYVAL | SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST;
    sealane_aesgcm_portable(&whole, NULL, NULL);
    a = whole;
    a.in = slot(bytes ? in : NULL), a.ad = slot(ad_bytes ? of : NULL), a.key = slot(k), a.tag = slot(got);
    if (cut) {
        memset(&state, 0xa5, sizeof state);
        a.bytes = cut, a.state = slot(&state), a.flags &= ~(uint64_t)SEALANE_FLAG_LAST;
        if (!call_part(&a, &now.level))
            return 0;
        for (size_t i = sizeof state.y; i < sizeof state; i++)
            if (((const uint8_t *)&state)[i] != 0xa5)
                return fail("more of the state than Y was written");
        a.in += cut, a.bytes = bytes - cut, a.flags = SEALANE_FLAG_POLYVAL | SEALANE_FLAG_LAST;
    }
    if (!call_part(&a, &now.level))
        return 0;
    if (memcmp(&before, k, sizeof before) != 0)
        return fail("the key was changed");
    return memcmp(got, want, 16) == 0 || fail("wrong POLYVAL; first part %zu", cut);
}

static int group_gcm_polyval(void)
{
    plain_job(0);
    for (size_t bytes = 0; bytes <= 1300; bytes++)
        if (!run_polyval(bytes % 7 ? bytes * 5 % 50 : below(LONGEST_AD), bytes, bytes / 3 & ~(size_t)63))
            return 0;
    for (size_t i = 0; i < 150; i++) {
        const size_t bytes = below(LONGEST), cut = below(bytes + 1) & ~(size_t)63;
        if (!run_polyval(i, bytes, i % 3 ? 0 : cut) || !run_polyval(64 + i, i, 0))
            return 0;
    }
    return 1;
}

#endif

/* Texts of all zeroes and all ones, sealed and opened, whole and in parts. */
static int group_gcm_edge(void)
{
    static const int fills[] = {0, 0xff, 0x80, 0x01};
    for (size_t bytes = 0; bytes <= 2100; bytes += 1 + below(16))
        for (int way = 0; way < 8; way++) {
            plain_job(bytes);
            now.fill = fills[way >> 1], now.open = way & 1;
            if (below(3) == 0)
                cut(2);
            if (!run_now())
                return 0;
        }
    return 1;
}
