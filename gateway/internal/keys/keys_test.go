package keys

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
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

// A log that is written while it is read may end anywhere; what is found does not depend on the pieces.
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
	s.Forget(&[32]byte{95})
	if s.Get(&[32]byte{95}, &x) {
		t.Error("it was not forgotten")
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(line(ClientTraffic, 1, 32)+line(Master, 2, 48)), 5)
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
		if want := uint64(strings.Count(strings.ToUpper(hex.EncodeToString(b)), "0A") + 1); one.Secrets > want {
			t.Errorf("%d secrets in %d lines", one.Secrets, want)
		}
	})
}
