//go:build amd64 || arm64

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// webServer answers each request over TLS with a line. It returns its address. With a name it writes a key log of its own.
func webServer(t *testing.T, version uint16, keyLog string) string {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}, MinVersion: version, MaxVersion: version}
	if keyLog != "" {
		log, err := os.OpenFile(keyLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		config.KeyLogWriter = log
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
					io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes")
				}
			}()
		}
	}()
	return l.Addr().String()
}

// began runs the command until the end of the test, and waits for its first output.
func began(t *testing.T, until string, args ...string) *process {
	t.Helper()
	p := start(t, itself(args...))
	eventually(func() bool {
		select {
		case <-p.done:
			return true
		default:
			return strings.Contains(p.text(), until)
		}
	})
	if text := p.text(); !strings.Contains(text, until) {
		if strings.Contains(text, withoutBPF) || strings.Contains(text, "this kernel has no uprobes") {
			t.Skipf("not run: %s", text)
		}
		t.Fatalf("%v: %s", args, text)
	}
	return p
}

// tap starts to take keys, and returns the file that they go to.
func tap(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "taken")
	began(t, "taking keys", append([]string{"keys", "--write", name}, args...)...)
	return name
}

// compare waits until all keys that a program wrote were taken.
func compare(t *testing.T, written, taken string) {
	t.Helper()
	b, err := os.ReadFile(written)
	if err != nil || !bytes.Contains(b, []byte("CLIENT_")) {
		t.Fatalf("the program wrote no keys: %v %s", err, b)
	}
	for end := time.Now().Add(time.Minute); len(missing(written, taken)) > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if lines := missing(written, taken); len(lines) > 0 {
		t.Errorf("not taken: %s", strings.Join(lines, "\n"))
	}
}

// libraryOf is a library that a program is linked with.
func libraryOf(t *testing.T, program, name string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("not run: there is no %s", program)
	}
	out, _ := exec.Command("ldd", path).Output()
	if m := regexp.MustCompile(name + `\S* => (\S+)`).FindSubmatch(out); m != nil {
		return string(m[1])
	}
	t.Skipf("not run: %s is not linked with %s", program, name)
	return ""
}

// triplet names the folder of Debian's libraries.
func triplet() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "-linux-gnu"
}

var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// All processes with a library: the keys that the program itself writes are taken.
func TestKeysOfLibraries(t *testing.T) {
	git := "git"
	if b, err := exec.Command("git", "--exec-path").Output(); err == nil {
		git = filepath.Join(strings.TrimSpace(string(b)), "git-remote-https")
	}
	type row struct{ name, program, library, command string }
	rows := []row{
		{"curl", "curl", "libssl", "SSLKEYLOGFILE=$LOG curl -sk https://$AT/"},
		{"GnuTLS in git", git, "libgnutls", "SSLKEYLOGFILE=$LOG GIT_SSL_NO_VERIFY=1 git ls-remote https://$AT/"},
		{"openssl", "openssl", "libssl", "printf 'GET / HTTP/1.0\\n\\n' | openssl s_client -connect $AT -keylogfile $LOG -ign_eof"},
	}
	if _, err := exec.LookPath("gnutls-cli"); err == nil { // where git is not at hand, as in virtual machines
		rows = append(rows, row{"GnuTLS", "gnutls-cli", "libgnutls", "printf 'GET / HTTP/1.0\\n\\n' | SSLKEYLOGFILE=$LOG gnutls-cli --insecure --port ${AT#*:} ${AT%:*}"})
	}
	others, _ := filepath.Glob("../../../build/openssl/*/bin/openssl")
	if len(others) == 0 {
		t.Log("not run with other versions of OpenSSL: the provider's tests have not fetched them")
	}
	for _, o := range others {
		folder, _ := filepath.Abs(filepath.Dir(filepath.Dir(o)))
		for _, library := range []string{"libssl.so.4", "libssl.so.3", "libssl.so.1.1"} {
			library = filepath.Join(folder, "usr/lib", triplet(), library)
			if _, err := os.Stat(library); err == nil {
				rows = append(rows, row{"openssl " + filepath.Base(folder), "", library,
					"printf 'GET / HTTP/1.0\\n\\n' | " + folder + "/bin/openssl s_client -connect $AT -keylogfile $LOG -ign_eof"})
				break
			}
		}
	}
	for _, c := range rows {
		for name, version := range versions {
			t.Run(c.name+", "+name, func(t *testing.T) {
				if release, _ := os.ReadFile("/etc/os-release"); c.library == "libgnutls" && strings.Contains(string(release), "\nID=ubuntu\n") {
					t.Skip("not run: Ubuntu optimizes GnuTLS when it links, which leaves no function to probe")
				}
				library := c.library
				if c.program != "" {
					library = libraryOf(t, c.program, library)
				}
				taken := tap(t, "--path", library)
				written := filepath.Join(t.TempDir(), "written")
				cmd := exec.Command("sh", "-c", c.command)
				cmd.Env = append(os.Environ(), "AT="+webServer(t, version, ""), "LOG="+written)
				out, _ := cmd.CombinedOutput()
				if _, err := os.Stat(written); err != nil {
					t.Fatalf("%s: %s", c.command, out)
				}
				compare(t, written, taken)
			})
		}
	}
}

