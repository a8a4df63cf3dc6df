package kernel

import (
	"unsafe"
)

// Operations of the unauthenticated modes of AES (NIST SP 800-38A, IEEE 1619). Texts are whole blocks.
const (
	AESSetup      = asmAESSetup      // make an AESKey from its rounds and the raw key in its schedule
	AESECBEncrypt = asmAESECBEncrypt // each block independently
	AESECBDecrypt = asmAESECBDecrypt
	AESCTR        = asmAESCTR        // State: the counter block, whose last 4 bytes count and wrap around.
	AESCBCDecrypt = asmAESCBCDecrypt // State: input the block that the first one is chained to, output the last block of the input.
	AESXTSEncrypt = asmAESXTSEncrypt // State: input the encrypted tweak of the first block, output that of the block after the last.
	AESXTSDecrypt = asmAESXTSDecrypt
	AESCBCEncrypt = asmAESCBCEncrypt // ModeLanesArgs: lanes of BytesEach bytes
	AESMasks      = asmAESMasks      // ModeLanesArgs: lanes of one block each, without Chain
	AESCTRLittle  = asmAESCTRLittle  // like AESCTR, but the first 4 bytes count, little-endian; requires HasSIV
)

// AESKey is an AES key in the layout of one level's kernel.
type AESKey struct {
	Rounds   uint64 // 10, 12 or 14
	_        uint64
	Schedule [asmAESKeyInverse - asmAESKeySchedule]byte // before AESSetup the key of 16, 24 or 32 bytes
	Inverse  [asmAESKeyBytes - asmAESKeyInverse]byte    // for decryption
}

// XTSDouble makes the tweak of the next block (IEEE 1619, section 5.2): it multiplies by x in GF(2^128), little-endian.
func XTSDouble(t *[16]byte) {
	low, high := leUint64(t[:8]), leUint64(t[8:])
	lePutUint64(t[:8], low<<1^0x87&-(high>>63))
	lePutUint64(t[8:], high<<1|low>>63)
}

// aesWork is the text of one call, a batch of blocks at a time.
type aesWork struct {
	keys          aesKeys
	blocks, chain [aesBatch]byte
}

func (w *aesWork) ecb(out, in []byte, decrypt bool) {
	copy(w.blocks[:], in)
	if decrypt {
		w.keys.decryptBlocks(&w.blocks)
	} else {
		w.keys.encryptBlocks(&w.blocks)
	}
	copy(out, w.blocks[:])
}

func (w *aesWork) ctr(out, in []byte, state *[16]byte) {
	prefix := [3]uint32{leUint32(state[0:]), leUint32(state[4:]), leUint32(state[8:])}
	counter := beUint32(state[12:])
	w.keys.counters(&w.blocks, &prefix, counter)
	xorBytes(out, in, w.blocks[:])
	bePutUint32(state[12:], counter+uint32(len(in)/16))
}

func (w *aesWork) ctrLittle(out, in []byte, state *[16]byte) {
	for i := 0; i < len(in); i += 16 {
		copy(w.blocks[i:], state[:])
		lePutUint32(state[:], leUint32(state[:])+1)
	}
	w.keys.encryptBlocks(&w.blocks)
	xorBytes(out, in, w.blocks[:])
}

func (w *aesWork) cbcDecrypt(out, in []byte, state *[16]byte) {
	copy(w.chain[:], state[:])
	copy(w.chain[16:], in)
	copy(state[:], in[len(in)-16:])
	copy(w.blocks[:], in)
	w.keys.decryptBlocks(&w.blocks)
	xorBytes(out, w.blocks[:len(out)], w.chain[:])
}

func (w *aesWork) xts(out, in []byte, state *[16]byte, decrypt bool) {
	for i := 0; i < len(in); i += 16 {
		copy(w.chain[i:], state[:])
		XTSDouble(state)
	}
	xorBytes(w.blocks[:len(in)], in, w.chain[:])
	if decrypt {
		w.keys.decryptBlocks(&w.blocks)
	} else {
		w.keys.encryptBlocks(&w.blocks)
	}
	xorBytes(out, w.blocks[:len(out)], w.chain[:])
}

