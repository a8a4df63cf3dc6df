/* Included by check.c: compares the kernels of unauthenticated AES modes and of header masks with portable code. Keys,
 * states, lanes and texts lie between guard pages. */

enum { MODE_LANES_MAX = 70, MODE_LANE_BYTES = 512 };

static arena arena_mode_lanes, arena_mode_keys, arena_mode_states;

static void mode_arenas_new(void)
{
    arena_mode_lanes = arena_new(MODE_LANES_MAX * sizeof(sealane_mode_lane));
    arena_mode_keys = arena_new(MODE_LANES_MAX * sizeof(sealane_aes_schedules));
    arena_mode_states = arena_new((size_t)MODE_LANES_MAX * 16);
}

/* One call. */
static struct {
    uint64_t operation;
    size_t blocks;  /* of the text, or of each lane */
    unsigned count; /* number of lanes; 0: no kernel of lanes */
} mode;

static const char *const operations[] = {"setup",       "ECB encrypt", "ECB decrypt", "CTR",   "CBC decrypt",
                                         "XTS encrypt", "XTS decrypt", "CBC encrypt", "masks", "CTR, little-endian"};

/* Operations on one text. Only some levels have that of AES-GCM-SIV. */
static const uint64_t text_operations[] = {
    SEALANE_AES_ECB_ENCRYPT, SEALANE_AES_ECB_DECRYPT, SEALANE_AES_CTR,
    SEALANE_AES_CBC_DECRYPT, SEALANE_AES_XTS_ENCRYPT, SEALANE_AES_XTS_DECRYPT,
#if defined(SEALANE_SIV_KERNELS)
    SEALANE_AES_CTR_LITTLE,
#endif
};

enum { TEXT_OPERATIONS = sizeof text_operations / sizeof *text_operations };

static void describe_mode(char *into, size_t room)
{
    snprintf(into, room, "%s/%s: %s, %zu blocks, %u lanes, %d rounds, %s, %s, skew out %zu in %zu", now.level.name,
             now.group, operations[mode.operation % 10], mode.blocks, mode.count, now.rounds,
             now.in_place ? "in place" : "apart", now.at_end ? "before a guard page" : "after a guard page",
             now.skew_out, now.skew_in);
}

static void mode_portable(const sealane_mode_args *a)
{
    (now.primitive == SEALANE_AES ? sealane_aes_portable : sealane_chacha20masks_portable)(a, NULL, NULL);
}

/* Makes key i of count, in the kernel's layout in the arena, and with portable code at twin. */
static sealane_aes_schedules *mode_key(unsigned i, unsigned count, sealane_aes_schedules *twin)
{
    sealane_aes_schedules *k =
        (void *)(arena_place(&arena_mode_keys, count * sizeof *k, now.at_end, 0) + i * sizeof *k);
    const size_t raw_bytes = (size_t)(4 * now.rounds - 24);
    const sealane_mode_args of_twin = {.key = slot(twin), .operation = SEALANE_AES_SETUP},
                            a = {.key = slot(k), .operation = SEALANE_AES_SETUP},
                            encrypts_only = {.key = slot(k), .encrypts_only = 1, .operation = SEALANE_AES_SETUP};
    sealane_aes_schedules before, kept;
    randomize(k, sizeof *k);
    if (now.fill >= 0)
        memset(k->schedule, now.fill, raw_bytes);
    k->rounds = twin->rounds = (uint64_t)now.rounds;
    memcpy(twin->schedule, k->schedule, raw_bytes);
    mode_portable(&of_twin);
    before = *k;
    if (i == 0 && !call_part(&encrypts_only, &now.level))
        return NULL;
    kept = *k, *k = before;
    if (!call_part(&a, &now.level))
        return NULL;
    if (i == 0 && memcmp(kept.schedule, k->schedule, sizeof kept.schedule) != 0) {
        fail("a key that only encrypts has other round keys");
        return NULL;
    }
    if (k->rounds != (uint64_t)now.rounds) {
        fail("the number of rounds was changed");
        return NULL;
    }
    return k;
}

static void mode_text(size_t bytes)
{
    if (now.fill < 0)
        randomize(text, bytes);
    else
        memset(text, now.fill, bytes);
}

