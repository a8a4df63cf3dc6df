package output

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// eachFrame calls each for all packets of captures, file by file in the order of their numbers.
func eachFrame(t *testing.T, r *Roll, secrets func(file int, log []byte), each func(file int, f capture.Frame)) (files int) {
	t.Helper()
	numbers, err := r.numbers()
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range numbers {
		b, err := os.ReadFile(r.at(n))
		if err != nil {
			t.Fatal(err)
		}
		in, err := capture.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", r.at(n), err)
		}
		in.Secrets = func(log []byte) {
			if secrets != nil {
				secrets(i, log)
			}
		}
		for block := new(capture.Block); ; {
			if err := in.ReadBlock(block); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", r.at(n), err)
			}
			for _, f := range block.Frames {
				each(i, f)
			}
		}
	}
	return len(numbers)
}

// Four cores write to one capture, which continues in other files because of its size and on request. Each packet is
// there once, those of each core are in order, and each file is complete.
func TestLanes(t *testing.T) {
	const cores, packets = 4, 4000
	for _, name := range []string{"plain.pcap", "plain.pcapng"} {
		r, err := NewRoll(filepath.Join(t.TempDir(), name), Rule{Size: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		f := NewFile(r, strings.HasSuffix(name, "ng"), func(err error) { t.Error(err) })
		r.Header = f.Header
		var running sync.WaitGroup
		for core := range cores {
			p := f.Lane()
			running.Add(1)
			go func() {
				defer running.Done()
				for i := range packets {
					n := 60 + i%1400
					b := p.Room(n)
					clear(b)
					binary.LittleEndian.PutUint32(b, uint32(core))
					binary.LittleEndian.PutUint32(b[4:], uint32(i))
					p.Commit(n, int64(i))
					if i%100 == core {
						p.Flush()
					}
					if i == packets/2 && core == 0 {
						r.Next()
					}
				}
			}()
		}
		running.Wait()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var next [cores]uint32
		files := eachFrame(t, r, nil, func(file int, f capture.Frame) {
			core, i := binary.LittleEndian.Uint32(f.Data), binary.LittleEndian.Uint32(f.Data[4:])
			if next[core] != i || len(f.Data) != 60+int(i)%1400 || f.Time != int64(i) {
				t.Fatalf("file %d: core %d, packet %d of %d bytes after %d", file, core, i, len(f.Data), next[core])
			}
			next[core]++
		})
		for core, n := range next {
			if n != packets {
				t.Errorf("%s: %d packets of core %d", name, n, core)
			}
		}
		if files < 4 {
			t.Errorf("%s: %d files", name, files)
		}
	}
}

// stuck is a disk that takes nothing until it is told to.
type stuck struct {
	begun, goOn chan struct{}
	once        sync.Once
}

func (s *stuck) Write(b []byte) (int, error) {
	if len(b) > 100 { // not the header
		s.once.Do(func() { close(s.begun) })
		<-s.goOn
	}
	return len(b), nil
}

// While the disk accepts no data, the data of one core does not block another until that core's own memory is full.
// Cores that write directly do block, which shows that the test can fail.
func TestLanesWaitForNobody(t *testing.T) {
	for _, lane := range []bool{true, false} {
		disk := &stuck{begun: make(chan struct{}), goOn: make(chan struct{})}
		f := NewFile(disk, false, func(err error) { t.Error(err) })
		core := func() Packets {
			if lane {
				return f.Lane()
			}
			return f.Core()
		}
		write := func(p Packets, bytes int) {
			for range bytes / 1000 {
				p.Room(1000)
				p.Commit(1000, 1)
				p.Flush()
			}
		}
		a, b, done := core(), core(), make(chan struct{})
		var running sync.WaitGroup
		running.Add(2)
		go func() { defer running.Done(); write(a, 1000) }()
		<-disk.begun
		go func() { defer running.Done(); write(b, fileBuffers*fileBuffer/2); close(done) }()
		patience := 50 * time.Millisecond // there is nothing that could let it go on
		if lane {
			patience = time.Minute
		}
		select {
		case <-done:
			if !lane {
				t.Error("a core that writes by itself does not wait for the disk: this test sees nothing")
			}
		case <-time.After(patience):
			if lane {
				t.Error("one core waits for what another has written")
			}
		}
		close(disk.goOn)
		running.Wait()
		f.Close()
		if want := uint64(24 + (1+fileBuffers*fileBuffer/2/1000)*1016); f.Bytes != want {
			t.Errorf("%d bytes of %d", f.Bytes, want)
		}
	}
}

// Four cores archive their own packets, and report the secrets of a connection before the packets have waited. In
// each file a packet comes after the secrets that it needs, unless an earlier file has them. The packets of a core are
// in order.
func TestArchiveCores(t *testing.T) {
	const cores, packets, perConn, wait = 4, 3000, 50, 100
	store := keys.NewStore(cores * packets)
	r, err := NewRoll(filepath.Join(t.TempDir(), "all.pcapng"), Rule{Size: 300 << 10})
	if err != nil {
		t.Fatal(err)
	}
	a := NewArchive(r, store, wait, func(err error) { t.Error(err) })
	r.Header = a.Header
	var running sync.WaitGroup
	for core := range cores {
		c := a.Core(cores)
		running.Add(1)
		go func() {
			defer running.Done()
			body := make([]byte, 200)
			var f *Flow
			now := new(int64)
			for i := range packets {
				conn := byte(i / perConn)
				*now = int64(i)
				binary.LittleEndian.PutUint32(body, uint32(core))
				binary.LittleEndian.PutUint32(body[4:], uint32(i))
				link := packet.LinkEthernet
				if i%7 == core && i > packets/2 {
					link = packet.LinkRaw
				}
				c.Frames([]capture.Frame{{Time: *now, Data: body, Link: link}})
				switch i % perConn {
				case 0:
					f = &Flow{Time: now, About: &about.Connection{Random: [32]byte{byte(core), conn}}}
				case 20: // keys are late
					store.Add(&f.About.Random, keys.ClientTraffic, bytes.Repeat([]byte{1}, 32))
					c.Opened(f)
				}
			}
		}()
	}
	running.Wait()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	known := make(map[[2]byte]bool)
	var next [cores]uint32
	raw := 0
	files := eachFrame(t, r, func(_ int, log []byte) {
		for line := range strings.Lines(string(log)) {
			var random [2]byte
			if _, err := fmt.Sscanf(strings.Fields(line)[1], "%02x%02x", &random[0], &random[1]); err != nil {
				t.Fatal(err)
			}
			known[random] = true
		}
	}, func(file int, f capture.Frame) {
		core, i := binary.LittleEndian.Uint32(f.Data), binary.LittleEndian.Uint32(f.Data[4:])
		if next[core] != i {
			t.Fatalf("file %d: core %d, packet %d after %d", file, core, i, next[core])
		}
		next[core]++
		if !known[[2]byte{byte(core), byte(i / perConn)}] {
			t.Fatalf("file %d: core %d, packet %d, and its secret is not there yet", file, core, i)
		}
		if want := i%7 == core && i > packets/2; want != (f.Link == packet.LinkRaw) {
			t.Fatalf("file %d: core %d, packet %d of link type %d", file, core, i, f.Link)
		}
		if f.Link == packet.LinkRaw {
			raw++
		}
	})
	for core, n := range next {
		if n != packets {
			t.Errorf("%d packets of core %d", n, core)
		}
	}
	if files < 4 || raw == 0 {
		t.Errorf("%d files, %d packets of another link type", files, raw)
	}
}

// More packets than fit into memory are passed on at once, and none is lost.
func TestArchiveFull(t *testing.T) {
	var out countBytes
	a := NewArchive(&out, keys.NewStore(1), 0, func(err error) { t.Error(err) })
	c := a.Core(1 << 20) // which leaves a few chunks
	body := make([]byte, 60000)
	const packets = 200
	for range packets {
		c.Frames([]capture.Frame{{Time: 1, Data: body, Link: packet.LinkEthernet}})
	}
	if c.made > fewChunks {
		t.Errorf("%d chunks", c.made)
	}
	if err := a.Close(); err != nil || out.n < packets*len(body) {
		t.Errorf("%d bytes of %d, %v", out.n, packets*len(body), err)
	}
}

type countBytes struct{ n int }

func (c *countBytes) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }

// slowDisk takes a while for each piece.
type slowDisk struct{}

func (slowDisk) Write(b []byte) (int, error) {
	if len(b) > 100 {
		time.Sleep(2 * time.Millisecond)
	}
	return len(b), nil
}

// BenchmarkOutput lets cores write blocks of 150 packets of 1,500 bytes to one capture. The disk takes 2 ms for a
// piece, and could take at least twice as many. The benchmark measures how long its output keeps a core from reading,
// per packet. shared is the time of all cores if each writes directly.
func BenchmarkOutput(b *testing.B) {
	for _, cores := range []int{1, 2, 4} {
		for _, way := range []string{"shared", "lanes"} {
			b.Run(fmt.Sprintf("%s-%d", way, cores), func(b *testing.B) {
				f := NewFile(slowDisk{}, false, func(err error) { b.Error(err) })
				const block, rounds = 150, 20
				var running sync.WaitGroup
				kept := make([]time.Duration, cores)
				for core := range cores {
					p := f.Core()
					if way == "lanes" {
						p = f.Lane()
					}
					running.Add(1)
					go func() {
						defer running.Done()
						begin := time.Now()
						for round := range rounds {
							time.Sleep(time.Until(begin.Add(time.Duration(round*cores) * 6 * time.Millisecond))) // the next block arrives
							at := time.Now()
							for range block {
								p.Room(1500)
								p.Commit(1500, 1)
							}
							p.Flush()
							kept[core] += time.Since(at)
						}
					}()
				}
				running.Wait()
				b.StopTimer()
				f.Close()
				var all time.Duration
				for _, d := range kept {
					all += d
				}
				b.ReportMetric(float64(all.Nanoseconds())/float64(rounds*block*cores), "ns-kept/packet")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