// lanes processes up to aesLanes lanes side by side.
func (w *aesWork) lanes(lanes []ModeLane, each int, chained bool) {
	for l := range lanes {
		key := (*AESKey)(lanes[l].Key)
		w.keys.spreadLane(l, (*aesSchedule)(unsafe.Pointer(&key.Schedule)), int(key.Rounds))
		if chained {
			copy(w.chain[16*l:], lanes[l].Chain[:])
		}
	}
	for at := 0; at < each; at += 16 {
		for l := range lanes {
			b := w.blocks[16*l : 16*l+16]
			xorBytes(b, (*[16]byte)(unsafe.Add(lanes[l].In, at))[:], w.chain[16*l:])
		}
		w.keys.encryptBlocks(&w.blocks)
		w.chain = w.blocks
		for l := range lanes {
			copy((*[16]byte)(unsafe.Add(lanes[l].Out, at))[:], w.chain[16*l:])
		}
	}
	if chained {
		for l := range lanes {
			copy(lanes[l].Chain[:], w.chain[16*l:])
		}
	}
}

func xorBytes(out, a, b []byte) {
	b = b[:len(a)]
	for i, x := range a {
		out[i] = x ^ b[i]
	}
}

// AESPortable is the kernel in constant-time Go, for every CPU. It is the fallback level, and the reference for tests
// of the others.
func AESPortable(a *ModeArgs) {
	var w aesWork
	key := (*AESKey)(a.Key)
	switch a.Operation {
	case AESSetup:
		s := (*aesSchedule)(unsafe.Pointer(&key.Schedule))
		s.expand(key.Schedule[:4*key.Rounds-24], int(key.Rounds))
		return
	case AESCBCEncrypt, AESMasks:
		each := 16
		if a.Operation == AESCBCEncrypt {
			each = int((*ModeLanesArgs)(unsafe.Pointer(a)).BytesEach)
		}
		for lanes := a.lanes(); len(lanes) > 0; lanes = lanes[min(aesLanes, len(lanes)):] {
			w = aesWork{}
			w.lanes(lanes[:min(aesLanes, len(lanes))], each, a.Operation == AESCBCEncrypt)
		}
		w = aesWork{}
		return
	}
	w.keys.spread((*aesSchedule)(unsafe.Pointer(&key.Schedule)), int(key.Rounds))
	out, in := unsafe.Slice((*byte)(a.Out), int(a.Bytes)), unsafe.Slice((*byte)(a.In), int(a.Bytes))
	for len(in) > 0 {
		n := min(len(in), aesBatch)
		switch a.Operation {
		case AESECBEncrypt, AESECBDecrypt:
			w.ecb(out[:n], in[:n], a.Operation == AESECBDecrypt)
		case AESCTR:
			w.ctr(out[:n], in[:n], a.State)
		case AESCTRLittle:
			w.ctrLittle(out[:n], in[:n], a.State)
		case AESCBCDecrypt:
			w.cbcDecrypt(out[:n], in[:n], a.State)
		default:
			w.xts(out[:n], in[:n], a.State, a.Operation == AESXTSDecrypt)
		}
		out, in = out[n:], in[n:]
	}
	w = aesWork{}
}

// AESKeySetup sets up a key of 16, 24 or 32 bytes for a level.
func AESKeySetup(level Level, k *AESKey, key []byte) { aesKeySetup(level, k, key, 0) }

// AESEncryptionKeySetup is the same for a key that only encrypts.
func AESEncryptionKeySetup(level Level, k *AESKey, key []byte) { aesKeySetup(level, k, key, 1) }

func aesKeySetup(level Level, k *AESKey, key []byte, encryptsOnly uint64) {
	k.Rounds = uint64(6 + len(key)/4)
	copy(k.Schedule[:], key)
	var a ModeArgs
	a.Bytes = encryptsOnly
	a.Key, a.Operation = unsafe.Pointer(k), AESSetup
	AES(level, &a)
}

// ChaCha20MasksPortable is the header mask kernel in constant-time Go.
func ChaCha20MasksPortable(a *ModeArgs) {
	var c chaCha20
	var x [16]uint32
	for _, l := range a.lanes() {
		c.init((*[32]byte)(l.Key), (*[16]byte)(l.In))
		c.permute(&x)
		out := (*[8]byte)(l.Out)
		lePutUint32(out[:4], x[0]+c[0])
		lePutUint32(out[4:], x[1]+c[1])
	}
	c, x = chaCha20{}, [16]uint32{}
}

// aesLinks are numbers of blocks that cover the kernels' special cases.
var aesLinks = [...]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 40, 48, 63, 64, 65, 96}

// aesAnswer is the last block; TestAESAnswer computes it with another implementation.
var aesAnswer = [16]byte{0xf6, 0xa9, 0xf0, 0xc5, 0x92, 0x7f, 0xde, 0x00, 0x48, 0x56, 0x89, 0x31, 0x8e, 0xd4, 0x68, 0xe7}

