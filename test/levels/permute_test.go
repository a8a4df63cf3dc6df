package levels

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// times multiplies in GF(2^8) = GF(2)[x]/(x^8 + x^4 + x^3 + x + 1), that of AES (FIPS 197, 4.2).
func times(a, b int) int {
	r := 0
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			r ^= a
		}
		if a <<= 1; a&0x100 != 0 {
			a ^= 0x11b
		}
	}
	return r
}

// inverse is 1/a, and 0 of 0: a^254.
func inverse(a int) int {
	r := 1
	for range 254 {
		r = times(r, a)
	}
	return r
}

// permuteTables computes the tables of asm/x86_64/aes_ssse3.h, in their order, as its head derives them.
func permuteTables() (forward, backward [][]int) {
	const w, a = 0x34, 0x0c // w^2 + a w + a = 0
	// GF(16) within GF(2^8), by nibbles: a vector space with this basis.
	var field [16]int
	number := map[int]int{}
	for n := range field {
		for i, b := range []int{1, 12, 80, 176} {
			if n>>i&1 != 0 {
				field[n] ^= b
			}
		}
		number[field[n]] = n
	}
	// A byte as two nibbles.
	var held [256]int
	for i, x := range field {
		for k, y := range field {
			held[y^times(x, w)] = k | i<<4
		}
	}
	// The linear map of SubBytes (5.1.1), and it undone.
	linear := func(y int) (s int) {
		for i := range 8 {
			s |= (y>>i ^ y>>((i+4)%8) ^ y>>((i+5)%8) ^ y>>((i+6)%8) ^ y>>((i+7)%8)) & 1 << i
		}
		return s
	}
	var undone [256]int
	for y := range undone {
		undone[linear(y)] = y
	}
	byNibbles := func(f func(int) int) (low, high []int) {
		for n := range 16 {
			low, high = append(low, f(n)), append(high, f(n<<4))
		}
		return low, high
	}
	// A linear function of the inverse A + ((A + B) / a + A) / a w, by its parts of A = 1/io and of B = 1/jo.
	ofInverse := func(f func(int) int) (io, jo []int) {
		io, jo = []int{0}, []int{0}
		for _, x := range field[1:] {
			one, byA := inverse(x), inverse(a)
			io = append(io, f(one^times(times(one^times(one, byA), byA), w)))
			jo = append(jo, f(times(times(times(one, byA), byA), w)))
		}
		return io, jo
	}
	one, aBy := []int{0x80}, []int{0x80}
	for _, x := range field[1:] {
		one, aBy = append(one, number[inverse(x)]), append(aBy, number[times(a, inverse(x))])
	}
	pair := func(to *[][]int, x, y []int) { *to = append(*to, x, y) }
	add := func(to *[][]int, by func(func(int) int) ([]int, []int), f func(int) int) {
		x, y := by(f)
		pair(to, x, y)
	}
	pair(&forward, one, aBy)
	add(&forward, byNibbles, func(x int) int { return held[x] })
	add(&forward, ofInverse, func(y int) int { return held[linear(y)] })
	add(&forward, ofInverse, func(y int) int { return held[times(2, linear(y))] })
	add(&forward, ofInverse, linear)
	add(&backward, byNibbles, func(x int) int { return held[undone[x]] })
	for _, m := range []int{14, 13, 11, 9} {
		add(&backward, ofInverse, func(y int) int { return held[undone[times(m, y)]] })
	}
	add(&backward, ofInverse, func(y int) int { return y })
	return forward, backward
}

// The tables that AES by vector permutations looks bytes up in are those that its head derives.
func TestPermuteTables(t *testing.T) {
	forward, backward := permuteTables()
	text, err := os.ReadFile(filepath.Join(root, "asm/x86_64/aes_ssse3.h"))
	if err != nil {
		t.Fatal(err)
	}
	faults := func(text string) (faults []string) {
		for name, want := range map[string][][]int{"permute_constants": forward, "permute_inverse_constants": backward} {
			_, macro, _ := strings.Cut(text, ".macro "+name+"\n")
			macro, _, _ = strings.Cut(macro, ".endm")
			var got [][]int
			for _, line := range regexp.MustCompile(`\.byte (0x.*)`).FindAllStringSubmatch(macro, -1) {
				var table []int
				for _, b := range strings.Split(line[1], ", ") {
					v, err := strconv.ParseUint(b, 0, 8)
					if err != nil {
						t.Fatal(err)
					}
					table = append(table, int(v))
				}
				got = append(got, table)
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				faults = append(faults, fmt.Sprintf("%s: %#x, want %#x", name, got, want))
			}
		}
		return faults
	}
	for _, fault := range faults(string(text)) {
		t.Error(fault)
	}
	if planted := faults(strings.Replace(string(text), "0xc9, 0x98", "0xc9, 0x99", 1)); len(planted) != 1 {
		t.Errorf("with a byte changed: %d faults, want 1", len(planted))
	}
}