// Python makes the library named by LIB do a handshake.
const clientOfLibrary = `exec python3 -c '
import ctypes, os, socket
ssl = ctypes.CDLL(os.environ["LIB"])
ssl.TLS_method.restype = ssl.SSL_CTX_new.restype = ssl.SSL_new.restype = ctypes.c_void_p
s = ctypes.c_void_p(ssl.SSL_new(ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_method())))))
host, port = os.environ["AT"].split(":")
c = socket.create_connection((host, int(port)))
ssl.SSL_set_fd(s, c.fileno())
assert ssl.SSL_connect(s) == 1
ssl.SSL_write(s, b"GET / HTTP/1.0\n\n", 16)
ssl.SSL_read(s, ctypes.create_string_buffer(100), 100)'`

// keysOfClient compares the keys that are taken at a library, while a command is a client, with those that the server logs. Without a library
// the client writes them.
func keysOfClient(t *testing.T, program, library, command string) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			need(t, program)
			dir := t.TempDir()
			taken := filepath.Join(dir, "taken")
			if library != "" {
				if _, err := os.Stat(library); err != nil {
					t.Skipf("not run: %v", err)
				}
				taken = tap(t, "--path", library)
			}
			written := filepath.Join(dir, "written")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", command)
			cmd.Env = append(os.Environ(), "AT="+webServer(t, version, written), "LIB="+library, "DIR="+dir)
			cmd.Stdin = strings.NewReader("GET / HTTP/1.0\n\n")
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			if b, _ := os.ReadFile(written); len(b) == 0 {
				t.Fatalf("%v: %s", err, out)
			}
			compare(t, written, taken)
		})
	}
}

func TestKeysOfBoringSSL(t *testing.T) {
	keysOfClient(t, "python3", "/usr/lib/"+triplet()+"/android/libssl.so.0", clientOfLibrary)
}

// BoringSSL as a part of a program that has no symbols.
func TestChromiumKeys(t *testing.T) {
	keysOfClient(t, "chromium", "/usr/lib/chromium/chromium", "exec chromium --headless --no-sandbox --disable-gpu --ignore-certificate-errors "+
		"--user-data-dir=$DIR/profile --dump-dom https://$AT/")
}

// Firefox's NSS writes a key log, which Debian's own NSS does not.
func TestFirefoxKeys(t *testing.T) {
	const folder = "/usr/lib/firefox-esr"
	if _, err := os.Stat(folder + "/libssl3.so"); err != nil {
		t.Skipf("not run: %v", err)
	}
	keysOfClient(t, "tstclnt", "", "LD_LIBRARY_PATH="+folder+" SSLKEYLOGFILE=$DIR/taken exec timeout 3 tstclnt -h ${AT%:*} -p ${AT#*:} -D -o -f")
}

