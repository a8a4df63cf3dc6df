// Package binary tells what a Go program carries, by reading its file.
package binary

import (
	"bytes"
	"debug/buildinfo"
	"debug/gosym"
	stdbinary "encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

const (
	cryptoModule  = "golang.org/x/crypto"
	sealaneModule = "github.com/sealane/sealane"
	kernels       = sealaneModule + "/internal/kernel.ChaCha20Poly1305"
	ciphers       = sealaneModule + "/internal/aead.(*" // methods are linked only if something makes the type
	stock         = cryptoModule + "/chacha20poly1305.(*chacha20poly1305).Seal"
)

var levels = []string{"avx512", "avx2", "ssse3", "portable"}

// A Program is what was found in a file.
type Program struct {
	Package string   `json:"package"`          // of its main function
	Module  string   `json:"module,omitempty"` // that the package is in
	Version string   `json:"version,omitempty"`
	Go      string   `json:"go"`
	GOOS    string   `json:"goos"`
	GOARCH  string   `json:"goarch"`
	Crypto  string   `json:"x_crypto,omitempty"` // version of x/crypto
	Private bool     `json:"x_crypto_replaced"`  // by a copy of it
	Sealane string   `json:"sealane,omitempty"`  // version of sealane
	Levels  []string `json:"levels"`             // of sealane that are linked, best first
	Called  bool     `json:"sealane_called"`     // sealane's ciphers are linked, not only its kernels
	Stock   bool     `json:"stock_linked"`       // x/crypto's own ChaCha20-Poly1305 is linked
}

// Read reads an executable file of any operating system and architecture.
func Read(file string) (*Program, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", file)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		var missing *os.PathError
		if errors.As(err, &missing) {
			return nil, fmt.Errorf("cannot read %s: %w", file, missing.Err)
		}
		return nil, fmt.Errorf("%s is not a Go program: no build information in it", file)
	}
	p := &Program{Package: info.Path, Go: info.GoVersion, Levels: []string{}}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			p.GOOS = s.Value
		case "GOARCH":
			p.GOARCH = s.Value
		}
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		p.module(m)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	functions, err := functionsOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	linked := map[string]bool{}
	for _, f := range functions {
		if strings.HasPrefix(f.Name, ciphers) {
			p.Called = true
		}
		if f.Name == stock {
			p.Stock = true
		}
		if level, ok := strings.CutPrefix(f.Name, kernels); ok {
			linked[strings.ToLower(strings.TrimSuffix(level, ".abi0"))] = true
		}
	}
	for _, level := range levels {
		if linked[level] {
			p.Levels = append(p.Levels, level)
		}
	}
	return p, nil
}

func (p *Program) module(m *debug.Module) {
	if (p.Package == m.Path || strings.HasPrefix(p.Package, m.Path+"/")) && len(m.Path) > len(p.Module) {
		p.Module, p.Version = m.Path, m.Version
	}
	switch m.Path {
	case cryptoModule:
		p.Crypto, p.Private = m.Version, m.Replace != nil
	case sealaneModule:
		p.Sealane = m.Version
	}
}

// functionsOf reads the table that every Go program, also a stripped one, has for its stack traces. It is found by
// its header (runtime/symtab.go: magic, two zeroes, the size of the smallest instruction, the size of a pointer).
func functionsOf(content []byte) ([]gosym.Func, error) {
	for _, order := range []stdbinary.ByteOrder{stdbinary.LittleEndian, stdbinary.BigEndian} {
		for _, magic := range []uint32{0xfffffff1, 0xfffffff0} { // Go 1.20, Go 1.18
			head := make([]byte, 6)
			order.PutUint32(head, magic)
			for at := 0; ; at++ {
				i := bytes.Index(content[at:], head)
				if i < 0 {
					break
				}
				at += i
				if functions := table(content[at:]); len(functions) > 100 {
					return functions, nil
				}
			}
		}
	}
	return nil, errors.New("it has no table of functions that this version of sealane can read")
}

// table returns the functions of the table that p starts with, or none if it is no such table.
func table(p []byte) (functions []gosym.Func) {
	if len(p) < 64 || p[6] != 1 && p[6] != 2 && p[6] != 4 || p[7] != 4 && p[7] != 8 {
		return nil
	}
	defer func() {
		if recover() != nil { // these bytes came from anywhere
			functions = nil
		}
	}()
	t, err := gosym.NewTable(nil, gosym.NewLineTable(p, 0))
	if err != nil {
		return nil
	}
	return t.Funcs
}
