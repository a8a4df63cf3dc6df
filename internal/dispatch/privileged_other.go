//go:build !unix

package dispatch

func privileged() bool { return false }
