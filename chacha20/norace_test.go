//go:build !race

package chacha20

const raceEnabled = false
