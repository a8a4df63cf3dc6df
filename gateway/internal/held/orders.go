package held

import (
	"cmp"
	"slices"
)

// A policy is an order of copies. The first ones come first, or the last ones; rank goes before that, or not.
const Policies = 4

// Arrange puts those segments that overlap a range into the order in which they are painted: the best last. Of copies that begin and
// end together there is the best.
func (m *Maker) Arrange(h *List, usual Class, base, end uint32, policy uint8) []Seat {
	before := func(a, b Seat) int {
		if policy < 2 {
			if x, y := a.Class.Rank(usual), b.Class.Rank(usual); x != y {
				return x - y
			}
		}
		if policy&1 == 0 {
			a, b = b, a
		}
		return cmp.Compare(a.Order, b.Order)
	}
	l := m.list[:0]
	for _, s := range h.Over(base, end) {
		switch n := len(l); {
		case !s.Within(base, end):
		case n == 0 || l[n-1].Seq != s.Seq || l[n-1].End != s.End:
			l = append(l, s)
		case before(l[n-1], s) < 0:
			l[n-1] = s
		}
	}
	slices.SortFunc(l, before)
	m.list = l
	return l
}

// perPainted is what a segment costs that is put into its place, in bytes that are opened.
const perPainted = 256

// Paint puts the bytes from base on into b. It returns what that costs.
func Paint(list []Seat, base uint32, b []byte) (n int) {
	for _, s := range list {
		own, into := s.Overlap(base, b)
		n += copy(into, own)/4 + perPainted
	}
	return n
}

// Nth parts segments between two places by how many came before with a byte of the same place. It takes what that costs from credit.
func (h *List) Nth(list []Seat, credit *int) (all [][]Seat) {
	for _, s := range list {
		n := 0
		for _, o := range h.Over(s.Seq, s.End) {
			if o.Order < s.Order && o.Within(s.Seq, s.End) {
				n++
			}
			*credit--
		}
		for len(all) <= n {
			all = append(all, nil)
		}
		all[n] = append(all[n], s)
	}
	return all
}
