//go:build !linux

package main

import (
	"context"
	"errors"
	"time"
)

func watch(context.Context, string, time.Duration) (watched, error) {
	return watched{}, errors.New("only Linux can read interfaces: capture with tcpdump, and give the file")
}
