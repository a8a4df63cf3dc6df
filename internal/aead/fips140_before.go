//go:build !go1.26

package aead

func fips140Only() bool { return false }
