package tls

import "encoding/binary"

var be = binary.BigEndian

// A reader reads fields from the front of b. After an overrun, b is empty and bad is true.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) u8() int {
	if p := r.take(1); p != nil {
		return int(p[0])
	}
	return 0
}

func (r *reader) u16() int {
	if p := r.take(2); p != nil {
		return int(be.Uint16(p))
	}
	return 0
}

// Extensions that matter here.
const (
	extServerName        = 0
	extEarlyData         = 42
	extSupportedVersions = 43
)

// extensions calls each for every extension. It reports whether the list is well-formed.
func (r *reader) extensions(each func(kind int, value []byte)) bool {
	if len(r.b) == 0 {
		return true
	}
	list := reader{b: r.take(r.u16())}
	for len(list.b) > 0 {
		kind := list.u16()
		value := list.take(list.u16())
		if list.bad {
			return false
		}
		each(kind, value)
	}
	return !r.bad
}

type clientHello struct {
	random    [32]byte
	earlyData bool
}

func parseClientHello(body []byte) (h clientHello, ok bool) {
	r := reader{b: body}
	r.take(2)
	copy(h.random[:], r.take(32))
	r.take(r.u8())  // session identifier
	r.take(r.u16()) // cipher suites
	r.take(r.u8())  // compression methods
	ok = !r.bad && r.extensions(func(kind int, _ []byte) {
		if kind == extEarlyData {
			h.earlyData = true
		}
	})
	return h, ok
}

// ServerName returns the server name in a ClientHello (RFC 6066, section 3), or "" if there is none.
func ServerName(body []byte) (name string) {
	r := reader{b: body}
	r.take(2 + 32)
	r.take(r.u8())
	r.take(r.u16())
	r.take(r.u8())
	r.extensions(func(kind int, value []byte) {
		list := reader{b: value}
		if kind != extServerName || name != "" {
			return
		}
		for list.take(2); len(list.b) > 0; {
			if kind, host := list.u8(), list.take(list.u16()); kind == 0 && !list.bad {
				name = string(host)
				return
			}
		}
	})
	return name
}

type serverHello struct {
	random  [32]byte
	version uint16
	suite   uint16
	retry   bool
}

// The random of a HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
var retryRandom = [32]byte{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

func parseServerHello(body []byte) (h serverHello, ok bool) {
	r := reader{b: body}
	h.version = uint16(r.u16())
	copy(h.random[:], r.take(32))
	r.take(r.u8()) // session identifier
	h.suite = uint16(r.u16())
	r.take(1) // compression method
	ok = !r.bad && r.extensions(func(kind int, value []byte) {
		if kind == extSupportedVersions && len(value) == 2 {
			h.version = be.Uint16(value)
		}
	})
	h.retry = h.random == retryRandom
	return h, ok
}

// acceptsEarlyData reads EncryptedExtensions.
func acceptsEarlyData(body []byte) (accepted, ok bool) {
	r := reader{b: body}
	ok = r.extensions(func(kind int, _ []byte) {
		if kind == extEarlyData {
			accepted = true
		}
	})
	return accepted, ok
}

// Handshake messages that matter here.
const (
	msgClientHello         = 1
	msgServerHello         = 2
	msgEndOfEarlyData      = 5
	msgEncryptedExtensions = 8
	msgCertificate         = 11
	msgFinished            = 20
	msgKeyUpdate           = 24
)

// A ClientHello with post-quantum key shares is under 2 KiB, one padded by ECH under 4.
const maxMessage = 32 << 10

// messages cuts a stream of handshake records into messages.
type messages struct {
	head  [4]byte
	have  uint8 // bytes of head
	lost  bool  // the start of the next message is unknown
	need  int   // missing bytes of the body
	body  []byte
	whole bool // the body is wanted
	more  bool // the bodies of certificates are wanted, too
	held  *int // total bytes of all connections' bodies, or nil
	most  int  // limit of held
}

func wanted(kind uint8) bool {
	return kind == msgClientHello || kind == msgServerHello || kind == msgEncryptedExtensions
}

// feed calls each for every complete message. Bodies that are not wanted are nil.
func (m *messages) feed(p []byte, each func(kind uint8, body []byte)) {
	for len(p) > 0 && !m.lost {
		if m.have < 4 {
			n := copy(m.head[m.have:], p)
			m.have += uint8(n)
			p = p[n:]
			if m.have < 4 {
				return
			}
			m.need = int(be.Uint32(m.head[:]) & 0xffffff)
			m.whole = wanted(m.head[0]) || m.more && m.head[0] == msgCertificate && m.need <= maxMessage
			if m.whole && m.need > maxMessage {
				m.lost = true
				return
			}
		}
		n := min(m.need, len(p))
		part := p[:n]
		p = p[n:]
		m.need -= n
		if m.whole && (m.need > 0 || len(m.body) > 0) {
			if m.held != nil {
				if *m.held+len(part) > m.most {
					m.reset()
					m.lost = true
					return
				}
				*m.held += len(part)
			}
			m.body = append(m.body, part...)
			part = m.body
		}
		if m.need > 0 {
			return
		}
		kind := m.head[0]
		m.have = 0
		if m.whole {
			each(kind, part)
		} else {
			each(kind, nil)
		}
		m.drop()
	}
	// A message without a body is complete with its header.
	if m.have == 4 && m.need == 0 && !m.lost {
		m.have = 0
		each(m.head[0], nil)
	}
}

// unfinished returns how many bytes of an incomplete message have arrived.
func (m *messages) unfinished() int {
	if m.have < 4 || m.lost {
		return int(m.have)
	}
	return 4 + int(be.Uint32(m.head[:])&0xffffff) - m.need
}

// reset declares that the next record starts with a message.
func (m *messages) reset() {
	m.drop()
	*m = messages{}
}

func (m *messages) drop() {
	if m.held != nil {
		*m.held -= len(m.body)
	}
	m.body = nil
}

// Salient returns the properties of a side's hello that determine keys and epochs, as bytes to compare. It returns
// false if b does not start with such a message.
func Salient(b []byte, side uint8) (what []byte, ok bool) {
	if len(b) < 4 {
		return nil, false
	}
	size := int(be.Uint32(b) & 0xffffff)
	if len(b) < 4+size || size > maxMessage {
		return nil, false
	}
	switch body := b[4 : 4+size]; {
	case b[0] == msgClientHello && side == Client:
		h, ok := parseClientHello(body)
		if h.earlyData {
			return append(h.random[:], 1), ok
		}
		return append(h.random[:], 0), ok
	case b[0] == msgServerHello && side == Server:
		h, ok := parseServerHello(body)
		return be.AppendUint16(be.AppendUint16(h.random[:], h.version), h.suite), ok
	}
	return nil, false
}

// Greets returns which side's hello starts the bytes b. It checks only the headers and the version. ok is false if b
// does not start with a hello.
func Greets(b []byte) (side uint8, ok bool) {
	if len(b) < headerBytes+4+2 || b[0] != typeHandshake || b[1] != 3 || b[2] > 4 || b[9] != 3 || b[10] > 4 {
		return 0, false
	}
	if size := int(be.Uint32(b[headerBytes:]) & 0xffffff); size < 2+32 || size+4 > int(be.Uint16(b[3:])) {
		return 0, false
	}
	return b[headerBytes] - msgClientHello, b[headerBytes] == msgClientHello || b[headerBytes] == msgServerHello
}
