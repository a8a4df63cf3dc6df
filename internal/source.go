// Package source holds this module's Go packages as text: the command sealane builds other people's programs with them.
package source

import "embed"

// Go is the version of Go that the packages are written for: go.mod's, which cannot be embedded from here.
const Go = "go1.24"

// Internal has the folders below internal, and the license.
//
//go:embed LICENSE */*.go */*.s
var Internal embed.FS
