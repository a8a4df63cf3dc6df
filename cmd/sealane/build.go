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
		Short: "Build an unmodified Go program with x/crypto's ChaCha20-Poly1305 replaced by sealane",
		Long: `Build a Go program that uses golang.org/x/crypto/chacha20poly1305, itself or through other packages, with sealane in
its place. The package is one of the module or workspace that the current folder is in, or any other with a version.

The program's own version of x/crypto is copied, New and NewX of that one package call sealane in the copy, and the
program is built with the copy. The bare ChaCha20 of x/crypto, which SSH calls, is replaced too, on amd64 and 32-bit ARM.
Where sealane has no kernel for the CPU, or with SEALANE_ASM=0, the program's own code runs.

No file of the program, go.mod and go.sum included, is changed. The program is written only if sealane's kernels are found in
it. A program that is named with a version is built like in its own repository: to itself it is version (devel).

With --std AES-GCM, AES-CTR, AES-CBC and ChaCha20-Poly1305 of the standard library call sealane as well, and with them crypto/tls,
net/http and everything that uses crypto/cipher. The go command sees other files in three packages of the standard library, by its
-overlay; the Go installation stays as it is. That is done for releases of Go whose files are known, and never for FIPS 140-3:
a program so built stops with a message if its environment turns that mode on.

With --batch the workers of wireguard-go, in the program itself or in a module that it uses, give sealane all packets that
are waiting in one call. That changes a few lines of two loops in a copy of wireguard-go; a version with other loops is
refused.`,
		Example: `  sealane build -o wireguard-go golang.zx2c4.com/wireguard@latest
  sealane build --batch golang.zx2c4.com/wireguard@latest
  sealane build --std ./cmd/server
  sealane build ./cmd/thing -- -trimpath -tags netgo
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
				fmt.Printf("%s has a ChaCha20-Poly1305 of its own, which stays as it is\n", other)
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
		Short: "Run go test with x/crypto's ChaCha20-Poly1305 replaced by sealane",
		Long:  `Run the tests of packages that use golang.org/x/crypto/chacha20poly1305 on sealane, by the means of sealane build.`,
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
	c.Flags().BoolVar(&job.Batch, "batch", false, "have wireguard-go's workers seal and open many packets in one call")
	c.Flags().StringVar(&job.GOOS, "goos", "", "build for this operating system (default: GOOS)")
	c.Flags().StringVar(&job.GOARCH, "goarch", "", "build for this architecture (default: GOARCH)")
}

// printFork says what was done to tailscale's wireguard-go.
func printFork(result *accelerate.Result) {
	if result.Fork != "" {
		fmt.Printf("%s: takes its cipher from x/crypto instead of its own tsasm\n", result.Fork)
	}
}

// printReplaced says what calls sealane.
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
	listed("golang.org/x/crypto "+result.Crypto, "call", map[string]bool{"New and NewX of chacha20poly1305": result.Cipher, "chacha20": result.Stream})
	listed("the standard library", "of crypto/tls, crypto/cipher and others call",
		map[string]bool{"AES-GCM": result.StdGCM, "ChaCha20-Poly1305": result.StdCipher, "AES-CTR and AES-CBC": result.StdModes})
}

func printWorkers(result *accelerate.Result) {
	if result.Workers != "" {
		fmt.Printf("%s: its workers seal and open many packets in one call\n", result.Workers)
	}
}

// onePackage takes a package from in front of -- and flags from behind it.
func onePackage(job *accelerate.Job) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		packages := args
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			packages, job.Flags = args[:dash], args[dash:]
		}
		switch {
		case len(packages) > 1:
			return fmt.Errorf("%s takes one package, not %s: flags of the go command come behind --", cmd.CommandPath(), strings.Join(packages, " "))
		case len(packages) == 1:
			job.Package = packages[0]
		}
		return nil
	}
}

// here says which of a program's levels it uses on this machine.
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
