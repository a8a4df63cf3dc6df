// Package afalg seals and opens packets with the AEADs of the Linux kernel, through AF_ALG sockets, as a cipher.AEAD.
//
// Its use is crypto engines: routers and systems on a chip with a driver in a kernel before Linux 7.2. Without an engine the
// kernel runs the same kind of vector code as sealane, and a packet costs two system calls and as many copies on top, so on
// a CPU that sealane has a kernel for this package is slower. From 7.2 on AF_ALG is deprecated and has no engines any more,
// and from 7.3 on New fails with [ErrUnsupported] unless the administrator sets crypto.af_alg_restrict to 0. [Available] has
// the driver behind an algorithm; measure, with
//
//	go test -bench . github.com/sealane/sealane/afalg
//
// Programs need no change to use an engine. One that imports this package gives the keys of package aesgcm to the kernel if
// the environment has SEALANE_AFALG=auto, the CPU has no AES instructions, the kernel has given known answers, and its driver
// is that of an engine that does all of AES-GCM. No time is measured: the decision is the same at every start, and rests on
// counted instructions. [Selections] says what it is. Set-uid programs ignore the variable. Such keys take at most a quarter
// of the file descriptors that the process may have; others stay in the process.
//
// Whatever the kernel refuses or fails to do (a packet over [MaxPacket] bytes, no memory, no file descriptors) is done in
// the process, with the same result. Only a wrong tag is final.
//
// Texts are copied: splicing them into the socket was tried, and costs more instructions for packets of 1420 bytes; Linux
// has given up avoiding the copy for the sake of safety, in 7.2 and in older series.
//
// Source: Linux's Documentation/crypto/userspace-if.rst.
package afalg

import "errors"

// An Algorithm is an AEAD by the kernel's name.
type Algorithm string

const (
	ChaCha20Poly1305 Algorithm = "rfc7539(chacha20,poly1305)" // RFC 8439: 32-byte keys, 12-byte nonces
	AESGCM           Algorithm = "gcm(aes)"                   // NIST SP 800-38D: 16, 24 or 32-byte keys, 12-byte nonces
)

// MaxPacket is the largest packet, associated data, text and tag together in bytes, that goes through the kernel. Its
// socket buffers would hold a little more; what is longer is done in the process.
const MaxPacket = 64 << 10

const (
	nonceSize = 12
	tagSize   = 16
)

// Errors of [New]. Each wraps the kernel's error.
var (
	ErrUnsupported = errors.New("afalg: the kernel does not offer this algorithm")
	ErrKnownAnswer = errors.New("afalg: the kernel does not give the known answers")
	ErrKeySize     = errors.New("afalg: wrong key size")
)

var errOpen = errors.New("afalg: message authentication failed")

// Support is what is known of the kernel's side of an algorithm.
type Support struct {
	Algorithm Algorithm
	Usable    bool   // it is there and gave the known answers
	Why       string // why not
	Driver    string // which implementation serves it: the one in /proc/crypto whose users become more; empty if unknown
	Priority  int    // the driver's, from there
	Hardware  bool   // the driver is that of a crypto engine, as far as its name tells
}

// A Selection is what SEALANE_AFALG=auto came to for an algorithm in this process.
type Selection struct {
	Algorithm Algorithm
	Kernel    bool   // ciphers of this algorithm use the kernel
	Why       string // in words
}
