//go:build !unix

package keys

func umask(int) int { return 0 }
