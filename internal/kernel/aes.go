package kernel

import (
	"math/bits"
	"unsafe"
)

// AES (FIPS 197) in constant time. Word k of eight holds bit k of every byte of aesLanes blocks.
//
// A bit's place in its word is row*aesRow + column*aesLanes + lane. So MixColumns rotates rows by rotating the word.
// ShiftRows is never executed (Adomnicai and Peyrin, "Fixslicing AES-like ciphers", TCHES 2021): after n rounds, column
// c of row r lies at column c + nr. MixColumns looks for it there, and the round keys use the same layout. After four
// rounds all columns are back in place.
type aesPlanes [8]uint

const (
	aesLanes  = bits.UintSize / 16 // blocks at a time
	aesRow    = 4 * aesLanes
	aesBatch  = 16 * aesLanes // bytes at a time
	aesRounds = 14            // at most

	aesOnes     = ^uint(0)
	aesRows     = aesOnes / (1<<aesRow - 1)                                                // the first bit of every row
	aesColumn2  = aesRows * (1<<(2*aesLanes) - 1)                                          // the first two columns of every row
	aesLane0    = aesOnes / (1<<aesLanes - 1)                                              // the first lane of every column
	aesSwapRows = aesColumn2 & (aesOnes / (1<<(2*aesRow) - 1) << aesRow * (1<<aesRow - 1)) // two columns of rows 1 and 3
)

// aesSchedule is a compact key schedule. All lanes of a round key are equal, so a word has room for aesLanes planes.
type aesSchedule [aesRounds + 1][8 / aesLanes]uint

// aesKeys are the round keys for all lanes.
type aesKeys struct {
	rounds int
	words  [aesRounds + 1]aesPlanes
}

// subBytes is SubBytes without its constant 0x63, which is in the round keys. The circuit and its names are from
// Boyar and Peralta, "A small depth-16 circuit for the AES S-box" (2011). It has a linear layer, the inversion in
// GF(2^4)^2, and a linear layer. u0 and s0 are the most significant bits.
func (q *aesPlanes) subBytes() {
	u0, u1, u2, u3, u4, u5, u6, u7 := q[7], q[6], q[5], q[4], q[3], q[2], q[1], q[0]

	y14, y13, y9, y8, t0 := u3^u5, u0^u6, u0^u3, u0^u5, u1^u2
	y1 := t0 ^ u7
	y4, y12, y2, y5 := y1^u3, y13^y14, y1^u0, y1^u6
	y3, t1 := y5^y8, u4^y12
	y15, y20 := t1^u5, t1^u1
	y6, y10, y11 := y15^u7, y15^t0, y20^y9
	y7, y17, y19, y16 := u7^y11, y10^y11, y10^y8, t0^y11
	y21, y18 := y13^y16, u0^y16

	t2 := y12 & y15
	t4, t6 := y3&y6^t2, y4&u7^t2
	t7 := y13 & y16
	t9, t11 := y5&y1^t7, y2&y7^t7
	t12 := y9 & y11
	t14, t16 := y14&y17^t12, y8&y10^t12
	t21, t22, t23, t24 := t4^t14^y20, t6^t16^y19, t9^t14^y21, t11^t16^y18

	t25, t26 := t21^t22, t21&t23
	t27 := t24 ^ t26
	t29 := t25&t27 ^ t22
	t33 := (t22^t26)&(t23^t24) ^ t24
	t36 := t24 & (t27 ^ t33)
	t37 := t36 ^ t23 ^ t33
	t40 := t25 ^ t29&(t27^t36)
	t41, t42, t43, t44 := t40^t37, t29^t33, t29^t40, t33^t37
	t45 := t42 ^ t41

	z0, z1, z2, z3, z4, z5 := t44&y15, t37&y6, t33&u7, t43&y16, t40&y1, t29&y7
	z6, z7, z8, z9, z10, z11 := t42&y11, t45&y17, t41&y10, t44&y12, t37&y3, t33&y4
	z12, z13, z14, z15, z16, z17 := t43&y13, t40&y5, t29&y2, t42&y9, t45&y14, t41&y8

	t46, t47, t48, t49, t50, t51 := z15^z16, z10^z11, z5^z13, z9^z10, z2^z12, z2^z5
	t52, t53, t54, t55 := z7^z8, z0^z3, z6^z7, z16^z17
	t57, t58, t59 := t50^t53, z4^t46, z3^t54
	t61, t62, t63, t64 := z14^t57, t52^t58, t49^t58, z4^t59
	t65, t66 := t61^t62, z1^t63
	s3 := t53 ^ t66
	q[7] = t59 ^ t63
	q[6] = t64 ^ s3
	q[5] = t55 ^ t64 ^ t65
	q[4] = s3
	q[3] = t51 ^ t66
	q[2] = t47 ^ t65
	q[1] = z12 ^ t48 ^ t62
	q[0] = t48 ^ t46 ^ t57
}

