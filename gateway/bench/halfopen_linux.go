package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
)

var (
	connectionsOf = regexp.MustCompile(`connections=(\d+)`)
	peakOf        = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB`)
)

// halfOpen returns the gateway command's peak memory in MiB, including its ring of 64 MiB, under a million half-open
// connections. Each client sends a SYN and bytesOfHello bytes of a ClientHello that never ends, and no server
// answers.
func halfOpen(bytesOfHello int) []value {
	if *gateway == "" {
		return nil
	}
	near, far, remove := vethPair()
	if remove == nil {
		return nil
	}
	defer remove()
	n, rate := 1_000_000, 0.1e6
	if *short {
		n = 1000
	}
	keys, err := os.CreateTemp("", "sealane-bench")
	must(err == nil, "%v", err)
	defer os.Remove(keys.Name())
	keys.Close()
	cmd := exec.Command(*gateway, "live", "--interface", far, "--keys", keys.Name(), "--write", "/dev/null", "--memory", "1024")
	var said bytes.Buffer
	cmd.Stderr = &said
	must(cmd.Start() == nil, "cannot run %s", *gateway)
	defer cmd.Process.Kill()
	time.Sleep(time.Second)
	var counts output.Counts
	out, err := output.NewInterface(near, false, &counts, func(err error) { fmt.Fprintln(os.Stderr, err) })
	must(err == nil, "%v", err)
	defer out.Close()
	var to packet.Template
	hello := append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3}, make([]byte, 1<<14)...)[:bytesOfHello]
	var frames [64][]byte // Send keeps 32 of them until Flush
	for i := range frames {
		frames[i] = make([]byte, packet.HeaderBytes+len(hello))
	}
	send := func(i int, seq uint32, flags uint8, p []byte) {
		b := frames[i]
		to.Build(b, seq, 1, flags, 0, p, true)
		out.Send(b[:to.Size()+len(p)])
	}
	link, server := [12]byte{1}, [16]byte{10: 255, 11: 255, 12: 192, 13: 168, 15: 1}
	begin := time.Now()
	for i := range n {
		client := [16]byte{10: 255, 11: 255, 12: 10, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		to.Init(&link, 0, false, &client, &server, 1000, 443)
		send(i%32*2, uint32(i), packet.SYN, nil)
		if len(hello) > 0 {
			send(i%32*2+1, uint32(i)+1, packet.ACK, hello)
		}
		if i%32 == 31 {
			out.Flush()
			for time.Since(begin).Seconds() < float64(i)/rate {
			}
		}
	}
	out.Flush()
	time.Sleep(time.Second)
	peak := peakKiB(cmd.Process.Pid)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	seen := 0
	if m := connectionsOf.FindSubmatch(said.Bytes()); m != nil {
		seen, _ = strconv.Atoi(string(m[1]))
	}
	if *verbose || seen < n/10*9 {
		fmt.Fprintf(os.Stderr, "half-open: %d of %d connections seen\n%s", seen, n, said.Bytes())
	}
	if peak == 0 || seen < n/10*9 {
		return nil
	}
	return one(float64(peak) / 1024)
}

// peakKiB returns a process's peak memory; 0 if that is unknown. The figure of getrusage includes the parent's memory
// at the start.
func peakKiB(pid int) (n int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if m := peakOf.FindSubmatch(status); err == nil && m != nil {
		n, _ = strconv.Atoi(string(m[1]))
	}
	return n
}
