// Package binary reports the ciphers in a Go program by reading its file.
package binary

import (
	"bytes"
	"debug/buildinfo"
	stdbinary "encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sealane/sealane/internal/dispatch"
)

const (
	cryptoModule  = "golang.org/x/crypto"
	sealaneModule = "github.com/sealane/sealane"
	kernels       = sealaneModule + "/internal/kernel.ChaCha20Poly1305"
	stock         = cryptoModule + "/chacha20poly1305.(*chacha20poly1305).Seal"
)

// markers are the functions through which a copy of x/crypto calls sealane. They are linked only if the program calls
// them.
var markers = []string{cryptoModule + "/chacha20poly1305.sealaneNew", cryptoModule + "/chacha20poly1305.sealaneNewX"}

// Implementation of a standard library cipher in a program. A program on sealane also contains the stock cipher, for
// CPUs without a kernel.
const (
	OnSealane = "sealane"
	Stock     = "stock"
)

// The standard library's packages. A validated FIPS 140-3 module has its version in the path.
var stdGCM = regexp.MustCompile(`^crypto/internal/fips140/(v[0-9.]+(-[0-9a-f]+)?/)?aes/gcm\.`)

const stdCipher = "vendor/" + cryptoModule + "/chacha20poly1305."

// stdModes are the constructors of AES-CTR and AES-CBC. Their types are always linked, for random numbers and FIPS
// 140-3 self-tests.
var stdModes = regexp.MustCompile(`^crypto/cipher\.New(CTR|CBCEncrypter|CBCDecrypter)$`)

// modes are the functions that the standard library calls for them in a program built with sealane.
const modes = sealaneModule + "/modes.C"

// std records which standard-library ciphers a function's name reveals.
func (p *Program) std(f string) {
	if name, ok := strings.CutPrefix(f, stdCipher); ok {
		switch {
		case strings.HasPrefix(name, "sealaneNew"):
			p.StdCipher = OnSealane
		case p.StdCipher == "" && (strings.HasPrefix(name, "(*chacha20poly1305).") || strings.HasPrefix(name, "(*xchacha20poly1305).")):
			p.StdCipher = Stock
		}
	}
	if p.StdModes == "" && stdModes.MatchString(f) {
		p.StdModes = Stock
	}
	if prefix := stdGCM.FindString(f); prefix != "" {
		switch name := strings.TrimSuffix(f[len(prefix):], ".abi0"); {
		case name == "sealaneInit":
			p.StdGCM = OnSealane
		case p.StdGCM == "" && (strings.HasPrefix(name, "gcmAes") || name == "sealGeneric" || name == "openGeneric"):
			p.StdGCM = Stock
		}
	}
}

// fips140 returns the fips140 setting in a GODEBUG list if it is on.
func fips140(godebug string) string {
	for _, setting := range strings.Split(godebug, ",") {
		if mode, ok := strings.CutPrefix(setting, "fips140="); ok && mode != "off" {
			return mode
		}
	}
	return ""
}

// ciphers are linked only if the program makes such a type.
const ciphers = sealaneModule + "/internal/aead.(*"

