//go:build go1.26

package aead

import "crypto/fips140"

// fips140Only reports whether the program must refuse algorithms that FIPS 140-3 does not approve.
func fips140Only() bool { return fips140.Enforced() }
