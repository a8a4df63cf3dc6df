package engine

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
)

// The property: whatever happens to the segments of a connection, the delivered data equals the sent data from the
// beginning. Bytes may be missing only where a gap is reported.

var long = flag.Duration("long", 0, "how long each test of random cases runs")

// more reports whether run i takes place: a short test has a fixed number, and -long sets a time.
func more(i, runs int, begin time.Time) bool { return i < runs || time.Since(begin) < *long }

// original is one connection: the data of each side, in TCP segments.
type original struct {
	name     string
	keyLog   []byte
	frames   []capture.Frame
	segments []packet.Segment
	plain    [2][]byte // by side of TLS
}

func originals(t testing.TB) []original {
	var all []original
	for _, name := range []string{
		"s-aes128.pcap", "s-aes256.pcap", "s-chacha.pcap", "s-12chacha.pcap", "s-12gcm.pcap", "s-hrr.pcap", "s-keyupdate.pcap", "s-padding.pcap",
	} {
		file, err := os.ReadFile(filepath.Join(testdata, name))
		if err != nil {
			t.Fatal(err)
		}
		o := original{name: name, keyLog: keysOf(t, name)}
		got, _ := decrypt(t, bytes.NewReader(file), o.keyLog, 1)
		o.plain = [2][]byte{got.streams[0].bytes(0), got.streams[0].bytes(1)}
		r, _ := capture.NewReader(bytes.NewReader(file))
		var b capture.Block
		if err := r.ReadBlock(&b); err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Frames {
			var s packet.Segment
			if packet.Parse(&s, f.Link, f.Data) == packet.TCP {
				o.segments = append(o.segments, s)
				o.frames = append(o.frames, f)
			}
		}
		all = append(all, o)
	}
	return all
}

// frameOf makes a frame of a segment.
func frameOf(s *packet.Segment, at int64) capture.Frame {
	var t packet.Template
	link := [12]byte{1, 2, 3}
	t.Init(&link, 0, s.IPv6, &s.Tuple.Addr[s.Side], &s.Tuple.Addr[1-s.Side], s.Tuple.Port[s.Side], s.Tuple.Port[1-s.Side])
	b := make([]byte, t.Size()+len(s.Payload))
	t.Build(b, s.Seq, s.Ack, s.Flags, 0, s.Payload, false)
	return capture.Frame{Time: at, Data: b, Link: packet.LinkEthernet}
}

// faults describes what happens to the segments; each is a probability in percent.
type faults struct {
	split, merge, repeat, reorder, overlap, drop, forge, flip int
	truncate                                                  bool
}

func (f *faults) harmless() bool { return f.drop == 0 && f.forge == 0 && f.flip == 0 && !f.truncate }

func percent(r *rand.Rand, p int) bool { return r.IntN(100) < p }

