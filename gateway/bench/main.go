// The command bench measures the gateway on one core and prints which figures are below their floor.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

var (
	short   = flag.Bool("short", false, "less work, no floors: to see that it runs")
	floors  = flag.Bool("floors", true, "fail if a figure is below its floor")
	only    = flag.String("run", "", "only figures whose name contains this")
	profile = flag.String("cpuprofile", "", "write a profile of the measurement, or of the last of several")
	gateway = flag.String("gateway", "", "the sealane-gateway command, for the comparison with tshark")
	without = flag.String("without", "", "this command, built with -tags trusting, for what authenticated reassembly costs")
	attack  = flag.String("attack", "", "folder of the suite of attacks, for what forged packets cost")
	goTool  = flag.String("go", "go", "the go command, which runs benchmarks of that folder")
	single  = flag.String("figure", "", "measure what begins with this figure in this process, and print its values as JSON")
	out     = flag.String("out", "", "write the table to this file as well")
	verbose = flag.Bool("v", false, "say more")
)

// Names of figures that others rest on.
const (
	bulkGCM          = "decrypt, 16 KB records, AES-128-GCM"
	recordsGCM       = "200-byte records of 1,000 flows, AES-128-GCM"
	shortConnections = "short connections"
)

// A measurement has figures, each with a value; without values, it cannot run here. Each has a process of its own, as heaps
// and huge pages of one before would change its speed.
type measurement struct {
	measure func() []value
	figures []figure
}

// A value of a figure, with the median of the pieces of its work: 0 if that is not known.
type value struct{ Value, Median float64 }

func one(v float64) []value { return []value{{Value: v}} }

// A figure is a line of the table. Absolute figures have no floor, because machines and their load differ. Floors
// apply to ratios to something that is measured in alternation.
type figure struct {
	name, unit string
	floor      float64 // 0: no floor; if negative, the maximum
	bound      string
}

func (f *figure) fails(v float64) bool { return v < f.floor || f.floor < 0 && v > -f.floor }

func (f *figure) limit() string {
	if f.floor < 0 {
		return fmt.Sprintf("at most %g", -f.floor)
	}
	if f.floor == 0 {
		return ""
	}
	return fmt.Sprint(f.floor)
}

