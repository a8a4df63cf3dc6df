// Init is the first and only process of the virtual machines that test package afalg: it loads the modules it finds, runs
// one program with the arguments of its own command line, says how that ended, and switches the machine off.
//
//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "init: this is for a virtual machine, where it is process 1")
		os.Exit(2)
	}
	err := run()
	fmt.Printf("\ninit: ended: %v\n", err)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range [][2]string{{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}, {"/tmp", "tmpfs"}} {
		if err := os.MkdirAll(m[0], 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m[1], m[0], m[1], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m[0], err)
		}
	}
	if err := load("/modules"); err != nil {
		return err
	}
	arguments, err := os.ReadFile("/arguments")
	if err != nil {
		return err
	}
	cmd := exec.Command("/afalg/afalg.test", strings.Fields(string(arguments))...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = os.Stdout, os.Stdout, "/afalg"
	cmd.Env = []string{"SEALANE_AFALG_REQUIRED=1", "PATH=/", "TMPDIR=/tmp", "HOME=/tmp"}
	return cmd.Run()
}

// load loads all modules of a folder. They need each other, so it goes on as long as one more can be loaded; those for
// processors other than this one cannot.
func load(folder string) error {
	files, err := filepath.Glob(folder + "/*.ko")
	if err != nil {
		return err
	}
	for progress := true; progress; {
		progress = false
		var left []string
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			err = unix.FinitModule(int(f.Fd()), "", 0)
			f.Close()
			if err != nil && err != unix.EEXIST {
				left = append(left, file)
			} else {
				progress = true
			}
		}
		files = left
	}
	for _, file := range files {
		fmt.Println("init: not loaded:", filepath.Base(file))
	}
	return nil
}
