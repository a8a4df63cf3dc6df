//go:build unix

// Command tunnel runs two WireGuard devices in one process, connected by UDP over 127.0.0.1, and downloads a file by
// HTTP from one to the other. It measures the download, and does not know which implementation of the cipher it uses.
//
// It prints JSON, one object per line: progress, and finally a Result.
package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/netstack"
)

// A Result is the cost of a download.
type Result struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"` // user and system time of the process: both devices, server and client
	SHA256  string  `json:"sha256"`
}

func main() {
	size := flag.Int64("size", 1<<30, "bytes to download")
	profile := flag.String("profile", "", "write a CPU profile of the download to this file")
	flag.Parse()
	want, err := checksum(newFile(*size))
	var result *Result
	if err == nil {
		result, err = run(*size, want, *profile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tunnel: "+err.Error())
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

// run downloads the file of that size, whose SHA-256 must be want.
func run(size int64, want, profile string) (*Result, error) {
	server, client, err := connect()
	if err != nil {
		return nil, err
	}
	listener, err := server.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, newFile(size))
	}))
	http.DefaultTransport = &http.Transport{DialContext: client.DialContext}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+serverIP.String()+"/", nil)
	if err != nil {
		return nil, err
	}
	if _, err := http.DefaultClient.Do(request); err != nil { // excludes the handshake from the measurement
		return nil, err
	}
	result, err := measure(size, profile)
	if err == nil && result.SHA256 != want {
		err = fmt.Errorf("the file arrived with SHA-256 %s, was sent with %s", result.SHA256, want)
	}
	return result, err
}

func measure(size int64, profile string) (*Result, error) {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	start, cpu := time.Now(), cpuTime()
	response, err := http.Get("http://" + serverIP.String() + "/")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ContentLength != size {
		return nil, fmt.Errorf("the server answers %s, %d bytes", response.Status, response.ContentLength)
	}
	sum, err := checksum(&progress{r: response.Body, size: size})
	if err != nil {
		return nil, err
	}
	return &Result{Bytes: size, Seconds: time.Since(start).Seconds(), CPU: (cpuTime() - cpu).Seconds(), SHA256: sum}, nil
}

func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func checksum(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.CopyBuffer(h, r, make([]byte, 128<<10))
	return hex.EncodeToString(h.Sum(nil)), err
}

// progress reports the amount of data that passes through it, ten times a second.
type progress struct {
	r          io.Reader
	done, size int64
	last       time.Time
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.done += int64(n)
	if now := time.Now(); now.Sub(p.last) > 100*time.Millisecond {
		p.last = now
		fmt.Printf("{\"done\":%d,\"of\":%d}\n", p.done, p.size)
	}
	return n, err
}

// A file is generated while it is read: repeated random mebibytes that differ only in their number.
type file struct {
	block    []byte
	size, at int64
}

var block = func() []byte {
	b := make([]byte, 1<<20)
	mathrand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

func newFile(size int64) *file { return &file{block: block, size: size} }

func (f *file) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	offset := f.at % int64(len(f.block))
	if left := f.size - f.at; int64(len(p)) > left {
		p = p[:left]
	}
	var n int
	if offset < 8 {
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], uint64(f.at/int64(len(f.block))))
		n = copy(p, number[offset:])
	} else {
		n = copy(p, f.block[offset:])
	}
	f.at += int64(n)
	return n, nil
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	f.at = offset
	return offset, nil
}

var (
	serverIP = netip.MustParseAddr("192.168.4.1")
	clientIP = netip.MustParseAddr("192.168.4.2")
)

// connect returns the networks of two devices that are each other's peers.
func connect() (server, client *netstack.Net, err error) {
	keys := make([]*ecdh.PrivateKey, 2)
	for i := range keys {
		if keys[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return nil, nil, err
		}
	}
	server, serverDevice, err := newDevice(serverIP)
	if err != nil {
		return nil, nil, err
	}
	client, clientDevice, err := newDevice(clientIP)
	if err != nil {
		return nil, nil, err
	}
	if err := serverDevice.IpcSet(fmt.Sprintf("private_key=%x\npublic_key=%x\nallowed_ip=%s/32\n",
		keys[0].Bytes(), keys[1].PublicKey().Bytes(), clientIP)); err != nil {
		return nil, nil, err
	}
	if err := serverDevice.Up(); err != nil {
		return nil, nil, err
	}
	port, err := listenPort(serverDevice)
	if err != nil {
		return nil, nil, err
	}
	if err := clientDevice.IpcSet(fmt.Sprintf("private_key=%x\npublic_key=%x\nallowed_ip=%s/32\nendpoint=127.0.0.1:%s\n",
		keys[1].Bytes(), keys[0].PublicKey().Bytes(), serverIP, port)); err != nil {
		return nil, nil, err
	}
	return server, client, clientDevice.Up()
}

func newDevice(ip netip.Addr) (*netstack.Net, *device.Device, error) {
	tun, network, err := netstack.CreateNetTUN([]netip.Addr{ip}, nil, device.DefaultMTU)
	if err != nil {
		return nil, nil, err
	}
	return network, device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, "wireguard: ")), nil
}

func listenPort(d *device.Device) (string, error) {
	state, err := d.IpcGet()
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(state, "\n") {
		if port, ok := strings.CutPrefix(line, "listen_port="); ok && port != "0" {
			return port, nil
		}
	}
	return "", errors.New("the device does not listen")
}
