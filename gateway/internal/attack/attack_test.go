// Package attack sends a worker the packets that an attacker on the path can send, and checks its output. The output
// must be all data that the receiver accepted, and no other.
package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

const testdata = "../../testdata"

// sink keeps the plaintext of all connections, by their addresses.
type sink struct {
	plain map[string]*[2][]byte
}

func (s *sink) Data(f *output.Flow, side uint8, data []byte) {
	if s.plain == nil {
		s.plain = make(map[string]*[2][]byte)
	}
	name := f.Client.String() + " " + f.Server.String()
	p := s.plain[name]
	if p == nil {
		p = new([2][]byte)
		s.plain[name] = p
	}
	p[side] = append(p[side], data...)
}
func (s *sink) Gap(*output.Flow, uint8, int) {}
func (s *sink) End(*output.Flow)             {}
func (s *sink) Flush()                       {}

// victim is an authentic connection.
type victim struct {
	name   string
	keyLog []byte
	frames []capture.Frame
	segs   []packet.Segment
	client uint8 // its side of the tuple
	id     string
	plain  [2][]byte
	bytes  int
	server []int // segments with data of the server
}

var victims = []string{"s-aes128", "s-aes256", "s-chacha", "s-12gcm", "s-12chacha", "s-hrr", "s-keyupdate", "s-padding"}

