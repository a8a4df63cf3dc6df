//go:build !linux

package dispatch

func extensions() uint64 { return 0 }
