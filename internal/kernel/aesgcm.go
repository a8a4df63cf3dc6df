package kernel

import (
	"unsafe"
)

// gcmPortableKey is a GCMKey of the portable level.
type gcmPortableKey struct {
	rounds, _ uint64
	schedule  aesSchedule
	hash      ghashKey
}

var (
	_ = [1]byte{}[unsafe.Offsetof(gcmPortableKey{}.schedule)-asmGcmKeySchedule]
	_ = [asmGcmKeyBytes]byte{}[unsafe.Sizeof(gcmPortableKey{})]
)

// gcmStream is keystream, made a batch of blocks at a time.
type gcmStream struct {
	keys    aesKeys
	prefix  [3]uint32
	counter uint32 // of the next block after buffer
	left    int    // unused bytes at the end of buffer: whole blocks
	buffer  [aesBatch]byte
}

func (s *gcmStream) start(prefix *[12]byte, counter uint32) {
	for i := range s.prefix {
		s.prefix[i] = leUint32(prefix[4*i:])
	}
	s.counter = counter
	s.left = 0
}

func (s *gcmStream) refill() {
	s.keys.counters(&s.buffer, &s.prefix, s.counter)
	s.counter += aesLanes
	s.left = aesBatch
}

// xor XORs keystream into in. out is equal to in or disjoint from it. Only the last call for a packet may have a length
// that is not a multiple of 16.
func (s *gcmStream) xor(out, in []byte) {
	for len(in) > 0 {
		if s.left == 0 {
			s.refill()
		}
		stream := s.buffer[aesBatch-s.left:]
		n := min(len(in), len(stream))
		o, i, k := out[:n], in[:n], stream[:n]
		for len(i) >= 8 && len(o) >= 8 && len(k) >= 8 {
			lePutUint64(o, leUint64(i)^leUint64(k))
			o, i, k = o[8:], i[8:], k[8:]
		}
		for j := range i {
			o[j] = i[j] ^ k[j]
		}
		s.left -= n
		out, in = out[n:], in[n:]
	}
}

func (k *gcmPortableKey) setup() {
	rounds := int(k.rounds)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&k.schedule)), 4*rounds-24)
	k.schedule.expand(raw, rounds)
	var keys aesKeys
	var blocks [aesBatch]byte
	keys.spread(&k.schedule, rounds)
	keys.counters(&blocks, &[3]uint32{}, 0)
	k.hash.init((*[16]byte)(blocks[:16]))
	clear(blocks[:])
	keys = aesKeys{}
}

// AESGCMPortable is the kernel (NIST SP 800-38D) in constant-time Go, for every CPU. It is the fallback level, and the
// reference for tests of the others.
func AESGCMPortable(a *PacketArgs) {
	key := (*gcmPortableKey)(a.Key)
	if a.Flags&FlagSetup != 0 {
		if a.Flags&FlagPolyval != 0 {
			key.hash.initPolyval((*[16]byte)(a.Nonce))
		} else if a.Flags&FlagNonce != 0 {
			key.hash.init((*[16]byte)(a.Nonce))
		} else {
			key.setup()
		}
		return
	}
	if a.Flags&FlagPolyval != 0 {
		a.polyval(&key.hash)
		return
	}
	var s gcmStream
	var g ghash
	var mask [16]byte
	s.keys.spread(&key.schedule, int(key.rounds))
	if a.Flags&FlagFirst != 0 {
		counter := uint32(1)
		if a.Flags&FlagNonce == 0 {
			counter = beUint32((*[16]byte)(a.Nonce)[12:])
		}
		s.start((*[12]byte)(a.Nonce), counter)
		s.refill() // skips block J0, which does not encrypt text
		copy(mask[:], s.buffer[:])
		s.left -= 16
		g.padded(&key.hash, unsafe.Slice((*byte)(a.AD), int(a.ADBytes)))
	} else {
		state := a.gcmState()
		s.start((*[12]byte)(state.Counter[:]), beUint32(state.Counter[12:]))
		mask = state.Mask
		g.high, g.low = beUint64(state.Y[:8]), beUint64(state.Y[8:])
	}

	// In pieces that stay in the first-level cache for both passes.
	out, in := unsafe.Slice((*byte)(a.Out), int(a.Bytes)), unsafe.Slice((*byte)(a.In), int(a.Bytes))
	for len(in) > 0 {
		n := min(len(in), 4096)
		if a.Flags&FlagOpen != 0 {
			g.padded(&key.hash, in[:n])
			s.xor(out[:n], in[:n])
		} else {
			s.xor(out[:n], in[:n])
			g.padded(&key.hash, out[:n])
		}
		out, in = out[n:], in[n:]
	}

	if a.Flags&FlagLast != 0 {
		g.lengths(&key.hash, a.ADBytes, a.Total)
		tag := (*[16]byte)(a.Tag)
		bePutUint64(tag[:8], g.high^beUint64(mask[:8]))
		bePutUint64(tag[8:], g.low^beUint64(mask[8:]))
	} else {
		state := a.gcmState()
		bePutUint64(state.Y[:8], g.high)
		bePutUint64(state.Y[8:], g.low)
		for i, x := range s.prefix {
			lePutUint32(state.Counter[4*i:], x)
		}
		bePutUint32(state.Counter[12:], s.counter-uint32(s.left/16))
		state.Mask = mask
	}
	s = gcmStream{}
	g = ghash{}
	mask = [16]byte{}
}

