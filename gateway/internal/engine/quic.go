package engine

import (
	"net/netip"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/h3"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/quic"
)

// A quicConn is the view that outputs have of a QUIC connection. HTTP/3 is one Flow, like HTTP/2. Otherwise each stream
// is a Flow of its own, and flow represents all of them for the audit and the archive.
type quicConn struct {
	flow    output.Flow
	http    *h3.Conn
	written bool // http has written something
	streams map[uint64]*quicStream
}

type quicStream struct {
	flow  output.Flow
	ended [2]bool
}

// readQUIC makes the worker read UDP.
func (w *Worker) readQUIC(store *keys.Store) {
	d := quic.New(store, quic.Limits{Conns: w.o.Flows, Waiting: w.o.TLS.HeldFlow, Memory: w.o.Memory / 2})
	d.Wait = w.o.KeyWait
	d.Opened = func(c *quic.Conn) {
		q := w.quicConn(c)
		if a := q.flow.About; a != nil {
			a.Random, a.Suite, a.Version, a.Source = c.Random, c.Suite, tlsVersion, store.From(&c.Random)
		}
		if w.Opened != nil {
			w.Opened(&q.flow, c.Suite, tlsVersion)
		}
	}
	d.Stream = func(c *quic.Conn, stream uint64, role uint8, b []byte) {
		q := w.quicConn(c)
		if q.flow.About != nil {
			q.flow.About.Bytes[role] += uint64(len(b))
		}
		if w.isHTTP(c, q) {
			before := q.http.Held()
			q.http.Data(stream, role, b)
			c.Charge(q.http.Held() - before)
			return
		}
		w.sink.Data(&w.quicStream(c, stream).flow, role, b)
	}
	d.Lost = func(c *quic.Conn, stream uint64, role uint8, n uint64) {
		if q := w.quicConn(c); w.isHTTP(c, q) {
			before := q.http.Held()
			q.http.Lost(stream, role)
			c.Charge(q.http.Held() - before)
			return
		}
		w.sink.Gap(&w.quicStream(c, stream).flow, role, int(n))
	}
	d.End = func(c *quic.Conn, stream uint64, role uint8, reset bool) {
		q := w.quicConn(c)
		if w.isHTTP(c, q) {
			before := q.http.Held()
			q.http.End(stream, role, reset)
			c.Charge(q.http.Held() - before)
			return
		}
		s := q.streams[stream]
		if s == nil {
			return
		}
		const oneWay = 2
		if s.ended[role] = true; s.ended[1-role] || stream&oneWay != 0 {
			w.sink.End(&s.flow)
			delete(q.streams, stream)
		}
	}
	d.Ended = func(c *quic.Conn, how quic.Life) {
		q := w.quicConn(c)
		for _, s := range q.streams {
			w.sink.End(&s.flow)
		}
		if q.written {
			w.sink.End(&q.flow)
		}
		if w.EndedQUIC != nil {
			w.EndedQUIC(&q.flow, c, how)
		}
	}
	if w.o.About {
		d.Message = func(c *quic.Conn, role, kind uint8, body []byte) {
			w.quicConn(c).flow.About.Message(role, kind, tlsVersion, body)
		}
	}
	w.quic = d
}

const tlsVersion = 0x0304

func (w *Worker) quicConn(c *quic.Conn) *quicConn {
	if c.User == nil {
		q := &quicConn{flow: w.quicFlow(c, c.Client), streams: make(map[uint64]*quicStream)}
		if w.o.About {
			q.flow.About = &about.Connection{Chain: w.o.Chain, QUIC: true}
		}
		c.User = q
	}
	return c.User.(*quicConn)
}

func (w *Worker) quicFlow(c *quic.Conn, client netip.AddrPort) output.Flow {
	return output.Flow{Client: client, Server: c.Server, IPv6: c.IPv6, Link: c.Link, Time: &w.quic.Mark}
}

// quicStream returns a stream in the form of a TCP connection for outputs. Its client port is that of QUIC plus the
// stream number. The port stays above 1023, and concurrent streams have different ports.
func (w *Worker) quicStream(c *quic.Conn, stream uint64) *quicStream {
	q := w.quicConn(c)
	s := q.streams[stream]
	if s == nil {
		const least = 1024
		port := uint16((uint64(c.Client.Port())+stream-least)%(1<<16-least)) + least
		s = &quicStream{flow: w.quicFlow(c, netip.AddrPortFrom(c.Client.Addr(), port))}
		s.flow.About = q.flow.About
		q.streams[stream] = s
	}
	return s
}

// isHTTP reports whether a connection is HTTP/3, according to the server's ALPN choice, if that is known before the
// first stream.
func (w *Worker) isHTTP(c *quic.Conn, q *quicConn) bool {
	if q.http == nil && c.Protocol == "h3" && len(q.streams) == 0 {
		q.http = h3.New(&w.Stats.HTTP3, func(role uint8, b []byte) {
			q.written = true
			w.sink.Data(&q.flow, role, b)
		})
	}
	return q.http != nil
}

// datagram handles a UDP datagram.
func (w *Worker) datagram(s *packet.Segment, time int64) {
	w.quic.Datagram(s, time, w.now)
}
