// Package accelerate builds and tests unmodified Go programs with ciphers replaced by sealane.
// It replaces golang.org/x/crypto/chacha20poly1305, the ChaCha20-Poly1305 of x/crypto/ssh, and plain ChaCha20 where
// x/crypto has no assembly for it.
//
// It copies the program's own version of x/crypto, and makes New and NewX of chacha20poly1305 call sealane on CPUs for
// which it has a kernel. The go command gets the copy from a module proxy, as a separate version of x/crypto, and a
// go.mod (or go.work) that replaces the user's refers to it. Nothing of the user's is changed except the output
// program; the module cache gains the new versions. If wireguard-go's workers are to use batches, the same is done with
// wireguard-go: two of its loops are changed in the copy.
package accelerate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
)

// A Job describes what to build or test, and how.
type Job struct {
	Package       string    // an import path, a path like ./cmd/thing, or an import path with @version
	Output        string    // file or folder of the program; empty: the current folder
	Flags         []string  // for the go command
	GOOS, GOARCH  string    // empty: the go command's defaults
	Std           bool      // also make the standard library's ciphers call sealane
	Batch         bool      // make wireguard-go's workers process many packets per call
	AllowPortable bool      // build even if sealane has no kernel
	Version       string    // version of sealane
	Stdout        io.Writer // output of go test
	Stderr        io.Writer // output of the go command

	plant    func(t tree)                       // tests change sealane's source ...
	plantStd func(patched map[[2]string][]byte) // ... and the files of the standard library
}

// A Result describes what was built.
type Result struct {
	Output       string
	Crypto       string // version of x/crypto and its replacement; empty: the program does not use its cipher
	Cipher       bool   // x/crypto's ChaCha20-Poly1305 is linked and calls sealane
	Stream       bool   // as Cipher, for plain ChaCha20 of x/crypto
	SSH          bool   // as Cipher, for ChaCha20-Poly1305 of x/crypto/ssh
	SSHKept      error  // why SSH keeps its own cipher; nil: replaced or absent
	StdCipher    bool   // the standard library's ChaCha20-Poly1305 is linked and calls sealane
	StdGCM       bool   // the same for its AES-GCM
	StdModes     bool   // the same for its AES-CTR or AES-CBC
	Workers      string // the module whose workers use batches, or empty
	Fork         string // the module changed to use x/crypto on every architecture, or empty
	GOOS, GOARCH string
	Levels       []string // linked levels, best first
	Others       []string // packages with their own ChaCha20-Poly1305, which are not changed
}

// Build builds one program.
func Build(ctx context.Context, job Job) (*Result, error) {
	b, err := prepare(ctx, job, false)
	if err != nil {
		return nil, err
	}
	defer b.close()
	output, err := b.place()
	if err != nil {
		return nil, err
	}
	if len(Kernels(b.env.GOARCH)) == 0 && !job.AllowPortable {
		return nil, fmt.Errorf("sealane has no kernel for %s, so the program's own code would run: --allow-portable builds it anyway", b.env.GOARCH)
	}
	built := filepath.Join(b.scratch, "program")
	if err := b.stream("build", append(b.job.Flags[:len(b.job.Flags):len(b.job.Flags)], "-o", built, b.target)); err != nil {
		return nil, err
	}
	linked, err := binary.Read(built)
	if err != nil {
		return nil, err
	}
	if err := verify(linked, b.env.GOARCH, job); err != nil {
		return nil, err
	}
	if err := move(built, output); err != nil {
		return nil, err
	}
	return &Result{Output: output, Crypto: b.crypto, Workers: b.workers, Fork: b.fork, GOOS: b.env.GOOS, GOARCH: b.env.GOARCH,
		Levels: linked.Levels, Others: linked.Others, Cipher: linked.Called, Stream: linked.Stream == binary.OnSealane,
		SSH: linked.SSH == binary.OnSealane, SSHKept: b.kept(), StdCipher: linked.StdCipher == binary.OnSealane, StdGCM: linked.StdGCM == binary.OnSealane,
		StdModes: linked.StdModes == binary.OnSealane}, nil
}

