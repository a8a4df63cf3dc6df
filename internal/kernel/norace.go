//go:build !race

package kernel

func raceArgs(*Args) {}
