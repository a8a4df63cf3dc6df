// Package sealane reports the implementations ("levels") of the module's ciphers: which ones this machine can run,
// which one new keys use, and why.
//
// The ciphers themselves are in the subpackages.
package sealane

import (
	"crypto/cipher"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/report"
)

// A Cipher is a primitive with all its implementations.
type Cipher struct {
	Name   string  // name of its Go package
	Levels []Level // best first; the last is portable code

	// EnvironmentError is not nil if SEALANE_CPU, SEALANE_ASM or SEALANE_AFALG has an invalid value, which is ignored.
	EnvironmentError error
}

// A Level is one implementation of a cipher.
type Level struct {
	Name        string
	Description string
	Needs       []Feature // CPU features that the level requires
	Supported   bool      // the CPU has all features in Needs
	Passed      bool      // the known-answer test passed; it runs only if Supported
	Chosen      bool      // new keys use this level
	Why         string    // human-readable reason why it was chosen or not
}

// A Feature is a CPU instruction set extension.
type Feature struct {
	Name    string
	Present bool // the CPU has it and the operating system enables it
}

// Ciphers reports on all ciphers. It runs the known-answer tests that have not run in this process yet.
func Ciphers() []Cipher {
	var ciphers []Cipher
	for _, t := range []*dispatch.Table{&kernel.ChaCha20Poly1305Levels, &kernel.AESGCMLevels} {
		c := Cipher{Name: t.Primitive, EnvironmentError: report.Environment(t)}
		for _, r := range report.Levels(t) {
			l := Level{
				Name:        r.Name,
				Description: r.Summary,
				Supported:   r.Tested,
				Passed:      r.Passed,
				Chosen:      r.Status == report.Chosen,
				Why:         r.Why,
			}
			for _, f := range r.Needs {
				l.Needs = append(l.Needs, Feature{Name: f, Present: dispatch.Has(f)})
			}
			c.Levels = append(c.Levels, l)
		}
		ciphers = append(ciphers, c)
	}
	return ciphers
}

// SetMaxLevel caps the levels that this process chooses from. name is the best level to use, as in SEALANE_CPU ("avx2",
// "neon", ..., "portable"); [Implementation] returns the level of a key. A cipher without a level of that name uses its
// next lower level. Level names of other architectures are accepted and have no effect. The environment can lower this
// cap but not raise it.
//
// Call SetMaxLevel before the process makes its first key; any goroutine may call it, and the last call counts. After
// the first key or the first call of [Ciphers], it returns an error and changes nothing. If it runs concurrently with
// the first key, it returns nil if and only if all keys obey the cap.
func SetMaxLevel(name string) error {
	if all := dispatch.AllLevels(); !slices.Contains(all, name) {
		return errors.New("sealane: no level " + strconv.Quote(name) + ": there are " + strings.Join(all, " "))
	}
	if !dispatch.SetMaxLevel(name) {
		return errors.New("sealane: level " + name + " comes too late: the process has chosen its levels")
	}
	return nil
}

// Implementation returns the name of the level that a cipher of this module uses, or "" for other ciphers.
func Implementation(a cipher.AEAD) string {
	if i, ok := a.(interface{ Implementation() string }); ok {
		return i.Implementation()
	}
	return ""
}