// Test runs go test on packages.
func Test(ctx context.Context, job Job) (*Result, error) {
	b, err := prepare(ctx, job, true)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.stream("test", append([]string{b.target}, b.job.Flags...)); err != nil {
		return nil, err
	}
	return &Result{StdCipher: job.Std, StdGCM: job.Std, StdModes: job.Std, Crypto: b.crypto, Cipher: b.crypto != "", SSH: b.usesSSH && b.sshKept == nil, SSHKept: b.kept(), Workers: b.workers, Fork: b.fork, GOOS: b.env.GOOS, GOARCH: b.env.GOARCH}, nil
}

// kept returns the reason why the program's SSH keeps its cipher.
func (b *build) kept() error {
	if !b.usesSSH || b.sshKept == nil {
		return nil
	}
	return fmt.Errorf("%s keeps its own ChaCha20-Poly1305: %w", sshPath, b.sshKept)
}

// verify refuses a program that does not contain the kernels, or does not reach them through x/crypto. Such a program
// may use sealane directly, or a ChaCha20-Poly1305 of another package.
func verify(linked *binary.Program, goarch string, job Job) error {
	want := append(Kernels(goarch), "portable")
	called := linked.Called || linked.Stream == binary.OnSealane || linked.SSH == binary.OnSealane
	switch {
	case job.Std && (linked.StdCipher == binary.Stock || linked.StdGCM == binary.Stock):
		return fmt.Errorf("%s still has the standard library's own ciphers, although they were replaced: nothing was written", linked.Package)
	case job.Std && linked.FIPS140 != "":
		return fmt.Errorf("%s turns FIPS 140-3 mode on by itself (fips140=%s, in its go.mod or a //go:debug line), and sealane's AES is not validated: build it without --std",
			linked.Package, linked.FIPS140)
	case job.Std && !called && linked.StdCipher == "" && linked.StdGCM == "" && linked.StdModes != binary.OnSealane:
		return fmt.Errorf("%s never seals or opens with AES-GCM or ChaCha20-Poly1305, nor calls AES-CTR or AES-CBC: there is nothing to accelerate, and nothing was written", linked.Package)
	case !job.Std && !called && len(linked.Others) > 0:
		return fmt.Errorf("%s imports %s but seals and opens with %s, which sealane does not replace: nothing was written", linked.Package, cipherPath, strings.Join(linked.Others, ", "))
	case len(linked.Levels) == 0 || !job.Std && !called:
		return fmt.Errorf("%s never seals or opens with %s: there is nothing to accelerate, and nothing was written", linked.Package, cipherPath)
	case len(linked.Levels) < len(want) && !job.AllowPortable:
		return fmt.Errorf("the program has only the levels %s of %s (because of a build tag?): nothing was written; --allow-portable accepts this",
			strings.Join(linked.Levels, " "), strings.Join(want, " "))
	}
	return nil
}

// place returns the output file.
func (b *build) place() (string, error) {
	name := path.Base(b.program)
	if regexp.MustCompile(`^v[2-9][0-9]*$|^v1[0-9]+$`).MatchString(name) && path.Dir(b.program) != "." {
		name = path.Base(path.Dir(b.program))
	}
	if b.env.GOOS == "windows" {
		name += ".exe"
	}
	output := b.job.Output
	if output == "" {
		output = name
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		output = filepath.Join(output, name)
	} else if strings.HasSuffix(output, string(os.PathSeparator)) {
		if err := os.MkdirAll(output, 0o777); err != nil {
			return "", err
		}
		output = filepath.Join(output, name)
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a folder: choose a file with -o", output)
	}
	if info, err := os.Stat(filepath.Dir(output)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder: create it, or choose another file with -o", filepath.Dir(output))
	}
	return output, nil
}

// move replaces the output atomically, so that no reader sees a partial program.
func move(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	unfinished := filepath.Join(filepath.Dir(to), fmt.Sprintf(".%s.%d", filepath.Base(to), os.Getpid()))
	out, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", to, err)
	}
	defer os.Remove(unfinished)
	_, err = io.Copy(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(unfinished, to)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", to, err)
	}
	return nil
}
