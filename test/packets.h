/* A part of check.c: groups of packets, of both ciphers and of ChaCha20-Poly1305. */

static int group_lengths(void)
{
    for (size_t bytes = 0; bytes <= 1100; bytes++)
        for (int way = 0; way < 8; way++) {
            if (left_out())
                continue;
            plain_job(bytes);
            now.open = way & 1, now.in_place = way >> 1 & 1, now.at_end = way >> 2;
            if (!run_now())
                return 0;
        }
    return 1;
}

static int group_long(void)
{
    for (int i = 0; i < 250; i++) {
        if (left_out())
            continue;
        plain_job(1101 + below(i < 200 ? 8000 : LONGEST - 1101 - 64));
        if (!run_now())
            return 0;
    }
    return 1;
}

static int group_alignment(void)
{
    static const size_t sizes[] = {1, 16, 63, 64, 100, 128, 255, 256, 511, 577, 1024, 1420};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t out = 0; out < 64; out++)
            for (int way = 0; way < 4; way++) {
                if (left_out())
                    continue;
                plain_job(sizes[i]);
                now.open = way & 1, now.in_place = way >> 1, now.at_end = 0;
                now.skew_out = out, now.skew_in = below(64), now.skew_ad = below(64);
                if (!run_now())
                    return 0;
            }
    return 1;
}

static int group_ad(void)
{
    static const size_t sizes[] = {0, 1, 64, 100, 300, 600};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t ad_bytes = 0; ad_bytes <= 160; ad_bytes++)
            for (int way = 0; way < 4; way++) {
                if (left_out())
                    continue;
                plain_job(sizes[i]);
                now.ad_bytes = ad_bytes <= 128 ? ad_bytes : 129 + below(LONGEST_AD - 129);
                now.open = way & 1, now.at_end = way >> 1;
                if (!run_now())
                    return 0;
            }
    return 1;
}

static int group_parts(void)
{
    for (int i = 0; i < 4000; i++) {
        if (left_out())
            continue;
        plain_job(below(i < 3500 ? 2400 : 20000));
        cut(2 + (unsigned)below(MAX_PARTS - 1));
        now.by_portable = below(2) ? (unsigned)random64() : 0;
        if (!run_now())
            return 0;
    }
    return 1;
}

/* Packets whose last block has the highest counter, 2^32 - 1 (RFC 8439, section 2.8). */
static int group_counter(void)
{
    sealane_state start;
    for (uint64_t blocks = 1; blocks <= 70; blocks++)
        for (int way = 0; way < 8; way++) {
            plain_job(64 * (size_t)blocks - (way & 1 ? below(64) : 0));
            randomize(&start, sizeof start);
            start.h[2] &= 7, start.r[0] &= 0x0ffffffc0fffffff, start.r[1] &= 0x0ffffffc0ffffffc;
            start.counter = ((uint64_t)1 << 32) - blocks;
            now.start = &start;
            now.ad_bytes = 0;
            if (way >> 1 == 3)
                cut(2);
            if (!run_now())
                return 0;
        }
    return 1;
}

/* Accumulators and keys near p = 2^130 - 5 and near their largest values, with texts of all ones and all zeroes. With
 * r = 1 the final accumulator is the sum of all blocks, which is set to each of p - 8 to p + 8. */
static int group_edge(void)
{
    static const uint64_t ones = ~(uint64_t)0;
    static const uint64_t r_edges[][2] = {{0, 0},
                                          {1, 0},
                                          {4, 0},
                                          {0x0ffffffc0fffffff, 0x0ffffffc0ffffffc},
                                          {0, 0x0ffffffc0ffffffc},
                                          {0x0ffffffc0fffffff, 0}};
    static const uint64_t h_edges[][3] = {
        {0, 0, 0},    {ones - 4, ones, 3}, {ones - 5, ones, 3}, {ones, ones, 3}, {ones, ones, 7}, {0, 0, 4},
        {ones, 0, 0}, {ones, ones, 0},     {ones - 4, ones, 7}, {0, ones, 3},    {5, 0, 4}};
    static const size_t sizes[] = {0, 1, 16, 17, 48, 64, 128, 192, 256, 300, 511, 512, 513, 1024, 1100, 2048, 3000};
    static sealane_state start;
    start = (sealane_state){.counter = 1}, now.start = &start;
    for (size_t r = 0; r < sizeof r_edges / sizeof *r_edges; r++)
        for (size_t h = 0; h < sizeof h_edges / sizeof *h_edges; h++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (int fill = 0; fill < 3; fill++) {
                    plain_job(sizes[i]);
                    memcpy(start.r, r_edges[r], 16), memcpy(start.h, h_edges[h], 24);
                    memset(start.s, fill == 2 ? 0 : 0xff, 16);
                    start.counter = 1 + below(1000);
                    now.start = &start, now.open = 1, now.ad_bytes = 0;
                    now.fill = fill == 0 ? 0 : fill == 1 ? 0xff : 0xfb;
                    if (!run_now())
                        return 0;
                }
    for (int d = -8; d <= 8; d++) {
        plain_job(0);
        start = (sealane_state){.h = {(uint64_t)(-5 + d), d < 5 ? ones : 0, d < 5 ? 3 : 4}, .r = {1, 0}, .counter = 1};
        start.h[2] -= 1; /* the zero length block adds 2^128 */
        randomize(start.s, 16);
        now.start = &start, now.ad_bytes = 0;
        if (!run_now())
            return 0;
    }
    return 1;
}
