package handover

import "net/netip"

// Received returns the sequence number up to which all bytes of a direction have arrived, including those of a partial
// record. A receiver may acknowledge up to this number.
func (p *Path) Received(source, destination netip.AddrPort) (sequence uint32, ok bool) {
	d := p.flows[[2]netip.AddrPort{unmap(source), unmap(destination)}]
	if d == nil {
		return 0, false
	}
	return d.next, true
}
