// Package quic implements QUIC packet protection (RFC 9001, section 5; RFC 9369). It derives keys from a secret, and
// handles packet numbers, header masks and AEAD for many packets per call.
//
//	for i := range packets { // header, payload, and 16 bytes of room
//		packets[i] = quic.Packet{Keys: keys, Bytes: buffers[i], PNOffset: 1 + len(dcid), Number: next + uint64(i)}
//	}
//	quic.Protect(packets)
//
// The small packets of a batch are sealed side by side. Header masks are also made side by side, even under different
// keys: each takes one block of AES or ChaCha20. Frames, streams, loss recovery and the handshake belong to the QUIC
// implementation that calls this package.
package quic

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"

	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

// A Version is the version number in QUIC packet headers.
type Version uint32

const (
	Version1 Version = 1          // RFC 9000
	Version2 Version = 0x6b3343cf // RFC 9369
)

// A Suite is an AEAD with a hash, as a TLS 1.3 cipher suite number (RFC 8446, appendix B.4).
type Suite uint16

const (
	AES128GCM        Suite = 0x1301 // with SHA-256
	AES256GCM        Suite = 0x1302 // with SHA-384
	ChaCha20Poly1305 Suite = 0x1303 // with SHA-256
)

// TagSize is the size of the tag, in bytes. A protected payload is this much longer than its plaintext.
const TagSize = 16

var (
	// ErrVersion means that the version is neither [Version1] nor [Version2].
	ErrVersion = errors.New("quic: unknown version")

	// ErrSuite means that the suite is not one of the constants of this package.
	ErrSuite = errors.New("quic: unknown cipher suite")

	errSelfTest = errors.New("quic: no implementation passes its known-answer test")
)

// Keys protect or unprotect the packets of one direction at one encryption level. They are safe for concurrent use.
type Keys struct {
	mask    kernel.AESKey // header protection key of AES suites
	hp      [32]byte      // header protection key of ChaCha20
	aead    cipher.AEAD
	iv      [12]byte
	kind    maskKind
	phase   bool
	suite   Suite
	version Version
	secret  []byte
}

// A maskKind is the cipher and level of header masks; masks of equal kinds can be made side by side.
type maskKind struct {
	level    kernel.Level
	chacha   bool
	keyBytes uint8
}

// parameters are the constants of a version (RFC 9001, sections 5.2 and 5.8; RFC 9369, section 3.3).
type parameters struct {
	label                      string
	salt, retryKey, retryNonce []byte
}

var (
	parameters1 = parameters{
		"quic ",
		[]byte("\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"),
		[]byte("\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e"),
		[]byte("\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb"),
	}
	parameters2 = parameters{
		"quicv2 ",
		[]byte("\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"),
		[]byte("\x8f\xb4\xb0\x1b\x56\xac\x48\xe2\x60\xfb\xcb\xce\xad\x7c\xcc\x92"),
		[]byte("\xd8\x69\x69\xbc\x2d\x7c\x6d\x99\x90\xef\xb0\x4a"),
	}
)

func (v Version) parameters() (*parameters, error) {
	switch v {
	case Version1:
		return &parameters1, nil
	case Version2:
		return &parameters2, nil
	}
	return nil, ErrVersion
}

func (s Suite) hash() (func() hash.Hash, int) {
	switch s {
	case AES128GCM:
		return sha256.New, 16
	case AES256GCM:
		return sha512.New384, 32
	case ChaCha20Poly1305:
		return sha256.New, 32
	}
	return nil, 0
}

// expand is HKDF-Expand-Label (RFC 8446, section 7.1) with an empty context.
func expand(h func() hash.Hash, secret []byte, label string, size int) ([]byte, error) {
	label = "tls13 " + label
	info := append([]byte{byte(size >> 8), byte(size), byte(len(label))}, label...)
	return hkdf.Expand(h, secret, string(append(info, 0)), size)
}

// NewKeys derives keys from a TLS traffic secret, whose size is that of the suite's hash: 48 bytes for AES256GCM, 32
// for the others.
func NewKeys(v Version, s Suite, secret []byte) (*Keys, error) {
	p, err := v.parameters()
	if err != nil {
		return nil, err
	}
	h, keySize := s.hash()
	if h == nil {
		return nil, ErrSuite
	}
	if want := h().Size(); len(secret) != want {
		return nil, fmt.Errorf("quic: a secret has %d bytes, not %d", len(secret), want)
	}
	key, err := expand(h, secret, p.label+"key", keySize)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	iv, err := expand(h, secret, p.label+"iv", 12)
	if err != nil {
		return nil, err
	}
	hp, err := expand(h, secret, p.label+"hp", keySize)
	if err != nil {
		return nil, err
	}
	defer clear(hp)
	defer clear(iv)
	k, err := NewKeysFrom(s, key, iv, hp)
	if err != nil {
		return nil, err
	}
	k.version, k.secret = v, append([]byte(nil), secret...)
	return k, nil
}

