/* secret_trace: the executed instructions, the addresses they touch and their masks are the same for any two secrets of
 * one length. Works natively, so for every level that the CPU has.
 *
 * A child process runs one call; its parent single-steps it with ptrace and writes down, for every instruction, the
 * program counter, the effective address of each memory operand, and the mask register of a masked access. The operands
 * come from a disassembly of this very program (llvm-objdump), which is linked statically so that nothing is missing.
 * Divisions and gathers are reported wherever they are met: their time depends on their operands.
 *
 *     secret_trace                 all levels
 *     secret_trace --plant=NAME    code that leaks, see planted.h; must fail */
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/cpu.h"
#include "../src/key.h"
#include "planted.h"

/* ---- Memory operands of every instruction of this program ---- */

enum { NO_REGISTER = -1, RIP = 16, OPERANDS = 2 };

typedef struct {
    int8_t base, index, scale;
    uint8_t wide; /* bytes of the registers: 8, or 4 */
    int64_t offset;
} operand;

typedef struct {
    uint64_t pc, next;
    operand memory[OPERANDS];
    uint8_t operands;
    int8_t mask;        /* mask register of a masked access, or -1 */
    uint8_t stack;      /* pushes, pops, calls or returns */
    const char *refuse; /* why this instruction must not be executed, or NULL */
} instruction;

static instruction *code;
static size_t code_count;

static int register_number(const char *name, size_t n, uint8_t *wide)
{
    static const char *const names[2][17] = {{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10",
                                              "r11", "r12", "r13", "r14", "r15", "rip"},
                                             {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d",
                                              "r10d", "r11d", "r12d", "r13d", "r14d", "r15d", "eip"}};
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < 17; i++)
            if (strlen(names[w][i]) == n && memcmp(names[w][i], name, n) == 0) {
                *wide = w ? 4 : 8;
                return i;
            }
    return NO_REGISTER;
}

/* Reads "base + scale*index - offset" up to the bracket; 0 if it has something else in it. */
static int parse_operand(operand *o, const char *p)
{
    int sign = 1;
    *o = (operand){NO_REGISTER, NO_REGISTER, 1, 8, 0};
    while (*p != ']') {
        const size_t n = strcspn(p, " +-*]");
        char *end;
        int r = register_number(p, n, &o->wide);
        if (*p == ' ' || *p == '+') {
            sign = *p == '+' ? 1 : sign;
            p++;
        } else if (*p == '-') {
            sign = -1;
            p++;
        } else if (r != NO_REGISTER) {
            if (o->base == NO_REGISTER)
                o->base = (int8_t)r;
            else
                o->index = (int8_t)r;
            p += n;
        } else {
            const uint64_t number = strtoull(p, &end, 0);
            if (end == p)
                return 0;
            if (*end == '*') {
                const size_t length = strcspn(end + 1, " +-*]");
                o->scale = (int8_t)number;
                o->index = (int8_t)register_number(end + 1, length, &o->wide);
                if (o->index == NO_REGISTER)
                    return 0;
                p = end + 1 + length;
            } else {
                o->offset += sign * (int64_t)number;
                p = end;
            }
        }
    }
    return 1;
}

static int starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void parse_instruction(instruction *i, const char *text)
{
    const char *mask = strstr(text, "{k"), *p = text;
    i->mask = -1;
    i->stack = starts(text, "push") || starts(text, "pop") || starts(text, "call") || starts(text, "ret") ||
               starts(text, "leave");
    if (starts(text, "div") || starts(text, "idiv"))
        i->refuse = "a division";
    if (strstr(text, "gather") || strstr(text, "scatter"))
        i->refuse = "a gather or scatter";
    if (i->refuse || starts(text, "lea") || starts(text, "nop") || strstr(text, "prefetch"))
        return;
    while ((p = strchr(p, '[')) != NULL) {
        if (i->operands == OPERANDS || !parse_operand(&i->memory[i->operands++], ++p)) {
            i->refuse = "an operand that cannot be read";
            return;
        }
    }
    if (i->operands && mask)
        i->mask = (int8_t)(mask[2] - '0');
}

/* Lines of llvm-objdump: "  address: \tmnemonic\toperands". */
static int disassemble(const char *program)
{
    char command[4200], line[1024];
    size_t room = 0;
    snprintf(command, sizeof command, "%s -d --no-show-raw-insn --no-leading-headers --x86-asm-syntax=intel '%s'",
             getenv("OBJDUMP") ? getenv("OBJDUMP") : "llvm-objdump", program);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *end;
        const uint64_t pc = strtoull(line, &end, 16);
        if (end == line || end[0] != ':' || line[0] != ' ')
            continue;
        if (code_count == room) {
            room = room ? 2 * room : 1 << 16;
            code = realloc(code, room * sizeof *code);
            if (code == NULL)
                return 0;
        }
        if (code_count)
            code[code_count - 1].next = pc;
        instruction *i = &code[code_count++];
        *i = (instruction){.pc = pc};
        for (end++; *end == ' ' || *end == '\t'; end++)
            ;
        parse_instruction(i, end);
    }
    return f && pclose(f) == 0 && code_count > 1000;
}

