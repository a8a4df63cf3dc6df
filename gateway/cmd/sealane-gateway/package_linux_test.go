package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The four commands of README.md, from the package to the plaintext of nginx. dpkg installs below a folder, so no root is
// needed; the rest runs as README.md has it.
func TestFourCommands(t *testing.T) {
	built := os.Getenv("SEALANE_GATEWAY_DEB")
	if built == "" {
		t.Skip("not run: make test-long-deb builds the package")
	}
	need(t, "dpkg")
	l := newLab(t, 2)
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), "    sudo dpkg -i ")
	if at < 0 {
		t.Fatal("there are no commands")
	}
	commands := strings.Split(strings.Split(string(text)[at:], "\n\n")[0], "\n")
	if len(commands) != 4 {
		t.Fatalf("%d commands", len(commands))
	}
	// The package, and the folder in place of the system.
	packages, _ := filepath.Glob(filepath.Join(built, "sealane-gateway_*.deb"))
	if len(packages) != 1 {
		t.Fatalf("packages: %v", packages)
	}
	b, err := os.ReadFile(packages[0])
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(l.file(filepath.Base(packages[0])), b, 0o644)
	root := l.file("root")
	for _, dir := range []string{"info", "updates", "triggers"} {
		os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755)
	}
	os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)
	os.Mkdir(l.file("bin"), 0o755)
	script := func(name, text string) { os.WriteFile(l.file("bin/"+name), []byte("#!/bin/sh\n"+text+"\n"), 0o755) }
	script("sudo", `exec "$@"`)
	script("dpkg", fmt.Sprintf(`exec /usr/bin/dpkg --root=%s --force-script-chrootless --force-not-root --force-bad-path --log=/dev/null "$@"`, root))

	conf := fmt.Sprintf(`daemon off; user root; pid %[1]s/pid2; error_log %[1]s/error.log;
events {} http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen 127.0.0.1:443 ssl; listen [::1]:443 ssl; ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem; ssl_protocols TLSv1.3;
    location / { return 200 "meant for one client only"; } } }`, l.dir)
	os.WriteFile(l.file("own.conf"), []byte(conf), 0o600)
	start(t, l.command(0, "nginx", "-c", l.file("own.conf"), "-e", l.file("error.log")))
	eventually(func() bool { _, err := os.Stat(l.file("pid2")); return err == nil })
	shell := func(command string) string {
		c := l.command(0, "sh", "-c", strings.TrimSpace(command))
		c.Dir = l.dir
		c.Env = append(os.Environ(), "PATH="+l.file("bin")+":"+filepath.Join(root, "usr/bin")+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	t.Log(shell(commands[0]))
	live, background := strings.CutSuffix(commands[1], "&")
	if !background {
		t.Fatalf("%s: it does not run in the background", commands[1])
	}
	c := l.command(0, "sh", "-c", "exec "+strings.TrimPrefix(strings.TrimSpace(live), "sudo "))
	c.Dir = l.dir
	c.Env = append(os.Environ(), "PATH="+filepath.Join(root, "usr/bin")+":"+os.Getenv("PATH"))
	p := start(t, c)
	p.waitFor(t, "msg=reading", 1)
	if got := shell(commands[2]); !strings.Contains(got, "meant for one client only") {
		t.Fatalf("curl got %s", got)
	}
	var said string
	for i := range 600 {
		if i%20 == 19 {
			shell(commands[2]) // the keys were late, as the machine is busy
		}
		if said = shell(commands[3]); strings.Contains(said, "GET / HTTP/1.1") && strings.Contains(said, "200 OK") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("tshark shows %s", said)
}
