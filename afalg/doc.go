// Package afalg seals and opens packets with the AEADs of the Linux kernel, through AF_ALG sockets, as a cipher.AEAD.
//
// It serves crypto engines: routers and systems on a chip with an engine driver in a kernel before Linux 7.2. Without
// an engine the kernel runs similar vector code to sealane, with two system calls and copies per packet on top. So this
// package is slower on a CPU that has a sealane kernel. Since 7.2, AF_ALG is deprecated and does not offer engines.
// Since 7.3, New fails with [ErrUnsupported] unless the administrator sets crypto.af_alg_restrict to 0. [Available]
// reports the driver behind an algorithm. Measure with:
//
//	go test -bench . github.com/sealane/sealane/afalg
//
// A program that imports this package can use an engine without other changes. With SEALANE_AFALG=auto in the
// environment, package aesgcm gives its keys to the kernel under three conditions. The CPU has no AES instructions,
// the kernel passed its known-answer tests, and the driver belongs to an engine that does all of AES-GCM. The
// decision rests on instruction counts, not on timing, so it is the same at every start; [Selections] reports it.
// Set-uid programs ignore the variable. Such keys use at most a quarter of the process's file descriptors; further
// keys stay in the process.
//
// The kernel may refuse packets or fail to process them (over [MaxPacket] bytes, no memory, no file descriptors).
// These are processed in the process, with the same result. Only a wrong tag is final.
//
// Texts are copied. Splicing them into the socket takes more instructions for packets of 1420 bytes. Linux has
// also removed zero-copy for safety, in 7.2 and in older series.
//
// Source: Linux's Documentation/crypto/userspace-if.rst.
package afalg

import "errors"

// An Algorithm is the kernel's name of an AEAD.
type Algorithm string

const (
	ChaCha20Poly1305 Algorithm = "rfc7539(chacha20,poly1305)" // RFC 8439: 32-byte keys, 12-byte nonces
	AESGCM           Algorithm = "gcm(aes)"                   // NIST SP 800-38D: 16, 24 or 32-byte keys, 12-byte nonces
)

// MaxPacket is the largest packet that goes to the kernel: associated data, text and tag together, in bytes. The
// kernel's socket buffers hold slightly more. Longer packets are processed in the process.
const MaxPacket = 64 << 10

const (
	nonceSize = 12
	tagSize   = 16
)

// Errors of [New]. Each of them wraps the error of the kernel.
var (
	ErrUnsupported = errors.New("afalg: the kernel does not offer this algorithm")
	ErrKnownAnswer = errors.New("afalg: the kernel does not give the known answers")
	ErrKeySize     = errors.New("afalg: wrong key size")
)

var errOpen = errors.New("afalg: message authentication failed")

// Support describes the kernel's support for an algorithm.
type Support struct {
	Algorithm Algorithm
	Usable    bool   // the kernel has it and it passed the known-answer tests
	Why       string // why it is not usable
	Driver    string // name of the implementation in /proc/crypto, found by its reference count; empty if unknown
	Priority  int    // priority of the driver in /proc/crypto
	Hardware  bool   // the driver belongs to a crypto engine, judging by its name
}

// A Selection is the decision of SEALANE_AFALG=auto for an algorithm in this process.
type Selection struct {
	Algorithm Algorithm
	Kernel    bool   // ciphers of this algorithm use the kernel
	Why       string // human-readable reason
}
