package quic

import (
	"slices"

	"golang.org/x/crypto/cryptobyte"
)

// Handshake messages, extensions and transport parameters (RFC 8446, RFC 7301, RFC 9000).
const (
	clientHello         = 1
	serverHello         = 2
	encryptedExtensions = 8

	extProtocols  = 16
	extEarlyData  = 42
	extParameters = 0x39

	parameterResetToken = 0x02
	parameterPreferred  = 0x0d
)

// maxHello is the limit of stored messages of one side. A ClientHello with post-quantum keys has 2 KiB.
const maxHello = 64 << 10

// A greeting collects the ClientHello from Initial packets. Anyone can make those, because their keys follow from a
// connection ID. The random names the secrets in the key log. Contradicting copies each add a random, up to maxRandoms.
// The random whose secrets open a packet counts.
type greeting struct {
	bytes   []byte // the first copy of each byte
	have    []span // available parts of bytes
	randoms [][32]byte
}

const (
	maxRandoms  = 8
	maxGreeting = 16 << 10
	maxParts    = 64    // with gaps between them
	randomAt    = 4 + 2 // offset in a ClientHello
)

// add adds the bytes of a CRYPTO frame.
func (g *greeting) add(offset uint64, data []byte) {
	if offset+uint64(len(data)) > maxGreeting {
		return
	}
	begin, end := int(offset), int(offset)+len(data)
	if begin <= randomAt && end >= randomAt+32 && (begin > 0 || data[0] == clientHello) {
		g.random([32]byte(data[randomAt-begin:]))
	}
	if len(g.have) > maxParts {
		return
	}
	if end > len(g.bytes) {
		g.bytes = append(g.bytes, make([]byte, end-len(g.bytes))...)
	}
	// Only the gaps are filled.
	at := begin
	for _, s := range g.have {
		if low := int(s.low); at < low {
			copy(g.bytes[at:min(low, end)], data[at-begin:])
		}
		at = max(at, int(s.high))
		if at >= end {
			break
		}
	}
	if at < end {
		copy(g.bytes[at:end], data[at-begin:])
	}
	g.cover(span{uint64(begin), uint64(end)})
	if len(g.have) > 0 && g.have[0].low == 0 && g.have[0].high >= randomAt+32 && g.bytes[0] == clientHello {
		g.random([32]byte(g.bytes[randomAt:]))
	}
}

func (g *greeting) random(r [32]byte) {
	if len(g.randoms) < maxRandoms && !slices.Contains(g.randoms, r) {
		g.randoms = append(g.randoms, r)
	}
}

// cover records that the bytes of a span are available.
func (g *greeting) cover(n span) {
	kept := g.have[:0]
	var after []span
	for _, s := range g.have {
		switch {
		case s.high < n.low:
			kept = append(kept, s)
		case s.low > n.high:
			after = append(after, s)
		default:
			n = span{min(n.low, s.low), max(n.high, s.high)}
		}
	}
	g.have = append(append(kept, n), after...)
}

// message returns the body of the ClientHello if it is complete and has this random, or nil.
func (g *greeting) message(random *[32]byte) []byte {
	if len(g.have) == 0 || g.have[0].low != 0 || g.have[0].high < randomAt+32 {
		return nil
	}
	size := int(be.Uint32(g.bytes) & 0xffffff)
	if g.bytes[0] != clientHello || uint64(4+size) > g.have[0].high || size < 2+32 || [32]byte(g.bytes[randomAt:]) != *random {
		return nil
	}
	return g.bytes[4 : 4+size]
}

// answered calls each for the ServerHellos with a suite: two if the first requests another ClientHello.
func (g *greeting) answered(suite uint16, each func(body []byte)) {
	if len(g.have) == 0 || g.have[0].low != 0 {
		return
	}
	for b := g.bytes[:g.have[0].high]; len(b) >= 4 && b[0] == serverHello; {
		size := 4 + int(be.Uint32(b)&0xffffff)
		if len(b) < size {
			return
		}
		s, session := cryptobyte.String(b[4:size]), cryptobyte.String(nil)
		var chosen uint16
		if s.Skip(2+32) && s.ReadUint8LengthPrefixed(&session) && s.ReadUint16(&chosen) && chosen == suite {
			each(b[4:size])
		}
		b = b[size:]
	}
}

// messages splits the handshake stream of one side into messages.
type messages struct {
	in      assembler
	partial []byte
	lost    bool
}

// feed processes the bytes of an authentic CRYPTO frame, calls each for every complete message, and returns the change
// of the held bytes.
func (m *messages) feed(offset uint64, data []byte, now int64, each func(kind uint8, body []byte)) (grown int) {
	if m.lost || offset+uint64(len(data)) > m.in.next+maxHello {
		return 0
	}
	before := cap(m.partial)
	grown = m.in.insert(offset, data, now, func(b []byte) {
		m.partial = append(m.partial, b...)
		for len(m.partial) >= 4 && !m.lost {
			size := int(be.Uint32(m.partial) & 0xffffff)
			if size > maxHello {
				m.lost = true
				break
			}
			if len(m.partial) < 4+size {
				break
			}
			each(m.partial[0], m.partial[4:4+size])
			m.partial = m.partial[4+size:]
		}
		if len(m.partial) == 0 {
			m.partial = nil
		}
	})
	grown += cap(m.partial) - before
	if m.lost || len(m.in.held) > maxPieces {
		m.lost = true
		grown += m.drop()
	}
	return grown
}

// drop discards the held bytes.
func (m *messages) drop() (grown int) {
	grown = m.in.drop() - cap(m.partial)
	m.partial = nil
	return grown
}

// extensions calls each for the extensions of a list.
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

// protocol returns the first name in an ALPN extension.
func protocol(value cryptobyte.String) string {
	var list, name cryptobyte.String
	if value.ReadUint16LengthPrefixed(&list) && list.ReadUint8LengthPrefixed(&name) {
		return string(name)
	}
	return ""
}

// offered returns the first ALPN protocol in a ClientHello.
func offered(body []byte) (name string) {
	s := cryptobyte.String(body)
	var skip cryptobyte.String
	if s.Skip(2+32) && s.ReadUint8LengthPrefixed(&skip) && s.ReadUint16LengthPrefixed(&skip) && s.ReadUint8LengthPrefixed(&skip) {
		extensions(s, func(kind uint16, value cryptobyte.String) {
			if kind == extProtocols {
				name = protocol(value)
			}
		})
	}
	return name
}

// parameters reads the server's transport parameters (RFC 9000, section 18.2).
func (c *Conn) parameters(value []byte) {
	r := reader{b: value}
	for len(r.b) > 0 && !r.bad {
		kind := r.varint()
		v := r.take(r.varint())
		if r.bad {
			return
		}
		switch {
		case kind == parameterResetToken && len(v) == resetToken:
			c.ids[server].token(v)
		case kind == parameterPreferred && len(v) > 4+2+16+2:
			p := reader{b: v[4+2+16+2:]}
			if id, token := p.take(p.byte()), p.take(resetToken); token != nil && len(id) > 0 && len(id) <= maxID {
				c.newID(server, id, token)
			}
		}
	}
}