static void fill_around(uint8_t *out)
{
    const size_t low = (size_t)(out - arena_out.base) < CANARY ? (size_t)(out - arena_out.base) : CANARY;
    const size_t above = (size_t)(arena_out.base + arena_out.room - out);
    memset(out - low, 0xc3, low + (above < now.bytes + CANARY ? above : now.bytes + CANARY));
}

/* Runs a text in one call. */
static int run_mode_now(void)
{
    static sealane_aes_schedules twin, before;
    uint8_t state[16];
    now.bytes = 16 * mode.blocks;
    uint8_t *out = arena_place(&arena_out, now.bytes, now.at_end, now.skew_out);
    uint8_t *in = now.in_place ? out : arena_place(&arena_in, now.bytes, now.at_end, now.skew_in);
    uint8_t *states = arena_place(&arena_mode_states, 16, now.at_end, now.skew_in);
    sealane_aes_schedules *k = mode_key(0, 1, &twin);
    if (k == NULL)
        return 0;
    mode_text(now.bytes);
    if (now.fill < 0)
        randomize(state, 16);
    else
        memset(state, now.fill, 16);
    if (now.counter && mode.operation == SEALANE_AES_CTR_LITTLE)
        store32(state, now.counter);
    else if (now.counter)
        store32(state + 12, swap32(now.counter));
    fill_around(out);
    if (now.bytes)
        memcpy(in, text, now.bytes);
    memcpy(states, state, 16);
    memcpy(&before, k, sizeof before);
    const sealane_mode_args want = {.out = slot(expected),
                                    .in = slot(text),
                                    .bytes = now.bytes,
                                    .key = slot(&twin),
                                    .state = slot(state),
                                    .operation = mode.operation};
    mode_portable(&want);
    sealane_mode_args a = want;
    a.out = slot(now.bytes ? out : NULL), a.in = slot(now.bytes ? in : NULL), a.key = slot(k);
    a.state = slot(mode.operation <= SEALANE_AES_ECB_DECRYPT ? NULL : states);
    if (!call_part(&a, &now.level) || !same_bytes(out, expected, now.bytes, "output") ||
        !same_bytes(states, state, 16, "state"))
        return 0;
    if (!now.in_place && now.bytes && memcmp(in, text, now.bytes) != 0)
        return fail("the input was changed");
    if (memcmp(k, &before, sizeof before) != 0)
        return fail("the key was changed");
    return only_output_written(out);
}

/* Runs lanes in one call. Their texts are adjacent, so that a kernel that uses another lane's data gives a wrong
 * result.
 */
static int run_lanes_now(void)
{
    static sealane_aes_schedules twins[MODE_LANES_MAX];
    static sealane_mode_lane wanted[MODE_LANES_MAX], before[MODE_LANES_MAX];
    static uint8_t states_want[16 * MODE_LANES_MAX];
    const int masks = now.primitive == SEALANE_CHACHA20MASKS, n = (int)mode.count;
    const size_t in_step = masks ? 16 : 16 * mode.blocks, out_step = masks ? 8 : in_step;
    const size_t in_bytes = in_step * mode.count;
    now.bytes = out_step * mode.count;
    uint8_t *out = arena_place(&arena_out, now.bytes, now.at_end, now.skew_out);
    uint8_t *in = now.in_place && !masks ? out : arena_place(&arena_in, in_bytes, now.at_end, now.skew_in);
    uint8_t *states = arena_place(&arena_mode_states, 16 * mode.count, now.at_end, now.skew_in);
    sealane_mode_lane *lanes = (void *)arena_place(&arena_mode_lanes, mode.count * sizeof *lanes, now.at_end, 0);
    uint8_t *raw_keys = arena_place(&arena_mode_keys, 32 * mode.count, now.at_end, now.skew_in);
    if (masks)
        randomize(raw_keys, 32 * mode.count);
    mode_text(in_bytes);
    randomize(states_want, sizeof states_want);
    memcpy(states, states_want, 16 * mode.count);
    fill_around(out);
    memcpy(in, text, in_bytes);
    for (int i = 0; i < n; i++) {
        void *k = masks ? raw_keys + 32 * i : (void *)mode_key((unsigned)i, mode.count, &twins[i]);
        if (k == NULL)
            return 0;
        lanes[i] = (sealane_mode_lane){
            .out = slot(out + out_step * (size_t)i), .in = slot(in + in_step * (size_t)i), .key = slot(k)};
        lanes[i].chain = slot(mode.operation == SEALANE_AES_CBC_ENCRYPT ? states + 16 * i : NULL);
        wanted[i] = (sealane_mode_lane){.out = slot(expected + out_step * (size_t)i),
                                        .in = slot(text + in_step * (size_t)i),
                                        .key = masks ? slot(k) : slot(&twins[i]),
                                        .chain = slot(states_want + 16 * i)};
    }
    memcpy(before, lanes, mode.count * sizeof *lanes);
    sealane_mode_args a = {.lanes = slot(wanted), .count = mode.count, .operation = masks ? 0 : mode.operation};
    if (mode.operation == SEALANE_AES_CBC_ENCRYPT)
        a.bytes_each = in_step;
    mode_portable(&a);
    a.lanes = slot(lanes);
    if (!call_part(&a, &now.level) || !same_bytes(out, expected, now.bytes, "output") ||
        !same_bytes(states, states_want, 16 * mode.count, "state"))
        return 0;
    if (in != out && memcmp(in, text, in_bytes) != 0)
        return fail("the input was changed");
    if (memcmp(before, lanes, mode.count * sizeof *lanes) != 0)
        return fail("the lanes were changed");
    return only_output_written(out);
}

