//go:build !linux

package main

// pin is not possible here.
func pin() int { return -1 }
