//go:build !linux && (mips || mipsle || mips64 || mips64le)

package dispatch

func basePlatform() string { return "" }
