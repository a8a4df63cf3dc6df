package tls

import (
	"bytes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"

	"github.com/sealane/sealane/aes"
	"github.com/sealane/sealane/internal/aead"
)

type hash uint8

const (
	hashSHA256 hash = iota
	hashSHA384
)

func (h hash) size() int {
	if h == hashSHA384 {
		return 48
	}
	return 32
}

// A suite has the properties of a cipher suite that concern records.
type suite struct {
	id       uint16
	version  uint16 // the only version with this suite
	hash     hash
	kind     kind
	keyBytes int
	tag      int // bytes
}

// A kind is a kind of AEAD.
type kind uint8

const (
	gcm kind = iota
	chacha
	ccm
)

// explicit reports whether records contain a part of their nonce (RFC 5288, section 3; RFC 6655, section 3).
func (s *suite) explicit() bool { return s.version == version12 && s.kind != chacha }

const (
	version12 = 0x0303
	version13 = 0x0304
)

// https://www.iana.org/assignments/tls-parameters
var suites = makeSuites()

func makeSuites() map[uint16]*suite {
	all := []suite{
		{0x1301, version13, hashSHA256, gcm, 16, TagBytes},
		{0x1302, version13, hashSHA384, gcm, 32, TagBytes},
		{0x1303, version13, hashSHA256, chacha, 32, TagBytes},
		{0x1304, version13, hashSHA256, ccm, 16, TagBytes},
		{0x1305, version13, hashSHA256, ccm, 16, shortTag},
	}
	// RSA, DHE_RSA, DHE_DSS, PSK, DHE_PSK, RSA_PSK, ECDHE_ECDSA, ECDHE_RSA: AES-128-GCM, and AES-256-GCM next to it.
	for _, id := range []uint16{0x009c, 0x009e, 0x00a2, 0x00a8, 0x00aa, 0x00ac, 0xc02b, 0xc02f} {
		all = append(all, suite{id, version12, hashSHA256, gcm, 16, TagBytes}, suite{id + 1, version12, hashSHA384, gcm, 32, TagBytes})
	}
	// RSA, DHE_RSA, PSK, DHE_PSK (RFC 6655), ECDHE_ECDSA (RFC 7251): AES-128-CCM, and AES-256-CCM next to it.
	for id, tag := range map[uint16]int{
		0xc09c: TagBytes, 0xc09e: TagBytes, 0xc0a0: shortTag, 0xc0a2: shortTag, 0xc0a4: TagBytes,
		0xc0a6: TagBytes, 0xc0a8: shortTag, 0xc0aa: shortTag, 0xc0ac: TagBytes, 0xc0ae: shortTag,
	} {
		all = append(all, suite{id, version12, hashSHA256, ccm, 16, tag}, suite{id + 1, version12, hashSHA256, ccm, 32, tag})
	}
	// ECDHE_PSK (RFC 8442).
	all = append(all, suite{0xd001, version12, hashSHA256, gcm, 16, TagBytes}, suite{0xd002, version12, hashSHA384, gcm, 32, TagBytes},
		suite{0xd003, version12, hashSHA256, ccm, 16, shortTag}, suite{0xd005, version12, hashSHA256, ccm, 16, TagBytes})
	for id := uint16(0xcca8); id <= 0xccae; id++ {
		all = append(all, suite{id, version12, hashSHA256, chacha, 32, TagBytes})
	}
	m := make(map[uint16]*suite, len(all))
	for i := range all {
		m[all[i].id] = &all[i]
	}
	return m
}

// setKey creates the AEAD for a key. No other function chooses an implementation.
func (k *keySet) setKey(s *suite, key []byte) bool {
	wipeCCM(k.aead)
	k.aead = nil
	switch s.kind {
	case ccm:
		block, err := aes.New(key)
		if err != nil {
			return false
		}
		mode, err := block.NewCCM(12, s.tag)
		k.aead = &ccmKey{mode, block}
		return err == nil
	case chacha:
		level, err := aead.ChaCha20Poly1305Level()
		if err != nil || aead.SetChaCha20Poly1305(&k.chacha, level, key) != nil {
			return false
		}
		k.aead = &k.chacha
		return true
	}
	level, err := aead.AESGCMLevel()
	if err != nil {
		return false
	}
	if aead.SetAESGCM(k.gcm, level, key) != nil {
		return false
	}
	k.aead = k.gcm
	return true
}

// A ccmKey is an AES-CCM key. These are rare, so they are allocated separately.
type ccmKey struct {
	cipher.AEAD
	block *aes.Cipher
}

func isCCM(a cipher.AEAD) bool {
	_, is := a.(*ccmKey)
	return is
}

// wipeCCM wipes a key, if it is one of AES-CCM.
func wipeCCM(a cipher.AEAD) {
	if k, is := a.(*ccmKey); is {
		*k.block = aes.Cipher{}
	}
}

// wipe wipes the keys, but keeps memory for the next ones.
func (k *keySet) wipe() {
	wipeCCM(k.aead)
	if k.gcm != nil {
		*k.gcm = aead.AESGCM{}
	}
	*k = keySet{gcm: k.gcm, number: k.number}
}

