/* A part of check.c: kernels that are wrong in one way. A check must find each of them. */

CORRUPTER(corrupt_tag_bit)
{
    INNER();
    if (a->bytes == 777 && (a->flags & SEALANE_FLAG_LAST))
        slot_bytes(a->tag)[15] ^= 0x80;
}

CORRUPTER(corrupt_text_bit)
{
    INNER();
    if (a->bytes == 333 && (a->flags & SEALANE_FLAG_OPEN))
        slot_bytes(a->out)[332] ^= 1;
}

CORRUPTER(corrupt_write_behind)
{
    INNER();
    if (a->bytes == 130)
        slot_bytes(a->out)[130] = 0;
}

CORRUPTER(corrupt_write_before)
{
    INNER();
    if (a->bytes == 130)
        slot_bytes(a->out)[-1] = 0;
}

CORRUPTER(corrupt_read_behind)
{
    INNER();
    if (a->bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->in) + a->bytes);
}

CORRUPTER(corrupt_read_before)
{
    INNER();
    if (a->bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->in) - 1);
}

CORRUPTER(corrupt_read_behind_ad)
{
    INNER();
    if (a->ad_bytes % 16 == 7)
        (void)*(volatile uint8_t *)(slot_bytes(a->ad) + a->ad_bytes);
}

CORRUPTER(corrupt_read_behind_key)
{
    INNER();
    (void)*(volatile uint8_t *)(slot_bytes(a->key) + key_size());
}

CORRUPTER(corrupt_read_behind_nonce)
{
    INNER();
    if (a->flags & SEALANE_FLAG_FIRST)
        (void)*(volatile uint8_t *)(slot_bytes(a->nonce) + nonce_size());
}

CORRUPTER(corrupt_write_behind_tag)
{
    INNER();
    if (a->flags & SEALANE_FLAG_LAST)
        slot_bytes(a->tag)[16] = 0;
}

CORRUPTER(corrupt_input)
{
    INNER();
    if (a->in != a->out && a->bytes == 1000)
        slot_bytes(a->in)[999] ^= 1;
}

CORRUPTER(corrupt_arguments)
{
    INNER();
    ((sealane_packet_args *)(uintptr_t)a)->bytes ^= a->bytes == 900;
}

CORRUPTER(corrupt_long_ad)
{
    INNER();
    if (a->ad_bytes > 128 && (a->flags & SEALANE_FLAG_LAST))
        slot_bytes(a->tag)[0] ^= 1;
}

CORRUPTER(corrupt_long_text)
{
    INNER();
    if (a->bytes > 9000)
        slot_bytes(a->out)[9000] ^= 1;
}

CORRUPTER(corrupt_alignment)
{
    INNER();
    if (a->out % 64 == 37 && a->bytes > 255)
        slot_bytes(a->out)[255] ^= 1;
}

CORRUPTER(corrupt_scratch)
{
    INNER();
    memcpy((uint8_t *)scratch + SEALANE_SCRATCH_BYTES - 8, slot_bytes(a->key), 8);
}

/* Writes and wipes a byte that the kernel declares as unused. Kernels without such a declaration leave one. */
CORRUPTER(corrupt_scratch_end)
{
    INNER();
    const size_t end = scratch_end(&now.level);
    ((volatile uint8_t *)scratch)[end < SEALANE_SCRATCH_BYTES ? end : end - 1] = end == SEALANE_SCRATCH_BYTES;
}

CORRUPTER(corrupt_write_behind_scratch)
{
    INNER();
    ((volatile uint8_t *)scratch)[SEALANE_SCRATCH_BYTES] = 0;
}

CORRUPTER(corrupt_empty_part)
{
    if (a->bytes != 0 || (a->flags & (SEALANE_FLAG_FIRST | SEALANE_FLAG_SETUP)))
        INNER();
}

static sealane_state *state_of(const sealane_packet_args *a)
{
    return a->flags & SEALANE_FLAG_LAST ? NULL : (sealane_state *)(uintptr_t)a->state;
}

