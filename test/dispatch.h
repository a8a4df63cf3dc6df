/* A part of check.c: which level is taken, by its self-test, by time, and by the environment. */

CORRUPTER(wrong_tag)
{
    sealane_chacha20poly1305_portable(a, scratch, consts);
    if (a->bytes == 3200 && (a->flags & SEALANE_FLAG_LAST) && !corrupting_is("self-test"))
        slot_bytes(a->tag)[7] ^= 1;
}

CORRUPTER(wrong_gcm_tag)
{
    sealane_aesgcm_portable(a, scratch, consts);
    if ((a->flags & SEALANE_FLAG_LAST) && a->total == 3200 && !corrupting_is("self-test"))
        slot_bytes(a->tag)[7] ^= 1;
}

static unsigned reported;

static void count_report(const sealane_level *level)
{
    reported += strcmp(level->name, "broken") == 0;
}

static void count_batch_report(const sealane_table *table, const sealane_level *level)
{
    reported += strcmp(level->name, "broken") == 0 && table != NULL;
}

/* A batch kernel that fails its self-test is reported once and not used; one that passes is, and so is none. */
static int check_batch_selftest(const sealane_table *table, const sealane_level *broken, const sealane_level *without)
{
    _Atomic unsigned char outcome = 0, sound_outcome = 0, no_outcome = 0;
    const sealane_level *sound = &table->levels[table->count - 1];
    reported = 0;
    now.gcm = table == &sealane_tables[SEALANE_AESGCM]; /* for wrong_batch_tag */
    for (int i = 0; i < 3; i++)
        if (sealane_batch_choose(table, corrupting_is("batch-self-test") ? sound : broken, &outcome,
                                 count_batch_report) != NULL)
            return fail("a batch kernel with a wrong answer was taken");
    if (reported != 1)
        return fail("a batch kernel with a wrong answer was reported %u times", reported);
    if (sealane_batch_choose(table, sound, &sound_outcome, count_batch_report) != &sound->batch ||
        sealane_batch_choose(table, without, &no_outcome, count_batch_report) != NULL || reported != 1)
        return fail("a good batch kernel was not taken, or one that there is not was");
    return 1;
}

/* A level that fails its self-test is reported and the next is taken; one that the CPU lacks is never tried. */
static int check_selftest(void)
{
    const sealane_level levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_tag, .batch = {.kernel = wrong_batch_tag}},
        {.name = "portable", .kernel = sealane_chacha20poly1305_portable},
    };
    const sealane_level gcm_levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_gcm_tag, .batch = {.kernel = wrong_batch_tag}},
        {.name = "portable", .kernel = sealane_aesgcm_portable},
    };
    const sealane_level mode_levels[2][3] = {{{.name = "absent", .needs = (uint32_t)1 << 31},
                                              {.name = "broken", .kernel = wrong_mode},
                                              {.name = "portable", .kernel = sealane_aes_portable}},
                                             {{.name = "absent", .needs = (uint32_t)1 << 31},
                                              {.name = "broken", .kernel = wrong_masks},
                                              {.name = "portable", .kernel = sealane_chacha20masks_portable}}};
    const sealane_level *const all[SEALANE_ALL_TABLES] = {levels, gcm_levels, mode_levels[0], mode_levels[1]};
    for (int t = 0; t < SEALANE_ALL_TABLES; t++) {
        sealane_table table = sealane_tables[t];
        table.levels = all[t], table.count = 3;
        reported = 0;
        if (sealane_level_choose(&table, 0, ~((uint32_t)1 << 31), count_report) != 2 || reported != 1)
            return fail("%s: a level with a wrong answer was taken", table.primitive);
        table.count = 2;
        if (sealane_level_choose(&table, 0, 0, count_report) != -1)
            return fail("%s: a level was taken though none works", table.primitive);
    }
    return check_batch_selftest(&sealane_tables[SEALANE_CHACHA20POLY1305], &levels[1], &levels[2]) &&
           check_batch_selftest(&sealane_tables[SEALANE_AESGCM], &gcm_levels[1], &gcm_levels[2]);
}

