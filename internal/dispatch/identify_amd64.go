package dispatch

// identify returns the first four bytes of the vendor, and the family (Intel SDM, volume 2, CPUID). The extended family
// is added from family 15 on.
func identify() (vendor, family uint32) {
	if about().highest == 0 {
		return 0, 0
	}
	if family = about().signature >> 8 & 15; family == 15 {
		family += about().signature >> 20 & 255
	}
	return about().vendor, family
}
