/* Levels that the environment and the program allow. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#elif !defined(_WIN32)
#include <unistd.h>
#endif

#include "../include/sealane.h"
#include "level.h"

#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
extern int issetugid(void); /* from unistd.h, unless a macro of some system hides it */
#endif

/* Whether this process is privileged, so that the environment of its caller is not trusted. Such are set-uid and
 * set-gid programs, and on Linux also those with file capabilities or marked by security modules. Linux reports it
 * without a system call. */
static int privileged(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || \
    defined(__DragonFly__)
    return issetugid();
#elif defined(_WIN32)
    return 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

/* The index of a name, or -1 if no build has it. */
static int place_of(const char *name)
{
    for (unsigned i = 0; i < sealane_level_name_count; i++)
        if (strcmp(sealane_level_names[i], name) == 0)
            return (int)i;
    return -1;
}

static int is_of_this_build(const char *name)
{
    for (unsigned t = 0; t < SEALANE_ALL_TABLES; t++)
        if (sealane_level_find(&sealane_tables[t], name) >= 0)
            return 1;
    return 0;
}

/* The cap from the environment, or -1 if there is none. *meaningless: whether a variable has an invalid value. */
static int cap_of_environment(int *meaningless)
{
    *meaningless = 0;
    if (privileged())
        return -1;
    const char *asm_switch = getenv("SEALANE_ASM"), *name = getenv("SEALANE_CPU");
    if (asm_switch != NULL && strcmp(asm_switch, "0") == 0)
        return (int)sealane_level_name_count - 1;
    *meaningless = asm_switch != NULL && *asm_switch != 0 && strcmp(asm_switch, "1") != 0;
    if (name == NULL || *name == 0)
        return -1;
    if (is_of_this_build(name))
        return place_of(name);
    *meaningless = 1;
    return -1;
}

enum { SETTLED = 1 << 8 }; /* set once levels are chosen: a later cap of the program has no effect */

static atomic_int program_cap; /* 0: no cap; otherwise an index + 1 */

int sealane_set_max_level(const char *name)
{
    if (name == NULL)
        return SEALANE_NULL;
    if (place_of(name) < 0)
        return SEALANE_INVALID_LEVEL;
    const int cap = is_of_this_build(name) ? place_of(name) : -1; /* names of other architectures cap nothing */
    int before = atomic_load(&program_cap);
    do {
        if (before & SETTLED)
            return SEALANE_TOO_LATE;
    } while (!atomic_compare_exchange_weak(&program_cap, &before, cap + 1));
    return SEALANE_OK;
}

static atomic_int environment_is_meaningless;

int sealane_cap_of_process(void)
{
    static atomic_int environment_cap; /* 0: not read yet; 1: no cap; otherwise an index + 2 */
    const int program = (atomic_fetch_or(&program_cap, SETTLED) & ~SETTLED) - 1;
    int known = atomic_load(&environment_cap);
    if (known == 0) {
        int meaningless;
        const int read = cap_of_environment(&meaningless) + 2;
        if (atomic_compare_exchange_strong(&environment_cap, &known, read)) {
            known = read;
            atomic_store(&environment_is_meaningless, meaningless);
        }
    }
    return program > known - 2 ? program : known - 2;
}

int sealane_environment_is_meaningless(void)
{
    return atomic_load(&environment_is_meaningless);
}
