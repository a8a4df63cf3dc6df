package main

import (
	"fmt"
	"net"
	"os"

	"github.com/sealane/sealane/gateway/internal/output"
)

// headersInMTU: an MTU does not count Ethernet headers, but it counts those of a VLAN tag, IPv6 and TCP.
const headersInMTU = 4 + 40 + 20

// tapSegment returns the segment size: the default packet size of other tools, or the size that the user gives.
func (o *outputs) tapSegment() int {
	if o.given("segment") {
		return o.segment
	}
	return 1500 - headersInMTU
}

func (o *outputs) openTAP() error {
	fd, err := output.OpenTAP(o.tap, max(1500, o.tapSegment()+headersInMTU))
	if err != nil {
		return err
	}
	o.tapFD = fd
	o.closers = append(o.closers, os.NewFile(uintptr(fd), o.tap))
	return nil
}

// interfaces opens the interfaces to which plaintext is sent.
func (o *outputs) interfaces(opts output.Options) (all []output.Sink, err error) {
	if o.tap != "" {
		forTAP := opts
		forTAP.Segment = o.tapSegment()
		all = append(all, output.NewSynthetic(output.NewTAP(o.tapFD, o.counts, failed(o.tap)), forTAP))
	}
	if o.face != "" {
		face, err := net.InterfaceByName(o.face)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.face, err)
		}
		opts.Segment = max(min(opts.Segment, face.MTU-headersInMTU), 1)
		i, err := output.NewInterface(o.face, false, o.counts, failed(o.face))
		if err != nil {
			return nil, err
		}
		o.closers = append(o.closers, i)
		all = append(all, output.NewSynthetic(i, opts))
	}
	return all, nil
}