/* The right value modulo p, but not fully reduced. */
CORRUPTER(corrupt_state_range)
{
    INNER();
    sealane_state *s = state_of(a);
    for (int i = 0; s && s->h[2] < 8 && i < 3; i++) {
        uint64_t h0 = s->h[0] - 5, borrow0 = s->h[0] < 5;
        uint64_t h1 = s->h[1] - borrow0, borrow1 = s->h[1] < borrow0;
        s->h[0] = h0, s->h[1] = h1, s->h[2] += 4 - borrow1;
    }
}

CORRUPTER(corrupt_state_counter)
{
    INNER();
    if (state_of(a) && a->bytes > 64)
        state_of(a)->counter++;
}

CORRUPTER(corrupt_state_r)
{
    INNER();
    if (state_of(a))
        state_of(a)->r[1] ^= (uint64_t)1 << 59;
}

/* Block numbers near 2^32 that run into the nonce. */
CORRUPTER(corrupt_counter_limit)
{
    const uint64_t before = a->flags & SEALANE_FLAG_FIRST ? 1 : ((sealane_state *)(uintptr_t)a->state)->counter;
    INNER();
    if (before + (a->bytes + 63) / 64 == (uint64_t)1 << 32 && a->bytes % 64 != 0)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}

/* Omits the final subtraction of p, which matters if the result is below 5. */
CORRUPTER(corrupt_final_reduction)
{
    sealane_state s = {.h = {9}};
    if (!(a->flags & SEALANE_FLAG_FIRST))
        s = *(sealane_state *)(uintptr_t)a->state;
    INNER();
    if ((a->flags & (SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST)) != SEALANE_FLAG_LAST)
        return;
    uint8_t *tag = slot_bytes(a->tag);
    uint64_t low = load64(tag) - s.s[0], high = load64(tag + 8) - s.s[1] - (load64(tag) < s.s[0]);
    if (high == 0 && low < 5) {
        uint64_t t = load64(tag) - 5;
        store64(tag + 8, load64(tag + 8) - (load64(tag) < 5));
        store64(tag, t);
    }
}

/* Loses a carry when every limb is full. */
CORRUPTER(corrupt_all_ones)
{
    int ones = a->bytes >= 64 && (a->flags & SEALANE_FLAG_OPEN) && (a->flags & SEALANE_FLAG_LAST);
    for (size_t i = 0; ones && i < a->bytes; i++)
        ones = slot_bytes(a->in)[i] == 0xff;
    INNER();
    if (ones)
        slot_bytes(a->tag)[8] ^= 1;
}

static sealane_gcm_state *gcm_state_of(const sealane_packet_args *a)
{
    return a->flags & (SEALANE_FLAG_LAST | SEALANE_FLAG_SETUP) ? NULL : (sealane_gcm_state *)(uintptr_t)a->state;
}

CORRUPTER(corrupt_gcm_ghash)
{
    INNER();
    if (gcm_state_of(a) && a->bytes >= 128)
        gcm_state_of(a)->y[15] ^= 1;
}

CORRUPTER(corrupt_gcm_counter)
{
    INNER();
    if (gcm_state_of(a) && a->bytes > 64)
        gcm_state_of(a)->counter[15]++;
}

CORRUPTER(corrupt_gcm_mask)
{
    INNER();
    if (gcm_state_of(a) && !(a->flags & SEALANE_FLAG_FIRST))
        gcm_state_of(a)->mask[0] ^= 1;
}

/* A wrapping counter carries into the prefix. */
CORRUPTER(corrupt_gcm_wrap)
{
    INNER();
    if (!(a->flags & SEALANE_FLAG_FIRST) || !now.with_j0 || a->bytes == 0)
        return;
    const uint32_t counter = swap32(load32(slot_bytes(a->nonce) + 12)), blocks = (uint32_t)((a->bytes + 15) / 16);
    if (counter + blocks < blocks && counter + blocks != 0)
        slot_bytes(a->out)[a->bytes - 1] ^= 1;
}

