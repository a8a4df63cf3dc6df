// Package source embeds this module's Go packages as text. The command sealane builds other programs with them.
package source

import "embed"

// Go is the Go version that the packages require, as in go.mod, which cannot be embedded from here.
const Go = "go1.24"

// Internal contains the directories below internal, and the license.
//
//go:embed LICENSE */*.go */*.s
var Internal embed.FS
