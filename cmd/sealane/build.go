package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/cmd/sealane/internal/accelerate"
)

func buildCommand() *cobra.Command {
	job := accelerate.Job{Version: version(), Stdout: os.Stdout, Stderr: os.Stderr}
	c := &cobra.Command{
		Use:   "build [-o file] [package] [-- go build flags]",
		Short: "Build an unmodified Go program with sealane in place of x/crypto's ChaCha20-Poly1305",
		Long: `Build a Go program with sealane in place of golang.org/x/crypto/chacha20poly1305, which the program uses directly or
through other packages. The package belongs to the module or workspace of the current folder, or is named with a version.

The command copies the program's own version of x/crypto. In the copy, New and NewX of that package call sealane, and the
program is built with the copy. The command also replaces the ChaCha20-Poly1305 of x/crypto/ssh, and on amd64 and 32-bit ARM the
bare ChaCha20 of x/crypto.
Where sealane has no kernel for the CPU, or with SEALANE_ASM=0, the program's own code runs.

The command changes no file of the program, go.mod and go.sum included. It writes the program only if it finds sealane's
kernels in it. A program named with a version is built as in its own repository: it reports its version as (devel).

With --std, AES-GCM, AES-CTR, AES-CBC and ChaCha20-Poly1305 of the standard library call sealane as well. So do crypto/tls, net/http
and all users of crypto/cipher. The go command's -overlay gives three packages of the standard library other files; the Go
installation is unchanged. --std works with every Go from 1.24 on whose standard
library has the declarations that sealane replaces, and never for FIPS 140-3. A program built with
it stops with a message if its environment turns that mode on.

With --batch, the workers of wireguard-go give sealane all waiting packets in one call. The workers may be in the program itself
or in a module that it uses. This changes a few lines of two loops in a copy of wireguard-go; a version with other loops is
refused.`,
		Example: `  sealane build -o wireguard-go golang.zx2c4.com/wireguard@latest
  sealane build --batch golang.zx2c4.com/wireguard@latest
  sealane build --std ./cmd/server
  sealane build ./cmd/thing -- -ldflags=-s
  sealane build --goos windows filippo.io/age/cmd/age@v1.2.1`,
		Args: onePackage(&job),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := accelerate.Build(cmd.Context(), job)
			if err != nil {
				return err
			}
			printReplaced(os.Stdout, result, job.Version)
			printFork(result)
			printWorkers(result)
			for _, other := range result.Others {
				fmt.Printf("%s has its own ChaCha20-Poly1305, which is unchanged\n", other)
			}
			fmt.Printf("%s for %s/%s: has the levels %s%s\n", result.Output, result.GOOS, result.GOARCH, strings.Join(result.Levels, " "), here(result))
			return nil
		},
	}
	buildFlags(c, &job)
	c.Flags().StringVarP(&job.Output, "output", "o", "", "write the program to this file or folder")
	c.Flags().BoolVar(&job.AllowPortable, "allow-portable", false, "build also without kernels, with slower portable code")
	return c
}

func testCommand() *cobra.Command {
	job := accelerate.Job{Version: version(), Stdout: os.Stdout, Stderr: os.Stderr}
	c := &cobra.Command{
		Use:   "test [packages] [-- go test flags]",
		Short: "Run go test with sealane in place of x/crypto's ChaCha20-Poly1305",
		Long:  `Run the tests of packages that use golang.org/x/crypto/chacha20poly1305 with sealane in its place, as sealane build does.`,
		Example: `  sealane test ./... -- -race
  sealane test golang.zx2c4.com/wireguard/device@latest -- -count=1`,
		Args: onePackage(&job),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := accelerate.Test(cmd.Context(), job)
			if err != nil {
				return err
			}
			printFork(result)
			printWorkers(result)
			printReplaced(os.Stdout, result, job.Version)
			fmt.Printf("passed%s\n", here(result))
			return nil
		},
	}
	buildFlags(c, &job)
	return c
}

func buildFlags(c *cobra.Command, job *accelerate.Job) {
	c.Flags().BoolVar(&job.Std, "std", false, "also replace AES-GCM, -CTR, -CBC and ChaCha20-Poly1305 of the standard library: crypto/tls, net/http, crypto/cipher")
	c.Flags().BoolVar(&job.Batch, "batch", false, "make wireguard-go's workers seal and open many packets in one call")
	c.Flags().StringVar(&job.GOOS, "goos", "", "build for this operating system (default: GOOS)")
	c.Flags().StringVar(&job.GOARCH, "goarch", "", "build for this architecture (default: GOARCH)")
}

// printFork reports the change in tailscale's wireguard-go.
func printFork(result *accelerate.Result) {
	if result.Fork != "" {
		fmt.Printf("%s: takes its cipher from x/crypto instead of its own tsasm\n", result.Fork)
	}
}

// printReplaced reports which ciphers call sealane.
func printReplaced(w io.Writer, result *accelerate.Result, version string) {
	listed := func(what, calls string, parts map[string]bool) {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if parts[name] {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "%s: %s %s sealane %s; the rest is unchanged\n", what, strings.Join(names, ", "), calls, version)
		}
	}
	listed("golang.org/x/crypto "+result.Crypto, "call", map[string]bool{"New and NewX of chacha20poly1305": result.Cipher, "chacha20": result.Stream, "ssh": result.SSH})
	if result.SSHKept != nil {
		fmt.Fprintf(w, "%v\n", result.SSHKept)
	}
	listed("the standard library", "of crypto/tls, crypto/cipher and others call",
		map[string]bool{"AES-GCM": result.StdGCM, "ChaCha20-Poly1305": result.StdCipher, "AES-CTR and AES-CBC": result.StdModes})
}

func printWorkers(result *accelerate.Result) {
	if result.Workers != "" {
		fmt.Printf("%s: its workers seal and open many packets in one call\n", result.Workers)
	}
}

// onePackage takes the package before -- and the flags after it.
func onePackage(job *accelerate.Job) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		packages := args
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			packages, job.Flags = args[:dash], args[dash:]
		}
		switch {
		case len(packages) > 1:
			return fmt.Errorf("%s takes one package, not %s: write flags of the go command after --", cmd.CommandPath(), strings.Join(packages, " "))
		case len(packages) == 1:
			job.Package = packages[0]
		}
		return nil
	}
}

// here returns the level of the program that this machine uses.
func here(result *accelerate.Result) string {
	if result.GOARCH != runtime.GOARCH || result.GOOS != runtime.GOOS {
		return ""
	}
	for _, l := range sealane.Ciphers()[0].Levels {
		if l.Chosen {
			return "; this machine runs " + l.Name
		}
	}
	return ""
}
