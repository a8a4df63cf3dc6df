//go:build !linux && (mips || mipsle)

package dispatch

func basePlatform() string { return "" }
