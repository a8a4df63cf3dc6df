//go:build !race

package openssh

const raceEnabled = false
