/* AES-GCM (NIST SP 800-38D) with vector instructions for AES and GHASH. Seals or opens a packet, or a part of one, in
 * one pass; makes keys.
 *
 *     void sealane_aesgcm_zvkned(const args *a, void *scratch, const void *consts);
 *
 * CPU        RV64 with vectors (V) of any length, Zvkb, Zvkg, Zvkned
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    256 bytes after the saved registers, wiped before the return; stack 0
 * consts     not read
 * registers  all but ra, sp, gp, tp and s11; a0 and a1 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, ROUNDS and the length of vectors only
 * alignment  texts are loaded and stored as bytes, which never trap
 *
 * A chunk is the k blocks that four vector registers hold side by side, 4 with vectors of 128 bits, 16 at most.
 *
 * GHASH (6.4) is Y := (Y + c) H for every block c. vghsh does that for all blocks of a chunk, each with a separate
 * sum and power. k sums take every k-th block, S := (S + c) H^k, and all chunks except the last multiply by the same
 * power. If n blocks follow the last chunk, the lengths included, it multiplies by H^(n+k) to H^(n+1), and those by
 * H^n to H. Y is the sum of all. vghsh takes bits in GCM's order.
 *
 * Counter mode (6.5): the counter blocks of a chunk are kept with the bytes of their words reversed, so that integers
 * can be added to their last words.
 */
#include "../asm.S"

#if defined(__riscv) && __riscv_xlen == 64

isa m, v, zvkb, zvkg, zvkned

#define CHUNK_MOST 64 /* words */

/* Scratch. */
#define FACTORS 256   /* H^k, k times */
#define END 512

/* Integer registers. */
#define flags a2
#define the_key a3
#define powers a4   /* the end of the key's table: H^(2k+1) to H */
#define chunk a5    /* its bytes, */
#define words a6    /* words, */
#define blocks a7   /* and blocks */
#define src s0
#define dst s1
#define end s2      /* of all chunks */
#define last s3     /* the last chunk */
#define opening s4
#define hash s5     /* H^n */
#define factors s6  /* factor of the next chunk */
#define weights s7  /* H^(n+k) */
#define rest s8     /* bytes after the chunks, */
#define tail s9     /* filled up to whole blocks */
#define begun s10   /* bytes of all chunks */
#define longer t3
#define longest t4
#define text_left t5
#define ad t6
#define offset t6   /* of the first counter block from the one given */

/* Vector registers: v0 has the mask of the last words of blocks, v1 to v15 the round keys. */
#define counters 16
#define keystream 20 /* or powers, or a hash key */
#define sum 24
#define text 28

#include "aes_zvkned.h"

/* Adds all blocks of sum into the first one. Changes t0, t1 and text. */
.macro fold
    vsetvli t0, zero, e32, m1, ta, ma
    li t1, 4
    vxor.vv v24, v24, v25
    vxor.vv v26, v26, v27
    vxor.vv v24, v24, v26
1:  srli t0, t0, 1
    bltu t0, t1, 2f
    vslidedown.vx v(text), v(sum), t0
    vxor.vv v(sum), v(sum), v(text)
    j 1b
2:
.endm

/* All chunks, the first of which is in text. */
.macro chunks label, authenticate
\label:
    vsetvli zero, words, e32, m4, ta, mu
    vrev8_v_zvkb keystream, counters
    vadd.vx v(counters), v(counters), blocks, v0.t
    encrypt keystream
    \authenticate
    vsetvli zero, chunk, e8, m4, ta, ma
    add src, src, chunk
    vse8.v v(keystream), (dst)
    add dst, dst, chunk
    beq src, end, .Lchunks_done
    vle8.v v(text), (src)
    bne src, last, \label
    mv factors, weights
    j \label
.endm

.macro seal_chunk
    vxor.vv v(keystream), v(keystream), v(text)
    vle32.v v(text), (factors)
    vghsh_vv_zvkg sum, text, keystream
.endm

.macro open_chunk
    vxor.vv v(keystream), v(keystream), v(text)
    vxor.vv v(sum), v(sum), v(text)
    vle32.v v(text), (factors)
    vgmul_vv_zvkg sum, text
.endm

constants sealane_aesgcm_zvkned_constants
    .quad 0, 0
endconstants

scratch_end END
function sealane_aesgcm_zvkned
    ld flags, SEALANE_ARG_FLAGS(a0)
    ld the_key, SEALANE_ARG_KEY(a0)
    li t0, CHUNK_MOST
    vsetvli words, t0, e32, m4, ta, ma
    ld t1, SEALANE_GCM_KEY_ROUNDS(the_key)
    andi t0, flags, SEALANE_FLAG_SETUP
    addi powers, the_key, SEALANE_GCM_KEY_BYTES
    addi longer, t1, -10
    addi longest, t1, -12
    srli blocks, words, 2
    bnez t0, .Lsetup
    slli chunk, words, 2
    vsetvli t0, zero, e32, m4, ta, ma
    vmv.v.i v(sum), 0
    vsetivli zero, 4, e32, m1, ta, ma
    vmv.v.i v(text), 0
    load_round_keys

