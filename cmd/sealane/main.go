// Command sealane shows the implementations that this machine uses, tests and measures them, and builds unmodified Go
// programs with them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sealane: "+strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " "))
		os.Exit(exitStatus(err))
	}
}

// exitStatus returns 3 for a finding of bench --check, and 1 for any other error.
func exitStatus(err error) int {
	if errors.Is(err, errSlower) || errors.Is(err, errLine) {
		return 3
	}
	return 1
}

var commands = []func() *cobra.Command{infoCommand, selftestCommand, benchCommand, buildCommand, testCommand}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "sealane",
		Short:         "Fast packet encryption: inspect and measure it, and build programs with it",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, command := range commands {
		c.AddCommand(command())
	}
	return c
}

// packaged is the version that a package build sets with -ldflags "-X main.packaged=v1.2.3".
var packaged string

// version returns the package's version, or else the module version that the go command recorded.
func version() string {
	if packaged != "" {
		return packaged
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// environment returns an error for invalid values of SEALANE_CPU, SEALANE_ASM and SEALANE_AFALG. Libraries ignore them.
func environment() error { return report.Environment(&kernel.ChaCha20Poly1305Levels) }
