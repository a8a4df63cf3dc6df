//go:build !amd64 || !gc || purego

package main

func platformCandidates() []goCandidate { return nil }
