package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
)

const testdata = "../../testdata"

// collector keeps the plaintext of every connection.
type collector struct {
	streams []*stream
	open    map[*output.Flow]*stream
}

type piece struct {
	gap  int // bytes missing before it
	data []byte
}

type stream struct {
	name   string
	pieces [2][]piece
	gap    [2]int
	ended  bool
}

func (s *stream) bytes(side int) []byte {
	var b []byte
	for _, p := range s.pieces[side] {
		b = append(b, p.data...)
	}
	return b
}

func (s *stream) gaps() (n int) {
	for side := range 2 {
		for _, p := range s.pieces[side] {
			if p.gap > 0 {
				n++
			}
		}
		if s.gap[side] > 0 {
			n++
		}
	}
	return n
}

func (c *collector) of(f *output.Flow) *stream {
	if c.open == nil {
		c.open = make(map[*output.Flow]*stream)
	}
	s := c.open[f]
	if s == nil {
		s = &stream{name: fmt.Sprintf("%v-%v", f.Client, f.Server)}
		c.open[f] = s
		c.streams = append(c.streams, s)
	}
	return s
}

func (c *collector) Data(f *output.Flow, side uint8, data []byte) {
	s := c.of(f)
	s.pieces[side] = append(s.pieces[side], piece{s.gap[side], bytes.Clone(data)})
	s.gap[side] = 0
}
func (c *collector) Gap(f *output.Flow, side uint8, n int) { c.of(f).gap[side] += n }
func (c *collector) End(f *output.Flow) {
	if s := c.open[f]; s != nil {
		s.ended = true
	}
	delete(c.open, f)
}
func (c *collector) Flush() {}

// keysOf returns the key log of a capture.
func keysOf(t testing.TB, name string) []byte {
	base, _, _ := strings.Cut(name, ".")
	if strings.HasSuffix(name, "-dsb.pcapng") {
		return nil
	}
	for _, n := range []string{base, strings.TrimSuffix(strings.TrimSuffix(base, "-lost1"), "-reordered")} {
		if b, err := os.ReadFile(filepath.Join(testdata, n+".keys")); err == nil {
			return b
		}
	}
	t.Fatalf("%s has no key log", name)
	return nil
}

// decrypt reads a capture with some workers.
func decrypt(t testing.TB, file io.Reader, keyLog []byte, workers int) (*collector, Stats) {
	t.Helper()
	store := keys.NewStore(1000)
	log := keys.Log{Store: store}
	log.Write(keyLog)
	log.Flush()
	r, err := capture.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	r.Secrets = func(b []byte) { log.Write(b); log.Flush() }
	var all []*Worker
	var sinks []*collector
	for range workers {
		c := &collector{}
		sinks = append(sinks, c)
		all = append(all, NewWorker(store, c, Options{Flows: 1000}))
	}
	if err := Run(r, all, func() bool { return false }); err != nil && err != capture.ErrTruncated {
		t.Fatal(err)
	}
	merged, stats := &collector{}, Stats{}
	for i, c := range sinks {
		merged.streams = append(merged.streams, c.streams...)
		stats.Add(&all[i].Stats)
	}
	return merged, stats
}

// expectation is the content of a capture according to tshark.
type expectation struct {
	Name           string // client-server
	Client, Server string // SHA-256
	Sizes          [2]int
}

var update = flag.Bool("update", false, "write testdata/expected.json with tshark")