func load(t testing.TB, name string) *victim {
	t.Helper()
	read := func(n string) []byte {
		b, err := os.ReadFile(filepath.Join(testdata, n))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	v := &victim{name: name, keyLog: read(name + ".keys")}
	r, err := capture.NewReader(bytes.NewReader(read(name + ".pcap")))
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Block
	if err := r.ReadBlock(&b); err != nil {
		t.Fatal(err)
	}
	v.frames = b.Frames
	v.know(t)
	return v
}

// know fills in all but names, keys and frames.
func (v *victim) know(t testing.TB) {
	t.Helper()
	all := v.frames
	v.frames = nil
	for _, f := range all {
		var s packet.Segment
		if packet.Parse(&s, f.Link, f.Data) != packet.TCP {
			continue
		}
		if len(v.segs) == 0 {
			v.client = s.Side
			v.id = s.Tuple.Endpoint(s.Side).String() + " " + s.Tuple.Endpoint(1-s.Side).String()
		}
		if s.Side != v.client && len(s.Payload) > 0 {
			v.server = append(v.server, len(v.segs))
		}
		v.frames, v.segs = append(v.frames, f), append(v.segs, s)
	}
	got, _ := run(v, v.frames, nil)
	if p := got.plain[v.id]; p != nil {
		v.plain = *p
	}
	if v.bytes = len(v.plain[0]) + len(v.plain[1]); v.bytes == 0 || len(got.plain) != 1 {
		t.Fatalf("%s: %d bytes of plaintext, %d connections", v.name, v.bytes, len(got.plain))
	}
}

// run reads frames one at a time, as they arrive live.
func run(v *victim, frames []capture.Frame, set func(*engine.Options)) (*sink, *engine.Worker) {
	store, s := keys.NewStore(100), &sink{}
	log := keys.Log{Store: store}
	log.Write(v.keyLog)
	o := engine.Options{Flows: 64, KeyWait: 50e6, HoleWait: 200e6}
	if set != nil {
		set(&o)
	}
	w := engine.NewWorker(store, s, o)
	feed(w, frames)
	w.Close()
	if p := s.plain[v.id]; p != nil && spoiled != nil {
		spoiled(p)
	}
	return s, w
}

// feed gives a worker frames, few at a time. Between them the clock advances, as it does live.
func feed(w *engine.Worker, frames []capture.Frame) {
	const tick = 2e9
	for n, last := 0, int64(0); len(frames) > 0; frames = frames[n:] {
		for n = 1; n < min(len(frames), 3) && frames[n].Time-frames[n-1].Time < tick; {
			n++
		}
		if last > 0 {
			for at := last + tick; at < frames[0].Time; at += tick {
				w.Tick(at)
			}
		}
		last = frames[n-1].Time
		w.Frames(frames[:n])
	}
}

// A forgery is a packet of the attacker: a changed copy of a segment of the connection.
type forgery struct {
	side     uint8 // of the tuple, the pretended sender
	seq, ack uint32
	flags    uint8
	data     []byte
	badTCP   bool
	badIP    bool
	ttl      uint8 // 0: that of the connection
}

// reaches reports whether the packet reaches the receiver's TCP.
func (f *forgery) reaches() bool { return !f.badTCP && !f.badIP && f.ttl == 0 }

func (v *victim) forge(at int64, f forgery) capture.Frame {
	like := &v.segs[0]
	var t packet.Template
	link := [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	t.Init(&link, 0, like.IPv6, &like.Tuple.Addr[f.side], &like.Tuple.Addr[1-f.side], like.Tuple.Port[f.side], like.Tuple.Port[1-f.side])
	b := make([]byte, t.Size()+len(f.data))
	t.Build(b, f.seq, f.ack, f.flags, 7, f.data, true)
	ip := b[14:]
	if !like.IPv6 {
		if f.ttl != 0 {
			ip[8] = f.ttl
			binary.BigEndian.PutUint16(ip[10:], 0)
			binary.BigEndian.PutUint16(ip[10:], packet.Checksum(0, ip[:20]))
		}
		if f.badIP {
			ip[10] ^= 0x55
		}
		if f.badTCP {
			ip[20+16] ^= 0x55
		}
	}
	return capture.Frame{Time: at, Data: b, Link: packet.LinkEthernet}
}

// like returns a forgery with the fields and bytes of a segment.
func like(s *packet.Segment) forgery {
	return forgery{side: s.Side, seq: s.Seq, ack: s.Ack, flags: s.Flags, data: bytes.Clone(s.Payload)}
}

// script is an attack on one connection: the forgeries before and after each of its frames, and changed times.
type script struct {
	v      *victim
	before map[int][]forgery
	after  map[int][]forgery
	pause  map[int]int64 // before a frame
	late   map[int]int   // frames that come after others
}

func (v *victim) script() *script {
	return &script{v: v, before: make(map[int][]forgery), after: make(map[int][]forgery), pause: make(map[int]int64)}
}

func (s *script) frames() (all []capture.Frame) {
	var shift int64
	for i, f := range s.v.frames {
		for _, x := range s.before[i] {
			all = append(all, s.v.forge(f.Time+shift-1, x))
		}
		if p := s.pause[i]; p > 0 {
			// Other connections go on meanwhile.
			for at := int64(0); at < min(p, 3e9); at += 10e6 {
				x := forgery{side: 0, flags: packet.SYN, seq: 1}
				f := s.v.forge(f.Time+shift+at, x)
				f.Data[14+12] = 99 // from another address
				all = append(all, f)
			}
			shift += p
		}
		for j, last := range s.late {
			if sg := &s.v.segs[i]; i > j && i <= last && len(sg.Payload) == 0 && sg.Side != s.v.segs[j].Side {
				x := like(sg) // the receiver acknowledges its position
				x.ack = s.v.segs[j].Seq
				f = s.v.forge(f.Time, x)
			}
		}
		f.Time += shift
		if _, later := s.late[i]; !later {
			all = append(all, f)
		}
		for _, x := range s.after[i] {
			all = append(all, s.v.forge(f.Time+1, x))
		}
		for j, last := range s.late {
			if last == i {
				x := s.v.frames[j]
				x.Time = f.Time + 1
				all = append(all, x)
			}
		}
	}
	return all
}

// authentic checks that the output was sent, in order, and returns its length.
func (v *victim) authentic(t *testing.T, what string, got *sink) int {
	t.Helper()
	n, only := v.sent(got)
	if !only {
		for id, p := range got.plain {
			t.Errorf("%s, %s: something came out that was not sent: %d and %d bytes of %s", v.name, what, len(p[0]), len(p[1]), id)
		}
	}
	return n
}

// sent reports whether all output was sent, in order, and its length.
func (v *victim) sent(got *sink) (n int, only bool) {
	only = true
	for id, p := range got.plain {
		if id != v.id {
			only = false
			continue
		}
		for side := range p {
			only = only && ordered(p[side], v.plain[side])
			n += len(p[side])
		}
	}
	return n, only
}

// ordered reports whether got is want with pieces left out. Pieces are longer than a few bytes.
func ordered(got, want []byte) bool {
	if bytes.HasPrefix(want, got) {
		return true
	}
	for len(got) > 0 {
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		got, want = got[n:], want[n:]
		if len(got) == 0 {
			return true
		}
		head := got[:min(len(got), 12)]
		if len(want) == 0 {
			return false
		}
		at := bytes.Index(want[1:], head)
		if at < 0 {
			return false
		}
		want = want[1+at:]
	}
	return true
}

// wrong are the ways that a receiver does not notice.
var wrong = map[string]func(*forgery){
	"bad TCP checksum": func(f *forgery) { f.badTCP = true },
	"bad IP checksum":  func(f *forgery) { f.badIP = true },
	"low TTL":          func(f *forgery) { f.ttl = 3 },
	"all good":         func(f *forgery) {},
}

// junk returns as many bytes as data has; all of them differ.
func junk(data []byte) []byte {
	b := bytes.Clone(data)
	for i := range b {
		b[i] ^= 0xa5
	}
	return b
}

// A row of the table: attacks on one connection.
type row struct {
	name string
	make func(v *victim, change func(*forgery)) []*script
	ways []string // of wrong; nil: all
}

// firstData returns the first segment with data of a side.
func (v *victim) firstData(side uint8) int {
	for i := range v.segs {
		if s := &v.segs[i]; s.Side == side && len(s.Payload) > 0 {
			return i
		}
	}
	panic("no data")
}

// places returns some segments with data: in the handshake, after a third of the connection, and near its end.
func (v *victim) places() []int {
	n := len(v.server)
	return []int{v.server[0], v.server[min(1, n-1)], v.server[n/3], v.server[n*4/5]}
}

var rows = []row{
	{"a junk byte before the ClientHello", func(v *victim, change func(*forgery)) []*script {
		return v.beforeHello(v.client, change)
	}, nil},
	{"a junk byte before the ServerHello", func(v *victim, change func(*forgery)) []*script {
		return v.beforeHello(1-v.client, change)
	}, nil},
	{"a forged ClientHello before it", func(v *victim, change func(*forgery)) []*script {
		i := v.firstData(v.client)
		f := like(&v.segs[i])
		f.data[11+5] ^= 1 // its random
		change(&f)
		s := v.script()
		s.before[i] = []forgery{f}
		return []*script{s}
	}, nil},
	{"a forged ServerHello before it", func(v *victim, change func(*forgery)) []*script {
		i := v.firstData(1 - v.client)
		var all []*script
		for _, at := range []int{0, 5, 11 + 3, 44 + int(v.segs[i].Payload[43]), 44 + int(v.segs[i].Payload[43]) + 1} {
			f := like(&v.segs[i])
			f.data[at] ^= 3
			change(&f)
			s := v.script()
			s.before[i] = []forgery{f}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a ClientHello in the name of the server", func(v *victim, change func(*forgery)) []*script {
		return v.turned(v.client, change)
	}, nil},
	{"a ServerHello in the name of the client", func(v *victim, change func(*forgery)) []*script {
		return v.turned(1-v.client, change)
	}, nil},
	{"a FIN ahead of the window", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := like(&v.segs[i])
			f.flags, f.data, f.seq = packet.FIN|packet.ACK, nil, f.seq+1<<20
			change(&f)
			s := v.script()
			s.before[i], s.pause[i] = []forgery{f}, 3e9
			all = append(all, s)
		}
		return all
	}, nil},
	{"both FINs with the right number", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := like(&v.segs[i])
			f.flags, f.data = packet.FIN|packet.ACK, nil
			change(&f)
			g := forgery{side: 1 - f.side, seq: f.ack, ack: f.seq + 1, flags: f.flags}
			change(&g)
			s := v.script()
			s.before[i] = []forgery{f, g}
			all = append(all, s)
		}
		return all
	}, unseen},
	{"a RST with the right number", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := like(&v.segs[i])
			f.flags, f.data = packet.RST, nil
			change(&f)
			s := v.script()
			s.before[i] = []forgery{f}
			all = append(all, s)
		}
		return all
	}, unseen},
	{"SYN and SYN-ACK on the same tuple", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := forgery{side: v.client, seq: 0x11111111, flags: packet.SYN}
			g := forgery{side: 1 - v.client, seq: 0x22222222, ack: 0x11111112, flags: packet.SYN | packet.ACK}
			change(&f)
			change(&g)
			s := v.script()
			s.before[i] = []forgery{f, g}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a SYN, or a SYN-ACK, in the handshake", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for i := range 4 {
			f := forgery{side: v.client, seq: 0x11111111, flags: packet.SYN}
			g := forgery{side: 1 - v.client, seq: 0x22222222, ack: v.segs[0].Seq + 1, flags: packet.SYN | packet.ACK}
			change(&f)
			change(&g)
			for _, x := range []forgery{f, g} {
				s := v.script()
				s.before[i] = []forgery{x}
				all = append(all, s)
			}
		}
		return all
	}, nil},
	{"a byte ahead, then a pause", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			for _, ahead := range []uint32{1000, 60 << 10, 1 << 20, 1 << 30} {
				f := like(&v.segs[i])
				f.data, f.seq = []byte{0x17}, f.seq+ahead
				change(&f)
				s := v.script()
				s.before[i], s.pause[i] = []forgery{f}, 3e9
				all = append(all, s)
			}
		}
		return all
	}, nil},
	{"1,100 bytes ahead", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			s := v.script()
			for n := range uint32(1100) {
				f := like(&v.segs[i])
				f.data, f.seq = []byte{0x17}, f.seq+60000+n*2
				change(&f)
				s.before[i] = append(s.before[i], f)
			}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a forged copy of a segment before it", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			for _, only := range []int{0, 1, 6, -1} {
				f := like(&v.segs[i])
				switch {
				case only < 0:
					f.data = junk(f.data)
				default:
					f.data[min(only, len(f.data)-1)] ^= 0x40
				}
				change(&f)
				s := v.script()
				s.before[i] = []forgery{f}
				all = append(all, s)
			}
		}
		return all
	}, nil},
	{"a forged copy of a segment after it", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := like(&v.segs[i])
			f.data = junk(f.data)
			change(&f)
			s := v.script()
			s.after[i] = []forgery{f}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a forged copy before every server segment", func(v *victim, change func(*forgery)) []*script {
		s := v.script()
		for _, i := range v.server {
			f := like(&v.segs[i])
			f.data = junk(f.data)
			change(&f)
			s.before[i] = []forgery{f}
		}
		return []*script{s}
	}, nil},
	{"a record of the attacker, in the place of the next", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			for _, size := range []int{22, 500, 16384} {
				f := like(&v.segs[i])
				f.data = append([]byte{23, 3, 3, byte(size >> 8), byte(size)}, make([]byte, min(size, 1400))...)
				change(&f)
				s := v.script()
				s.before[i] = []forgery{f}
				all = append(all, s)
			}
		}
		return all
	}, nil},
	{"an acknowledgement far ahead", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			f := like(&v.segs[i])
			f.data, f.flags, f.ack = nil, packet.ACK, f.ack+1<<20
			change(&f)
			s := v.script()
			s.before[i] = []forgery{f}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a keep-alive with a byte of garbage", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for _, i := range v.places() {
			s := v.script()
			for _, side := range []uint8{0, 1} { // one byte before the next expected one (RFC 9293, section 3.8.4)
				f := like(&v.segs[i])
				if f.data, f.seq = []byte{0}, f.seq-1; side != f.side {
					f.side, f.seq, f.ack = side, f.ack-1, f.seq+1
				}
				change(&f)
				s.before[i] = append(s.before[i], f)
			}
			all = append(all, s)
		}
		return all
	}, nil},
	{"a SYN of the server, as if both began", func(v *victim, change func(*forgery)) []*script {
		var all []*script
		for i := range 4 {
			for _, seq := range []uint32{0x22222222, v.segs[1].Seq} {
				f := forgery{side: 1 - v.client, seq: seq, flags: packet.SYN}
				g := forgery{side: v.client, seq: v.segs[0].Seq, ack: seq + 1, flags: packet.SYN | packet.ACK}
				change(&f)
				change(&g)
				s := v.script()
				s.before[i] = []forgery{f, g}
				all = append(all, s)
			}
		}
		return all
	}, nil},
	{"a header of the PROXY protocol before the ClientHello", func(v *victim, change func(*forgery)) []*script {
		i := v.firstData(v.client)
		var all []*script
		for _, b := range []string{
			"PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n", "PROXY UNKNOWN\r\n", "PROXY " + strings.Repeat("x", 200),
			"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x03\xe8\x01\xbb", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x00",
			"\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff\x01\x02\x03\x04", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x04\x00" + strings.Repeat("x", 1024),
		} {
			f := like(&v.segs[i])
			f.data = []byte(b)
			change(&f)
			g := f // and another one after it
			g.seq += uint32(len(b))
			s := v.script()
			s.before[i] = []forgery{f, g}
			all = append(all, s)
		}
		return all
	}, nil},
	{"an endless dialogue before the hellos", func(v *victim, change func(*forgery)) []*script {
		i := v.firstData(v.client)
		var all []*script
		for _, lines := range [][2]string{{"STARTTLS\r\n", "220 Go ahead\r\n"}, {"CONNECT a:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"}, {"\x16", "\x16\x03"}} {
			s := v.script()
			client, server := v.segs[i].Seq, v.segs[i].Ack
			for range 200 {
				f := forgery{side: v.client, seq: client, ack: server, flags: packet.ACK, data: []byte(lines[0])}
				client += uint32(len(f.data))
				g := forgery{side: 1 - v.client, seq: server, ack: client, flags: packet.ACK, data: []byte(lines[1])}
				server += uint32(len(g.data))
				change(&f)
				change(&g)
				s.before[i] = append(s.before[i], f, g)
			}
			all = append(all, s)
		}
		return all
	}, nil},
	{"everything a second time", func(v *victim, change func(*forgery)) []*script {
		s := v.script()
		last := len(v.segs) - 1
		for i := range v.segs[:last] {
			f := like(&v.segs[i])
			change(&f)
			s.before[last] = append(s.before[last], f)
		}
		return []*script{s}
	}, nil},
}

