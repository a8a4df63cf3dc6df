//go:build arm && !arm.6

package dispatch

const builtForARMv6 = false
