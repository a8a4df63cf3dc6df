package keys

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func line(l Label, random byte, secret int) string {
	return fmt.Sprintf("%s %064x %s\n", l, random, strings.Repeat("5a", secret))
}

func TestKeyLog(t *testing.T) {
	log := Log{Store: NewStore(10)}
	fmt.Fprint(&log, "# a comment\n\n", line(ClientTraffic, 1, 32), line(ServerTraffic, 1, 48), "  \r\n",
		strings.TrimSuffix(line(Master, 2, 48), "\n")+"\r\n",
		fmt.Sprintf("EXPORTER_SECRET %064x 00\n", 1), fmt.Sprintf("CLIENT_TRAFFIC_SECRET_3 %064x 00\n", 1))
	if log.Secrets != 3 || log.Ignored != 2 || log.Bad != 0 {
		t.Errorf("%d secrets, %d ignored, %d bad", log.Secrets, log.Ignored, log.Bad)
	}
	var s Secrets
	if !log.Store.Get(&[32]byte{31: 1}, &s) || len(s.Get(ClientTraffic)) != 32 || len(s.Get(ServerTraffic)) != 48 || s.Get(Master) != nil {
		t.Error("connection 1")
	}
	if !log.Store.Get(&[32]byte{31: 2}, &s) || !bytes.Equal(s.Get(Master), bytes.Repeat([]byte{0x5a}, 48)) {
		t.Error("connection 2")
	}
}

func TestBadLines(t *testing.T) {
	good := line(ClientTraffic, 1, 32)
	for _, bad := range []string{
		"nonsense\n", "CLIENT_TRAFFIC_SECRET_0\n", "CLIENT_TRAFFIC_SECRET_0 00\n", good[:len(good)-2] + "\n", good[:80] + "\n",
		strings.Replace(good, "5a", "5g", 1), line(ClientTraffic, 1, 33), line(Master, 1, 32), "\x00\xff\n",
		strings.Repeat("A", 100000) + "\n",
	} {
		log := Log{Store: NewStore(10)}
		fmt.Fprint(&log, bad, good)
		if log.Bad != 1 || log.Secrets != 1 {
			t.Errorf("%.40q: %d bad, %d secrets", bad, log.Bad, log.Secrets)
		}
	}
}

// A log that is read while it is written may end anywhere. The secrets found do not depend on the pieces.
func TestPieces(t *testing.T) {
	file, err := os.ReadFile("../../testdata/s-50conns.keys")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 7, 100, 4096, len(file)} {
		log := Log{Store: NewStore(100)}
		for b := file; len(b) > 0; {
			n := min(size, len(b))
			log.Write(b[:n])
			b = b[n:]
		}
		if n, _ := log.Store.Size(); n != 50 || log.Bad != 0 || log.Secrets < 200 {
			t.Errorf("pieces of %d: %d connections, %d bad, %d secrets", size, n, log.Bad, log.Secrets)
		}
	}
}

func TestStoreIsBounded(t *testing.T) {
	s := NewStore(10)
	for i := range 100 {
		s.Add(&[32]byte{byte(i)}, ClientTraffic, make([]byte, 32))
	}
	n, evicted := s.Size()
	var x Secrets
	if n != 10 || evicted != 90 || s.Get(&[32]byte{89}, &x) || !s.Get(&[32]byte{90}, &x) {
		t.Errorf("%d connections, %d evicted", n, evicted)
	}
}

