// Package sealane tells which implementations of its ciphers this machine can run, which one is used, and why.
//
// The ciphers are in the packages below it.
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
	Name   string  // the name of its package
	Levels []Level // best first; the last is portable code

	// EnvironmentError says that SEALANE_CPU, SEALANE_ASM or SEALANE_AFALG has a value that means nothing here, and no effect.
	EnvironmentError error
}

// A Level is one implementation of a cipher.
type Level struct {
	Name        string
	Description string
	Needs       []Feature // of the CPU
	Supported   bool      // the CPU has them all
	Passed      bool      // it gave the known answers; levels that are not supported are not tested
	Chosen      bool      // new keys use it
	Why         string    // why it was chosen or not, in words
}

// A Feature is an instruction set extension.
type Feature struct {
	Name    string
	Present bool // in the CPU, and enabled by the operating system
}

// Ciphers reports on all ciphers. It runs the known-answer tests that have not run yet in this process.
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

// SetMaxLevel caps the levels that this process picks from: name is the best one to use, as in SEALANE_CPU ("avx2",
// "neon", ..., "portable"; [Implementation] tells a key's). A cipher that has no level of that name takes the next below.
// Names of other architectures may be given, and cap nothing. The environment can lower this cap and not raise it.
//
// It is to be called before the process makes its first key, from any goroutine; of several calls the last one counts. The
// first key, and the first call of [Ciphers], ends that: from then on this returns an error and changes nothing. Of a call
// at the same time as the first key the outcome is the one or the other: no error if and only if all keys keep to the cap.
func SetMaxLevel(name string) error {
	if all := dispatch.AllLevels(); !slices.Contains(all, name) {
		return errors.New("sealane: no level " + strconv.Quote(name) + ": there are " + strings.Join(all, " "))
	}
	if !dispatch.SetMaxLevel(name) {
		return errors.New("sealane: level " + name + " comes too late: the process has chosen its levels")
	}
	return nil
}

// Implementation returns the name of the level that a cipher of this module runs at, or "" for other ciphers.
func Implementation(a cipher.AEAD) string {
	if i, ok := a.(interface{ Implementation() string }); ok {
		return i.Implementation()
	}
	return ""
}
