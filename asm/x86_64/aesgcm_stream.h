/* Packets of AES-GCM that are longer than a few rows, one after the other in one stream: for the batch kernel with
 * AVX-512, whose lane, consts, packets_left, poly, reverse, opening and nonce_words it keeps. lo, mi, hi and y are what
 * they are there.
 *
 * Four rows are a group. A step ends a group's rounds, begins those of the next, and between them adds the group
 * before to GHASH; so it goes on over the border between packets, and both of a CPU's units for AES and the one for
 * carry-less multiplication are busy all the time. The multiplications, three for a row, are the limit on Zen 5.
 *
 * Rows begin a block before the text: the first block of counter mode is J0 itself (SP 800-38D, 7.1), and what is to be
 * authenticated has the last block of associated data in its place. Where the last row has room behind the text, the
 * block of lengths goes there.
 *
 * All groups but the last are multiplied in pairs, by H^32 .. H^20 and H^16 .. H^4, with one reduction; if their number
 * is odd, the first by the latter alone. The last one's m blocks are multiplied by H^m .. H, as the sums of the lanes
 * are; where m < 4, together with the group before.
 */

/* Powers in the key's table that are not in its row of falling ones, and sums of halves (aesgcm_avx512.S). */
#define H32 (SEALANE_GCM_KEY_TABLE + 640)
#define S12 (S(16) + 8)
#define S4 (S(8) + 8)
#define S24 (S(4) + 8)
#define S28 (S(3) + 8)
#define S32 (S(2) + 8)

/* Scratch: of two keys, that of the packet that ends and that of the one that begins if it is another, what is wanted
 * in all lanes: on Zen 5 a load that makes four copies takes a unit that AES and GHASH need, one of 64 bytes does not.
 */
#define SPREAD 1024
#define SPREAD_BYTES 1152
#define SPREAD_ROUND(i) (64*((i) - 1))              /* the last ten rounds' keys */
#define SPREAD_POWER(i) (640 + 16*(32 - (i)))       /* H^32, H^28, ..., H^4 */
#define SPREAD_KEY (SPREAD + 2*SPREAD_BYTES)        /* which key was spread last, or 0, */
#define SPREAD_KEY_BEFORE (SPREAD_KEY + 8)          /* and before it */
#define SPREAD_AT (SPREAD_KEY + 16)                 /* where to */
#define SPREAD_NEXT (SPREAD_KEY + 24)               /* where the next goes */
#define SPREAD_FIRST (SPREAD_KEY + 32)              /* its key at ten rounds from the end */

/* Integer registers; flags are not needed any more. */
#define hash_key r8
#define ending_keys rbx /* the spread key of the group that ends */
#define begun_keys rcx  /* and of the one that begins, which may be the next packet's */
#define src r9          /* a block before the text */
#define dst r10
#define text_left r11   /* yet to be ended, with that block */
#define counters r12    /* of the next group */
#define power r13       /* hash_key less 16 m */
#define tag_at r15

/* Vector registers: 0 .. 3 rows that end, 10 .. 13 those that have begun, 20 .. 23 to be authenticated, and */
#define sums_of zmm4
#define ha zmm5
#define hb zmm6
#define sa zmm7
#define ta zmm8
#define tb zmm9
#define row_text zmm14
#define last_key zmm15
#define last_key_ymm ymm15
#define sb zmm15
#define ending_key zmm16
#define begun_key zmm17
#define j0 zmm18           /* and the first round key, in all lanes */
#define tag_mask xmm19     /* the encrypted J0 */
#define length_block zmm27 /* in all lanes */
#define ad_block xmm28
#define part k1            /* bytes of the last row */
#define length_lane k2     /* of it: that behind the text, if there is one */
#define ad_bytes k3
#define behind_j0 k4
#define another k6         /* 1 if a packet follows */

/* ---- GHASH, dealt out among AES: step by step ---- */

.macro add_products sum, init
    .if \init
    vpxord \sum, ta, tb
    .else
    vpternlogd \sum, ta, tb, 0x96
    .endif
.endm

/* lo, mi, hi := or += a h + b g. */
.macro stream_products step, init, a, b, h, g, s, t, si=0x00, ti=0x11
    .if \step == 1
    vpunpckhqdq ta, \a, \b
    vpxord sums_of, sums_of, ta
    .elseif \step == 2
    vpclmulqdq ta, \a, \h, 0x00
    vpclmulqdq tb, \b, \g, 0x00
    .elseif \step == 3
    add_products lo, \init
    .elseif \step == 4
    vpclmulqdq ta, \a, \h, 0x11
    vpclmulqdq tb, \b, \g, 0x11
    .elseif \step == 5
    add_products hi, \init
    .elseif \step == 6
    vpclmulqdq ta, sums_of, \s, \si
    vpclmulqdq tb, sums_of, \t, \ti
    .elseif \step == 7
    add_products mi, \init
    .endif
