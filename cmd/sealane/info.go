package main

import "github.com/spf13/cobra"

func infoCommand() *cobra.Command     { return &cobra.Command{Use: "info"} }
func selftestCommand() *cobra.Command { return &cobra.Command{Use: "selftest"} }
func benchCommand() *cobra.Command    { return &cobra.Command{Use: "bench"} }