static const instruction *instruction_at(uint64_t pc)
{
    size_t low = 0, high = code_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < code_count && code[low].pc == pc ? &code[low] : NULL;
}

/* ---- The trace ---- */

typedef struct {
    uint64_t *event, *pc;
    size_t count, room, steps;
    const char *refused; /* an instruction that must not be executed was */
    uint64_t refused_pc;
} trace;

static void record(trace *t, uint64_t pc, uint64_t event)
{
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 1 << 16;
        t->event = realloc(t->event, t->room * sizeof *t->event);
        t->pc = realloc(t->pc, t->room * sizeof *t->pc);
        if (t->event == NULL || t->pc == NULL)
            exit(2);
    }
    t->pc[t->count] = pc;
    t->event[t->count++] = event;
}

static uint64_t value(const struct user_regs_struct *r, int number, uint8_t wide, uint64_t next)
{
    const uint64_t values[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8,
                               r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, next};
    if (number == NO_REGISTER)
        return 0;
    return wide == 4 ? (uint32_t)values[number] : values[number];
}

/* A mask register, from the place in the XSAVE area that CPUID gives (leaf 13, component 5). */
static uint64_t mask_register(pid_t child, int number)
{
    static uint8_t area[16384];
    uint32_t a = 0, b = 0, c, d;
    uint64_t mask;
    struct iovec v = {area, sizeof area};
    __get_cpuid_count(13, 5, &a, &b, &c, &d);
    if (ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &v) != 0 || b + 64 > v.iov_len) {
        perror("PTRACE_GETREGSET");
        exit(2);
    }
    memcpy(&mask, area + b + 8 * number, 8);
    return mask;
}

static void step(trace *t, pid_t child, const struct user_regs_struct *r)
{
    const instruction *i = instruction_at(r->rip);
    record(t, r->rip, r->rip);
    t->steps++;
    if (i == NULL || i->refuse) {
        t->refused = i ? i->refuse : "an instruction outside the disassembly";
        t->refused_pc = r->rip;
        return;
    }
    for (int o = 0; o < i->operands; o++) {
        const operand *m = &i->memory[o];
        record(t, r->rip,
               value(r, m->base, m->wide, i->next) + (uint64_t)m->scale * value(r, m->index, m->wide, i->next) +
                   (uint64_t)m->offset);
    }
    if (i->stack)
        record(t, r->rip, r->rsp);
    if (i->mask >= 0)
        record(t, r->rip, mask_register(child, i->mask));
}

/* ---- What is traced ---- */

typedef struct {
    const char *name;
    int level, plant; /* plant: -1, or what to run instead */
    size_t bytes, ad_bytes;
    sealane_alg alg;
    enum { SEAL, OPEN, OPEN_WRONG, STREAM } what;
} scenario;

enum { LONGEST = 4096 };

static uint8_t key[32], nonce[24], ad[256], text[LONGEST], out[LONGEST], tag[16];
static sealane_key k;
static volatile int outcome;

__attribute__((noinline)) static void trace_end(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline)) static void call(const scenario *s)
{
    const size_t nonce_bytes = s->alg == SEALANE_CHACHA20_POLY1305 ? 12 : 24;
    int bad = 0;
    __asm__ volatile("int3");
    if (s->plant >= 0) {
        planted[s->plant].run(key);
    } else if (s->what == SEAL) {
        bad = sealane_key_init_at(&k, s->alg, key, 32, s->level);
        bad |= sealane_seal(&k, out, tag, nonce, nonce_bytes, ad, s->ad_bytes, text, s->bytes);
    } else if (s->what == STREAM) {
        sealane_stream stream;
        bad = sealane_stream_init(&stream, &k, SEALANE_STREAM_OPEN, nonce, nonce_bytes);
        bad |= sealane_stream_ad(&stream, ad, s->ad_bytes);
        bad |= sealane_stream_update(&stream, out, text, s->bytes / 3);
        bad |= sealane_stream_update(&stream, out + s->bytes / 3, text + s->bytes / 3, s->bytes - s->bytes / 3);
        bad |= sealane_stream_open_final(&stream, tag);
    } else {
        bad = sealane_open(&k, out, tag, nonce, nonce_bytes, ad, s->ad_bytes, text, s->bytes);
        bad = s->what == OPEN_WRONG ? !bad : bad;
    }
    outcome = bad;
    trace_end();
}

