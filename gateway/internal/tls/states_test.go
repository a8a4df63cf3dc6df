package tls

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/seed"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// A connection's state and history are in its tables, without additional flags.
func TestNoFlags(t *testing.T) {
	flags := func(of any) (names []string) {
		for typ, i := reflect.TypeOf(of), 0; i < typ.NumField(); i++ {
			f := typ.Field(i).Type
			if f.Kind() == reflect.Array {
				f = f.Elem()
			}
			if f.Kind() == reflect.Bool {
				names = append(names, typ.Name()+"."+typ.Field(i).Name)
			}
		}
		return names
	}
	if names := append(append(flags(Conn{}), flags(half{})...), flags(rest{})...); len(names) > 0 {
		t.Errorf("flags: %v", names)
	}
	if names := flags(Line{}); len(names) != 1 {
		t.Errorf("a flag is not found: %v", names) // it has one, as nothing else is looked at
	}
}

// Each state has a row in each table.
func TestTables(t *testing.T) {
	for name, rows := range map[string][2]int{
		"directionOf": {len(directionOf), int(disputed) + 1},
		"afterHello":  {len(afterHello), int(reanswered) + 1},
		"afterUpdate": {len(afterUpdate), int(updated) + 1},
	} {
		if rows[0] != rows[1] {
			t.Errorf("%s: %d rows, %d states", name, rows[0], rows[1])
		}
	}
}

// The table of hellos agrees with the messages: the number of ClientHellos, a retry, and the answer to the last
// ClientHello.
func TestHellos(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 1000 {
		var c Conn
		var offers int
		var retry, answer bool
		for range random.IntN(12) {
			g := greeting(random.IntN(3))
			c.hear(g)
			switch {
			case g == clientGreets:
				offers, answer = offers+1, false
			case offers == 0:
			case g == serverRetries:
				retry = true
			default:
				answer = true
			}
			if c.greeted(Client) != (offers > 0) || c.greeted(Server) != answer || c.retry() != retry {
				t.Fatalf("after %d ClientHellos, retry %v, answered %v: %d", offers, retry, answer, c.hellos)
			}
			if first := retry && !answer && offers == 1; c.hellos == retried != first {
				t.Fatalf("after %d ClientHellos, retry %v, answered %v: 0-RTT data of the first, %v", offers, retry, answer, c.hellos == retried)
			}
		}
	}
}

// record returns a record in plain text.
func record(kind uint8, body []byte) []byte {
	return append([]byte{kind, 3, 3, byte(len(body) >> 8), byte(len(body))}, body...)
}

func message(kind uint8, body []byte) []byte {
	return append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

// A direction that waits for keys is examined when the time is over, even if the other direction was given up. A forged
// byte is enough for that.
func TestWaitingBesideOneThatGaveUp(t *testing.T) {
	d := NewDecrypter(keys.NewStore(10))
	d.Wait, d.Dispute = true, true
	d.Plaintext = func(*Conn, uint8, []byte) {}
	d.Lost = func(*Conn, uint8, int) {}
	var c Conn
	client := append(make([]byte, 34), 0, 0, 2, 0x13, 1, 1, 0)
	client[0], client[1] = 3, 3
	server := append(make([]byte, 34), 0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4)
	server[0], server[1] = 3, 3
	d.Feed(&c, Client, record(typeHandshake, message(msgClientHello, client)))
	d.Feed(&c, Server, record(typeHandshake, message(msgServerHello, server)))
	d.Feed(&c, Server, record(typeData, make([]byte, 100)))
	if !c.Waiting() {
		t.Fatal("ciphertext does not wait for its keys")
	}
	d.Feed(&c, Client, []byte("junk, and more"))
	if state, _ := c.Direction(Client); state == DirStarting || state == DirReading {
		t.Fatalf("junk: %v", state)
	}
	if state, _ := c.Direction(Server); !c.Waiting() || state != DirWaiting {
		t.Errorf("the server's direction is %v, and the connection waits: %v", state, c.Waiting())
	}
	d.Expire(&c)
	if state, why := c.Direction(Server); c.Waiting() || state != DirLost || why != NoKeys {
		t.Errorf("in the end: %v, %v, waits: %v", state, why, c.Waiting())
	}
}

// A trial of any record changes no state, at any place of a connection, and the real record still opens.
func TestTrialsChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20, traffic.CCM, traffic.CCM8} {
		s := traffic.NewSession(suite, random)
		log, data := s.KeyLog(), bytes.Repeat([]byte("data"), 1000)
		said := []struct {
			side uint8
			b    []byte
		}{
			{Client, s.ClientHello()}, {Server, s.ServerFlight(500)}, {Client, s.ClientFinished()}, {Server, s.Tickets()},
			{Client, s.Data(traffic.Client, data, 900)}, {Server, s.Data(traffic.Server, data, 900)},
			{Server, s.KeyUpdate(traffic.Server)}, {Server, s.Data(traffic.Server, data, 900)}, {Client, s.CloseNotify(traffic.Client)},
		}
		d := NewDecrypter(keys.NewStore(10))
		(&keys.Log{Store: d.Store}).Write(log)
		d.Dispute = true
		got := [2][]byte{}
		d.Plaintext = func(_ *Conn, side uint8, data []byte) { got[side] = append(got[side], data...) }
		d.Lost = func(*Conn, uint8, int) { t.Error("something was lost") }
		var c Conn
		entered := 0
		for _, x := range said {
			for b := x.b; len(b) > 0; {
				rec := b[:Frame(b)]
				b = b[len(rec):]
				for at := range 4 { // forged, and as it is
					trial := bytes.Clone(rec)
					if at < 3 {
						trial[headerBytes+at*(len(rec)-headerBytes-1)/2] ^= 1
					}
					before, stats := c, d.Stats
					_, v := d.open(&c, x.side, trial)
					if opens := rec[0] == typeData; opens && (v == Taken) != (at == 3) {
						t.Errorf("suite %x: a record of %d bytes, byte %d forged: %v", suite, len(rec), at, v)
					}
					// Only the counters and the cached secrets may change.
					before.trials, before.secrets, before.asked, stats.Trials = c.trials, c.secrets, c.asked, d.Stats.Trials
					if !reflect.DeepEqual(before, c) || stats != d.Stats {
						t.Errorf("suite %x: a trial of a record of %d bytes, byte %d forged, has changed something: %v", suite, len(rec), at, v)
					}
				}
				before := c
				if d.Feed(&c, x.side, rec); rec[0] != typeCCS && reflect.DeepEqual(before, c) {
					t.Errorf("suite %x: a record of %d bytes that counts has changed nothing", suite, len(rec))
				}
				if c.half[x.side].epoch != before.half[x.side].epoch {
					entered++
				}
			}
		}
		if want := bytes.Repeat(data, 2); !bytes.Equal(got[Client], data) || !bytes.Equal(got[Server], want) || entered != 4 {
			t.Errorf("suite %x: %d and %d bytes, %d epochs entered", suite, len(got[Client]), len(got[Server]), entered)
		}
	}
}

// The README states the number of supported TLS 1.3 suites, which are those of RFC 8446, appendix B.4.
func TestSuitesOfReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	number := [...]string{3: "three", 4: "four", 5: "five"}[len(suites13)]
	if !bytes.Contains(b, []byte("TLS 1.3 with all "+number+" suites of RFC 8446")) {
		t.Errorf("README.md does not say that all %s suites are read", number)
	}
	for i, suite := range suites13 {
		if suite != 0x1301+uint16(i) || suites[suite] == nil || suites[suite].version != version13 {
			t.Errorf("suite %x is not read", suite)
		}
	}
}
