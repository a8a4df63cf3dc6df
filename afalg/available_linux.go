package afalg

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var algorithms = []Algorithm{ChaCha20Poly1305, AESGCM}

// A support is a Support with the error that New returns if the algorithm is not usable.
type support struct {
	Support
	err error
}

var supports = map[Algorithm]func() support{
	ChaCha20Poly1305: sync.OnceValue(func() support { return find(ChaCha20Poly1305) }),
	AESGCM:           sync.OnceValue(func() support { return find(AESGCM) }),
}

func supportOf(a Algorithm) support { return supports[a]() }

// Available reports what the kernel offers. It does not rely on the kernel's version or configuration: once per
// process, it runs known-answer tests for each algorithm.
func Available() []Support {
	var all []Support
	for _, a := range algorithms {
		all = append(all, supportOf(a).Support)
	}
	return all
}

func find(algorithm Algorithm) support {
	s := support{Support: Support{Algorithm: algorithm}}
	s.err = test(algorithm, knownAnswers[algorithm])
	if s.err != nil {
		s.Why = strings.TrimPrefix(s.err.Error(), "afalg: ")
		return s
	}
	s.Usable = true
	if d, ok := driverBehind(string(algorithm), func() (int, error) { return bound(string(algorithm)) }); ok {
		s.Driver, s.Priority, s.Hardware = d.name, d.priority, d.hardware()
	}
	return s
}

// A knownAnswer is one test packet.
type knownAnswer struct{ key, nonce, ad, text, sealed string }

// From RFC 8439, section 2.8.2, and from test cases 4 and 16 of "The Galois/Counter Mode of Operation" (McGrew and
// Viega).
var knownAnswers = map[Algorithm][]knownAnswer{
	ChaCha20Poly1305: {{
		"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
		hex.EncodeToString([]byte("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.")),
		"d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36" +
			"92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691",
	}},
	AESGCM: {{
		"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091" +
			"5bc94fbc3221a5db94fae95ae7121a47",
	}, {
		"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" +
			"76fc6ece0f4e1768cddf8853bb2d551b",
	}},
}

// test seals and opens known packets and a forged one in the kernel.
func test(algorithm Algorithm, answers []knownAnswer) error {
	for _, answer := range answers {
		var b [5][]byte
		for i, s := range []string{answer.key, answer.nonce, answer.ad, answer.text, answer.sealed} {
			var err error
			if b[i], err = hex.DecodeString(s); err != nil {
				return err
			}
		}
		if err := testOne(algorithm, b[0], b[1], b[2], b[3], b[4]); err != nil {
			return err
		}
	}
	return nil
}

// restriction explains why a kernel since 7.3 refuses an algorithm that it has.
func restriction() string {
	if text, err := os.ReadFile("/proc/sys/crypto/af_alg_restrict"); err == nil && string(bytes.TrimSpace(text)) != "0" {
		return "; crypto.af_alg_restrict is " + string(bytes.TrimSpace(text))
	}
	return ""
}

func testOne(algorithm Algorithm, key, nonce, ad, text, sealed []byte) error {
	refused := func(err error) error {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) {
			return fmt.Errorf("%w: %s: %w%s", ErrUnsupported, algorithm, err, restriction())
		}
		return fmt.Errorf("afalg: %s: %w", algorithm, err)
	}
	transform, err := newTransform(algorithm, key)
	if err != nil {
		return refused(err)
	}
	defer unix.Close(transform)
	o, err := newOperation(transform)
	if err != nil {
		return refused(err)
	}
	defer o.close()
	got := make([]byte, len(sealed))
	if err := o.run(unix.ALG_OP_ENCRYPT, got, nonce, text, ad); err != nil {
		return refused(err)
	}
	if !bytes.Equal(got, sealed) {
		return fmt.Errorf("%w: %s seals wrongly", ErrKnownAnswer, algorithm)
	}
	opened := make([]byte, len(text))
	got[3] ^= 1
	if err := o.run(unix.ALG_OP_DECRYPT, opened, nonce, got, ad); !errors.Is(err, unix.EBADMSG) {
		return fmt.Errorf("%w: %s says of a forged packet: %v", ErrKnownAnswer, algorithm, err)
	}
	if err := o.run(unix.ALG_OP_DECRYPT, opened, nonce, sealed, ad); err != nil || !bytes.Equal(opened, text) {
		return fmt.Errorf("%w: %s opens wrongly: %v", ErrKnownAnswer, algorithm, err)
	}
	return nil
}
