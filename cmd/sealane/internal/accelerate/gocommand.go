package accelerate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A goCommand runs the go command in a folder.
type goCommand struct {
	ctx      context.Context
	dir      string
	environ  []string          // added to our environment
	program0 string            // path of the go command; empty: from PATH
	named    map[string]string // copied files and their originals, for error messages
}

func (g *goCommand) command(args ...string) *exec.Cmd {
	program := "go"
	if g.program0 != "" {
		program = g.program0
	}
	cmd := exec.CommandContext(g.ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets it remove its own files
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), g.environ...)
	cmd.Env = append(cmd.Env, "PWD="+g.dir)
	return cmd
}

// output runs the go command and returns its output. An error is one line.
func (g *goCommand) output(args ...string) ([]byte, error) {
	cmd := g.command(args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("there is no go command in PATH: install Go, see https://go.dev/doc/install")
	case g.ctx.Err() != nil:
		return nil, errors.New("interrupted")
	case err != nil:
		return nil, errors.New(g.line(complaint.String()))
	}
	return out.Bytes(), nil
}

func (g *goCommand) json(into any, args ...string) error {
	out, err := g.output(args...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// line shortens the go command's error to one line, and adds advice for known errors.
func (g *goCommand) line(complaint string) string {
	var lines []string
	for _, l := range strings.Split(complaint, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "go: downloading ") || strings.HasPrefix(l, "go: finding ") || strings.HasPrefix(l, "# ") {
			continue
		}
		for file, original := range g.named {
			if short, err := filepath.Rel(g.dir, file); err == nil {
				l = strings.ReplaceAll(l, short, original)
			}
			l = strings.ReplaceAll(l, file, original)
		}
		lines = append(lines, strings.TrimPrefix(l, "go: "))
	}
	if len(lines) == 0 {
		return "the go command failed and did not say why"
	}
	line := lines[0]
	for _, next := range lines[1:] {
		if !strings.HasSuffix(line, ":") && !strings.HasSuffix(line, " requires") {
			break
		}
		line += " " + next
	}
	all := strings.Join(lines, "\n")
	for _, offline := range []string{"module lookup disabled by GOPROXY=off", "dial tcp", "no such host", "connection refused", "i/o timeout"} {
		if strings.Contains(all, offline) {
			return fmt.Sprintf("%s: this needs the network, or all modules in the module cache (go mod download, while online) and an exact version instead of @latest", line)
		}
	}
	return line
}

// environment holds the go command's settings.
type environment struct {
	GOMOD, GOWORK, GOFLAGS, GOVERSION, GOOS, GOARCH, GOMODCACHE, GOROOT, GOFIPS140, GOEXPERIMENT, GODEBUG string
}
