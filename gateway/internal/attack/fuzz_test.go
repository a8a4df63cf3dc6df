package attack

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/rules"
)

// An attack as bytes: for each forgery, the frame that it precedes, its kind, and its fault. Numbers are relative to
// those of that frame, so that one attack can be tried on any connection.
//
//	0  frame, 2 bytes    4  sequence, 4 bytes          12  flags     14  bytes of data, 2 bytes
//	2  side              8  acknowledgement, 4 bytes   13  wrong     16  the data
//	3  milliseconds that the frame comes later
const (
	forgeryBytes = 16
	maxForgeries = 64
)

var wrongBits = []func(*forgery){
	func(f *forgery) { f.badTCP = true }, func(f *forgery) { f.badIP = true }, func(f *forgery) { f.ttl = 3 },
}

// base returns the numbers to which a forgery's numbers are relative.
func (v *victim) base(frame int, side uint8) (seq, ack uint32) {
	s := &v.segs[frame]
	if s.Side == side {
		return s.Seq, s.Ack
	}
	return s.Ack, s.Seq
}

// encode encodes a script.
func (s *script) encode() (b []byte) {
	be := binary.BigEndian
	for frame := range s.v.segs {
		for i, f := range s.before[frame] {
			seq, ack := s.v.base(frame, f.side)
			wait := byte(0)
			if i == 0 {
				wait = byte(min(s.pause[frame]/1e7, 255))
			}
			wrong := byte(0)
			for bit, is := range []bool{f.badTCP, f.badIP, f.ttl != 0} {
				if is {
					wrong |= 1 << bit
				}
			}
			data := f.data[:min(len(f.data), 1400)]
			b = append(be.AppendUint16(b, uint16(frame)), f.side, wait)
			b = be.AppendUint32(be.AppendUint32(b, f.seq-seq), f.ack-ack)
			b = append(be.AppendUint16(append(b, f.flags, wrong), uint16(len(data))), data...)
		}
	}
	return b
}

// decode decodes a script. It ignores the rest of a long input.
func (v *victim) decode(b []byte) *script {
	be := binary.BigEndian
	s := v.script()
	for n := 0; n < maxForgeries && len(b) >= forgeryBytes; n++ {
		frame, f := int(be.Uint16(b))%len(v.segs), forgery{side: b[2] & 1, flags: b[12]}
		seq, ack := v.base(frame, f.side)
		f.seq, f.ack = seq+be.Uint32(b[4:]), ack+be.Uint32(b[8:])
		for bit, change := range wrongBits {
			if b[13]>>bit&1 != 0 {
				change(&f)
			}
		}
		size := min(int(be.Uint16(b[14:])), 1400, len(b)-forgeryBytes)
		s.pause[frame] = int64(b[3]) * 1e7
		f.data, b = b[forgeryBytes:][:size], b[forgeryBytes+size:]
		s.before[frame] = append(s.before[frame], f)
	}
	return s
}

// FuzzForged sends forged packets into a connection, first those of the table, through an open gateway and a closed
// one. All output must have been sent, and all data that passes must have been read.
func FuzzForged(f *testing.F) {
	var all []*victim
	for _, name := range victims {
		all = append(all, load(f, name))
	}
	for i, r := range rows {
		ways := r.ways
		if ways == nil {
			ways = []string{"all good"}
		}
		for k, s := range r.make(all[i%len(all)], wrong[ways[0]]) {
			if b := s.encode(); k < 3 && len(b) < 20000 {
				f.Add(uint8(i%len(all))|uint8(k&1)<<7, b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, program []byte) {
		v := all[int(which)%len(all)]
		frames := v.decode(program).frames()
		if which&128 != 0 {
			slices.SortStableFunc(frames, func(a, b capture.Frame) int { return int(a.Time - b.Time) })
			_, passed, w := closed(t, frames, v.keyLog, &rules.Set{})
			if _, other := payloads(passed); other > 0 {
				t.Errorf("%d bytes passed that are no TCP: %+v", other, w.Stats.Gate)
			}
			for id := range received(passed, v.keyLog).plain {
				if id != v.id {
					t.Errorf("another connection passed, %s", id)
				}
			}
			return
		}
		got, _ := run(v, frames, nil)
		for id, p := range got.plain {
			if id != v.id {
				t.Errorf("%d bytes of another connection", len(p[0])+len(p[1]))
				continue
			}
			for side := range p {
				if !ordered(p[side], v.plain[side]) {
					t.Errorf("what side %d is said to have sent was not sent", side)
				}
			}
		}
	})
}

// The fuzzer starts from the table.
func TestScriptsAsBytes(t *testing.T) {
	v := load(t, victims[0])
	for _, r := range rows {
		for _, s := range r.make(v, func(*forgery) {}) {
			back := v.decode(s.encode())
			n := 0
			for frame, all := range s.before {
				for i, f := range all {
					if n++; len(s.before) > maxForgeries || i >= maxForgeries {
						break
					}
					if len(back.before[frame]) <= i {
						break // more than are taken
					}
					if g := back.before[frame][i]; g.side != f.side || g.seq != f.seq || g.ack != f.ack || g.flags != f.flags || string(g.data) != string(f.data[:min(len(f.data), 1400)]) || g.reaches() != f.reaches() {
						t.Fatalf("%s, frame %d: %+v came back as %+v", r.name, frame, f, g)
					}
				}
			}
			if n > 0 && len(back.before) == 0 {
				t.Errorf("%s: nothing came back", r.name)
			}
		}
	}
}