// unseen are the ways in which a packet does not reach the receiver. If it does, it ends the receiver's connection as
// well.
var unseen = []string{"bad TCP checksum", "bad IP checksum", "low TTL"}

func (v *victim) beforeHello(side uint8, change func(*forgery)) []*script {
	i := v.firstData(side)
	var all []*script
	for _, b := range [][]byte{{0}, {'G'}, {22}, {23}, {22, 3, 3, 0, 200, 1}, bytes.Repeat([]byte{'x'}, 100)} {
		f := like(&v.segs[i])
		f.data = b
		change(&f)
		s := v.script()
		s.before[i] = []forgery{f}
		all = append(all, s)
	}
	return all
}

// turned sends the hello of one side from the other one, before the connection begins, and at every packet until data
// comes.
func (v *victim) turned(side uint8, change func(*forgery)) (all []*script) {
	hello := v.segs[v.firstData(side)].Payload
	for _, seq := range []uint32{v.isn(1 - side), v.isn(1-side) + 700, 0x33333333} {
		for at := range v.firstData(1-v.client) + 4 {
			f := forgery{side: 1 - side, seq: seq, ack: v.isn(side), flags: packet.ACK | packet.PSH, data: bytes.Clone(hello)}
			change(&f)
			s := v.script()
			s.before[at] = []forgery{f}
			all = append(all, s)
		}
		s := v.script()
		for at := range v.firstData(1-v.client) + 4 {
			f := forgery{side: 1 - side, seq: seq, ack: v.isn(side), flags: packet.ACK | packet.PSH, data: bytes.Clone(hello)}
			change(&f)
			s.before[at] = []forgery{f}
		}
		all = append(all, s)
	}
	return all
}

