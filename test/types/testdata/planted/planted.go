// Package planted compiles only on 64-bit Linux.
package planted

// Mask does not fit into 32 bits.
const Mask int = 1<<40 - 1