static void plain_mode(uint64_t operation, size_t blocks, unsigned count)
{
    mode.operation = operation, mode.blocks = blocks, mode.count = count;
    now.in_place = (int)below(2), now.at_end = (int)below(2), now.skew_out = now.skew_in = 0;
    now.rounds = 10 + 2 * (int)below(3), now.fill = -1, now.counter = 0;
}

/* All numbers of blocks that a kernel may handle specially, and long texts. */
static int group_modes_lengths(void)
{
    for (size_t n = 0; n < TEXT_OPERATIONS; n++) {
        const uint64_t o = text_operations[n];
        for (size_t blocks = 0; blocks <= 140; blocks++)
            for (int way = 0; way < 4; way++) {
                if (left_out())
                    continue;
                plain_mode(o, blocks, 0);
                now.in_place = way & 1, now.at_end = way >> 1;
                if (!run_mode_now())
                    return 0;
            }
        for (int i = 0; i < 12; i++) {
            plain_mode(o, 141 + below(LONGEST / 16 / (i < 10 ? 16 : 1) - 141), 0);
            if (!run_mode_now())
                return 0;
        }
    }
    return 1;
}

static int group_modes_alignment(void)
{
    static const size_t sizes[] = {1, 3, 8, 21, 40, 70};
    for (size_t n = 0; n < TEXT_OPERATIONS; n++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t out = 0; out < 64; out += 1 + below(3)) {
                if (left_out())
                    continue;
                plain_mode(text_operations[n], sizes[i], 0);
                now.at_end = 0, now.skew_out = out, now.skew_in = below(64);
                if (!run_mode_now())
                    return 0;
            }
    return 1;
}

/* Counters that wrap around at 2^32 in every block. */
static int group_modes_counter(void)
{
    for (uint32_t blocks = 1; blocks <= 140; blocks++)
        for (int way = 0; way < 8; way++) {
            if (way >= 4 && TEXT_OPERATIONS < 7)
                continue;
            plain_mode(way < 4 ? SEALANE_AES_CTR : SEALANE_AES_CTR_LITTLE, way & 1 ? blocks + below(3) : 1 + below(200),
                       0);
            now.counter = 0 - blocks;
            if (!run_mode_now())
                return 0;
        }
    return 1;
}

/* Keys, states and texts of equal bytes. For some tweaks each doubling reduces, for others no doubling does. */
static int group_modes_edge(void)
{
    static const int fills[] = {0, 0xff, 0x80, 0x01, 0x7f};
    for (size_t n = 0; n < TEXT_OPERATIONS; n++)
        for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
            for (size_t blocks = 1; blocks <= 300; blocks += 1 + below(8)) {
                plain_mode(text_operations[n], blocks, 0);
                now.fill = fills[i];
                if (!run_mode_now())
                    return 0;
            }
    return 1;
}

static int group_modes_lanes(void)
{
    for (unsigned count = 1; count <= MODE_LANES_MAX; count++)
        for (int way = 0; way < 8; way++) {
            if (left_out())
                continue;
            plain_mode(way & 4 ? SEALANE_AES_MASKS : SEALANE_AES_CBC_ENCRYPT, way & 4 ? 1 : 1 + below(9), count);
            now.in_place = way & 1, now.at_end = way >> 1 & 1;
            if (!now.at_end)
                now.skew_out = below(64), now.skew_in = below(64);
            if (way == 3)
                now.fill = 0xff;
            if (count <= 17 && way == 1)
                mode.blocks = 20 + below(40);
            if (!run_lanes_now())
                return 0;
        }
    return 1;
}

