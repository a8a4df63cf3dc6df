package accelerate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	source "github.com/sealane/sealane/internal"
)

// A build is a job in progress.
type build struct {
	goCommand
	job         Job
	env         environment
	scratch     string
	target      string               // the package that the go command builds
	program     string               // its import path
	usesSSH     bool                 // it uses x/crypto/ssh
	sshKept     error                // why SSH's cipher is not replaced
	crypto      string               // version of x/crypto, human-readable
	workers     string               // the module whose workers use batches, human-readable
	fork        string               // the module changed to use x/crypto, human-readable
	modfile     string               // the go.mod or go.work that the go command reads instead of the user's
	mode        string               // -mod
	userModfile string               // -modfile
	userOverlay string               // -overlay
	overlay     string               // for the go command
	started     string               // the current folder
	stdPatched  map[[2]string][]byte // changed files of the standard library, by package and name
	require     string               // the require line for modules that call sealane; empty: the program has its own
}

func (b *build) close() { os.RemoveAll(b.scratch) }

// prepare finds the program and its x/crypto, and writes a modfile that builds it with sealane.
func prepare(ctx context.Context, job Job, test bool) (_ *build, err error) {
	b := &build{job: job, target: job.Package, goCommand: goCommand{ctx: ctx, named: map[string]string{}}}
	if b.dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	b.started = b.dir
	if b.scratch, err = os.MkdirTemp("", "sealane-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if job.GOOS != "" {
		b.environ = append(b.environ, "GOOS="+job.GOOS)
	}
	if job.GOARCH != "" {
		b.environ = append(b.environ, "GOARCH="+job.GOARCH)
	}
	if b.target == "" {
		b.target = "."
	}
	if at := strings.LastIndex(b.target, "@"); at >= 0 {
		if err := b.fetch(b.target[:at], b.target[at+1:]); err != nil {
			return nil, err
		}
	}
	if err := b.json(&b.env, "env", "-json", "GOMOD", "GOWORK", "GOFLAGS", "GOVERSION", "GOOS", "GOARCH", "GOMODCACHE", "GOROOT", "GOFIPS140", "GOEXPERIMENT", "GODEBUG"); err != nil {
		return nil, err
	}
	if err := b.settings(); err != nil {
		return nil, err
	}
	if job.Std {
		if err := b.checkStd(); err != nil {
			return nil, err
		}
		if err := b.linkRoot(); err != nil {
			return nil, err
		}
	}
	if b.env.GOMOD == "" || b.env.GOMOD == os.DevNull {
		return nil, fmt.Errorf("%s is not in a module: change to the program's folder, or name a package with its version, as in golang.zx2c4.com/wireguard@latest", b.dir)
	}
	if err := os.Mkdir(filepath.Join(b.scratch, "module"), 0o777); err != nil {
		return nil, err
	}
	if b.workspace() {
		err = b.copyWorkspace()
	} else {
		err = b.copyModule()
	}
	if err != nil {
		return nil, err
	}
	found, err := b.list(test)
	if err != nil {
		return nil, err
	}
	if err := b.choose(found, test); err != nil {
		return nil, err
	}
	if job.Std {
		if err := b.overlayStd(); err != nil {
			return nil, err
		}
	}
	if err := b.replace(found.crypto); err != nil {
		return nil, err
	}
	if err := b.replaceFork(found.fork, test); err != nil {
		return nil, err
	}
	if job.Batch {
		if err := b.batchWorkers(found.device, found.fork, test); err != nil {
			return nil, err
		}
	}
	replaced, err := b.list(test)
	if err != nil && b.incomplete(err) {
		b.mode = "mod"
		replaced, err = b.list(test)
	}
	if err != nil {
		return nil, err
	}
	if kept := b.kept(); kept != nil && !replaced.sealane {
		return nil, fmt.Errorf("%w: there is nothing to accelerate", kept)
	}
	if !replaced.sealane {
		return nil, errors.New("the go command did not use the replaced ciphers: nothing was built")
	}
	return b, nil
}