.endm

/* The same with powers that are the same in all lanes. */
.macro equal_powers step, init, a, b, i, j
    .if \step == 0
    vmovdqa64 ha, [ending_keys + SPREAD_POWER(\i)]
    vmovdqa64 hb, [ending_keys + SPREAD_POWER(\j)]
    vpunpcklqdq sums_of, \a, \b
    .endif
    stream_products \step, \init, \a, \b, ha, hb, sa, sb
.endm

/* By H^32, H^28, H^24, H^20; y goes with the first. */
.macro upper_group step, more:vararg
    .if \step == 3
    vpbroadcastq sa, [hash_key + S24]
    vpbroadcastq sb, [hash_key + S(20)]
    .elseif \step == 11
    vpbroadcastq sa, [hash_key + S32]
    vpbroadcastq sb, [hash_key + S28]
    .endif
    .if \step < 8
    equal_powers \step, 1, zmm22, zmm23, 24, 20
    .else
    .if \step == 8
    vpxord zmm20, zmm20, y
    .endif
    equal_powers (\step-8), 0, zmm20, zmm21, 32, 28
    .endif
.endm

/* By H^16, H^12, H^8, H^4. */
.macro lower_group step, more:vararg
    .if \step == 3
    vpbroadcastq sa, [hash_key + S(8)]
    vpbroadcastq sb, [hash_key + S4]
    .elseif \step == 11
    vpbroadcastq sa, [hash_key + S(16)]
    vpbroadcastq sb, [hash_key + S12]
    .endif
    .if \step < 8
    equal_powers \step, 0, zmm22, zmm23, 8, 4
    .else
    equal_powers (\step-8), 0, zmm20, zmm21, 16, 12
    .endif
    .if \step == 15
    reduce_words lo, mi, hi, ta, poly
    vmovdqa64 y, hi
    .endif
.endm

/* high := low + 2^64 (mid + low + high) + 2^128 high, reduced. */
.macro reduce_words low, mid, high, spare, p
    vpternlogd \mid, \low, \high, 0x96
    vpclmulqdq \spare, \low, \p, 0x00                                           /* P w */
    vpshufd \low, \low, 0x4e
    vpternlogd \mid, \low, \spare, 0x96
    vpclmulqdq \spare, \mid, \p, 0x00
    vpshufd \mid, \mid, 0x4e
    vpternlogd \high, \mid, \spare, 0x96
.endm

/* One row by falling powers, from that at the \at-th byte on. */
.macro falling_row step, init, a, at
    .if \step == 0
    vpshufd sums_of, \a, 0x4e
    vpxord sums_of, sums_of, \a
    .elseif \step == 2
    .if \init
    vpclmulqdq lo, \a, [power + H(0) + \at], 0x00
    .else
    vpclmulqdq ta, \a, [power + H(0) + \at], 0x00
    vpxord lo, lo, ta
    .endif
    .elseif \step == 4
    .if \init
    vpclmulqdq hi, \a, [power + H(0) + \at], 0x11
    .else
    vpclmulqdq tb, \a, [power + H(0) + \at], 0x11
    vpxord hi, hi, tb
    .endif
    .elseif \step == 6
    .if \init
    vpclmulqdq mi, sums_of, [power + S(0) + \at], 0x00
    .else
    vpclmulqdq ta, sums_of, [power + S(0) + \at], 0x00
    vpxord mi, mi, ta
    .endif
    .endif
.endm

/* Two rows. */
.macro falling_rows step, init, a, b, at
    .if \step == 0
    vpunpcklqdq sums_of, \a, \b
    .endif
    stream_products \step, \init, \a, \b, [power + H(0) + \at], [power + H(0) + \at + 64], [power + S(0) + \at], \
        [power + S(0) + \at]
.endm

/* The last group, of n rows. */
.macro last_group step, n
    .if \step < 8
    .if \n == 4
    falling_rows \step, 1, zmm22, zmm23, 128
    .elseif \n == 3
    falling_row \step, 1, zmm22, 128
    .endif
    .else
    .if \step == 8
    vpxord zmm20, zmm20, y
    .endif
    .if \n == 1
    falling_row (\step-8), 1, zmm20, 0
    .else
    falling_rows (\step-8), (\n == 2), zmm20, zmm21, 0
    .endif
    .endif
.endm