var measurements = []measurement{
	{func() []value { return download(traffic.AES128, false) }, []figure{
		{bulkGCM, "Gbit/s", 0, "parsing, copying segments into records, AES-GCM: about alike"},
		{"16 KB records, AES-128-GCM: of the speed of bare records", "ratio", 0.35, "parsing; bare records are copied from memory and opened"},
	}},
	{func() []value { return download(traffic.ChaCha20, false) }, []figure{
		{"decrypt, 16 KB records, ChaCha20-Poly1305", "Gbit/s", 0, "ChaCha20-Poly1305"},
		{"16 KB records, ChaCha20-Poly1305: of the speed of bare records", "ratio", 0.5, "the same"},
	}},
	{func() []value { return download(traffic.AES128, true) }, []figure{{"the same with pcap output, AES-128-GCM", "Gbit/s", 0, "copying, checksums"}}},
	{func() []value { return download(traffic.ChaCha20, true) }, []figure{{"the same with pcap output, ChaCha20-Poly1305", "Gbit/s", 0, "ChaCha20-Poly1305, then copying and checksums"}}},
	{func() []value { return records(traffic.AES128, 200, 1000) }, []figure{{recordsGCM, "M records/s", 0, "work per packet: parser, table, sums"}}},
	{func() []value { return records(traffic.ChaCha20, 200, 1000) }, []figure{{"200-byte records of 1,000 flows, ChaCha20-Poly1305", "M records/s", 0, "ChaCha20-Poly1305, side by side in vectors"}}},
	{func() []value { return datagrams(traffic.AES128) }, []figure{{"QUIC, datagrams of 1,200 bytes, AES-128-GCM", "Gbit/s", 0, "work per packet: parser, header masks, AES-GCM, streams"}}},
	{func() []value { return datagrams(traffic.ChaCha20) }, []figure{{"QUIC, datagrams of 1,200 bytes, ChaCha20-Poly1305", "Gbit/s", 0, "ChaCha20-Poly1305"}}},
	{connections, []figure{{shortConnections, "thousand/s", 0, "key schedules: 8 derivations, 4 AEADs"}}},
	{flows, []figure{{"1 M flows, of the speed of 1,000", "ratio", 0.8, "memory: three cache lines for a packet, asked for ahead"}}},
	{lateKeys, []figure{{"keys up to 40 ms late: connections decrypted", "%", 100, "how long ciphertext may wait: 50 ms"}}},
	{workers, []figure{
		{"1 worker on a processor of its own, 16 KB records, AES-128-GCM", "Gbit/s, elapsed", 0, "as the first row; by the clock on the wall"},
		{"2 workers on a processor each", "Gbit/s, elapsed", 0, "memory, and other load"},
		{"2 workers, of the speed of 1, alternating", "ratio", 1.8, "memory, and other load; two processors may be one core's threads"},
	}},
	{func() []value { return beside(bulkGCM) }, []figure{{"authenticated reassembly: of the speed without it, 16 KB records", "ratio", 0.9, "what is due takes the same way"}}},
	{func() []value { return beside(recordsGCM) }, []figure{{"authenticated reassembly: of the speed without it, 200-byte records", "ratio", 0.9, "what is due takes the same way"}}},
	{func() []value { return beside(shortConnections) }, []figure{{"authenticated reassembly: of the speed without it, short connections", "ratio", 0.9, "checksums and copies of the handshake"}}},
	{forged, []figure{{"forged packets: the dearest kind, of the time of ordinary ones as long", "times", -3, "trials of copies, which have a budget"}}},
	{func() []value { return halfOpen(0) }, []figure{{"memory of live --memory 1024: 1 M half-open connections", "MiB", -1024, "a small table of their own"}}},
	{func() []value { return halfOpen(700) }, []figure{{"memory of live --memory 1024: 1 M with 700 bytes of a hello", "MiB", -1024, "the table, and held segments"}}},
	{func() []value { return besideTshark(records16K, true, "-q", "-z", "io,stat,0") }, []figure{{"against tshark, same capture", "times", 10, "tshark; here reading the file, ciphers, copying, checksums"}}},
	{func() []value { return besideTshark(quicDatagrams, false, "-q", "-z", "io,stat,0,quic.stream_data") }, []figure{{"against tshark, QUIC, datagrams of 1,200 bytes: both only count", "times", 8, "tshark; here ciphers 30 %, reading the file 18 %, starting 12 %"}}},
	{func() []value {
		return besideTshark(quicDatagrams, true, "-T", "fields", "-e", "quic.stream_data", "-Y", "quic.stream_data")
	}, []figure{{"against tshark, QUIC, the same: both write the streams", "times", 20, "tshark, which writes digits"}}},
	{veth, []figure{{"live on veth, 1500 B, what the reading core can take", "Mpps", 0, "ciphers, and reading the ring; from a run of 300,000 packets without a drop"}}},
}

// measured returns the values of the measurement whose first figure has this name. A process of a command measures
// them; the command is this one or a build of it with other tags.
func measured(command, name string) (values []value) {
	cmd := exec.Command(command, append(os.Args[1:], "-figure", name)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err == nil, "%s: %v", name, err)
	err = json.Unmarshal(out, &values)
	must(err == nil, "%s: %v", name, err)
	return values
}

