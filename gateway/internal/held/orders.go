package held

import (
	"cmp"
	"slices"
)

// Policies is the number of policies. A policy decides which copy of a byte takes precedence: the first in policies 0
// and 2, the last in 1 and 3. Policies 0 and 1 compare the ranks before that.
const Policies = 4

// Arrange returns the segments that overlap a range in the order for Paint: the best is last. Of consecutive copies
// with the same bounds it returns only the best.
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

// perPainted is the cost of painting a segment. The unit of all costs is the opening of one byte of a record.
const perPainted = 256

// Paint copies the segments into b, which starts at base. Later segments overwrite earlier ones. Paint returns the
// cost.
func Paint(list []Seat, base uint32, b []byte) (n int) {
	for _, s := range list {
		own, into := s.Overlap(base, b)
		n += copy(into, own)/4 + perPainted
	}
	return n
}

// Nth groups segments by the number of overlapping segments that arrived earlier. It subtracts the cost from credit.
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
