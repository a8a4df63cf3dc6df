package dispatch

func detect() []feature {
	neon, aes, pmull := cpuHas()
	return []feature{{"neon", neon}, {"aes", aes}, {"pmull", pmull}}
}

// levels are the names of the levels of all primitives, best first.
var levels = []string{"ce", "neon6", "neon", "portable"}
