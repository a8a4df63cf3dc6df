package quic

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	protect "github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A maker makes the packets of a connection, with keys from random secrets.
type maker struct {
	t       testing.TB
	version protect.Version
	suite   protect.Suite
	random  [32]byte
	secrets [2][levels][]byte
	keys    [2][levels]*protect.Keys
	initial [2]*protect.Keys
	ids     [2][]byte // that peers use for a side
	dcid    []byte    // of the first packet
	number  [2][levels + 1]uint64
	tuple   packet.Tuple
	client  uint8
}

func bytesOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func newMaker(t testing.TB, r *rand.Rand, suite protect.Suite, clientID, serverID int) *maker {
	m := &maker{t: t, version: protect.Version1, suite: suite, dcid: bytesOf(r, 8), ids: [2][]byte{bytesOf(r, clientID), bytesOf(r, serverID)}}
	copy(m.random[:], bytesOf(r, 32))
	size := 32
	if suite == protect.AES256GCM {
		size = 48
	}
	var err error
	for role := range m.secrets {
		for l := range m.secrets[role] {
			m.secrets[role][l] = bytesOf(r, size)
			if m.keys[role][l], err = protect.NewKeys(m.version, suite, m.secrets[role][l]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m.initial[0], m.initial[1], err = protect.InitialKeys(m.version, m.dcid); err != nil {
		t.Fatal(err)
	}
	m.tuple, m.client = packet.TupleOf(netip.MustParseAddrPort(fmt.Sprintf("192.0.2.1:%d", 1024+r.IntN(60000))), netip.MustParseAddrPort("192.0.2.2:443"))
	return m
}

// log is the connection's key log.
func (m *maker) log() (b []byte) {
	for role := range m.secrets {
		for l := range m.secrets[role] {
			if role == client || level(l) != early {
				b = fmt.Appendf(b, "%v %s %s\n", labels[role][l], hex.EncodeToString(m.random[:]), hex.EncodeToString(m.secrets[role][l]))
			}
		}
	}
	return b
}

func varintOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, n|3<<62)
}

// cryptoOf is a CRYPTO frame.
func cryptoOf(offset uint64, b []byte) []byte {
	f := append([]byte{frameCrypto}, varintOf(offset)...)
	return append(append(f, varintOf(uint64(len(b)))...), b...)
}

// streamOf is a STREAM frame that extends to the end of its packet.
func streamOf(n, offset uint64, b []byte, fin bool) []byte {
	kind := byte(frameStream | streamOffset)
	if fin {
		kind |= streamFIN
	}
	f := append(append([]byte{kind}, varintOf(n)...), varintOf(offset)...)
	return append(f, b...)
}

// helloOf is a ClientHello that has a random and no more than it needs.
func helloOf(random [32]byte) []byte {
	body := append([]byte{3, 3}, random[:]...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0, 0, 0)
	return append([]byte{clientHello, 0, 0, byte(len(body))}, body...)
}

// extensionsOf is an EncryptedExtensions message with ALPN, and 0-RTT accepted.
func extensionsOf(protocol string, early bool) []byte {
	list := append([]byte{0, 16, 0, byte(3 + len(protocol)), 0, byte(1 + len(protocol)), byte(len(protocol))}, protocol...)
	if early {
		list = append(list, 0, extEarlyData, 0, 0)
	}
	body := append([]byte{0, byte(len(list))}, list...)
	return append([]byte{encryptedExtensions, 0, 0, byte(len(body))}, body...)
}

// long is a packet with a long header: Initial if l is levels.
func (m *maker) long(role uint8, l level, payload []byte, dcid []byte) []byte {
	kinds := map[level]byte{levels: 0, early: 1, handshake: 2}
	keys := m.initial[role]
	if l != levels {
		keys = m.keys[role][l]
	}
	if len(payload) < 20 {
		payload = append(make([]byte, 20-len(payload)), payload...) // PADDING
	}
	b := []byte{0xc0 | kinds[l]<<4 | 3}
	b = binary.BigEndian.AppendUint32(b, uint32(m.version))
	b = append(append(b, byte(len(dcid))), dcid...)
	b = append(append(b, byte(len(m.ids[role]))), m.ids[role]...)
	if l == levels {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint16(b, 0x4000|uint16(4+len(payload)+protect.TagSize))
	return m.seal(keys, b, payload, role, l)
}

func (m *maker) seal(keys *protect.Keys, b, payload []byte, role uint8, l level) []byte {
	at := len(b)
	b = append(append(b, 0, 0, 0, 0), payload...)
	p := []protect.Packet{{Keys: keys, Bytes: append(b, make([]byte, protect.TagSize)...), PNOffset: at, Number: m.number[role][l]}}
	m.number[role][l]++
	if protect.Protect(p); p[0].Err != nil {
		m.t.Fatal(p[0].Err)
	}
	return p[0].Bytes
}

// short is a packet with a short header.
func (m *maker) short(role uint8, payload []byte) []byte {
	if len(payload) < 20 {
		payload = append(make([]byte, 20-len(payload)), payload...) // PADDING
	}
	keys := m.keys[role][application]
	first := byte(0x40 | 3)
	if keys.Phase() {
		first |= keyPhase
	}
	return m.seal(keys, append([]byte{first}, m.ids[1-role]...), payload, role, application)
}

// update has a side go on with its next keys.
func (m *maker) update(role uint8) {
	var err error
	if m.keys[role][application], err = m.keys[role][application].Update(); err != nil {
		m.t.Fatal(err)
	}
}

// A said is a datagram of one side.
type sent struct {
	role uint8
	b    []byte
}

// hello is the client's first datagram.
func (m *maker) hello() sent {
	b := m.long(client, levels, cryptoOf(0, helloOf(m.random)), m.dcid)
	m.number[client][levels]--
	return sent{client, m.long(client, levels, append(cryptoOf(0, helloOf(m.random)), make([]byte, leastDatagram+50-len(b))...), m.dcid)}
}

// handshake is how a connection begins.
func (m *maker) handshake() []sent {
	return []sent{
		m.hello(),
		{server, append(m.long(server, levels, []byte{framePing}, m.ids[client]), m.long(server, handshake, cryptoOf(0, extensionsOf("test", false)), m.ids[client])...)},
		{client, m.long(client, handshake, []byte{framePing}, m.ids[server])},
	}
}

func (m *maker) segment(s sent) *packet.Segment {
	return &packet.Segment{Tuple: m.tuple, Side: s.role ^ m.client, Payload: s.b}
}
