// Command ssh transfers a file through a channel of golang.org/x/crypto/ssh.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"

	"golang.org/x/crypto/ssh"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("aes128-gcm@openssh.com", transfer) }

func transfer(suite string, size int64, begin func()) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return err
	}
	ciphers := ssh.Config{Ciphers: []string{suite}}
	server := &ssh.ServerConfig{Config: ciphers, NoClientAuth: true}
	server.AddHostKey(signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	errs := make(chan error, 1)
	go func() { errs <- serve(listener, server, size) }()
	client, err := ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{Config: ciphers, HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	if err != nil {
		return err
	}
	defer client.Close()
	begin()
	channel, requests, err := client.OpenChannel("file", nil)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	if err := measure.Check(channel, size); err != nil {
		return err
	}
	return <-errs
}

func serve(listener net.Listener, config *ssh.ServerConfig, size int64) error {
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	channel, requests, err := (<-channels).Accept()
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	return measure.Write(channel, size)
}
