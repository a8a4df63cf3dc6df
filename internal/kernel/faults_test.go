package kernel

import (
	"strings"
	"testing"
	"unsafe"
)

// TestFaults plants faults in a working kernel: the checks must find each of them.
func TestFaults(t *testing.T) {
	at := func(p unsafe.Pointer, i int) *byte { return (*byte)(unsafe.Add(p, i)) }
	var read byte
	type fault struct {
		name  string
		found string // in the error
		fault func(a *PacketArgs)
	}
	var p *packet
	faults := []fault{
		{"none", "", func(a *PacketArgs) {}},
		{"flips the first output bit", "output differs", func(a *PacketArgs) { *at(a.Out, 0) ^= 1 }},
		{"flips the last output bit", "output differs", func(a *PacketArgs) { *at(a.Out, int(a.Bytes)-1) ^= 0x80 }},
		{"flips a tag bit", "tag differs", func(a *PacketArgs) { *at(a.Tag, 15) ^= 0x80 }},
		{"writes past the output", "of output", func(a *PacketArgs) { *at(a.Out, int(a.Bytes)) = 0 }},
		{"writes before the output", "of output", func(a *PacketArgs) { *at(a.Out, -1) = 0 }},
		{"writes far before the output", "of output", func(a *PacketArgs) { *at(a.Out, -64) = 0 }},
		{"writes past the tag", "of tag", func(a *PacketArgs) { *at(a.Tag, 16) = 0 }},
		{"writes before the tag", "of tag", func(a *PacketArgs) { *at(a.Tag, -1) = 0 }},
		{"writes the input", "differs", func(a *PacketArgs) { *at(a.In, 0) ^= 1 }},
		{"writes the associated data", "associated data differs", func(a *PacketArgs) { *at(a.AD, 3) ^= 1 }},
		{"writes the key", "key differs", func(a *PacketArgs) { *at(a.Key, 3) ^= 1 }},
		{"writes the nonce", "nonce differs", func(a *PacketArgs) { *at(a.Nonce, 3) ^= 1 }},
		{"writes the argument block", "argument block", func(a *PacketArgs) { a.Total++ }},
		{"writes a state that it was not asked for", "of state", func(a *PacketArgs) { *at(unsafe.Pointer(a.State), 64) = 0 }},
		{"reads past the input", "", func(a *PacketArgs) { read += *at(a.In, int(a.Bytes)) }},
		{"reads past the key", "", func(a *PacketArgs) { read += *at(a.Key, p.keySize()) }},
		{"reads past the nonce", "", func(a *PacketArgs) { read += *at(a.Nonce, p.nonceSize()) }},
		{"reads past the associated data", "", func(a *PacketArgs) { read += *at(a.AD, int(a.ADBytes)) }},
		{"reads past the argument block", "", func(a *PacketArgs) { read += *at(unsafe.Pointer(a), asmArgsBytes) }},
		{"reads before the input", "", func(a *PacketArgs) { read += *at(a.In, -1) }},
		{"reads before the key", "", func(a *PacketArgs) { read += *at(a.Key, -1) }},
	}
	r, b := newRand(), newBench(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			reads := strings.HasPrefix(f.name, "reads")
			if reads && !isGuarded {
				t.Skip("NOT RUN: no guard pages on this system")
			}
			for i := range 8 {
				c := []*primitive{ofChaCha20, ofAESGCM}[i>>2]
				p = c.newPacket(r, 100, 20)
				p.open = i&1 != 0
				found := false
				var err error
				for _, p.offset = range []int{-1, 0} {
					if err = b.run(func(a *PacketArgs) {
						c.run(Portable, a)
						if a.Flags&FlagSetup == 0 {
							f.fault(a)
						}
					}, p); err != nil {
						found = found || strings.Contains(err.Error(), f.found)
					}
				}
				if found != (f.name != "none") {
					t.Errorf("%v: %v", p, err)
				}
			}
		})
	}
	_ = read
}

// TestWrongParts plants faults that only packets in parts can show.
func TestWrongParts(t *testing.T) {
	r, b := newRand(), newBench(t)
	for _, f := range []struct {
		of    *primitive
		name  string
		fault func(a *PacketArgs)
	}{
		{ofChaCha20, "counter", func(a *PacketArgs) { a.State.Counter++ }},
		{ofChaCha20, "h", func(a *PacketArgs) { a.State.H[1] ^= 1 << 40 }},
		{ofChaCha20, "r", func(a *PacketArgs) { a.State.R[0] ^= 4 }},
		{ofChaCha20, "s", func(a *PacketArgs) { a.State.S[1] ^= 1 }},
		{ofAESGCM, "counter", func(a *PacketArgs) { a.gcmState().Counter[15]++ }},
		{ofAESGCM, "prefix", func(a *PacketArgs) { a.gcmState().Counter[11]++ }},
		{ofAESGCM, "y", func(a *PacketArgs) { a.gcmState().Y[5] ^= 8 }},
		{ofAESGCM, "mask", func(a *PacketArgs) { a.gcmState().Mask[0] ^= 1 }},
	} {
		p := f.of.newPacket(r, 200, 20)
		p.parts = []int{64}
		err := b.run(func(a *PacketArgs) {
			f.of.run(Portable, a)
			if a.Flags&(FlagLast|FlagSetup) == 0 {
				f.fault(a)
			}
		}, p)
		if err == nil {
			t.Errorf("%s: a wrong %s in the state is not found", f.of.table.Primitive, f.name)
		}
	}
}

// TestKnownAnswer runs the known-answer tests, and checks that they fail when they should.
func TestKnownAnswer(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		test := chaCha20Poly1305Test
		if c.gcm {
			test = aesGCMTest
		}
		if !test(level, false) {
			t.Error("the known-answer test fails")
		}
		if test(level, true) {
			t.Error("the known-answer test passes with a corrupted answer")
		}
	})
}
