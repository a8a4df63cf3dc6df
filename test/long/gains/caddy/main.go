// Command caddy downloads a file by HTTP/2 from Caddy's file server, which runs in the same process.
package main

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	_ "github.com/caddyserver/caddy/v2/modules/caddytls"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("TLS_AES_128_GCM_SHA256", transfer) }

type object map[string]any

func transfer(suite string, size int64, begin func()) error {
	dir, err := os.MkdirTemp("", "caddy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return err
	}
	err = measure.Write(file, size)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	address, err := serve(dir)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}}}
	get := func(method string) (*http.Response, error) {
		request, err := http.NewRequest(method, "https://"+address+"/file", nil)
		if err != nil {
			return nil, err
		}
		request.Host = "localhost"
		response, err := client.Do(request)
		if err == nil && (response.ProtoMajor != 2 || response.StatusCode != http.StatusOK || response.ContentLength != size) {
			err = fmt.Errorf("%s, %s, %d bytes", response.Proto, response.Status, response.ContentLength)
		}
		return response, err
	}
	head, err := get(http.MethodHead) // the handshake is not measured
	if err != nil {
		return err
	}
	if err := measure.WantSuite(head.TLS, suite); err != nil {
		return err
	}
	begin()
	response, err := get(http.MethodGet)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := measure.Check(response.Body, size); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, response.Body); n > 0 || err != nil {
		return fmt.Errorf("%d more bytes, %v", n, err)
	}
	return caddy.Stop()
}

// serve has Caddy serve a folder, and returns its address.
func serve(dir string) (string, error) {
	certificate, err := measure.Certificate()
	if err != nil {
		return "", err
	}
	key, err := x509.MarshalECPrivateKey(certificate.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return "", err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := free.Addr().String()
	free.Close()
	config, err := json.Marshal(object{
		"admin":   object{"disabled": true, "config": object{"persist": false}},
		"logging": object{"logs": object{"default": object{"level": "ERROR"}}},
		"storage": object{"module": "file_system", "root": filepath.Join(dir, "storage")},
		"apps": object{
			"tls": object{"certificates": object{"load_pem": []object{{
				"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})),
				"key":         string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})),
			}}}},
			"http": object{"servers": object{"files": object{
				"listen": []string{address}, "protocols": []string{"h1", "h2"}, "automatic_https": object{"disable": true}, "tls_connection_policies": []object{{}},
				"routes": []object{{"handle": []object{{"handler": "file_server", "root": dir}}}},
			}}},
		},
	})
	if err != nil {
		return "", err
	}
	return address, caddy.Load(config, true)
}
