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

// beginsHello reports whether a segment starts with a ClientHello or ServerHello.
func beginsHello(b []byte) bool {
	return len(b) >= 6 && b[0] == typeHandshake && b[1] == 3 && b[2] <= 4 && (b[5] == msgClientHello || b[5] == msgServerHello)
}

type clientHello struct {
	found     bool
	random    [32]byte
	name      string
	encrypted bool // it contains an encrypted ClientHello, or a GREASE one
}

type serverHello struct {
	found          bool
	version, suite uint16
}

// parse parses the hellos at the start of both directions, and determines the client side.
func (c *conn) parse() {
	if c.complete {
		return
	}
	c.complete = true
	for _, head := range c.heads {
		if !beginsHello(head) {
			continue
		}
		// Only the start of a long hello is available, and it may continue in other records, so lengths are not
		// checked.
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

// extensions calls each for complete extensions.
func extensions(s cryptobyte.String, each func(kind uint16, value cryptobyte.String)) {
	var kind uint16
	var value cryptobyte.String
	for s.Skip(2); s.ReadUint16(&kind) && s.ReadUint16LengthPrefixed(&value); {
		each(kind, value)
	}
}

// printable makes a name from a client safe to show in a terminal.
func printable(b []byte) string {
	b = bytes.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, b[:min(len(b), 100)])
	return string(b)
}
