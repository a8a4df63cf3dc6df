package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
)

// watchBytes limits the stored traffic.
const watchBytes = 256 << 20

// watch stores the traffic of an interface until the time is over, ctx is done, or the limit is reached.
func watch(ctx context.Context, name string, wait time.Duration) (w watched, err error) {
	face, err := net.InterfaceByName(name)
	if err != nil {
		return w, fmt.Errorf("%s: %w; \"ip link\" lists the interfaces", name, err)
	}
	if face.Flags&net.FlagUp == 0 {
		return w, fmt.Errorf("%s is down: no packets come there before \"ip link set %s up\"", name, name)
	}
	ring, err := capture.OpenLive(name, capture.LiveOptions{Promiscuous: true})
	if errors.Is(err, os.ErrPermission) {
		return w, fmt.Errorf("%w: run it with sudo, or \"setcap cap_net_raw+ep\" the command", err)
	}
	if err != nil {
		return w, err
	}
	defer ring.Close()
	left := watchBytes
	for end := time.Now().Add(wait); left > 0 && ctx.Err() == nil && time.Now().Before(end); {
		err := ring.Read(100*time.Millisecond, func(frames []capture.Frame) {
			for _, f := range frames {
				if left -= len(f.Data) + 64; left < 0 {
					return
				}
				f.Data = bytes.Clone(f.Data)
				w.frames = append(w.frames, f)
			}
		})
		if err != nil {
			return w, fmt.Errorf("%s: %w", name, err)
		}
	}
	_, w.dropped = ring.Counts()
	return w, nil
}
