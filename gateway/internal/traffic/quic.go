package traffic

import (
	"net/netip"

	"github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// A QUIC is a version 1 connection: the hellos of both sides, and packets with one stream from the server.
type QUIC struct {
	Time int64 // of the next packet; increases by a microsecond

	ends           [2]netip.AddrPort
	id             [8]byte // of the client
	keys           *quic.Keys
	number, offset uint64
	out            *[]capture.Frame
}

// QUICOverhead is the size of a datagram without its stream data.
const QUICOverhead = 1 + 8 + 4 + 10 + quic.TagSize

// NewQUIC returns connection number i for some addresses, with the secrets of a session. Its packets are appended to
// out, starting with both hellos. tshark decrypts nothing before it knows the suite from the server's hello.
func NewQUIC(i int, s *Session, out *[]capture.Frame) (*QUIC, error) {
	q := &QUIC{Time: 1700000000e9, ends: NewConn(i, nil).Ends(), out: out}
	be.PutUint64(q.id[:], uint64(i)+1<<32)
	client, server, err := quic.InitialKeys(quic.Version1, q.id[:])
	if err != nil {
		return nil, err
	}
	if q.keys, err = quic.NewKeys(quic.Version1, quic.Suite(s.suite), s.traffic[Server].secret); err != nil {
		return nil, err
	}
	const recordHeader = 5
	if err := q.hello(Client, client, s.ClientHello()[recordHeader:]); err != nil {
		return nil, err
	}
	return q, q.hello(Server, server, s.ServerHello()[recordHeader:])
}

// hello appends a 1200-byte datagram with an Initial packet. Both sides have the same connection ID.
func (q *QUIC) hello(side int, keys *quic.Keys, message []byte) error {
	b := []byte{0xc3, 0, 0, 0, 1, 8}
	b = append(append(b, q.id[:]...), 8)
	b = append(append(b, q.id[:]...), 0)
	const datagram = 1200
	b = be.AppendUint16(b, 0x4000|uint16(datagram-len(b)-2))
	at := len(b)
	b = append(b, 0, 0, 0, 0, 6, 0)
	b = append(be.AppendUint16(b, 0x4000|uint16(len(message))), message...)
	b = append(b, make([]byte, datagram-len(b))...)
	return q.seal(side, quic.Packet{Keys: keys, Bytes: b, PNOffset: at})
}

// Send sends bytes in one packet.
func (q *QUIC) Send(p []byte) error {
	b := append([]byte{0x43}, q.id[:]...)
	b = append(b, 0, 0, 0, 0, 0x0c, 3) // STREAM, with an offset, to the end of the packet
	b = append(be.AppendUint64(b, 3<<62|q.offset), p...)
	b = append(b, make([]byte, quic.TagSize)...)
	q.offset += uint64(len(p))
	q.number++
	return q.seal(Server, quic.Packet{Keys: q.keys, Bytes: b, PNOffset: 1 + len(q.id), Number: q.number})
}

func (q *QUIC) seal(side int, p quic.Packet) error {
	one := []quic.Packet{p}
	if quic.Protect(one); one[0].Err != nil {
		return one[0].Err
	}
	from, to := q.ends[side], q.ends[1-side]
	udp := 8 + len(p.Bytes)
	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0}
	b = append(be.AppendUint16(b, uint16(20+udp)), 0, 0, 0x40, 0, 64, 17, 0, 0)
	b = append(append(b, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	sum := uint32(0)
	for i := 14; i < len(b); i += 2 {
		sum += uint32(be.Uint16(b[i:]))
	}
	sum = sum&0xffff + sum>>16
	be.PutUint16(b[24:], ^uint16(sum+sum>>16))
	b = be.AppendUint16(be.AppendUint16(b, from.Port()), to.Port())
	b = append(be.AppendUint16(b, uint16(udp)), 0, 0)
	*q.out = append(*q.out, capture.Frame{Time: q.Time, Data: append(b, p.Bytes...), Link: packet.LinkEthernet})
	q.Time += 1000
	return nil
}
