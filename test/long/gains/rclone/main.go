// Command rclone reads a file through rclone's remote for web servers, by HTTPS from a server in the same process.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"

	_ "github.com/rclone/rclone/backend/http"
	"github.com/rclone/rclone/fs"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("TLS_AES_128_GCM_SHA256", transfer) }

func transfer(suite string, size int64, begin func()) error {
	certificate, err := measure.Certificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	suites := make(chan error, 1) // of the first request for the file
	go http.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/file" {
			return
		}
		select {
		case suites <- measure.WantSuite(r.TLS, suite):
		default:
		}
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if r.Method == http.MethodGet {
			measure.Write(w, size)
		}
	}))
	ctx := context.Background()
	fs.GetConfig(ctx).InsecureSkipVerify = true
	remote, err := fs.NewFs(ctx, ":http,url='https://"+listener.Addr().String()+"/':")
	if err != nil {
		return err
	}
	file, err := remote.NewObject(ctx, "file")
	if err != nil {
		return err
	}
	if err := <-suites; err != nil {
		return err
	}
	if file.Size() != size {
		return errors.New("the file has another size")
	}
	begin()
	content, err := file.Open(ctx)
	if err != nil {
		return err
	}
	defer content.Close()
	return measure.Check(content, size)
}