// This process started earlier, with any TLS library.
func TestKeysOfProcesses(t *testing.T) {
	stripped := filepath.Join(t.TempDir(), "stripped")
	if err := exec.Command("strip", "-o", stripped, os.Args[0]).Run(); err != nil {
		t.Logf("stripped Go program not run: %v", err)
		stripped = os.Args[0]
	}
	for _, c := range []struct{ name, program, command string }{
		{"Go", "sh", "SEALANE_GATEWAY_TEST_CLIENT=1 exec " + os.Args[0]},
		{"Go, stripped", "sh", "SEALANE_GATEWAY_TEST_CLIENT=1 exec " + stripped},
		{"Python", "python3", `SSLKEYLOGFILE=$LOG exec python3 -c '
import os, socket, ssl, sys
c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
sys.stdin.readline()
host, port = os.environ["AT"].split(":")
s = c.wrap_socket(socket.create_connection((host, int(port)))); s.send(b"GET / HTTP/1.0\n\n"); s.recv(100)'`},
		{"Node", "node", `exec node --tls-keylog=$LOG -e '
process.stdin.once("data", () => { const [host, port] = process.env.AT.split(":");
const s = require("tls").connect({host, port, rejectUnauthorized: false}, () => s.write("GET / HTTP/1.0\n\n")); s.on("data", () => { s.destroy(); setTimeout(() => process.exit(0), 200) }) })'`},
	} {
		for name, version := range versions {
			t.Run(c.name+", "+name, func(t *testing.T) {
				need(t, c.program)
				written := filepath.Join(t.TempDir(), "written")
				cmd := exec.Command("sh", "-c", c.command)
				cmd.Env = append(os.Environ(), "AT="+webServer(t, version, ""), "LOG="+written)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				p := start(t, cmd)
				defer in.Close()
				// Until it has its libraries.
				eventually(func() bool {
					maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
					return bytes.Contains(maps, []byte("libssl")) || c.name != "Python"
				})
				time.Sleep(200 * time.Millisecond)
				taken := tap(t, "--pid", fmt.Sprint(cmd.Process.Pid))
				io.WriteString(in, "go\n")
				<-p.done
				compare(t, written, taken)
			})
		}
	}
}

// A cgroup has the keys of its processes, also of those that start later, and of no others.
func TestKeysOfCgroup(t *testing.T) {
	var root string
	for _, r := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(r + "/cgroup.procs"); err == nil {
			if _, err := os.Stat(r + "/cgroup.controllers"); err == nil {
				root = r
			}
		}
	}
	if root == "" {
		t.Skip("not run: there is no cgroup 2")
	}
	folder := fmt.Sprintf("%s/sealane-test-%d", root, os.Getpid())
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Skipf("not run: no cgroup 2 can be made here: %v", err)
	}
	t.Cleanup(func() { eventually(func() bool { return os.Remove(folder) == nil }) })
	libraryOf(t, "curl", "libssl")
	name := filepath.Join(t.TempDir(), "taken")
	inside, outside := filepath.Join(t.TempDir(), "inside"), filepath.Join(t.TempDir(), "outside")
	at := webServer(t, tls.VersionTLS13, "")
	// The shell has no TLS library; curl is started later.
	member := exec.Command("sh", "-c", "echo $$ > "+folder+"/cgroup.procs; read go; SSLKEYLOGFILE="+inside+" curl -sk https://"+at+"/")
	in, err := member.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	// The library has to be seen once: by a process that stays long enough.
	stays := exec.Command("sh", "-c", "echo $$ > "+folder+"/cgroup.procs; exec openssl s_client -connect "+at)
	hold, err := stays.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stays.Start(); err != nil {
		t.Skipf("not run: %v", err)
	}
	defer stays.Wait()
	defer hold.Close()
	began(t, "taking keys", "keys", "--cgroup", folder, "--write", name)
	other := exec.Command("curl", "-sk", "https://"+at+"/")
	other.Env = append(os.Environ(), "SSLKEYLOGFILE="+outside)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	io.WriteString(in, "go\n")
	if err := member.Wait(); err != nil {
		t.Fatalf("curl in the cgroup: %v", err)
	}
	compare(t, inside, name)
	if all := missing(outside, os.DevNull); len(all) == 0 || len(missing(outside, name)) != len(all) {
		t.Errorf("keys of a process outside were taken, of %q", all)
	}
}

