package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// conversation is the state of a receiver that is as strict as an intrusion detection system.
type conversation struct {
	frame  []byte
	syn    [2]bool
	fin    [2]bool
	next   [2]uint32
	acked  [2]uint32
	stream [2][]byte
	holes  int
	scale  [2]uint8
	err    error
}

func (c *conversation) Room(n int) []byte {
	c.frame = make([]byte, n)
	return c.frame
}

func (c *conversation) Flush() {}

func (c *conversation) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *conversation) Commit(n int, _ int64) {
	var s packet.Segment
	if n != len(c.frame) || packet.Parse(&s, packet.LinkEthernet, c.frame) != packet.TCP {
		c.fail("%d bytes that are no packet", n)
		return
	}
	side := uint8(0)
	if s.Tuple.Port[s.Side] == 80 {
		side = 1
	}
	if s.Flags&packet.SYN != 0 {
		options := c.frame[len(c.frame)-packet.SYNBytes:]
		if !bytes.Equal(options[:3], []byte{1, 3, 3}) {
			c.fail("options %x", options)
		}
		c.syn[side], c.scale[side], c.next[side], c.acked[side] = true, options[3], s.Seq+1, s.Seq+1
		return
	}
	if !c.syn[0] || !c.syn[1] || c.fin[side] && len(s.Payload) > 0 {
		c.fail("not between SYN and FIN")
	}
	// An acknowledgement never goes back, and stays in the window. The acknowledged data was sent, or lost.
	if s.Ack-c.acked[1-side] > uint32(0xffff)<<c.scale[side] {
		c.fail("%d acknowledged of %d", s.Ack, c.next[1-side])
	}
	if ahead := s.Ack - c.next[1-side]; ahead != 0 && ahead < 1<<31 {
		c.holes++
		c.next[1-side] = s.Ack
	}
	c.acked[1-side] = s.Ack
	if s.Seq != c.next[side] {
		if ahead := s.Seq - c.next[side]; ahead >= 1<<31 {
			c.fail("sequence number %d after %d", s.Seq, c.next[side])
		}
		c.holes++
	}
	window := uint32(0xffff) << c.scale[1-side]
	if s.Seq+uint32(len(s.Payload))-c.acked[side] > window {
		c.fail("%d bytes ahead of a window of %d", s.Seq+uint32(len(s.Payload))-c.acked[side], window)
	}
	c.stream[side] = append(c.stream[side], s.Payload...)
	c.next[side] = s.Seq + uint32(len(s.Payload))
	if s.Flags&packet.FIN != 0 {
		c.fin[side] = true
		c.next[side]++
	}
	if c.next[side]-c.acked[side] >= ackBytes+packet.MaxPayload {
		// Bytes in a hole do not count. They are acknowledged with the bytes after it.
		if c.holes == 0 {
			c.fail("%d bytes not acknowledged", c.next[side]-c.acked[side])
		}
	}
}

// settled checks that all data is acknowledged.
func (c *conversation) settled() {
	if c.next != c.acked {
		c.fail("sent up to %d, acknowledged up to %d", c.next, c.acked)
	}
}

func testFlow() *Flow {
	return &Flow{Client: netip.MustParseAddrPort("10.0.0.1:40000"), Server: netip.MustParseAddrPort("10.0.0.2:443"), Time: new(int64)}
}

// The output of a Synthetic is a conversation that a strict receiver accepts completely.
func TestSynthetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1000+1<<17)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for run := range 200 {
		c, f := &conversation{}, testFlow()
		s := NewSynthetic(c, Options{Segment: []int{0, 1, 1436, 65000}[run%4], Ports: map[uint16]uint16{443: 80}})
		var want [2][]byte
		holes := 0
		for range r.IntN(60) {
			side := uint8(r.IntN(2))
			switch r.IntN(12) {
			case 0:
				if c.syn[0] && run%3 == 0 {
					s.Gap(f, side, 1+r.IntN(1<<r.IntN(30)))
					holes++
				}
			case 1:
				s.Flush()
				if holes == 0 {
					c.settled()
				}
			default:
				n := r.IntN(2000)
				if run%4 != 1 {
					n = r.IntN(1 << r.IntN(18))
				}
				data := noise[r.IntN(1000):][:n]
				want[side] = append(want[side], data...)
				s.Data(f, side, data)
			}
			if c.err != nil {
				break
			}
		}
		s.End(f)
		s.Flush()
		if c.syn[0] && c.err == nil {
			c.settled()
			for side := range want {
				if !bytes.Equal(c.stream[side], want[side]) {
					t.Errorf("run %d, side %d: %d bytes of %d", run, side, len(c.stream[side]), len(want[side]))
				}
			}
			if c.fin != [2]bool{true, true} || c.holes > 2*holes || holes == 0 && c.holes > 0 {
				t.Errorf("run %d: FINs %v, %d holes of %d", run, c.fin, c.holes, holes)
			}
		}
		if c.err != nil {
			t.Fatalf("run %d: %v", run, c.err)
		}
	}
}

