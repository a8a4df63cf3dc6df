/* The code that the AES-GCM kernels share. The parameter v is "v" where instructions have VEX encodings, otherwise
 * empty. */

/* The n < 16 bytes at `at`, padded with zeroes; n in eax, the last part's shift in rcx; word32 is the lower half of
 * word. */
.macro load_partial to, at, spare, v, word=rbx, word32=ebx
    cmp eax, 8
    jb 1f
    mov \word, [\at + rax - 8]
    mov ecx, 16
    sub ecx, eax
    shl ecx, 2
    shr \word, cl                                                              /* by 8 (16 - n), maybe 64, in all */
    shr \word, cl
    \v\()movq \to, qword ptr [\at]
    .ifb \v
    pinsrq \to, \word, 1
    .else
    vpinsrq \to, \to, \word, 1
    .endif
    jmp 3f
1:
    cmp eax, 4
    jb 2f
    mov \word32, [\at + rax - 4]
    lea ecx, [8*rax - 32]
    shl \word, cl
    mov ecx, [\at]
    or \word, rcx
    \v\()movq \to, \word
    jmp 3f
2:
    mov ecx, eax
    shr ecx, 1
    movzx \word32, byte ptr [\at + rcx]
    shl ecx, 3
    shl \word32, cl
    movzx ecx, byte ptr [\at]
    or \word32, ecx
    \v\()movd \to, \word32
    movzx \word32, byte ptr [\at + rax - 1]
    lea ecx, [8*rax - 8]
    shl \word32, cl
    \v\()movd \spare, \word32
    .ifb \v
    por \to, \spare
    .else
    vpor \to, \to, \spare
    .endif
3:
.endm

/* Stores the n < 16 lowest bytes of a vector, n in eax. Changes rcx and three more registers. */
.macro store_partial from, at, v, word=rbx, word32=ebx, word8=bl, other=power, other32=r13d
    \v\()movq \word, \from
    cmp eax, 8
    jb 1f
    mov [\at], \word
    \v\()pextrq \other, \from, 1
    lea ecx, [8*rax]
    shrd \word, \other, cl                                                     /* by 8 (n - 8), modulo 64 */
    mov [\at + rax - 8], \word
    jmp 3f
1:
    cmp eax, 4
    jb 2f
    mov [\at], \word32
    lea ecx, [8*rax - 32]
    shr \word, cl
    mov [\at + rax - 4], \word32
    jmp 3f
2:
    mov [\at], \word8
    mov ecx, eax
    shr ecx, 1
    mov \other32, ecx
    shl ecx, 3
    shr \word32, cl
    mov [\at + \other], \word8
    lea ecx, [rax - 1]
    sub ecx, \other32
    shl ecx, 3
    shr \word32, cl
    mov [\at + rax - 1], \word8
3:
.endm

/* eax := SubWord(eax), or SubWord of eax rotated: SubBytes in a last round of four copies of the word. xmm1 is 0. */
.macro sub_word v, rotate=0
    \v\()movd xmm0, eax
    .ifb \v
    .if \rotate
    pshufb xmm0, [consts + ROTATE]
    .else
    pshufd xmm0, xmm0, 0
    .endif
    aesenclast xmm0, xmm1
    .else
    .if \rotate
    vpshufb xmm0, xmm0, [consts + ROTATE]
    .else
    vpshufd xmm0, xmm0, 0
    .endif
    vaesenclast xmm0, xmm0, xmm1
    .endif
    \v\()movd eax, xmm0
.endm

/* The key schedule (FIPS 197, 5.2), word by word, after the key. eax is the latest word. `before` points to the word
 * one key length before the next one, and `words`, in r8, is the length of the key. `word` is the place of the next
 * word, in bytes from the beginning of the schedule. */
.macro schedule_words words, word, phase, end, rcon, schedule, before, constant, v
.Lword:
    test \phase, \phase
    jz .Lword_rotate
    cmp \phase, 4
    jne .Lword_add
    cmp \words, 8
    jne .Lword_add
    sub_word \v
    jmp .Lword_add
.Lword_rotate:
    sub_word \v, rotate=1
    movzx \constant, byte ptr [\rcon + RCON]
    inc \rcon
    xor eax, \constant
.Lword_add:
    xor eax, [\before]
    add \before, 4
    mov [\schedule + \word], eax
    add \word, 4
    inc \phase
    cmp \phase, r8d
    jb .Lword_next
    xor \phase, \phase
.Lword_next:
    cmp \word, \end
    jb .Lword
.endm