// served matches the versions of modules that sealane build serves.
var served = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-.*\bsealane-[0-9a-f]{12}$`)

// A Program describes a file.
type Program struct {
	Package   string   `json:"package"`          // package of its main function
	Module    string   `json:"module,omitempty"` // module of that package
	Version   string   `json:"version,omitempty"`
	Go        string   `json:"go"`
	GOOS      string   `json:"goos"`
	GOARCH    string   `json:"goarch"`
	Crypto    string   `json:"x_crypto,omitempty"`             // version of x/crypto
	Private   bool     `json:"x_crypto_replaced"`              // x/crypto is replaced by a copy
	Sealane   string   `json:"sealane,omitempty"`              // version of sealane
	Levels    []string `json:"levels"`                         // linked levels of sealane, best first
	Uses      bool     `json:"sealane_called"`                 // the program makes ciphers of sealane, directly or through x/crypto
	Called    bool     `json:"x_crypto_calls"`                 // the program calls x/crypto's New or NewX, which calls sealane
	Stream    string   `json:"x_crypto_chacha20,omitempty"`    // OnSealane or Stock, if the program can call x/crypto's plain ChaCha20
	SSH       string   `json:"x_crypto_ssh,omitempty"`         // OnSealane or Stock; so is the cipher of x/crypto/ssh
	StdCipher string   `json:"std_chacha20poly1305,omitempty"` // OnSealane or Stock, if the program can call the standard library's
	StdGCM    string   `json:"std_aesgcm,omitempty"`           // the same for AES-GCM
	StdModes  string   `json:"std_aes_modes,omitempty"`        // the same for AES-CTR or AES-CBC
	FIPS140   string   `json:"fips140,omitempty"`              // the mode that the program turns on by default
	Stock     bool     `json:"stock_linked"`                   // x/crypto's own ChaCha20-Poly1305 is linked, without sealane in front
	Others    []string `json:"other_ciphers"`                  // packages with their own ChaCha20-Poly1305
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
		case "DefaultGODEBUG":
			p.FIPS140 = fips140(s.Value)
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
	linked, stockLinked, modesLinked := map[string]bool{}, false, false
	for _, f := range functions {
		if strings.HasPrefix(f, ciphers) {
			p.Uses = true
		}
		p.std(f)
		switch {
		case f == cryptoModule+"/ssh.(*sealaneStream).init":
			p.SSH = OnSealane
		case f == cryptoModule+"/ssh.(*chacha20Poly1305Cipher).readCipherPacket" && p.SSH == "":
			p.SSH = Stock
		case f == cryptoModule+"/chacha20.sealaneXOR":
			p.Stream = OnSealane
		case f == cryptoModule+"/chacha20.(*Cipher).XORKeyStream" && p.Stream == "":
			p.Stream = Stock
		}
		if slices.Contains(markers, f) {
			p.Called = true
		}
		if pkg := otherCipher(f); pkg != "" && !slices.Contains(p.Others, pkg) {
			p.Others = append(p.Others, pkg)
		}
		stockLinked = stockLinked || f == stock
		modesLinked = modesLinked || strings.HasPrefix(f, modes)
		if level, ok := strings.CutPrefix(f, kernels); ok {
			linked[strings.ToLower(strings.TrimSuffix(level, ".abi0"))] = true
		}
	}
	if p.StdModes != "" && modesLinked {
		p.StdModes = OnSealane
	}
	p.Stock = stockLinked && !p.Called
	for _, level := range dispatch.AllLevels() {
		if linked[level] {
			p.Levels = append(p.Levels, level)
		}
	}
	return p, nil
}

// otherCipher returns the package of a method that seals or opens with ChaCha20-Poly1305, if it is neither x/crypto's
// nor ours. Such a cipher is not replaced.
func otherCipher(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, method, ok := strings.Cut(function[slash:], ".")
	pkg := function[:slash] + name
	switch {
	case !ok || !strings.HasSuffix(method, ".Seal") && !strings.HasSuffix(method, ".Open"):
		return ""
	case !strings.Contains(strings.ToLower(name+method), "chacha20poly1305") || strings.HasPrefix(pkg, sealaneModule+"/"):
		return ""
	case pkg == cryptoModule+"/chacha20poly1305" || strings.HasPrefix(pkg, "vendor/") || pkg == "crypto/tls" || pkg == "crypto/hpke":
		return "" // the standard library is reported separately
	}
	return pkg
}

func (p *Program) module(m *debug.Module) {
	if (p.Package == m.Path || strings.HasPrefix(p.Package, m.Path+"/")) && len(m.Path) > len(p.Module) {
		p.Module, p.Version = m.Path, m.Version
	}
	switch m.Path {
	case cryptoModule:
		p.Crypto, p.Private = m.Version, m.Replace != nil && served.MatchString(m.Replace.Version)
	case sealaneModule:
		p.Sealane = m.Version
	}
}

// functionsOf reads the function names from the table that every Go program contains for stack traces, even if
// stripped. The table is found by its header (runtime/symtab.go, pcHeader). The header has a magic number, two
// zeroes, the sizes of the smallest instruction and of a pointer, and eight words.
func functionsOf(content []byte) ([]string, error) {
	for _, order := range []stdbinary.ByteOrder{stdbinary.LittleEndian, stdbinary.BigEndian} {
		for _, magic := range []uint32{0xfffffff1, 0xfffffff0} { // since Go 1.20, 1.18
			head := make([]byte, 6)
			order.PutUint32(head, magic)
			for from := 0; ; {
				i := bytes.Index(content[from:], head)
				if i < 0 {
					break
				}
				if functions := readTable(content[from+i:], order); len(functions) > 0 {
					return functions, nil
				}
				from += i + 1
			}
		}
	}
	return nil, errors.New("it has no table of functions that this version of sealane can read")
}

// readTable returns the names in a table at the start of p, or nil if p is not such a table.
func readTable(p []byte, order stdbinary.ByteOrder) (names []string) {
	if len(p) < 72 || p[6] != 1 && p[6] != 2 && p[6] != 4 || p[7] != 4 && p[7] != 8 {
		return nil
	}
	word := func(i int) uint64 {
		if p[7] == 4 {
			return uint64(order.Uint32(p[8+4*i:]))
		}
		return order.Uint64(p[8+8*i:])
	}
	// The function names, and the functions as pairs of 32-bit words. The second word of a pair is the offset of a
	// description from the start of the pairs. The second word of the description is the offset of the name.
	functions, nameTable, table := word(0), word(3), word(7)
	if nameTable >= table || table > uint64(len(p)) || functions > (uint64(len(p))-table)/8 {
		return nil
	}
	described, named := p[table:], p[nameTable:table]
	for i := range functions {
		at := uint64(order.Uint32(described[8*i+4:]))
		if at+8 > uint64(len(described)) {
			return nil
		}
		name := uint64(order.Uint32(described[at+4:]))
		if name >= uint64(len(named)) {
			return nil
		}
		end := bytes.IndexByte(named[name:], 0)
		if end < 0 {
			return nil
		}
		names = append(names, string(named[name:name+uint64(end)]))
	}
	return names
}
