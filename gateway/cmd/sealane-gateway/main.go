// Command sealane-gateway reads captures and live traffic, and writes the plaintext of TLS connections for which it has
// keys.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var logFormat string

// argvOf has the flags set on the command line.
var argvOf = map[string]bool{}

// commands are the commands of this operating system.
var commands = []func() *cobra.Command{readCommand}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand()
	if err := root.ExecuteContext(ctx); err != nil {
		if !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "sealane-gateway:", err)
		}
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sealane-gateway",
		Short:         "Decrypt your own TLS connections",
		Long:          "sealane-gateway decrypts TLS 1.3 and 1.2 connections whose keys you have, and writes their contents as captures or streams.",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			cmd.Flags().Visit(func(f *pflag.Flag) { argvOf[f.Name] = true })
			if err := applyConfig(cmd); err != nil {
				return err
			}
			switch logFormat {
			case "text":
				slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
			case "json":
				slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
			default:
				return fmt.Errorf("--log %q: must be text or json", logFormat)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&logFormat, "log", "text", "format of the log on standard error: text or json")
	for _, c := range commands {
		root.AddCommand(c())
	}
	return root
}
