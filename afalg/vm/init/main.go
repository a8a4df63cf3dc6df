// Init is the only process of the virtual machines that test package afalg. It runs the steps in the file /steps,
// reports the result, and powers the machine off. A line is one step:
//
//	load NAME...                     loads these modules, or with the name "all" every available one
//	run VARIABLE=VALUE... PROGRAM ARGUMENT...
//
//go:build linux

package main

import (
	"errors"
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
	result := "all is well"
	if err := steps(); err != nil {
		fmt.Println("\ninit:", err)
		result = "failed"
	}
	fmt.Printf("\ninit: ended: %s\n", result)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func steps() error {
	for _, m := range [][2]string{{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}, {"/tmp", "tmpfs"}} {
		if err := os.MkdirAll(m[0], 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m[1], m[0], m[1], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m[0], err)
		}
	}
	file, err := os.ReadFile("/steps")
	if err != nil {
		return err
	}
	var all []error
	for _, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case len(words) > 1 && words[0] == "load":
			err = load(words[1:])
		case len(words) > 1 && words[0] == "run":
			err = run(words[1:])
		default:
			err = fmt.Errorf("no step: %q", line)
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", line, err))
		}
	}
	return errors.Join(all...)
}

func run(words []string) error {
	environment := []string{"PATH=/bin:/usr/bin", "TMPDIR=/tmp", "HOME=/tmp"}
	for len(words) > 1 && strings.Contains(words[0], "=") {
		environment = append(environment, words[0])
		words = words[1:]
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = os.Stdout, os.Stdout, filepath.Dir(words[0]), environment
	return cmd.Run()
}

// load loads modules. They depend on each other, so it repeats as long as one more can be loaded. With "all", modules
// for other processors fail to load.
func load(names []string) error {
	if names[0] == "all" {
		names = []string{"*"}
	}
	var files []string
	for _, name := range names {
		found, err := filepath.Glob("/modules/" + name + ".ko")
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no module %s: %v", name, err)
		}
		files = append(files, found...)
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
	if names[0] != "*" && len(files) > 0 {
		return errors.New("not all were loaded")
	}
	// Since 7.3 the kernel by default refuses the functions under test.
	err := os.WriteFile("/proc/sys/crypto/af_alg_restrict", []byte("0"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