// Secrets stay while a connection uses them, whichever ends first, and are wiped soon after the last.
func TestForget(t *testing.T) {
	s := NewStore(40)
	s.Linger = time.Hour
	random := func(n byte) *[32]byte { return &[32]byte{n} }
	gone := func(n byte) bool {
		s.Linger = 0
		s.tidy()
		s.Linger = time.Hour
		return !s.Has(random(n))
	}
	for i := range byte(5) {
		s.Add(random(i), ClientTraffic, make([]byte, 32))
	}
	s.Use(random(0))
	s.Use(random(0))
	s.Forget(random(0)) // one of two copies
	s.Use(random(1))
	s.Forget(random(1)) // the second copy arrives later
	s.Use(random(1))
	s.Use(random(2))
	s.Use(random(3))
	s.Forget(random(3))
	s.Add(random(3), ServerTraffic, make([]byte, 32)) // a connection that is to come
	s.Forget(random(2))
	if !s.Has(random(2)) {
		t.Error("gone at once")
	}
	if !gone(2) {
		t.Error("not gone")
	}
	for _, n := range []byte{0, 1, 3, 4} {
		if !s.Has(random(n)) {
			t.Errorf("%d is gone", n)
		}
	}
	s.Forget(random(0))
	s.Forget(random(1))
	if !gone(0) || !gone(1) {
		t.Error("not gone after the last")
	}
	// Those that have left take a quarter of the room at most.
	for i := range byte(20) {
		s.Add(random(100+i), ClientTraffic, make([]byte, 32))
		s.Use(random(100 + i))
		s.Forget(random(100 + i))
	}
	if n, _ := s.Size(); n > 2+10 {
		t.Errorf("%d connections", n)
	}
	// Time does it, too.
	s = NewStore(10)
	s.Linger = time.Millisecond
	for range 2 {
		s.Add(random(0), ClientTraffic, make([]byte, 32))
		s.Use(random(0))
		s.Forget(random(0))
		for deadline := time.Now().Add(time.Minute); s.Has(random(0)); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it stays")
			}
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(line(ClientTraffic, 1, 32)+line(Master, 2, 48)), 5)
	f.Add(bytes.Repeat([]byte(line(ClientTraffic, 1, 32)+line(ClientTraffic, 1, 48)+strings.Replace(line(ClientTraffic, 1, 32), "0", "f", 90)), 10), 400) // contradictory
	f.Add(append(bytes.Repeat([]byte{'x'}, 2*maxLine), line(Master, 1, 48)...), maxLine)                                                                  // endless
	f.Add(bytes.Repeat([]byte{'x'}, maxLine+20), maxLine+18)                                                                                              // the same, and the log ends
	names, _ := filepath.Glob("../../testdata/*.keys")
	for i, name := range names {
		b, _ := os.ReadFile(name)
		f.Add(b, 100*i)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		one, two := Log{Store: NewStore(10)}, Log{Store: NewStore(10)}
		one.Write(b)
		one.Flush()
		cut = max(0, min(cut, len(b)))
		two.Write(b[:cut])
		two.Write(b[cut:])
		two.Flush()
		if one.Secrets != two.Secrets || one.Bad != two.Bad {
			t.Errorf("cut at %d: %d and %d secrets, %d and %d bad", cut, one.Secrets, two.Secrets, one.Bad, two.Bad)
		}
		// The store returns a connection's secrets unchanged.
		for _, random := range [][32]byte{{31: 1}, {31: 2}} {
			var s, again Secrets
			if !one.Store.Get(&random, &s) {
				continue
			}
			three, done := Log{Store: NewStore(10)}, uint8(0)
			lines := s.Append(nil, &random, &done)
			three.Write(lines)
			if three.Bad+three.Ignored > 0 || !three.Store.Get(&random, &again) || !bytes.Equal(again.Append(nil, &random, new(uint8)), lines) {
				t.Errorf("%s came back otherwise", lines)
			}
			one.Store.Use(&random)
			one.Store.Forget(&random)
		}
		if want := uint64(strings.Count(strings.ToUpper(hex.EncodeToString(b)), "0A") + 1); one.Secrets > want {
			t.Errorf("%d secrets in %d lines", one.Secrets, want)
		}
	})
}

// The first connections that name a random have a claim, by when they did and not by when they ask.
func TestClaim(t *testing.T) {
	s := NewStore(2)
	random := [32]byte{1}
	if first, known := s.Claim(&random, 1); first || known {
		t.Error("a claim without secrets")
	}
	s.Add(&random, Master, make([]byte, 48))
	for i, c := range []struct {
		at    int64
		first bool
	}{
		{100, true}, {100, true}, {300, true}, {400, false}, {200, true}, {300, false}, {250, false}, {100, true}, {200, true},
	} {
		if first, known := s.Claim(&random, c.at); first != c.first || !known {
			t.Errorf("%d, at %d: %v, %v", i, c.at, first, known)
		}
	}
	for i := range 5 {
		if n := s.Use(&random); n != i+1 {
			t.Errorf("%d connections have been, and %d are counted", i+1, n)
		}
		s.Forget(&random)
	}
}