static const group mode_groups[] = {
    {"modes-lengths", group_modes_lengths}, {"modes-alignment", group_modes_alignment},
    {"modes-counter", group_modes_counter}, {"modes-edge", group_modes_edge},
    {"modes-lanes", group_modes_lanes},
};

static int group_masks(void)
{
    for (int i = 0; i < 20; i++)
        for (unsigned count = 1; count <= MODE_LANES_MAX; count++) {
            if (left_out())
                continue;
            plain_mode(SEALANE_AES_MASKS, 1, count);
            if (!now.at_end)
                now.skew_out = below(64), now.skew_in = below(64);
            if (i % 5 == 4)
                now.fill = i % 2 ? 0xff : 0;
            if (!run_lanes_now())
                return 0;
        }
    return 1;
}

static const group mask_groups[] = {{"modes-masks", group_masks}};

/* ---- Kernels that are wrong in one way ---- */

static int is_text(const sealane_mode_args *a)
{
    const int little = a->operation == SEALANE_AES_CTR_LITTLE;
    return ((a->operation >= SEALANE_AES_ECB_ENCRYPT && a->operation <= SEALANE_AES_XTS_DECRYPT) || little) &&
           a->bytes != 0;
}

static int is_chained(const sealane_mode_args *a)
{
    return a->operation == SEALANE_AES_CBC_ENCRYPT && now.primitive == SEALANE_AES;
}

static int is_lanes(const sealane_mode_args *a)
{
    return is_chained(a) || a->operation == SEALANE_AES_MASKS || now.primitive == SEALANE_CHACHA20MASKS;
}

static sealane_mode_lane *mode_lane_of(const sealane_mode_args *a, size_t i)
{
    return (sealane_mode_lane *)(uintptr_t)a->lanes + i;
}

CORRUPTER_OF(mode, corrupt_mode_text)
{
    INNER();
    if (is_text(a) && a->operation == SEALANE_AES_XTS_DECRYPT && a->bytes == 16 * 77)
        slot_bytes(a->out)[16 * 77 - 1] ^= 1;
}

CORRUPTER_OF(mode, corrupt_mode_state)
{
    INNER();
    if (is_text(a) && a->operation == SEALANE_AES_CBC_DECRYPT && a->bytes == 16 * 33)
        slot_bytes(a->state)[15] ^= 0x80;
}

CORRUPTER_OF(mode, corrupt_mode_behind)
{
    INNER();
    if (is_text(a) && a->bytes == 16 * 5)
        slot_bytes(a->out)[a->bytes] = 0;
}

CORRUPTER_OF(mode, corrupt_mode_before)
{
    INNER();
    if (is_text(a) && a->bytes == 16 * 5)
        slot_bytes(a->out)[-1] = 0;
}

CORRUPTER_OF(mode, corrupt_mode_reads)
{
    INNER();
    if (is_text(a))
        (void)*(volatile uint8_t *)(slot_bytes(a->in) + a->bytes);
}

CORRUPTER_OF(mode, corrupt_mode_reads_key)
{
    INNER();
    if (is_text(a))
        (void)*(volatile uint8_t *)(slot_bytes(a->key) + SEALANE_AES_KEY_BYTES);
}

CORRUPTER_OF(mode, corrupt_mode_input)
{
    INNER();
    if (is_text(a) && a->in != a->out)
        slot_bytes(a->in)[a->bytes - 1] ^= a->bytes == 16 * 100;
}

CORRUPTER_OF(mode, corrupt_mode_key)
{
    INNER();
    if (a->operation == SEALANE_AES_SETUP && now.rounds == 12 && now.primitive == SEALANE_AES)
        ((sealane_aes_schedules *)(uintptr_t)a->key)->schedule[5] ^= 1;
}

CORRUPTER_OF(mode, corrupt_mode_key_encrypts)
{
    INNER();
    if (a->operation == SEALANE_AES_SETUP && a->encrypts_only != 0 && now.primitive == SEALANE_AES)
        ((sealane_aes_schedules *)(uintptr_t)a->key)->schedule[16 * now.rounds + 3] ^= 1;
}

