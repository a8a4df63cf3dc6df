//go:build !linux

package aead

import "testing"

func zeroes(t testing.TB, bytes int) []byte { return make([]byte, bytes) }
