/* A part of check.c: sealane_set_max_level. Each case runs in a process of its own, which exits with 0 if it passes. */

static int process_level(int t)
{
    return sealane_level_of_process(&sealane_tables[t]);
}

static int has_only_portable(int t)
{
    const sealane_table *table = &sealane_tables[t];
    return sealane_level_choose(table, 0, sealane_cpu_features()) == (int)table->count - 1;
}

static int is_portable(int t)
{
    return process_level(t) == (int)sealane_tables[t].count - 1;
}

static int cap_holds(void)
{
    return sealane_set_max_level("portable") == SEALANE_OK && is_portable(0) && is_portable(1);
}

static int last_cap_counts(void)
{
    return sealane_set_max_level("avx512") == SEALANE_OK && sealane_set_max_level("portable") == SEALANE_OK &&
           is_portable(0) && is_portable(1);
}

static int cap_is_lifted(void)
{
    setenv("SEALANE_CPU", "portable", 1); /* the environment is not counted */
    return sealane_set_max_level("portable") == SEALANE_OK && sealane_set_max_level("avx512") == SEALANE_OK &&
           is_portable(0) && is_portable(1);
}

static int environment_cannot_raise(void)
{
    setenv("SEALANE_CPU", "avx512", 1);
    setenv("SEALANE_ASM", "1", 1);
    return sealane_set_max_level("portable") == SEALANE_OK && is_portable(0) && is_portable(1);
}

static int wrong_caps_are_refused(void)
{
    return sealane_set_max_level(NULL) == SEALANE_NULL && sealane_set_max_level("") == SEALANE_INVALID_LEVEL &&
           sealane_set_max_level("avx-512") == SEALANE_INVALID_LEVEL && is_portable(1) == has_only_portable(1);
}

static int cap_comes_too_late(void)
{
    sealane_key k;
    const int before = sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, (const uint8_t[32]){0}, 32),
              level = process_level(0);
    const int late = sealane_set_max_level("portable");
    return before == SEALANE_OK && late == SEALANE_TOO_LATE && process_level(0) == level &&
           is_portable(1) == has_only_portable(1);
}

/* The best name caps nothing, and a named level is used on any microarchitecture. */
static int name_is_taken(void)
{
    setenv("SEALANE_CPU", sealane_tables[0].levels[0].name, 1);
    return process_level(0) == sealane_level_choose(&sealane_tables[0], 0, sealane_cpu_features());
}

static int highest_cap_is_taken(void)
{
    return sealane_set_max_level(sealane_tables[0].levels[0].name) == SEALANE_OK &&
           process_level(0) == sealane_level_choose(&sealane_tables[0], 0, sealane_cpu_features());
}

/* It has a place in the order of all names, above or below those of this one. */
static int another_architecture_caps_nothing(void)
{
    const sealane_table *t = &sealane_tables[0];
    const unsigned start = sealane_level_start(t, sealane_microarchitecture_of_process(), -1);
#if defined(__x86_64__)
    const char *const foreign = "neon";
#else
    const char *const foreign = "avx512";
#endif
    return sealane_set_max_level(foreign) == SEALANE_OK &&
           process_level(0) == sealane_level_choose(t, start, sealane_cpu_features());
}

static int wrong_key_settles_nothing(void)
{
    sealane_key k;
    return sealane_key_init(&k, SEALANE_CHACHA20_POLY1305, (const uint8_t[32]){0}, 31) == SEALANE_INVALID_KEY &&
           sealane_set_max_level("portable") == SEALANE_OK && is_portable(0);
}

static int environment_is_read_once(void)
{
    process_level(0);
    setenv("SEALANE_CPU", "portable", 1);
    return is_portable(1) == has_only_portable(1);
}

static void *set_portable(void *result)
{
    *(int *)result = sealane_set_max_level("portable");
    return NULL;
}

static int race_has_one_outcome(void)
{
    pthread_t thread;
    int result = 1;
    if (pthread_create(&thread, NULL, set_portable, &result) != 0)
        return 0;
    for (unsigned i = 0, n = (unsigned)below(1 << 16); i < n; i++)
        keep_stores(&i);
    const int portable = is_portable(0);
    pthread_join(thread, NULL);
    return has_only_portable(0) ||
           (portable ? result == SEALANE_OK : result == SEALANE_TOO_LATE && is_portable(1) == has_only_portable(1));
}

static int check_max_level(void)
{
    static const struct {
        const char *name;
        int (*holds)(void);
        int times;
    } cases[] = {
        {"a cap", cap_holds, 1},
        {"the last of two caps", last_cap_counts, 1},
        {"a cap that is lifted", cap_is_lifted, 1},
        {"a higher level in the environment", environment_cannot_raise, 1},
        {"names that there are not", wrong_caps_are_refused, 1},
        {"a cap after the first key", cap_comes_too_late, 1},
        {"the best level by name", name_is_taken, 1},
        {"the best level as a cap", highest_cap_is_taken, 1},
        {"a name of another architecture", another_architecture_caps_nothing, 1},
        {"a wrong key", wrong_key_settles_nothing, 1},
        {"the environment after the first key", environment_is_read_once, 1},
        {"a cap beside the first key", race_has_one_outcome, 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 0; n < cases[i].times; n++) {
            int status = -1;
            fflush(stdout);
            below(2);
            const pid_t child = fork();
            if (child == 0) {
                unsetenv("SEALANE_CPU"), unsetenv("SEALANE_ASM");
                _exit(!cases[i].holds());
            }
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return fail("%s", cases[i].name);
        }
    return 1;
}