// The gateway decrypts servers without a key log: neither they nor curl write one.
func TestKeysOfServers(t *testing.T) {
	for _, c := range []struct{ program, arguments, settings string }{
		{"nginx", "-p DIR -c DIR/settings", "daemon off; user root; pid DIR/pid; error_log DIR/error.log; events {}\nhttp { access_log off; server { listen AT ssl; " +
			"ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem; location / { return 200 'the secret page'; } } }"},
		{"haproxy", "-db -f DIR/settings", "defaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\nfrontend f\n bind AT ssl crt DIR/both.pem\n" +
			" http-request return status 200 content-type text/plain string \"the secret page\"\n"},
		{"apache2", "-X -f DIR/settings", "ServerRoot DIR\nServerName localhost\nListen AT\nPidFile DIR/pid\nErrorLog DIR/error.log\nDefaultRuntimeDir DIR\n" +
			"LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n" +
			"LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nUser nobody\nGroup nogroup\nSSLEngine on\nSSLCertificateFile DIR/cert.pem\n" +
			"SSLCertificateKeyFile DIR/key.pem\nErrorDocument 403 \"the secret page\"\nErrorDocument 404 \"the secret page\"\n"},
	} {
		t.Run(c.program, func(t *testing.T) {
			need(t, c.program, "curl")
			dir := t.TempDir()
			writePEM(t, dir, selfSigned(t))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			at := l.Addr().String()
			l.Close()
			fill := strings.NewReplacer("DIR", dir, "AT", at)
			if err := os.WriteFile(dir+"/settings", []byte(fill.Replace(c.settings)), 0o600); err != nil {
				t.Fatal(err)
			}
			server := start(t, exec.Command(c.program, strings.Fields(fill.Replace(c.arguments))...))
			ask := func() string {
				out, _ := exec.Command("curl", "-sk", "https://"+at+"/asked").Output()
				return string(out)
			}
			if !eventually(func() bool { return strings.Contains(ask(), "the secret page") }) {
				log, _ := os.ReadFile(dir + "/error.log")
				t.Fatalf("it does not answer: %s %s", server.text(), log)
			}
			socket, streams := dir+"/keys", dir+"/streams"
			gateway := start(t, itself("live", "--interface", "lo", "--keys-socket", socket, "--streams", streams))
			gateway.waitFor(t, "msg=reading", 1)
			began(t, "taking keys", "keys", "--path", libssl(t, server.Process.Pid), "--socket", socket)
			ask()
			if !eventually(func() bool {
				files, _ := filepath.Glob(streams + "/*")
				for _, name := range files {
					if b, _ := os.ReadFile(name); bytes.Contains(b, []byte("the secret page")) {
						return true
					}
				}
				return false
			}) {
				t.Errorf("the gateway did not decrypt it: %s", gateway.text())
			}
		})
	}
}

// libssl is the one that a process has.
func libssl(t *testing.T, pid int) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`/\S*/libssl\S*`).Find(maps)
	if name == nil {
		t.Fatal("it has no libssl")
	}
	return string(name)
}

// A gateway that is started anew gets the keys that were taken in the meantime.
func TestKeysWait(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "keys")
	var taken tapped
	taken.socket = socket
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	out, err := taken.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	l.Close()
	failed := make(chan error, 1)
	go func() { failed <- out.write([]byte("one\n")) }()
	time.Sleep(150 * time.Millisecond)
	if l, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if text, err := bufio.NewReader(c).ReadString('\n'); err != nil || text != "one\n" || <-failed != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// Each cause of failure is named, and so is its remedy.
func TestKeysSays(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() == 0 {
		if said, ok := powerless(t, "keys", "--pid", "1", "--write", dir+"/powerless"); ok || !strings.Contains(said, withoutBPF) {
			t.Errorf("without privileges: success %v, it says %s", ok, said)
		}
	}
	readable := dir + "/readable"
	os.WriteFile(readable, nil, 0o644)
	os.Chmod(readable, 0o644)
	for _, c := range []struct{ args, says string }{
		{"keys", "which processes"},
		{"keys --pid 1 --path /bin/sh", "which processes"},
		{"keys --pid 1", "where to"},
		{"keys --pid 1 --write x --socket y", "where to"},
		{"keys --pid 1 --socket " + dir + "/none", "no such file"},
		{"keys --pid 1 --write " + readable, "0644"},
		{"keys --pid 4194304 --write " + dir + "/a", "it no longer exists"},
		{"keys --path " + dir + "/none --write " + dir + "/b", "no such file"},
		{"keys --path /bin/sh --write " + dir + "/c", "no supported TLS library"},
		{"keys --cgroup " + dir + " --write " + dir + "/d", "cgroup 2"},
	} {
		said, ok := run(t, strings.Fields(c.args)...)
		if strings.Contains(said, withoutBPF) {
			t.Skipf("not run: %s", said)
		}
		if ok || !strings.Contains(said, c.says) {
			t.Errorf("%s: success %v, it says %s", c.args, ok, said)
		}
	}
}
