package main

// The reference: ChaCha20, Poly1305 and their AEAD (RFC 8439) as a network engine of 32 bits does them, word by word. Every
// instruction and every access is counted, and the results are right.

// A treatment is a packet being sealed.
type treatment struct {
	profile
	a, s   [16]uint32
	h      [5]uint32
	r, pad [4]uint32
	block  [5]uint64
}

var constants = [4]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}

func word(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// begin fills the initial state.
func (t *treatment) begin(secret *[32]byte, nonce *[12]byte, counter uint32) {
	for i := range t.s {
		switch {
		case i < 4:
			t.s[i] = t.move(constants[i])
		case i < 12:
			t.touch(key, 1)
			t.s[i] = t.move(word(secret[4*(i-4):]))
		case i == 12:
			t.s[i] = t.move(counter)
		default:
			t.touch(key, 1)
			t.s[i] = t.move(word(nonce[4*(i-13):]))
		}
		t.touch(initial, 1)
	}
}

func (t *treatment) quarter(a, b, c, d int) {
	half := func(x, y, z, n int) { // x += y; z = (z ^ x) <<< n
		t.a[x] = t.add(t.a[x], t.a[y])
		t.a[z] = t.rotate(t.xor(t.a[z], t.a[x]), n)
		t.touch(working, 3+3)
	}
	half(a, b, d, 16)
	half(c, d, b, 12)
	half(a, b, d, 8)
	half(c, d, b, 7)
}

// keystream leaves a block of the key stream in the working state.
func (t *treatment) keystream(rounds int) {
	for i := range t.a {
		t.a[i] = t.move(t.s[i])
		t.touch(initial, 1)
		t.touch(working, 1)
	}
	t.touch(counters, 1)
	for i := 0; t.test(i < rounds/2); i++ {
		t.quarter(0, 4, 8, 12)
		t.quarter(1, 5, 9, 13)
		t.quarter(2, 6, 10, 14)
		t.quarter(3, 7, 11, 15)
		t.quarter(0, 5, 10, 15)
		t.quarter(1, 6, 11, 12)
		t.quarter(2, 7, 8, 13)
		t.quarter(3, 4, 9, 14)
		t.instructions++
		t.touch(counters, 3)
	}
	for i := range t.a {
		t.a[i] = t.add(t.a[i], t.s[i])
		t.touch(initial, 1)
		t.touch(working, 2)
	}
}

func (t *treatment) next() {
	t.s[12] = t.add(t.s[12], 1)
	t.touch(initial, 2)
	t.instructions += 3 // bytes left, and where to read and write
	t.touch(counters, 2)
}

// chacha seals a text with ChaCha alone, words straight from and to the packet.
func chacha(rounds int, secret *[32]byte, nonce *[12]byte, counter uint32, data []byte) ([]byte, profile) {
	t := new(treatment)
	t.network()
	t.begin(secret, nonce, counter)
	out := make([]byte, (len(data)+63)&^63)
	in := append(append([]byte{}, data...), make([]byte, len(out)-len(data))...)
	for at := 0; t.test(at < len(data)); at += 64 {
		t.keystream(rounds)
		for i := range 16 {
			if at+4*i < len(data) {
				t.touch(working, 1)
				t.touch(packet, 2)
				store(out[at+4*i:], t.xor(t.swap(t.a[i]), t.swapped(in[at+4*i:])))
			}
		}
		t.test(true)
		t.next()
	}
	return out[:len(data)], t.profile
}

// swapped is a word as the network's byte order has it; store undoes it.
func (t *treatment) swapped(b []byte) uint32 {
	return uint32(b[3]) | uint32(b[2])<<8 | uint32(b[1])<<16 | uint32(b[0])<<24
}

func store(b []byte, x uint32) {
	b[0], b[1], b[2], b[3] = byte(x>>24), byte(x>>16), byte(x>>8), byte(x)
}

// absorb is h = (h + block) r mod 2^130 - 5, in words of 32 bits. The part of a product beyond 2^128 has a factor
// 5/4, since all words of r except the lowest are multiples of 4. The lowest one's remainder is used separately.
func (t *treatment) absorb() {
	// The five-word sum.
	var sum [5]uint64
	for i := range sum {
		t.touch(accumulator, 1)
		t.touch(block, 2)
		t.touch(sums, 2)
		sum[i] = t.addLong(uint64(t.h[i]), t.block[i])
	}
	for i := 1; i < 5; i++ {
		t.touch(sums, 1+2+2)
		sum[i] = t.addLong(sum[i], sum[i-1]>>32)
	}
	for i := range t.h {
		t.touch(sums, 1)
		t.touch(accumulator, 1)
		t.h[i] = t.move(uint32(sum[i]))
	}
	// The products.
	var d [4]uint64
	for i := range d {
		for j := range t.h {
			t.touch(accumulator, 1)
			t.touch(multiplier, 1)
			var p uint64
			if j <= i {
				p = t.product(t.h[j], t.r[i-j])
			} else {
				p = t.productLong(t.product(5, t.h[j]), t.right(t.r[4+i-j], 2))
			}
			if j > 0 {
				p = t.addLong(d[i], p)
			}
			d[i] = p
		}
		t.touch(sums, 2)
	}
	// The reduction.
	t.touch(accumulator, 1)
	t.touch(multiplier, 1)
	t.touch(sums, 1+2)
	top := t.addLong(uint64(t.productLow(t.h[4], t.and(t.r[0], 3))), d[3]>>32)
	t.touch(sums, 2)
	t.touch(carry, 2)
	c := t.productLong(t.rightLong(top, 2), 5)
	for i := range d {
		t.touch(sums, 1)
		t.touch(carry, 2+2)
		c = t.addLong(c, uint64(uint32(d[i])))
		if i > 0 {
			t.touch(sums, 1)
			c = t.addLong(c, d[i-1]>>32)
		}
		t.touch(carry, 1)
		t.touch(accumulator, 1)
		t.h[i] = t.move(uint32(c))
		t.touch(carry, 1+2)
		c = uint64(t.move(uint32(c >> 32)))
		t.instructions++ // the upper word becomes 0
	}
	t.touch(sums, 1)
	t.touch(carry, 2+2)
	t.touch(accumulator, 1)
	t.h[4] = t.move(uint32(t.addLong(c, uint64(t.and(uint32(top), 3)))))
}

// take makes a block of words, of which n bytes count; the AEAD fills it up with zeroes.
func (t *treatment) take(from object, words [4]uint32, n int) {
	t.touch(counters, 2)
	t.instructions++
	if t.test(n < 16) {
		t.touch(block, 2*5)
		t.instructions += 2 * 5
		t.block = [5]uint64{}
		t.instructions += 2 // which word is the last
		t.jumps++
		for i := 0; 4*i < n; i++ {
			x := words[i]
			t.touch(from, 1)
			if left := n - 4*i; left < 4 {
				x &= 1<<(8*left) - 1
				t.instructions += 5
				t.touch(counters, 3)
				t.touch(block, 4)
			}
			t.block[i] = uint64(t.move(x))
			t.instructions++
			t.touch(block, 2)
		}
		t.block[4] = 1
		return
	}
	for i := range words {
		t.touch(from, 1)
		t.touch(block, 2)
		t.block[i] = uint64(t.move(words[i]))
		t.instructions++
	}
	t.touch(block, 2)
	t.instructions += 2
	t.block[4] = 1
}

// seal seals a message in the packet, as the published program does.
func seal(rounds int, secret *[32]byte, nonce *[12]byte, aad, message []byte) (sealed []byte, tag [16]byte, p profile) {
	t := new(treatment)
	t.network()
	t.begin(secret, nonce, 0)
	t.touch(accumulator, 5)
	t.instructions += 5
	// Poly1305's key is the first block.
	t.keystream(rounds)
	masks := [4]uint32{0x0fffffff, 0x0ffffffc, 0x0ffffffc, 0x0ffffffc}
	for i := range 4 {
		t.touch(working, 2)
		t.touch(multiplier, 1)
		t.touch(pad, 1)
		t.r[i] = t.and(t.a[i], masks[i])
		t.pad[i] = t.move(t.a[4+i])
	}
	t.s[12] = t.add(t.s[12], 1)
	t.touch(initial, 2)

	// Associated data, filled up with zeroes.
	padded := append(append([]byte{}, aad...), make([]byte, -len(aad)&15)...)
	for at := 0; t.test(at < len(aad)); at += 16 {
		var w [4]uint32
		for i := range w {
			w[i] = word(padded[at+4*i:])
		}
		t.take(associated, w, min(16, len(aad)-at))
		t.touch(associated, 1) // after 12 bytes the program also reads the next word
		t.absorb()
		t.instructions += 2
		t.touch(counters, 2)
	}

	out := make([]byte, (len(message)+63)&^63)
	in := append(append([]byte{}, message...), make([]byte, len(out)-len(message))...)
	for at := 0; t.test(at < len(message)); at += 64 {
		var data [16]uint32
		for i := range data {
			t.touch(packet, 1)
			t.touch(workText, 1)
			data[i] = t.swapped(in[at+4*i:])
		}
		for i := range data {
			t.touch(workText, 2)
			data[i] = t.swap(data[i])
		}
		t.keystream(rounds)
		for i := range data {
			t.touch(working, 1)
			t.touch(workText, 2)
			data[i] = t.xor(data[i], t.a[i])
		}
		t.touch(counters, 1)
		for i := 0; t.test(i < 4); i++ {
			left := min(16, len(message)-at-16*i)
			t.take(workText, [4]uint32(data[4*i:]), left)
			t.absorb()
			t.instructions += 3
			t.touch(counters, 3)
			if t.test(len(message)-at <= 16*(i+1)) {
				break
			}
		}
		t.test(true)
		for i := range data {
			if at+4*i < len(message) {
				t.touch(workText, 1)
				t.touch(packet, 1)
				store(out[at+4*i:], t.swap(data[i]))
			}
		}
		t.next()
	}

	// Lengths.
	t.instructions += 2 * 5
	t.touch(block, 2*5)
	t.block = [5]uint64{uint64(len(aad)), 0, uint64(len(message)), 0, 1}
	t.absorb()
	t.finish(&tag)
	return out[:len(message)], tag, t.profile
}

// finish reduces h completely and adds s.
func (t *treatment) finish(tag *[16]byte) {
	c := uint64(5)
	for i := range t.h {
		t.touch(accumulator, 1)
		t.touch(carry, 4)
		c = t.addLong(c, uint64(t.h[i]))
		if i < 4 {
			t.touch(carry, 3)
			c = uint64(t.move(uint32(c >> 32)))
			t.instructions++
		}
	}
	t.touch(carry, 4)
	c = t.productLong(t.rightLong(c, 2), 5)
	var sum [4]uint64
	over := uint64(0)
	for i := range sum {
		t.touch(accumulator, 2)
		t.touch(pad, 1)
		t.touch(sums, 2+5+1)
		sum[i] = t.addLong(t.addLong(uint64(t.h[i]), uint64(t.pad[i])), over)
		over = sum[i] >> 32
		t.h[i] = t.move(uint32(sum[i]))
	}
	t.touch(carry, 2)
	for i := range sum {
		t.touch(accumulator, 2)
		t.touch(sums, 2+1+1)
		c = t.addLong(uint64(t.h[i]), c)
		t.h[i] = t.move(uint32(c))
		c >>= 32
		tag[4*i], tag[4*i+1], tag[4*i+2], tag[4*i+3] = byte(t.h[i]), byte(t.h[i]>>8), byte(t.h[i]>>16), byte(t.h[i]>>24)
		t.touch(accumulator, 1)
		t.touch(packet, 1)
	}
}

// network is the work that the part's packet interface requires for each packet: requesting it, computing its
// address, writing the sender's instructions, and returning it. The instructions are those of the vendor's public
// library. A field of the description is extracted by a shift and a mask. A field of a command is inserted by a
// mask, a shift and an OR.
func (t *treatment) network() {
	// 8 fields are read (island and number twice, length, port, sequencer, sequence number) in 2 instructions each.
	// The packet's address is computed in 2 x 5. 12 fields are written (two of the script, four of the send address,
	// six of its two control words) in 3 each. 3 + 3 are the commands and the write of a control register.
	t.instructions += work.network
	t.jumps += 2 // the port, the script's kind
	t.touch(packet, 3)
}
