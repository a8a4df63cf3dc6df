package reassembly

import (
	"bytes"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// places returns where copies of a record differ from one of its bytes on to another, and its bytes with the first copy
// of each.
func places(list []held.Seat, base uint32, from, n int) (b []byte, all []tls.Place, ok bool) {
	cuts := []int{from, n}
	for _, s := range list {
		for _, at := range [...]int{int(int32(s.Seq - base)), int(int32(s.End - base))} {
			if at > from && at < n {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	b = make([]byte, n)
	total := 0
	for k := range len(cuts) - 1 {
		at, size := cuts[k], cuts[k+1]-cuts[k]
		s := tls.Place{At: at}
		for _, o := range list {
			x := o.From(base + uint32(at))
			if len(x) >= size && !slices.ContainsFunc(s.Copies, func(o []byte) bool { return bytes.Equal(o, x[:size]) }) {
				s.Copies = append(s.Copies, x[:size])
			}
		}
		if len(s.Copies) == 0 {
			return nil, nil, false
		}
		copy(b[at:], s.Copies[0])
		if len(s.Copies) > 1 {
			all = append(all, s)
			total += len(s.Copies) - 1
		}
	}
	return b, all, len(all) > 0 && len(all) <= tls.MostPlaces && total <= tls.MostCopies
}

// bySums looks for a record by the sums of tags, with all that one with a header may begin with before its ciphertext, and all tags that it
// may have.
func (r *Reassembler) bySums(p *Pair, d *Direction, side uint8, list []held.Seat, head []byte, test func(b []byte) bool) bool {
	n, skip, usual := tls.Frame(head), p.TLS.Plain(), p.Usual[side]
	if n < skip+tls.TagBytes {
		return false
	}
	var fronts, tags [][]byte
	collect := func(at uint32, size int, into *[][]byte) {
		r.alternatives(d, usual, at, size, true, func(b []byte) bool {
			if *into = append(*into, b); into == &fronts && !bytes.Equal(b[:len(head)], head) {
				*into = (*into)[:len(*into)-1]
			}
			return len(*into) < maxHellos
		})
	}
	collect(d.base, skip, &fronts)
	collect(d.base+uint32(n-tls.TagBytes), tls.TagBytes, &tags)
	for _, front := range fronts {
		for _, tag := range tags {
			b, all, ok := places(list, d.base, len(front), n-tls.TagBytes)
			if copy(b, front); ok && r.Dec.BySums(p.TLS, side, append(b, tag...), all, &d.credit, test) {
				return true
			}
		}
	}
	return false
}