CORRUPTER_OF(mode, corrupt_mode_key_in_use)
{
    INNER();
    if (is_text(a))
        ((sealane_aes_schedules *)(uintptr_t)a->key)->inverse[9] ^= 1;
}

/* The counter carries into the prefix. */
CORRUPTER_OF(mode, corrupt_mode_wrap)
{
    const int ctr = is_text(a) && a->operation == SEALANE_AES_CTR;
    const uint32_t counter = ctr ? swap32(load32(slot_bytes(a->state) + 12)) : 0;
    INNER();
    if (ctr && counter + a->bytes / 16 > (uint64_t)1 << 32)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}

#if defined(SEALANE_SIV_KERNELS)
/* The same for a counter at the start of the block. */
CORRUPTER_OF(mode, corrupt_mode_wrap_little)
{
    const int ctr = is_text(a) && a->operation == SEALANE_AES_CTR_LITTLE;
    const uint32_t counter = ctr ? load32(slot_bytes(a->state)) : 0;
    INNER();
    if (ctr && counter + a->bytes / 16 > (uint64_t)1 << 32)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}
#endif

CORRUPTER_OF(mode, corrupt_mode_scratch)
{
    INNER();
    if (a->operation == SEALANE_AES_MASKS || is_text(a))
        memset((uint8_t *)scratch + SEALANE_SCRATCH_SAVE_BYTES, 0x11, 8);
}

CORRUPTER_OF(mode, corrupt_mode_lane)
{
    INNER();
    if (is_lanes(a) && a->count > 17)
        slot_bytes(mode_lane_of(a, 17)->out)[7] ^= 0x80;
}

CORRUPTER_OF(mode, corrupt_mode_last_lane)
{
    sealane_mode_args fewer = *a;
    fewer.count -= is_lanes(a) && a->count % 8 == 1;
    corrupt_inner(&fewer, scratch, consts);
}

CORRUPTER_OF(mode, corrupt_mode_lanes)
{
    INNER();
    if (is_lanes(a) && a->count > 3)
        mode_lane_of(a, 3)->unused7[0]++;
}

CORRUPTER_OF(mode, corrupt_mode_chain)
{
    INNER();
    if (is_chained(a))
        slot_bytes(mode_lane_of(a, a->count - 1)->chain)[0] ^= a->count > 8;
}

CORRUPTER_OF(mode, corrupt_mode_mask_read)
{
    INNER();
    if (is_lanes(a) && !is_chained(a))
        (void)*(volatile uint8_t *)(slot_bytes(mode_lane_of(a, a->count - 1)->in) + 16);
}

CORRUPTER_OF(mode, corrupt_mode_mask_write)
{
    INNER();
    if (now.primitive == SEALANE_CHACHA20MASKS)
        slot_bytes(mode_lane_of(a, a->count - 1)->out)[8] = 0;
}

#define MODE_CORRUPTERS(X)               \
    X(text, "mode-text")                 \
    X(state, "mode-state")               \
    X(behind, "mode-write-behind")       \
    X(before, "mode-write-before")       \
    X(reads, "mode-read-behind")         \
    X(reads_key, "mode-read-behind-key") \
    X(input, "mode-input")               \
    X(key, "mode-key")                   \
    X(key_in_use, "mode-key-in-use")     \
    X(key_encrypts, "mode-key-encrypts") \
    X(wrap, "mode-wrap")                 \
    X(scratch, "mode-scratch")           \
    X(chain, "mode-chain")

#define LANE_CORRUPTERS(X)             \
    X(lane, "lane-output")             \
    X(last_lane, "last-lane-left-out") \
    X(lanes, "lanes-changed")          \
    X(mask_read, "mask-read-behind")

/* A level with a wrong answer is not chosen. */
CORRUPTER_OF(mode, wrong_mode)
{
    sealane_aes_portable(a, scratch, consts);
    if (a->operation == SEALANE_AES_CBC_ENCRYPT && !corrupting_is("mode-self-test"))
        slot_bytes(mode_lane_of(a, 0)->chain)[3] ^= 1;
}

CORRUPTER_OF(mode, wrong_masks)
{
    sealane_chacha20masks_portable(a, scratch, consts);
    if (!corrupting_is("mode-self-test"))
        slot_bytes(mode_lane_of(a, 0)->out)[7] ^= 1;
}