/* Fills every secret: number 0 with zeroes, 1 with ones, others at random. */
static void choose_secrets(const scenario *s, int number)
{
    static uint8_t *const parts[] = {key, nonce, ad, text};
    static const size_t sizes[] = {sizeof key, sizeof nonce, sizeof ad, sizeof text};
    uint64_t x = 0x9e3779b97f4a7c15 * (uint64_t)(number + 1);
    for (int p = 0; p < 4; p++)
        for (size_t i = 0; i < sizes[p]; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            parts[p][i] = number == 0 ? 0 : number == 1 ? 0xff : (uint8_t)x;
        }
    if (s->plant >= 0)
        return;
    int bad = sealane_key_init_at(&k, s->alg, key, 32, s->level);
    if (s->what != SEAL)
        bad |= sealane_seal(&k, text, tag, nonce, s->alg == SEALANE_CHACHA20_POLY1305 ? 12 : 24, ad, s->ad_bytes, text,
                            s->bytes);
    if (s->what == OPEN_WRONG)
        tag[number * 5] ^= 0x10; /* where they differ must not matter either */
    if (bad)
        exit(2);
}

/* -1 if this machine does not let us trace. */
static int run(trace *t, const scenario *s, int secret)
{
    struct user_regs_struct r;
    int status;
    choose_secrets(s, secret);
    t->count = t->steps = 0, t->refused = NULL;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        call(s);
        _exit(outcome);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) {
        if (ptrace(PTRACE_GETREGS, child, NULL, &r) != 0)
            return -1;
        if (r.rip == (uint64_t)(uintptr_t)trace_end)
            break;
        step(t, child, &r);
        if (t->refused || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
            break;
        waitpid(child, &status, 0);
    }
    if (t->refused) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return 1;
    }
    ptrace(PTRACE_CONT, child, NULL, NULL);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
}

static const char *const what_names[] = {"seal", "open", "open a wrong tag", "stream"};

static void where(const scenario *s, uint64_t pc)
{
    printf("     %s, %s, %zu bytes, ad %zu: at %#llx\n", s->name, s->plant >= 0 ? "planted" : what_names[s->what],
           s->bytes, s->ad_bytes, (unsigned long long)pc);
}

/* 1 if all secrets leave one trace, 0 if not, -1 if it could not be run. */
static int same_for_all_secrets(const scenario *s, size_t *steps)
{
    static trace first, next;
    for (int secret = 0; secret < 3; secret++) {
        trace *t = secret ? &next : &first;
        const int ran = run(t, s, secret);
        if (ran != 1) {
            printf("     %s: %s\n", s->name,
                   ran ? "ptrace is not allowed here" : "the traced call gave a wrong result");
            return ran;
        }
        *steps += t->steps;
        if (t->refused) {
            printf("     %s was executed\n", t->refused);
            where(s, t->refused_pc);
            return 0;
        }
        if (secret == 0)
            continue;
        for (size_t i = 0; i < first.count || i < next.count; i++)
            if (i >= first.count || i >= next.count || first.event[i] != next.event[i]) {
                printf("     two secrets differ in what is executed or touched\n");
                where(s, i < first.count ? first.pc[i] : next.pc[i]);
                return 0;
            }
    }
    return first.steps > 20 ? 1 : 0;
}

static int trace_level(int level, size_t *steps)
{
    static const size_t sizes[] = {0,   1,   15,  16,  64,  65,  100,  128,  192,  255,  256,
                                   257, 300, 512, 576, 640, 700, 1024, 1100, 1420, 2048, 3000};
    const int portable = strcmp(sealane_levels[level].name, "portable") == 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int what = SEAL; what <= STREAM; what++) {
            scenario s = {sealane_levels[level].name, level, -1, sizes[i], (sizes[i] * 7) % 40,
                          SEALANE_CHACHA20_POLY1305,  0};
            s.what = (unsigned)what;
            if (what == STREAM || what == SEAL)
                s.alg = i % 2 ? SEALANE_XCHACHA20_POLY1305 : SEALANE_CHACHA20_POLY1305;
            if (what == OPEN_WRONG && sizes[i] > 300)
                continue;
            if (portable && sizes[i] > 1100)
                continue; /* its loops have been round by then */
            const int same = same_for_all_secrets(&s, steps);
            if (same != 1)
                return same;
        }
    return 1;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0, not_run = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one); /* tracer and traced take turns: faster on one CPU */
    planted_init();
    if (!disassemble(argv[0])) {
        fprintf(stderr, "secret_trace: llvm-objdump cannot disassemble %s\n", argv[0]);
        return 2;
    }
    if (argc > 1) {
        size_t steps = 0;
        const int plant = starts(argv[1], "--plant=") ? planted_find(argv[1] + 8) : -1;
        const scenario s = {.name = argv[1] + 8, .plant = plant};
        if (plant < 0)
            return 2;
        return same_for_all_secrets(&s, &steps) == 0;
    }
    const uint32_t features = sealane_cpu_features();
    for (unsigned l = 0; l < sealane_level_count; l++) {
        size_t steps = 0;
        const int absent = (sealane_levels[l].needs & ~features) != 0;
        const int same = absent ? -1 : trace_level((int)l, &steps);
        passed += same == 1, failed += same == 0, not_run += same == -1;
        printf("%s %s: %zu instructions traced%s\n",
               same == 1   ? "ok  "
               : same == 0 ? "FAIL"
                           : "not run",
               sealane_levels[l].name, steps, absent ? ", this CPU lacks it" : "");
    }
    printf("secret_trace: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