func (a *PacketArgs) polyval(key *ghashKey) {
	var g ghash
	if a.Flags&FlagFirst != 0 {
		g.reversed(key, unsafe.Slice((*byte)(a.AD), int(a.ADBytes)))
	} else {
		y := &a.gcmState().Y
		g.low, g.high = leUint64(y[:8]), leUint64(y[8:])
	}
	g.reversed(key, unsafe.Slice((*byte)(a.In), int(a.Bytes)))
	y := (*[16]byte)(a.Tag)
	if a.Flags&FlagLast != 0 {
		g.lengths(key, a.Total, a.ADBytes) // reversed, because the bytes are reversed too
	} else {
		y = &a.gcmState().Y
	}
	lePutUint64(y[:8], g.low)
	lePutUint64(y[8:], g.high)
	g = ghash{}
}

// AESGCMSetup sets up a key of 16, 24 or 32 bytes for a level.
func AESGCMSetup(level Level, k *GCMKey, key []byte) {
	k.Rounds = uint64(6 + len(key)/4)
	copy(k.Schedule[:], key)
	var a PacketArgs
	a.Key, a.Flags = unsafe.Pointer(k), FlagSetup
	AESGCM(level, &a)
}

// AESGCMHashKey makes the table of a hash key, and leaves the rest of k unchanged.
func AESGCMHashKey(level Level, k *GCMKey, h *[16]byte) {
	var a PacketArgs
	a.Key, a.Nonce, a.Flags = unsafe.Pointer(k), unsafe.Pointer(h), FlagSetup|FlagNonce
	AESGCM(level, &a)
}

// PolyvalKey is the same for a POLYVAL hash key. longest is the larger of the lengths of text and associated data.
func PolyvalKey(level Level, k *GCMKey, h *[16]byte, longest int) {
	var a PacketArgs
	a.Key, a.Nonce, a.Bytes = unsafe.Pointer(k), unsafe.Pointer(h), uint64(longest)
	a.Flags = FlagSetup | FlagNonce | FlagPolyval
	AESGCM(level, &a)
}

