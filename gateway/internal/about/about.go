// Package about collects information about a connection in addition to its plaintext: its purpose, its protection, and
// the source of its keys.
package about

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/cryptobyte"
)

// A Connection is the information about one connection. Texts from peers are truncated. In TLS 1.2, where handshakes
// are not encrypted, values are the last ones on the wire.
type Connection struct {
	Random  [32]byte // client random, which identifies the connection in key logs
	Suite   uint16
	Version uint16
	Source  string    // of the keys
	Bytes   [2]uint64 // plaintext bytes from client and server

	ServerName  string // SNI, from the client
	Protocol    string // ALPN, from the server
	JA3, JA4    string // fingerprints of the ClientHello
	JA3S        string // fingerprint of the ServerHello
	ServerLists string // the input of JA3S: version, suite and extensions in the ServerHello, in decimal
	Certificate [2]Certificate

	// Chain, if set, gets the certificates of a side as received.
	Chain func(fingerprint string, certificates [][]byte)

	QUIC bool // over QUIC instead of TCP

	Archived, ArchivedSides uint8 // secrets that an output.Archive has, as documented there

	unconfirmed [2][][]byte
}

// A Certificate is the first certificate of a side.
type Certificate struct {
	Subject, Issuer string
	Names           []string  // subject alternative names: hosts, addresses, mail addresses and URIs
	From, Until     time.Time // validity
	Fingerprint     string    // SHA-256, hexadecimal
}

// Limits of stored texts.
const (
	maxName    = 255
	maxSubject = 512
	maxChain   = 16
	maxNames   = 16
)

// Handshake messages and extensions (RFC 8446, RFC 6066, RFC 7301).
const (
	clientHello         = 1
	serverHello         = 2
	encryptedExtensions = 8
	certificate         = 11

	serverName = 0
	protocols  = 16
)

// Message processes the body of a handshake message from a side. It does not keep body, and ignores malformed messages.
func (c *Connection) Message(side, kind uint8, version uint16, body []byte) {
	s := cryptobyte.String(body)
	var skip, suites cryptobyte.String
	var h hello
	switch kind {
	case clientHello:
		c.ServerName, c.Protocol, c.JA3, c.JA4, c.JA3S, c.ServerLists = "", "", "", "", "", "" // this hello may be another one, which replaces the first
		if s.ReadUint16(&h.version) && s.Skip(32) && s.ReadUint8LengthPrefixed(&skip) && s.ReadUint16LengthPrefixed(&suites) && s.ReadUint8LengthPrefixed(&skip) {
			h.suites = numbers(suites)
			extensions(s, func(kind uint16, value cryptobyte.String) {
				var list, name cryptobyte.String
				var of uint8
				h.extension(kind, value)
				if kind == serverName && value.ReadUint16LengthPrefixed(&list) && list.ReadUint8(&of) && of == 0 && list.ReadUint16LengthPrefixed(&name) {
					c.ServerName = cut(name, maxName)
				}
			})
			c.JA3, c.JA4 = h.ja3(), h.ja4(c.QUIC)
		}
	case serverHello:
		if s.ReadUint16(&h.version) && s.Skip(32) && s.ReadUint8LengthPrefixed(&skip) && s.ReadBytes((*[]byte)(&suites), 2) && s.Skip(1) {
			h.suites = numbers(suites)
			extensions(s, func(kind uint16, _ cryptobyte.String) { h.extensions = append(h.extensions, kind) })
			text := h.ja3s()
			c.JA3S, c.ServerLists = md5Of(text), cut([]byte(text), maxSubject)
			c.chosen(s)
		}
	case encryptedExtensions:
		c.chosen(s)
	case certificate:
		c.certificates(side, version, s)
	}
}

// cut returns the start of a peer's text, with invisible characters replaced, because it may be shown in a terminal.
func cut(b []byte, most int) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, string(b[:min(len(b), most)]))
}

func extensions(s cryptobyte.String, each func(kind uint16, value cryptobyte.String)) {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) {
		return
	}
	for !list.Empty() {
		var kind uint16
		var value cryptobyte.String
		if !list.ReadUint16(&kind) || !list.ReadUint16LengthPrefixed(&value) {
			return
		}
		each(kind, value)
	}
}

func (c *Connection) chosen(s cryptobyte.String) {
	extensions(s, func(kind uint16, value cryptobyte.String) {
		var list, name cryptobyte.String
		if kind == protocols && value.ReadUint16LengthPrefixed(&list) && list.ReadUint8LengthPrefixed(&name) {
			c.Protocol = cut(name, maxName)
		}
	})
}

func (c *Connection) certificates(side uint8, version uint16, s cryptobyte.String) {
	var context, list cryptobyte.String
	tls13 := version == 0x0304
	if tls13 && !s.ReadUint8LengthPrefixed(&context) || !s.ReadUint24LengthPrefixed(&list) {
		return
	}
	var chain [][]byte
	for !list.Empty() && len(chain) < maxChain {
		var one, more cryptobyte.String
		if !list.ReadUint24LengthPrefixed(&one) || tls13 && !list.ReadUint16LengthPrefixed(&more) {
			return
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return
	}
	sum := sha256.Sum256(chain[0])
	first := Certificate{Fingerprint: hex.EncodeToString(sum[:])}
	if parsed, err := x509.ParseCertificate(chain[0]); err == nil {
		first.describe(parsed)
	}
	c.Certificate[side&1] = first
	if c.Chain == nil {
		return
	}
	if tls13 { // the certificate was encrypted
		c.Chain(first.Fingerprint, chain)
		return
	}
	for i := range chain {
		chain[i] = bytes.Clone(chain[i])
	}
	c.unconfirmed[side&1] = chain
}

func (c *Certificate) describe(parsed *x509.Certificate) {
	c.Subject, c.Issuer = cut([]byte(parsed.Subject.String()), maxSubject), cut([]byte(parsed.Issuer.String()), maxSubject)
	c.From, c.Until = parsed.NotBefore, parsed.NotAfter
	add := func(name string) {
		if len(c.Names) < maxNames {
			c.Names = append(c.Names, cut([]byte(name), maxName))
		}
	}
	for _, list := range [][]string{parsed.DNSNames, parsed.EmailAddresses} {
		for _, name := range list {
			add(name)
		}
	}
	for _, a := range parsed.IPAddresses {
		add(a.String())
	}
	for _, u := range parsed.URIs {
		add(u.String())
	}
}

// Confirm records that a record was opened, so earlier data was not only noise.
func (c *Connection) Confirm() {
	for side, chain := range c.unconfirmed {
		if chain != nil {
			c.Chain(c.Certificate[side].Fingerprint, chain)
		}
	}
	c.unconfirmed = [2][][]byte{}
}

// CommunityID returns the Community ID, version 1, which other tools also use to identify a connection
// (https://github.com/corelight/community-id-spec). protocol is 6 for TCP, 17 for UDP.
func CommunityID(seed uint16, protocol uint8, a, b netip.AddrPort) string {
	x, y := a.Addr().Unmap(), b.Addr().Unmap()
	if c := x.Compare(y); c > 0 || c == 0 && a.Port() > b.Port() {
		a, b, x, y = b, a, y, x
	}
	t := binary.BigEndian.AppendUint16(make([]byte, 0, 40), seed)
	t = append(append(t, x.AsSlice()...), y.AsSlice()...)
	t = append(t, protocol, 0)
	t = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(t, a.Port()), b.Port())
	sum := sha1.Sum(t)
	return "1:" + base64.StdEncoding.EncodeToString(sum[:])
}
