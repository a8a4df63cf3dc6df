//go:build !race

package kernel

func raceArgs(*PacketArgs)    {}
func raceGCMArgs(*PacketArgs) {}

func raceAESArgs(*ModeArgs) {}
func raceMasks(*ModeArgs)   {}

func raceBatch(*BatchArgs) {}

const raceEnabled = false
