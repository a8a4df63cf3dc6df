//go:build !race

package kernel

func raceArgs(*Args)     {}
func raceGCMArgs(*Args)  {}
func raceGCMBatch(*Args) {}

func raceAESArgs(*Args) {}
func raceMasks(*Args)   {}

func raceBatch(*Args) {}

const raceEnabled = false
