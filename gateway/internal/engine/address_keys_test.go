package engine

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
	"github.com/sealane/sealane/gateway/internal/wrap"
)

// Keys arrive with addresses, before the connection or during it, with its exact position or one nearby.
func TestGivenKeys(t *testing.T) {
	for name, c := range map[string]struct{ handshake, aligned, late, network bool }{
		"in a network":                 {handshake: true, network: true},
		"in a network, keys later":     {late: true, handshake: true, network: true},
		"whole connection":             {handshake: true},
		"middle":                       {},
		"middle, exact":                {aligned: true},
		"keys after packets":           {late: true},
		"keys after packets and hello": {handshake: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var frames []capture.Frame
			s, conn := traffic.NewSession(traffic.ChaCha20, r), traffic.NewConn(5, &frames)
			conn.Handshake(s, 1000)
			if !c.handshake {
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 5000), 1000))
			}
			given := tls.Given{Suite: traffic.ChaCha20, Aligned: c.aligned}
			given.Key, given.IV, given.Next = s.Keys(traffic.Server)
			before := len(frames)
			var want []byte
			for i := range 50 {
				data := bytes.Repeat([]byte{byte(i)}, 100+i*50)
				want = append(want, data...)
				conn.Send(traffic.Server, s.Data(traffic.Server, data, 1<<14))
			}
			conn.Close()
			var g packet.Segment
			packet.Parse(&g, packet.LinkEthernet, frames[before].Data)
			k := &Key{Source: g.Tuple.Endpoint(g.Side), Destination: g.Tuple.Endpoint(1 - g.Side), FromServer: true, Given: given, Sequence: g.Seq}
			if c.network {
				for i := range frames {
					frames[i].Data = wrap.Tunnels[0].Around(frames[i].Data, 77)
				}
			}
			table := NewKeys(10)
			got := &collector{}
			w := NewWorker(keys.NewStore(1), got, Options{Flows: 10, Keys: table})
			late := before
			if c.late {
				late += 5
			}
			if c.handshake {
				before = 0
			}
			if !c.late {
				late = before
			}
			w.Frames(frames[before:late])
			w.Tick(frames[late].Time + 2e6)
			if err := table.Put(k); err != nil {
				t.Fatal(err)
			}
			w.Tick(frames[late].Time + 4e6)
			w.Frames(frames[late:])
			w.Close()
			if len(got.streams) != 1 {
				t.Fatalf("%d streams, %+v", len(got.streams), w.Stats)
			}
			b := got.streams[0].bytes(1)
			if !bytes.HasSuffix(want, b) || !c.late && len(b) != len(want) || len(b) < len(want)/2 {
				t.Errorf("%d bytes of %d", len(b), len(want))
			}
			if state, n := k.State(); state != KeyEnded || n != given.Next+50 {
				t.Errorf("state %d, next record %d of %d", state, n, given.Next)
			}
			w.Tick(frames[late].Time + 20e9)
			if !bytes.Equal(given.Key, make([]byte, 32)) || len(table.All()) != 0 {
				t.Error("the key was not wiped")
			}
		})
	}
}

