/* A part of check.c: one packet, run on a level and compared with the portable code. */

enum { MAX_PARTS = 8 };

typedef struct {
    sealane_level level; /* its kernel may be a corrupter */
    int primitive;       /* SEALANE_CHACHA20POLY1305, ... */
    int gcm;             /* AES-GCM, otherwise ChaCha20-Poly1305 */
    const char *group;
    size_t bytes, ad_bytes;
    int open, in_place, at_end;
    size_t skew_out, skew_in, skew_ad;
    const sealane_state *start; /* NULL: from the start of the packet; not for AES-GCM */
    int rounds;                 /* rounds of AES for AES-GCM */
    int with_j0;                /* AES-GCM: nonce is the whole J0 */
    uint32_t counter;           /* AES-GCM: in J0 */
    int fill;                   /* -1: random text; otherwise a byte */
    unsigned parts;
    size_t ends[MAX_PARTS]; /* where each part ends; the last at bytes */
    unsigned by_portable;   /* bit i: portable code runs part i */
    unsigned part;          /* current part */
} job;

static job now;
static char failure[256];

static int fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    return 0;
}

static int same_bytes(const uint8_t *got, const uint8_t *want, size_t bytes, const char *what)
{
    size_t i = 0;
    if (bytes == 0 || memcmp(got, want, bytes) == 0)
        return 1;
    while (got[i] == want[i])
        i++;
    return fail("%s byte %zu is wrong", what, i);
}

static void describe_mode(char *text, size_t room);

static void describe(char *text, size_t room)
{
    if (now.primitive >= SEALANE_TABLES) {
        describe_mode(text, room);
        return;
    }
    if (strncmp(now.group, "batch", 5) == 0) {
        snprintf(text, room, "%s/%s: %s, packet or lane %u", now.level.name, now.group, now.open ? "open" : "seal",
                 now.part);
        return;
    }
    char aes[40] = "";
    if (now.gcm)
        snprintf(aes, sizeof aes, ", %d rounds, %s %#x", now.rounds, now.with_j0 ? "J0" : "nonce", now.counter);
    snprintf(text, room, "%s/%s: %s %zu bytes, ad %zu, %s, %s, skew out %zu in %zu ad %zu, part %u of %u%s%s",
             now.level.name, now.group, now.open ? "open" : "seal", now.bytes, now.ad_bytes,
             now.in_place ? "in place" : "apart", now.at_end ? "before a guard page" : "after a guard page",
             now.skew_out, now.skew_in, now.skew_ad, now.part + 1, now.parts, now.start ? ", from a given state" : "",
             aes);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    char text[512];
    (void)context;
    describe(text, sizeof text);
    char line[640];
    int n = snprintf(line, sizeof line, "FAIL %s: signal %d at address %p\n", text, signal_number, info->si_addr);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(3);
    _exit(1);
}

/* All random data of one packet. */
static uint8_t key[32], nonce[16], ad[LONGEST_AD], text[LONGEST], expected[LONGEST], expected_tag[16];
static sealane_gcm_key portable_key; /* the key for portable code */

typedef union {
    sealane_state chacha;
    sealane_gcm_state gcm;
} state_of_either;

_Static_assert(sizeof(sealane_state) == sizeof(sealane_gcm_state), "one size for both");

static size_t key_size(void)
{
    return now.gcm ? sizeof(sealane_gcm_key) : 32;
}

static size_t nonce_size(void)
{
    return now.with_j0 ? 16 : 12;
}

static void portable(sealane_packet_args a, state_of_either *state, uint64_t flags)
{
    a.state = slot(state), a.flags = flags;
    if (now.gcm) {
        a.key = slot(&portable_key);
        sealane_aesgcm_portable(&a, NULL, NULL);
    } else {
        sealane_chacha20poly1305_portable(&a, NULL, NULL);
    }
}

static uint64_t first_flags(void)
{
    return SEALANE_FLAG_FIRST | (now.gcm && !now.with_j0 ? SEALANE_FLAG_NONCE : 0);
}

static void expect(void)
{
    state_of_either state;
    const sealane_packet_args a = {
        .out = slot(expected),
        .in = slot(text),
        .bytes = now.bytes,
        .ad = slot(ad),
        .ad_bytes = now.ad_bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .tag = slot(expected_tag),
        .total = now.bytes,
    };
    if (now.start)
        state.chacha = *now.start;
    portable(a, &state, (now.start ? 0 : first_flags()) | SEALANE_FLAG_LAST | (now.open ? SEALANE_FLAG_OPEN : 0));
}

