// Package planted is right on Linux with 64 bits, and nowhere else.
package planted

// Mask does not fit into 32 bits.
const Mask int = 1<<40 - 1