// aesTest is the known-answer test of a level. A text goes in place through all operations, for each number of blocks
// in aesLinks, with keys of alternating lengths. Each operation starts with the state that the previous one left. The
// last block of the CBC encryption depends on all of them. The C library has the same test.
func aesTest(level Level, corrupt bool) bool {
	const most, mostLanes = 96, 9
	var raw [64]byte
	for i := range raw {
		raw[i] = byte(0x80 + i)
	}
	var keys [3][2]AESKey
	for i := range 6 {
		AESKeySetup(level, &keys[i/2][i%2], raw[32*(i%2):][:16+8*(i/2)])
	}
	var text [16 * most]byte
	var initial [mostLanes][16]byte
	var state [16]byte
	var lanes [most]ModeLane
	pattern(text[:], 0)
	whole := func(operation uint64, key, blocks int) {
		var a ModeArgs
		a.Out, a.In, a.Bytes = unsafe.Pointer(&text), unsafe.Pointer(&text), uint64(16*blocks)
		a.Key, a.State, a.Operation = unsafe.Pointer(&keys[key][0]), &state, operation
		AES(level, &a)
	}
	inLanes := func(operation uint64, key, count, blocks int) {
		for l := range count {
			at := unsafe.Pointer(&text[16*blocks*l])
			lanes[l].Out, lanes[l].In = at, at
			lanes[l].Key, lanes[l].Chain = unsafe.Pointer(&keys[key][l%2]), &initial[l%mostLanes]
		}
		a := ModeLanes(lanes[:count], operation)
		a.BytesEach = uint64(16 * blocks)
		AES(level, a.Mode())
	}
	for i, link := range aesLinks {
		n, key := int(link), i%3
		count := min(1+i%mostLanes, n)
		bePutUint32(state[12:], -uint32(i))
		whole(AESCTR, key, n)
		whole(AESXTSEncrypt, key, n)
		whole(AESECBDecrypt, key, n)
		whole(AESCBCDecrypt, key, n)
		inLanes(AESCBCEncrypt, key, count, n/count)
		whole(AESXTSDecrypt, key, n)
		inLanes(AESMasks, key, n, 1)
		whole(AESECBEncrypt, key, n)
	}
	inLanes(AESCBCEncrypt, 0, 1, most)
	if corrupt {
		initial[0][0] ^= 1
	}
	same := true
	for i, link := range aesLinks {
		if !HasSIV {
			break
		}
		// Compares the mode with a wrapping counter at the start of the block with single blocks.
		n, key := int(link), i%3
		clear(text[:])
		state = [16]byte{4: byte(i)}
		lePutUint32(state[:], -uint32(i))
		whole(AESCTRLittle, key, n)
		counted := text
		for j := range n {
			block := text[16*j : 16*j+16]
			clear(block)
			block[4] = byte(i)
			lePutUint32(block, uint32(j-i))
		}
		whole(AESECBEncrypt, key, n)
		same = same && counted == text && leUint32(state[:]) == uint32(n-i)
	}
	return initial[0] == aesAnswer && same
}

// chaCha20MasksAnswer is the final sample; TestMasksAnswer computes it with another implementation.
var chaCha20MasksAnswer = [16]byte{0x5f, 0xd1, 0xe2, 0x1a, 0xec, 0xe0, 0x3d, 0xe4, 0x38, 0x3f, 0x46, 0x4d, 0x54, 0x5b, 0x62, 0x69}

// chaCha20MasksTest is the known-answer test of a level. It makes 1 to 36 masks side by side, whose samples contain the
// previous masks. Pairs of the last masks are the keys for the final sample. The C library has the same test.
func chaCha20MasksTest(level Level, corrupt bool) bool {
	const most = 36
	var keys [3*most + 32]byte
	var samples [most][16]byte
	var lanes [most]ModeLane
	for i := range keys {
		keys[i] = byte(0x80 + i)
	}
	for l := range samples {
		pattern(samples[l][:], l)
		lanes[l].Out, lanes[l].In, lanes[l].Key = unsafe.Pointer(&samples[l]), unsafe.Pointer(&samples[l]), unsafe.Pointer(&keys[3*l])
	}
	for n := 1; n <= most; n++ {
		a := ModeLanes(lanes[:n], AESMasks)
		ChaCha20Masks(level, a.Mode())
	}
	for l := 2; l < most; l += 2 {
		lanes[0].Key = unsafe.Pointer(&samples[l])
		a := ModeLanes(lanes[:1], AESMasks)
		ChaCha20Masks(level, a.Mode())
	}
	if corrupt {
		samples[0][0] ^= 1
	}
	return samples[0] == chaCha20MasksAnswer
}