/* One of the key lengths. */
CORRUPTER(corrupt_gcm_key)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_SETUP) && now.rounds == 12)
        ((sealane_gcm_key *)(uintptr_t)a->key)->schedule[5] ^= 1;
}

/* One bit of a table with a given hash key. */
CORRUPTER(corrupt_gcm_hash_key)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_SETUP) && (a->flags & SEALANE_FLAG_NONCE) && !(a->flags & SEALANE_FLAG_POLYVAL))
        ((sealane_gcm_key *)(uintptr_t)a->key)->table[20] ^= 1;
}

#if defined(SEALANE_SIV_KERNELS)
CORRUPTER(corrupt_gcm_polyval_key)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_SETUP) && (a->flags & SEALANE_FLAG_POLYVAL))
        ((sealane_gcm_key *)(uintptr_t)a->key)->table[20] ^= 1;
}

CORRUPTER(corrupt_gcm_polyval)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_POLYVAL) && (a->flags & SEALANE_FLAG_LAST) && a->bytes == 700)
        slot_bytes(a->tag)[15] ^= 0x80;
}

/* Data that a part leaves in addition to the sum. */
CORRUPTER(corrupt_gcm_polyval_state)
{
    INNER();
    if ((a->flags & SEALANE_FLAG_POLYVAL) && a->state != 0 && !(a->flags & SEALANE_FLAG_LAST))
        slot_bytes(a->state)[16]++;
}
#endif

/* Writes to a key in use, for example to count packets. */
CORRUPTER(corrupt_gcm_key_in_use)
{
    INNER();
    if (!(a->flags & SEALANE_FLAG_SETUP))
        ((sealane_gcm_key *)(uintptr_t)a->key)->unused++;
}

/* Treats a nonce as J0. */
CORRUPTER(corrupt_gcm_nonce)
{
    sealane_packet_args b = *a;
    if (a->flags & SEALANE_FLAG_FIRST)
        b.flags &= ~(uint64_t)SEALANE_FLAG_NONCE;
    corrupt_inner(&b, scratch, consts);
}

typedef struct {
    const char *name;
    sealane_kernel *kernel, *batch; /* at most one */
} corrupter;

#if defined(__x86_64__)
sealane_kernel corrupt_rbx, corrupt_rbp, corrupt_r12, corrupt_r13, corrupt_r14, corrupt_r15, corrupt_direction,
    corrupt_mxcsr, corrupt_x87_control, corrupt_x87_tag, corrupt_upper_half, corrupt_rsp, corrupt_rdi, corrupt_rsi,
    corrupt_xmm6, corrupt_xmm15;
#endif
#if defined(ABI_CORRUPTERS)
#define X(id) sealane_kernel corrupt_##id;
ABI_CORRUPTERS(X)
#undef X
#endif

