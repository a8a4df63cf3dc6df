// Command quic transfers a file through a stream of quic-go.
package main

import (
	"context"
	"crypto/tls"

	"github.com/quic-go/quic-go"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("TLS_AES_128_GCM_SHA256", transfer) }

func transfer(suite string, size int64, begin func()) error {
	ctx := context.Background()
	certificate, err := measure.Certificate()
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"file"},
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
	state := conn.ConnectionState().TLS
	if err := measure.WantSuite(&state, suite); err != nil {
		return err
	}
	begin()
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return err
	}
	return measure.Check(stream, size)
}
