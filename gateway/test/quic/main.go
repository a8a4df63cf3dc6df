// The command quic serves a file of zeroes over QUIC, or downloads it: TestInlineQUIC sends that through the gateway. It has a module of
// its own, so that no other module needs quic-go.
//
//	quic serve ADDRESS BYTES    prints "listening"; closes each connection when its client does
//	quic get ADDRESS SECONDS    prints the number of received bytes; exit status 1 without a connection in that time; SSLKEYLOGFILE names its key log
//	quic record FOLDER NAMES    writes captures of connections between a client and a server of its own, with key logs: see record.go
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const protocol = "sealane-test"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) >= 2 && args[0] == "record" {
		return record(args[1], args[2:])
	}
	if len(args) != 3 {
		return errors.New("quic serve ADDRESS BYTES, quic get ADDRESS SECONDS, or quic record FOLDER NAMES")
	}
	n, err := strconv.ParseInt(args[2], 10, 64)
	switch {
	case err != nil:
		return err
	case args[0] == "serve":
		return serve(args[1], n)
	case args[0] == "get":
		return get(args[1], time.Duration(n)*time.Second)
	}
	return fmt.Errorf("%q: it is serve or get", args[0])
}

func serve(address string, size int64) error {
	config, err := serverConfig(protocol)
	if err != nil {
		return err
	}
	// On a busy machine a client is slow.
	listener, err := quic.ListenAddr(address, config, &quic.Config{HandshakeIdleTimeout: time.Minute, MaxIdleTimeout: time.Minute})
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			stream, err := conn.OpenUniStream()
			if err != nil {
				return
			}
			if _, err := io.CopyN(stream, zeroes{}, size); err == nil {
				stream.Close()
			}
			<-conn.Context().Done()
		}()
	}
}

// serverConfig returns what a server with a fresh certificate needs.
func serverConfig(protocol string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, NextProtos: []string{protocol}}, nil
}

// zeroes is an endless reader of them.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func get(address string, patience time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var keys io.Writer
	if name := os.Getenv("SSLKEYLOGFILE"); name != "" {
		if keys, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	conn, err := quic.DialAddr(ctx, address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, KeyLogWriter: keys},
		&quic.Config{HandshakeIdleTimeout: patience, MaxIdleTimeout: patience})
	if err != nil {
		return err
	}
	defer conn.CloseWithError(0, "")
	stream, err := conn.AcceptUniStream(ctx)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, stream)
	fmt.Println(n, "bytes")
	return err
}
