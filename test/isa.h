/* A part of check.c: the isa lines of the assembly files and the table of levels ask for the same features. */

/* The features that the isa line of an assembly file names; 0 and a failure, or -1 if there is no such file. */
static int isa_line(const char *path, uint32_t *named)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } features[] = {
#if defined(__x86_64__)
#define X(id, name) {SEALANE_X86_##id, name},
        SEALANE_X86_FEATURES(X)
#else
#define X(id, name) {SEALANE_ARM_##id, name},
        SEALANE_ARM_FEATURES(X)
#endif
#undef X
    };
    const size_t count = sizeof features / sizeof *features;
    char line[512], *at = NULL;
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    while (at == NULL && fgets(line, sizeof line, f))
        if (strncmp(line, "isa ", 4) == 0 || strncmp(line, "    isa ", 8) == 0)
            at = strstr(line, "isa ") + 4;
    fclose(f);
    if (at == NULL)
        return fail("%s has no isa line", path);
    *named = 0;
    for (char *word = strtok(at, " ,\t\n"); word; word = strtok(NULL, " ,\t\n")) {
        size_t j = 0;
        while (j < count && strcmp(features[j].name, word + (*word == '.')) != 0)
            j++;
        if (j == count && strcmp(word, ".sse2") != 0)
            return fail("%s: unknown extension %s", path, word);
        *named |= j < count ? features[j].bit : 0;
    }
    if (corrupting_is("isa"))
        *named ^= features[count - 1].bit;
    return 1;
}

/* Features that the isa lines of a level's kernels name are those that the level asks for. */
static int check_isa(void)
{
#if defined(__aarch64__)
    static const char folder[] = "aarch64";
#elif defined(__arm__)
    static const char folder[] = "arm";
#else
    static const char folder[] = "x86_64";
#endif
    for (int t = 0; t < SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i + 1 < sealane_tables[t].count; i++)
            for (int batch = 0; batch < 2; batch++) {
                const sealane_level *level = &sealane_tables[t].levels[i];
                char path[256];
                uint32_t named = 0;
                const char *name = level->name;
                if (batch && level->batch.kernel == NULL)
                    continue;
                for (unsigned j = i; batch && j < sealane_tables[t].count; j++)
                    if (sealane_tables[t].levels[j].batch.kernel == level->batch.kernel)
                        name =
                            sealane_tables[t].levels[j].name; /* of levels that share it, the last gives it its name */
                snprintf(path, sizeof path, "asm/%s/%s%s_%s.S", folder, sealane_tables[t].primitive,
                         batch ? "_batch" : "", name);
                const int found = isa_line(path, &named);
                if (found != 1)
                    return found;
                if (strcmp(folder, "x86_64") == 0 && (named & SEALANE_X86_AVX2))
                    named &= ~(uint32_t)SEALANE_X86_AVX; /* implied */
                if (strcmp(name, level->name) == 0 ? named != level->needs : (named & ~level->needs) != 0)
                    return fail("%s: the isa line names %#x, the table %#x", path, named, level->needs);
            }
    return 1;
}