/* The counter block that the text begins at, or one or two before it; the associated data. */
    andi t0, flags, SEALANE_FLAG_FIRST
    beqz t0, .Lcontinue
    ld t1, SEALANE_ARG_NONCE(a0)
    andi t2, flags, SEALANE_FLAG_NONCE
    ld text_left, SEALANE_ARG_AD_BYTES(a0)
    li t0, 16
    li offset, 1
    beqz t2, .Lcounters
    li t0, 12
    li offset, 2
    j .Lcounters
.Lcontinue:
    ld t2, SEALANE_ARG_STATE(a0)
    vsetivli zero, 16, e8, m1, tu, ma
    vle8.v v(sum), (t2)
    addi t1, t2, SEALANE_GCM_STATE_COUNTER
    li text_left, 0
    li t0, 16
    li offset, 0
.Lcounters:
    vsetvli zero, t0, e8, m1, tu, ma
    vle8.v v(text), (t1)
    begin_counters counters, words, text, offset, keystream
    ld ad, SEALANE_ARG_AD(a0)
    beqz text_left, .Ltext

/* Associated data, a chunk at a time, into the first block of sum. */
.Lad:
    mv t0, text_left
    bgeu chunk, text_left, .Lad_rest
    mv t0, chunk
.Lad_rest:
    addi t1, t0, 15
    andi t1, t1, -16
    srli t2, t1, 2
    vsetvli zero, t2, e32, m4, ta, ma
    vmv.v.i v(text), 0
    vsetvli zero, t0, e8, m4, tu, ma
    vle8.v v(text), (ad)
    sub t1, powers, t1
    add ad, ad, t0
    sub text_left, text_left, t0
    vsetvli zero, t2, e32, m4, tu, ma
    vle32.v v(keystream), (t1)
    li t0, 4
    vghsh_vv_zvkg sum, keystream, text
    beq t0, t2, .Lad_next
    fold
    vmv1r.v v(text), v(sum)
    vsetvli t0, zero, e32, m4, ta, ma
    vmv.v.i v(sum), 0
    vsetivli zero, 4, e32, m1, tu, ma
    vmv.v.v v(sum), v(text)
.Lad_next:
    bnez text_left, .Lad

.Ltext:
    ld src, SEALANE_ARG_IN(a0)
    ld dst, SEALANE_ARG_OUT(a0)
    ld text_left, SEALANE_ARG_BYTES(a0)
    addi t0, chunk, -1
    andi t1, flags, SEALANE_FLAG_LAST
    and rest, text_left, t0
    slli t1, t1, 3                      /* 16 bytes of lengths */
    sub begun, text_left, rest
    addi tail, rest, 15
    andi tail, tail, -16
    add t1, t1, tail
    andi opening, flags, SEALANE_FLAG_OPEN
    sub hash, powers, t1
    add end, src, begun
    beqz begun, .Ltail

/* Chunks. */
    sub weights, hash, chunk
    sub last, end, chunk
    mv factors, weights
    beq src, last, .Lfirst
    sub t0, powers, chunk
    vsetivli zero, 4, e32, m1, ta, ma
    vle32.v v(keystream), (t0)
    addi factors, a1, FACTORS
    vsetvli zero, words, e32, m4, ta, ma
    vmv.v.i v(text), 0
    vaesz_vs_zvkned text, keystream
    vse32.v v(text), (factors)
.Lfirst:
    vsetvli zero, chunk, e8, m4, ta, ma
    vle8.v v(text), (src)
    bnez opening, .Lopen
    chunks .Lseal, seal_chunk
    chunks .Lopen, open_chunk

/* If registers are longer than a chunk, the elements after the chunk are undefined. They are set to zero. */
.Lchunks_done:
    vsetvli t0, zero, e32, m4, ta, ma
    beq t0, words, .Ltail
    vmv.v.v v(text), v(sum)
    vmv.v.i v(sum), 0
    vsetvli zero, words, e32, m4, tu, ma
    vmv.v.v v(sum), v(text)