/* And what follows it: the block of lengths if that has no place yet, and the tag. */
.macro last_group_and_tag step, n
    last_group \step, \n
    .if \step == 15
    write_tag
    .endif
.endm

.macro write_tag
    kortestw length_lane, length_lane
    jnz 5f
    vpshufd xmm4, xmm27, 0x4e
    vpxord xmm4, xmm4, xmm27
    vpclmulqdq xmm8, xmm27, [hash_key + H(1)], 0x00
    vpxord lo, lo, ta
    vpclmulqdq xmm9, xmm27, [hash_key + H(1)], 0x11
    vpxord hi, hi, tb
    vpclmulqdq xmm8, xmm4, [hash_key + S(1)], 0x00
    vpxord mi, mi, ta
5:
    write_sum
.endm

.macro write_sum
    reduce_words lo, mi, hi, ta, poly
    vextracti64x4 ymm8, hi, 1
    vpxord ymm9, ymm26, ymm8
    vextracti32x4 xmm8, ymm9, 1
    vpxord xmm9, xmm9, xmm8
    vpshufb xmm9, xmm9, xmm31
    vpxord tag_mask, tag_mask, xmm9
    vmovdqu64 [tag_at], tag_mask
.endm

.macro no_group step, more:vararg
.endm

/* ---- AES ---- */

/* Counter blocks of the next group, the first round key, and rounds that make it more than ten. */
.macro begin_group
    .irp i, 0, 1, 2, 3
    vpxord zmm1\i, j0, [counters + 64*\i]
    .endr
    add counters, 256
    mov rax, [LANE(0, KEY)]
    cmp rax, [scratch + SPREAD_FIRST]
    je 2f
1:
    .irp number, 1, 2
    vbroadcasti32x4 begun_key, [rax + ROUND_KEY(\number)]
    .irp i, 0, 1, 2, 3
    vaesenc zmm1\i, zmm1\i, begun_key
    .endr
    .endr
    add rax, 32
    cmp rax, [scratch + SPREAD_FIRST]
    jne 1b
2:
.endm

/* The rounds of the group that ends but the last, and all but one of the five that the next begins with. */
.macro step_rounds work, more:vararg
    begin_group
    .irp number, 0, 1, 2, 3
    vmovdqa64 ending_key, [ending_keys + SPREAD_ROUND(6 + \number)]
    vmovdqa64 begun_key, [begun_keys + SPREAD_ROUND(1 + \number)]
    .irp i, 0, 1, 2, 3
    vaesenc zmm\i, zmm\i, ending_key
    vaesenc zmm1\i, zmm1\i, begun_key
    \work (4*\number+\i), \more
    .endr
    .endr
    vmovdqa64 ending_key, [ending_keys + SPREAD_ROUND(10)]
    vmovdqa64 begun_key, [begun_keys + SPREAD_ROUND(5)]
.endm

/* The last round of row i, and its text. */
.macro end_row i
    vmovdqu64 row_text, [src + 64*\i]
    vpxord last_key, ending_key, row_text
    vaesenclast zmm\i, zmm\i, last_key
    vmovdqu64 [dst + 64*\i], zmm\i
    vmovdqa64 zmm\i{opening}, row_text
    vpshufb zmm2\i, zmm\i, reverse
.endm

/* The same of a packet's rows if they are its first, which begin with J0: no byte before the text is loaded or stored,
 * masked or not. A masked load of [src], which is where the packet before may have its tag, would wait for that: masked
 * bytes count where a load meets a store; and where they lie in a page that is not there, a masked store of [dst] takes
 * over a thousand cycles. */
.macro end_first_row i
    .if \i
    end_row \i
    .else
    vmovdqu64 row_text, [src + 16]
    vshufi32x4 row_text{behind_j0}{z}, row_text, row_text, 0x90
    vpxord last_key, ending_key, row_text
    vaesenclast zmm0, zmm0, last_key
    vshufi32x4 last_key, zmm0, zmm0, 0x39
    vmovdqu [dst + 16], last_key_ymm
    vextracti32x4 [dst + 48], last_key, 2
    vmovdqa64 tag_mask, xmm0
    vmovdqa64 zmm0{opening}, row_text
    vpshufb zmm20, zmm0, reverse
    vinserti32x4 zmm20, zmm20, ad_block, 0
    .endif
.endm

/* And of its last row, behind which there may be the block of lengths. */
.macro end_last_row i
    vmovdqu8 row_text{part}{z}, [src + 64*\i]
    vpxord last_key, ending_key, row_text
    vaesenclast zmm\i, zmm\i, last_key
    vmovdqu8 [dst + 64*\i]{part}, zmm\i
    vmovdqu8 zmm\i{part}{z}, zmm\i
    vmovdqa64 zmm\i{opening}, row_text
    vpshufb zmm2\i, zmm\i, reverse
    vmovdqa64 zmm2\i{length_lane}, length_block
