package engine

import (
	"bytes"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// FuzzSegments interprets its input as instructions on the segments of a real connection, with real keys. Each
// instruction has 4 bytes: the segment, where to cut it, what to change, and where to put it. So the input gets
// through to TCP and to TLS.
func FuzzSegments(f *testing.F) {
	all := originals(f)
	f.Add(uint8(0), []byte{})
	f.Add(uint8(2), bytes.Repeat([]byte{7, 100, 3, 9}, 20))
	f.Add(uint8(6), bytes.Repeat([]byte{20, 0, 0, 255, 200, 1, 1, 1}, 20))
	f.Fuzz(func(t *testing.T, which uint8, program []byte) {
		o := &all[int(which)%len(all)]
		segments := append([]packet.Segment(nil), o.segments...)
		for len(program) >= 4 && len(program) < 4000 {
			p := program[:4]
			program = program[4:]
			if len(segments) == 0 {
				break
			}
			i := int(p[0]) % len(segments)
			s := segments[i]
			s.Payload = bytes.Clone(s.Payload)
			switch p[2] & 7 {
			case 0: // lost
				segments = append(segments[:i:i], segments[i+1:]...)
				continue
			case 1: // cut short
				s.Payload = s.Payload[:len(s.Payload)*int(p[1])/256]
			case 2: // a byte changed
				if n := len(s.Payload); n > 0 {
					s.Payload[n*int(p[1])/256] ^= p[3] | 1
				}
			case 3: // elsewhere in the stream
				s.Seq += uint32(int8(p[1])) << (p[3] & 31)
			case 4: // other flags
				s.Flags ^= p[1]
			case 5: // from the middle on
				n := len(s.Payload) * int(p[1]) / 256
				s.Payload, s.Seq = s.Payload[n:], s.Seq+uint32(n)
			case 6: // the other acknowledgement
				s.Ack += uint32(int8(p[1])) << (p[3] & 31)
			}
			// Again, at another place.
			at := (i + int(int8(p[3]))%16 + 16*len(segments)) % len(segments)
			segments = append(segments, packet.Segment{})
			copy(segments[at+1:], segments[at:])
			segments[at] = s
		}
		var frames []capture.Frame
		for i := range segments {
			frames = append(frames, frameOf(&segments[i], 1700000000e9+int64(i)*1e8))
		}
		got, _ := runFrames(frames, o.keyLog, Options{Flows: 4, Queued: 100000})
		for _, s := range got.streams {
			for side := range 2 {
				if len(got.streams) == 1 {
					if err := consistent(s.pieces[side], o.plain[side], false); err != nil {
						t.Error(err)
					}
				}
				for _, p := range s.pieces[side] {
					if !bytes.Contains(o.plain[side], p.data) {
						t.Errorf("%d bytes that were never sent", len(p.data))
					}
				}
			}
		}
	})
}
