package binary

import (
	stdbinary "encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sealane/sealane/internal/randomseed"
)

// TestDamaged reads damaged copies of this program. The names found may be wrong, but nothing panics.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Read(os.Args[0]); err != nil || len(p.Levels) > 0 || p.Uses || p.Go == "" {
		t.Errorf("%+v, %v", p, err)
	}
	seed := randomseed.Of()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	table := 0
	for at := range whole[:len(whole)-8] {
		if slices.Equal(whole[at:at+8], []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}) {
			table = at
		}
	}
	if table == 0 {
		t.Skip("NOT RUN: the header of the table is not what it is on amd64")
	}
	pairs := table + int(stdbinary.LittleEndian.Uint64(whole[table+8+7*8:]))
	for range 40 {
		damaged := slices.Clone(whole)
		if r.IntN(4) == 0 {
			damaged = damaged[:r.IntN(len(damaged))]
		}
		for range 20 {
			// Damage mostly hits the data that the header refers to. With a damaged header, little of the table is
			// read.
			i := pairs + r.IntN(4000)
			if r.IntN(20) == 0 {
				i = table + r.IntN(72)
			}
			if i < len(damaged) {
				damaged[i] = byte(r.Uint32())
			}
		}
		file := filepath.Join(t.TempDir(), "damaged")
		if err := os.WriteFile(file, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if p, err := Read(file); (p == nil) == (err == nil) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}
