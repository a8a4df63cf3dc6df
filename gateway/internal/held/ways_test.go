package held

import (
	"bytes"
	"hash/maphash"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// plenty is more work than any of these tests takes.
const plenty = 4 << 20

// holds returns a list of segments in order of arrival. Each has three arguments: offset, bytes, and whether its
// checksum is wrong.
func holds(p *Pool, base uint32, all ...any) *List {
	h := &List{}
	for i := 0; i < len(all); i += 3 {
		c := Class{TTL: 64, Sum: packet.SumGood, Known: true}
		if all[i+2].(bool) {
			c.Sum = packet.SumBad
		}
		h.Insert(p, base+uint32(all[i].(int)), c, uint64(i+1), 0, []byte(all[i+1].(string)))
	}
	return h
}

// Ways gives each string once, in order. Paths of uninterrupted segments come first.
func TestWays(t *testing.T) {
	const good, bad = false, true
	for _, c := range []struct {
		name  string
		n     int
		held  []any
		first string // the first string, or "" if several are equally likely
		all   []string
		never []string
	}{
		{"one", 3, []any{0, "abc", good}, "abc", []string{"abc"}, nil},
		{"two in a row", 4, []any{0, "ab", good, 2, "cd", good}, "abcd", []string{"abcd"}, nil},
		{"a forged one across", 4, []any{1, "XY", good, 0, "ab", good, 2, "cd", good}, "abcd", []string{"abcd", "aXYd"}, nil},
		{"one whose checksum is wrong", 4, []any{0, "XXXX", bad, 0, "abcd", good}, "abcd", []string{"abcd", "XXXX"}, nil},
		{"copies of both", 4, []any{0, "AB", good, 0, "ab", good, 2, "CD", good, 2, "cd", good}, "", []string{"abcd", "ABCD", "abCD", "ABcd"}, []string{"aBcd"}},
		{"a hole", 4, []any{0, "ab", good, 3, "d", good}, "", nil, []string{"ab"}},
		{"only the beginning is asked for", 2, []any{0, "abcd", good, 0, "aXcd", good}, "", []string{"ab", "aX"}, nil},
		{"one in the middle", 6, []any{0, "abcdef", good, 2, "XX", good}, "abcdef", []string{"abXXef", "abcdef"}, nil},
	} {
		p := Pool{Limit: 1 << 20}
		const base = ^uint32(0) - 2 // near the end of the sequence numbers, which then start at 0 again
		h, credit := holds(&p, base, c.held...), plenty
		var got []string
		m := Maker{Seed: maphash.MakeSeed()}
		m.Ways(h, Class{}, base, c.n, false, &credit, func(b []byte) bool {
			got = append(got, string(b))
			return true
		})
		has := func(want string) (n int) {
			for _, g := range got {
				if g == want {
					n++
				}
			}
			return n
		}
		for _, want := range c.all {
			if has(want) != 1 {
				t.Errorf("%s: %q came %d times: %q", c.name, want, has(want), got)
			}
		}
		for _, never := range c.never {
			if has(never) != 0 {
				t.Errorf("%s: %q came: %q", c.name, never, got)
			}
		}
		if c.first != "" && (len(got) == 0 || got[0] != c.first) {
			t.Errorf("%s: %q came first: %q", c.name, got[0], got)
		}
		if len(got) > 0 && credit == plenty {
			t.Errorf("%s: nothing was paid", c.name)
		}
	}
}

// However many copies there are, the work is bounded by the direction's budget.
func TestWaysBounded(t *testing.T) {
	p := Pool{Limit: 64 << 20}
	m := Maker{Seed: maphash.MakeSeed()}
	for _, begun := range []int{plenty, 10000} {
		h, credit := &List{}, begun
		for i := range MaxCrowd {
			b := bytes.Repeat([]byte{byte(i)}, 1+i%7*16)
			h.Insert(&p, uint32(i*3), Class{TTL: uint8(i % 3), Known: true}, uint64(i), 0, b)
		}
		seen := make(map[string]bool)
		n := 0
		m.Ways(h, Class{}, 0, 2000, false, &credit, func(b []byte) bool {
			n++
			seen[string(b)] = true
			return true
		})
		if len(seen) != n || n > 4*MaxBranches || credit < -plenty {
			t.Errorf("%d ways, %d of them different, and credit from %d to %d", n, len(seen), begun, credit)
		}
	}
}
