// Package uprobes takes TLS secrets from programs as they run, at the functions that would write a key log.
package uprobes

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"strings"
)

// A Kind says where a function has its arguments: enum kind of bpf/sealane_keys.c.
type Kind uint32

// Kinds.
const (
	Go Kind = iota
	OpenSSL
	Session
	Pointer
)

// A Probe is a place in a file where secrets are at hand.
type Probe struct {
	Library   string
	Kind      Kind
	RandomAt  uint32 // of Session: where the client random lies in what the first argument points to
	PointerAt uint32 // of Pointer: where that has the pointer to what has it, at RandomAt
	Offset    uint64 // of the function, in the file
}

// Files are read whole: longer ones are no libraries. A hostile process may show any.
const (
	maxSegment  = 256 << 20
	maxSegments = 64
)

// ErrNone says that a file holds no function that the keys could be taken from.
var ErrNone = errors.New("no TLS library that this knows")

// Find looks for the functions in an executable or a library for x86-64. The file need not have symbols.
func Find(f *os.File) (probes []Probe, err error) {
	// The packages that parse executables promise nothing about hostile ones.
	defer func() {
		if r := recover(); r != nil {
			probes, err = nil, fmt.Errorf("%s: damaged: %v", f.Name(), r)
		}
	}()
	file, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	if file.Machine != elf.EM_X86_64 || file.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("%s: only programs for x86-64 can be read, this is one for %v", f.Name(), file.Machine)
	}
	m, err := load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	probes, err = m.goProbes(f, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(probes) == 0 {
		probes = m.cProbes(file)
	}
	if len(probes) == 0 {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNone)
	}
	return probes, nil
}

// A segment is what is mapped at an address.
type segment struct {
	address, offset uint64
	code            bool
	data            []byte
}

type memory []segment

func load(file *elf.File) (m memory, err error) {
	total := uint64(0)
	for _, p := range file.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		if total += p.Filesz; p.Filesz > maxSegment || total > 2*maxSegment || len(m) == maxSegments {
			return nil, errors.New("too large")
		}
		s := segment{address: p.Vaddr, offset: p.Off, code: p.Flags&elf.PF_X != 0, data: make([]byte, p.Filesz)}
		if _, err := p.ReadAt(s.data, 0); err != nil && err != io.EOF {
			return nil, err
		}
		m = append(m, s)
	}
	return m, nil
}

// at returns the bytes from an address on, nil if there are none, and their offset in the file.
func (m memory) at(address uint64, code bool) (b []byte, offset uint64) {
	for i := range m {
		s := &m[i]
		if n := address - s.address; address >= s.address && n < uint64(len(s.data)) && (s.code || !code) {
			return s.data[n:], s.offset + n
		}
	}
	return nil, 0
}

// goProbes finds (*Config).writeKeyLog of crypto/tls, and of packages that are copies of it, in the table of functions that
// every Go program has, stripped or not.
func (m memory) goProbes(f *os.File, file *elf.File) (probes []Probe, err error) {
	table, text := file.Section(".gopclntab"), file.Section(".text")
	if table == nil {
		table = file.Section(".data.rel.ro.gopclntab")
	}
	if table == nil || text == nil {
		return nil, nil
	}
	info, err := buildinfo.Read(f)
	if err != nil {
		return nil, err
	}
	if v := strings.Fields(info.GoVersion); len(v) > 0 && version.IsValid(v[0]) && version.Compare(v[0], "go1.17") < 0 {
		return nil, fmt.Errorf("built with %s: before Go 1.17 arguments are not in registers", v[0])
	}
	if table.Size > maxSegment || table.Type == elf.SHT_NOBITS || table.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, errors.New("its table of functions cannot be read")
	}
	data, err := table.Data()
	if err != nil {
		return nil, err
	}
	// The number of functions, for which gosym takes memory.
	if len(data) < 16 || binary.LittleEndian.Uint64(data[8:]) > uint64(len(data)/8) {
		return nil, errors.New("its table of functions is damaged")
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	for i := range symbols.Funcs {
		fn := &symbols.Funcs[i]
		if !strings.HasSuffix(fn.Name, "tls.(*Config).writeKeyLog") {
			continue
		}
		if b, offset := m.at(fn.Entry, true); b != nil {
			probes = append(probes, Probe{Library: "Go crypto/tls", Kind: Go, Offset: offset})
		}
	}
	return probes, nil
}

// Labels of key logs in the code of OpenSSL and GnuTLS.
var labels = []string{
	"CLIENT_RANDOM", "CLIENT_EARLY_TRAFFIC_SECRET", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
	"SERVER_TRAFFIC_SECRET_0", "CLIENT_TRAFFIC_SECRET_N", "SERVER_TRAFFIC_SECRET_N", "EXPORTER_SECRET", "EARLY_EXPORTER_SECRET",
}

