//go:build manual

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// "go run -tags manual . manual FOLDER" makes the manual pages from the commands and their flags. Users do not have
// this command.
func init() { commands = append(commands, manualCommand) }

func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual FOLDER", Short: "Write the manual pages", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			root.CompletionOptions.DisableDefaultCmd = true
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sealane", Manual: "sealane"}, args[0])
		},
	}
}
