/* A part of check.c: random numbers (splitmix64), and memory between two inaccessible pages. */

static uint64_t seed;

static uint64_t random64(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(random64() % n);
}

static void randomize(void *p, size_t bytes)
{
    uint8_t *b = p;
    for (; bytes >= 8; bytes -= 8, b += 8)
        store64(b, random64());
    for (; bytes > 0; bytes--)
        *b++ = (uint8_t)random64();
}

/* ---- Memory between two inaccessible pages ---- */

typedef struct {
    uint8_t *base;
    size_t room;
} arena;

static arena arena_new(size_t room)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    room = (room + page - 1) / page * page;
    uint8_t *p = mmap(NULL, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 || mprotect(p + page + room, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(2);
    }
    return (arena){p + page, room};
}

/* Returns bytes that end at the upper guard page, or start skew bytes after the lower one. */
static uint8_t *arena_place(const arena *a, size_t bytes, int at_end, size_t skew)
{
    return at_end ? a->base + a->room - bytes : a->base + skew;
}

enum { LONGEST = 1 << 17, LONGEST_AD = 1 << 13, CANARY = 96 };

static arena arena_out, arena_in, arena_ad, arena_key, arena_nonce, arena_tag, arena_state, arena_args, arena_scratch,
    arena_batch_scratch;

static void arenas_new(void)
{
    arena_out = arena_new(LONGEST), arena_in = arena_new(LONGEST), arena_ad = arena_new(LONGEST_AD);
    arena_key = arena_new(1), arena_nonce = arena_new(1), arena_tag = arena_new(1), arena_state = arena_new(1);
    arena_args = arena_new(1), arena_scratch = arena_new(SEALANE_SCRATCH_BYTES);
    arena_batch_scratch = arena_new(SEALANE_BATCH_SCRATCH_BYTES);
}