func expectations(t *testing.T) map[string][]expectation {
	b, err := os.ReadFile(filepath.Join(testdata, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e map[string][]expectation
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func captures(t *testing.T) []string {
	names, err := filepath.Glob(filepath.Join(testdata, "*.pcap*"))
	if err != nil || len(names) < 15 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

func summary(streams []*stream) []expectation {
	var es []expectation
	for _, s := range streams {
		c, v := s.bytes(0), s.bytes(1)
		hc, hv := sha256.Sum256(c), sha256.Sum256(v)
		es = append(es, expectation{s.name, hex.EncodeToString(hc[:]), hex.EncodeToString(hv[:]), [2]int{len(c), len(v)}})
	}
	sort.Slice(es, func(i, j int) bool { return es[i].Name < es[j].Name })
	return es
}

// tshark shows this data, and the gateway must not: a server that rejects 0-RTT data has never read it.
const rejected = "s-0rtt-rejected.pcap"

// tshark recovers less than possible around a lost segment.
const lost = "s-aes128-lost1.pcap"

func TestCapturesAsTshark(t *testing.T) {
	want := expectations(t)
	for _, name := range captures(t) {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				f, err := os.Open(filepath.Join(testdata, name))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				got, stats := decrypt(t, f, keysOf(t, name), workers)
				if stats.TLS.BadRecords != 0 || stats.Undecrypted != 0 {
					t.Errorf("%d bad records, %d connections not decrypted", stats.TLS.BadRecords, stats.Undecrypted)
				}
				switch name {
				case rejected:
					if len(got.streams) != 0 || stats.Decrypted != 1 || stats.TLS.EarlyDropped != 53 {
						t.Errorf("%d streams, %d decrypted, %d bytes of 0-RTT dropped", len(got.streams), stats.Decrypted, stats.TLS.EarlyDropped)
					}
					return
				case lost:
					checkLost(t, got, stats)
					return
				}
				es := summary(got.streams)
				if len(es) != len(want[name]) {
					t.Fatalf("%d connections with plaintext, tshark found %d", len(es), len(want[name]))
				}
				for i := range es {
					if es[i] != want[name][i] {
						t.Errorf("got  %+v\nwant %+v", es[i], want[name][i])
					}
				}
				for _, s := range got.streams {
					if s.gaps() != 0 || !s.ended {
						t.Errorf("%s: %d gaps, ended %v", s.name, s.gaps(), s.ended)
					}
				}
			})
		}
	}
}

// checkLost compares with the same capture without loss: two records are missing, and one gap of their size is
// reported.
func checkLost(t *testing.T, got *collector, stats Stats) {
	f, err := os.Open(filepath.Join(testdata, "s-aes128.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full, _ := decrypt(t, f, keysOf(t, "s-aes128.pcap"), 1)
	if len(got.streams) != 1 {
		t.Fatalf("%d streams", len(got.streams))
	}
	s := got.streams[0]
	if !bytes.Equal(s.bytes(0), full.streams[0].bytes(0)) {
		t.Error("what the client sent differs")
	}
	want, at, gaps := full.streams[0].bytes(1), 0, 0
	for _, p := range s.pieces[1] {
		if at += p.gap; p.gap > 0 {
			gaps++
			if p.gap != 2<<14 {
				t.Errorf("a gap of %d bytes, not of two records", p.gap)
			}
		}
		if !bytes.Equal(want[at:at+len(p.data)], p.data) {
			t.Fatalf("%d bytes at %d differ", len(p.data), at)
		}
		at += len(p.data)
	}
	if at != len(want) || gaps != 1 || stats.TLS.Resyncs != 1 || stats.Holes != 1 {
		t.Errorf("ends at %d of %d, %d gaps, %d holes, %d resynchronisations", at, len(want), gaps, stats.Holes, stats.TLS.Resyncs)
	}
}

// tshark returns the streams that tshark extracts.
func tshark(t *testing.T, name string, keyLog []byte) []*stream {
	path := filepath.Join(testdata, name)
	log := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(log, keyLog, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		args = append([]string{"-r", path, "-o", "tls.keylog_file:" + log, "-o", "tcp.reassemble_out_of_order:TRUE",
			"-d", "tcp.port==444,tls", "-d", "tcp.port==445,tls", "-d", "tcp.port==4433,tls"}, args...)
		out, err := exec.Command("tshark", args...).Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		return string(out)
	}
	// The sender of each connection's SYN.
	var streams []*stream
	fields := run("-Y", "tcp.flags.syn==1 && tcp.flags.ack==0", "-T", "fields", "-e", "tcp.stream", "-e", "ip.src",
		"-e", "tcp.srcport", "-e", "ip.dst", "-e", "tcp.dstport")
	follow := []string{"-q"}
	for i, line := range strings.Split(strings.TrimSpace(fields), "\n") {
		f := strings.Fields(line)
		if f[0] != fmt.Sprint(i) {
			t.Fatalf("connection %d is %s", i, f[0])
		}
		streams = append(streams, &stream{name: fmt.Sprintf("%s:%s-%s:%s", f[1], f[2], f[3], f[4])})
		follow = append(follow, "-z", "follow,tls,raw,"+f[0])
	}
	// The order of follow taps is that of their output, reversed in some versions. The filter line shows which.
	current := -1
	node0 := ""
	for _, line := range strings.Split(run(follow...), "\n") {
		switch {
		case strings.HasPrefix(line, "Filter: tcp.stream eq "):
			fmt.Sscanf(line, "Filter: tcp.stream eq %d", &current)
		case strings.HasPrefix(line, "Node 0: "):
			node0 = strings.TrimPrefix(line, "Node 0: ")
		case strings.HasPrefix(line, "Node 1: "), line == "", strings.HasPrefix(line, "="), strings.HasPrefix(line, "Follow:"):
		default:
			// Lines of node 1 are indented. Node 0 sent data first.
			side := 0
			if strings.HasPrefix(line, "\t") {
				side = 1
			}
			if !strings.HasPrefix(streams[current].name, node0+"-") {
				side = 1 - side
			}
			b, err := hex.DecodeString(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			s := streams[current]
			s.pieces[side] = append(s.pieces[side], piece{data: b})
		}
	}
	kept := streams[:0]
	for _, s := range streams {
		if len(s.bytes(0))+len(s.bytes(1)) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// TestTshark compares the stored expectations with tshark's output. A capture takes seconds. Without -long, the test
// reads only one connection with each TLS version and kind of cipher.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("not run: there is no tshark")
	}
	all := make(map[string][]expectation)
	names := []string{"s-12chacha.pcap", "s-12gcm.pcap", "s-aes128-dsb.pcapng", "s-ccm.pcap", "s-chacha.pcap", "s-keyupdate.pcap"}
	if *update || *long > 0 {
		names = captures(t)
	}
	for _, name := range names {
		all[name] = summary(tshark(t, name, keysOf(t, name)))
	}
	if *update {
		b, _ := json.MarshalIndent(all, "", "\t")
		if err := os.WriteFile(filepath.Join(testdata, "expected.json"), append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := expectations(t)
	for name, es := range all {
		if fmt.Sprint(es) != fmt.Sprint(want[name]) {
			t.Errorf("%s: tshark has %v\nexpected.json %v", name, es, want[name])
		}
	}
}