// NewKeysFrom makes keys from values that are already derived. They are the AEAD key and the header protection key
// hp, both of the AEAD's key size, and a 12-byte iv. Such keys cannot be updated.
func NewKeysFrom(s Suite, key, iv, hp []byte) (*Keys, error) {
	h, keySize := s.hash()
	if h == nil {
		return nil, ErrSuite
	}
	if len(key) != keySize || len(hp) != keySize || len(iv) != 12 {
		return nil, fmt.Errorf("quic: key, iv and hp have %d, %d and %d bytes, not %d, 12 and %d", len(key), len(iv), len(hp), keySize, keySize)
	}
	k := &Keys{suite: s, iv: [12]byte(iv)}
	table, newAEAD := &kernel.AESLevels, aesgcm.New
	if s == ChaCha20Poly1305 {
		table, newAEAD = &kernel.ChaCha20MasksLevels, chacha20poly1305.New
	}
	var err error
	if k.aead, err = newAEAD(key); err != nil {
		return nil, err
	}
	level, ok := table.Choose()
	if !ok {
		return nil, errSelfTest
	}
	k.setMask(kernel.Level(level), hp)
	return k, nil
}

func (k *Keys) setMask(level kernel.Level, hp []byte) {
	k.kind = maskKind{level, k.suite == ChaCha20Poly1305, uint8(len(hp))}
	if k.kind.chacha {
		k.hp = [32]byte(hp)
	} else {
		kernel.AESKeySetup(level, &k.mask, hp)
	}
}

// Update returns the keys of the next key phase (RFC 9001, section 6), with a new AEAD key and iv and the same header
// protection key.
func (k *Keys) Update() (*Keys, error) {
	p, err := k.version.parameters()
	if err != nil || k.secret == nil {
		return nil, errors.New("quic: keys without a secret cannot be updated")
	}
	h, _ := k.suite.hash()
	secret, err := expand(h, k.secret, p.label+"ku", len(k.secret))
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	next, err := NewKeys(k.version, k.suite, secret)
	if err != nil {
		return nil, err
	}
	next.mask, next.hp, next.kind, next.phase = k.mask, k.hp, k.kind, !k.phase
	return next, nil
}

// Wipe overwrites the keys and the secret that they were derived from. Afterwards, methods of k and packets that refer
// to k return an error. No other call may use k at the same time. Keys that [Keys.Update] made from k remain valid.
// Wiping k again, or wiping nil, does nothing.
func (k *Keys) Wipe() {
	if k == nil {
		return
	}
	switch a := k.aead.(type) {
	case *aead.AESGCM:
		*a = aead.AESGCM{}
	case *aead.ChaCha20Poly1305:
		*a = aead.ChaCha20Poly1305{}
	}
	clear(k.secret)
	*k = Keys{}
}

// Phase returns the key phase bit for short headers: false at first, and inverted by each update.
func (k *Keys) Phase() bool { return k.phase }

// InitialKeys returns the keys of Initial packets. They follow from the Destination Connection ID of the client's first
// packet, so they protect against errors but not against an attacker.
func InitialKeys(v Version, dcid []byte) (client, server *Keys, err error) {
	p, err := v.parameters()
	if err != nil {
		return nil, nil, err
	}
	initial, err := hkdf.Extract(sha256.New, dcid, p.salt)
	if err != nil {
		return nil, nil, err
	}
	var keys [2]*Keys
	for i, label := range []string{"client in", "server in"} {
		secret, err := expand(sha256.New, initial, label, 32)
		if err != nil {
			return nil, nil, err
		}
		if keys[i], err = NewKeys(v, AES128GCM, secret); err != nil {
			return nil, nil, err
		}
	}
	return keys[0], keys[1], nil
}

// RetryTag returns the integrity tag of a Retry packet (RFC 9001, section 5.8). retry is the packet without its tag.
// dcid is the Destination Connection ID of the packet that the Retry answers.
func RetryTag(v Version, dcid, retry []byte) (tag [TagSize]byte, err error) {
	p, err := v.parameters()
	if err != nil {
		return tag, err
	}
	if len(dcid) > 255 {
		return tag, errors.New("quic: a connection ID has at most 255 bytes")
	}
	a, err := aesgcm.New(p.retryKey)
	if err != nil {
		return tag, err
	}
	pseudo := append(append([]byte{byte(len(dcid))}, dcid...), retry...)
	a.Seal(tag[:0], p.retryNonce, nil, pseudo)
	return tag, nil
}

// CheckRetry reports whether the last 16 bytes of a Retry packet are its integrity tag. The tag involves no secret: it
// proves only that the sender has seen the packet that the Retry answers.
func CheckRetry(v Version, dcid, packet []byte) bool {
	n := len(packet) - TagSize
	if n < 0 {
		return false
	}
	tag, err := RetryTag(v, dcid, packet[:n])
	return err == nil && subtle.ConstantTimeCompare(tag[:], packet[n:]) == 1
}
