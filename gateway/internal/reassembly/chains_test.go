package reassembly

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// holds returns a direction that holds segments, in order of their arrival: each a place, bytes, and whether its checksum is wrong.
func holds(p *Pool, base uint32, all ...any) *Direction {
	d := &Direction{credit: maxCredit}
	for i := 0; i < len(all); i += 3 {
		c := Class{TTL: 64, Sum: packet.SumGood, Known: true}
		if all[i+2].(bool) {
			c.Sum = packet.SumBad
		}
		d.held.insert(p, base+uint32(all[i].(int)), c, uint64(i+1), 0, []byte(all[i+1].(string)))
	}
	return d
}

// The ways through copies come in order, each once, and those of segments that follow on each other first.
func TestAlternatives(t *testing.T) {
	const good, bad = false, true
	for _, c := range []struct {
		name  string
		n     int
		held  []any
		first string // the first candidate, or any if several are as likely
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
		const base = ^uint32(0) - 2 // around the place where numbers begin anew
		d := holds(&p, base, c.held...)
		var got []string
		r := Reassembler{seed: maphash.MakeSeed()}
		r.alternatives(d, Class{}, base, c.n, func(b []byte) bool {
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
		if len(got) > 0 && d.credit == maxCredit {
			t.Errorf("%s: nothing was paid", c.name)
		}
	}
}

// However many copies there are, the work is bounded by the direction's budget.
func TestAlternativesBounded(t *testing.T) {
	p := Pool{Limit: 64 << 20}
	r := Reassembler{seed: maphash.MakeSeed()}
	for _, credit := range []int{maxCredit, 10000} {
		d := &Direction{credit: credit}
		for i := range maxCrowd {
			b := bytes.Repeat([]byte{byte(i)}, 1+i%7*16)
			d.held.insert(&p, uint32(i*3), Class{TTL: uint8(i % 3), Known: true}, uint64(i), 0, b)
		}
		seen := make(map[string]bool)
		n := 0
		r.alternatives(d, Class{}, 0, 2000, func(b []byte) bool {
			n++
			seen[string(b)] = true
			return true
		})
		if len(seen) != n || n > 4*maxBranches || d.credit < -maxCredit {
			t.Errorf("%d ways, %d of them different, and credit from %d to %d", n, len(seen), credit, d.credit)
		}
	}
}

// What is in plain text is told from what is protected.
func TestProtectedFrom(t *testing.T) {
	rec := func(kind byte, n int) string {
		return string([]byte{kind, 3, 3, byte(n >> 8), byte(n)}) + string(make([]byte, n))
	}
	for _, c := range []struct {
		b string
		n int
	}{
		{"", 0}, {"\x16\x03", 0}, {rec(22, 10) + rec(23, 30), 15}, {rec(22, 10) + rec(20, 1) + rec(22, 40), 21},
		{rec(22, 10)[:9], 9}, {rec(22, 10) + "junk, junk", 15},
	} {
		if n := protectedFrom([]byte(c.b)); n != c.n {
			t.Errorf("%s: %d, it should be %d", fmt.Sprintf("% x", c.b), n, c.n)
		}
	}
}
