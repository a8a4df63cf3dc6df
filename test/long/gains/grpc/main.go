// Command grpc transfers a file as a stream of messages of gRPC, with TLS.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("TLS_AES_128_GCM_SHA256", transfer) }

// messageBytes is the maximum size of a message's content.
const messageBytes = 64 << 10

// A sender writes messages.
type sender struct{ grpc.ServerStream }

func (s sender) Write(p []byte) (n int, err error) {
	for ; n < len(p) && err == nil; n += min(messageBytes, len(p)-n) {
		err = s.SendMsg(wrapperspb.Bytes(p[n:min(len(p), n+messageBytes)]))
	}
	return n, err
}

// A receiver reads the content of messages.
type receiver struct {
	grpc.ClientStream
	left []byte
}

func (r *receiver) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		var message wrapperspb.BytesValue
		if err := r.RecvMsg(&message); err != nil {
			return 0, err
		}
		r.left = message.Value
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func transfer(suite string, size int64, begin func()) error {
	certificate, err := measure.Certificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}})))
	download := grpc.StreamDesc{StreamName: "Download", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return measure.Write(sender{stream}, size)
	}}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "Files", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{download}}, struct{}{})
	go server.Serve(listener)
	defer server.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := conn.NewStream(context.Background(), &download, "/Files/Download")
	if err != nil {
		return err
	}
	of, ok := peer.FromContext(stream.Context())
	if !ok {
		return errors.New("the stream has no peer")
	}
	secured, ok := of.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return errors.New("the connection has no TLS")
	}
	if err := measure.WantSuite(&secured.State, suite); err != nil {
		return err
	}
	begin()
	if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return measure.Check(&receiver{ClientStream: stream}, size)
}