func TestTable(t *testing.T) {
	var all []*victim
	for _, name := range victims {
		all = append(all, load(t, name))
	}
	for _, r := range rows {
		ways := r.ways
		if ways == nil {
			ways = []string{"bad TCP checksum", "bad IP checksum", "low TTL", "all good"}
		}
		for _, way := range ways {
			out, want, worst := 0, 0, 100.0
			at := ""
			for _, v := range all {
				for i, s := range r.make(v, wrong[way]) {
					got, _ := run(v, s.frames(), nil)
					n := v.authentic(t, fmt.Sprintf("%s, %s, %d", r.name, way, i), got)
					out, want = out+n, want+v.bytes
					if p := 100 * float64(n) / float64(v.bytes); p < worst {
						worst, at = p, fmt.Sprintf("%s, %d", v.name, i)
					}
				}
			}
			line := fmt.Sprintf("%-52s %-18s %6.1f %% of the plaintext, at worst %5.1f %%", r.name, way, 100*float64(out)/float64(want), worst)
			if out != want {
				t.Errorf("%s (%s)", line, at)
			} else {
				t.Log(line)
			}
		}
	}
}

// Time comes from the capture. Neither a stray packet nor an adjusted clock may decide.
func TestTime(t *testing.T) {
	const hour = int64(3600e9)
	for name, change := range map[string]func(frames []capture.Frame, at int) []capture.Frame{
		"a stray packet an hour ahead": func(frames []capture.Frame, at int) []capture.Frame {
			x := frames[0]
			x.Data = bytes.Clone(x.Data)
			x.Data[14+12] = 99 // of another connection
			x.Time = frames[at].Time + hour
			return append(append(append([]capture.Frame(nil), frames[:at]...), x), frames[at:]...)
		},
		"the clock back by an hour": func(frames []capture.Frame, at int) []capture.Frame {
			frames = append([]capture.Frame(nil), frames...)
			for i := at; i < len(frames); i++ {
				frames[i].Time -= hour
			}
			return frames
		},
		"the clock ahead by an hour": func(frames []capture.Frame, at int) []capture.Frame {
			frames = append([]capture.Frame(nil), frames...)
			for i := at; i < len(frames); i++ {
				frames[i].Time += hour
			}
			return frames
		},
	} {
		for _, name2 := range victims {
			v := load(t, name2)
			for at := 1; at+3 < len(v.frames); at += 1 + len(v.frames)/12 {
				// The keys arrive 20 ms late. Data that waits for them must not be given up.
				for _, late := range []bool{false, true} {
					store, s := keys.NewStore(100), &sink{}
					log := keys.Log{Store: store}
					if !late {
						log.Write(v.keyLog)
					}
					w := engine.NewWorker(store, s, engine.Options{Flows: 1000, KeyWait: 5e9, HoleWait: 200e6})
					frames := change(v.frames, at)
					for i, f := range frames {
						if late && i == at+3 {
							log.Write(v.keyLog)
							w.Tick(f.Time)
						}
						w.Frames([]capture.Frame{f})
					}
					w.Close()
					if n := v.authentic(t, name, s); n != v.bytes {
						t.Errorf("%s, %s, at %d, late %v: %d bytes of %d: %+v", name, v.name, at, late, n, v.bytes, w.Stats)
					}
				}
			}
		}
	}
}

