package flow

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/packet"
)

type testTable = Table[[Line]byte]

func tupleOf(n uint32) (t packet.Tuple) {
	binary.LittleEndian.PutUint32(t.Addr[0][:], n)
	return t
}

// check compares a table with its wanted entries: the value of Conn by tuple.
func check(t *testing.T, table *testTable, want map[uint32]uint32, most uint32) {
	t.Helper()
	if table.Count() != len(want) {
		t.Fatalf("%d connections, want %d", table.Count(), len(want))
	}
	for n := range most {
		tuple := tupleOf(n)
		e, likely := table.Find(tuple.Hash(), &tuple), table.Likely(tuple.Hash())
		conn, ok := want[n] // likely may be another one: it compares half of the hash
		if (e != nil) != ok || ok && (e.Conn != conn || likely == nil) || !ok && likely.Is(&tuple) {
			t.Fatalf("connection %d: found %v, likely %v, want %v", n, e, likely, ok)
		}
	}
	seen := 0
	table.All(func(e *Entry[[Line]byte]) {
		if conn, ok := want[binary.LittleEndian.Uint32(e.Tuple.Addr[0][:])]; !ok || conn != e.Conn {
			t.Fatalf("%v should not be there", e.Tuple)
		}
		seen++
	})
	if seen != len(want) {
		t.Fatalf("%d of %d connections seen", seen, len(want))
	}
}

// TestTable inserts and removes at random, and compares with a map.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{1, 40, 5000} {
		table, want := New[[Line]byte](limit, 0), make(map[uint32]uint32)
		evicted := 0
		table.Evict = func(e *Entry[[Line]byte]) {
			delete(want, binary.LittleEndian.Uint32(e.Tuple.Addr[0][:]))
			evicted++
		}
		most := uint32(2*limit + 2)
		pointers := make(map[uint32]*Entry[[Line]byte])
		for i := range 20000 {
			n := r.Uint32N(most)
			tuple := tupleOf(n)
			e := table.Find(tuple.Hash(), &tuple)
			switch {
			case e == nil:
				e = table.Insert(tuple.Hash(), &tuple)
				e.Conn, want[n], pointers[n] = uint32(i), uint32(i), e
			case e != pointers[n]:
				t.Fatalf("connection %d has moved", n)
			case r.IntN(2) == 0:
				table.Remove(e)
				delete(want, n)
				if e.Is(&tuple) {
					t.Fatal("it is there after it was removed")
				}
			}
			if i%1000 == 0 {
				check(t, table, want, most)
			}
		}
		if table.Made() > limit+1<<table.shift || evicted == 0 {
			t.Errorf("memory for %d connections of %d, %d evicted", table.Made(), limit, evicted)
		}
	}
}

// TestEvict checks that connections with nothing to lose are evicted first, and among them the one idle for longest.
func TestEvict(t *testing.T) {
	for _, c := range []struct {
		conn [3]uint32
		seen [3]uint32
		want int
	}{
		{[3]uint32{1, 1, 1}, [3]uint32{7, 5, 6}, 1},
		{[3]uint32{1, 1, 0}, [3]uint32{5, 6, 7}, 2},
		{[3]uint32{0, 1, 0}, [3]uint32{7, 5, 6}, 2},
		{[3]uint32{1, 1, 1}, [3]uint32{3, 1<<32 - 2, 5}, 1},
	} {
		table, evicted := New[[Line]byte](3, 3), -1
		table.Evict = func(e *Entry[[Line]byte]) { evicted = int(e.Tuple.Addr[0][0]) }
		for i := range 3 {
			tuple := tupleOf(uint32(i))
			e := table.Insert(tuple.Hash(), &tuple)
			e.Conn, e.Seen = c.conn[i], c.seen[i]
		}
		tuple := tupleOf(3)
		table.Insert(tuple.Hash(), &tuple)
		if evicted != c.want {
			t.Errorf("%v %v: %d went, want %d", c.conn, c.seen, evicted, c.want)
		}
	}
}

// TestSweep checks that each idle connection is reported once in a round, and can then be removed.
func TestSweep(t *testing.T) {
	table := New[[Line]byte](1000, 0)
	for i := range uint32(1000) {
		tuple := tupleOf(i)
		table.Insert(tuple.Hash(), &tuple).Seen = i
	}
	age := func(*Entry[[Line]byte]) uint32 { return 100 }
	gone := 0
	for range 10 {
		table.Sweep(100, 600, age, func(e *Entry[[Line]byte]) {
			if e.Seen >= 500 {
				t.Errorf("one seen at %d is not idle at 600", e.Seen)
			}
			table.Remove(e)
			gone++
		})
	}
	if gone != 500 || table.Count() != 500 {
		t.Errorf("%d were idle, %d are left", gone, table.Count())
	}
}

// TestSlab checks alignment to whole lines, and to whole huge pages for large slabs.
func TestSlab(t *testing.T) {
	for _, c := range []struct{ n, align int }{{1, Line}, {100, Line}, {3 << 20 / 8, 2 << 20}} {
		s := Slab[uint64](c.n)
		if at := uintptr(unsafe.Pointer(&s[0])); len(s) != c.n || at%uintptr(c.align) != 0 {
			t.Errorf("%d words at %x", len(s), at)
		}
		for _, word := range s {
			if word != 0 {
				t.Fatal("it is not zero")
			}
		}
	}
}

// TestCollision has connections with the same hash.
func TestCollision(t *testing.T) {
	table := New[[Line]byte](100, 0)
	for i := range uint32(50) {
		tuple := tupleOf(i)
		if table.Find(7, &tuple) != nil {
			t.Fatalf("connection %d is found before it is there", i)
		}
		table.Insert(7, &tuple).Conn = i
		for j := range i + 1 {
			tuple := tupleOf(j)
			if e := table.Find(7, &tuple); e == nil || e.Conn != j {
				t.Fatalf("connection %d of %d: %v", j, i, e)
			}
		}
	}
}