/* Computes h mod p from the definition. */
static void reduced(uint64_t out[3], const uint64_t h[3])
{
    sealane_state s = {.h = {h[0], h[1], h[2]}};
    uint64_t a[3] = {s.h[0], s.h[1], s.h[2]};
    for (int i = 0; i < 8; i++) { /* h is below 2^131, which is below 3p, so these subtractions are more than enough */
        uint64_t b0 = a[0] + 5, c0 = b0 < 5;
        uint64_t b1 = a[1] + c0, c1 = b1 < c0;
        uint64_t b2 = a[2] + c1;
        if (b2 < 4)
            break;
        a[0] = b0, a[1] = b1, a[2] = b2 - 4;
    }
    memcpy(out, a, sizeof a);
}

static int same_gcm_state(const sealane_gcm_state *got, const sealane_gcm_state *want)
{
    if (memcmp(got->y, want->y, sizeof got->y) != 0)
        return fail("wrong GHASH in the state");
    if (memcmp(got->counter, want->counter, sizeof got->counter) != 0)
        return fail("wrong counter block in the state");
    return memcmp(got->mask, want->mask, sizeof got->mask) == 0 || fail("wrong encrypted J0 in the state");
}

static int same_state(const state_of_either *either, const state_of_either *wanted)
{
    const sealane_state *got = &either->chacha, *want = &wanted->chacha;
    uint64_t g[3], w[3];
    if (now.gcm)
        return same_gcm_state(&either->gcm, &wanted->gcm);
    if (got->h[2] > 7)
        return fail("the accumulator left in the state is not below 2^131");
    reduced(g, got->h), reduced(w, want->h);
    if (memcmp(g, w, sizeof g) != 0)
        return fail("wrong accumulator in the state");
    if (memcmp(got->r, want->r, sizeof got->r) != 0 || memcmp(got->s, want->s, sizeof got->s) != 0)
        return fail("wrong Poly1305 key in the state");
    if ((uint32_t)got->counter != (uint32_t)want->counter) /* after the last possible block: 2^32, or 0 */
        return fail("counter %llu in the state instead of %llu", (unsigned long long)got->counter,
                    (unsigned long long)want->counter);
    return 1;
}

/* The end of the scratch memory of a level's kernel; a Go frame has no more. */
static size_t scratch_end(const sealane_level *level)
{
    for (size_t i = 0; scratch_ends[i].level != NULL; i++)
        if (strcmp(scratch_ends[i].primitive, sealane_tables[now.primitive].primitive) == 0 &&
            strcmp(scratch_ends[i].level, level->name) == 0)
            return scratch_ends[i].end;
    return SEALANE_SCRATCH_BYTES;
}

/* The offset of the first byte at p that differs from pattern, or `bytes`. */
static size_t first_other(const uint8_t *p, size_t bytes, uint8_t pattern)
{
    size_t i = 0;
    if (bytes == 0 || (*p == pattern && memcmp(p, p + 1, bytes - 1) == 0))
        return bytes;
    while (p[i] == pattern)
        i++;
    return i;
}

/* Each case reads all of the scratch memory, so this compares words. */
static int scratch_wiped(const arena *a, size_t end, uint8_t pattern)
{
    const uint64_t all = pattern * (uint64_t)0x0101010101010101;
    size_t i = SEALANE_SCRATCH_SAVE_BYTES;
    while (i < end) {
        uint64_t word = 0;
        memcpy(&word, a->base + i, end - i < sizeof word ? end - i : sizeof word);
        if (end - i >= sizeof word && (word == 0 || word == all))
            i += sizeof word;
        else if (a->base[i] == 0 || a->base[i] == pattern)
            i++;
        else
            return fail("scratch byte %zu was written and not wiped", i);
    }
    i += first_other(a->base + i, a->room - i, pattern);
    return i == a->room || fail("scratch byte %zu was written, past the end that the kernel states", i);
}

/* Calls a kernel, and checks its arguments and scratch memory. */
static int call_kernel(const void *a, sealane_kernel *kernel, const void *consts, const arena *scratch, size_t end)
{
    void *args = arena_place(&arena_args, SEALANE_ARGS_BYTES, 1, 0);
    const uint8_t pattern = (uint8_t)(random64() | 1);
    memcpy(args, a, SEALANE_ARGS_BYTES);
    memset(scratch->base, pattern, scratch->room);
    call_watched(kernel, args, scratch->base, consts);
    const char *violation = HAVE_ABI_CHECK ? abi_violation() : NULL;
    if (violation)
        return fail("%s", violation);
    if (memcmp(args, a, SEALANE_ARGS_BYTES) != 0)
        return fail("the arguments were changed");
    return kernel == sealane_chacha20poly1305_portable || scratch_wiped(scratch, end, pattern);
}

