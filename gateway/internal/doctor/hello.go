package doctor

import (
	"bytes"

	"golang.org/x/crypto/cryptobyte"
)

// Handshake messages and extensions (RFC 8446, RFC 6066; draft-ietf-tls-esni).
const (
	typeHandshake        = 22
	msgClientHello       = 1
	msgServerHello       = 2
	extServerName        = 0
	extSupportedVersions = 43
	extEncryptedHello    = 0xfe0d
)

// beginsHello tells whether a segment begins with a ClientHello or ServerHello.
func beginsHello(b []byte) bool {
	return len(b) >= 6 && b[0] == typeHandshake && b[1] == 3 && b[2] <= 4 && (b[5] == msgClientHello || b[5] == msgServerHello)
}

type clientHello struct {
	found     bool
	random    [32]byte
	name      string
	encrypted bool // it has an encrypted ClientHello, or pretends to (GREASE)
}

type serverHello struct {
	found          bool
	version, suite uint16
}

// parse finds the hellos in the beginning of both directions, and tells which side is the client.
func (c *conn) parse() {
	if c.complete {
		return
	}
	c.complete = true
	for _, head := range c.heads {
		if !beginsHello(head) {
			continue
		}
		// Only the beginning of a long hello is here, and it may continue in other records: lengths are not checked.
		s := cryptobyte.String(head[9:])
		var version uint16
		var random []byte
		var skip, suites cryptobyte.String
		if !s.ReadUint16(&version) || !s.ReadBytes(&random, 32) || !s.ReadUint8LengthPrefixed(&skip) {
			continue
		}
		if head[5] == msgClientHello {
			c.client.found, c.client.random = true, [32]byte(random)
			if s.ReadUint16LengthPrefixed(&suites) && s.ReadUint8LengthPrefixed(&skip) {
				extensions(s, func(kind uint16, value cryptobyte.String) {
					var list, name cryptobyte.String
					switch {
					case kind == extEncryptedHello:
						c.client.encrypted = true
					case kind == extServerName && value.ReadUint16LengthPrefixed(&list) && list.Skip(1) && list.ReadUint16LengthPrefixed(&name):
						c.client.name = printable(name)
					}
				})
			}
			continue
		}
		c.server.version = version
		if c.server.found = s.ReadUint16(&c.server.suite) && s.Skip(1); c.server.found {
			extensions(s, func(kind uint16, value cryptobyte.String) {
				if kind == extSupportedVersions {
					value.ReadUint16(&c.server.version)
				}
			})
		}
	}
}

// extensions calls each for those that are there whole.
func extensions(s cryptobyte.String, each func(kind uint16, value cryptobyte.String)) {
	var kind uint16
	var value cryptobyte.String
	for s.Skip(2); s.ReadUint16(&kind) && s.ReadUint16LengthPrefixed(&value); {
		each(kind, value)
	}
}

// printable is a name that a client sent, as a terminal may show it.
func printable(b []byte) string {
	b = bytes.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, b[:min(len(b), 100)])
	return string(b)
}