func main() {
	flag.Parse()
	if *single != "" {
		alone()
		return
	}
	self, err := os.Executable()
	must(err == nil, "%v", err)
	var table strings.Builder
	line := func(format string, args ...any) {
		fmt.Printf(format, args...)
		fmt.Fprintf(&table, format, args...)
	}
	failures := 0
	line("| one core | measured | in the median | floor | what bounds it |\n|---|---|---|---|---|\n")
	for _, m := range measurements {
		if !slices.ContainsFunc(m.figures, func(f figure) bool { return strings.Contains(f.name, *only) }) {
			continue
		}
		values := measured(self, m.figures[0].name)
		for i, f := range m.figures {
			if len(values) == 0 {
				line("| %s | not run | | %s %s | %s |\n", f.name, f.limit(), f.unit, f.bound)
				continue
			}
			v, mark, middle := values[i], "", ""
			if f.fails(v.Value) && !*short {
				mark = " (below)"
				if f.floor < 0 {
					mark = " (above)"
				}
				failures++
			}
			if v.Median > 0 {
				middle = fmt.Sprintf("%.3g", v.Median)
			}
			line("| %s | %.3g %s%s | %s | %s | %s |\n", f.name, v.Value, f.unit, mark, middle, f.limit(), f.bound)
		}
	}
	if *out != "" {
		text := fmt.Sprintf("# The TLS gateway\n\n`make bench-gateway` on %s, %s. Processor time of one core, by the fastest tenth of many pieces of "+
			"work; the median of these pieces tells how busy the machine was.\n\n%s",
			strings.TrimSuffix(filepath.Base(*out), ".md"), runtime.Version(), table.String())
		must(os.WriteFile(*out, []byte(text), 0o644) == nil, "cannot write %s", *out)
	}
	if failures > 0 && *floors && !*short {
		os.Exit(1)
	}
}

// alone writes the values of one measurement to standard output.
func alone() {
	if *profile != "" {
		f, err := os.Create(*profile)
		must(err == nil, "%v", err)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	runtime.GOMAXPROCS(1) // all on one core, the collector too
	i := slices.IndexFunc(measurements, func(m measurement) bool { return m.figures[0].name == *single })
	must(i >= 0, "no measurement begins with the figure %q", *single)
	json.NewEncoder(os.Stdout).Encode(measurements[i].measure())
}

// count is a Sink that only counts.
type count struct{ bytes, pieces, gaps uint64 }

func (c *count) Data(_ *output.Flow, _ uint8, data []byte) { c.bytes += uint64(len(data)); c.pieces++ }
func (c *count) Gap(*output.Flow, uint8, int)              { c.gaps++ }
func (c *count) End(*output.Flow)                          {}
func (c *count) Flush()                                    {}

func repeats() int {
	if *short {
		return 1
	}
	return 7
}

// processor returns the processor time of this process. Unlike wall-clock time, it does not include time that other
// programs spend on the core.
func processor() time.Duration {
	if *profile != "" {
		return time.Duration(time.Now().UnixNano()) // profiling spoils that clock
	}
	var t unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) == nil, "no processor time")
	return time.Duration(t.Nano())
}

// best is alternating for one kind of work.
func best(n int, sizes []float64, prepare func() func(piece int)) []value {
	return alternating(n, sizes, func() []func(int) { return []func(int){prepare()} })
}

// alternating returns the speed of each kind of work, in units of their size per second, that the fastest tenth of
// its pieces reached. The processor clock is sometimes wrong, above all in virtual machines, and a piece then seems
// to take less time than is possible. The kinds alternate piece by piece, so a slow phase of the machine slows all of
// them. The work is done several times, each time with functions from prepare.
func alternating(n int, sizes []float64, prepare func() []func(piece int)) (speeds []value) {
	var all [][]float64
	for range n {
		kinds := prepare()
		all = slices.Grow(all, len(kinds))[:len(kinds)]
		runtime.GC()
		for i, size := range sizes {
			for k, f := range kinds {
				begin := processor()
				f(i)
				all[k] = append(all[k], (processor()-begin).Seconds()/size)
			}
		}
	}
	for _, times := range all {
		sort.Float64s(times)
		speeds = append(speeds, value{1 / times[len(times)/10], 1 / times[len(times)/2]})
	}
	return speeds
}

