/* Runs machine code for machine.py. A request on standard input has the memory, the arguments and the number of calls.
   The answer on standard output has a number that depends on the kept parts and the bytes around them, then the parts
   that come back. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
/* With a window, call i has argument 0 increased by i * stride. The last WINDOW bytes of this record are copied to the
   window before the call, and back after it. */
static struct {
    uint64_t parts, arguments[3], calls, stride, window;
} head;
static struct {
    uint64_t start, bytes, back, kept;
} part[1000];

static unsigned char *at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

static unsigned char *first_page(uint64_t i)
{
    return at(part[i].start & ~UINT64_C(4095));
}

static unsigned char *last_page(uint64_t i)
{
    return at((part[i].start + part[i].bytes + 4095) & ~UINT64_C(4095));
}

static void in(void *p, size_t n)
{
    if (n && fread(p, n, 1, stdin) != 1)
        exit(0);
}

/* The code may change all registers that kernels may change in Go. */
static __attribute__((noinline)) void call(void *args, void *scratch, void *consts)
{
#if defined(__x86_64__)
    uintptr_t code = CODE;
    __asm__ volatile("call *%0"
                     : "+a"(code), "+D"(args), "+S"(scratch), "+d"(consts)::"memory", "cc", "rbx", "rcx", "r8", "r9",
                       "r10", "r11", "r12", "r13", "r14", "r15");
#elif defined(__aarch64__)
    register void *a __asm__("x0") = args, *b __asm__("x1") = scratch, *c __asm__("x2") = consts;
    register uintptr_t code __asm__("x3") = CODE;
    __asm__ volatile("blr %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(code)::"memory", "cc", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
                       "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
                       "x26", "x27", "x28", "x30", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15");
#elif defined(__mips__)
    register void *a __asm__("$4") = args, *b __asm__("$5") = scratch, *c __asm__("$6") = consts;
    register uintptr_t code __asm__("$25") = CODE;
    __asm__ volatile("jalr %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(code)::"memory", "$1", "$2", "$3", "$7", "$8", "$9", "$10",
                       "$11", "$12", "$13", "$14", "$15", "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$24", "$31",
                       "hi", "lo");
#elif defined(__riscv)
    register void *a __asm__("a0") = args, *b __asm__("a1") = scratch, *c __asm__("a2") = consts;
    register uintptr_t code __asm__("a3") = CODE;
    __asm__ volatile("jalr %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(code)::"memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
                       "a4", "a5", "a6", "a7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10");
#else
    register void *a __asm__("r0") = args, *b __asm__("r1") = scratch, *c __asm__("r2") = consts;
    register uintptr_t code __asm__("r3") = CODE;
    __asm__ volatile("blx %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(code)::"memory", "cc", "r4", "r5", "r6", "r7", "r8", "r9", "r11",
                       "r12", "lr", "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15");
#endif
}

static void request(void)
{
    in(&head, sizeof head);
    if (head.parts > 1000)
        exit(1);
    for (uint64_t i = 0; i < head.parts; i++) {
        in(&part[i], sizeof part[i]);
        unsigned char *p = first_page(i);
        if (mmap(p, (size_t)(last_page(i) - p), PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
            exit(1);
    }
    for (uint64_t i = 0; i < head.parts; i++)
        in(at(part[i].start), part[i].bytes);
    __builtin___clear_cache((char *)at(CODE), (char *)at(CODE + (1 << 20)));
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SECONDS}, NULL);
    for (uint64_t i = 0; i < head.calls; i++) {
        unsigned char *args = at(head.arguments[0] + i * head.stride);
        if (head.window)
            memcpy(at(head.window), args + head.stride - WINDOW, WINDOW);
        call(args, at(head.arguments[1]), at(head.arguments[2]));
        if (head.window)
            memcpy(args + head.stride - WINDOW, at(head.window), WINDOW);
    }
    uint64_t around = 0;
    for (uint64_t i = 0; i < head.parts; i++)
        for (unsigned char *p = first_page(i); part[i].kept && p < last_page(i); p += 8)
            around = (around ^ *(uint64_t *)(void *)p) * 0x9e3779b97f4a7c15 + 1;
    fwrite(&around, sizeof around, 1, stdout);
    for (uint64_t i = 0; i < head.parts; i++)
        if (part[i].back && part[i].bytes)
            fwrite(at(part[i].start), part[i].bytes, 1, stdout);
    fflush(stdout);
}

static void serve(void)
{
    for (;;)
        request();
}

/* The stack is here, because on 32-bit ARM the usual one may lie where a request has memory. */
int main(void)
{
    static _Alignas(64) char stack[1 << 18];
    static ucontext_t before, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = sizeof stack, there.uc_link = &before;
    makecontext(&there, serve, 0);
    return swapcontext(&before, &there);
}
