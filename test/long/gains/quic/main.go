// Command quic transfers a file through a stream of quic-go.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("TLS_AES_128_GCM_SHA256", transfer) }

func transfer(suite string, size int64, begin func()) error {
	ctx := context.Background()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, NextProtos: []string{"file"},
	}, nil)
	if err != nil {
		return err
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept(ctx)
		if err != nil {
			return
		}
		if stream, err := conn.OpenStreamSync(ctx); err == nil {
			measure.Write(stream, size)
			stream.Close()
		}
	}()
	conn, err := quic.DialAddr(ctx, listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"file"}}, nil)
	if err != nil {
		return err
	}
	if got := tls.CipherSuiteName(conn.ConnectionState().TLS.CipherSuite); got != suite {
		return fmt.Errorf("the connection has %s, not %s", got, suite)
	}
	begin()
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return err
	}
	return measure.Check(stream, size)
}