// mangle makes frames of the segments of a connection, with faults.
func mangle(r *rand.Rand, o *original, f faults) (frames []capture.Frame) {
	var out []packet.Segment
	for _, s := range o.segments {
		s.Payload = bytes.Clone(s.Payload)
		// Segments are merged, as by offloading.
		if n := len(out) - 1; n >= 0 && percent(r, f.merge) && len(s.Payload) > 0 && out[n].Side == s.Side && len(out[n].Payload) > 0 &&
			out[n].Seq+uint32(len(out[n].Payload)) == s.Seq && out[n].Flags&(packet.FIN|packet.SYN) == 0 && len(out[n].Payload) < 40000 {
			out[n].Payload = append(out[n].Payload, s.Payload...)
			out[n].Flags = s.Flags
			continue
		}
		for len(s.Payload) > 1 && percent(r, f.split) {
			n := 1 + r.IntN(len(s.Payload)-1)
			first := s
			first.Payload, first.Flags = s.Payload[:n], packet.ACK
			out = append(out, first)
			s.Payload = s.Payload[n:]
			s.Seq += uint32(n)
		}
		out = append(out, s)
	}
	// Each segment gets a place near its own.
	type placed struct {
		at float64
		s  packet.Segment
	}
	var all []placed
	var sent [2][]byte
	var isn [2]uint32
	var begun [2]bool
	for i, s := range out {
		at := float64(i)
		control := s.Flags&(packet.SYN|packet.FIN|packet.RST) != 0
		if s.Flags&packet.SYN != 0 {
			isn[s.Side], begun[s.Side] = s.Seq+1, true
		}
		if len(s.Payload) > 0 && begun[s.Side] {
			if off := int(s.Seq - isn[s.Side]); off >= 0 && off <= len(sent[s.Side]) {
				sent[s.Side] = append(sent[s.Side][:off], s.Payload...)
			}
		}
		if !control && percent(r, f.reorder) {
			at += r.Float64()*24 - 12
		}
		if !control && len(s.Payload) > 0 {
			if percent(r, f.forge) {
				// The same place with other bytes, before the real segment.
				x := s
				x.Payload = bytes.Clone(s.Payload)
				for range 1 + r.IntN(4) {
					x.Payload[r.IntN(len(x.Payload))] ^= byte(1 + r.IntN(255))
				}
				all = append(all, placed{at - r.Float64()*5, x})
			}
			if percent(r, f.drop) {
				continue
			}
			if percent(r, f.flip) {
				s.Payload[r.IntN(len(s.Payload))] ^= byte(1 << r.IntN(8))
			}
			if percent(r, f.repeat) {
				all = append(all, placed{at + r.Float64()*20, s})
			}
			if off := int(s.Seq - isn[s.Side]); percent(r, f.overlap) && off >= 0 {
				// A retransmission has other boundaries.
				from := max(0, off-r.IntN(2000))
				to := min(len(sent[s.Side]), off+r.IntN(len(s.Payload)+1))
				if to > from {
					x := s
					x.Seq, x.Payload, x.Flags = isn[s.Side]+uint32(from), bytes.Clone(sent[s.Side][from:to]), packet.ACK
					all = append(all, placed{at + r.Float64()*10, x})
				}
			}
		}
		all = append(all, placed{at, s})
	}
	// The handshake stays first and the end last. Late packets follow the connection.
	last := float64(len(out))
	for i := range all {
		if all[i].s.Flags&packet.SYN == 0 {
			all[i].at = max(all[i].at, 2.5)
		}
		if all[i].s.Flags&(packet.FIN|packet.RST) != 0 {
			all[i].at = last + 50 + all[i].at/1000
		}
	}
	for i := 1; i < len(all); i++ {
		for j := i; j > 0 && all[j].at < all[j-1].at; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	if f.truncate {
		all = all[:r.IntN(len(all)+1)]
	}
	for i := range all {
		frames = append(frames, frameOf(&all[i].s, 1700000000e9+int64(i)*20000))
	}
	return frames
}

// consistent checks the property for one stream.
func consistent(pieces []piece, want []byte, exact bool) error {
	at := 0
	for i, p := range pieces {
		if p.gap > 0 && exact {
			return fmt.Errorf("a gap of %d bytes at %d, and nothing was lost", p.gap, at)
		}
		if p.gap > 0 {
			// The length of a gap is an estimate; later bytes are somewhere after it.
			n := bytes.Index(want[at:], p.data)
			if n < 0 {
				return fmt.Errorf("piece %d of %d bytes, after a gap at %d, was never sent", i, len(p.data), at)
			}
			at += n
		} else if !bytes.HasPrefix(want[at:], p.data) {
			return fmt.Errorf("piece %d, %d bytes at %d, is not what was sent", i, len(p.data), at)
		}
		at += len(p.data)
	}
	if exact && at != len(want) {
		return fmt.Errorf("%d bytes of %d", at, len(want))
	}
	return nil
}

// runFrames decrypts frames.
func runFrames(frames []capture.Frame, keyLog []byte, o Options) (*collector, Stats) {
	store := keys.NewStore(100)
	log := keys.Log{Store: store}
	log.Write(keyLog)
	c := &collector{}
	w := NewWorker(store, c, o)
	w.Frames(frames)
	w.Close()
	return c, w.Stats
}

func TestAnySegments(t *testing.T) {
	const runs = 1000
	begun := seed.Of(t)
	all := originals(t)
	delivered, expected := 0, 0
	for i, begin := 0, time.Now(); more(i, runs, begin); i++ {
		r := rand.New(rand.NewPCG(begun, uint64(i)))
		o := &all[r.IntN(len(all))]
		f := faults{split: r.IntN(70), merge: r.IntN(100), repeat: r.IntN(30), reorder: r.IntN(40), overlap: r.IntN(20)}
		switch r.IntN(6) {
		case 0:
			f.drop = 1 + r.IntN(10)
		case 1:
			f.forge = 1 + r.IntN(10)
		case 2:
			f.flip = 1 + r.IntN(10)
		case 3:
			f.truncate = true
		}
		got, stats := runFrames(mangle(r, o, f), o.keyLog, Options{Flows: 100})
		if len(got.streams) > 1 {
			t.Fatalf("run %d, %s, %+v: %d connections", i, o.name, f, len(got.streams))
		}
		var s stream
		if len(got.streams) == 1 {
			s = *got.streams[0]
		} else if f.harmless() {
			t.Fatalf("run %d, %s, %+v: nothing was decrypted: %+v", i, o.name, f, stats)
		}
		for side := range 2 {
			if err := consistent(s.pieces[side], o.plain[side], f.harmless()); err != nil {
				t.Fatalf("run %d, %s, side %d, %+v: %v\n%+v", i, o.name, side, f, err, stats)
			}
			if f.drop+f.flip > 0 {
				delivered += len(s.bytes(side))
				expected += len(o.plain[side])
			}
			// An unreported gap would be an error as well.
			if !f.truncate && len(s.bytes(side)) < len(o.plain[side]) && s.gaps() == 0 && stats.Undecrypted+stats.Ignored == 0 &&
				stats.TLS.LostBytes+stats.TLS.GivenUp == 0 && stats.Holes == 0 && stats.Unrelated == 0 {
				t.Fatalf("run %d, %s, side %d, %+v: %d bytes of %d and no gap: %+v", i, o.name, side, f, len(s.bytes(side)), len(o.plain[side]), stats)
			}
		}
	}
	if expected > 0 {
		t.Logf("of the plaintext of damaged connections %d %% was delivered", 100*delivered/expected)
	}
}

// TestSwallowed forges a length, so that one record seems to contain a handshake message and all later data of the
// client.
func TestSwallowed(t *testing.T) {
	o := &originals(t)[4] // TLS 1.2
	var frames []capture.Frame
	for i, s := range o.segments {
		if bytes.HasPrefix(s.Payload, []byte{22, 3, 3, 0, 0x25, 16}) { // ClientKeyExchange
			s.Payload = bytes.Clone(s.Payload)
			s.Payload[4] = 0xe5
		}
		frames = append(frames, frameOf(&s, 1700000000e9+int64(i)*20000))
	}
	got, stats := runFrames(frames, o.keyLog, Options{Flows: 100})
	if len(got.streams) != 1 || len(got.streams[0].bytes(1)) != len(o.plain[1]) || len(got.streams[0].bytes(0)) != 0 {
		t.Fatalf("the server's side was not read, or the client's was: %+v", stats)
	}
	if got.streams[0].gaps() == 0 || stats.TLS.LostBytes == 0 {
		t.Errorf("nothing is reported missing: %+v", stats)
	}
}

// TestPropertyCanFail plants violations that the check must find.
func TestPropertyCanFail(t *testing.T) {
	want := []byte("abcdefghijkl")
	for name, c := range map[string]struct {
		pieces []piece
		exact  bool
	}{
		"wrong byte":     {[]piece{{0, []byte("abd")}}, false},
		"left out":       {[]piece{{0, []byte("abc")}, {0, []byte("efg")}}, false},
		"twice":          {[]piece{{0, []byte("abc")}, {0, []byte("abc")}}, false},
		"before a gap":   {[]piece{{0, []byte("abcdef")}, {1, []byte("cde")}}, false},
		"end is missing": {[]piece{{0, []byte("abc")}}, true},
		"needless gap":   {[]piece{{0, []byte("abc")}, {1, []byte("defghijkl")}}, true},
	} {
		if consistent(c.pieces, want, c.exact) == nil {
			t.Errorf("%s: not found", name)
		}
	}
	if err := consistent([]piece{{0, []byte("abc")}, {2, []byte("fgh")}}, want, false); err != nil {
		t.Error(err)
	}
}

// Each flipped bit in a record costs that record, and no other data takes its place.
func TestFlippedBits(t *testing.T) {
	all := originals(t)
	o := &all[2]
	const runs = 300
	r := rand.New(rand.NewPCG(1, 1))
	for n, begin := 0, time.Now(); more(n, runs, begin); n++ {
		i := r.IntN(len(o.segments))
		s := o.segments[i]
		if len(s.Payload) == 0 {
			continue
		}
		s.Payload = bytes.Clone(s.Payload)
		at, bit := r.IntN(len(s.Payload)), r.IntN(8)
		s.Payload[at] ^= 1 << bit
		frames := append([]capture.Frame(nil), o.frames...)
		frames[i] = frameOf(&s, frames[i].Time)
		got, stats := runFrames(frames, o.keyLog, Options{Flows: 100})
		for _, st := range got.streams {
			for side := range 2 {
				if err := consistent(st.pieces[side], o.plain[side], false); err != nil {
					t.Fatalf("segment %d, bit %d of byte %d: %v\n%+v", i, bit, at, err, stats)
				}
			}
		}
	}
}

// A record after a lost KeyUpdate opens with the keys after it.
func TestLostKeyUpdate(t *testing.T) {
	for _, o := range originals(t) {
		if o.name != "s-keyupdate.pcap" {
			continue
		}
		lost := 0
		for i := range o.segments {
			// The KeyUpdates of this capture are the records with 22 bytes.
			p := o.segments[i].Payload
			if len(p) < 5 || p[0] != 23 || binary.BigEndian.Uint16(p[3:]) != 22 {
				continue
			}
			lost++
			frames := append(append([]capture.Frame(nil), o.frames[:i]...), o.frames[i+1:]...)
			got, stats := runFrames(frames, o.keyLog, Options{Flows: 10})
			for side := range 2 {
				if b := got.streams[0].bytes(side); !bytes.Equal(b, o.plain[side]) {
					t.Errorf("segment %d, side %d: %d bytes of %d: %+v", i, side, len(b), len(o.plain[side]), stats.TLS)
				}
			}
		}
		if lost != 3 {
			t.Errorf("%d KeyUpdates", lost)
		}
	}
}