// inOnePlace moves frames into one block of memory, one after the other, as in a ring or a file.
func inOnePlace(frames []capture.Frame) {
	size := 0
	for _, f := range frames {
		size += 32 + (len(f.Data)+15)&^15
	}
	memory := make([]byte, size+4<<20)
	flow.Huge(memory)
	at := 2 << 20
	for i := range frames {
		at += 32 // a header of the capture
		n := copy(memory[at:], frames[i].Data)
		frames[i].Data = memory[at : at+n : at+n]
		at += (n + 15) &^ 15
	}
}

// pieces cuts frames into pieces of about each frames, and returns the size of each piece by a measure.
func pieces(frames []capture.Frame, each int, measure func(capture.Frame) float64) (parts [][]capture.Frame, sizes []float64) {
	for len(frames) > 0 {
		n := min(each, len(frames))
		size := 0.0
		for _, f := range frames[:n] {
			size += measure(f)
		}
		parts, sizes = append(parts, frames[:n]), append(sizes, size)
		frames = frames[n:]
	}
	return parts, sizes
}

func store(sessions ...*traffic.Session) *keys.Store {
	s := keys.NewStore(1 << 20)
	log := keys.Log{Store: s}
	for _, x := range sessions {
		log.Write(x.KeyLog())
	}
	return s
}

func must(ok bool, what string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, what+"\n", args...)
		os.Exit(1)
	}
}

// bare returns a function that copies records from memory and opens them, with nothing around it.
func bare(suite uint16) func(records int) {
	key := make([]byte, 32)
	a, err := chacha20poly1305.New(key)
	if suite == traffic.AES128 {
		a, err = aesgcm.New(key[:16])
	}
	must(err == nil, "%v", err)
	nonce, text := make([]byte, 12), make([]byte, 1<<14)
	const kept = 4096 // 64 MB, more than caches have
	sealed := a.Seal(nil, nonce, text, nil)
	memory, in, at := make([]byte, kept*len(sealed)), make([]byte, len(sealed)), 0
	flow.Huge(memory)
	for i := range kept {
		copy(memory[i*len(sealed):], sealed)
	}
	return func(records int) {
		for range records {
			copy(in, memory[at*len(in):])
			at = (at + 1) % kept
			_, err := a.Open(text[:0], nonce, in, nil)
			must(err == nil, "%v", err)
		}
	}
}

// download returns Gbit/s of a download over eight connections, and its ratio to the speed of bare records.
func download(suite uint16, pcap bool) []value {
	r := rand.New(rand.NewPCG(1, 1))
	const conns = 8
	total := 96 << 20
	if *short {
		total = 2 << 20
	}
	var frames []capture.Frame
	var sessions []*traffic.Session
	var cs []*traffic.Conn
	for i := range conns {
		s, c := traffic.NewSession(suite, r), traffic.NewConn(i, &frames)
		c.Handshake(s, 1000)
		sessions, cs = append(sessions, s), append(cs, c)
	}
	start := len(frames)
	data := make([]byte, 4<<14)
	for n := 0; n < total; n += len(data) {
		i := n / len(data) % conns
		cs[i].Send(traffic.Server, sessions[i].Data(traffic.Server, data, 1<<14))
	}
	inOnePlace(frames)
	parts, sizes := pieces(frames[start:], 4096, func(f capture.Frame) float64 { return float64(len(f.Data)) * 8 / 1e9 })
	null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	must(err == nil, "%v", err)
	defer null.Close()
	open := bare(suite)
	v := alternating(repeats(), sizes, func() []func(int) {
		c := &count{}
		var sink output.Sink = c
		if pcap {
			file := output.NewFile(null, false, func(err error) { must(false, "%v", err) })
			sink = output.Many{c, output.NewSynthetic(file.Core(), output.Options{})}
		}
		w := engine.NewWorker(store(sessions...), sink, engine.Options{Flows: 1000})
		w.Frames(frames[:start])
		return []func(int){func(i int) {
			w.Frames(parts[i])
			if i == len(parts)-1 {
				must(c.bytes == uint64(total) && c.gaps == 0, "%d bytes of %d, %+v", c.bytes, total, w.Snapshot())
			}
		}, func(i int) { open(int(sizes[i] * 1e9 / 8 / (1 << 14))) }}
	})
	return []value{v[0], {Value: v[0].Value / v[1].Value}}
}