.endm

/* The row that has begun takes the place of the one that has ended. */
.macro next_row i
    vaesenc zmm\i, zmm1\i, begun_key
.endm

.macro stream_step end, work, more:vararg
    step_rounds \work, \more
    .irp i, 0, 1, 2, 3
    \end \i
    next_row \i
    .endr
    add src, 256
    add dst, 256
.endm

/* ---- Packets --------------------------------------------------------------------------------------------------- */

/* The key at rax, which is not the one before. */
.macro spread_key
    mov counters, [scratch + SPREAD_KEY]
    mov [scratch + SPREAD_KEY_BEFORE], counters
    mov [scratch + SPREAD_KEY], rax
    mov counters, begun_keys
    mov begun_keys, [scratch + SPREAD_NEXT]
    mov [scratch + SPREAD_NEXT], counters
    mov [scratch + SPREAD_AT], begun_keys
    mov counters, [rax + SEALANE_GCM_KEY_ROUNDS]
    shl counters, 4
    lea counters, [rax + counters - 160]
    mov [scratch + SPREAD_FIRST], counters
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    vbroadcasti32x4 zmm4, [counters + ROUND_KEY(\i)]
    vmovdqa64 [begun_keys + SPREAD_ROUND(\i)], zmm4
    .endr
    .irp i, 32, 28, 24
    vbroadcasti32x4 zmm4, [rax + H32 + 4*(32 - \i)]
    vmovdqa64 [begun_keys + SPREAD_POWER(\i)], zmm4
    .endr
    .irp i, 20, 16, 12, 8, 4
    vbroadcasti32x4 zmm4, [rax + H(\i)]
    vmovdqa64 [begun_keys + SPREAD_POWER(\i)], zmm4
    .endr
.endm

/* The packet at lane: j0; GHASH of all associated data but the last block, and that block, to ad_block. */
.macro begin_packet
    mov rax, [LANE(0, KEY)]
    mov rcx, [LANE(0, NONCE)]
    vmovdqu32 xmm18{nonce_words}{z}, [rcx]
    vpxord xmm18, xmm18, [rax + ROUND_KEY(0)]
    vshufi32x4 j0, j0, j0, 0
    vpxord ad_block, ad_block, ad_block
    mov counters, [LANE(0, AD_BYTES)]
    mov rcx, [LANE(0, AD)]
    test counters, counters
    jz 3f
1:
    cmp counters, 16
    jbe 2f
    vmovdqu xmm4, [rcx]
    vpshufb xmm4, xmm4, xmm31
    vpxord xmm4, xmm4, ad_block
    vpshufd xmm5, xmm4, 0x4e
    vpxord xmm5, xmm5, xmm4
    vpclmulqdq xmm6, xmm4, [rax + H(1)], 0x00
    vpclmulqdq xmm7, xmm5, [rax + S(1)], 0x00
    vpclmulqdq xmm8, xmm4, [rax + H(1)], 0x11
    reduce_words xmm6, xmm7, xmm8, xmm9, xmm30
    vmovdqa64 ad_block, xmm8
    add rcx, 16
    sub counters, 16
    jmp 1b
2:
    mov eax, -1
    bzhi eax, eax, r12d
    kmovw ad_bytes, eax
    vmovdqu8 xmm4{ad_bytes}{z}, [rcx]
    vpshufb xmm4, xmm4, xmm31
    vpxord ad_block, ad_block, xmm4
3:
    mov rax, [LANE(0, KEY)]
    mov begun_keys, [scratch + SPREAD_AT]
    cmp rax, [scratch + SPREAD_KEY]
    je 4f
    spread_key
4:
    lea counters, [consts + STREAM]
.endm

/* From here on this packet's rows are those that end. */
.macro begin_text
    mov ending_keys, begun_keys
    mov src, [LANE(0, IN)]
    mov dst, [LANE(0, OUT)]
    sub src, 16
    sub dst, 16
.endm

