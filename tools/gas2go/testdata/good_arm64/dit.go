//go:build arm64 && gc && !purego

package kernel

var hasDIT bool