func (q *aesPlanes) add(key *aesPlanes) {
	for i := range q {
		q[i] ^= key[i]
	}
}

// aesMix is MixColumns and AddRoundKey after n rounds. The length of the type parameter is n modulo 4, which makes it a
// constant. x^8 = x^4 + x^3 + x + 1, so a bit shifted out of plane 7 is added to planes 0, 1, 3 and 4.
func aesMix[rounds [0]byte | [1]byte | [2]byte | [3]byte](q, key *aesPlanes) {
	var r rounds
	n := len(r)
	columns := aesRows * (1<<(aesRow-n*aesLanes) - 1) // the first 4-n of every row
	_, top := aesMixPlane(n, columns, q[7], 0, 0)
	var t uint
	q[0], t = aesMixPlane(n, columns, q[0], top, key[0])
	q[1], t = aesMixPlane(n, columns, q[1], top^t, key[1])
	q[2], t = aesMixPlane(n, columns, q[2], t, key[2])
	q[3], t = aesMixPlane(n, columns, q[3], top^t, key[3])
	q[4], t = aesMixPlane(n, columns, q[4], top^t, key[4])
	q[5], t = aesMixPlane(n, columns, q[5], t, key[5])
	q[6], t = aesMixPlane(n, columns, q[6], t, key[6])
	q[7], _ = aesMixPlane(n, columns, q[7], t, key[7])
}

// aesMixPlane is aesMix for one plane x. With a' the next row and t = a + a', a column becomes 2t + a' + t”; below is
// the part of 2t that comes from other planes.
func aesMixPlane(n int, columns, x, below, key uint) (sum, t uint) {
	next := bits.RotateLeft(x, -aesRow-n*aesLanes)&columns | bits.RotateLeft(x, -n*aesLanes)&^columns
	t = x ^ next
	return next ^ aesSecondRow(n, t) ^ below ^ key, t
}

// aesSecondRow returns the row after the next one. It is shifted by two columns if n is odd.
func aesSecondRow(n int, t uint) uint {
	if n%2 == 0 {
		return bits.RotateLeft(t, -2*aesRow)
	}
	return bits.RotateLeft(t, -2*aesRow-2*aesLanes)&aesColumn2 | bits.RotateLeft(t, -aesRow-2*aesLanes)&^aesColumn2
}

// encrypt encrypts the blocks in q.
func (k *aesKeys) encrypt(q *aesPlanes) {
	q.transpose()
	q.add(&k.words[0])
	for n := 1; ; n += 4 {
		q.subBytes()
		aesMix[[1]byte](q, &k.words[n])
		q.subBytes()
		if n+1 == k.rounds {
			break
		}
		aesMix[[2]byte](q, &k.words[n+1])
		q.subBytes()
		aesMix[[3]byte](q, &k.words[n+2])
		q.subBytes()
		if n+3 == k.rounds {
			break
		}
		aesMix[[0]byte](q, &k.words[n+3])
	}
	q.add(&k.words[k.rounds])
	q.straighten(k.rounds)
	q.transpose()
}

// straighten restores the layout at the end: after 10 and 14 rounds, rows 1 and 3 are shifted by two columns.
func (q *aesPlanes) straighten(rounds int) {
	if rounds%4 == 0 {
		return
	}
	for i, x := range q {
		t := (x ^ x>>(2*aesLanes)) & aesSwapRows
		q[i] = x ^ t ^ t<<(2*aesLanes)
	}
}

// The inverse cipher (FIPS 197, section 5.3): the rounds above, in reverse.

// inverseLinear is the inverse of the linear map in subBytes, which follows inversion in GF(2^8). Applying it both
// before and after subBytes gives the inverse S-box.
func (q *aesPlanes) inverseLinear() {
	x := *q
	for i := range q {
		q[i] = x[(i+2)%8] ^ x[(i+5)%8] ^ x[(i+7)%8]
	}
}

func (q *aesPlanes) inverseSubBytes() {
	q.inverseLinear()
	q.subBytes()
	q.inverseLinear()
}