// A connection with the client random of another one must not take its keys.
func TestSameRandom(t *testing.T) {
	for _, name := range victims {
		v := load(t, name)
		// Another connection with the same ClientHello comes before, in the middle, and with an answer of its own.
		other := func(n int) (all []capture.Frame) {
			for i := range n {
				f := v.frames[i]
				f.Data = bytes.Clone(f.Data)
				s := v.segs[i]
				if ip := f.Data[14:]; s.Side == v.client {
					ip[12] = 99
				} else {
					ip[16] = 99
				}
				if p := s.Payload; len(p) > 50 && s.Side != v.client {
					f.Data[len(f.Data)-len(p)+11+2] ^= 1 // the ServerHello's random
				}
				f.Time = v.frames[0].Time
				all = append(all, f)
			}
			// It ends.
			for range 2 {
				x := like(&v.segs[0])
				x.flags = packet.RST
				f := v.forge(v.frames[0].Time, x)
				f.Data[14+12] = 99
				all = append(all, f)
			}
			return all
		}
		hello := v.firstData(v.client)
		for _, n := range []int{hello + 1, v.firstData(1-v.client) + 1} {
			for _, at := range []int{0, hello, hello + 1, v.firstData(1-v.client) + 1, len(v.frames) / 2} {
				frames := append(append(append([]capture.Frame(nil), v.frames[:at]...), other(n)...), v.frames[at:]...)
				store, s := keys.NewStore(100), &sink{}
				log := keys.Log{Store: store}
				log.Write(v.keyLog)
				w := engine.NewWorker(store, s, engine.Options{Flows: 3, KeyWait: 50e6})
				for i, f := range frames {
					if i == at+len(other(n)) {
						// Other connections evict it from the table.
						for k := range byte(20) {
							x := v.forge(f.Time, forgery{side: v.client, seq: 1, flags: packet.SYN})
							x.Data[14+12] = 100 + k
							if at == 0 {
								w.Frames([]capture.Frame{x})
							}
						}
					}
					w.Frames([]capture.Frame{f})
				}
				w.Close()
				if m := v.authentic(t, "same random", s); m != v.bytes {
					t.Errorf("%s, %d packets at %d: %d bytes of %d: %+v", v.name, n, at, m, v.bytes, w.Stats)
				}
			}
		}
		// The key log has another secret for the same random, before or after the right one.
		bad := bytes.Clone(v.keyLog)
		for i := range bad {
			if i > 0 && bad[i-1] != '\n' && (i+1 == len(bad) || bad[i+1] == '\n') && bad[i] >= '0' && bad[i] <= '9' {
				bad[i] = '0' + '9' - bad[i]
			}
		}
		for _, log := range [][]byte{append(append([]byte(nil), v.keyLog...), bad...), append(append([]byte(nil), bad...), v.keyLog...)} {
			x := *v
			x.keyLog = log
			got, w := run(&x, v.frames, nil)
			if m := v.authentic(t, "two secrets", got); m != v.bytes {
				t.Errorf("%s, two secrets: %d bytes of %d: %+v", v.name, m, v.bytes, w.Stats)
			}
		}
	}
}

