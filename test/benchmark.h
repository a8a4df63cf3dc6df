/* A part of check.c: check --bench. */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The minimum of many short runs, in nanoseconds per packet. Opens the same packet repeatedly. */
static double time_packets(const sealane_key *keys, unsigned key_count, size_t bytes, size_t ad_bytes, int open)
{
    static uint8_t in[1 << 16], out[1 << 16], tags[64][16];
    uint8_t number[12] = {0};
    uint32_t counter = 0;
    const unsigned packets = (unsigned)(20000 / (bytes + 100)) + 2;
    double best = 1e9;
    randomize(in, bytes);
    int bad = open && sealane_seal(keys, in, tags[0], number, 12, ad, ad_bytes, in, bytes) != 0;
    for (int repeat = 0; repeat < 120; repeat++) {
        const double start = seconds();
        for (unsigned i = 0; i < packets; i++) {
            if (open) {
                bad |= sealane_open(keys, out, tags[0], number, 12, ad, ad_bytes, in, bytes);
            } else {
                store32(number + 4, ++counter);
                bad |= sealane_seal(&keys[i % key_count], out, tags[i % 64], number, 12, ad, ad_bytes, in, bytes);
            }
        }
        const double spent = (seconds() - start) / packets;
        best = spent < best ? spent : best;
    }
    return bad ? -1 : best * 1e9;
}

typedef struct {
    const char *name;
    sealane_alg alg;
    size_t key_bytes;
} benched;

static double time_key_setup(const benched *b, int level)
{
    sealane_key k;
    double best = 1e9;
    int failed = 0;
    for (int repeat = 0; repeat < 200; repeat++) {
        const double start = seconds();
        for (int i = 0; i < 1000; i++) {
            failed |= level < 0 ? sealane_key_init(&k, b->alg, key, b->key_bytes)
                                : sealane_key_init_at(&k, b->alg, key, b->key_bytes, level);
            keep_stores(&k);
        }
        const double spent = (seconds() - start) / 1000;
        best = spent < best ? spent : best;
    }
    return failed ? -1 : best * 1e9;
}

static int bench_level(const benched *b, unsigned level, const size_t *sizes, size_t count)
{
    static sealane_key keys[64];
    for (int i = 0; i < 64; i++) {
        randomize(key, 32);
        if (sealane_key_init_at(&keys[i], b->alg, key, b->key_bytes, (int)level) != 0)
            return 1;
    }
    printf("\n%-18s %6s  %18s  %18s  %18s  %18s\n", b->name, "bytes", "seal", "seal, ad 13", "seal, 64 keys", "open");
    for (size_t i = 0; i < count; i++) {
        const size_t n = sizes[i];
        const double t[] = {time_packets(keys, 1, n, 0, 0), time_packets(keys, 1, n, 13, 0),
                            time_packets(keys, 64, n, 0, 0), time_packets(keys, 1, n, 0, 1)};
        printf("%-18s %6zu", sealane_impl_name(&keys[0]), n);
        for (int j = 0; j < 4; j++)
            printf("  %9.1f (%6.0f)", t[j], (double)n * 1e3 / t[j]);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

static int bench(const char *only, int is_short)
{
    static const benched all[] = {
        {"ChaCha20-Poly1305", SEALANE_CHACHA20_POLY1305, 32},
        {"AES-128-GCM", SEALANE_AES_128_GCM, 16},
        {"AES-256-GCM", SEALANE_AES_256_GCM, 32},
    };
    static const size_t few[] = {64, 1420, 16384}, many[] = {0, 16, 64, 256, 576, 1024, 1420, 4096, 8192, 16384};
    const size_t *sizes = is_short ? few : many, count = is_short ? 3 : sizeof many / sizeof *many;
    const uint32_t features = sealane_cpu_features();
    printf("nanoseconds per packet (megabytes per second); fastest of many short repeats\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        printf("key set-up, %s: %.1f ns\n", all[i].name, time_key_setup(&all[i], -1));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const sealane_table *t = table_of(all[i].alg);
        for (unsigned l = 0; l < t->count; l++) {
            if ((t->levels[l].needs & ~features) || (only && strcmp(only, t->levels[l].name) != 0))
                continue;
            if (bench_level(&all[i], l, sizes, count))
                return 1;
            if (is_short)
                break;
        }
    }
    return 0;
}