static int call_part(const void *a, const sealane_level *level)
{
    return call_kernel(a, level->kernel, level->consts, &arena_scratch, scratch_end(level));
}

static int run_parts(sealane_packet_args a, state_of_either *state, uint8_t *tag)
{
    static uint8_t unused_out[LONGEST], copy_in[LONGEST];
    static uint8_t unused_tag[16];
    const sealane_level by_portable = {.name = "portable",
                                       .kernel = now.gcm ? sealane_aesgcm_portable : sealane_chacha20poly1305_portable};
    const uint64_t out = a.out, in = a.in;
    size_t done = 0;
    for (now.part = 0; now.part < now.parts; done = now.ends[now.part++]) {
        const int first = now.part == 0 && !now.start, last = now.part + 1 == now.parts;
        a.out = out + done, a.in = in + done, a.bytes = now.ends[now.part] - done;
        const int public_counter = now.gcm && !now.with_j0 && now.part % 2;
        a.flags = (first            ? first_flags()
                   : public_counter ? SEALANE_FLAG_NONCE
                                    : 0) |
                  (last ? SEALANE_FLAG_LAST : 0) | (now.open ? SEALANE_FLAG_OPEN : 0);
        state_of_either want = *state;
        if (!last) {
            sealane_packet_args w = a;
            if (a.bytes)
                memcpy(copy_in, slot_bytes(a.in), a.bytes);
            w.out = slot(unused_out), w.in = slot(copy_in), w.tag = slot(unused_tag);
            portable(w, &want, a.flags);
        }
        const int is_portable = now.by_portable >> now.part & 1;
        sealane_packet_args call = a;
        if (is_portable && now.gcm)
            call.key = slot(&portable_key);
        if (!call_part(&call, is_portable ? &by_portable : &now.level))
            return 0;
        if (last ? memcmp(state, &want, sizeof want) != 0 : !same_state(state, &want))
            return last ? fail("the state was written with LAST") : 0;
        for (int i = 0; !last && i < 16; i++)
            if (tag[i] != 0xa5)
                return fail("the tag was written without LAST");
    }
    return 1;
}

static int only_output_written(const uint8_t *out)
{
    const uint8_t *low = out - arena_out.base < CANARY ? arena_out.base : out - CANARY;
    const uint8_t *end = out + now.bytes, *top = arena_out.base + arena_out.room;
    const size_t below_it = (size_t)(out - low), above = top - end < CANARY ? (size_t)(top - end) : CANARY;
    size_t i = first_other(low, below_it, 0xc3);
    if (i < below_it)
        return fail("byte %td relative to the output was written", low + i - out);
    i = first_other(end, above, 0xc3);
    return i == above || fail("byte %td relative to the output was written", end + i - out);
}

/* Makes the key at keys in the kernel's layout. */
static int set_up_key(uint8_t *keys)
{
    memcpy(keys, key, 32);
    if (!now.gcm)
        return 1;
    const size_t raw_bytes = (size_t)(4 * now.rounds - 24);
    const sealane_packet_args a = {.key = slot(&portable_key), .flags = SEALANE_FLAG_SETUP};
    sealane_packet_args b = a;
    sealane_gcm_key *k = (sealane_gcm_key *)(void *)keys;
    randomize(k, sizeof *k);
    k->rounds = portable_key.rounds = (uint64_t)now.rounds;
    memcpy(k->schedule, key, raw_bytes), memcpy(portable_key.schedule, key, raw_bytes);
    sealane_aesgcm_portable(&a, NULL, NULL);
    b.key = slot(k);
    if (!call_part(&b, &now.level))
        return 0;
    return k->rounds == (uint64_t)now.rounds || fail("the number of rounds was changed");
}

/* A key's table must be the same when it is made again in place from its hash key. */
static int takes_hash_key(uint8_t *keys)
{
    static sealane_gcm_key made;
    const sealane_level by_portable = {.name = "portable", .kernel = sealane_aesgcm_portable};
    sealane_gcm_key *k = (sealane_gcm_key *)(void *)keys;
    uint8_t *h = arena_place(&arena_nonce, 16, now.at_end, now.skew_ad), wrong[16] = {0};
    const sealane_packet_args a = {.key = slot(k), .nonce = slot(h), .flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE};
    memcpy(&made, k, sizeof made);
    memcpy(h, wrong, 16);
    if (!call_part(&a, &now.level))
        return 0;
    /* A part of it may be the same: 16 bytes hold only 2 of H in some. */
    if (memcmp(k->table, made.table, sizeof made.table) == 0)
        return fail("another hash key has the same table");
    sealane_gcm_hash_key(h, &by_portable, &portable_key);
    if (!call_part(&a, &now.level))
        return 0;
    return memcmp(k, &made, sizeof made) == 0 || fail("a hash key that is given has another table");
}

