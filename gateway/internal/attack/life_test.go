package attack

import (
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// A stray is a packet that the receiver of its connection ignores.
var strays = []struct {
	name string
	make func(v *victim, i int) []forgery
}{
	{"a RST of any number, with a bad checksum", func(v *victim, i int) []forgery {
		return v.resets(i, 0x5a5a5a5a, forgery{badTCP: true})
	}},
	{"a RST of any number, and a low TTL", func(v *victim, i int) []forgery { return v.resets(i, 0x5a5a5a5a, forgery{ttl: 1}) }},
	{"a RST of any number", func(v *victim, i int) []forgery { return v.resets(i, 0x5a5a5a5a, forgery{}) }},
	{"a RST in the window (RFC 5961, section 3.2)", func(v *victim, i int) []forgery { return v.resets(i, 1000, forgery{}) }},
	{"a RST of the right number, with a bad checksum", func(v *victim, i int) []forgery { return v.resets(i, 0, forgery{badTCP: true}) }},
	{"a RST of the right number, with a bad checksum of IP", func(v *victim, i int) []forgery { return v.resets(i, 0, forgery{badIP: true}) }},
	{"a RST of the right number, and a low TTL", func(v *victim, i int) []forgery { return v.resets(i, 0, forgery{ttl: 1}) }},
	{"a FIN in the window", func(v *victim, i int) []forgery { return v.ends(i, 1000, forgery{}) }},
	{"both FINs, with a bad checksum", func(v *victim, i int) []forgery { return v.ends(i, 0, forgery{badTCP: true}) }},
	{"both FINs, and a low TTL", func(v *victim, i int) []forgery { return v.ends(i, 0, forgery{ttl: 1}) }},
	{"both FINs, without the timestamps of all others (RFC 7323, section 3.2)", func(v *victim, i int) []forgery {
		return v.ends(i, 0, forgery{})
	}},
	{"nothing", func(v *victim, i int) []forgery { return nil }},
}

// resets makes RSTs of both sides, each ahead of a segment's expected number by the given distance.
func (v *victim) resets(i int, ahead uint32, like forgery) []forgery {
	s := &v.segs[i]
	a, b := like, like
	a.side, a.seq, a.flags = s.Side, s.Seq+ahead, packet.RST
	b.side, b.seq, b.flags = 1-s.Side, s.Ack+ahead, packet.RST
	return []forgery{a, b}
}

// ends makes FINs of both sides.
func (v *victim) ends(i int, ahead uint32, like forgery) []forgery {
	s := &v.segs[i]
	a, b := like, like
	a.side, a.seq, a.ack, a.flags = s.Side, s.Seq+ahead, s.Ack+1, packet.FIN|packet.ACK
	b.side, b.seq, b.ack, b.flags = 1-s.Side, s.Ack+ahead, s.Seq+1, packet.FIN|packet.ACK
	return []forgery{a, b}
}

// A stray packet and then silence do not end a connection: later bytes are read.
func TestStray(t *testing.T) {
	for _, name := range victims {
		v := load(t, name)
		for _, stray := range strays {
			for _, i := range v.places() {
				for _, pause := range []int64{20e9, 600e9} {
					s := v.script()
					s.before[i], s.pause[i] = stray.make(v, i), pause
					got, w := run(v, s.frames(), nil)
					if n := v.authentic(t, stray.name, got); n != v.bytes {
						t.Errorf("%s: %s before segment %d, and %d s: %d bytes of %d: %+v",
							name, stray.name, i, pause/1e9, n, v.bytes, w.Stats)
					}
				}
			}
		}
	}
}

// A RST that is indistinguishable from the sender's soon ends a connection, unless a record opens after it.
func TestResetDisproved(t *testing.T) {
	ended, all := 0, 0
	for _, name := range victims {
		v := load(t, name)
		for _, i := range v.places()[1:] {
			s := v.script()
			s.before[i] = v.resets(i, 0, forgery{})
			// A record of each side opens.
			j, seen := i, [2]bool{}
			for ; j < len(v.segs) && seen != [2]bool{true, true}; j++ {
				seen[v.segs[j].Side] = seen[v.segs[j].Side] || len(v.segs[j].Payload) > 1000
				if j > i+30 {
					break
				}
			}
			if j == len(v.segs) {
				continue
			}
			s.pause[j] = 600e9
			got, w := run(v, s.frames(), nil)
			if n := v.authentic(t, "a RST", got); n != v.bytes {
				t.Errorf("%s: a RST before segment %d, silence before %d: %d bytes of %d: %+v", name, i, j, n, v.bytes, w.Stats)
			}
			// Without a record in between, the connection ends.
			s.pause = map[int]int64{i: 600e9}
			if got, _ := run(v, s.frames(), nil); v.authentic(t, "a RST", got) < v.bytes {
				ended++
			}
			all++
		}
	}
	if ended < all/2 { // in the others it is within a record
		t.Errorf("%d of %d RSTs ended their connections", ended, all)
	}
}

// A finished connection ends, even if its keys arrive afterwards, or if a FIN precedes the last bytes of its side.
func TestEndsLate(t *testing.T) {
	all := map[string]*victim{"more than is held before keys": download(t, 300<<10, 1400)}
	for _, name := range victims {
		all[name] = load(t, name)
	}
	for name, v := range all {
		for _, late := range []bool{false, true} {
			store, s := keys.NewStore(100), &sink{}
			log := keys.Log{Store: store}
			w := engine.NewWorker(store, s, engine.Options{Flows: 64, KeyWait: 5e9, HoleWait: 200e6})
			frames := slices.Clone(v.frames)
			if !late {
				log.Write(v.keyLog)
				last := v.server[len(v.server)-1]
				end := slices.IndexFunc(v.segs, func(s packet.Segment) bool {
					return s.Side != v.client && s.Flags&(packet.FIN|packet.RST) == packet.FIN
				})
				if end <= last {
					continue // one segment or none
				}
				frames = slices.Insert(frames, end+1, frames[last])
				frames = slices.Delete(frames, last, last+1)
			}
			w.Frames(frames)
			if late {
				log.Write(v.keyLog)
			}
			for at := frames[len(frames)-1].Time; at < v.frames[len(v.frames)-1].Time+20e9; at += 2e6 {
				w.Tick(at)
			}
			if n := v.authentic(t, "late", s); n != v.bytes {
				t.Errorf("%s, late keys %v: %d bytes of %d", name, late, n, v.bytes)
			}
			if st := w.Snapshot(); st.Ends[0] != 1 || st.Active != 0 {
				t.Errorf("%s, late keys %v: it has not ended: %+v", name, late, st)
			}
		}
	}
}

// One side has closed and the other one continues, after seconds or after hours.
func TestHalfClosed(t *testing.T) {
	v := download(t, 100<<10, 1400)
	at := v.server[20]
	s := &v.segs[at]
	for _, pause := range []int64{0, 20e9, 3600e9} {
		x := v.script()
		x.before[at] = []forgery{{side: v.client, seq: s.Ack, ack: s.Seq, flags: packet.FIN | packet.ACK}}
		x.pause[at] = pause
		frames := x.frames()
		// The client sends nothing more.
		frames = slices.DeleteFunc(frames, func(f capture.Frame) bool {
			var p packet.Segment
			packet.Parse(&p, f.Link, f.Data)
			return p.Side == v.client && (len(p.Payload) > 0 && p.Seq == s.Ack || p.Flags&packet.FIN != 0 && p.Seq != s.Ack)
		})
		got, w := run(v, frames, nil)
		v.authentic(t, "half closed", got)
		if p := got.plain[v.id]; p == nil || len(p[1]) != len(v.plain[1]) {
			t.Errorf("an answer after %d s: %d bytes of %d: %+v", pause/1e9, len(p[1]), len(v.plain[1]), w.Stats)
		}
	}
}