// The receiver finds the faults that an intrusion detection system would report.
func TestConversationCanFail(t *testing.T) {
	frame := func(c *conversation, side uint8, seq, ack uint32, flags uint8, data []byte) {
		var tpl packet.Template
		a, b := netip.MustParseAddr("10.0.0.1").As16(), netip.MustParseAddr("10.0.0.2").As16()
		port := [2]uint16{40000, 80}
		if side == 1 {
			a, b = b, a
		}
		tpl.Init(&[12]byte{}, 0, false, &a, &b, port[side], port[1-side])
		if flags&packet.SYN != 0 {
			n := tpl.Size() + packet.SYNBytes
			tpl.BuildSYN(c.Room(n), seq, ack, flags, 0, 0, true)
			c.Commit(n, 0)
			return
		}
		n := tpl.Size() + len(data)
		tpl.Build(c.Room(n), seq, ack, flags, 0, data, true)
		c.Commit(n, 0)
	}
	begin := func() *conversation {
		c := &conversation{}
		frame(c, 0, 0, 0, packet.SYN, nil)
		frame(c, 1, 0, 1, packet.SYN|packet.ACK, nil)
		frame(c, 0, 1, 1, packet.ACK, nil)
		return c
	}
	for name, wrong := range map[string]func(c *conversation){
		"outside of the window": func(c *conversation) { frame(c, 0, 60000, 1, packet.ACK, make([]byte, 6000)) },
		"acknowledged too much": func(c *conversation) { frame(c, 0, 1, 1<<17, packet.ACK, nil) },
		"backwards":             func(c *conversation) { frame(c, 0, 0, 1, packet.ACK, []byte{1}) },
		"not acknowledged":      func(c *conversation) { frame(c, 0, 1, 1, packet.ACK, []byte{1}); c.settled() },
		"data after FIN": func(c *conversation) {
			frame(c, 0, 1, 1, packet.ACK|packet.FIN, nil)
			frame(c, 0, 2, 1, packet.ACK, []byte{1})
		},
	} {
		c := begin()
		if c.err != nil {
			t.Fatal(c.err)
		}
		if wrong(c); c.err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// Connections with the same addresses get files of their own, also when more were seen than are remembered; files of a run before
// are replaced.
func TestStreams(t *testing.T) {
	dir := t.TempDir()
	once := func(s *Streams, text string) {
		f := testFlow()
		s.Data(f, 0, []byte(text))
		s.End(f)
	}
	// The second run leaves the files of the first as they are.
	for run := range 2 {
		s := NewStreams(dir, func(err error) { t.Error(err) })
		once(s, fmt.Sprint("a", run))
		once(s, fmt.Sprint("b", run))
		for i := range maxUsed {
			if len(s.used) < maxUsed {
				s.used[fmt.Sprint(i)] = 1
			}
		}
		once(s, fmt.Sprint("c", run))
		if len(s.used) > 10 || s.Err() != nil {
			t.Errorf("%d addresses are remembered, %v", len(s.used), s.Err())
		}
		all, _ := os.ReadDir(dir)
		if len(all) != 3 && run == 0 {
			t.Errorf("%v", all)
		}
		for name, want := range map[string]string{"": "a0", ".2": "b0", ".4": "a1", ".5": "b1"} {
			if name > ".3" && run == 0 {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, "10.0.0.1_40000-10.0.0.2_443"+name+".client"))
			if string(b) != want {
				t.Errorf("run %d: %q, %v", run, b, err)
			}
		}
	}
}

// discard counts frames.
type discard struct {
	frame  []byte
	frames int
}

func (d *discard) Room(n int) []byte {
	d.frame = append(d.frame[:0], make([]byte, n)...)
	return d.frame
}
func (d *discard) Commit(int, int64) { d.frames++ }
func (d *discard) Flush()            {}

// Marks are on all packets, of both directions.
func TestMarks(t *testing.T) {
	for _, o := range []Options{{}, {VLAN: 7}, {MAC: [6]byte{2, 1, 1, 1, 1, 1}}, {VLAN: 4094, MAC: [6]byte{2, 2, 2, 2, 2, 2}}} {
		d, f := &discard{}, testFlow()
		f.Link = [12]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8}
		s := NewSynthetic(d, o)
		for side := range uint8(2) {
			s.Data(f, side, []byte("data"))
			var p packet.Segment
			if packet.Parse(&p, packet.LinkEthernet, d.frame) != packet.TCP || p.VLAN != o.VLAN {
				t.Errorf("%+v, side %d: %x", o, side, d.frame)
			}
			source, want := [6]byte(p.Link[6:]), o.MAC
			if want == [6]byte{} {
				want = [2][6]byte{{2, 0, 0, 0, 0, 8}, {2, 0, 0, 0, 0, 9}}[side]
			}
			if source != want {
				t.Errorf("%+v, side %d: source %x", o, side, source)
			}
		}
	}
}