// datagrams returns Gbit/s of datagrams of 1,200 bytes, of eight connections of QUIC.
const datagramBytes = 1200

func datagrams(suite uint16) []value {
	r := rand.New(rand.NewPCG(1, 1))
	const conns, size = 8, datagramBytes
	total := 64 << 10
	if *short {
		total = 2 << 10
	}
	var frames []capture.Frame
	var sessions []*traffic.Session
	var qs []*traffic.QUIC
	for i := range conns {
		s := traffic.NewSession(suite, r)
		q, err := traffic.NewQUIC(i, s, &frames)
		must(err == nil, "%v", err)
		sessions, qs = append(sessions, s), append(qs, q)
	}
	start := len(frames)
	data := make([]byte, size-traffic.QUICOverhead)
	for i := range total {
		must(qs[i/4%conns].Send(data) == nil, "a packet cannot be made")
	}
	inOnePlace(frames)
	parts, sizes := pieces(frames[start:], 4096, func(capture.Frame) float64 { return size * 8 / 1e9 })
	return best(repeats(), sizes, func() func(int) {
		c := &count{}
		w := engine.NewWorker(store(sessions...), c, engine.Options{Flows: 1000})
		w.Frames(frames[:start])
		return func(i int) {
			w.Frames(parts[i])
			if i == len(parts)-1 {
				must(c.bytes == uint64(total*len(data)) && c.gaps == 0, "%d bytes of %d, %+v", c.bytes, total*len(data), w.Snapshot())
			}
		}
	})
}

// A shift is the input of one worker: connections of its own.
type shift struct {
	frames   []capture.Frame
	start    int // after the handshakes
	sessions []*traffic.Session
	total    int
	bits     float64
}

func newShift(number int) *shift {
	const conns = 4
	s := &shift{total: 64 << 20}
	if *short {
		s.total = 2 << 20
	}
	r := rand.New(rand.NewPCG(1, uint64(number)))
	var cs []*traffic.Conn
	for k := range conns {
		session, c := traffic.NewSession(traffic.AES128, r), traffic.NewConn(number*conns+k, &s.frames)
		c.Handshake(session, 1000)
		s.sessions, cs = append(s.sessions, session), append(cs, c)
	}
	s.start = len(s.frames)
	data := make([]byte, 4<<14)
	for m := 0; m < s.total; m += len(data) {
		k := m / len(data) % conns
		cs[k].Send(traffic.Server, s.sessions[k].Data(traffic.Server, data, 1<<14))
	}
	inOnePlace(s.frames)
	for _, f := range s.frames[s.start:] {
		s.bits += float64(len(f.Data)) * 8
	}
	return s
}

// work runs a worker for each shift, on a processor of its own. It returns Gbit/s by wall-clock time, until the
// slowest is ready.
func work(shifts []*shift) float64 {
	runtime.GOMAXPROCS(len(shifts))
	begin, done := make(chan struct{}), make(chan time.Duration, len(shifts))
	bits := 0.0
	for i, s := range shifts {
		bits += s.bits
		c := &count{}
		w := engine.NewWorker(store(s.sessions...), c, engine.Options{Flows: 1000})
		w.Frames(s.frames[:s.start])
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			must(stay(i) == nil, "cannot stay on processor %d", i)
			<-begin
			at := time.Now()
			for rest := s.frames[s.start:]; len(rest) > 0; {
				k := min(256, len(rest))
				w.Frames(rest[:k])
				rest = rest[k:]
			}
			done <- time.Since(at)
			must(c.bytes == uint64(s.total), "%d bytes of %d", c.bytes, s.total)
		}()
	}
	runtime.GC()
	close(begin)
	slowest := time.Duration(0)
	for range shifts {
		slowest = max(slowest, <-done)
	}
	return bits / slowest.Seconds() / 1e9
}

