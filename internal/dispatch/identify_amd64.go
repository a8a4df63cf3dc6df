package dispatch

// identify returns the first four bytes of the vendor and the family (Intel SDM, volume 2, CPUID): the extended family counts
// from family 15 on.
func identify() (vendor, family uint32) {
	highest, vendor, _, _ := cpuid(0, 0)
	if highest == 0 {
		return 0, 0
	}
	signature, _, _, _ := cpuid(1, 0)
	if family = signature >> 8 & 15; family == 15 {
		family += signature >> 20 & 255
	}
	return vendor, family
}
