package kernel

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"
)

// A polyvalCase is associated data and text, which end at guard pages, and the length of a first part of the text.
type polyvalCase struct {
	h        [16]byte
	ad, text []byte
	cut      int
}

// sum computes it with a kernel.
func (c *polyvalCase) sum(kernel func(*PacketArgs)) (sum [16]byte, err error) {
	var key, before GCMKey
	for i := range key.Schedule {
		key.Schedule[i] = 0xa5
	}
	a := PacketArgs{Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&c.h), Flags: FlagSetup | FlagNonce | FlagPolyval}
	a.Bytes = uint64(max(len(c.ad), len(c.text)))
	before = key
	kernel(&a)
	if key.Rounds != before.Rounds || key.Schedule != before.Schedule {
		return sum, fmt.Errorf("more than the table was written")
	}
	before = key
	var state GCMState
	a = PacketArgs{Key: unsafe.Pointer(&key), Tag: unsafe.Pointer(&sum), Total: uint64(len(c.text)), Flags: FlagPolyval | FlagFirst}
	a.AD, a.ADBytes = unsafe.Pointer(unsafe.SliceData(c.ad)), uint64(len(c.ad))
	a.In, a.State = unsafe.Pointer(unsafe.SliceData(c.text)), state.State()
	if c.cut > 0 {
		a.Bytes = uint64(c.cut)
		kernel(&a)
		if state.Counter != [16]byte{} || state.Mask != [16]byte{} {
			return sum, fmt.Errorf("more of the state than Y was written")
		}
		a.In, a.Flags = unsafe.Pointer(&c.text[c.cut]), FlagPolyval
	}
	a.Bytes, a.Flags = uint64(len(c.text)-c.cut), a.Flags|FlagLast
	kernel(&a)
	if key != before {
		return sum, fmt.Errorf("the key was changed")
	}
	return sum, nil
}

func (c *polyvalCase) check(kernel func(*PacketArgs)) error {
	want, err := c.sum(AESGCMPortable)
	if err != nil {
		return err
	}
	ad, text := bytes.Clone(c.ad), bytes.Clone(c.text)
	got, err := c.sum(kernel)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(ad, c.ad) || !bytes.Equal(text, c.text):
		return fmt.Errorf("the input was changed")
	case got != want:
		return fmt.Errorf("%d bytes of associated data, %d of text, the first part %d: sum %x, want %x", len(ad), len(text), c.cut, got, want)
	}
	return nil
}

// polyvalCases covers every length of text up to 1300 bytes and some longer ones, with associated data of all lengths
// up to 200.
func polyvalCases(t *testing.T, f func(c *polyvalCase) error) error {
	r := newRand()
	ads, texts := guarded(t, 4096), guarded(t, 8192)
	fill(r, ads)
	fill(r, texts)
	for i := range 1500 {
		n, adBytes := i, i%200
		if n > 1300 {
			n = r.IntN(len(texts))
		}
		c := &polyvalCase{ad: ads[len(ads)-adBytes:], text: texts[len(texts)-n:]}
		fill(r, c.h[:])
		if n > 64 && i%3 == 0 {
			c.cut = 64 * (1 + r.IntN((n-1)/64))
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// TestPolyval compares every level with the portable code.
func TestPolyval(t *testing.T) {
	if !HasSIV {
		t.Skip("the kernels have no POLYVAL")
	}
	ofAESGCM.forEachLevel(t, func(t *testing.T, level Level) {
		if err := polyvalCases(t, func(c *polyvalCase) error {
			return c.check(func(a *PacketArgs) { AESGCM(level, a) })
		}); err != nil {
			t.Error(err)
		}
	})
}

// TestPolyvalFaults plants faults in a working kernel: each must be found.
func TestPolyvalFaults(t *testing.T) {
	if !HasSIV {
		t.Skip("the kernels have no POLYVAL")
	}
	for name, fault := range map[string]func(a *PacketArgs){
		"the sum": func(a *PacketArgs) {
			if a.Flags&FlagLast != 0 && a.Bytes == 700 {
				*(*byte)(a.Tag) ^= 1
			}
		},
		"the table": func(a *PacketArgs) {
			if a.Flags&FlagSetup != 0 {
				table := &(*GCMKey)(a.Key).Table
				for i := range table {
					table[i] ^= 1 // all bytes, because levels use different parts of it
				}
			}
		},
		"the state": func(a *PacketArgs) {
			if a.Flags&(FlagSetup|FlagLast) == 0 {
				a.gcmState().Mask[0]++
			}
		},
		"a part": func(a *PacketArgs) {
			if a.Flags&(FlagSetup|FlagLast) == 0 {
				a.gcmState().Y[0]++
			}
		},
		"the input": func(a *PacketArgs) {
			if a.Flags&FlagSetup == 0 && a.Bytes > 0 {
				*(*byte)(a.In) ^= 1
			}
		},
		"the key": func(a *PacketArgs) { (*GCMKey)(a.Key).Rounds++ },
	} {
		if polyvalCases(t, func(c *polyvalCase) error {
			return c.check(func(a *PacketArgs) { AESGCMPortable(a); fault(a) })
		}) == nil {
			t.Errorf("a fault in %s was not found", name)
		}
	}
}
