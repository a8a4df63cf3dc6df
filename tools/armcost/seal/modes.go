package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// A mode is an operation of an AES kernel.
type mode struct {
	operation uint64
	keyBytes  int
	lanes     int // 0: a text
}

// modesNamed returns one mode or all of them, or nil for an unknown name.
func modesNamed(name string, open bool) (all []mode) {
	names := []string{name}
	if name == "modes" && open {
		names = []string{"ecb256", "cbc128", "xts192"}
	} else if name == "modes" {
		names = []string{"setup128", "setup192", "setup256", "ecb256", "ctr128", "xts192", "cbc1x192", "cbc11x256", "masks7x128"}
	}
	for _, n := range names {
		m, ok := modeNamed(n, open)
		if !ok {
			return nil
		}
		all = append(all, m)
	}
	return all
}

// modeNamed takes names like ctr128, cbc8x256 (of eight lanes) and masks32x128 apart.
func modeNamed(name string, open bool) (m mode, ok bool) {
	for _, bits := range []int{128, 192, 256} {
		if rest, found := strings.CutSuffix(name, strconv.Itoa(bits)); found {
			name, m.keyBytes = rest, bits/8
		}
	}
	word := strings.TrimRight(name, "0123456789x")
	if count, isLanes := strings.CutSuffix(name[len(word):], "x"); isLanes {
		m.lanes, _ = strconv.Atoi(count)
	}
	operation, ok := map[string][2]uint64{
		"setup": {kernel.AESSetup, kernel.AESSetup},
		"ecb":   {kernel.AESECBEncrypt, kernel.AESECBDecrypt},
		"ctr":   {kernel.AESCTR, kernel.AESCTR},
		"cbc":   {kernel.AESCBCEncrypt, kernel.AESCBCDecrypt},
		"xts":   {kernel.AESXTSEncrypt, kernel.AESXTSDecrypt},
		"masks": {kernel.AESMasks, kernel.AESMasks},
	}[word]
	m.operation = operation[0]
	if open {
		m.operation = operation[1]
	}
	return m, ok && m.keyBytes != 0 && (m.lanes > 0) == (m.operation >= kernel.AESCBCEncrypt)
}

// run processes size bytes, in each lane if there are lanes, once a round. Two seeds share counters and initial values alone.
func (m mode) run(size int) {
	chosen, ok := kernel.AESLevels.Choose()
	if !ok {
		panic("no level works")
	}
	level := kernel.Level(chosen)
	n := max(m.lanes, 1)
	keys, lanes, states := make([]kernel.AESKey, n), make([]kernel.ModeLane, n), make([][16]byte, n)
	text := make([]byte, n*max(size, 16))
	for round := range 6 {
		for i := range keys {
			raw := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", os.Args[2], round, i))
			keys[i].Rounds = uint64(6 + m.keyBytes/4)
			copy(keys[i].Schedule[:m.keyBytes], raw[:])
			if m.operation != kernel.AESSetup {
				kernel.AES(level, &kernel.ModeArgs{Key: unsafe.Pointer(&keys[i]), Operation: kernel.AESSetup})
			}
			if secretCounter := os.Args[3] == "plant"; secretCounter || m.operation == kernel.AESXTSEncrypt || m.operation == kernel.AESXTSDecrypt {
				states[i] = [16]byte(raw[16:])
			}
			part := unsafe.Pointer(&text[i*max(size, 16)])
			lanes[i] = kernel.ModeLane{Out: part, In: part, Key: unsafe.Pointer(&keys[i]), Chain: &states[i]}
		}
		for i := range text {
			text[i] ^= keys[0].Schedule[i%32] + byte(i)
		}
		a := &kernel.ModeArgs{Out: unsafe.Pointer(&text[0]), In: unsafe.Pointer(&text[0]), Bytes: uint64(size), Key: unsafe.Pointer(&keys[0]), State: &states[0], Operation: m.operation}
		if m.lanes > 0 {
			a = (&kernel.ModeLanesArgs{Lanes: &lanes[0], Count: uint64(m.lanes), BytesEach: uint64(size), Operation: m.operation}).Mode()
		}
		runtime.Gosched()
		markStart()
		kernel.AES(level, a)
		markEnd()
	}
	text = append(text, keys[0].Schedule[:]...)
	fmt.Printf("%x\n", sha256.Sum256(text))
}
