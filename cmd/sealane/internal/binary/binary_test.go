package binary

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestDamaged reads damaged copies of this program: what is found may be wrong, but nothing panics.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Read(os.Args[0]); err != nil || len(p.Levels) > 0 || p.Called || p.Go == "" {
		t.Errorf("%+v, %v", p, err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	table := 0
	for at := range whole[:len(whole)-8] {
		if slices.Equal(whole[at:at+8], []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}) {
			table = at
		}
	}
	for range 40 {
		damaged := slices.Clone(whole)
		if r.IntN(4) == 0 {
			damaged = damaged[:r.IntN(len(damaged))]
		}
		for range 20 {
			if i := table + r.IntN(200); i < len(damaged) {
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
