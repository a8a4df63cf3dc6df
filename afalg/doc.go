// Package afalg seals and opens packets with the AEADs of the Linux kernel, through AF_ALG sockets, as a cipher.AEAD.
//
// A packet costs two system calls, one to send and one to read, about a microsecond on a large machine and several on a
// small one. The kernel runs the same kind of vector code as sealane does without them, so on a CPU that sealane has a
// kernel for this package is slower. Its use is hardware: routers and systems on a chip whose crypto engine has a driver
// in the kernel. Measure, with
//
//	go test -bench . github.com/sealane/sealane/afalg
//
// or let the program do so: a program that imports this package uses the kernel for the ciphers of packages
// chacha20poly1305 and aesgcm if the environment has SEALANE_AFALG=auto, a short measurement at 1420 bytes at the first
// key finds the kernel faster, and the kernel has given known answers. [Selections] says what came of it. Without the
// variable nothing changes, set-uid programs ignore it, and ARM processors without NEON never get the kernel.
//
// Whatever the kernel refuses or fails to do (a packet over [MaxPacket] bytes, no memory, no file descriptors) is done in
// the process, with the same result. Only a wrong tag is final.
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

// Errors of [New]. Each is wrapped together with what the kernel said.
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
	Driver    string // which implementation serves it, from /proc/crypto; empty if unknown
	Priority  int    // the driver's, from there
	Hardware  bool   // the driver looks like that of a crypto engine: asynchronous, and no name that the kernel's own code has
}

// A Selection is what SEALANE_AFALG=auto came to for an algorithm in this process.
type Selection struct {
	Algorithm Algorithm
	Kernel    bool   // ciphers of this algorithm use the kernel
	Why       string // in words, with the measurement if there was one
}
