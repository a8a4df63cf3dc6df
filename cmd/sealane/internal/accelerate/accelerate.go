// Package accelerate builds and tests unmodified Go programs with golang.org/x/crypto/chacha20poly1305 replaced by
// sealane, SSH's ChaCha20-Poly1305 of x/crypto/ssh, and x/crypto's bare ChaCha20 where that has no assembly.
//
// The program's own x/crypto is copied, and New and NewX of that one package are made to call sealane where it has a kernel
// for the CPU.
// The go command gets the copy from a module proxy, as a version of x/crypto of its own, and is told of it in a
// go.mod (or go.work) that takes the place of the user's. Nothing of the user's is written to but the program asked for, and
// the module cache gains the new versions. The same is done with wireguard-go if its workers are to take batches: two of its
// loops are changed in the copy.
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

// A Job says what to build or test, and how.
type Job struct {
	Package       string    // an import path, a path like ./cmd/thing, or an import path with @version
	Output        string    // file or folder of the program; empty: the folder we are in
	Flags         []string  // for the go command
	GOOS, GOARCH  string    // empty: as the go command finds them
	Std           bool      // have the standard library's ciphers call sealane, too
	Batch         bool      // have wireguard-go's workers take many packets in one call
	AllowPortable bool      // build also where sealane has no kernel
	Version       string    // sealane's
	Stdout        io.Writer // of go test
	Stderr        io.Writer // of the go command

	plant    func(t tree)                       // tests change sealane's source ...
	plantStd func(patched map[[2]string][]byte) // ... and the files of the standard library
}

// A Result is what was built.
type Result struct {
	Output       string
	Crypto       string // the version of x/crypto, and its replacement; empty: the program does not use its cipher
	Cipher       bool   // x/crypto's ChaCha20-Poly1305 is linked and calls sealane
	Stream       bool   // x/crypto's bare ChaCha20, likewise
	SSH          bool   // its package ssh's ChaCha20-Poly1305, likewise
	SSHKept      error  // why the program's is not; nil: it is, or there is none
	StdCipher    bool   // the standard library's ChaCha20-Poly1305 is linked and calls sealane
	StdGCM       bool   // its AES-GCM, likewise
	StdModes     bool   // its AES-CTR or AES-CBC, likewise
	Workers      string // the module whose workers take batches; empty: none
	Fork         string // the module that was made to use x/crypto on every architecture; empty: none
	GOOS, GOARCH string
	Levels       []string // linked, best first
	Others       []string // packages with a ChaCha20-Poly1305 of their own, which stay as they are
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

// kept says why the program's SSH keeps its cipher.
func (b *build) kept() error {
	if !b.usesSSH || b.sshKept == nil {
		return nil
	}
	return fmt.Errorf("%s keeps its own ChaCha20-Poly1305: %w", sshPath, b.sshKept)
}

// verify refuses a program that does not have the kernels, or does not reach them through x/crypto: it may well use
// sealane by itself, or a ChaCha20-Poly1305 of some other package.
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

// place returns the file to write.
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

// move puts a finished program in place at once, so that no reader sees half of it.
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