// inverseMix is AddRoundKey and InvMixColumns after n rounds. InvMixColumns is MixColumns of a + 4(a + a”), because 14,
// 11, 13, 9 are 2, 3, 1, 1 times 5, 0, 4, 0 (polynomials modulo x^4 + 1).
func (q *aesPlanes) inverseMix(n int, key *aesPlanes) {
	var t aesPlanes
	q.add(key)
	for i, x := range q {
		t[i] = x ^ aesSecondRow(n, x)
	}
	for i := range q { // x^8 = x^4 + x^3 + x + 1; the rotation adds the 1
		q[i] ^= t[(i+6)%8]
	}
	q[1], q[3], q[4] = q[1]^t[6], q[3]^t[6], q[4]^t[6]
	q[2], q[4], q[5] = q[2]^t[7], q[4]^t[7], q[5]^t[7]
	switch n % 4 {
	case 0:
		aesMix[[0]byte](q, &aesNoKey)
	case 1:
		aesMix[[1]byte](q, &aesNoKey)
	case 2:
		aesMix[[2]byte](q, &aesNoKey)
	default:
		aesMix[[3]byte](q, &aesNoKey)
	}
}

var aesNoKey aesPlanes

// decrypt decrypts the blocks in q.
func (k *aesKeys) decrypt(q *aesPlanes) {
	q.transpose()
	q.straighten(k.rounds)
	q.add(&k.words[k.rounds])
	for n := k.rounds - 1; n > 0; n-- {
		q.inverseSubBytes()
		q.inverseMix(n, &k.words[n])
	}
	q.inverseSubBytes()
	q.add(&k.words[0])
	q.transpose()
}

func aesSwap(a, b uint, n int, mask uint) (uint, uint) {
	t := (a>>n ^ b) & mask
	return a ^ t<<n, b ^ t
}

// transpose swaps bit k of byte j of word i with bit i of byte j of word k.
func (q *aesPlanes) transpose() {
	const m1, m2, m4 = aesOnes / 3, aesOnes / 5, aesOnes / 17
	x0, x1 := aesSwap(q[0], q[1], 1, m1)
	x2, x3 := aesSwap(q[2], q[3], 1, m1)
	x4, x5 := aesSwap(q[4], q[5], 1, m1)
	x6, x7 := aesSwap(q[6], q[7], 1, m1)
	x0, x2 = aesSwap(x0, x2, 2, m2)
	x1, x3 = aesSwap(x1, x3, 2, m2)
	x4, x6 = aesSwap(x4, x6, 2, m2)
	x5, x7 = aesSwap(x5, x7, 2, m2)
	q[0], q[4] = aesSwap(x0, x4, 4, m4)
	q[1], q[5] = aesSwap(x1, x5, 4, m4)
	q[2], q[6] = aesSwap(x2, x6, 4, m4)
	q[3], q[7] = aesSwap(x3, x7, 4, m4)
}

// put stores a block of four little-endian columns in a lane. transpose determines the word and byte of each column.
func (q *aesPlanes) put(lane int, c0, c1, c2, c3 uint32) {
	if bits.UintSize == 64 {
		q[lane], q[4+lane] = aesInterleave(c0, c2), aesInterleave(c1, c3)
	} else {
		q[lane], q[2+lane], q[4+lane&7], q[6+lane&7] = uint(c0), uint(c1), uint(c2), uint(c3)
	}
}

func (q *aesPlanes) get(lane int) (c0, c1, c2, c3 uint32) {
	if bits.UintSize == 64 {
		c0, c2 = aesDeinterleave(q[lane])
		c1, c3 = aesDeinterleave(q[4+lane])
		return c0, c1, c2, c3
	}
	return uint32(q[lane]), uint32(q[2+lane]), uint32(q[4+lane&7]), uint32(q[6+lane&7])
}

// aesInterleave alternates the bytes of a and b.
func aesInterleave(a, b uint32) uint {
	x := uint64(a) | uint64(b)<<32
	t := (x ^ x>>16) & 0x00000000ffff0000
	x ^= t ^ t<<16
	t = (x ^ x>>8) & 0x0000ff000000ff00
	return uint(x ^ t ^ t<<8)
}

func aesDeinterleave(y uint) (a, b uint32) {
	x := uint64(y)
	t := (x ^ x>>8) & 0x0000ff000000ff00
	x ^= t ^ t<<8
	t = (x ^ x>>16) & 0x00000000ffff0000
	x ^= t ^ t<<16
	return uint32(x), uint32(x >> 32)
}

func (q *aesPlanes) store(out *[aesBatch]byte) {
	for lane := range aesLanes {
		c0, c1, c2, c3 := q.get(lane)
		o := out[16*lane : 16*lane+16]
		lePutUint32(o[0:], c0)
		lePutUint32(o[4:], c1)
		lePutUint32(o[8:], c2)
		lePutUint32(o[12:], c3)
	}
}

