/* A part of check.c: the choice of a level by its self-test, the microarchitecture and the environment. */

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

/* A batch kernel that fails its self-test is not used. A working one is used, and a level may have none. */
static int check_batch_selftest(const sealane_level *broken, const sealane_level *without)
{
    const sealane_table *table = &sealane_tables[SEALANE_CHACHA20POLY1305];
    const sealane_level sound = {.name = "sound", .batch = portable_batch};
    atomic_int outcome = 0, sound_outcome = 0, no_outcome = 0;
    for (int i = 0; i < 3; i++)
        if (sealane_batch_choose(table, corrupting_is("batch-self-test") ? &sound : broken, &outcome) != NULL)
            return fail("a batch kernel with a wrong answer was taken");
    if (sealane_batch_choose(table, &sound, &sound_outcome) != &sound.batch ||
        sealane_batch_choose(table, without, &no_outcome) != NULL)
        return fail("a good batch kernel was not taken, or one that there is not was");
    return 1;
}

/* A level that fails its self-test is reported, and the next one is used. A level that the CPU lacks is never
 * tested. */
static int check_selftest(void)
{
    const sealane_level levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_tag, .batch = {.kernel = wrong_batch_tag}},
        {.name = "portable", .kernel = sealane_chacha20poly1305_portable},
    };
    const sealane_level gcm_levels[] = {
        {.name = "absent", .needs = (uint32_t)1 << 31},
        {.name = "broken", .kernel = wrong_gcm_tag},
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
        const uint32_t features = ~((uint32_t)1 << 31);
        if (sealane_level_choose(&table, 0, features) != 2)
            return fail("%s: a level with a wrong answer was taken", table.primitive);
        if (!sealane_level_failed(&table, 0, features, 2) || sealane_level_failed(&table, 0, features, 1) ||
            sealane_level_failed(&table, 2, features, 2))
            return fail("%s: a failure was not told, or one that there was not", table.primitive);
        table.count = 2;
        if (sealane_level_choose(&table, 0, features) != -1 || !sealane_level_failed(&table, 0, features, -1))
            return fail("%s: a level was taken though none works", table.primitive);
    }
    return check_batch_selftest(&levels[1], &levels[2]);
}

