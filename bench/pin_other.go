//go:build !linux

package main

// pin is not supported on this system.
func pin() int { return -1 }