func (q *aesPlanes) load(in *[aesBatch]byte) {
	for lane := range aesLanes {
		b := in[16*lane : 16*lane+16]
		q.put(lane, leUint32(b[0:]), leUint32(b[4:]), leUint32(b[8:]), leUint32(b[12:]))
	}
}

// encryptBlocks encrypts aesLanes blocks in place.
func (k *aesKeys) encryptBlocks(b *[aesBatch]byte) {
	var q aesPlanes
	q.load(b)
	k.encrypt(&q)
	q.store(b)
}

// decryptBlocks decrypts aesLanes blocks in place.
func (k *aesKeys) decryptBlocks(b *[aesBatch]byte) {
	var q aesPlanes
	q.load(b)
	k.decrypt(&q)
	q.store(b)
}

// counters sets out to the encrypted counter blocks: prefix and the big-endian counter, counter + 1, ...
func (k *aesKeys) counters(out *[aesBatch]byte, prefix *[3]uint32, counter uint32) {
	var q aesPlanes
	for lane := range aesLanes {
		q.put(lane, prefix[0], prefix[1], prefix[2], bits.ReverseBytes32(counter+uint32(lane)))
	}
	k.encrypt(&q)
	q.store(out)
}

// aesSubWord is SubBytes of one word.
func aesSubWord(x uint32) uint32 {
	var q aesPlanes
	for i := range q {
		q[i] = uint(x >> i & 0x01010101)
	}
	q.subBytes()
	y := uint32(0x63636363)
	for i := range q {
		y ^= uint32(q[i]&0x01010101) << i
	}
	clear(q[:])
	return y
}

// aesExpand is the key schedule (FIPS 197, section 5.2).
func aesExpand(w *[4 * (aesRounds + 1)]uint32, key []byte, rounds int) {
	length := rounds - 6
	for i := range length {
		w[i] = leUint32(key[4*i:])
	}
	constant := uint32(1)
	for i, place := length, 0; i < 4*(rounds+1); i++ { // place is i modulo length
		t := w[i-1]
		switch {
		case place == 0:
			t = aesSubWord(bits.RotateLeft32(t, -8)) ^ constant
			constant = constant<<1 ^ constant>>7*0x11b
		case length > 6 && place == 4:
			t = aesSubWord(t)
		}
		w[i] = w[i-length] ^ t
		if place++; place == length {
			place = 0
		}
	}
}

// expand sets s to the schedule of a key of rounds/2 - 3 columns.
func (s *aesSchedule) expand(key []byte, rounds int) {
	var w [4 * (aesRounds + 1)]uint32
	aesExpand(&w, key, rounds)
	var q aesPlanes
	for n := 0; n <= rounds; n++ {
		// Moves the rows to where the rows of the state lie after n rounds.
		var c [4]uint32
		for i, x := range w[4*n : 4*n+4] {
			for row := range 4 {
				c[(i+n*row)%4] |= x & (0xff << (8 * row))
			}
		}
		for lane := range aesLanes {
			q.put(lane, c[0], c[1], c[2], c[3])
		}
		q.transpose()
		for i := range q {
			if n > 0 && 0x63>>i&1 != 0 { // the constant of SubBytes; MixColumns does not change it
				q[i] = ^q[i]
			}
		}
		s[n] = [8 / aesLanes]uint{}
		for i, x := range q {
			s[n][i/aesLanes] |= x & aesLane0 << (i % aesLanes)
		}
		clear(c[:])
	}
	clear(q[:])
	clear(w[:])
}

// spread copies the round keys of a schedule to all lanes.
func (k *aesKeys) spread(s *aesSchedule, rounds int) {
	k.rounds = rounds
	for n := range s[:rounds+1] {
		for i := range k.words[n] {
			x := s[n][i/aesLanes] >> (i % aesLanes) & aesLane0
			k.words[n][i] = x<<aesLanes - x
		}
	}
}

// spreadLane sets the round keys of one lane; all lanes have the same number of rounds.
func (k *aesKeys) spreadLane(lane int, s *aesSchedule, rounds int) {
	k.rounds = rounds
	for n := range s[:rounds+1] {
		for i := range k.words[n] {
			x := s[n][i/aesLanes] >> (i % aesLanes) & aesLane0
			k.words[n][i] = k.words[n][i]&^(aesLane0<<lane) | x<<lane
		}
	}
}

var _ = [1]byte{}[unsafe.Sizeof(aesSchedule{})-240]
