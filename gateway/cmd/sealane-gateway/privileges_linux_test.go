package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A gateway that root starts has few of root's privileges, in each of its threads.
func TestDropsRoot(t *testing.T) {
	l := newLab(t, 2)
	for _, c := range []struct {
		args []string
		caps uint64
	}{
		{[]string{"--tap", "plain"}, 1<<unix.CAP_NET_RAW | 1<<unix.CAP_NET_ADMIN},
		{[]string{"--audit", l.file("audit")}, 1<<unix.CAP_NET_RAW | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_DAC_OVERRIDE},
	} {
		args := []string{"--interface", "left", "--keys-socket", l.file("keys.sock"), "--workers", "2"}
		g := l.gateway(1, append(args, c.args...)...)
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", g.Process.Pid))
		if err != nil || len(threads) < 2 {
			t.Fatalf("threads: %v, %v", threads, err)
		}
		want := regexp.MustCompile(fmt.Sprintf("(?s)CapInh:\t0{16}\nCapPrm:\t%016x\nCapEff:\t%016[1]x\n"+
			"CapBnd:\t%016[1]x\nCapAmb:\t0{16}\nNoNewPrivs:\t1\n", c.caps))
		for _, name := range threads {
			if b, err := os.ReadFile(name); err == nil && !want.Match(b) { // a thread may end
				t.Errorf("%v, %s:\n%s", c.args, name, b)
			}
		}
		g.stop()
	}
}

const filterVariable = "SEALANE_GATEWAY_TEST_SYSCALLS"

// init installs the filter given in the environment. The numbers in the list are system calls that fail with EPERM.
func init() {
	text := os.Getenv(filterVariable)
	if text == "" {
		return
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number comes first (seccomp(2))
	for _, number := range strings.Fields(text) {
		var n uint32
		fmt.Sscan(number, &n)
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: n},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	}
	const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: refuse})
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const setFilter, allThreads = 1, 1
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if _, _, err := syscall.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&p))); err != 0 {
		panic(err)
	}
}

// callsOf returns the numbers of the system calls that SystemCallFilter= lines of a unit allow. A line has sets and
// names, and ~ removes its calls again (systemd.exec(5)).
func callsOf(t *testing.T, lines []string) (numbers []string) {
	t.Helper()
	header := exec.Command("cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null")
	text, err := header.Output()
	if err != nil {
		t.Fatal(err)
	}
	number := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^#define __NR_(\w+) (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		number[m[1]] = m[2]
	}
	var names func(set string) []string
	names = func(set string) (all []string) {
		if !strings.HasPrefix(set, "@") {
			return []string{set}
		}
		out, err := exec.Command("systemd-analyze", "syscall-filter", set).Output()
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		for _, line := range strings.Split(string(out), "\n")[1:] {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				all = append(all, names(line)...)
			}
		}
		return all
	}
	allowed := map[string]bool{}
	for _, line := range lines {
		list, without := strings.CutPrefix(line, "~")
		for _, set := range strings.Fields(list) {
			for _, name := range names(set) {
				allowed[name] = !without
			}
		}
	}
	for name, ok := range allowed {
		if n := number[name]; ok && n != "" {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// The gateway works completely with the system calls that its unit allows. It fails without those that change a
// file's group.
func TestUnitSystemCalls(t *testing.T) {
	need(t, "systemd-analyze", "cc")
	unit, err := os.ReadFile("../../systemd/sealane-gateway.service")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^SystemCallFilter=(.*)$`).FindAllStringSubmatch(string(unit), -1) {
		lines = append(lines, m[1])
	}
	l := newLab(t, 2)
	args := []string{
		"--interface", "left", "--keys-socket", l.file("keys.sock"), "--keys-socket-group", "daemon", "--api", l.file("api"),
		"--api-group", "daemon", "--tap", "plain", "--audit", l.file("audit"), "--write", l.file("plain.pcapng"),
		"--metrics", "127.0.0.1:9101", "--workers", "2", "--key-wait", "30s",
	}
	gateway := func(lines []string) *exec.Cmd {
		cmd := l.command(1, os.Args[0], append([]string{"live"}, args...)...)
		cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1", filterVariable+"="+strings.Join(callsOf(t, lines), " "))
		return cmd
	}
	out, err := gateway(append(slices.Clone(lines), "~@chown")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "operation not permitted") {
		t.Errorf("without @chown: %v\n%s", err, out)
	}
	g := start(t, gateway(lines))
	g.waitFor(t, "msg=reading", 1)
	log := l.file("keys.log")
	if _, err := l.curl(log, "secret-page"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", l.file("keys.sock"))
	if err != nil {
		t.Fatal(err)
	}
	c.Write(b)
	c.Close()
	if !eventually(func() bool {
		b, _ := os.ReadFile(l.file("audit"))
		return strings.Contains(string(b), `"msg":"decrypted"`)
	}) {
		t.Errorf("nothing was decrypted:\n%s", g.text())
	}
	g.Process.Signal(syscall.SIGHUP)
	g.waitFor(t, "msg=reloading", 1)
	g.stop()
	if strings.Contains(g.text(), "level=ERROR") {
		t.Errorf("errors:\n%s", g.text())
	}
}