// secretOf finds the first traffic secret of a side in a key log.
func secretOf(t *testing.T, keyLog []byte, side int) []byte {
	name := []string{"CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 "}[side]
	for line := range strings.Lines(string(keyLog)) {
		if strings.HasPrefix(line, name) {
			b, err := hex.DecodeString(strings.Fields(line)[2])
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("no secret")
	return nil
}

// With the traffic secret, a direction is read beyond a KeyUpdate; without it, only up to the KeyUpdate.
func TestGivenKeyUpdate(t *testing.T) {
	for _, o := range originals(t) {
		if o.name != "s-keyupdate.pcap" {
			continue
		}
		client := clientSide(&o.segments[0])
		for _, withSecret := range []bool{true, false} {
			table := NewKeys(10)
			got := &collector{}
			w := NewWorker(keys.NewStore(1), got, Options{Flows: 10, Keys: table})
			var all []*Key
			for side := range 2 {
				given := tls.Given{Suite: suiteOf(t, o.segments), Secret: secretOf(t, o.keyLog, side)}
				if err := given.Complete(); err != nil {
					t.Fatal(err)
				}
				if !withSecret {
					given.Secret = nil
				}
				from := client ^ uint8(side)
				k := &Key{Source: o.segments[0].Tuple.Endpoint(from), Destination: o.segments[0].Tuple.Endpoint(1 - from), FromServer: side == 1, Given: given}
				if err := table.Put(k); err != nil {
					t.Fatal(err)
				}
				all = append(all, k)
			}
			w.Tick(o.frames[0].Time)
			w.Tick(o.frames[0].Time + 2e6)
			w.Frames(o.frames)
			w.Close()
			for side := range 2 {
				b, want := got.streams[0].bytes(side), o.plain[side]
				if !bytes.HasPrefix(want, b) || len(b) == 0 || (len(b) == len(want)) != withSecret {
					t.Errorf("side %d, with secret %v: %d bytes of %d", side, withSecret, len(b), len(want))
				}
			}
			w.Tick(o.frames[0].Time + 100e9)
			for side, k := range all {
				if g := k.Given; !bytes.Equal(append(append(bytes.Clone(g.Key), g.IV...), g.Secret...), make([]byte, len(g.Key)+len(g.IV)+len(g.Secret))) {
					t.Errorf("side %d: not wiped", side)
				}
			}
		}
	}
}

func clientSide(s *packet.Segment) uint8 {
	if s.Tuple.Port[0] == 443 {
		return 1
	}
	return 0
}

// suiteOf finds the suite in a ServerHello.
func suiteOf(t *testing.T, segments []packet.Segment) uint16 {
	for i := range segments {
		if p := segments[i].Payload; len(p) > 100 && p[0] == 22 && p[5] == 2 {
			at := 44 + int(p[43])
			return uint16(p[at])<<8 | uint16(p[at+1])
		}
	}
	t.Fatal("no ServerHello")
	return 0
}

// Both sides change their keys repeatedly, at the same time and in the middle of packets, and a record with a
// KeyUpdate is lost. Keys from a log and given keys behave the same.
func TestKeyUpdatesRace(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		for _, how := range []string{"key log", "given", "given, one lost"} {
			r := rand.New(rand.NewPCG(3, uint64(suite)))
			var frames []capture.Frame
			s, conn := traffic.NewSession(suite, r), traffic.NewConn(5, &frames)
			keyLog := s.KeyLog()
			table := NewKeys(10)
			for side := range 2 {
				ends := conn.Ends()
				if err := table.Put(&Key{Source: ends[side], Destination: ends[1-side], FromServer: side == 1,
					Given: tls.Given{Suite: suite, Secret: s.Secret(side)}}); err != nil {
					t.Fatal(err)
				}
			}
			conn.Handshake(s, 1000)
			var want [2][]byte
			lost := -1
			for i := range 40 {
				for side := range 2 {
					data := bytes.Repeat(fmt.Appendf(nil, "%d.%d ", side, i), 1+r.IntN(600))
					want[side] = append(want[side], data...)
					b := s.Data(side, data, 1000)
					if i == 20 && side == 1 && how == "given, one lost" {
						conn.Send(side, b)
						lost = len(frames)
						b = s.KeyUpdate(side)
					} else {
						for range 1 + r.IntN(3) {
							b = append(b, s.KeyUpdate(side)...)
						}
						b = append(b, s.Data(side, []byte("x"), 100)...)
						want[side] = append(want[side], 'x')
					}
					conn.Send(side, b)
				}
			}
			conn.Close()
			if lost >= 0 {
				frames = append(frames[:lost:lost], frames[lost+1:]...)
			}
			store, got := keys.NewStore(1), &collector{}
			o := Options{Flows: 10, Keys: table}
			if how == "key log" {
				o.Keys = nil
				(&keys.Log{Store: store}).Write(keyLog)
			}
			w := NewWorker(store, got, o)
			w.Frames(frames)
			w.Close()
			for side := range 2 {
				if b := got.streams[0].bytes(side); !bytes.Equal(b, want[side]) {
					t.Errorf("%#x, %s, side %d: %d bytes of %d, %+v", suite, how, side, len(b), len(want[side]), w.Stats.TLS)
				}
			}
			if n := w.Stats.TLS.BadRecords; n > 0 && lost < 0 && how == "key log" {
				t.Errorf("%#x, %s: %d records do not open", suite, how, n)
			}
		}
	}
}

// Keys arrive for the middle of a connection, and the first complete record is searched for. Forged data before it
// costs nothing until it is found. A segment that is really lost costs its record.
func TestGivenSearchAttacked(t *testing.T) {
	const records, size = 20, 1 << 14
	for name, c := range map[string]struct {
		forged func(f *packet.Segment) // ahead of the first segment
		lost   int                     // missing segment; 0: none missing
		want   int                     // records
	}{
		"nothing":                {nil, 0, records - 1},
		"a byte just ahead":      {func(f *packet.Segment) { f.Seq, f.Payload = f.Seq+3000, []byte{23} }, 0, records - 1},
		"a byte 60 KB ahead":     {func(f *packet.Segment) { f.Seq, f.Payload = f.Seq+60<<10, []byte{23} }, 0, records - 1},
		"a byte 1 MiB ahead":     {func(f *packet.Segment) { f.Seq, f.Payload = f.Seq+1<<20, []byte{23} }, 0, records - 1},
		"1400 bytes 1 MiB ahead": {func(f *packet.Segment) { f.Seq, f.Payload = f.Seq+1<<20, bytes.Repeat([]byte{23, 3, 3, 0, 9}, 280) }, 0, records - 1},
		"a record 60 KB ahead": {func(f *packet.Segment) {
			f.Seq, f.Payload = f.Seq+60<<10, append([]byte{23, 3, 3, 5, 0x73}, make([]byte, 1395)...)
		}, 0, records - 1},
		"a record 3 KB ahead": {func(f *packet.Segment) {
			f.Seq, f.Payload = f.Seq+3000, append([]byte{23, 3, 3, 5, 0x73}, make([]byte, 1395)...)
		}, 0, records - 2},
		"a segment lost":            {nil, 3, records - 1},
		"one of another lost":       {nil, 20, records - 2},
		"one lost, and a byte more": {func(f *packet.Segment) { f.Seq, f.Payload = f.Seq+1<<20, []byte{23} }, 3, records - 1},
	} {
		for _, suite := range []uint16{traffic.AES128, traffic.ChaCha20} {
			r := rand.New(rand.NewPCG(3, 4))
			var frames []capture.Frame
			s, conn := traffic.NewSession(suite, r), traffic.NewConn(5, &frames)
			conn.Handshake(s, 1000)
			given := tls.Given{Suite: suite}
			given.Key, given.IV, given.Next = s.Keys(traffic.Server)
			begin := len(frames)
			var want []byte
			for i := range records {
				data := bytes.Repeat([]byte{byte(i + 1)}, size)
				want = append(want, data...)
				conn.Send(traffic.Server, s.Data(traffic.Server, data, size))
			}
			var segs []capture.Frame // with data, of the server
			for _, f := range frames[begin:] {
				var g packet.Segment
				if packet.Parse(&g, packet.LinkEthernet, f.Data) == packet.TCP && len(g.Payload) > 0 {
					segs = append(segs, f)
				}
			}
			segs = segs[2:] // the first record is not whole
			var g packet.Segment
			packet.Parse(&g, packet.LinkEthernet, segs[0].Data)
			table, got := NewKeys(10), &collector{}
			if err := table.Put(&Key{Source: g.Tuple.Endpoint(g.Side), Destination: g.Tuple.Endpoint(1 - g.Side), FromServer: true, Given: given}); err != nil {
				t.Fatal(err)
			}
			w := NewWorker(keys.NewStore(1), got, Options{Flows: 10, Keys: table, KeyWait: 50e6, HoleWait: 200e6})
			at := segs[0].Time
			w.Tick(at)
			at += 2e6
			w.Tick(at)
			for i, f := range segs {
				if i == c.lost && i > 0 {
					continue
				}
				f.Time = at
				w.Frames([]capture.Frame{f})
				if i == 0 && c.forged != nil {
					x := g
					c.forged(&x)
					var to packet.Template
					link := [12]byte{1}
					to.Init(&link, 0, false, &x.Tuple.Addr[x.Side], &x.Tuple.Addr[1-x.Side], x.Tuple.Port[x.Side], x.Tuple.Port[1-x.Side])
					b := make([]byte, to.Size()+len(x.Payload))
					to.Build(b, x.Seq, x.Ack, packet.ACK, 0, x.Payload, true)
					w.Frames([]capture.Frame{{Time: at, Data: b, Link: packet.LinkEthernet}})
					for range 400 { // a pause of 4 s
						at += 10e6
						w.Tick(at)
					}
				}
				at += 1e6
			}
			for range 100 {
				at += 10e6
				w.Tick(at)
			}
			b := []byte(nil)
			if len(got.streams) == 1 {
				b = got.streams[0].bytes(1)
			}
			if len(b) < c.want*size || len(b) > (records-1)*size || !bytes.HasSuffix(want, b[len(b)-min(len(b), size*(records-2)):]) {
				t.Errorf("%s, suite %x: %d bytes, of %d records: %+v", name, suite, len(b), c.want, w.Snapshot())
			}
			w.Close()
		}
	}
}