// Files are not flushed before their end: connections that are over must not pile up until then.
func TestManyWithoutFlush(t *testing.T) {
	s := NewSynthetic(&discard{}, Options{})
	for range 10 * maxDue {
		f := testFlow()
		s.Data(f, 0, []byte("GET"))
		s.End(f)
		if len(s.due) > maxDue {
			t.Fatalf("%d connections are kept", len(s.due))
		}
	}
}

func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected, slow := make(chan net.Addr, 2), make(chan net.Addr, 2)
	var counts Counts
	s := NewServer(l, &counts, ServerEvents{Connected: func(a net.Addr) { connected <- a }, TooSlow: func(a net.Addr) { slow <- a }})
	s.mu.Lock()
	s.limit, s.linger = 8<<20, 100*time.Millisecond
	s.mu.Unlock()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		<-connected
		return c
	}
	quick, sleeper := dial(), dial()
	defer sleeper.Close()
	got := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(quick)
		got <- b
	}()
	core := s.Core()
	var want []byte
	piece := bytes.Repeat([]byte{7}, 60000)
	for i := range 400 { // more than is queued for an idle reader
		copy(core.Room(len(piece)), piece)
		core.Commit(len(piece), int64(i))
		core.Flush()
		want = append(want, piece...)
		if i%100 == 99 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	select {
	case <-slow:
	case <-time.After(time.Minute):
		t.Error("no reader is too slow")
	}
	begin := time.Now()
	s.Close()
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("Close took %v", d)
	}
	// A reader that was too slow as well, on a busy machine, has lost whole packets.
	b := <-got
	if n := len(b) - 24; n < 0 || n%(16+len(piece)) != 0 || n == 0 {
		t.Errorf("%d bytes, which are not whole packets", len(b))
	} else if lost := len(want)/len(piece) - n/(16+len(piece)); lost > 0 && len(slow) == 0 {
		t.Errorf("%d packets lost without a warning", lost)
	}
	if counts.Unread.Load() == 0 {
		t.Error("nothing is counted")
	}
}

// All readers that read nothing share the queue limit of one. Frequent connections therefore take no memory.
func TestServerShares(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan net.Addr, maxReaders)
	var counts Counts
	s := NewServer(l, &counts, ServerEvents{Connected: func(a net.Addr) { connected <- a }})
	const limit = 16 << 20
	s.mu.Lock()
	s.limit, s.linger = limit, 10*time.Millisecond
	s.mu.Unlock()
	defer s.Close()
	for range maxReaders {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		<-connected
	}
	core := s.Core()
	piece := bytes.Repeat([]byte{7}, 60000)
	most := 0
	for i := range 1000 {
		copy(core.Room(len(piece)), piece)
		core.Commit(len(piece), int64(i))
		core.Flush()
		s.mu.Lock()
		held := 0
		for r := range s.readers {
			held += len(r.waiting) + r.writing
		}
		most = max(most, held)
		s.mu.Unlock()
	}
	if most > limit || most < limit/8 {
		t.Errorf("%d readers that sleep keep %d bytes waiting, %d are allowed for all", maxReaders, most, limit)
	}
	if counts.Unread.Load() == 0 {
		t.Error("nothing is counted")
	}
}

// pipes is a listener whose connections have no buffer: a write waits until it is read.
type pipes struct {
	net.Listener
	came chan net.Conn
}

func (l *pipes) Accept() (net.Conn, error) {
	c, ok := <-l.came
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *pipes) Close() error { close(l.came); return nil }