// workers returns Gbit/s of one worker and of two, measured alternately: the best of each, and their ratio.
func workers() []value {
	if runtime.NumCPU() < 2 {
		return nil
	}
	shifts := []*shift{newShift(0), newShift(1)}
	best := make([]value, 2)
	for range 5 * repeats() {
		for n := range best {
			best[n].Value = max(best[n].Value, work(shifts[:n+1]))
		}
	}
	return append(best, value{Value: best[1].Value / best[0].Value})
}

// records returns million records per second, each in a packet of its own.
func records(suite uint16, size, flows int) []value {
	r := rand.New(rand.NewPCG(1, 1))
	rounds := 400
	if *short {
		rounds = 4
	}
	var frames []capture.Frame
	var sessions []*traffic.Session
	var cs []*traffic.Conn
	for i := range flows {
		s, c := traffic.NewSession(suite, r), traffic.NewConn(i, &frames)
		c.Handshake(s, 1000)
		sessions, cs = append(sessions, s), append(cs, c)
	}
	start := len(frames)
	data := make([]byte, size)
	var all []capture.Frame
	for range rounds {
		for i := range cs {
			before := len(frames)
			cs[i].Send(traffic.Server, sessions[i].Data(traffic.Server, data, size))
			all = append(all, frames[before]) // without the acknowledgement
			frames = frames[:before]
		}
	}
	parts, sizes := pieces(all, 16*flows, func(capture.Frame) float64 { return 1e-6 })
	return best(repeats(), sizes, func() func(int) {
		c := &count{}
		w := engine.NewWorker(store(sessions...), c, engine.Options{Flows: flows})
		w.Frames(frames[:start])
		return func(i int) {
			w.Frames(parts[i])
			if i == len(parts)-1 {
				must(c.pieces == uint64(rounds*flows) && c.gaps == 0, "%d records of %d, %+v", c.pieces, rounds*flows, w.Snapshot())
			}
		}
	})
}

// connections returns thousand connections per second: a handshake, a request, an answer of 1 KB, an end.
func connections() []value {
	r := rand.New(rand.NewPCG(1, 1))
	n := 20000
	if *short {
		n = 200
	}
	var frames []capture.Frame
	var log []byte
	var parts [][]capture.Frame
	var sizes []float64
	for i := range n {
		if i%500 == 0 {
			frames = nil
			parts, sizes = append(parts, nil), append(sizes, 0)
		}
		s, c := traffic.NewSession([]uint16{traffic.AES128, traffic.ChaCha20, traffic.AES256}[i%3], r), traffic.NewConn(i, &frames)
		log = append(log, s.KeyLog()...)
		c.Handshake(s, 1000)
		c.Send(traffic.Server, s.Tickets())
		c.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
		c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 1000), 1<<14))
		c.Send(traffic.Client, s.CloseNotify(traffic.Client))
		c.Close()
		parts[len(parts)-1] = frames
		sizes[len(sizes)-1] += 1e-3
	}
	return best(min(repeats(), 3), sizes, func() func(int) {
		st := keys.NewStore(1 << 20)
		(&keys.Log{Store: st}).Write(log)
		c := &count{}
		w := engine.NewWorker(st, c, engine.Options{Flows: 1000})
		return func(i int) {
			w.Frames(parts[i])
			if i == len(parts)-1 {
				must(c.bytes == uint64(n*1100) && c.gaps == 0, "%d bytes of %d, %+v", c.bytes, n*1100, w.Snapshot())
			}
		}
	})
}

// flows returns the speed with many flows in the table, all of which have traffic in no order, of that with few.
func flows() []value {
	many := 1000000
	if *short {
		many = 20000
	}
	f := [2]float64{speed(1000, many), speed(many, many)}
	if *verbose {
		fmt.Fprintf(os.Stderr, "%.0f and %.0f ns for a packet\n", 1e9/f[0], 1e9/f[1])
	}
	return one(f[1] / f[0])
}