// AESGCMNonce sets j0 to the first counter block for a nonce of any length except 0 and 12 (section 7.1): GHASH of
// the nonce and its length. A kernel computes it as for associated data. For short nonces, the block of lengths is
// part of that data. Otherwise portable code adds it, which avoids a long copy but needs the hash key. The hash key
// is the encrypted zero block, which is the mask for a zero J0.
func AESGCMNonce(level Level, key *GCMKey, j0 *[16]byte, nonce []byte) {
	var blocks [128]byte
	var zero [16]byte
	var state GCMState
	var a PacketArgs
	a.Key, a.Nonce, a.State, a.Flags = unsafe.Pointer(key), unsafe.Pointer(&zero), state.State(), FlagFirst
	if padded := (len(nonce) + 15) &^ 15; padded <= len(blocks)-16 {
		copy(blocks[:], nonce)
		bePutUint64(blocks[padded+8:padded+16], 8*uint64(len(nonce)))
		a.AD, a.ADBytes = unsafe.Pointer(&blocks), uint64(padded+16)
		AESGCM(level, &a)
	} else {
		a.AD, a.ADBytes = unsafe.Pointer(unsafe.SliceData(nonce)), uint64(len(nonce))
		AESGCM(level, &a)
		bePutUint64(blocks[8:], 8*uint64(len(nonce)))
		state.Absorb(&state.Mask, blocks[:16])
	}
	*j0 = state.Y
	state = GCMState{}
}

// Absorb adds b, padded with zeroes to whole blocks, to the authenticated data. h is the hash key, the encrypted zero
// block. It is portable code for data that is too short for a kernel.
func (s *GCMState) Absorb(h *[16]byte, b []byte) {
	var k ghashKey
	k.init(h)
	g := ghash{high: beUint64(s.Y[:8]), low: beUint64(s.Y[8:])}
	g.padded(&k, b)
	bePutUint64(s.Y[:8], g.high)
	bePutUint64(s.Y[8:], g.low)
	k, g = ghashKey{}, ghash{}
}

// aesGCMAnswer is the last tag; TestAnswer computes it with another implementation.
var aesGCMAnswer = [16]byte{0x7d, 0x70, 0x5a, 0x70, 0x0d, 0x51, 0x77, 0xea, 0x67, 0x24, 0xe1, 0x73, 0x2e, 0x84, 0x01, 0x88}

// aesGCMTest is the known-answer test of a level, like chaCha20Poly1305Test. It alternates keys of the three lengths.
// The counter of every second packet wraps around at 2^32. The parts are also opened. The C library has the same test.
func aesGCMTest(level Level, corrupt bool) bool {
	var keys [3]GCMKey
	c := answerChain{level: level, gcm: true}
	c.init()
	for i := range keys {
		AESGCMSetup(level, &keys[i], c.key[:16+8*i])
		c.keys[i] = unsafe.Pointer(&keys[i])
	}
	// One table is made again from its hash key, which is the mask for a zero J0.
	var zero [16]byte
	var hash GCMState
	first := PacketArgs{Key: unsafe.Pointer(&keys[1]), Nonce: unsafe.Pointer(&zero), State: hash.State(), Flags: FlagFirst}
	AESGCM(level, &first)
	clear(keys[1].Table[:])
	AESGCMHashKey(level, &keys[1], &hash.Mask)
	return c.gives(&aesGCMAnswer, corrupt) && (!HasSIV || polyvalTest(level, &c.texts, &keys[0]))
}

// polyvalAnswer is the last sum; TestPolyvalAnswer computes it from the definition.
var polyvalAnswer = [16]byte{0xd4, 0x25, 0xbb, 0x71, 0xe6, 0x1c, 0xe6, 0x18, 0xfa, 0x63, 0xdf, 0xaa, 0x63, 0x71, 0xdc, 0xdb}

var polyvalSizes = [...]int{1, 16, 31, 48, 64, 112, 113, 200, 304, 560, 1100, 2100}

// polyvalTest is the known-answer test of POLYVAL: each sum is the hash key for the next length.
func polyvalTest(level Level, texts *answerTexts, key *GCMKey) bool {
	var sum [16]byte
	for i := range sum {
		sum[i] = byte(0x80 + i)
	}
	for _, n := range polyvalSizes {
		PolyvalKey(level, key, &sum, n)
		text := unsafe.Pointer(texts.of(n))
		a := PacketArgs{In: text, Bytes: uint64(n), Total: uint64(n), AD: text, ADBytes: uint64(n % 33)}
		a.Key, a.Tag, a.Flags = unsafe.Pointer(key), unsafe.Pointer(&sum), FlagFirst|FlagLast|FlagPolyval
		AESGCM(level, &a)
	}
	return sum == polyvalAnswer
}
