//go:build !linux

package main

func veth() (float64, bool) { return 0, false }

func halfOpen(int) func() (float64, bool) { return veth }
