/* A part of check.c: groups of packets of AES-GCM alone. */

/* J0 whose counter wraps around at 2^32 in every block of the packet, and in every part of it. */
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