// speed returns packets per second of n flows. All have the same keys and bytes, so that their packets can be made on
// demand, and that time is left out. Each flow has its own state.
func speed(n, packets int) float64 {
	r := rand.New(rand.NewPCG(1, 1))
	s := traffic.NewSession(traffic.ChaCha20, r)
	var first []capture.Frame
	traffic.NewConn(0, &first).Handshake(s, 1000)
	c := &count{}
	st := store(s)
	w := engine.NewWorker(st, c, engine.Options{Flows: n})
	batch := make([]capture.Frame, 256)
	conns := make([]*traffic.Conn, n)
	for i := range n {
		var frames []capture.Frame
		conns[i] = traffic.NewConn(i, &frames)
		// The same bytes in a connection of its own.
		for _, f := range first {
			frames = append(frames, conns[i].Rewrite(f))
		}
		w.Frames(frames)
	}
	data := make([]byte, 1400)
	rounds := max(2, packets/n)
	fastest, spent, done := math.Inf(1), time.Duration(0), 0
	order := r.Perm(n)
	for range rounds {
		body := s.Data(traffic.Server, data, 1<<14)
		for at := 0; at < n; {
			k := 0
			for ; k < len(batch) && at < n; k++ {
				batch[k] = conns[order[at]].Next(batch[k], traffic.Server, body)
				at++
			}
			begin := processor()
			w.Frames(batch[:k])
			spent += processor() - begin
			// Pieces of 8,192 packets.
			if done += k; done >= 8192 {
				fastest = min(fastest, spent.Seconds()/float64(done))
				spent, done = 0, 0
			}
		}
	}
	must(c.pieces == uint64(rounds*n), "%d records of %d, %+v", c.pieces, rounds*n, w.Snapshot())
	return 1 / fastest
}

// lateKeys returns how many of a hundred connections are decrypted completely if the keys of each arrive up to 40 ms
// after its first packet.
func lateKeys() []value {
	r := rand.New(rand.NewPCG(1, 1))
	n := 2000
	if *short {
		n = 100
	}
	type event struct {
		time  int64
		frame *capture.Frame
		keys  []byte
	}
	var events []event
	var frames []capture.Frame
	for i := range n {
		s, c := traffic.NewSession([]uint16{traffic.AES128, traffic.ChaCha20, traffic.AES256}[i%3], r), traffic.NewConn(i, &frames)
		begin := c.Time + int64(r.IntN(1e9))
		c.Time, c.Step = begin, 100e3
		c.Handshake(s, 1000)
		c.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
		c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 30000), 1<<14))
		c.Close()
		events = append(events, event{time: begin + int64(r.IntN(40e6)), keys: s.KeyLog()})
	}
	for i := range frames {
		events = append(events, event{time: frames[i].Time, frame: &frames[i]})
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].time < events[j].time })
	st := keys.NewStore(1 << 20)
	log := keys.Log{Store: st}
	c := &whole{bytes: make(map[*output.Flow]int)}
	w := engine.NewWorker(st, c, engine.Options{Flows: n, KeyWait: 50e6})
	for _, e := range events {
		if e.frame == nil {
			log.Write(e.keys)
		} else {
			w.Frames([]capture.Frame{*e.frame})
		}
	}
	w.Tick(events[len(events)-1].time + 1e9)
	w.Close()
	return one(100 * float64(c.whole) / float64(n))
}

// whole is a Sink that counts the connections of lateKeys that are complete.
type whole struct {
	bytes map[*output.Flow]int
	whole int
}

func (c *whole) Data(f *output.Flow, _ uint8, data []byte) { c.bytes[f] += len(data) }
func (c *whole) Gap(f *output.Flow, _ uint8, _ int)        { c.bytes[f] -= 1 << 30 }
func (c *whole) Flush()                                    {}
func (c *whole) End(f *output.Flow) {
	if c.bytes[f] == 30100 {
		c.whole++
	}
	delete(c.bytes, f)
}

