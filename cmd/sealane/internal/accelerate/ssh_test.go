package accelerate

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
)

// sshProgram is one end of a connection over its standard input and output. Without arguments it is both ends, and an
// attacker between them who forges packets. It prints what the receiving end reports.
const sshProgram = `package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
)

var config = ssh.Config{Ciphers: []string{"chacha20-poly1305@openssh.com"}}

// A conn is a connection of which one packet can be forged.
type conn struct {
	net.Conn // nil
	io.Reader
	io.Writer
	forge func(packet []byte)
}

type address struct{ net.Addr }

func (address) String() string { return "pipe:0" }

func (c *conn) Read(p []byte) (int, error) { return c.Reader.Read(p) }
func (c *conn) Write(p []byte) (int, error) {
	if c.forge != nil {
		p = bytes.Clone(p)
		c.forge(p)
		c.forge = nil
	}
	return c.Writer.Write(p)
}
func (c *conn) Close() error { return c.Writer.(io.Closer).Close() }
func (c *conn) RemoteAddr() net.Addr { return address{} }
func (c *conn) LocalAddr() net.Addr { return address{} }

func must[T any](x T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return x
}

func accept(c net.Conn) (*ssh.ServerConn, <-chan ssh.NewChannel) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	server := &ssh.ServerConfig{Config: config, NoClientAuth: true}
	server.AddHostKey(must(ssh.NewSignerFromKey(must(key, err))))
	s, channels, requests, err := ssh.NewServerConn(c, server)
	go ssh.DiscardRequests(requests)
	return must(s, err), channels
}

func dial(c net.Conn) *ssh.Client {
	s, channels, requests, err := ssh.NewClientConn(c, "", &ssh.ClientConfig{Config: config, HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	return ssh.NewClient(must(s, err), channels, requests)
}

func standard() *conn { return &conn{Reader: os.Stdin, Writer: os.Stdout} }

func pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	must(r, err)
	return r, w
}

func main() {
	switch {
	case len(os.Args) == 1:
		forgeries()
	case os.Args[1] == "serve":
		_, channels := accept(standard())
		channel, requests, err := (<-channels).Accept()
		go ssh.DiscardRequests(requests)
		must(io.Copy(channel, must(channel, err)))
		channel.CloseWrite()
		io.Copy(io.Discard, os.Stdin)
	default:
		channel, requests, err := dial(standard()).OpenChannel("echo", nil)
		go ssh.DiscardRequests(requests)
		text := make([]byte, 300000)
		rand.Read(text)
		go func() {
			for at, n := 0, 1; at < len(text); at, n = at+n, n+n/9+1 {
				n = min(n, len(text)-at)
				must(channel.Write(text[at:at+n]))
			}
			channel.CloseWrite()
		}()
		got := must(io.ReadAll(must(channel, err)))
		fmt.Fprintln(os.Stderr, "echo:", sha256.Sum256(got) == sha256.Sum256(text))
	}
}

func forgeries() {
	for _, name := range []string{"none", "longest", "long", "short", "text", "tag", "last of tag", "half of it"} {
		clientIn, serverOut := pipe()
		serverIn, clientOut := pipe()
		ours := &conn{Reader: clientIn, Writer: clientOut}
		theirs := &conn{Reader: serverIn, Writer: serverOut}
		said := make(chan string)
		go func() {
			s, channels := accept(theirs)
			go func() {
				for c := range channels {
					c.Reject(ssh.Prohibited, "no")
				}
			}()
			said <- fmt.Sprint(s.Wait())
			theirs.Close()
		}()
		client := dial(ours)
		ours.forge = func(p []byte) {
			switch name {
			case "longest":
				p[0] ^= 0x80
			case "long":
				p[1] ^= 0x10
			case "short":
				p[3] ^= 0x40
			case "text":
				p[4] ^= 1
			case "tag":
				p[len(p)-16] ^= 1
			case "last of tag":
				p[len(p)-1] ^= 0x80
			}
		}
		if name == "half of it" {
			ours.Writer = half{clientOut}
		}
		client.SendRequest("request", false, make([]byte, 100))
		if name == "none" || name == "half of it" {
			ours.Close()
		}
		fmt.Println(name, "-", <-said)
		ours.Close()
	}
}

type half struct{ *os.File }

func (h half) Write(p []byte) (int, error) { return h.File.Write(p[:len(p)/2]) }
`

