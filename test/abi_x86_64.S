/* Calls a kernel and records the registers that its calling convention preserves. Corrupters break each rule on
 * purpose.
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h; their layout: */
#define RBX 0
#define RBP 8
#define R12 16
#define R13 24
#define R14 32
#define R15 40
#define RDI 48          /* Windows only, as are xmm6 to xmm15 */
#define RSI 56
#define RSP 64
#define FLAGS 72
#define MXCSR 80
#define X87 96          /* fnstenv: 28 bytes, control word at 0, tag word at 8 */
#define VECTORS 128     /* 16 registers of 64 bytes */

    .intel_syntax noprefix
    .text

.macro vectors instruction, kind, to_memory, from=0
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .if \n >= \from
    .if \to_memory
        \instruction [rax + VECTORS + 64 * \n], \kind\n
    .else
        \instruction \kind\n, [rax + VECTORS + 64 * \n]
    .endif
    .endif
    .endr
.endm

    .globl abi_call
    .type abi_call, @function
abi_call:
    endbr64
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8 + 32     /* 32: the shadow space of the Windows convention */
    mov r11, rdi
    lea rax, [rip + abi_before]
    cmp dword ptr [rip + abi_vector_bytes], 32
    jb 1f
    vzeroupper
1:
    mov rbx, [rax + RBX]
    mov rbp, [rax + RBP]
    mov r12, [rax + R12]
    mov r13, [rax + R13]
    mov r14, [rax + R14]
    mov r15, [rax + R15]
    mov [rax + RSP], rsp
    stmxcsr [rax + MXCSR]
    fnstenv [rax + X87]
    fldenv [rax + X87]
    cld
#if defined(SEALANE_TEST_WIN64)
    mov r8, rcx
    mov rcx, rsi
    mov rdi, [rax + RDI]
    mov rsi, [rax + RSI]
    vectors movups, xmm, 0, 6
#else
    mov rdi, rsi
    mov rsi, rdx
    mov rdx, rcx
#endif
    call r11

    lea rax, [rip + abi_after]
    mov [rax + RSP], rsp
    lea rcx, [rip + abi_before]
    mov rsp, [rcx + RSP]
    pushfq
    pop qword ptr [rax + FLAGS]
    cld
    mov [rax + RBX], rbx
    mov [rax + RBP], rbp
    mov [rax + R12], r12
    mov [rax + R13], r13
    mov [rax + R14], r14
    mov [rax + R15], r15
    mov [rax + RDI], rdi
    mov [rax + RSI], rsi
    stmxcsr [rax + MXCSR]
    ldmxcsr [rcx + MXCSR]
    fnstenv [rax + X87]
    fninit
    fldenv [rcx + X87]
    cmp dword ptr [rip + abi_vector_bytes], 32
    jb 3f
    je 2f
    vectors vmovdqu64, zmm, 1
    vzeroupper
    jmp 4f
2:
    vectors vmovdqu, ymm, 1
    vzeroupper
    jmp 4f
3:
    vectors movups, xmm, 1
4:
    add rsp, 8 + 32
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, breakage:vararg
    .globl corrupt_\name
    .type corrupt_\name, @function
corrupt_\name:
    endbr64
    sub rsp, 8 + 32
    call [rip + corrupt_inner]
    add rsp, 8 + 32
    \breakage
    ret
    .size corrupt_\name, . - corrupt_\name
.endm

    corrupter rbx, inc rbx
    corrupter rbp, inc rbp
    corrupter r12, not r12
    corrupter r13, xor r13d, r13d
    corrupter r14, btc r14, 63
    corrupter r15, inc r15
    corrupter direction, std
    corrupter x87_tag, fldz
    corrupter upper_half, vpcmpeqd ymm7, ymm7, ymm7
#if defined(SEALANE_TEST_WIN64)
    corrupter rdi, inc rdi
    corrupter rsi, inc rsi
    corrupter xmm6, pxor xmm6, xmm6
    corrupter xmm15, pxor xmm15, xmm15
#endif

.macro corrupter_of_word name, store, load, bit
    .globl corrupt_\name
    .type corrupt_\name, @function
corrupt_\name:
    endbr64
    sub rsp, 8 + 32
    call [rip + corrupt_inner]
    \store [rsp]
    xor dword ptr [rsp], \bit
    \load [rsp]
    add rsp, 8 + 32
    ret
    .size corrupt_\name, . - corrupt_\name
.endm

    corrupter_of_word mxcsr, stmxcsr, ldmxcsr, 0x8000
    corrupter_of_word x87_control, fnstcw, fldcw, 0x0400

/* Returns with the stack pointer 8 too high. */
    .globl corrupt_rsp
    .type corrupt_rsp, @function
corrupt_rsp:
    endbr64
    sub rsp, 8 + 32
    call [rip + corrupt_inner]
    add rsp, 8 + 32
    ret 8
    .size corrupt_rsp, . - corrupt_rsp

#if defined(__CET__)
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, __CET__, 0
#endif
    .section .note.GNU-stack, "", @progbits
