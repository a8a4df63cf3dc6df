/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619), with vector instructions for AES.
 *
 *     void sealane_aes_zvkned(const args *a, void *scratch, const void *consts);
 *
 * CPU        RV64 with vectors (V) of any length, Zvkb, Zvkg, Zvkned
 * args       SEALANE_MODE_* (asm/args.h); writes OUT[BYTES], STATE[16], KEY[256] or the lanes' outputs
 * scratch    none; stack 0
 * consts     sealane_aes_zvkned_constants
 * registers  all but ra, sp, gp, tp and s11; a0 and a1 hold args and scratch throughout
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION, ROUNDS and the vectors' length only
 * alignment  texts are loaded and stored as bytes, which never trap
 *
 * A chunk is the blocks that four vector registers hold, 4 with vectors of 128 bits, 16 at most. Decryption
 * (5.3) uses the keys of encryption, the last one first.
 *
 * XTS multiplies the tweak by x for each block, modulo x^128 + x^7 + x^2 + x + 1. vgmul of Zvkg does that for a chunk,
 * with the bits of each byte reversed.
 *
 * Each lane has its own key. Four lanes go through the rounds side by side, with keys read round by round. The others
 * are processed individually.
 */
#include "../asm.S"

#if defined(__riscv) && __riscv_xlen == 64

isa m, v, zvkb, zvkg, zvkned

#define CHUNK_MOST 64 /* words */

/* Integer registers. */
#define operation a3
#define the_key a4
#define words a5     /* of a chunk */
#define chunk a7     /* its bytes */
#define src s0
#define dst s1
#define text_left s2 /* bytes */
#define state s3
#define bytes s4     /* of this chunk, */
#define some_words s5
#define some_blocks s6
#define longer t3    /* see aes_zvkned.h */
#define longest t4
/* Registers of lanes. */
#define lanes s0
#define count s1
#define total s2     /* bytes of each */
#define at s3        /* bytes done */
#define step s4      /* from the first round key */
#define last_step s5
#define key0 s6
#define key1 s7
#define key2 s8
#define key3 s9

/* Vector registers: v0 has the mask of the last words of blocks, v1 to v15 the round keys. */
#define counters 16  /* or tweaks, with reversed bits */
#define keystream 20    /* or tweaks, or decrypted blocks */
#define chain 24     /* the block before each, or the power of x that tweaks are multiplied by */
#define text 28

#include "aes_zvkned.h"

constants sealane_aes_zvkned_constants
    /* Powers 0 to 16 of x. */
    .irp byte, 0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1
    .quad \byte, 0
    .endr
    .irp byte, 0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1
    .quad \byte << 8, 0
    .endr
    .quad 0x80 << 16, 0
endconstants

/* Loads the next blocks, at most a chunk, into text. */
.macro load_chunk
    mv bytes, text_left
    bgeu chunk, text_left, 1f
    mv bytes, chunk
1:  srli some_words, bytes, 2
    vsetvli zero, bytes, e8, m4, ta, ma
    vle8.v v(text), (src)
    vsetvli zero, some_words, e32, m4, ta, mu
.endm

/* Stores a chunk from \x. */
.macro store_chunk x
    vsetvli zero, bytes, e8, m4, ta, ma
    vse8.v v\x, (dst)
    add src, src, bytes
    sub text_left, text_left, bytes
    add dst, dst, bytes
.endm

/* A block, whose words are processed then. */
.macro load_block x, from
    vsetivli zero, 16, e8, m1, ta, ma
    vle8.v v\x, (\from)
    vsetivli zero, 4, e32, m1, ta, ma
.endm

.macro store_block x, to
    vsetivli zero, 16, e8, m1, ta, ma
    vse8.v v\x, (\to)
.endm

.macro xts label, way
\label:
    load_chunk
    vbrev8_v_zvkb keystream, counters
    vxor.vv v(text), v(text), v(keystream)
    \way text
    vxor.vv v(text), v(text), v(keystream)
    store_chunk text
    beqz text_left, .Lxts_done
    vsetvli zero, words, e32, m4, ta, ma
    vgmul_vv_zvkg counters, chain
    j \label