static const corrupter corrupters[] = {
    {"tag-bit", corrupt_tag_bit, NULL},
    {"text-bit", corrupt_text_bit, NULL},
    {"write-behind", corrupt_write_behind, NULL},
    {"write-before", corrupt_write_before, NULL},
    {"read-behind", corrupt_read_behind, NULL},
    {"read-before", corrupt_read_before, NULL},
    {"read-behind-ad", corrupt_read_behind_ad, NULL},
    {"read-behind-key", corrupt_read_behind_key, NULL},
    {"read-behind-nonce", corrupt_read_behind_nonce, NULL},
    {"write-behind-tag", corrupt_write_behind_tag, NULL},
    {"write-behind-scratch", corrupt_write_behind_scratch, NULL},
    {"scratch-end", corrupt_scratch_end, NULL},
    {"input", corrupt_input, NULL},
    {"arguments", corrupt_arguments, NULL},
    {"long-ad", corrupt_long_ad, NULL},
    {"long-text", corrupt_long_text, NULL},
    {"alignment", corrupt_alignment, NULL},
    {"scratch", corrupt_scratch, NULL},
    {"empty-part", corrupt_empty_part, NULL},
    {"all-ones", corrupt_all_ones, NULL},
#if defined(ABI_CORRUPTERS)
#define X(id) {#id, corrupt_##id, NULL},
    ABI_CORRUPTERS(X)
#undef X
#endif
#if defined(__x86_64__)
        {"rbx", corrupt_rbx, NULL},
    {"rbp", corrupt_rbp, NULL},
    {"r12", corrupt_r12, NULL},
    {"r13", corrupt_r13, NULL},
    {"r14", corrupt_r14, NULL},
    {"r15", corrupt_r15, NULL},
    {"rsp", corrupt_rsp, NULL},
    {"direction-flag", corrupt_direction, NULL},
    {"mxcsr", corrupt_mxcsr, NULL},
    {"x87-control", corrupt_x87_control, NULL},
    {"x87-tag", corrupt_x87_tag, NULL},
    {"upper-half", corrupt_upper_half, NULL},
#if defined(SEALANE_TEST_WIN64)
    {"rdi", corrupt_rdi, NULL},
    {"rsi", corrupt_rsi, NULL},
    {"xmm6", corrupt_xmm6, NULL},
    {"xmm15", corrupt_xmm15, NULL},
#endif
#endif
    {"self-test", NULL, NULL}, /* the dispatch checks below */
    {"warning", NULL, NULL},
    {"failing-level", NULL, NULL},
#if defined(SEALANE_X86_64_KERNELS) || defined(SEALANE_AARCH64_KERNELS) /* others have one entry for all CPUs */
    {"microarchitecture", NULL, NULL},
#endif
};

static const corrupter chacha_corrupters[] = {
    {"state-range", corrupt_state_range, NULL},
    {"state-counter", corrupt_state_counter, NULL},
    {"state-r", corrupt_state_r, NULL},
    {"counter-limit", corrupt_counter_limit, NULL},
    {"final-reduction", corrupt_final_reduction, NULL},
#define X(id, name) {name, NULL, corrupt_batch_##id},
    BATCH_CORRUPTERS(X)
#undef X
        {"batch-self-test", NULL, NULL},
};

static const corrupter gcm_corrupters[] = {
    {"ghash", corrupt_gcm_ghash, NULL},
    {"counter", corrupt_gcm_counter, NULL},
    {"mask", corrupt_gcm_mask, NULL},
    {"wrap", corrupt_gcm_wrap, NULL},
    {"key", corrupt_gcm_key, NULL},
    {"hash-key", corrupt_gcm_hash_key, NULL},
#if defined(SEALANE_SIV_KERNELS)
    {"polyval-key", corrupt_gcm_polyval_key, NULL},
    {"polyval", corrupt_gcm_polyval, NULL},
    {"polyval-state", corrupt_gcm_polyval_state, NULL},
#endif
    {"key-in-use", corrupt_gcm_key_in_use, NULL},
    {"nonce", corrupt_gcm_nonce, NULL},
};

#if defined(ABI_CORRUPTERS)
#define ABI_ROWS(id) {#id, corrupt_##id, NULL},
#else
#define ABI_CORRUPTERS(X)
#endif

static const corrupter mode_corrupters[] = {
#define X(id, name) {name, corrupt_mode_##id, NULL},
    MODE_CORRUPTERS(X) LANE_CORRUPTERS(X)
#undef X
#if defined(SEALANE_SIV_KERNELS)
        {"mode-wrap-little", corrupt_mode_wrap_little, NULL},
#endif
    ABI_CORRUPTERS(ABI_ROWS){"mode-self-test", NULL, NULL},
};

static const corrupter mask_corrupters[] = {
#define X(id, name) {name, corrupt_mode_##id, NULL},
    LANE_CORRUPTERS(X)
#undef X
        {"mask-write-behind", corrupt_mode_mask_write, NULL},
    {"mode-self-test", NULL, NULL},
};

static const corrupter *corrupting; /* NULL: no batch kernel */

static int corrupting_is(const char *name)
{
    return corrupting != NULL && strcmp(corrupting->name, name) == 0;
}
