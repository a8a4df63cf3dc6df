//go:build !linux

package main

import "github.com/sealane/sealane/gateway/internal/output"

// Only Linux has the commands that use these.
func (o *outputs) openTAP() error { return nil }

func (o *outputs) interfaces(output.Options) ([]output.Sink, error) { return nil, nil }
