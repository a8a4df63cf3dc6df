package output

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

func namesIn(t *testing.T, dir string) (names []string) {
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// New files get unused numbers, and existing files stay unchanged. Old files are deleted only on request.
func TestRoll(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "plain.pcap")
	for _, old := range []string{"plain.pcap", "plain.4.pcap", "plain.x.pcap", "plain.04.pcap", "plain.5.pcapng", "other.9.pcap"} {
		os.WriteFile(filepath.Join(dir, old), []byte("evidence"), 0o600)
	}
	r, err := NewRoll(name, Rule{Size: 20})
	if err != nil {
		t.Fatal(err)
	}
	r.Header = func() []byte { return []byte("head") }
	now := time.Now()
	r.now = func() time.Time { return now }
	put := func(s string) {
		t.Helper()
		if _, err := r.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	put("head")
	put("0123456789")
	put("012345") // full
	put("6")
	r.Next()
	r.Next() // once is enough
	put("next")
	r.Set(Rule{Every: time.Minute, Keep: 2})
	put("same")
	now = now.Add(time.Minute)
	put("later")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"plain.7.pcap": "headnextsame", "plain.8.pcap": "headlater",
		"plain.x.pcap": "evidence", "plain.04.pcap": "evidence", "plain.5.pcapng": "evidence", "other.9.pcap": "evidence"}
	for _, n := range namesIn(t, dir) {
		b, _ := os.ReadFile(filepath.Join(dir, n))
		if want[n] != string(b) {
			t.Errorf("%s is %q, not %q", n, b, want[n])
		}
		delete(want, n)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	// A device is written to as it is.
	null, err := NewRoll(os.DevNull, Rule{Size: 1, Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	null.Next()
	for range 3 {
		if _, err := null.Write([]byte("xx")); err != nil {
			t.Error(err)
		}
	}
	if null.Name() != os.DevNull {
		t.Error(null.Name())
	}
}

// Without a rule nothing is deleted, and a second run begins a new file.
func TestRollKeepsAll(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		r, err := NewRoll(filepath.Join(dir, "a.pcapng"), Rule{})
		if err != nil {
			t.Fatal(err)
		}
		r.Write([]byte("x"))
		r.Close()
	}
	if got := namesIn(t, dir); !slices.Equal(got, []string{"a.1.pcapng", "a.2.pcapng", "a.pcapng"}) {
		t.Error(got)
	}
}

// A file truncated by a full disk is reported once, and complete files stay.
func TestRollFull(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRoll(filepath.Join(dir, "a.pcap"), Rule{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	f := NewFile(r, false, func(error) { told++ })
	r.Header = f.Header
	p := f.Core()
	os.Chmod(dir, 0o500)
	os.RemoveAll(dir) // another file cannot be made
	for range 3 {
		p.Room(80)
		p.Commit(80, 1)
		p.Flush()
	}
	if told != 1 || f.Err() == nil {
		t.Errorf("told %d times, %v", told, f.Err())
	}
}

// Secrets precede the packets from up to a while before them, each once. Each new file begins with the secrets that
// it needs.
func TestArchive(t *testing.T) {
	store := keys.NewStore(10)
	var out bytes.Buffer
	a := NewArchive(&out, store, 100, func(err error) { t.Error(err) })
	frame := func(at int64, data string, link packet.LinkType) []capture.Frame {
		return []capture.Frame{{Time: at, Data: []byte(data), Link: link}}
	}
	now := int64(1)
	f := &Flow{About: &about.Connection{Random: [32]byte{7}}, Time: &now}
	c := a.Core(1)
	said := func() string { // the goroutine may be writing
		a.mu.Lock()
		defer a.mu.Unlock()
		return out.String()
	}
	header := func() []byte {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.Header()
	}
	until := func(what string) {
		t.Helper()
		for range 1000 {
			if strings.Contains(said(), what) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%q waits for ever", what)
	}
	c.Frames(frame(1, "one", packet.LinkEthernet))
	c.Frames(frame(50, "two", packet.LinkRaw))
	c.Opened(f) // without secrets
	store.Add(&[32]byte{7}, keys.ClientTraffic, bytes.Repeat([]byte{1}, 32))
	c.Opened(f)
	c.Opened(f)
	store.Add(&[32]byte{7}, keys.ServerTraffic, bytes.Repeat([]byte{2}, 32))
	c.Data(f, 1, nil)
	c.Data(f, 1, nil)
	c.Frames(frame(120, "three", packet.LinkEthernet))
	c.Tick(200)
	until("two")
	if strings.Contains(said(), "three") {
		t.Error("it does not wait")
	}
	// Another file has the secrets that waiting packets need.
	if n := bytes.Count(header(), []byte("TRAFFIC_SECRET_0")); n != 2 {
		t.Errorf("%d secrets in another file", n)
	}
	c.Frames(frame(1000, "late", packet.LinkEthernet))
	c.Tick(2000)
	until("late")
	if n := bytes.Count(header(), []byte("TRAFFIC_SECRET_0")); n != 0 {
		t.Errorf("%d secrets too many", n)
	}
	a.Close()
	var seen []string
	r, err := capture.NewReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	r.Secrets = func(b []byte) {
		for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			seen = append(seen, strings.Fields(l)[0])
		}
	}
	var b capture.Block
	for r.ReadBlock(&b) == nil {
		for _, f := range b.Frames {
			seen = append(seen, string(f.Data), string('0'+rune(f.Link%10)))
		}
	}
	if want := []string{"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0", "one", "1", "two", "1", "three", "1", "late", "1"}; !slices.Equal(seen, want) {
		t.Errorf("%q, not %q", seen, want)
	}
	// Another file describes both interfaces.
	if n := bytes.Count(header(), binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0}, 32)); n != 2 {
		t.Errorf("%d interfaces", n)
	}
}