/* Each entry of microarchitectures applies to the CPUs that it names, and to no others. */
static int check_microarchitecture(void)
{
    const sealane_microarchitecture *last = sealane_microarchitectures;
    while (last->vendor != 0)
        last++;
    for (const sealane_microarchitecture *m = sealane_microarchitectures; m < last; m++) {
        const struct {
            uint32_t vendor, model;
            const sealane_microarchitecture *want;
        } cases[] = {
            {m->vendor, m->from, m},      {m->vendor, m->to, m},          {m->vendor, m->from - 1, last},
            {m->vendor, m->to + 1, last}, {m->vendor + 1, m->from, last}, {0, m->from, last},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (sealane_microarchitecture_of(cases[i].vendor, cases[i].model + (corrupting_is("microarchitecture"))) !=
                cases[i].want)
                return fail("%s: case %zu", m->name, i);
    }
    return 1;
}

/* The start of the choice for each microarchitecture and cap. */
static int check_start(void)
{
#if defined(SEALANE_X86_64_KERNELS)
    static const struct {
        uint32_t vendor, family;
        const char *cap, *start;
    } cases[] = {
        {0x68747541, 26, NULL, "avx512"},    /* AMD, Zen 5 */
        {0x68747541, 27, NULL, "avx512"},    /* future AMD */
        {0x68747541, 25, NULL, "avx512mix"}, /* AMD, Zen 3 and 4 */
        {0x756e6547, 6, NULL, "avx512mix"},  /* Intel */
        {0x756e6547, 26, NULL, "avx512mix"}, /* Intel, any family */
        {0, 0, NULL, "avx512mix"},           /* unknown CPU */
        {0x756e6547, 6, "avx512", "avx512"}, /* named explicitly */
        {0x68747541, 26, "avx512mix", "avx512mix"},
        {0x68747541, 26, "avx512vl", "avx512vl"},
        {0x756e6547, 6, "aesni", "ssse3"}, /* a level of another primitive: the next lower one */
        {0x756e6547, 6, "ce", "portable"},
        {0x756e6547, 6, "portable", "portable"},
    };
#elif defined(SEALANE_AARCH64_KERNELS)
    static const struct {
        uint32_t vendor, family;
        const char *cap, *start;
    } cases[] = {
        {0x41, 0xd08, NULL, "neon6"},    /* Cortex-A72 */
        {0x41, 0xd03, NULL, "neon"},     /* Cortex-A53 */
        {0x51, 0xd08, NULL, "neon"},     /* the same part number of another implementer */
        {0, 0, NULL, "neon"},            /* unknown CPU */
        {0x41, 0xd03, "neon6", "neon6"}, /* named explicitly */
        {0x41, 0xd03, "avx512", "neon"}, /* a level of another primitive */
        {0x41, 0xd08, "ce", "neon6"},
        {0x41, 0xd08, "neon", "neon"},
        {0x41, 0xd08, "portable", "portable"},
    };
#else
    static const struct {
        uint32_t vendor, family;
        const char *cap, *start;
    } cases[] = {{0, 0, "portable", "portable"}};
#endif
    const sealane_table *t = &sealane_tables[SEALANE_CHACHA20POLY1305];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int cap = cases[i].cap == NULL ? -1 : 0;
        while (cap >= 0 && strcmp(sealane_level_names[cap], cases[i].cap) != 0)
            cap++;
        const sealane_microarchitecture *m = sealane_microarchitecture_of(cases[i].vendor, cases[i].family);
        const char *start = t->levels[sealane_level_start(t, m, cap)].name;
        if (strcmp(start, cases[i].start) != 0)
            return fail("%s under %s: %s instead of %s", m->name, cases[i].cap ? cases[i].cap : "no cap", start,
                        cases[i].start);
    }
    return 1;
}

/* The effect of the environment, each case in a process of its own: the level, and WARNED if the library has a warning.
 * Any output to standard error is a fault. */
enum { WARNED = 64 };

static int chosen_under(const sealane_table *table, const char *cpu, const char *asm_switch)
{
    int ends[2];
    char complaint;
    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0)
            _exit(99);
        cpu ? setenv("SEALANE_CPU", cpu, 1) : unsetenv("SEALANE_CPU");
        asm_switch ? setenv("SEALANE_ASM", asm_switch, 1) : unsetenv("SEALANE_ASM");
        const int early = sealane_warning() != NULL || corrupting_is("warning");
        const int level = sealane_level_of_process(table);
        _exit(early ? 98 : level + (sealane_warning() != NULL ? WARNED : 0));
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[1]);
    const ssize_t n = read(ends[0], &complaint, 1);
    close(ends[0]);
    return WIFEXITED(status) && n == 0 ? WEXITSTATUS(status) : -1;
}

static int environment_obeyed(const sealane_table *t)
{
    const int last = (int)t->count - 1, best = chosen_under(t, NULL, NULL);
    if (best < 0 || best > last)
        return fail("%s: no level was chosen", t->primitive);
    if (chosen_under(t, "portable", NULL) != last || chosen_under(t, NULL, "0") != last ||
        chosen_under(t, "avx512", "0") != last)
        return fail("%s: SEALANE_CPU=portable or SEALANE_ASM=0 was not obeyed", t->primitive);
    if (chosen_under(t, "no-such-level", NULL) != best + WARNED || chosen_under(t, NULL, "off") != best + WARNED ||
        chosen_under(t, "", NULL) != best || chosen_under(t, NULL, "") != best || chosen_under(t, NULL, "1") != best)
        return fail("%s: an environment without meaning changed the level, or there was no warning", t->primitive);
    for (int i = 0; i <= last; i++)
        if ((t->levels[i].needs & ~sealane_cpu_features()) == 0 && chosen_under(t, t->levels[i].name, NULL) != i)
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, t->levels[i].name);
    return 1;
}

