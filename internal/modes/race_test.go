//go:build race

package modes

const raceEnabled = true