// hostileTest is added to x/crypto. It sends authentic but malformed packets both ways, with x/crypto's own ChaCha20
// and Poly1305.
const hostileTest = `package ssh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/internal/poly1305"
)

func TestHostile(t *testing.T) {
	key := make([]byte, 64)
	for i := range key {
		key[i] = byte(i * i)
	}
	stream := func(key []byte, sequence uint32, counter uint32, n int) []byte {
		nonce := make([]byte, 12)
		binary.BigEndian.PutUint32(nonce[8:], sequence)
		s, err := chacha20.NewUnauthenticatedCipher(key, nonce)
		if err != nil {
			t.Fatal(err)
		}
		s.SetCounter(counter)
		out := make([]byte, n)
		s.XORKeyStream(out, out)
		return out
	}
	xor := func(p, with []byte) {
		for i := range with {
			p[i] ^= with[i]
		}
	}
	seal := func(sequence uint32, packet []byte) []byte {
		out := bytes.Clone(packet)
		xor(out, stream(key[32:], sequence, 0, 4))
		xor(out[4:], stream(key[:32], sequence, 1, len(out)-4))
		var tag [16]byte
		poly1305.Sum(&tag, out, (*[32]byte)(stream(key[:32], sequence, 0, 32)))
		return append(out, tag[:]...)
	}
	with := func(length int, padding ...byte) []byte {
		body := length
		if body > 300000 {
			body = 300000
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(length)), append(padding, make([]byte, body)...)[:body]...)
	}
	const most = 256 * 1024
	for _, c := range []struct {
		name   string
		packet []byte
		want   string
	}{
		{"authentic", with(16, 4), "<nil>"},
		{"longest", with(most, 255), "<nil>"},
		{"longer", with(most+1, 4), "ssh: invalid packet length, packet too large"},
		{"longest that can be said", with(1<<32-1, 4), "ssh: invalid packet length, packet too large"},
		{"empty", with(0), "ssh: empty packet"},
		{"padding 3", with(16, 3), "ssh: illegal padding 3"},
		{"padding and no more", with(16, 15), "ssh: padding 15 too large"},
		{"most padding", with(100, 255), "ssh: padding 255 too large"},
	} {
		made, err := newChaCha20Cipher(key, nil, nil, DirectionAlgorithms{})
		if err != nil {
			t.Fatal(err)
		}
		for sequence := uint32(1<<32 - 2); sequence != 2; sequence++ {
			sealed := seal(sequence, c.packet)
			payload, err := made.readCipherPacket(sequence, bytes.NewReader(sealed))
			if fmt.Sprint(err) != c.want {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			if err != nil {
				continue
			}
			payload = bytes.Clone(payload) // it lies in the cipher's buffer
			if !bytes.Equal(payload, c.packet[5:len(c.packet)-int(c.packet[4])]) {
				t.Errorf("%s: another payload", c.name)
			}
			if _, err := made.readCipherPacket(sequence+1, bytes.NewReader(sealed)); err == nil {
				t.Errorf("%s: another sequence number is taken", c.name)
			}
			sealed[len(sealed)-1] ^= 1
			if _, err := made.readCipherPacket(sequence, bytes.NewReader(sealed)); fmt.Sprint(err) != "ssh: MAC failure" {
				t.Errorf("%s, forged: %v", c.name, err)
			}
			var out bytes.Buffer
			random := bytes.NewReader(make([]byte, 300))
			if err := made.writeCipherPacket(sequence, &out, random, payload); err != nil {
				t.Fatal(err)
			}
			padding := 8 - (1+len(payload))%8
			if padding < 4 {
				padding += 8
			}
			packet := append(with(1+len(payload)+padding, byte(padding))[:5], payload...)
			if want := seal(sequence, append(packet, make([]byte, padding)...)); !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s is written otherwise", c.name)
			}
		}
	}
}
`