.endm

/* ---- Four lanes ---- */

.macro four do
    \do 0, key0, 16, 20
    \do 1, key1, 17, 21
    \do 2, key2, 18, 22
    \do 3, key3, 19, 23
.endm

.macro lane_key i, key, block, x
    ld \key, SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY(lanes)
    vmv.v.i v\block, 0
    addi \key, \key, SEALANE_AES_KEY_SCHEDULE
.endm

.macro lane_chain i, key, block, x
    ld t0, SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN(lanes)
    vle8.v v\block, (t0)
.endm

.macro lane_load i, key, block, x
    ld t0, SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN(lanes)
    add t0, t0, at
    vle8.v v\x, (t0)
.endm

.macro lane_add i, key, block, x
    vxor.vv v\block, v\block, v\x
.endm

.macro lane_round_key i, key, block, x
    add t0, \key, step
    vle32.v v\x, (t0)
.endm

.macro lane_round i, key, block, x
    vaesem_vs_zvkned \block, \x
.endm

.macro lane_last_round i, key, block, x
    vaesef_vs_zvkned \block, \x
.endm

.macro lane_store i, key, block, x
    ld t0, SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_OUT(lanes)
    add t0, t0, at
    vse8.v v\block, (t0)
.endm

.macro lane_end i, key, block, x
    ld t0, SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN(lanes)
    vse8.v v\block, (t0)
.endm

/* ---- The kernel ---- */

scratch_end SEALANE_SCRATCH_SAVE_BYTES
function sealane_aes_zvkned
    ld operation, SEALANE_MODE_OPERATION(a0)
    li t0, SEALANE_AES_CBC_ENCRYPT
    bgeu operation, t0, .Llanes
    ld the_key, SEALANE_MODE_KEY(a0)
    ld t1, SEALANE_AES_KEY_ROUNDS(the_key)
    vsetivli zero, 4, e32, m1, ta, ma
    addi longer, t1, -10
    addi longest, t1, -12
    beqz operation, .Lsetup
    ld text_left, SEALANE_MODE_BYTES(a0)
    ld src, SEALANE_MODE_IN(a0)
    ld dst, SEALANE_MODE_OUT(a0)
    ld state, SEALANE_MODE_STATE(a0)
    beqz text_left, .Ldone
    load_round_keys
    li t0, CHUNK_MOST
    vsetvli words, t0, e32, m4, ta, ma
    li t0, SEALANE_AES_CTR
    slli chunk, words, 2
    beq operation, t0, .Lctr
    li t1, SEALANE_AES_CBC_DECRYPT
    bltu operation, t0, .Lecb
    beq operation, t1, .Lcbc

/* XTS: C = E(P + T) + T, for tweaks T, T x, .. of the blocks. */
    load_block text, state
    vbrev8_v_zvkb text, text
    add t0, a2, chunk
    vle32.v v(keystream), (t0)
    vsetvli zero, words, e32, m4, ta, ma
    vmv.v.i v(counters), 0
    vaesz_vs_zvkned counters, text
    vle32.v v(chain), (a2)
    li t0, SEALANE_AES_XTS_DECRYPT
    vgmul_vv_zvkg counters, chain
    vmv.v.i v(chain), 0
    vaesz_vs_zvkned chain, keystream
    beq operation, t0, .Lxts_decrypt
    xts .Lxts_encrypt, encrypt
    xts .Lxts_decrypt, decrypt
.Lxts_done:
    add t0, a2, bytes                   /* the power of its blocks */
    vsetivli zero, 4, e32, m1, ta, ma
    vle32.v v(keystream), (t0)
    vgmul_vv_zvkg counters, keystream
    vbrev8_v_zvkb counters, counters
    store_block counters, state
    j .Ldone

.Lecb:
    li t0, SEALANE_AES_ECB_DECRYPT
    beq operation, t0, .Lecb_decrypt
.Lecb_encrypt:
    load_chunk
    encrypt text
    store_chunk text
    bnez text_left, .Lecb_encrypt
    j .Ldone
