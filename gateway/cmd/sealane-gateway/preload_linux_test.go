package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where BPF is not allowed, gateway/preload makes programs write a key log that they would not write. Its keys are
// those of the server at the other end.
func TestPreload(t *testing.T) {
	need(t, "cc")
	dir := t.TempDir()
	library := filepath.Join(dir, "sealane_keylog.so")
	if out, err := exec.Command("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-o", library, "../../preload/sealane_keylog.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type row struct{ name, program, command string }
	const client = "printf 'GET / HTTP/1.0\\n\\n' | LD_PRELOAD=" + "$PRELOAD %s s_client -connect $AT -ign_eof"
	rows := []row{
		{"openssl", "openssl", fmt.Sprintf(client, "openssl")},
		{"libssl loaded by Python itself", "python3", `LD_PRELOAD=$PRELOAD python3 -c '
import os, socket, ssl
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
host, port = os.environ["AT"].split(":")
s = c.wrap_socket(socket.create_connection((host, int(port)))); s.send(b"GET / HTTP/1.0\n\n"); s.recv(100)'`},
	}
	others, _ := filepath.Glob("../../../build/openssl/*/bin/openssl")
	for _, o := range others {
		rows = append(rows, row{"openssl " + filepath.Base(filepath.Dir(filepath.Dir(o))), o, fmt.Sprintf(client, o)})
	}
	for _, c := range rows {
		for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				need(t, c.program)
				dir := t.TempDir()
				theirs, ours := filepath.Join(dir, "server"), filepath.Join(dir, "keys.log")
				log, err := os.Create(theirs)
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}, MinVersion: version, MaxVersion: version, KeyLogWriter: log})
				if err != nil {
					t.Fatal(err)
				}
				served := make(chan struct{})
				go func() {
					defer close(served)
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Read(make([]byte, 100))
					io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nyes")
					c.Close()
				}()
				cmd := exec.Command("sh", "-c", c.command)
				cmd.Env = append(os.Environ(), "AT="+l.Addr().String(), "PRELOAD="+library, "SSLKEYLOGFILE="+ours)
				out, _ := cmd.CombinedOutput()
				l.Close()
				<-served
				all := missing(theirs, os.DevNull)
				if lines := missing(theirs, ours); len(all) == 0 || len(lines) > 0 {
					t.Errorf("missing of %d: %s\n%s", len(all), strings.Join(lines, "\n"), out)
				}
				if st, err := os.Stat(ours); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", st, err)
				}
			})
		}
	}
}

// missing returns the lines of a key log that were not taken. The secrets that follow a KeyUpdate are not.
func missing(written, taken string) (lines []string) {
	b, _ := os.ReadFile(written)
	have, _ := os.ReadFile(taken)
	have = bytes.ToUpper(have) // GnuTLS 3.8 writes capitals
	for _, line := range strings.Split(string(b), "\n") {
		if line != "" && line[0] != '#' && !strings.Contains(line, "_SECRET_N ") && !bytes.Contains(have, []byte(strings.ToUpper(line)+"\n")) {
			lines = append(lines, line)
		}
	}
	return lines
}