// settings reads the user's flags that concern modules.
func (b *build) settings() error {
	const language = source.Go
	if has := strings.Fields(b.env.GOVERSION)[0]; version.IsValid(has) && version.Compare(has, language) < 0 {
		return fmt.Errorf("sealane needs %s or later, and this is %s: install a newer Go, or set GOTOOLCHAIN=%s.0", language, has, language)
	}
	var kept []string
	fields, err := quotedFields(b.env.GOFLAGS)
	if err != nil {
		return fmt.Errorf("GOFLAGS: %w", err)
	}
	for _, f := range fields {
		if !b.moduleFlag(f.text) {
			kept = append(kept, f.quoted)
		}
	}
	b.environ = append(b.environ, "GOFLAGS="+strings.Join(kept, " "))
	kept = nil
	for i, f := range b.job.Flags {
		name := strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-")
		name, _, joined := strings.Cut(name, "=")
		switch {
		case name == "o" || name == "C":
			return fmt.Errorf("%s is not supported: use sealane's own -o, or change to the folder", f)
		case name == "mod" && !joined:
			return fmt.Errorf("write %s with =, as in -mod=mod", strings.Join(b.job.Flags[i:min(i+2, len(b.job.Flags))], " "))
		case name == "overlay" && b.job.Std && !joined:
			return fmt.Errorf("write %s with =, as in -overlay=overlay.json", strings.Join(b.job.Flags[i:min(i+2, len(b.job.Flags))], " "))
		case name == "modfile" && !joined:
			return fmt.Errorf("write %s with =, as in -modfile=other.mod", strings.Join(b.job.Flags[i:min(i+2, len(b.job.Flags))], " "))
		}
		if !b.moduleFlag(f) {
			kept = append(kept, f)
		}
	}
	b.job.Flags = kept
	return nil
}

// moduleFlag handles -mod and -modfile, and reports whether f was one of them.
func (b *build) moduleFlag(f string) bool {
	name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-"), "=")
	switch {
	case !joined || !strings.HasPrefix(f, "-"):
		return false
	case name == "mod":
		b.mode = value
	case name == "modfile":
		b.userModfile = value
	case name == "overlay" && b.job.Std:
		b.userOverlay = value
	default:
		return false
	}
	return true
}

// A field is an element of GOFLAGS, as written and without quotes.
type field struct{ quoted, text string }

// quotedFields splits GOFLAGS at white space. Quoted fields may contain white space.
func quotedFields(s string) (fields []field, err error) {
	for s = strings.TrimLeft(s, " \t\r\n"); s != ""; s = strings.TrimLeft(s, " \t\r\n") {
		if s[0] == '\'' || s[0] == '"' {
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				return nil, fmt.Errorf("unterminated %c string", s[0])
			}
			fields, s = append(fields, field{s[:end+2], s[1 : end+1]}), s[end+2:]
			continue
		}
		end := strings.IndexAny(s, " \t\r\n")
		if end < 0 {
			end = len(s)
		}
		fields, s = append(fields, field{s[:end], s[:end]}), s[end:]
	}
	return fields, nil
}

func (b *build) workspace() bool { return b.env.GOWORK != "" && b.env.GOWORK != "off" }

// fetch makes the go command fetch the module of a package and make it the main module, like go install.
func (b *build) fetch(pkg, version string) error {
	if version == "" || strings.HasPrefix(pkg, ".") || strings.HasPrefix(pkg, "/") {
		return fmt.Errorf("%s@%s: a version needs an import path, as in golang.zx2c4.com/wireguard@latest", pkg, version)
	}
	b.environ = append(b.environ, "GOWORK=off")
	b.dir = b.scratch
	passes := [][]string{nil}
	if regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(version) {
		passes = [][]string{{"GOPROXY=off"}, nil} // first only the module cache
	}
	var first error
	for _, pass := range passes {
		first = nil
		for module := pkg; module != "." && strings.Contains(module, "."); module = path.Dir(module) {
			dir, err := b.download(module, version, pass)
			if err == nil {
				b.dir = filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(pkg, module)))
				if info, err := os.Stat(b.dir); err != nil || !info.IsDir() {
					first = fmt.Errorf("%s@%s has no package %s", module, version, pkg)
					continue
				}
				if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
					return fmt.Errorf("%s@%s has no go.mod: require it in a module of your own and run sealane build there", module, version)
				}
				b.target = pkg
				b.job.Flags = append([]string{"-buildvcs=false"}, b.job.Flags...)
				return nil
			}
			// An existing module that needs another Go version is more informative than a missing one.
			if first == nil || strings.Contains(err.Error(), "requires go ") {
				first = err
			}
			if b.ctx.Err() != nil {
				return err
			}
		}
	}
	if first == nil {
		first = fmt.Errorf("%s is not an import path of a module", pkg)
	}
	b.dir = b.scratch
	if toolchain := neededToolchain(first); toolchain != "" {
		var has struct{ GOTOOLCHAIN string }
		if err := b.json(&has, "env", "-json", "GOTOOLCHAIN"); err != nil {
			return err
		}
		if has.GOTOOLCHAIN == "auto" || strings.HasSuffix(has.GOTOOLCHAIN, "+auto") {
			b.environ = append(b.environ, "GOTOOLCHAIN="+toolchain)
			return b.fetch(pkg, version)
		}
		return fmt.Errorf("%w: GOTOOLCHAIN=%s or GOTOOLCHAIN=auto fetches that Go", first, toolchain)
	}
	return first
}

var needsGo = regexp.MustCompile(`requires go >= (1\.\d+)(\.\d+|rc\d+)?\b`)

