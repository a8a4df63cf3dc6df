// Package uprobes captures TLS secrets from running programs, at the functions that would write a key log.
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
	"runtime"
	"strings"
)

// A Kind determines the layout of a function's arguments: enum kind of bpf/sealane_keys.c.
type Kind uint32

// Kinds.
const (
	Go Kind = iota
	OpenSSL
	Session
	Pointer
)

// A Probe is a location in a file where secrets are available.
type Probe struct {
	Library   string
	Kind      Kind
	RandomAt  uint32 // Session: offset of the client random in the object of the first argument
	PointerAt uint32 // Pointer: offset there of the pointer to the object with the random, at RandomAt
	Offset    uint64 // file offset of the function
}

// Files are read completely. Longer files are not libraries, but a hostile process may map any file.
const (
	maxFile     = 512 << 20 // Chromium 156 has 332 MB
	maxSegments = 64
)

// ErrNone means that a file has no function from which the keys can be captured.
var ErrNone = errors.New("no supported TLS library")

// A machine describes code for a kind of CPU.
type machine struct {
	// calls finds each function that is called with one of the strings as its second argument.
	calls func(m memory, strings map[uint64]string, absolute bool, called func(to uint64, text string))
	// inner returns the function that OpenSSL 3's ssl_log_secret, at an address, calls with a random of 32 bytes, or 0.
	inner func(m memory, address uint64) uint64
	// first returns the offset, from the first argument of a function, of the first address that its code computes.
	first func(code []byte) (uint32, bool)
	// boring finds where BoringSSL and AWS-LC store the client random, from the code of ssl_log_secret(ssl, ...).
	// That code keeps ssl in another register, loads ssl->s3 from there, and goes through s3->client_random.
	boring func(code []byte) (pointerAt, randomAt uint32, ok bool)
}

var machines = map[elf.Machine]*machine{
	elf.EM_X86_64:  {x86Calls, x86Inner, x86First, x86Boring},
	elf.EM_AARCH64: {arm64Calls, arm64Inner, arm64First, arm64Boring},
}

// native is the machine on which this program runs.
var native = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]

// Find searches an executable or library of this machine for such functions. The file need not have symbols.
func Find(f *os.File) (probes []Probe, err error) { return find(f, native) }

func find(f *os.File, kind elf.Machine) (probes []Probe, err error) {
	// The packages that parse executables give no guarantees for hostile ones.
	defer func() {
		if r := recover(); r != nil {
			probes, err = nil, fmt.Errorf("%s: damaged: %v", f.Name(), r)
		}
	}()
	file, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	if machines[kind] == nil || file.Machine != kind || file.Class != elf.ELFCLASS64 || file.ByteOrder != binary.LittleEndian {
		return nil, fmt.Errorf("%s: only programs of this machine can be read, this is one for %v", f.Name(), file.Machine)
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

// A segment is a mapping at an address.
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
		if total += p.Filesz; p.Filesz > maxFile || total > maxFile || len(m) == maxSegments {
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

// at returns the bytes at an address, or nil if there are none, and their offset in the file.
func (m memory) at(address uint64, code bool) (b []byte, offset uint64) {
	for i := range m {
		s := &m[i]
		if n := address - s.address; address >= s.address && n < uint64(len(s.data)) && (s.code || !code) {
			return s.data[n:], s.offset + n
		}
	}
	return nil, 0
}

// goProbes finds (*Config).writeKeyLog of crypto/tls, and of copies of that package, in the function table of Go
// programs. Stripped programs have this table too.
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
	if table.Size > maxFile || table.Type == elf.SHT_NOBITS || table.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, errors.New("its table of functions cannot be read")
	}
	data, err := table.Data()
	if err != nil {
		return nil, err
	}
	// The number of functions, for which gosym allocates memory.
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

// Key log labels in the code of OpenSSL and GnuTLS.
var labels = []string{
	"CLIENT_RANDOM", "CLIENT_EARLY_TRAFFIC_SECRET", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
	"SERVER_TRAFFIC_SECRET_0", "CLIENT_TRAFFIC_SECRET_N", "SERVER_TRAFFIC_SECRET_N", "EXPORTER_SECRET", "EARLY_EXPORTER_SECRET",
}

// cProbes finds the function that is called with key log labels as its second argument, f(session, label, secret,
// bytes). ssl_log_secret of OpenSSL and BoringSSL and _gnutls_call_keylog_func of GnuTLS are called for each secret,
// and return if there is no log. They are not exported.
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
	// The labels with which each function is called.
	called := make(map[uint64]map[string]bool)
	cpu := machines[file.Machine]
	cpu.calls(m, strings, file.Type == elf.ET_EXEC, func(to uint64, label string) {
		if called[to] == nil {
			called[to] = make(map[string]bool)
		}
		called[to][label] = true
	})
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
	// ssl_log_secret calls nss_keylog_int(label, ssl, random, 32, secret, bytes), unless the compiler has inlined it.
	if _, inner := m.at(cpu.inner(m, best), true); inner != 0 {
		return []Probe{{Library: "OpenSSL", Kind: OpenSSL, Offset: inner}}
	}
	if at, ok := m.randomAt(file, "SSL_get_client_random"); ok {
		return []Probe{{Library: "OpenSSL", Kind: Session, RandomAt: at, Offset: offset}}
	}
	if pointerAt, randomAt, ok := cpu.boring(body[:min(len(body), 1024)]); ok {
		return []Probe{{Library: "BoringSSL", Kind: Pointer, PointerAt: pointerAt, RandomAt: randomAt, Offset: offset}}
	}
	return nil
}

// randomAt returns the offset of the client random in a session, from the code of a function f(session, ...) that
// returns it. The offset is in the first address that the function computes from its first argument. OpenSSL
// before 3.0 stores it behind a pointer.
func (m memory) randomAt(file *elf.File, name string) (uint32, bool) {
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, false
	}
	for _, s := range symbols {
		if s.Name != name || s.Section == elf.SHN_UNDEF {
			continue
		}
		if b, _ := m.at(s.Value, true); b != nil {
			return machines[file.Machine].first(b)
		}
	}
	return 0, false
}
