//go:build linux

package xdp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// BenchmarkVeth sends packets of one record through a pair of interfaces, as fast as the kernel makes them. A program
// run on live frames takes one after the other out of a table and redirects it. One core sends, has the interface's
// interrupt, and runs our program; the other one is user space. Packets per second are those whose plaintext arrived.
// For one core they are divided by the time of both, including sending.
func BenchmarkVeth(b *testing.B) {
	for _, c := range []struct {
		name  string
		bytes int
		open  int // how many of eight flows the program opens
	}{
		{"steer/64", 64, 0}, {"steer/256", 256, 0}, {"steer/1024", 1024, 0},
		{"open/64", 64, 8}, {"open/1024", 1024, 8},
		{"both/1024/1of8", 1024, 1}, {"both/1024/2of8", 1024, 2}, {"both/1024/4of8", 1024, 4},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkVeth(b, c.bytes, c.open) })
	}
}

const (
	vethFlows   = 8
	vethPackets = 2048 // a power of two
)

func benchmarkVeth(b *testing.B, bytes, open int) {
	p := load(b, false)
	if os.Getuid() != 0 {
		b.Skip("NOT RUN: needs root, to make interfaces")
	}
	if runtime.NumCPU() < 2 {
		b.Skip("NOT RUN: too few processors")
	}
	here, there := fmt.Sprintf("slb%d", os.Getpid()%100000), fmt.Sprintf("slc%d", os.Getpid()%100000)
	command(b, "ip link add "+here+" type veth peer name "+there)
	b.Cleanup(func() { command(b, "ip link del "+here) })
	command(b, "ip link set "+here+" up")
	command(b, "ip link set "+there+" up")
	interfaces := make([]*net.Interface, 2)
	for i, name := range []string{here, there} {
		var err error
		if interfaces[i], err = net.InterfaceByName(name); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Attach(interfaces[0].Index, false); err != nil {
		b.Skipf("NOT RUN: %v", err)
	}
	socket, err := p.OpenSocket(interfaces[0].Index, 0)
	if err != nil {
		b.Skipf("NOT RUN: %v", err)
	}
	defer socket.Close()

	var senders []*sender
	for i := range vethFlows {
		s := newSender(b, Tuple{netip.AddrPortFrom(tuple4.Source.Addr(), uint16(1000+i)), tuple4.Destination})
		s.flow.Mode = Steer
		if i < open {
			s.flow.Mode = Open
		}
		senders = append(senders, s)
	}
	packets := make([][]byte, vethPackets)
	for i := range packets {
		s := senders[i%vethFlows]
		n := uint64(i / vethFlows)
		record := s.record(s.flow.Number+n, 23, 0, content(bytes-1))
		packets[i] = s.packet(b, s.flow.Sequence+uint32(n)*uint32(len(record)), record)
	}
	g := newGenerator(b, packets, interfaces[1].Index)

	var rates, perCore []float64
	var stats PathStats
	for b.Loop() {
		got := 0
		path := NewPath(p, PathOptions{Plaintext: func(Tuple, []byte) { got++ }})
		for _, s := range senders {
			if err := path.Put(s.tuple, s.flow); err != nil {
				b.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- g.run(vethPackets) }()
		runtime.LockOSThread()
		bind(b, 1)
		var first, last time.Time
		start, spent := 0, threadTime(b)
		for deadline := time.Now().Add(time.Second); got < vethPackets && time.Now().Before(deadline); {
			before := got
			if _, err := path.Receive(socket, 10); err != nil {
				b.Fatal(err)
			}
			if got == before {
				continue
			}
			last = time.Now()
			if first.IsZero() {
				first, start = last, got
			}
		}
		spent = threadTime(b) - spent
		runtime.UnlockOSThread()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		perCore = append(perCore, float64(got)/(spent+g.spent).Seconds())
		if d := last.Sub(first); d > 0 {
			rates = append(rates, float64(got-start)/d.Seconds())
		}
		stats = path.Stats
		if err := path.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(rates)
	if len(rates) == 0 {
		b.Fatal("nothing arrived")
	}
	slices.Sort(perCore)
	b.ReportMetric(rates[len(rates)/2]/1e6, "Mpps")
	b.ReportMetric(perCore[len(perCore)/2]/1e6, "Mpps/core")
	b.ReportMetric(0, "ns/op")
	b.Logf("%+v", stats)
}

// bind has the thread run on one processor only.
func bind(t testing.TB, cpu int) {
	t.Helper()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
}

// threadTime is the processor time of this thread.
func threadTime(t testing.TB) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// A generator sends the packets of a table in turn.
type generator struct {
	program *ebpf.Program
	place   *ebpf.Map
	packet  []byte
	t       testing.TB
	spent   time.Duration // by the last run
}

func newGenerator(t testing.TB, packets [][]byte, index int) *generator {
	t.Helper()
	size := (len(packets[0]) + 7) &^ 7
	table, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: uint32(len(packets))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	for i, packet := range packets {
		if err := table.Put(uint32(i), append(append([]byte{}, packet...), make([]byte, size-len(packet))...)); err != nil {
			t.Fatal(err)
		}
	}
	place, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { place.Close() })
	devices, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.DevMap, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { devices.Close() })
	if err := devices.Put(uint32(0), uint32(index)); err != nil {
		t.Fatal(err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, place.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "drop"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord),
		asm.And.Imm(asm.R1, int32(len(packets)-1)),
		asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word),
		asm.LoadMapPtr(asm.R1, table.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "drop"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.Mov.Imm(asm.R4, int32(len(packets[0]))),
		asm.FnXdpStoreBytes.Call(),
		asm.LoadMapPtr(asm.R1, devices.FD()),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRedirectMap.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, xdpDrop).WithSymbol("drop"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return &generator{program: program, place: place, packet: packets[0], t: t}
}

// run sends n packets from the first on, from the first processor.
func (g *generator) run(n int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set unix.CPUSet
	set.Set(0)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	if err := g.place.Put(uint32(0), uint64(0)); err != nil {
		return err
	}
	begin := threadTime(g.t)
	defer func() { g.spent = threadTime(g.t) - begin }()
	const liveFrames = 1 << 1 // BPF_F_TEST_XDP_LIVE_FRAMES
	_, err := g.program.Run(&ebpf.RunOptions{Data: g.packet, Repeat: uint32(n), Flags: liveFrames})
	if err != nil && strings.Contains(err.Error(), "not supported") {
		return fmt.Errorf("live frames: %w", err)
	}
	return err
}
