package attack

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// pointed marks one byte of a frame's segment, or one after it, as urgent.
func pointed(f capture.Frame, at int) capture.Frame {
	f.Data = bytes.Clone(f.Data)
	tcp := f.Data[14+20:]
	flags := binary.BigEndian.Uint16(tcp[12:])
	for _, x := range []struct {
		field int
		value uint16
	}{{12, flags | packet.URG}, {18, uint16(at + 1)}} {
		// RFC 1624.
		sum := uint32(^binary.BigEndian.Uint16(tcp[16:])) + uint32(^binary.BigEndian.Uint16(tcp[x.field:])) + uint32(x.value)
		binary.BigEndian.PutUint16(tcp[x.field:], x.value)
		binary.BigEndian.PutUint16(tcp[16:], ^uint16(sum>>16+sum&0xffff))
	}
	return f
}

// urgent inserts an urgent byte into a segment. It is not part of the stream.
func (v *victim) urgent(t *testing.T, i, at int) (all []capture.Frame) {
	side := v.segs[i].Side
	for k := range v.segs {
		s := &v.segs[k]
		f := like(s)
		switch {
		case k < i:
			all = append(all, v.frames[k])
			continue
		case k == i:
			f.data = append(append(bytes.Clone(f.data[:at]), '!'), f.data[at:]...)
		case s.Side == side && packetAfter(s.Seq, v.segs[i].Seq):
			f.seq++
		case s.Side != side && packetAfter(s.Ack, v.segs[i].Seq):
			f.ack++
		}
		x := v.forge(v.frames[k].Time, f)
		if k == i {
			x = pointed(x, at)
			var s packet.Segment
			place, is := uint32(0), false
			if packet.Parse(&s, x.Link, x.Data) == packet.TCP {
				place, is = s.Urgent()
			}
			if !is || place != f.seq+uint32(at) || s.Sum() != packet.SumGood {
				t.Fatalf("the urgent byte is at %d, %v, and the checksum %v", place-f.seq, is, s.Sum())
			}
		}
		all = append(all, x)
	}
	return all
}

func packetAfter(a, b uint32) bool { return int32(a-b) > 0 }

// An urgent byte belongs to the stream only if the receiver asks for that. A record shows which.
func TestUrgent(t *testing.T) {
	for _, name := range victims {
		v := load(t, name)
		for _, i := range v.places()[2:] {
			n := len(v.segs[i].Payload)
			for _, at := range []int{0, 1, 3, 5, n / 2, n - 1, n} {
				if at > n {
					continue
				}
				got, w := run(v, v.urgent(t, i, at), nil)
				if m := v.authentic(t, "an urgent byte", got); m != v.bytes {
					t.Errorf("%s, segment %d, %d of %d: %d bytes of %d: lost %d", name, i, at, n, m, v.bytes, w.Stats.TLS.LostBytes)
				}
				// The sender, or a stranger before or after it, marks a byte of the stream as urgent.
				for _, forged := range []int{0, 1, 2} {
					frames := bytesOf(v.frames)
					x := pointed(v.frames[i], at)
					switch forged {
					case 0:
						frames[i] = x
					case 1:
						frames = append(frames[:i:i], append([]capture.Frame{x}, frames[i:]...)...)
					case 2:
						frames = append(frames[:i+1:i+1], append([]capture.Frame{x}, frames[i+1:]...)...)
					}
					got, w := run(v, frames, nil)
					if m := v.authentic(t, "a byte called urgent", got); m != v.bytes {
						t.Errorf("%s, segment %d, %d of %d, %d: %d bytes of %d: lost %d", name, i, at, n, forged, m, v.bytes, w.Stats.TLS.LostBytes)
					}
				}
			}
		}
	}
}

func bytesOf(frames []capture.Frame) []capture.Frame { return append([]capture.Frame(nil), frames...) }

// One record has two urgent bytes.
func TestUrgentTwice(t *testing.T) {
	v := load(t, "s-aes128")
	i := v.places()[3]
	x := *v
	x.frames = v.urgent(t, i, 3)
	x.segs = nil
	for _, f := range x.frames {
		var s packet.Segment
		packet.Parse(&s, f.Link, f.Data)
		x.segs = append(x.segs, s)
	}
	for k := i + 1; k < len(x.segs); k++ {
		if s := &x.segs[k]; s.Side == x.segs[i].Side && len(s.Payload) > 10 {
			frames := x.urgent(t, k, 7)
			frames[i] = x.frames[i]
			got, w := run(v, frames, nil)
			if m := v.authentic(t, "two urgent bytes", got); m != v.bytes {
				t.Errorf("segments %d and %d: %d bytes of %d: lost %d", i, k, m, v.bytes, w.Stats.TLS.LostBytes)
			}
			break
		}
	}
}
