//go:build race

package openssh

const raceEnabled = true