// Handshakes that never end, and junk after holes, on many connections: memory stays within its limit.
func TestMemory(t *testing.T) {
	const flows, limit = 4000, 8 << 20
	var m runtime.MemStats
	heap := func() int {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	o := engine.Options{Flows: flows, Room: flows, KeyWait: 1e9, Queued: limit, TLS: tls.Limits{HeldFlow: 1 << 20, Held: limit, Partial: limit}}
	w := engine.NewWorker(keys.NewStore(10), &sink{}, o)
	made := heap()
	var to packet.Template
	link := [12]byte{1}
	hello := append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x7f, 0, 3, 3}, make([]byte, 1400)...)
	junk := bytes.Repeat([]byte{23, 3, 3, 0, 30}, 280)
	for i := range flows {
		src, dst := [16]byte{10: 255, 11: 255, 12: 10, 13: byte(i >> 8), 14: byte(i), 15: 1}, [16]byte{10: 255, 11: 255, 12: 10, 13: 1, 14: 1, 15: 2}
		to.Init(&link, 0, false, &src, &dst, 1000, 443)
		send := func(seq uint32, p []byte) {
			b := make([]byte, to.Size()+len(p))
			to.Build(b, seq, 1, packet.ACK, 0, p, true)
			w.Frames([]capture.Frame{{Time: 1700000000e9 + int64(i)*1000, Data: b, Link: packet.LinkEthernet}})
		}
		seq := uint32(i)
		send(seq, hello)
		for n := uint32(1); n < 20; n++ {
			send(seq+n*1411, junk)
			send(seq+1<<20+n*3000, junk)
		}
	}
	grown := heap() - made
	s := w.Snapshot()
	t.Logf("%d MB at the beginning, %d MB more with %d connections: %+v", (made-before)>>20, grown>>20, s.Active, s.Stats)
	// Held segments, bodies and partial records, and the state of each connection.
	if most := 2*limit + limit + flows*3<<10; grown > most {
		t.Errorf("%d MB of memory, %d are allowed", grown>>20, most>>20)
	}
	runtime.KeepAlive(w)
}