// An idle reader does not block others. When all places are taken, the reader that has been idle for longest is
// dropped, if it was idle long enough. An active reader stays, and if all are active, the new one is refused.
func TestServerEvicts(t *testing.T) {
	l := &pipes{came: make(chan net.Conn)}
	connected, evicted, refused := make(chan net.Addr, 2), make(chan net.Addr, 1), make(chan net.Addr, 1)
	var counts Counts
	s := NewServer(l, &counts, ServerEvents{
		Connected: func(a net.Addr) { connected <- a }, Evicted: func(a net.Addr) { evicted <- a }, Refused: func(a net.Addr) { refused <- a },
	})
	clock := time.Unix(1000, 0)
	pass := func(d time.Duration) {
		s.mu.Lock()
		clock = clock.Add(d)
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.now, s.linger = func() time.Time { return clock }, 10*time.Millisecond
	s.mu.Unlock()
	defer s.Close()
	var its []net.Conn // the server's ends
	connect := func() net.Conn {
		mine, end := net.Pipe()
		its = append(its, end)
		l.came <- end
		return mine
	}
	// until waits for a condition on the readers, by connection.
	until := func(is func(map[net.Conn]*reader) bool) {
		for ok := false; !ok; time.Sleep(time.Millisecond) {
			all := make(map[net.Conn]*reader)
			s.mu.Lock()
			for r := range s.readers {
				all[r.conn] = r
			}
			ok = is(all)
			s.mu.Unlock()
		}
	}
	// giving waits until want readers have output that they do not read.
	giving := func(want int) {
		until(func(all map[net.Conn]*reader) bool {
			n := 0
			for _, r := range all {
				if r.writing > 0 {
					n++
				}
			}
			return n == want
		})
	}
	header := make([]byte, 24)
	var all []net.Conn
	for i := range maxReaders {
		all = append(all, connect())
		<-connected
		until(func(all map[net.Conn]*reader) bool { return all[its[i]].writing > 0 })
		if i == 1 || i == 5 { // these read, the others do not even take the header
			if _, err := io.ReadFull(all[i], header); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Millisecond)
	}
	giving(maxReaders - 2)
	// No reader is stuck for long.
	pass(maxStuck - time.Second)
	late := connect()
	<-refused
	if _, err := late.Read(header); err == nil {
		t.Error("who was refused is given something")
	}
	// The first is, then the third: not the second, which reads.
	pass(time.Second)
	for _, first := range []int{0, 2} {
		c := connect()
		<-connected
		<-evicted
		if _, err := io.ReadFull(c, header); err != nil {
			t.Errorf("the new one is given %v", err)
		}
		until(func(all map[net.Conn]*reader) bool { return all[its[len(its)-1]].writing == 0 })
		until(func(all map[net.Conn]*reader) bool {
			if all[its[first]] != nil {
				t.Errorf("reader %d has its place still", first)
			}
			return true
		})
	}
	for _, i := range []int{1, 5} {
		all[i].SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := all[i].Read(header); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reader %d, which reads: %v", i, err)
		}
		all[i].SetReadDeadline(time.Time{})
	}
	// A reader that takes a little of much data now and then stays, and each of the others is dropped once.
	core := s.Core()
	core.Commit(len(core.Room(3*portion)), 1)
	core.Flush()
	giving(maxReaders)
	pass(maxStuck)
	if _, err := io.ReadFull(all[1], make([]byte, portion)); err != nil {
		t.Fatal(err)
	}
	until(func(all map[net.Conn]*reader) bool { return all[its[1]].since.Equal(clock) })
	for range maxReaders - 1 {
		connect()
		<-connected
		<-evicted
		giving(maxReaders)
	}
	connect()
	<-refused
	until(func(all map[net.Conn]*reader) bool { return len(all) == maxReaders && all[its[1]] != nil })
}

// In a folder where others may write, a link may take the place of a file at any time. The gateway does not
// write elsewhere because of it.
func TestStreamsLinks(t *testing.T) {
	for _, when := range []string{"before", "between", "gaps"} {
		dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
		os.WriteFile(secret, []byte("as it was"), 0o600)
		failed := 0
		s := NewStreams(dir, func(error) { failed++ })
		f := &Flow{Client: netip.MustParseAddrPort("10.0.0.1:1000"), Server: netip.MustParseAddrPort("10.0.0.2:443")}
		name := filepath.Join(dir, "10.0.0.1_1000-10.0.0.2_443.client")
		link := func() {
			os.Remove(name)
			if err := os.Symlink(secret, name); err != nil {
				t.Skip("not run: ", err)
			}
		}
		if when == "before" {
			s.open(f) // it has looked which names are free
			link()
		}
		s.Data(f, 0, []byte("plaintext"))
		if when == "gaps" {
			name = filepath.Join(dir, "10.0.0.1_1000-10.0.0.2_443.gaps")
		}
		if when != "before" {
			link()
		}
		s.Data(f, 0, []byte("more"))
		s.Gap(f, 0, 10)
		if b, _ := os.ReadFile(secret); string(b) != "as it was" {
			t.Errorf("%s: the other file is %q now", when, b)
		}
		if failed != 1 || s.Err() == nil {
			t.Errorf("%s: %d errors were told", when, failed)
		}
	}
}
