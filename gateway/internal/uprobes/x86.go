package uprobes

import (
	"bytes"
	"encoding/binary"
)

func x86Calls(m memory, strings map[uint64]string, absolute bool, called func(to uint64, text string)) {
	for _, s := range m {
		if !s.code {
			continue
		}
		for at := 0; at+12 < len(s.data); at++ {
			text, next := "", 0
			b := s.data[at:]
			switch {
			case b[0] == 0x48 && b[1] == 0x8d && b[2] == 0x35: // lea rsi, [rip + n]
				next = 7
				text = strings[s.address+uint64(at+7)+relative(b[3:])]
			case b[0] == 0xbe && absolute: // mov esi, n
				next = 5
				text = strings[uint64(binary.LittleEndian.Uint32(b[1:]))]
			}
			if text == "" {
				continue
			}
			if to := m.jump(s.address+uint64(at+next), 64); to != 0 {
				called(to, text)
			}
		}
	}
}

func x86Inner(m memory, address uint64) uint64 {
	body, _ := m.at(address, true)
	random := bytes.Index(body[:min(len(body), 64)], []byte{0xb9, 32, 0, 0, 0}) // mov ecx, 32
	if random < 0 {
		return 0
	}
	return m.jump(address+uint64(random), 32)
}

// relative returns the displacement encoded in an instruction.
func relative(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// jump returns the first call or jump target after an address, or 0 if there is none nearby. Compilers align functions;
// bytes that only look like an instruction hardly ever lead to one.
func (m memory) jump(address uint64, within int) uint64 {
	b, _ := m.at(address, true)
	for i := 0; i < within && i+5 <= len(b); i++ {
		if b[i] != 0xe8 && b[i] != 0xe9 {
			continue
		}
		to := address + uint64(i+5) + relative(b[i+1:])
		if code, _ := m.at(to, true); code != nil && to%16 == 0 {
			return to
		}
	}
	return 0
}

func x86First(b []byte) (uint32, bool) {
	for i := 0; i+7 <= len(b) && i < 96; i++ {
		if b[i]&0xf8 != 0x48 || b[i+2]&7 != 7 { // 64 bits wide, and rdi
			continue
		}
		mode := b[i+2] >> 6
		switch {
		case b[i+1] == 0x8b && mode < 3: // mov reg, [rdi + n]
			return 0, false
		case b[i+1] == 0x8d && mode == 1: // lea reg, [rdi + n]
			return uint32(b[i+3]), b[i+3] < 0x80
		case b[i+1] == 0x8d && mode == 2:
			n := binary.LittleEndian.Uint32(b[i+3:])
			return n, n < 1<<16
		}
	}
	return 0, false
}

func x86Boring(b []byte) (pointerAt, randomAt uint32, ok bool) {
	const none = 16
	ssl := byte(none)
	for i := 0; i+7 <= len(b); i++ {
		if b[i]&0xfa != 0x48 { // 64 bits wide
			continue
		}
		base, reg := b[i]&1<<3|b[i+2]&7, b[i]&4<<1|b[i+2]>>3&7
		switch {
		case ssl == none && b[i+1] == 0x89 && b[i+2]&0xf8 == 0xf8: // mov ssl, rdi
			ssl = base
		case b[i+1] == 0x8b && base == ssl && b[i+2]>>6 == 1 && b[i+2]&7 != 4: // mov reg, [ssl + n]
			if at, ok := within(b[i+4:], reg); ok && b[i+3] < 0x80 {
				return uint32(b[i+3]), at, true
			}
		}
	}
	return 0, 0, false
}

// within returns the displacement at which the code uses the pointer in a register.
func within(b []byte, s3 byte) (uint32, bool) {
	for i := 0; i+6 <= len(b) && i < 192; i++ {
		n := byte(0x80)
		switch high := b[i]&0xf0 == 0x40 && b[i]&1 == s3>>3; {
		case high && b[i]&8 != 0 && b[i+1] == 0x8d && b[i+2]&0xc7 == 0x40|s3&7 && s3&7 != 4: // lea reg, [s3 + n]
			n = b[i+3]
		case high && b[i]&8 != 0 && b[i+1] == 0x83 && b[i+2] == 0xc0|s3&7: // add s3, n
			n = b[i+3]
		case high && b[i+1] == 0x0f && b[i+2] == 0xb6 && b[i+3]&0xc7 == 0x44 && b[i+4]&7 == s3&7: // movzx reg, byte [s3 + index + n]
			n = b[i+5]
		case s3 < 8 && i > 0 && b[i-1]&0xf0 != 0x40 && b[i] == 0x0f && b[i+1] == 0xb6 && b[i+2]&0xc7 == 0x44 && b[i+3]&7 == s3: // the same, without a prefix
			n = b[i+4]
		}
		if n < 0x80 {
			return uint32(n), true
		}
	}
	return 0, false
}
