/* secret_trace: the executed instructions, their memory addresses and masks are the same for any two secrets of one
 * length. Runs natively, so it covers every level that the CPU has.
 *
 * Calls run with the CPU's trap flag, which raises SIGTRAP after every instruction. The handler records the program
 * counter, the effective address of each memory operand, and the mask register of a masked access. The operands come
 * from a disassembly of this program (llvm-objdump), which is linked statically so that it is complete. Divisions and
 * gathers are always reported, because their time depends on their operands.
 *
 *     secret_trace                 all levels
 *     secret_trace --long=SECONDS  the same with more lengths and more secrets, for that time per level;
 *                                  calls for which there was no time count as not run
 *     secret_trace --plant=NAME    code that leaks, see planted.h; must fail */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../src/aesmodes.h"
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
    const char *refuse; /* why the instruction must not be executed, or NULL */
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

/* Parses "base + scale*index - offset" up to the bracket. Returns 0 for any other content. */
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
        end[strcspn(end, "#\n")] = 0; /* the disassembler's comments */
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
    const char *refused; /* an instruction that must not be executed */
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

static uint64_t value(const greg_t *r, int number, uint8_t wide, uint64_t next)
{
    static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    if (number == NO_REGISTER)
        return 0;
    const uint64_t v = number == RIP ? next : (uint64_t)r[places[number]];
    return wide == 4 ? (uint32_t)v : v;
}

/* A mask register, from its place in the XSAVE area according to CPUID (leaf 13, component 5). */
static uint64_t mask_register(const ucontext_t *context, int number)
{
    static uint32_t place;
    uint32_t a, c, d;
    uint64_t mask;
    if (place == 0)
        __get_cpuid_count(13, 5, &a, &place, &c, &d);
    memcpy(&mask, (const uint8_t *)context->uc_mcontext.fpregs + place + 8 * number, 8);
    return mask;
}

enum { TRAP_FLAG = 0x100 };

static trace *tracing;

__attribute__((noinline)) static void trace_end(void)
{
    __asm__ volatile("nop");
}

