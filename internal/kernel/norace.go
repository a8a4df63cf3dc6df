//go:build !race

package kernel

func raceArgs(*Args)    {}
func raceGCMArgs(*Args) {}

const raceEnabled = false
