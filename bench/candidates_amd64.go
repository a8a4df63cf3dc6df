//go:build gc && !purego

package main

import tsasm "github.com/tailscale/wireguard-go/tsasm/amd64/chacha20poly1305"

func platformCandidates() []goCandidate {
	if !tsasm.Available() {
		return nil
	}
	return []goCandidate{{
		candidate{Name: "tsasm/amd64", Library: "tsasm/amd64", How: "chacha20poly1305.New",
			Version: moduleVersion("github.com/tailscale/wireguard-go")},
		tsasm.New, false,
	}}
}