static void on_trap(int number, siginfo_t *info, void *context_pointer)
{
    ucontext_t *context = context_pointer;
    greg_t *r = context->uc_mcontext.gregs;
    trace *t = tracing;
    const uint64_t pc = (uint64_t)r[REG_RIP];
    (void)number, (void)info;
    if (pc == (uint64_t)(uintptr_t)trace_end) {
        r[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    const instruction *i = instruction_at(pc);
    record(t, pc, pc);
    t->steps++;
    if (i == NULL || i->refuse) {
        t->refused = i ? i->refuse : "an instruction outside the disassembly";
        t->refused_pc = pc;
        r[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    for (int o = 0; o < i->operands; o++) {
        const operand *m = &i->memory[o];
        record(t, pc,
               value(r, m->base, m->wide, i->next) + (uint64_t)m->scale * value(r, m->index, m->wide, i->next) +
                   (uint64_t)m->offset);
    }
    if (i->stack)
        record(t, pc, (uint64_t)r[REG_RSP]);
    if (i->mask >= 0)
        record(t, pc, mask_register(context, i->mask));
}

static void set_up_traps(void)
{
    static uint8_t stack[1 << 17];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&alternative, NULL);
    sigaction(SIGTRAP, &action, NULL);
}

/* ---- Traced calls ---- */

typedef struct {
    const char *name;
    int level, plant; /* plant: -1, or the fault to run instead */
    size_t bytes, ad_bytes;
    sealane_alg alg;
    enum { SEAL, OPEN, OPEN_WRONG, STREAM, BATCH_SEAL, BATCH_OPEN, BATCH_KERNEL, MODE, POLYVAL } what;
    int table, operation; /* of MODE */
} scenario;

enum { LONGEST = 4096 };

static uint8_t key[32], nonce[24], ad[256], text[LONGEST], out[LONGEST], tag[16];
static sealane_key k;

/* A batch of packets of up to s->bytes. */
enum { PACKETS = 19, FORGED = 4 };

static sealane_op ops[PACKETS];
static uint8_t texts[PACKETS][LONGEST], tags[PACKETS][16], computed[PACKETS][16];
static _Alignas(64) sealane_lane lanes[PACKETS];

static const sealane_batch *batch_of(sealane_alg alg, int level)
{
    return &table_of(alg)->levels[level].batch;
}

static size_t batch_bytes(const scenario *s, size_t i)
{
    return s->bytes - s->bytes / 4 * i / PACKETS;
}

/* Seals the batch that will be opened. For the interface, the same packet is forged each time, each time elsewhere,
 * because erasing its text is no secret. For the kernel, first no packet is forged, and then one after the other. */
static int prepare_batch(const scenario *s, int number)
{
    const size_t nonce_bytes = s->alg == SEALANE_XCHACHA20_POLY1305 ? 24 : 12;
    const void *lane_key = is_gcm(s->alg) ? (const void *)gcm_key_of(&k) : key;
    for (size_t i = 0; i < PACKETS; i++) {
        memcpy(texts[i], text, LONGEST);
        ops[i] = (sealane_op){.out = texts[i],
                              .in = texts[i],
                              .in_bytes = batch_bytes(s, i),
                              .ad = ad,
                              .ad_bytes = s->ad_bytes,
                              .key = &k,
                              .nonce = nonce,
                              .nonce_bytes = nonce_bytes,
                              .tag = tags[i]};
        lanes[i] = (sealane_lane){slot(texts[i]), slot(texts[i]), batch_bytes(s, i), slot(ad),
                                  s->ad_bytes,    slot(lane_key), slot(nonce),       slot(computed[i])};
    }
    const int bad = sealane_seal_batch(ops, PACKETS) != PACKETS;
    if (s->what == BATCH_SEAL)
        memcpy(texts, text, LONGEST);
    else if (s->what == BATCH_OPEN)
        tags[FORGED][number * 4] ^= 0x10;
    else if (number > 0)
        texts[number % PACKETS][0] ^= 1;
    return bad;
}

static size_t key_size(sealane_alg alg)
{
    return alg == SEALANE_AES_128_GCM ? 16 : alg == SEALANE_AES_192_GCM ? 24 : 32;
}

/* AES-192-GCM represents nonces that are hashed. */
static size_t nonce_size(sealane_alg alg)
{
    return alg == SEALANE_XCHACHA20_POLY1305 || alg == SEALANE_AES_192_GCM ? 24 : 12;
}

/* Sets up a key and runs one operation of a mode, or masks. The text is secret, and so is the state if it is a
 * tweak.
 */
static void mode_call(const scenario *s)
{
    SEALANE_SCRATCH(scratch);
    static sealane_aes_schedules schedules;
    uint8_t state[16] = {7};
    const sealane_level *level = &sealane_tables[s->table].levels[s->level];
    const int has_lanes = s->table == SEALANE_CHACHA20MASKS || s->operation == SEALANE_AES_CBC_ENCRYPT ||
                          s->operation == SEALANE_AES_MASKS;
    const void *lane_key = s->table == SEALANE_CHACHA20MASKS ? (const void *)key : &schedules;
    static sealane_mode_lane mode_lanes[PACKETS];
    sealane_mode_args a = {.key = slot(&schedules), .operation = SEALANE_AES_SETUP};
    if (s->table == SEALANE_AES) {
        schedules.rounds = 6 + key_size(s->alg) / 4;
        memcpy(schedules.schedule, key, key_size(s->alg));
        level->kernel(&a, scratch, level->consts);
    }
    if (s->operation >= SEALANE_AES_XTS_ENCRYPT)
        memcpy(state, nonce, 16);
    for (size_t i = 0; i < PACKETS; i++)
        mode_lanes[i] =
            (sealane_mode_lane){.out = slot(texts[i]), .in = slot(text), .key = slot(lane_key), .chain = slot(tags[i])};
    a = (sealane_mode_args){
        .out = slot(out), .in = slot(text), .bytes = s->bytes, .key = slot(&schedules), .state = slot(state)};
    a.operation = (uint64_t)s->operation;
    if (has_lanes)
        a.lanes = slot(mode_lanes), a.count = s->bytes / 16 < PACKETS ? s->bytes / 16 : PACKETS, a.bytes_each = 48;
    level->kernel(&a, scratch, level->consts);
}

/* Makes the table of a hash key, and runs POLYVAL with it; all data is secret. */
static void polyval_call(const scenario *s)
{
    SEALANE_SCRATCH(scratch);
    static sealane_gcm_key made;
    const sealane_level *level = &sealane_tables[SEALANE_AESGCM].levels[s->level];
    sealane_packet_args a = {.key = slot(&made), .nonce = slot(key), .tag = slot(tag)};
    a.flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE | SEALANE_FLAG_POLYVAL;
    a.bytes = s->bytes < s->ad_bytes ? s->ad_bytes : s->bytes;
    level->kernel(&a, scratch, level->consts);
    a.ad = slot(ad), a.ad_bytes = s->ad_bytes, a.in = slot(text), a.bytes = a.total = s->bytes;
    a.flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | SEALANE_FLAG_POLYVAL;
    level->kernel(&a, scratch, level->consts);
}

__attribute__((noinline)) static int call(const scenario *s)
{
    const size_t nonce_bytes = nonce_size(s->alg);
    int bad = 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
                     :
                     : "i"(TRAP_FLAG)
                     : "memory", "cc");
    if (s->plant >= 0) {
        planted[s->plant].run(key);
    } else if (s->what == MODE) {
        mode_call(s);
    } else if (s->what == POLYVAL) {
        polyval_call(s);
    } else if (s->what == SEAL) {
        bad = sealane_key_init_at(&k, s->alg, key, key_size(s->alg), s->level);
        bad |= sealane_seal(&k, out, tag, nonce, nonce_bytes, ad, s->ad_bytes, text, s->bytes);
    } else if (s->what == STREAM) {
        sealane_stream stream;
        bad = sealane_stream_init(&stream, &k, SEALANE_STREAM_OPEN, nonce, nonce_bytes);
        bad |= sealane_stream_ad(&stream, ad, s->ad_bytes);
        bad |= sealane_stream_update(&stream, out, text, s->bytes / 3);
        bad |= sealane_stream_update(&stream, out + s->bytes / 3, text + s->bytes / 3, s->bytes - s->bytes / 3);
        bad |= sealane_stream_open_final(&stream, tag);
    } else if (s->what == BATCH_SEAL) {
        bad = sealane_seal_batch(ops, PACKETS) != PACKETS;
    } else if (s->what == BATCH_OPEN) {
        bad = sealane_open_batch(ops, PACKETS) != PACKETS - 1;
    } else if (s->what == BATCH_KERNEL) {
        SEALANE_BATCH_SCRATCH(scratch);
        const sealane_batch *batch = batch_of(s->alg, s->level);
        const sealane_batch_args a = {.lanes = slot(lanes), .count = PACKETS, .flags = SEALANE_FLAG_OPEN};
        batch->kernel(&a, scratch, batch->consts);
    } else {
        bad = sealane_open(&k, out, tag, nonce, nonce_bytes, ad, s->ad_bytes, text, s->bytes);
        bad = s->what == OPEN_WRONG ? !bad : bad;
    }
    trace_end();
    return !bad;
}

/* Sets all secrets: number 0 is zeroes, 2 is ones, others are random. */
static void choose_secrets(const scenario *s, int number)
{
    static uint8_t *const parts[] = {key, nonce, ad, text};
    static const size_t sizes[] = {sizeof key, sizeof nonce, sizeof ad, sizeof text};
    uint64_t x = 0x9e3779b97f4a7c15 * (uint64_t)(number + 1);
    for (int p = 0; p < 4; p++)
        for (size_t i = 0; i < sizes[p]; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            parts[p][i] = number == 0 ? 0 : number == 2 ? 0xff : (uint8_t)x;
        }
    memcpy(tags, ad, 16); /* states of lanes */
    if (s->plant >= 0 || s->what == MODE)
        return;
    int bad = sealane_key_init_at(&k, s->alg, key, key_size(s->alg), s->level);
    if (s->what >= BATCH_SEAL)
        bad |= prepare_batch(s, number);
    else if (s->what != SEAL)
        bad |= sealane_seal(&k, text, tag, nonce, nonce_size(s->alg), ad, s->ad_bytes, text, s->bytes);
    if (s->what == OPEN_WRONG)
        tag[number * 4] ^= 0x10; /* the position of the difference must not matter either */
    if (bad)
        exit(2);
}

/* 1 if the call gave the right result. */
static int run(trace *t, const scenario *s, int secret)
{
    choose_secrets(s, secret);
    t->count = t->steps = 0, t->refused = NULL;
    tracing = t;
    return call(s);
}

static const char *const what_names[] = {"seal",         "open",         "open a wrong tag", "stream",
                                         "seal a batch", "open a batch", "the batch kernel", "a mode",
                                         "POLYVAL"};

static void where(const scenario *s, uint64_t pc)
{
    printf("     %s, %s, %zu bytes, ad %zu: at %#llx\n", s->name, s->plant >= 0 ? "planted" : what_names[s->what],
           s->bytes, s->ad_bytes, (unsigned long long)pc);
}

/* 1 if all secrets give the same trace. */
static int same_for_all_secrets(const scenario *s, size_t *steps, int secrets)
{
    static trace first, next;
    for (int secret = 0; secret < secrets; secret++) {
        trace *t = secret ? &next : &first;
        if (!run(t, s, secret)) {
            printf("     %s: the traced call gave a wrong result\n", s->name);
            return 0;
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
    if (first.steps < 20)
        printf("     nothing was traced\n");
    return first.steps >= 20;
}

/* With --long: the deadline of the traced level, and the number of calls for which there was no time. */
static time_t deadline;
static unsigned left_out;

static int is_late(void)
{
    if (deadline == 0 || time(NULL) < deadline)
        return 0;
    left_out++;
    return 1;
}

static int trace_batches(int table, int level, size_t *steps, int thorough)
{
    static const size_t few[] = {64, 200, 300}, many[] = {0, 1, 16, 63, 64, 65, 128, 200, 300, 576, 1000, 1420};
    static const sealane_alg algs[2][BATCH_KERNEL - BATCH_SEAL + 1] = {
        {SEALANE_CHACHA20_POLY1305, SEALANE_XCHACHA20_POLY1305, SEALANE_CHACHA20_POLY1305},
        {SEALANE_AES_128_GCM, SEALANE_AES_256_GCM, SEALANE_AES_192_GCM},
    };
    const size_t *sizes = thorough ? many : few,
                 count = thorough ? sizeof many / sizeof *many : sizeof few / sizeof *few;
    for (size_t i = 0; i < count; i++)
        for (int what = BATCH_SEAL; what <= BATCH_KERNEL; what++) {
            const sealane_level *l = &sealane_tables[table].levels[level];
            scenario s = {.name = l->name, .level = level, .plant = -1, .bytes = sizes[i]};
            s.ad_bytes = sizes[i] * 7 % 40;
            s.what = (unsigned)what;
            s.alg = algs[table == SEALANE_AESGCM][what - BATCH_SEAL];
            const int slow = table == SEALANE_AESGCM && !(l->needs & SEALANE_X86_AES);
            if (what == BATCH_KERNEL ? l->batch.kernel == NULL : !thorough && i > 0)
                continue;
            if (slow && (!thorough || sizes[i] > 65))
                continue;
            if (what != BATCH_KERNEL && sizes[i] > 300) /* longer ones only repeat */
                continue;
            if (!is_late() && !same_for_all_secrets(&s, steps, thorough ? 4 : 2))
                return 0;
        }
    return 1;
}

/* The algorithm for size i: the algorithms of a table alternate. */
static sealane_alg algorithm(int table, size_t i, int what)
{
    static const sealane_alg gcm[] = {SEALANE_AES_128_GCM, SEALANE_AES_256_GCM, SEALANE_AES_192_GCM};
    if (table == SEALANE_AESGCM)
        return gcm[(i + (size_t)what) % 3];
    return (what == STREAM || what == SEAL) && i % 2 ? SEALANE_XCHACHA20_POLY1305 : SEALANE_CHACHA20_POLY1305;
}

/* Every operation of a mode, with alternating key lengths. */
static int trace_modes(int table, int level, size_t *steps, int thorough)
{
    static const sealane_alg algs[] = {SEALANE_AES_128_GCM, SEALANE_AES_256_GCM, SEALANE_AES_192_GCM};
    static const size_t fast[] = {9, 40, 1, 3, 17, 70}, slow[] = {3, 9, 1};
    const sealane_level *l = &sealane_tables[table].levels[level];
    const size_t *const blocks = l->needs == 0 ? slow : fast;
    const size_t count = l->needs == 0 ? (thorough ? 3 : 1) : thorough ? 6 : 3;
    const int first = table == SEALANE_AES ? SEALANE_AES_ECB_ENCRYPT : SEALANE_AES_MASKS;
    const int last = SEALANE_AES_CTR_LITTLE;
    for (size_t i = 0; i < count; i++)
        for (int operation = first; operation <= (table == SEALANE_AES ? last : SEALANE_AES_MASKS); operation++) {
            const scenario s = {.name = l->name,
                                .level = level,
                                .plant = -1,
                                .bytes = 16 * blocks[i],
                                .alg = algs[(i + (size_t)operation) % 3],
                                .what = MODE,
                                .table = table,
                                .operation = operation};
            if (!is_late() && !same_for_all_secrets(&s, steps, thorough ? 4 : 2))
                return 0;
        }
    return 1;
}

static int trace_level(int table, int level, size_t *steps, int thorough)
{
    static const size_t few[] = {0, 1, 64, 100, 256, 576, 3000};
    static const size_t gcm[] = {0, 1, 64, 100, 256, 400, 576, 700, 1420, 3000};
    static const size_t slow[] = {0, 150}; /* portable code has no special paths for long packets */
    /* AES by lookups processes two blocks at a time, for any length of text. */
    static const size_t lookups[] = {0, 1, 64, 100, 300};
    static const size_t many[] = {0,   1,   15,  16,  64,  65,  100,  128,  192,  255,  256, 257,
                                  300, 400, 512, 576, 640, 700, 1024, 1100, 1420, 2048, 3000};
    const uint32_t needs = sealane_tables[table].levels[level].needs;
    const int is_gcm = table == SEALANE_AESGCM, is_slow = needs == 0, by_lookups = is_gcm && !(needs & SEALANE_X86_AES);
    const size_t *const lists[] = {few, gcm, slow, many, lookups};
    const size_t counts[] = {sizeof few / sizeof *few, sizeof gcm / sizeof *gcm, sizeof slow / sizeof *slow,
                             sizeof many / sizeof *many, sizeof lookups / sizeof *lookups};
    const int list = thorough ? (is_gcm && is_slow ? 1 : 3) : is_slow ? 2 : by_lookups ? 4 : is_gcm;
    const size_t *const sizes = lists[list], count = counts[list];
    /* If there is not enough time: batches first, then every fifth length in five rounds. 23 is a prime number. */
    if (!trace_batches(table, level, steps, thorough))
        return 0;
    for (size_t n = 0; n < count; n++)
        for (int way = SEAL; way <= STREAM + is_gcm; way++) {
            const int what = way > STREAM ? POLYVAL : way;
            const size_t i = list == 3 ? n * 5 % count : n;
            scenario s = {.level = level, .plant = -1, .bytes = sizes[i]};
            s.name = sealane_tables[table].levels[level].name;
            s.ad_bytes = what == STREAM && i % 3 == 2 ? 100 : sizes[i] * 7 % 40;
            s.what = (unsigned)what;
            s.alg = algorithm(table, i, what);
            if (!is_late() && !same_for_all_secrets(&s, steps, thorough ? 4 : 2))
                return 0;
        }
    return 1;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0, not_run = 0;
    planted_init();
    if (!disassemble(argv[0])) {
        fprintf(stderr, "secret_trace: llvm-objdump cannot disassemble %s\n", argv[0]);
        return 2;
    }
    set_up_traps();
    const int thorough = argc > 1 && starts(argv[1], "--long=");
    const long seconds = thorough ? strtol(argv[1] + 7, NULL, 10) : 0;
    if (thorough && seconds <= 0)
        return 2;
    if (argc > 1 && !thorough) {
        size_t steps = 0;
        const int plant = starts(argv[1], "--plant=") ? planted_find(argv[1] + 8) : -1;
        const scenario s = {.name = argv[1] + 8, .plant = plant};
        return plant < 0 ? 2 : !same_for_all_secrets(&s, &steps, 2);
    }
    const uint32_t features = sealane_cpu_features();
    for (int table = 0; table < SEALANE_ALL_TABLES; table++)
        for (unsigned l = 0; l < sealane_tables[table].count; l++) {
            const sealane_level *level = &sealane_tables[table].levels[l];
            size_t steps = 0;
            const int absent = (level->needs & ~features) != 0;
            deadline = thorough ? time(NULL) + seconds : 0, left_out = 0;
            const int same = absent                    ? -1
                             : table >= SEALANE_TABLES ? trace_modes(table, (int)l, &steps, thorough)
                                                       : trace_level(table, (int)l, &steps, thorough);
            passed += same == 1, failed += same == 0, not_run += same == -1;
            not_run += left_out;
            printf("%s %s %s: %zu instructions traced%s",
                   same == 1   ? "ok  "
                   : same == 0 ? "FAIL"
                               : "not run",
                   sealane_tables[table].primitive, level->name, steps, absent ? ", this CPU lacks it" : "");
            if (left_out)
                printf(", no time for %u calls more", left_out);
            printf("\n");
            fflush(stdout);
        }
    printf("secret_trace: %u passed, %u failed, %u not run\n", passed, failed, not_run);
    return failed != 0;
}
