// Package doctor explains why TLS connections in a capture are not decrypted.
package doctor

import (
	"encoding/binary"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Limits of stored data. Later connections, and later bytes of a hello, are ignored.
const (
	maxConnections = 1 << 15
	maxHello       = 4 << 10 // a ClientHello with an ML-KEM key share has 2 KiB
)

// A Doctor watches frames while an engine.Worker tries to decrypt them. It is not safe for concurrent use.
type Doctor struct {
	Dropped uint64 // packets that the kernel dropped

	store  *keys.Store
	worker *engine.Worker
	parser packet.Parser
	last   int64 // time of the last frame

	frames, tcp, malformed, badSums, long, cut uint64
	others                                     map[string]uint64 // frames without TCP, by kind
	conns                                      map[packet.Tuple]*conn
	order                                      []*conn               // in order of their start
	ignored                                    uint64                // packets of connections beyond maxConnections
	opened, read                               map[packet.Tuple]bool // connections with an opened record, and with data in one
	notes                                      []Finding
}

// A conn is the state of a connection. Sides are those of packet.Tuple.
type conn struct {
	tuple    packet.Tuple
	syn      bool
	packets  [2]uint64
	bytes    uint64
	cut      bool
	records  bool      // something looks like an application data record
	heads    [2][]byte // start of each side from a hello on
	next     [2]uint32 // sequence number after heads
	complete bool      // classify has parsed heads
	client   clientHello
	server   serverHello
}

// New returns a Doctor that decrypts with the secrets in store. The secrets must be there before the frames that need
// them.
func New(store *keys.Store, oneNetwork bool) *Doctor {
	d := &Doctor{store: store, others: make(map[string]uint64), conns: make(map[packet.Tuple]*conn),
		opened: make(map[packet.Tuple]bool), read: make(map[packet.Tuple]bool)}
	d.parser.OneNetwork = oneNetwork
	d.worker = engine.NewWorker(store, reader(d.read), engine.Options{OneNetwork: oneNetwork})
	d.worker.Opened = func(f *output.Flow, _, _ uint16) { reader(d.opened).Data(f, 0, nil) }
	return d
}

// A reader is a sink that records which connections have plaintext.
type reader map[packet.Tuple]bool

func (r reader) Data(f *output.Flow, _ uint8, _ []byte) {
	if t, _ := packet.TupleOf(f.Client, f.Server); len(r) < maxConnections {
		r[t] = true
	}
}
func (r reader) Gap(*output.Flow, uint8, int) {}
func (r reader) End(*output.Flow)             {}
func (r reader) Flush()                       {}

// Frames processes frames in order. It does not keep them.
func (d *Doctor) Frames(frames []capture.Frame) {
	for i := range frames {
		d.frame(&frames[i])
	}
	d.parser.Release()
	d.worker.Frames(frames)
}

// longestFrame is the largest Ethernet frame with a VLAN tag on the wire.
const longestFrame = 1518 + 4

func (d *Doctor) frame(f *capture.Frame) {
	d.frames++
	d.last = max(d.last, f.Time)
	if len(f.Data) > longestFrame {
		d.long++
	}
	var s packet.Segment
	switch d.parser.Parse(&s, f.Link, f.Data, d.last) {
	case packet.TCP:
		d.tcp++
		d.segment(&s)
	case packet.Other, packet.UDP:
		d.others[nameOf(f.Link, f.Data)]++
	case packet.Malformed:
		d.malformed++
	}
}

func (d *Doctor) segment(s *packet.Segment) {
	c := d.conns[s.Tuple]
	if c == nil {
		if len(d.order) == maxConnections {
			d.ignored++
			return
		}
		c = &conn{tuple: s.Tuple}
		d.conns[s.Tuple] = c
		d.order = append(d.order, c)
	}
	if s.Missing > 0 {
		d.cut++
		c.cut = true
	} else if s.Sum() == packet.SumBad {
		d.badSums++
	}
	c.syn = c.syn || s.Flags&packet.SYN != 0
	p := s.Payload
	c.packets[s.Side]++
	c.bytes += uint64(len(p) + s.Missing)
	if len(p) == 0 {
		return
	}
	head := &c.heads[s.Side]
	switch {
	case len(*head) == 0:
		if p = p[tls.ProxyHeader(p):]; beginsHello(p) {
			*head = append(*head, p[:min(len(p), maxHello)]...)
			c.next[s.Side] = s.Seq + uint32(len(s.Payload))
		}
	case s.Seq == c.next[s.Side] && len(*head) < maxHello:
		*head = append(*head, p[:min(len(p), maxHello-len(*head))]...)
		c.next[s.Side] += uint32(len(p))
	}
	const applicationData = 23
	if len(p) >= 5 && p[0] == applicationData && p[1] == 3 && p[2] <= 4 && binary.BigEndian.Uint16(p[3:]) <= 1<<14+2048 {
		c.records = true
	}
}

// anywhere returns a tuple without its network, VLAN or tunnel.
func anywhere(t packet.Tuple) packet.Tuple {
	t.Zone = 0
	return t
}
