package dispatch

func detect() []feature {
	neon, aes, pmull := cpuHas()
	return []feature{{"neon", neon}, {"aes", aes}, {"pmull", pmull}}
}