// cProbes finds the function that is called with labels of key logs as its second argument, f(session, label, secret, bytes):
// ssl_log_secret of OpenSSL and BoringSSL and _gnutls_call_keylog_func of GnuTLS are called for each secret, and return if there is no log.
// None is exported.
func (m memory) cProbes(file *elf.File) []Probe {
	strings := make(map[uint64]string) // by address
	for _, s := range m {
		for _, l := range labels {
			text := append([]byte(l), 0)
			for at := 0; len(strings) < 1000; at++ {
				n := bytes.Index(s.data[at:], text)
				if n < 0 {
					break
				}
				at += n
				strings[s.address+uint64(at)] = l
			}
		}
	}
	if len(strings) == 0 {
		return nil
	}
	// Labels that each function is called with.
	called := make(map[uint64]map[string]bool)
	for _, s := range m {
		if !s.code {
			continue
		}
		for at := 0; at+12 < len(s.data); at++ {
			label, next := "", 0
			b := s.data[at:]
			switch {
			case b[0] == 0x48 && b[1] == 0x8d && b[2] == 0x35: // lea rsi, [rip + n]
				next = 7
				label = strings[s.address+uint64(at+7)+relative(b[3:])]
			case b[0] == 0xbe && file.Type == elf.ET_EXEC: // mov esi, n
				next = 5
				label = strings[uint64(binary.LittleEndian.Uint32(b[1:]))]
			}
			if label == "" {
				continue
			}
			if to := m.jump(s.address+uint64(at+next), 64); to != 0 {
				if called[to] == nil {
					called[to] = make(map[string]bool)
				}
				called[to][label] = true
			}
		}
	}
	var best uint64
	for to, with := range called {
		if len(with) > len(called[best]) || len(with) == len(called[best]) && to < best {
			best = to
		}
	}
	if len(called[best]) < 2 {
		return nil
	}
	body, offset := m.at(best, true)
	if at, ok := m.randomAt(file, "gnutls_session_get_random"); ok {
		return []Probe{{Library: "GnuTLS", Kind: Session, RandomAt: at, Offset: offset}}
	}
	// ssl_log_secret calls nss_keylog_int(label, ssl, random, 32, secret, bytes), unless the compiler has put that into it.
	if random := bytes.Index(body[:min(len(body), 64)], []byte{0xb9, 32, 0, 0, 0}); random >= 0 { // mov ecx, 32
		if _, inner := m.at(m.jump(best+uint64(random), 32), true); inner != 0 {
			return []Probe{{Library: "OpenSSL", Kind: OpenSSL, Offset: inner}}
		}
	}
	if at, ok := m.randomAt(file, "SSL_get_client_random"); ok {
		return []Probe{{Library: "OpenSSL", Kind: Session, RandomAt: at, Offset: offset}}
	}
	if pointerAt, randomAt, ok := boring(body[:min(len(body), 512)]); ok {
		return []Probe{{Library: "BoringSSL", Kind: Pointer, PointerAt: pointerAt, RandomAt: randomAt, Offset: offset}}
	}
	return nil
}

// boring returns where BoringSSL, and AWS-LC, have the client random, from the code of ssl_log_secret(ssl, ...). It keeps ssl in another
// register, loads ssl->s3 from there, and goes through s3->client_random.
func boring(b []byte) (pointerAt, randomAt uint32, ok bool) {
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
	for i := 0; i+6 <= len(b) && i < 96; i++ {
		n := byte(0x80)
		switch high := b[i]&0xf0 == 0x40 && b[i]&1 == s3>>3; {
		case high && b[i]&8 != 0 && b[i+1] == 0x8d && b[i+2]&0xc7 == 0x40|s3&7 && s3&7 != 4: // lea reg, [s3 + n]
			n = b[i+3]
		case high && b[i]&8 != 0 && b[i+1] == 0x83 && b[i+2] == 0xc0|s3&7: // add s3, n
			n = b[i+3]
		case high && b[i+1] == 0x0f && b[i+2] == 0xb6 && b[i+3]&0xc7 == 0x44 && b[i+4]&7 == s3&7: // movzx reg, byte [s3 + index + n]
			n = b[i+5]
		}
		if n < 0x80 {
			return uint32(n), true
		}
	}
	return 0, false
}

// relative is a displacement as instructions have it.
func relative(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// jump returns the first function that is called or jumped to behind an address, 0 if there is none so near. Compilers align
// functions; bytes that only look like an instruction hardly ever lead to one.
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

// randomAt returns where a session has the client random, from the code of a function f(session, ...) that gives it away: the first
// address that this computes from its first argument. OpenSSL before 3.0 has it behind a pointer.
func (m memory) randomAt(file *elf.File, name string) (uint32, bool) {
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, false
	}
	for _, s := range symbols {
		if s.Name != name || s.Section == elf.SHN_UNDEF {
			continue
		}
		b, _ := m.at(s.Value, true)
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
	}
	return 0, false
}