// sshModule makes a module with the program, and returns its folder.
func sshModule(t *testing.T) string {
	dir := t.TempDir()
	for name, content := range plain("main.go", sshProgram) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSSH connects the unmodified program with the one on sealane, both ways and in every way to run. Each must give
// the same result for forged packets.
func TestSSH(t *testing.T) {
	if len(Kernels(runtime.GOARCH)) == 0 {
		t.Skip("NOT RUN: sealane has no kernel for " + runtime.GOARCH)
	}
	t.Chdir(sshModule(t))
	mustRun(t, ".", "go", "build", "-o", "stock", ".")
	var messages bytes.Buffer
	result, err := Build(context.Background(), Job{Output: "ours", Stderr: &messages, AllowPortable: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, &messages)
	}
	for file, want := range map[string]string{"stock": binary.Stock, "ours": binary.OnSealane} {
		if found, err := binary.Read(file); err != nil || found.SSH != want {
			t.Errorf("%s: %+v, %v", file, found, err)
		}
	}
	if !result.SSH || result.SSHKept != nil || result.Cipher {
		t.Errorf("reported %+v", result)
	}
	for _, environ := range []string{"SEALANE_ASM=1", "SEALANE_ASM=0"} {
		t.Run(environ, func(t *testing.T) {
			t.Setenv("SEALANE_ASM", strings.TrimPrefix(environ, "SEALANE_ASM="))
			want := mustRun(t, ".", "./stock")
			if got := mustRun(t, ".", "./ours"); got != want || strings.Count(got, "MAC failure") != 4 || strings.Count(got, "packet too large") != 2 {
				t.Errorf("prints\n%swant\n%s", got, want)
			}
			for _, ends := range [][2]string{{"stock", "ours"}, {"ours", "stock"}, {"ours", "ours"}} {
				if said := connect(t, ends[0], ends[1]); said != "echo: true\n" {
					t.Errorf("%s dials %s: %q", ends[1], ends[0], said)
				}
			}
		})
	}
}

// connect runs both ends and returns their output.
func connect(t *testing.T, server, client string) string {
	t.Helper()
	var said, serverSaid bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	serve, dial := exec.CommandContext(ctx, "./"+server, "serve"), exec.CommandContext(ctx, "./"+client, "dial")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, there, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	serve.Stdin, serve.Stdout, serve.Stderr = in, there, &serverSaid
	dial.Stdin, dial.Stdout, dial.Stderr = back, out, &said
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	err = dial.Run()
	for _, c := range []io.Closer{in, out, back, there} {
		c.Close()
	}
	if waited := serve.Wait(); err != nil || waited != nil {
		t.Errorf("client %v, server %v\n%s%s", err, waited, &said, &serverSaid)
	}
	return said.String()
}

// TestSSHTests runs x/crypto's own tests of its ciphers (with -long, all of its package ssh), and authentic but
// malformed packets. It runs them with the original x/crypto and on sealane.
func TestSSHTests(t *testing.T) {
	if len(Kernels(runtime.GOARCH)) == 0 {
		t.Skip("NOT RUN: sealane has no kernel for " + runtime.GOARCH)
	}
	dir := t.TempDir()
	fork(func(t *testing.T, dir string) {
		if err := os.WriteFile(dir+"/ssh/hostile_test.go", []byte(hostileTest), 0o666); err != nil {
			t.Fatal(err)
		}
	})(t, dir)
	t.Chdir(filepath.Join(dir, "fork"))
	t.Setenv("GOPROXY", online)
	flags := []string{"-count=1", "-run=^TestHostile$|Cipher|Packet"}
	if *long {
		flags = flags[:1]
	}
	mustRun(t, ".", "go", "test", "-run=^TestHostile$", "./ssh")
	var out bytes.Buffer
	if result, err := Test(context.Background(), Job{Package: "./ssh", Flags: flags, Stdout: &out, Stderr: &out}); err != nil || !result.SSH {
		t.Errorf("%v %+v\n%s", err, result, &out)
	}
}

// TestPatchSSH has releases of x/crypto/ssh as they could be.
func TestPatchSSH(t *testing.T) {
	module, err := moduleSource(moduleDir(cryptoVersion), false)
	if err != nil {
		t.Fatal(err)
	}
	content := string(module[sshFile])
	if err := (tree{sshFile: []byte(content)}).patchSSH(); err != nil {
		t.Error(err)
	}
	if err := (tree{}).patchSSH(); err == nil {
		t.Error("there is no file, and no error")
	}
	for _, c := range []struct{ from, to, want string }{
		{"\n// chacha20Poly1305Cipher implements", "\nsyntax", "expected declaration"},
		{`"golang.org/x/crypto/chacha20"`, `chacha20 "golang.org/x/crypto/chacha20"`, "does not import golang.org/x/crypto/chacha20 by its own name"},
		{"golang.org/x/crypto/internal/poly1305", "golang.org/x/crypto/poly1305", "does not import golang.org/x/crypto/internal/poly1305"},
		{"contentKey [32]byte", "contentKey [64]byte", "has no chacha20Poly1305Cipher struct"},
		{"func (c *chacha20Poly1305Cipher) readCipherPacket(seqNum uint32, r", "func (c *chacha20Poly1305Cipher) readCipherPacket(seqNum uint64, r", "has no chacha20Poly1305Cipher.readCipherPacket"},
		{"func (c *chacha20Poly1305Cipher) writeCipherPacket", "func (c *chacha20Poly1305Cipher) writePacket", "has no chacha20Poly1305Cipher.writeCipherPacket"},
		{"poly1305.Verify(&mac, ", "poly1305.Check(&mac, ", "uses poly1305.Check"},
		{"poly1305.Verify(&mac, c.buf[:contentEnd], &polyKey)", "poly1305.Verify(&mac, c.buf[:contentEnd], &otherKey)", "does not take the key"},
		{"	s.XORKeyStream(polyKey[:], polyKey[:])\n	s.XORKeyStream(discardBuf[:], discardBuf[:])", "	s.XORKeyStream(discardBuf[:], discardBuf[:])\n	s.XORKeyStream(polyKey[:], polyKey[:])", "does not take the key"},
		{"chacha20.NewUnauthenticatedCipher(c.lengthKey[:], nonce)", "chacha20.NewUnauthenticatedCipher(c.contentKey[:], nonce)", "does not make one stream of each key"},
		{"ls, err := chacha20.NewUnauthenticatedCipher(", "ls, err := chacha20.NewStream(", "uses chacha20.NewStream"},
		{"	poly1305.Sum(&mac, ", "	poly1305.Sum(&mac, c.buf[:0], &polyKey)\n	poly1305.Sum(&mac, ", "does not"},
	} {
		if strings.Count(content, c.from) == 0 {
			t.Fatalf("x/crypto has no %s", c.from)
		}
		other := tree{sshFile: []byte(strings.Replace(content, c.from, c.to, 1))}
		if err := other.patchSSH(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
		if len(other) != 1 || strings.Contains(string(other[sshFile]), "sealane") {
			t.Errorf("%s: it is changed all the same", c.to)
		}
	}
}

// TestSSHKept: a program with another x/crypto/ssh still builds, and the message lists the missing parts. If nothing
// else is replaced, that message is the error.
func TestSSHKept(t *testing.T) {
	dir := sshModule(t)
	fork(func(t *testing.T, dir string) {
		content, err := os.ReadFile(filepath.Join(dir, sshFile))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, sshFile), bytes.ReplaceAll(content, []byte("contentKey"), []byte("textKey")), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	})(t, dir)
	t.Chdir(dir)
	mustRun(t, ".", "go", "mod", "edit", "-replace="+cryptoModule+"=./fork")
	const want = "golang.org/x/crypto/ssh keeps its own ChaCha20-Poly1305: ssh/cipher.go has no chacha20Poly1305Cipher struct{ lengthKey, contentKey [32]byte }"
	result, err := Build(context.Background(), Job{Output: "ours", GOOS: "linux", GOARCH: "amd64"})
	if err != nil || result.SSH || !result.Stream || result.SSHKept == nil || result.SSHKept.Error() != want {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := Build(context.Background(), Job{Output: "ours", GOOS: "linux", GOARCH: "arm64"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
