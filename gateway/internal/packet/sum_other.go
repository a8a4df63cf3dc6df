//go:build !amd64

package packet

import "unsafe"

const wide = false

func sumWide(unsafe.Pointer, int) uint64 { panic("packet: no wide sums here") }