/* Times of three turns of each level of check_fastest; one level takes ten times as long at first, as if its code had
 * to be fetched. */
static const uint64_t *turns_of[3];
static unsigned turn_of[3];
static size_t bytes_before[3];
static int cold;

static uint64_t ticks_told(const sealane_level *level, size_t bytes)
{
    const int i = level->name[0] - 'a', first = bytes != bytes_before[i];
    turn_of[i] += bytes < bytes_before[i];
    bytes_before[i] = bytes;
    return turns_of[i][corrupting_is("fastest") ? 0 : turn_of[i] % 3] * (bytes > 64 ? 100 : 10) *
           (first && i == cold ? 10 : 1);
}

/* Among timed levels that the CPU runs, the one with the least product of its shortest times is taken, unless its
 * self-test fails or it is hardly faster; the limit ends turns, but not before the second, and says how many in a row.
 */
static int check_fastest(void)
{
    enum { A = 1, B = 2, ALL = A | B };
    static const struct {
        uint64_t ticks[3][3];
        int first, want, broken;
        uint32_t features;
        uint64_t limit;
        int warm; /* 0: the first level is cold */
    } cases[] = {
        {{{9, 8, 7}, {9, 9, 9}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX, 1},
        {{{9, 9, 9}, {9, 9, 8}, {9, 9, 9}}, 0, 1, 0, ALL, UINT64_MAX, 1},
        {{{5, 9, 9}, {6, 6, 6}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX, 1},
        {{{9, 9, 9}, {9, 9, 9}, {1, 1, 1}}, 0, 0, 0, ALL, UINT64_MAX, 1}, /* the last is not timed */
        {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 0, ALL, UINT64_MAX, 1},
        {{{1, 1, 1}, {9, 9, 9}, {1, 1, 1}}, 1, 1, 0, ALL, UINT64_MAX, 1},
        {{{7, 7, 7}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 1, ALL, UINT64_MAX, 1},
        {{{100, 100, 100}, {98, 98, 98}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX, 1},
        {{{9, 9, 9}, {1, 1, 1}, {9, 9, 9}}, 0, 0, 0, A, UINT64_MAX, 1},
        {{{9, 9, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 0, 0, ALL, UINT64_MAX, 1},
        {{{9, 9, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 1, 0, ALL, 0, 1},
        {{{9, 8, 8}, {9, 1, 9}, {9, 9, 9}}, 0, 1, 0, ALL, 0, 1},
        {{{1, 1, 1}, {9, 9, 9}, {5, 5, 5}}, 2, 2, 0, ALL, UINT64_MAX, 1},
        /* Interruptions take no turns away: two last 2 * (9 + 8) * (10 + 100). */
        {{{9, 1000000, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 0, 0, ALL, 3740, 1},
        {{{1000000, 9, 1}, {8, 8, 1000000}, {9, 9, 9}}, 0, 0, 0, ALL, 3740, 1},
        {{{9, 9, 1}, {8, 8, 8}, {9, 9, 9}}, 0, 1, 0, ALL, 3739, 1},
        /* A third of a millisecond has room for several of 900 in a row. */
        {{{9, 9, 9}, {10, 10, 10}, {9, 9, 9}}, 0, 0, 0, ALL, 300000, 0},
        {{{9, 9, 9}, {10, 10, 10}, {9, 9, 9}}, 0, 1, 0, ALL, 300, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sealane_level levels[] = {
            {.name = "a", .needs = A, .kernel = sealane_chacha20poly1305_portable, .timed = 1},
            {.name = "b", .needs = B, .kernel = sealane_chacha20poly1305_portable, .timed = 1},
            {.name = "c", .kernel = sealane_chacha20poly1305_portable},
        };
        sealane_table table = sealane_tables[SEALANE_CHACHA20POLY1305];
        table.levels = levels, table.count = 3;
        if (cases[i].broken)
            levels[1].name = "broken", levels[1].kernel = wrong_tag;
        for (int j = 0; j < 3; j++)
            turns_of[j] = cases[i].ticks[j], turn_of[j] = 0, bytes_before[j] = 0;
        cold = cases[i].warm ? -1 : 0;
        reported = 0;
        if (sealane_level_fastest(&table, cases[i].first, cases[i].features, ticks_told, cases[i].limit,
                                  count_report) != cases[i].want ||
            reported != (unsigned)cases[i].broken)
            return fail("case %zu: the fastest level was not taken", i);
    }
    return 1;
}

static size_t complaint_bytes; /* what the last choice wrote to the standard error */

/* What the environment makes of the choice, each in a process of its own. */
static int chosen_under(const sealane_table *table, const char *cpu, const char *asm_switch)
{
    int ends[2];
    char complaint[1000];
    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0)
            _exit(99);
        cpu ? setenv("SEALANE_CPU", cpu, 1) : unsetenv("SEALANE_CPU");
        asm_switch ? setenv("SEALANE_ASM", asm_switch, 1) : unsetenv("SEALANE_ASM");
        _exit(sealane_level_of_process(table));
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[1]);
    const ssize_t n = read(ends[0], complaint, sizeof complaint);
    complaint_bytes = n > 0 ? (size_t)n : 0;
    close(ends[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether level is the wanted one, or rivals it: which of those that are timed is chosen may change from run to run. */
static int is_like(const sealane_table *t, int level, int want)
{
    return level == want || (level >= 0 && t->levels[level].timed && t->levels[want].timed);
}

static int environment_obeyed(const sealane_table *t)
{
    const int last = (int)t->count - 1;
    int best = chosen_under(t, NULL, NULL);
    if (best < 0 || best > last)
        return fail("%s: no level was chosen", t->primitive);
    while (best > 0 && is_like(t, best - 1, best) && (t->levels[best - 1].needs & ~sealane_cpu_features()) == 0)
        best--;
    if (chosen_under(t, "portable", NULL) != last || chosen_under(t, NULL, "0") != last ||
        chosen_under(t, "avx512", "0") != last)
        return fail("%s: SEALANE_CPU=portable or SEALANE_ASM=0 was not obeyed", t->primitive);
    if (!is_like(t, chosen_under(t, "no-such-level", NULL), best) || !is_like(t, chosen_under(t, "", NULL), best) ||
        !is_like(t, chosen_under(t, NULL, "1"), best))
        return fail("%s: an environment without meaning changed the level", t->primitive);
    for (int i = best; i <= last; i++)
        if (chosen_under(t, t->levels[i].name, NULL) != i || complaint_bytes != 0)
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, t->levels[i].name);
    return 1;
}

/* A level that a primitive does not have is one between those that it has. */
static int check_environment(void)
{
    static const struct {
        int table;
        const char *cap, *level;
    } between[] = {
        /* With a condition among the rows, versions of clang-format differ. */
        /* clang-format off */
        {SEALANE_CHACHA20POLY1305, "aesniavx", "ssse3"},
        {SEALANE_CHACHA20POLY1305, "aesni", "ssse3"},
        {SEALANE_CHACHA20POLY1305, "ce", "neon"},
        {SEALANE_CHACHA20POLY1305, "ce32", "neon"},
#if defined(__x86_64__)
        {SEALANE_AESGCM, "ssse3", "portable"},
#endif
        /* clang-format on */
    };
    for (int i = 0; i < SEALANE_ALL_TABLES; i++)
        if (!environment_obeyed(&sealane_tables[i]))
            return 0;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        const sealane_table *t = &sealane_tables[between[i].table];
        const int want = sealane_level_find(t, between[i].level), best = chosen_under(t, NULL, NULL);
        if (want < 0 || (want == (int)t->count - 1 && sealane_tables[0].count == 1))
            continue;
        if (!is_like(t, chosen_under(t, between[i].cap, NULL), want > best ? want : best) || complaint_bytes != 0)
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, between[i].cap);
    }
    return 1;
}

/* The rule of batches by times that are known: of one packet 100 and 10 a block; a batch takes 400 and 50 a packet,
 * and 4 a block and packet. */
static int check_batch_rule_of(int64_t one, int64_t other)
{
    sealane_batch b = {.kernel = wrong_batch_tag};
    sealane_batch_times t = {.blocks = {one, other}}, u;
    for (int i = 0; i < 2; i++) {
        const uint64_t blocks = (uint64_t)t.blocks[i];
        t.single[i] = 100 + 10 * blocks;
        t.few[i] = 400 + SEALANE_RULE_FEW * (50 + 4 * blocks);
        t.many[i] = 400 + SEALANE_RULE_MANY * (50 + 4 * blocks);
    }
    sealane_batch_rule(&b, &t);
    for (unsigned class = 0; class < SEALANE_BATCH_CLASSES; class ++)
        for (unsigned n = 2; n <= SEALANE_BATCH_FROM_MAX; n++) {
            const int pays = 400 + n * (50 + 4 * class) <= n * (100 + 10 * class);
            if (pays != (b.from[class] != 0 && n >= b.from[class]))
                return fail("%u packets of %u blocks: %s", n, class, pays ? "one by one" : "a batch");
        }
    if (b.few != 2 || b.classes != SEALANE_BATCH_CLASSES || b.from[0] != 8 || b.from[31] != 2)
        return fail("from %u packets on, classes to %u", b.few, b.classes);
    for (int i = 0; i < 2; i++)
        u = t, u.few[i] = SEALANE_RULE_FEW * t.single[i], u.many[i] = SEALANE_RULE_MANY * t.single[i];
    u.few[0] = SEALANE_RULE_FEW * u.single[0] + 1, u.many[0] = SEALANE_RULE_MANY * u.single[0] + 1, u.few[1]++,
    u.many[1]++;
    sealane_batch_rule(&b, &u);
    return (b.classes == 0 && b.few > SEALANE_BATCH_FROM_MAX) ||
           fail("batches that gain nothing: %u classes, from %u on", b.classes, b.few);
}

/* That of AES-GCM, of all that may be clearly slower than by itself: a packet takes 100, or of those in a stream 300,
 * and in a batch 1.12 or 1.13 times as much. */
static int check_gcm_batch_rule_of(unsigned slower)
{
    const unsigned side[2] = {slower & 1, slower >> 2 & 1}, stream[2] = {slower >> 1 & 1, slower >> 3 & 1};
    sealane_batch of_level = {.kernel = wrong_batch_tag, .group = 4, .least = 768, .below = 2289}, b[2];
    sealane_gcm_batch_times t;
    memset(of_level.from, 4, sizeof of_level.from);
    for (unsigned way = 0; way < SEALANE_GCM_WAYS; way++)
        for (int i = 0; i < 2; i++) {
            t.single[i][way] = way == SEALANE_GCM_STREAM ? 300 : 100;
            t.batch[i][way] = t.single[i][way] * (112 + (way == SEALANE_GCM_STREAM ? stream[i] : side[i])) / 100;
        }
    sealane_gcm_batch_rule(b, &of_level, &t);
    for (int i = 0; i < 2; i++) {
        const unsigned want_side = side[i] ? 0 : 4, want_stream = stream[i] ? 0 : 4;
        const unsigned classes = want_stream ? SEALANE_BATCH_CLASSES : want_side;
        if (b[i].from[0] != want_side || b[i].from[3] != want_side || b[i].from[4] != want_stream ||
            b[i].from[31] != want_stream || b[i].classes != classes || b[i].few != (classes ? 4 : UINT8_MAX) ||
            b[i].least != (want_stream ? 768 : 0) || b[i].below != (want_stream ? 2289 : 0))
            return fail("AES-GCM, slower %x: %s: %u classes, from %u and %u", slower, i ? "open" : "seal", b[i].classes,
                        b[i].from[0], b[i].from[31]);
    }
    return 1;
}

static int check_gcm_batch_rule(void)
{
    for (unsigned slower = 0; slower < 16; slower++)
        if (!check_gcm_batch_rule_of(slower))
            return 0;
    return 1;
}

static int check_batch_rule(void)
{
    return check_batch_rule_of(10, 20) && check_batch_rule_of(2, 10) && check_gcm_batch_rule();
}

/* Where nothing can be measured, as no key can be made or in the time there is, a batch stays what it was: there is no
 * level behind the last.
 */
static int check_batch_without_times(void)
{
    const sealane_table *t = &sealane_tables[SEALANE_CHACHA20POLY1305], *gcm = &sealane_tables[SEALANE_AESGCM];
    sealane_batch batch, before, both[2];
    memset(&batch, 3, sizeof batch);
    before = batch;
    if (sealane_batch_measured(&batch, t, t->levels + t->count, UINT32_MAX) ||
        sealane_gcm_batch_measured(both, gcm, gcm->levels + gcm->count, UINT32_MAX))
        return fail("batches were measured without a key");
    if (sealane_batch_measured(&batch, t, t->levels + t->count - 1, 0))
        return fail("batches were measured in no time");
    return memcmp(&batch, &before, sizeof batch) == 0 || fail("a rule without times");
}

/* 0 if the batches of the level that is named go by the table, 1 if not. */
static int batches_of_named(const sealane_table *t, const sealane_level *level)
{
    const pid_t child = fork();
    if (child == 0) {
        setenv("SEALANE_CPU", level->name, 1);
        for (uint64_t i = 0; i < 2; i++)
            if (sealane_batch_of_process(t, level, i * SEALANE_FLAG_OPEN) != &level->batch)
                _exit(1);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* What a process finds for itself uses the level's kernel and stays the same. */
static int is_of_process(const sealane_table *t, const sealane_level *level, uint64_t direction)
{
    const sealane_batch *b = sealane_batch_of_process(t, level, direction);
    if (b == NULL || b->kernel != level->batch.kernel || b->consts != level->batch.consts ||
        b->classes > SEALANE_BATCH_CLASSES || b->few < 2 || b != sealane_batch_of_process(t, level, direction))
        return fail("%s: no batches, or others at the second call", level->name);
    for (unsigned class = 0; class < b->classes; class ++)
        if (b->from[class] == 1 || b->from[class] > SEALANE_BATCH_FROM_MAX)
            return fail("%s: from %u packets on", level->name, b->from[class]);
    return 1;
}

/* And is not asked for where a level is named: in children first, which would have what is found here. */
static int check_batches_of(const sealane_table *t, int named)
{
    for (const sealane_level *level = t->levels; level < t->levels + t->count; level++) {
        if (level->batch.kernel == NULL || (level->needs & ~sealane_cpu_features()) != 0)
            continue;
        if (named && batches_of_named(t, level))
            return fail("%s: named, its batches do not go by the table", level->name);
        for (uint64_t i = 0; i < 2 && !named; i++)
            if (!is_of_process(t, level, i * SEALANE_FLAG_OPEN))
                return 0;
        sealane_batch by_times = level->batch;
        if (!named && t == &sealane_tables[SEALANE_CHACHA20POLY1305] &&
            sealane_batch_measured(&by_times, t, level, UINT32_MAX) && by_times.few < 2)
            return fail("%s: from %u packets on, by times", level->name, by_times.few);
    }
    return 1;
}

static int check_batches_of_process(void)
{
    for (int named = 1; named >= 0; named--)
        if (!check_batches_of(&sealane_tables[SEALANE_CHACHA20POLY1305], named) ||
            !check_batches_of(&sealane_tables[SEALANE_AESGCM], named))
            return 0;
    return 1;
}
