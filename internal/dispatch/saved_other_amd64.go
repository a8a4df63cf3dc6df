//go:build !darwin

package dispatch

func savedOnDemand() bool { return false }