/* Up to k blocks. Zeroes complete the last one. */
.Ltail:
    beqz rest, .Lmask
    srli t0, tail, 2
    srli t1, tail, 4
    vsetvli zero, t0, e32, m4, ta, mu
    vmv.v.i v(text), 0
    vrev8_v_zvkb keystream, counters
    vadd.vx v(counters), v(counters), t1, v0.t
    vsetvli zero, rest, e8, m4, tu, ma
    vle8.v v(text), (src)
    vsetvli zero, t0, e32, m4, ta, ma
    encrypt keystream
    vsetvli zero, rest, e8, m4, tu, ma
    bnez opening, .Ltail_open
    vxor.vv v(text), v(text), v(keystream)
    vse8.v v(text), (dst)
    j .Ltail_hash
.Ltail_open:
    vxor.vv v(keystream), v(keystream), v(text)
    vse8.v v(keystream), (dst)
.Ltail_hash:
    vsetvli zero, t0, e32, m4, tu, ma
    vle32.v v(keystream), (hash)
    bnez begun, .Ltail_add
    vghsh_vv_zvkg sum, keystream, text
    j .Lmask
.Ltail_add:
    vgmul_vv_zvkg text, keystream
    vxor.vv v(sum), v(sum), v(text)

/* The encrypted J0, which is one counter block before the text, or the one of the state. */
.Lmask:
    andi t0, flags, SEALANE_FLAG_FIRST
    ld t2, SEALANE_ARG_STATE(a0)
    beqz t0, .Lmask_of_state
    ld t1, SEALANE_ARG_BYTES(a0)
    addi t1, t1, 15
    srli t1, t1, 4
    not t1, t1                          /* - (blocks + 1) */
    vsetivli zero, 4, e32, m1, ta, mu
    vmv.v.v v(keystream), v(counters)
    vadd.vx v(keystream), v(keystream), t1, v0.t
    vrev8_v_zvkb keystream, keystream
    encrypt keystream
    j .Llengths
.Lmask_of_state:
    vsetivli zero, 16, e8, m1, ta, ma
    addi t0, t2, SEALANE_GCM_STATE_MASK
    vle8.v v(keystream), (t0)

.Llengths:
    andi t0, flags, SEALANE_FLAG_LAST
    beqz t0, .Lsave
    ld t0, SEALANE_ARG_AD_BYTES(a0)
    ld t1, SEALANE_ARG_TOTAL(a0)
    slli t0, t0, 3
    slli t1, t1, 3
    vsetivli zero, 2, e64, m1, tu, ma
    vmv.v.x v(text), t1
    vmv.s.x v(text), t0
    vrev8_v_zvkb text, text
    addi t0, powers, -16
    vsetivli zero, 4, e32, m1, tu, ma
    vle32.v v29, (t0)
    or t0, begun, rest
    beqz t0, .Llengths_alone
    vgmul_vv_zvkg text, 29
    vxor.vv v(sum), v(sum), v(text)
    fold
    j .Ltag
.Llengths_alone:
    vghsh_vv_zvkg sum, 29, text
.Ltag:
    ld t0, SEALANE_ARG_TAG(a0)
    vsetivli zero, 16, e8, m1, ta, ma
    vxor.vv v(sum), v(sum), v(keystream)
    vse8.v v(sum), (t0)
    j .Lwipe

.Lsave:
    fold
    vsetivli zero, 4, e32, m1, ta, ma
    vrev8_v_zvkb counters, counters
    vsetivli zero, 16, e8, m1, ta, ma
    addi t0, t2, SEALANE_GCM_STATE_COUNTER
    addi t1, t2, SEALANE_GCM_STATE_MASK
    vse8.v v(sum), (t2)
    vse8.v v(counters), (t0)
    vse8.v v(keystream), (t1)

.Lwipe:
    bgeu chunk, begun, .Ldone
    addi factors, a1, FACTORS
    vsetvli zero, words, e32, m4, ta, ma
    vmv.v.i v(text), 0
    vse32.v v(text), (factors)
    j .Ldone

/* A key: its schedule; H, which is AES of zeroes, or given at NONCE; powers of H. */
.Lsetup:
    vsetivli zero, 4, e32, m1, ta, ma
    andi t0, flags, SEALANE_FLAG_NONCE
    bnez t0, .Lgiven
    mv ad, blocks
    expand_key
    mv blocks, ad
    load_round_keys
    vmv.v.i v(keystream), 0
    encrypt keystream
    j .Lpowers
.Lgiven:
    ld t0, SEALANE_ARG_NONCE(a0)
    vsetivli zero, 16, e8, m1, ta, ma
    vle8.v v(keystream), (t0)
.Lpowers:
    vsetivli zero, 4, e32, m1, ta, ma
    vmv.v.v v(sum), v(keystream)
    slli t0, blocks, 1
    addi t0, t0, 1
.Lpower:
    addi powers, powers, -16
    addi t0, t0, -1
    vse32.v v(sum), (powers)
    vgmul_vv_zvkg sum, keystream
    bnez t0, .Lpower
.Ldone:
endfunction

#endif