// neededToolchain returns the Go version that a module needs, if the go command's error says so. go install switches to
// it by itself; go mod download does not.
func neededToolchain(err error) string {
	m := needsGo.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		m[2] = ".0"
	}
	return "go" + m[1] + m[2]
}

func (b *build) download(module, version string, environ []string) (string, error) {
	g := b.goCommand
	g.environ = append(g.environ[:len(g.environ):len(g.environ)], environ...)
	g.environ = append(g.environ, "GOFLAGS=-mod=mod")
	cmd := g.command("mod", "download", "-json", module+"@"+version)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if json.Unmarshal(out, &got) != nil || got.Error != "" || got.Dir == "" {
		if errors.Is(err, exec.ErrNotFound) || got.Error == "" {
			_, err := g.output("version")
			if err == nil {
				err = errors.New(g.line(complaint.String()))
			}
			return "", err
		}
		return "", errors.New(g.line(got.Error))
	}
	return got.Dir, nil
}

// A listing is the go command's list of a program's packages.
type listing struct {
	roots     []listed
	crypto    *module
	device    *module // package device of wireguard-go
	fork      *module // tailscale's wireguard-go
	sealane   bool
	cryptoTLS bool
	std       bool // one of the two standard library packages
}

type listed struct {
	ImportPath, Name, ForTest string
	DepOnly                   bool
	Module                    *module
}

type module struct {
	Path, Version, Dir, GoVersion string
	Main                          bool
	Replace                       *module
}

func (b *build) list(test bool) (*listing, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Name,ForTest,DepOnly,Module"}
	if test {
		args = append(args, "-test")
	}
	args = append(args, b.goFlags()...)
	args = append(args, listFlags(b.job.Flags)...)
	out, err := b.output(append(args, "--", b.target)...)
	if err != nil {
		return nil, err
	}
	l := &listing{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return l, nil
		} else if err != nil {
			return nil, err
		}
		switch name, _, _ := strings.Cut(p.ImportPath, " "); name {
		case cipherPath:
			l.crypto = p.Module
		case streamPath:
			if streamReplaced(b.env.GOARCH) {
				l.crypto = p.Module
			}
		case sshPath:
			if len(Kernels(b.env.GOARCH)) > 0 {
				l.crypto, b.usesSSH = p.Module, true
			}
		case wireguardDevice:
			l.device = p.Module
		case forkDevice:
			l.fork = p.Module
		case sealaneKernel:
			l.sealane = true
		case "crypto/tls":
			l.cryptoTLS = true
		case stdCipher, stdGCM:
			l.std = true
		}
		if !p.DepOnly && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") {
			l.roots = append(l.roots, p)
		}
	}
}

// choose selects the program from the listing, or returns the reason why it cannot.
func (b *build) choose(found *listing, test bool) error {
	switch {
	case len(found.roots) == 0:
		return fmt.Errorf("%s matches no package", b.target)
	case !test && len(found.roots) > 1:
		return fmt.Errorf("%s matches %d packages: name one program", b.target, len(found.roots))
	case !test && found.roots[0].Name != "main":
		return fmt.Errorf("%s is a library, not a program: name the package of a main function, or use sealane test", found.roots[0].ImportPath)
	}
	b.program = found.roots[0].ImportPath
	switch c := found.crypto; {
	case c == nil && b.job.Std && found.std:
		return nil
	case c == nil && b.job.Std:
		return fmt.Errorf("%s uses neither %s nor the standard library's AES or ChaCha20-Poly1305: there is nothing to accelerate", b.program, cipherPath)
	case c == nil && found.cryptoTLS:
		return fmt.Errorf("%s does not use %s, only crypto/tls, whose ciphers belong to the standard library: --std replaces those", b.program, cipherPath)
	case c == nil:
		return fmt.Errorf("%s does not use %s: there is nothing to accelerate; programs that import it, directly or through other packages, can be", b.program, cipherPath)
	case c.Main && !test:
		return fmt.Errorf("%s is itself a part of %s, which cannot be replaced in its own module", b.program, cryptoModule)
	}
	return nil
}

// listFlags returns the go command's flags that decide which packages a program has.
func listFlags(flags []string) (some []string) {
	for i, f := range flags {
		name, _, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-"), "=")
		switch {
		case !strings.HasPrefix(f, "-"):
		case name == "race" || name == "msan" || name == "asan" || joined && (name == "tags" || name == "overlay" || name == "compiler"):
			some = append(some, f)
		case (name == "tags" || name == "overlay" || name == "compiler") && i+1 < len(flags):
			some = append(some, f, flags[i+1])
		}
	}
	return some
}

// stream runs go build or go test.
func (b *build) stream(command string, args []string) error {
	cmd := b.command(append(append([]string{command}, b.goFlags()...), args...)...)
	cmd.Stdout, cmd.Stderr = b.job.Stdout, b.job.Stderr
	if err := cmd.Run(); err != nil {
		if b.ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return fmt.Errorf("go %s failed", command)
	}
	return nil
}