.Lecb_decrypt:
    load_chunk
    decrypt text
    store_chunk text
    bnez text_left, .Lecb_decrypt
    j .Ldone

.Lctr:
    load_block text, state
    begin_counters counters, words, text, zero, keystream
.Lctr_chunk:
    load_chunk
    vrev8_v_zvkb keystream, counters
    srli some_blocks, some_words, 2
    vadd.vx v(counters), v(counters), some_blocks, v0.t
    encrypt keystream
    vxor.vv v(text), v(text), v(keystream)
    store_chunk text
    bnez text_left, .Lctr_chunk
    vsetivli zero, 4, e32, m1, ta, ma
    vrev8_v_zvkb counters, counters
    store_block counters, state
    j .Ldone

/* CBC: P = D(C) + the C before. */
.Lcbc:
    load_block chain, state
.Lcbc_chunk:
    load_chunk
    vslideup.vi v(chain), v(text), 4
    vmv.v.v v(keystream), v(text)
    decrypt keystream
    vxor.vv v(keystream), v(keystream), v(chain)
    store_chunk keystream
    addi some_words, some_words, -4
    vsetivli zero, 4, e32, m4, ta, ma
    vslidedown.vx v(chain), v(text), some_words
    bnez text_left, .Lcbc_chunk
    store_block chain, state
    j .Ldone

/* Lanes: CBC encryption, or masks, which are one block that is chained to zeroes. */
.Llanes:
    li total, 0
    bne operation, t0, .Llanes_masks
    ld total, SEALANE_MODE_BYTES_EACH(a0)
.Llanes_masks:
    ld lanes, SEALANE_MODE_LANES(a0)
    ld count, SEALANE_MODE_COUNT(a0)
    ld t0, SEALANE_MODE_LANE_KEY(lanes)
    ld t1, SEALANE_AES_KEY_ROUNDS(t0)
    addi longer, t1, -10
    addi longest, t1, -12
    slli last_step, t1, 4
.Llanes_more:
    li t0, 4
    li at, 0
    vsetivli zero, 4, e32, m1, ta, ma
    bltu count, t0, .Llane
    four lane_key
    vsetivli zero, 16, e8, m1, ta, ma
    beqz total, .Lfour_block
    four lane_chain
.Lfour_block:
    four lane_load
    vsetivli zero, 4, e32, m1, ta, ma
    four lane_add
    li step, 0
    four lane_round_key
    four lane_add
.Lfour_round:
    addi step, step, 16
    four lane_round_key
    beq step, last_step, .Lfour_last_round
    four lane_round
    j .Lfour_round
.Lfour_last_round:
    four lane_last_round
    vsetivli zero, 16, e8, m1, ta, ma
    four lane_store
    addi at, at, 16
    bltu at, total, .Lfour_block
    beqz total, .Lfour_done
    four lane_end
.Lfour_done:
    addi lanes, lanes, 4*SEALANE_LANE_STRIDE
    addi count, count, -4
    j .Llanes_more

/* A single lane, with the round keys in registers. */
.Llane:
    beqz count, .Ldone
    ld the_key, SEALANE_MODE_LANE_KEY(lanes)
    vmv.v.i v16, 0
    load_round_keys
    beqz total, .Llane_block
    ld t0, SEALANE_MODE_LANE_CHAIN(lanes)
    load_block 16, t0
.Llane_block:
    ld t0, SEALANE_MODE_LANE_IN(lanes)
    add t0, t0, at
    load_block 20, t0
    vxor.vv v16, v16, v20
    encrypt 16
    ld t0, SEALANE_MODE_LANE_OUT(lanes)
    add t0, t0, at
    store_block 16, t0
    addi at, at, 16
    bltu at, total, .Llane_block
    beqz total, .Llane_done
    ld t0, SEALANE_MODE_LANE_CHAIN(lanes)
    vse8.v v16, (t0)
.Llane_done:
    addi lanes, lanes, SEALANE_LANE_STRIDE
    addi count, count, -1
    j .Llanes_more

.Lsetup:
    expand_key
.Ldone:
endfunction

#endif
