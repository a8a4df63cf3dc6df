package sealane

import "embed"

// Source holds what the command sealane builds other people's programs with: this module's Go packages.
//
//go:embed go.mod LICENSE
//go:embed batch/*.go chacha20poly1305/*.go internal/aead/*.go internal/dispatch/*.go internal/dispatch/*.s internal/kernel/*.go internal/kernel/*.s internal/offload/*.go internal/report/*.go
var Source embed.FS