static void SEALANE_KERNEL_ABI idle_kernel(const void *args, void *scratch, const void *consts)
{
    (void)args, (void)scratch, (void)consts;
}

/* Replaces the kernel of a level in the process's own table by one that does nothing, so that it fails its known-answer
 * test. Some linkers put code into the pages of the table. */
static int make_fail(const sealane_level *level, int batch)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)level & ~(page - 1);
    const size_t bytes = (uintptr_t)(level + 1) - first;
    sealane_level *const changed = (sealane_level *)(uintptr_t)level;
    if (mprotect((void *)first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
        mprotect((void *)first, bytes, PROT_READ | PROT_WRITE) != 0)
        return 0;
    if (!corrupting_is("failing-level"))
        *(batch ? &changed->batch.kernel : &changed->kernel) = idle_kernel;
    return 1;
}

/* A process in which a level, or its batch kernel, fails: returns the level that it uses, and whether it has batches
 * and a warning. */
enum { BATCHES = 32 };

static int chosen_with_failing(const sealane_table *table, int place, int batch)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("SEALANE_CPU", table->levels[place].name, 1);
        if (!make_fail(&table->levels[place], batch))
            _exit(99);
        const int level = sealane_level_of_process(table);
        const int has_batches = level >= 0 && sealane_level_batch(table, &table->levels[level]) != NULL;
        const char *warning = sealane_warning();
        const int told = warning != NULL && strstr(warning, batch ? "batches fail" : "a level fails") == warning;
        _exit((level & 15) + (has_batches ? BATCHES : 0) + (told ? WARNED : 0));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In a whole process: the level fails, sealane_warning reports it, and the next level that the CPU runs is used. */
static int check_failing(void)
{
    for (int t = 0; t < SEALANE_ALL_TABLES; t++) {
        const sealane_table *table = &sealane_tables[t];
        for (int i = 0; i < (int)table->count; i++) {
            const sealane_level *level = &table->levels[i];
            if ((level->needs & ~sealane_cpu_features()) != 0)
                continue;
            int next = i + 1;
            while (next < (int)table->count && (table->levels[next].needs & ~sealane_cpu_features()) != 0)
                next++;
            const int want = next == (int)table->count ? 15 : next; /* 15: not a level */
            if ((chosen_with_failing(table, i, 0) & ~BATCHES) != want + WARNED)
                return fail("%s: %s fails, and another level than %d is taken, or there is no warning",
                            table->primitive, level->name, want);
            if (level->batch.kernel != NULL && chosen_with_failing(table, i, 1) != i + WARNED)
                return fail("%s: batches of %s fail, and are used, or there is no warning", table->primitive,
                            level->name);
        }
    }
    return 1;
}

/* A level that a primitive lacks counts as one between those that it has. */
static int check_environment(void)
{
    static const struct {
        int table;
        const char *cap, *level;
    } between[] = {
        /* Versions of clang-format format a condition among the rows differently. */
        /* clang-format off */
        {SEALANE_CHACHA20POLY1305, "aesniavx", "ssse3"},
        {SEALANE_CHACHA20POLY1305, "aesni", "ssse3"},
#if defined(__aarch64__)
        {SEALANE_CHACHA20POLY1305, "ce", "neon"},
#elif defined(__arm__)
        {SEALANE_CHACHA20POLY1305, "ce32", "neon"},
#elif defined(__x86_64__)
        {SEALANE_CHACHA20MASKS, "ssse3", "portable"},
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
        if (chosen_under(t, between[i].cap, NULL) != (want > best ? want : best))
            return fail("%s: SEALANE_CPU=%s was not obeyed", t->primitive, between[i].cap);
    }
    return 1;
}
