//go:build !amd64

package main

func platformCandidates() []goCandidate { return nil }
