//go:build !race

package kernel

func raceArgs(*Args) {}

const raceEnabled = false
