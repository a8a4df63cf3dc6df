// Package quic implements QUIC's packet protection (RFC 9001, section 5; RFC 9369): keys from a secret, packet numbers, header
// masks and AEAD, of many packets in one call.
//
//	for i := range packets { // header, payload, and 16 bytes of room
//		packets[i] = quic.Packet{Keys: keys, Bytes: buffers[i], PNOffset: 1 + len(dcid), Number: next + uint64(i)}
//	}
//	quic.Protect(packets)
//
// A batch's packets are sealed side by side where they are small, and so are their masks: one block of AES or ChaCha20 for each, of
// whatever key. Frames, streams, loss and handshake are a QUIC implementation's affair; this is what it calls in their place.
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

// A Version of QUIC is what its packets have in their header.
type Version uint32

const (
	Version1 Version = 1          // RFC 9000
	Version2 Version = 0x6b3343cf // RFC 9369
)

// A Suite is an AEAD and a hash, by the numbers that TLS 1.3 has for them (RFC 8446, B.4).
type Suite uint16

const (
	AES128GCM        Suite = 0x1301 // with SHA-256
	AES256GCM        Suite = 0x1302 // with SHA-384
	ChaCha20Poly1305 Suite = 0x1303 // with SHA-256
)

// TagSize is how much longer a packet's payload is when it is protected, in bytes.
const TagSize = 16

var (
	// ErrVersion is the error of a version that is neither [Version1] nor [Version2].
	ErrVersion = errors.New("quic: unknown version")

	// ErrSuite is the error of a suite that is none of the constants.
	ErrSuite = errors.New("quic: unknown cipher suite")

	errSelfTest = errors.New("quic: no implementation passes its known-answer test")
)

// Keys protect, or unprotect, the packets of one direction and one encryption level. They are safe for concurrent use.
type Keys struct {
	mask    kernel.AESKey // of AES suites
	hp      [32]byte      // of ChaCha20
	aead    cipher.AEAD
	iv      [12]byte
	kind    maskKind
	phase   bool
	suite   Suite
	version Version
	secret  []byte
}

// maskKind is what header masks can be made side by side with.
type maskKind struct {
	level    kernel.Level
	chacha   bool
	keyBytes uint8
}

// parameters of a version (RFC 9001, 5.2 and 5.8; RFC 9369, 3.3).
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

// expand is HKDF-Expand-Label (RFC 8446, 7.1) with an empty context.
func expand(h func() hash.Hash, secret []byte, label string, size int) ([]byte, error) {
	label = "tls13 " + label
	info := append([]byte{byte(size >> 8), byte(size), byte(len(label))}, label...)
	return hkdf.Expand(h, secret, string(append(info, 0)), size)
}

// NewKeys derives keys from a traffic secret of TLS: of the hash's size, 48 bytes for AES256GCM and 32 for the others.
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

// NewKeysFrom is [NewKeys] from derived values: key and header protection key hp, which have the AEAD's size, and
// 12 bytes of iv. They cannot be updated.
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

// Update returns the keys of the next key phase (RFC 9001, 6): another AEAD key and iv, the same header masks.
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

// Wipe overwrites the keys and the secret that they follow from. Afterwards k is of no use: its methods, and packets that have it, give an
// error. No other call may use k meanwhile. Keys that [Keys.Update] has made of k stay as they are. Wiping twice, or nil, does nothing.
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

// Phase is the key phase bit of short headers: false at first, and the other with each update.
func (k *Keys) Phase() bool { return k.phase }

// InitialKeys returns the keys of Initial packets, which protect from mistakes and not from anybody, as they follow from the
// Destination Connection ID of the client's first packet.
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

// RetryTag returns the integrity tag of a Retry packet (RFC 9001, 5.8): retry is all of it but the tag, and dcid the
// Destination Connection ID of the packet that it answers.
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

// CheckRetry says whether a Retry packet's last 16 bytes are its integrity tag. They are no secret and prove only that who
// made it has seen the packet that it answers.
func CheckRetry(v Version, dcid, packet []byte) bool {
	n := len(packet) - TagSize
	if n < 0 {
		return false
	}
	tag, err := RetryTag(v, dcid, packet[:n])
	return err == nil && subtle.ConstantTimeCompare(tag[:], packet[n:]) == 1
}
