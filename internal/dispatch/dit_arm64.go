//go:build gc && !purego

package dispatch

// pfr0 returns ID_AA64PFR0_EL1.
func pfr0() uint64

// midr returns MIDR_EL1.
func midr() uint64

// ReadDIT returns PSTATE.DIT of this thread, in bit 24. The CPU must have it. For tests.
func ReadDIT() uint64

// WriteDIT sets PSTATE.DIT of this thread to bit 24 of v. The CPU must have it. For tests.
func WriteDIT(v uint64)