// The pads of HMAC.
var innerPad, outerPad = [128]byte(bytes.Repeat([]byte{0x36}, 128)), [128]byte(bytes.Repeat([]byte{0x5c}, 128))

// pad puts a key, no longer than a block, into the first block of b.
func pad(b, key []byte, with *[128]byte, block int) {
	copy(b, with[:block])
	subtle.XORBytes(b, key, with[:len(key)])
}

// hmac computes HMAC (RFC 2104) of a short message. It does not allocate, because a connection needs about twenty.
func (h hash) hmac(out *[48]byte, key, message []byte) {
	const longest = 160
	if h == hashSHA384 {
		var inner [128 + longest]byte
		var outer [128 + 48]byte
		pad(inner[:], key, &innerPad, 128)
		pad(outer[:], key, &outerPad, 128)
		n := 128 + copy(inner[128:], message)
		sum := sha512.Sum384(inner[:n])
		copy(outer[128:], sum[:])
		*out = sha512.Sum384(outer[:])
		clear(inner[:n])
		clear(outer[:])
		return
	}
	var inner [64 + longest]byte
	var outer [64 + 32]byte
	pad(inner[:], key, &innerPad, 64)
	pad(outer[:], key, &outerPad, 64)
	n := 64 + copy(inner[64:], message)
	sum := sha256.Sum256(inner[:n])
	copy(outer[64:], sum[:])
	sum = sha256.Sum256(outer[:])
	copy(out[:], sum[:])
	clear(inner[:n])
	clear(outer[:])
}

// expandLabel is HKDF-Expand-Label with no context (RFC 8446, section 7.1), for outputs no longer than the hash.
func (h hash) expandLabel(out, secret []byte, label string) {
	var info [32]byte
	binary.BigEndian.PutUint16(info[:], uint16(len(out)))
	info[2] = uint8(6 + len(label))
	n := 3 + copy(info[3:], "tls13 ")
	n += copy(info[n:], label)
	info[n] = 0   // no context
	info[n+1] = 1 // the first block of HKDF-Expand
	var block [48]byte
	h.hmac(&block, secret, info[:n+2])
	copy(out, block[:])
	clear(block[:])
}

// prf is the pseudorandom function of TLS 1.2 (RFC 5246, section 5).
func (h hash) prf(out, secret []byte, label string, seed ...[]byte) {
	var a, block [48]byte
	var message [48 + 128]byte
	s := message[h.size():h.size()]
	s = append(s, label...)
	for _, part := range seed {
		s = append(s, part...)
	}
	end := h.size() + len(s)
	h.hmac(&a, secret, s)
	for len(out) > 0 {
		copy(message[:h.size()], a[:])
		h.hmac(&block, secret, message[:end])
		out = out[copy(out, block[:h.size()]):]
		h.hmac(&a, secret, a[:h.size()])
	}
	clear(a[:])
	clear(block[:])
	clear(message[:])
}

// A direction's keys are derived from a traffic secret (RFC 8446, section 7.3) or cut from the key block (RFC 5246,
// section 6.3).
type keySet struct {
	aead   cipher.AEAD // chacha, gcm, or a ccmKey
	iv     [12]byte    // for GCM and CCM in TLS 1.2, only the first 4 bytes are set
	secret [48]byte    // TLS 1.3: the secret of these keys, from which the next one follows
	chacha aead.ChaCha20Poly1305
	gcm    *aead.AESGCM // memory for a key, even if it is not used
	number uint32       // of gcm
}

func (k *keySet) fromTraffic(s *suite, secret []byte) bool {
	if len(secret) != s.hash.size() {
		return false
	}
	var key [32]byte
	s.hash.expandLabel(key[:s.keyBytes], secret, "key")
	s.hash.expandLabel(k.iv[:], secret, "iv")
	clear(k.secret[:])
	copy(k.secret[:], secret)
	ok := k.setKey(s, key[:s.keyBytes])
	clear(key[:])
	return ok
}

// update derives the keys after a KeyUpdate (RFC 8446, section 7.2).
func (k *keySet) update(s *suite, from *[48]byte) bool {
	var next [48]byte
	s.hash.expandLabel(next[:s.hash.size()], from[:s.hash.size()], "traffic upd")
	ok := k.fromTraffic(s, next[:s.hash.size()])
	clear(next[:])
	return ok
}

func (k *keySet) fromMaster(s *suite, side uint8, master []byte, client, server *[32]byte) bool {
	ivBytes := 4
	if s.kind == chacha {
		ivBytes = 12
	}
	var block [2 * (32 + 12)]byte
	b := block[:2*(s.keyBytes+ivBytes)]
	s.hash.prf(b, master, "key expansion", server[:], client[:])
	key := b[int(side)*s.keyBytes:][:s.keyBytes]
	iv := b[2*s.keyBytes+int(side)*ivBytes:][:ivBytes]
	clear(k.iv[:])
	copy(k.iv[:], iv)
	ok := k.setKey(s, key)
	clear(block[:])
	return ok
}