// besideTshark returns the ratio of tshark's processor time to the gateway's for one capture, which make appends to
// frames. make returns its keys, and how often tshark must find stream data in it, if that is known. The gateway
// writes the plaintext or only counts it, and tshark does the same by its arguments.
func besideTshark(make func(frames *[]capture.Frame) (keyLog []byte, found int), write bool, how ...string) []value {
	if _, err := exec.LookPath("tshark"); err != nil || *gateway == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "sealane-bench")
	must(err == nil, "%v", err)
	defer os.RemoveAll(dir)
	var frames []capture.Frame
	log, found := make(&frames)
	file, keyLog := filepath.Join(dir, "capture.pcap"), filepath.Join(dir, "keys")
	must(os.WriteFile(file, traffic.Pcap(frames), 0o600) == nil, "cannot write %s", file)
	must(os.WriteFile(keyLog, log, 0o600) == nil, "cannot write %s", keyLog)
	run := func(out io.Writer, name string, args ...string) float64 {
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Stdout = append(os.Environ(), "GOMAXPROCS=1"), out
		err := cmd.Run()
		must(err == nil, "%s: %v", name, err)
		return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	here := []string{"read", file, "--keys", keyLog, "--workers", "1"}
	if write {
		here = append(here, "--write", "/dev/null")
	}
	there := append([]string{"-r", file, "-o", "tls.keylog_file:" + keyLog, "-o", "tcp.reassemble_out_of_order:TRUE"}, how...)
	// They alternate, and the fastest of each counts: the gateway takes about a tenth of a second, a tenth of it to start.
	slow, fast := math.Inf(1), math.Inf(1)
	for range max(5*repeats()/7, 1) {
		var said findings
		slow = min(slow, run(&said, "tshark", there...))
		must(found == 0 || said.packets() == found, "tshark found stream data in %d packets of %d", said.packets(), found)
		for range 3 {
			fast = min(fast, run(nil, *gateway, here...))
		}
	}
	return one(slow / fast)
}

// findings is tshark's output about packets with stream data: a line for each, or a table with their number.
type findings struct {
	lines int
	text  []byte // the first of it
}

func (f *findings) Write(b []byte) (int, error) {
	f.lines += bytes.Count(b, []byte("\n"))
	f.text = append(f.text, b[:min(len(b), 4096-len(f.text))]...)
	return len(b), nil
}

var tableEnd = regexp.MustCompile(`\| +(\d+) \| +\d+ \|\n=+\n$`)

func (f *findings) packets() int {
	if m := tableEnd.FindSubmatch(f.text); m != nil {
		n, err := strconv.Atoi(string(m[1]))
		must(err == nil, "%v", err)
		return n
	}
	return f.lines
}

var sharedSuites = []uint16{traffic.AES128, traffic.ChaCha20, traffic.AES256}

// records16K are 16 connections of TLS, 256 MiB.
func records16K(frames *[]capture.Frame) (log []byte, found int) {
	r := rand.New(rand.NewPCG(1, 1))
	n := 256 << 20
	if *short {
		n = 2 << 20
	}
	for i := range 16 {
		s, c := traffic.NewSession(sharedSuites[i%3], r), traffic.NewConn(i, frames)
		log = append(log, s.KeyLog()...)
		c.Handshake(s, 1000)
		c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, n/16), 1<<14))
		c.Close()
	}
	return log, 0 // data is not told apart
}

// quicDatagrams are 16 connections of QUIC, 150 MB.
func quicDatagrams(frames *[]capture.Frame) (log []byte, found int) {
	r := rand.New(rand.NewPCG(1, 1))
	n := 128 << 10
	if *short {
		n = 2 << 10
	}
	data := make([]byte, datagramBytes-traffic.QUICOverhead)
	for i := range 16 {
		s := traffic.NewSession(sharedSuites[i%3], r)
		log = append(log, s.KeyLog()...)
		q, err := traffic.NewQUIC(i, s, frames)
		must(err == nil, "%v", err)
		for range n / 16 {
			must(q.Send(data) == nil, "a packet cannot be made")
		}
	}
	return log, n
}
