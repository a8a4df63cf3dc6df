package engine

import (
	"encoding/binary"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// Many connections wait for keys or missing segments, and keys come often. Polling them takes only a part of the
// time. Connections with keys in time are still read.
func TestPolls(t *testing.T) {
	all := originals(t)
	o := &all[0]
	const flows, ms = 20000, 500
	for name, late := range map[string]bool{"waiting for keys": true, "missing segments": false} {
		store, got := keys.NewStore(1<<16), &collector{}
		w := NewWorker(store, got, Options{Flows: 1 << 16, KeyWait: 400e6, HoleWait: 300e6, Memory: 1 << 30})
		var to packet.Template
		link := [12]byte{1}
		hello := o.segments[0]
		for i := range o.segments {
			if len(o.segments[i].Payload) > 0 {
				hello = o.segments[i]
				break
			}
		}
		var reply packet.Segment
		for i := range o.segments {
			if len(o.segments[i].Payload) > 0 && o.segments[i].Side != hello.Side {
				reply = o.segments[i]
				break
			}
		}
		at := int64(1700000000e9)
		send := func(i int, client bool, seq, ack uint32, p []byte) {
			src, dst := [16]byte{10: 255, 11: 255, 12: 10, 13: byte(i >> 8), 14: byte(i), 15: 1}, [16]byte{10: 255, 11: 255, 12: 10, 13: 200, 14: 1, 15: 2}
			from, into := uint16(1000), uint16(443)
			if !client {
				src, dst, from, into = dst, src, into, from
			}
			to.Init(&link, 0, false, &src, &dst, from, into)
			b := make([]byte, to.Size()+len(p))
			to.Build(b, seq, ack, packet.ACK, 0, p, true)
			w.Frames([]capture.Frame{{Time: at, Data: b, Link: packet.LinkEthernet}})
		}
		for i := range flows {
			h := append([]byte(nil), hello.Payload...)
			binary.BigEndian.PutUint32(h[11:], uint32(i)) // of its own random
			send(i, true, 1000, 5000, h)
			if late {
				send(i, false, 5000, 1000+uint32(len(h)), reply.Payload)
			} else {
				send(i, true, 1000+uint32(len(h))+500, 5000, []byte{23, 3, 3})
			}
		}
		// A real connection.
		for i := range o.frames[:len(o.frames)/2] {
			f := o.frames[i]
			f.Time = at
			w.Frames([]capture.Frame{f})
		}
		before := w.looked
		var random [32]byte
		for i := range ms {
			at += 1e6
			random[0], random[1] = byte(i), byte(i>>8)
			store.Add(&random, keys.ClientTraffic, random[:])
			if i == 100 {
				(&keys.Log{Store: store}).Write(o.keyLog)
			}
			w.Tick(at)
		}
		if looked := w.looked - before; looked > ms*1e6/eachLook*2+3*flows {
			t.Errorf("%s: %d looks at connections in %d ms", name, looked, ms)
		}
		for i := range o.frames[len(o.frames)/2:] {
			f := o.frames[len(o.frames)/2+i]
			f.Time = at
			w.Frames([]capture.Frame{f})
		}
		w.Close()
		n := 0
		for _, s := range got.streams {
			n += len(s.bytes(0)) + len(s.bytes(1))
		}
		if want := len(o.plain[0]) + len(o.plain[1]); n != want {
			t.Errorf("%s: %d bytes of %d", name, n, want)
		}
	}
}
