package main

import (
	"fmt"
	"net"
	"os"

	"github.com/sealane/sealane/gateway/internal/output"
)

func (o *outputs) openTAP() error {
	fd, err := output.OpenTAP(o.tap)
	if err != nil {
		return err
	}
	o.tapFD = fd
	o.closers = append(o.closers, os.NewFile(uintptr(fd), o.tap))
	return nil
}

// Headers of Ethernet are not counted in an MTU; those of a VLAN tag, IPv6 and TCP are.
const headersInMTU = 4 + 40 + 20

// interfaces opens those that plaintext is sent on, and has segments small enough for them.
func (o *outputs) interfaces(opts *output.Options) (all []output.Packets, err error) {
	if o.face != "" {
		face, err := net.InterfaceByName(o.face)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.face, err)
		}
		opts.Segment = min(opts.Segment, face.MTU-headersInMTU)
		i, err := output.NewInterface(o.face, false, o.counts, failed(o.face))
		if err != nil {
			return nil, err
		}
		o.closers = append(o.closers, i)
		all = append(all, i)
	}
	if o.tap != "" {
		all = append(all, output.NewTAP(o.tapFD, o.counts, failed(o.tap)))
	}
	return all, nil
}
