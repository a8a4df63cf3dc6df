//go:build unix

// Command https is an HTTPS server and a client in one process. The client downloads a file through TLS 1.3 over TCP on
// 127.0.0.1. It uses net/http and crypto/tls like any Go program, measures the download, and does not know which
// implementation encrypts.
//
// It prints JSON, one object per line: progress, and finally a Result.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

// A Result is the cost of a download.
type Result struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"` // user and system time of the process: server and client
	Suite   string  `json:"suite"`
}

func main() {
	size := flag.Int64("size", 2<<30, "bytes to download")
	suite := flag.String("suite", "TLS_AES_128_GCM_SHA256", "cipher suite of TLS 1.3 that both ends prefer")
	profile := flag.String("profile", "", "write a CPU profile of the download to this file")
	flag.Parse()
	result, err := run(*size, *suite, *profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "https: "+err.Error())
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

// block is the repeated content of a file; each copy starts with its number, in 8 bytes.
var block = func() []byte {
	b := make([]byte, 1<<20)
	mathrand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// serve writes a file of the size in the URL's path.
func serve(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.URL.Path[1:], 10, 64)
	if err != nil || size < 0 {
		http.Error(w, "a path is a number of bytes", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	part := bytes.Clone(block)
	for n := uint64(0); size > 0; n++ {
		binary.LittleEndian.PutUint64(part, n)
		part = part[:min(int64(len(part)), size)]
		if _, err := w.Write(part); err != nil {
			return
		}
		size -= int64(len(part))
	}
}

// check reads a file of that size, compares every byte, and reports progress ten times a second.
func check(r io.Reader, size int64) error {
	want, part := bytes.Clone(block), make([]byte, len(block))
	last := time.Now()
	for n, at := uint64(0), int64(0); at < size; n++ {
		binary.LittleEndian.PutUint64(want, n)
		part = part[:min(int64(len(part)), size-at)]
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		if !bytes.Equal(part, want[:len(part)]) {
			return fmt.Errorf("of the bytes from %d on some arrived that were not sent", at)
		}
		at += int64(len(part))
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Printf("{\"done\":%d,\"of\":%d}\n", at, size)
		}
	}
	if n, err := r.Read(part[:1]); n > 0 || err != io.EOF {
		return fmt.Errorf("more than %d bytes arrived, or %v", size, err)
	}
	return nil
}

func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// selfSigned returns a certificate for localhost, and a pool that trusts it.
func selfSigned() (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool, nil
}

// run downloads a file of that size.
func run(size int64, suite, profile string) (*Result, error) {
	certificate, pool, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(serve), TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
	}}
	go server.ServeTLS(listener, "", "")
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS13}}
		return d.DialContext(ctx, network, address)
	}}}
	url := "https://" + listener.Addr().String() + "/"
	first, err := client.Get(url + "1") // excludes the handshake from the measurement
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, first.Body)
	first.Body.Close()
	if got := tls.CipherSuiteName(first.TLS.CipherSuite); got != suite {
		return nil, fmt.Errorf("the connection has %s, not %s", got, suite)
	}
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
	response, err := client.Get(url + strconv.FormatInt(size, 10))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if err := check(response.Body, size); err != nil {
		return nil, err
	}
	return &Result{Bytes: size, Seconds: time.Since(start).Seconds(), CPU: (cpuTime() - cpu).Seconds(), Suite: suite}, nil
}