/* What the last group needs, to be multiplied by powers from H^(m + before) on; and the next packet begins. */
.macro end_packet before
    lea eax, [text_left - 1]
    and eax, 63
    inc eax
    mov rcx, -1
    bzhi rcx, rcx, rax
    kmovq part, rcx
    add eax, 15
    shr eax, 4
    add eax, eax
    mov ecx, 3
    shlx eax, ecx, eax
    movzx eax, al
    kmovw length_lane, eax
    vmovdqu xmm4, [LANE(0, BYTES)]
    vpunpcklqdq xmm4, xmm4, [LANE(0, AD_BYTES)]
    vpsllq xmm4, xmm4, 3
    vshufi32x4 length_block, zmm4, zmm4, 0
    lea ecx, [text_left + 15]
    and ecx, -16
    add ecx, 16*(\before + 1)
    mov power, hash_key
    sub power, rcx
    mov tag_at, [LANE(0, TAG)]
    xor eax, eax
    dec packets_left
    jz 1f
    mov rcx, [LANE(1, BYTES)]
    sub rcx, STREAM_LEAST
    cmp rcx, STREAM_MOST - STREAM_LEAST
    ja 1f
    add lane, SEALANE_LANE_STRIDE
    inc eax
1:
    kmovw another, eax
    begin_packet
.endm

.macro stream
.Lstream:
    mov eax, 0xfff0
    kmovw behind_j0, eax
    lea rax, [scratch + SPREAD]
    mov [scratch + SPREAD_NEXT], rax
    add rax, SPREAD_BYTES
    mov [scratch + SPREAD_AT], rax
    xor eax, eax
    mov [scratch + SPREAD_KEY], rax
    begin_packet
    begin_group
    .irp number, 1, 2, 3, 4
    vmovdqa64 begun_key, [begun_keys + SPREAD_ROUND(\number)]
    .irp i, 0, 1, 2, 3
    vaesenc zmm1\i, zmm1\i, begun_key
    .endr
    .endr
    vmovdqa64 begun_key, [begun_keys + SPREAD_ROUND(5)]
    .irp i, 0, 1, 2, 3
    next_row \i
    .endr
.Lstream_first:
    begin_text
    stream_step end_first_row, no_group
    jmp .Lstream_begun

    /* The end of a packet whose last group has n rows, and the first group of the next. */
    .irp n, 4, 3, 2, 1
.Lstream_last\n:
    .irp i, 0, 1, 2, 3
    .if \i < \n - 1
    end_row \i
    .elseif \i == \n - 1
    end_last_row \i
    .endif
    next_row \i
    .endr
    kortestw another, another
    jz .Lstream_end\n
    begin_text
    stream_step end_first_row, last_group_and_tag, \n
    .if \n > 1
    jmp .Lstream_begun
    .endif
    .endr

    /* The first group has ended. Are those before the last, which has 3 blocks or more, odd in number? */
.Lstream_begun:
    mov hash_key, [LANE(0, KEY)]
    mov text_left, [LANE(0, BYTES)]
    sub text_left, 256 - 16
    vpxord y, y, y
    lea eax, [text_left - 33]
    test eax, 256
    jnz .Lstream_upper
    vpxord lo, lo, lo
    vpxord mi, mi, mi
    vpxord hi, hi, hi
.Lstream_lower:
    cmp text_left, 256
    jbe .Lstream_last
    stream_step end_row, lower_group
    sub text_left, 256
.Lstream_upper:
    cmp text_left, 256
    jbe .Lstream_short
    stream_step end_row, upper_group
    sub text_left, 256
    jmp .Lstream_lower

.Lstream_last:
    end_packet 0
    step_rounds lower_group
    cmp text_left, 64
    jbe .Lstream_last1
    cmp text_left, 128
    jbe .Lstream_last2
    cmp text_left, 192
    jbe .Lstream_last3
    jmp .Lstream_last4

    /* A row with one or two blocks of text: these and the group before are the last. */
.Lstream_short:
    end_packet 16
    step_rounds last_group, 4
    end_last_row 0
    .irp i, 0, 1, 2, 3
    next_row \i
    .endr
    .irp step, 0, 2, 4, 6
    falling_row \step, 0, zmm20, 256
    .endr
    write_sum
    kortestw another, another
    jnz .Lstream_first
    jmp .Lstream_done

    .irp n, 4, 3, 2, 1
.Lstream_end\n:
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    last_group \step, \n
    .endr
    .if \n > 1
    jmp .Lstream_tag
    .endif
    .endr
.Lstream_tag:
    write_tag
.Lstream_done:
    add lane, SEALANE_LANE_STRIDE
    vpxord xmm4, xmm4, xmm4
    lea rax, [scratch + SPREAD]
    xor ecx, ecx
    cmp rcx, [scratch + SPREAD_KEY_BEFORE]
    setne cl
1:
    .irp at, 0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704, 768, 832, 896, 960, 1024, 1088
    vmovdqa64 [rax + \at], zmm4
    .endr
    add rax, SPREAD_BYTES
    dec ecx
    jz 1b
    vmovdqa64 [scratch + SPREAD_KEY], zmm4
.endm