static int run_now(void)
{
    uint8_t *out = arena_place(&arena_out, now.bytes, now.at_end, now.skew_out);
    uint8_t *in = now.in_place ? out : arena_place(&arena_in, now.bytes, now.at_end, now.skew_in);
    uint8_t *ads = arena_place(&arena_ad, now.ad_bytes, now.at_end, now.skew_ad);
    uint8_t *keys = arena_place(&arena_key, key_size(), now.at_end, now.gcm ? now.skew_in & ~(size_t)7 : now.skew_in);
    uint8_t *nonces = arena_place(&arena_nonce, nonce_size(), now.at_end, now.skew_ad);
    uint8_t *tag = arena_place(&arena_tag, 16, now.at_end, now.skew_out);
    static uint8_t keys_before[sizeof(sealane_gcm_key)];
    state_of_either *state = (void *)arena_place(&arena_state, sizeof *state, now.at_end, 0);

    randomize(key, 32), randomize(nonce, 16), randomize(ad, now.ad_bytes);
    if (now.with_j0)
        store32(nonce + 12, swap32(now.counter));
    if (!set_up_key(keys) || (now.gcm && below(8) == 0 && !takes_hash_key(keys)))
        return 0;
    memcpy(keys_before, keys, key_size());
    if (now.fill < 0)
        randomize(text, now.bytes);
    else
        memset(text, now.fill, now.bytes);
    expect();

    const size_t low = (size_t)(out - arena_out.base) < CANARY ? (size_t)(out - arena_out.base) : CANARY;
    const size_t above = (size_t)(arena_out.base + arena_out.room - out);
    memset(out - low, 0xc3, low + (above < now.bytes + CANARY ? above : now.bytes + CANARY));
    if (now.bytes)
        memcpy(in, text, now.bytes);
    memcpy(ads, ad, now.ad_bytes), memcpy(nonces, nonce, nonce_size());
    memset(tag, 0xa5, 16);
    if (now.start)
        state->chacha = *now.start;
    else
        randomize(state, sizeof *state);

    const sealane_packet_args a = {
        .out = slot(now.bytes ? out : NULL),
        .in = slot(now.bytes ? in : NULL),
        .ad = slot(now.ad_bytes ? ads : NULL),
        .ad_bytes = now.ad_bytes,
        .key = slot(keys),
        .nonce = slot(nonces),
        .tag = slot(tag),
        .state = slot(now.parts == 1 && !now.start ? NULL : state),
        .total = now.bytes,
    };
    if (!run_parts(a, state, tag))
        return 0;
    if (!same_bytes(out, expected, now.bytes, "output"))
        return 0;
    if (memcmp(tag, expected_tag, 16) != 0)
        return fail("wrong tag");
    if (!now.in_place && now.bytes && memcmp(in, text, now.bytes) != 0)
        return fail("the input was changed");
    if (memcmp(ads, ad, now.ad_bytes) || memcmp(keys, keys_before, key_size()) || memcmp(nonces, nonce, nonce_size()))
        return fail("associated data, key or nonce was changed");
    return only_output_written(out);
}

/* With --some, four of five cases of lengths, alignments, parts and batches are skipped, but edges and counters are
 * all tried. The inner loops have 4 or 8 variants. Nearly each length and alignment is therefore tried in one
 * variant, and each variant at every fifth. */
static int some;

static int left_out(void)
{
    static unsigned cases;
    return some && cases++ % 5 != 0;
}

/* A packet in one part at a random position; the groups below modify it. */
static void plain_job(size_t bytes)
{
    now.bytes = bytes, now.ad_bytes = below(33);
    now.open = (int)below(2), now.in_place = (int)below(2), now.at_end = (int)below(2);
    now.skew_out = now.skew_in = now.skew_ad = 0;
    now.start = NULL, now.fill = -1;
    now.rounds = 10 + 2 * (int)below(3);
    now.with_j0 = now.gcm && below(4) == 0;
    now.counter = now.with_j0 ? (uint32_t)random64() : 1;
    now.parts = 1, now.ends[0] = bytes, now.by_portable = 0, now.part = 0;
}

/* Cuts the job into parts of multiples of 64 bytes, sometimes empty. */
static void cut(unsigned parts)
{
    size_t at = 0;
    now.parts = parts;
    for (unsigned i = 0; i + 1 < parts; i++) {
        size_t left = (now.bytes - at) / 64;
        at += below(4) == 0 ? 0 : 64 * below(left + 1);
        now.ends[i] = at;
    }
    now.ends[parts - 1] = now.bytes;
}
