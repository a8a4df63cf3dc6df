package uprobes

import "encoding/binary"

// instructions calls each for the instructions of code at an address, until it returns false.
func instructions(b []byte, address uint64, each func(address uint64, i uint32) bool) {
	for at := 0; at+4 <= len(b) && each(address+uint64(at), binary.LittleEndian.Uint32(b[at:])); at += 4 {
	}
}

// signed sign-extends a displacement of the given number of bits.
func signed(n uint32, bits int) uint64 { return uint64(int64(int32(n<<(32-bits))) >> (32 - bits)) }

// arm64Jump returns the first call or jump target after an address, within some instructions, or 0.
func (m memory) arm64Jump(address uint64, within int) (to uint64) {
	b, _ := m.at(address, true)
	instructions(b[:min(len(b), 4*within)], address, func(at uint64, i uint32) bool {
		if i&0x7c000000 == 0x14000000 { // b, bl
			to = at + signed(i, 26)*4
		}
		return to == 0
	})
	if b, _ := m.at(to, true); b == nil {
		return 0
	}
	return to
}

func arm64Calls(m memory, strings map[uint64]string, _ bool, called func(to uint64, text string)) {
	const second = 1 // x1
	for _, s := range m {
		if !s.code {
			continue
		}
		var pages [32]uint64
		instructions(s.data, s.address, func(at uint64, i uint32) bool {
			text := ""
			switch {
			case i&0x9f000000 == 0x90000000: // adrp reg, page
				pages[i&31] = at&^0xfff + signed(i>>5&0x7ffff<<2|i>>29&3, 21)<<12
			case i&0xffc0001f == 0x91000000|second: // add x1, reg, n
				text = strings[pages[i>>5&31]+uint64(i>>10&0xfff)]
			case i&0x9f00001f == 0x10000000|second: // adr x1, n
				text = strings[at+signed(i>>5&0x7ffff<<2|i>>29&3, 21)]
			}
			if text != "" {
				if to := m.arm64Jump(at+4, 16); to != 0 {
					called(to, text)
				}
			}
			return true
		})
	}
}

func arm64Inner(m memory, address uint64) (to uint64) {
	b, _ := m.at(address, true)
	instructions(b[:min(len(b), 96)], address, func(at uint64, i uint32) bool {
		if i == 0x52800403 || i == 0xd2800403 { // mov w3, 32; mov x3, 32
			to = m.arm64Jump(at+4, 12)
			return false
		}
		return true
	})
	return to
}

func arm64First(b []byte) (at uint32, ok bool) {
	instructions(b[:min(len(b), 128)], 0, func(_ uint64, i uint32) bool {
		switch {
		case i&0xffc003e0 == 0x91000000: // add reg, x0, n
			at, ok = i>>10&0xfff, true
			return false
		case i&0xffc003e0 == 0xf9400000: // ldr reg, [x0, n]
			return false
		}
		return true
	})
	return at, ok
}

func arm64Boring(b []byte) (pointerAt, randomAt uint32, ok bool) {
	const none = 32
	ssl, s3 := uint32(none), uint32(none)
	instructions(b, 0, func(_ uint64, i uint32) bool {
		base, reg := i>>5&31, i&31
		switch {
		case ssl == none && i&0xffffffe0 == 0xaa0003e0: // mov ssl, x0
			ssl = reg
		case i&0xffc00000 == 0xf9400000 && base == ssl: // ldr s3, [ssl, n]
			s3, pointerAt = reg, i>>10&0xfff*8
		case i&0xffc00000 == 0x91000000 && base == s3: // add reg, s3, n
			randomAt, ok = i>>10&0xfff, true
		}
		return !ok
	})
	return pointerAt, randomAt, ok
}
