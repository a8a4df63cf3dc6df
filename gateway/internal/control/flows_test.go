package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sealane/sealane/gateway/internal/engine"
)

// Key and IV of the client's handshake traffic secret (RFC 8448, section 3).
const (
	secret = "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21"
	key    = "dbfaa693d1762c5b666af5d950258d01"
	iv     = "5bd3c71b836e0b76bb73265f"
)

func flowWith(port int, more string) string {
	return fmt.Sprintf(`{"source":"10.0.0.1:%d","destination":"10.0.0.2:443","suite":"TLS_AES_128_GCM_SHA256","next":7%s}`, port, more)
}

func request(h http.Handler, method, query, body string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/flows"+query, strings.NewReader(body)))
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(b)
}

func TestPut(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int
		says string
	}{
		"key and IV":                  {flowWith(1, `,"key":"`+key+`","iv":"`+iv+`"`), 204, ""},
		"secret":                      {flowWith(1, `,"secret":"`+secret+`"`), 204, ""},
		"all three":                   {flowWith(1, `,"key":"`+key+`","iv":"`+iv+`","secret":"`+secret+`"`), 204, ""},
		"key and secret":              {flowWith(1, `,"key":"`+key+`","secret":"`+secret+`"`), 204, ""},
		"key of another secret":       {flowWith(1, `,"key":"`+iv+`00000000","iv":"`+iv+`","secret":"`+secret+`"`), 400, "follow from it"},
		"IV of another secret":        {flowWith(1, `,"iv":"000000000000000000000000","secret":"`+secret+`"`), 400, "follow from it"},
		"secret of another hash":      {strings.Replace(flowWith(1, `,"secret":"`+secret+`"`), "128_GCM_SHA256", "256_GCM_SHA384", 1), 400, "32 bytes"},
		"secret in TLS 1.2":           {strings.Replace(flowWith(1, `,"secret":"`+secret+`"`), "TLS_AES", "TLS_ECDHE_RSA_WITH_AES", 1), 400, "TLS 1.2"},
		"no keys":                     {flowWith(1, ""), 400, "key: 0 bytes"},
		"no IV":                       {flowWith(1, `,"key":"`+key+`"`), 400, "iv: 0 bytes"},
		"half a digit":                {flowWith(1, `,"secret":"abc"`), 400, "not hexadecimal"},
		"no digits":                   {flowWith(1, `,"secret":"zz"`), 400, "not hexadecimal"},
		"a number":                    {flowWith(1, `,"secret":12`), 400, "not hexadecimal"},
		"one of a list is wrong":      {"[" + flowWith(1, `,"secret":"`+secret+`"`) + "," + flowWith(2, "") + "]", 400, "flow 1"},
		"more than there is room for": {"[" + flowWith(1, `,"secret":"`+secret+`"`) + "," + flowWith(2, `,"secret":"`+secret+`"`) + "," + flowWith(3, `,"secret":"`+secret+`"`) + "]", 507, "full"},
		"twice the same":              {"[" + flowWith(1, `,"secret":"`+secret+`"`) + "," + flowWith(1, `,"secret":"`+secret+`"`) + "," + flowWith(3, `,"secret":"`+secret+`"`) + "]", 204, ""},
		"too long":                    {`{"source":"` + strings.Repeat("x", maxRequest) + `"}`, 400, "too large"},
		"nothing":                     {"", 400, ""},
		"no JSON":                     {"secret", 400, ""},
	} {
		table := engine.NewKeys(2)
		h := Flows(table, nil)
		code, says := request(h, "PUT", "", c.body)
		if code != c.code || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d %s", name, code, says)
		}
		if strings.Contains(says, secret[:8]) || strings.Contains(says, key[:8]) {
			t.Errorf("%s: the key is told: %s", name, says)
		}
		if n := len(table.All()); code != 204 && n != 0 || code == 204 && n == 0 {
			t.Errorf("%s: %d flows", name, n)
		}
		for _, k := range table.All() {
			if fmt.Sprintf("%x %x", k.Given.Key, k.Given.IV) != key+" "+iv {
				t.Errorf("%s: key %x, IV %x", name, k.Given.Key, k.Given.IV)
			}
		}
	}
}

// Answers about flows contain no keys, and a deleted flow is wiped.
func TestGetAndDelete(t *testing.T) {
	table := engine.NewKeys(2)
	h := Flows(table, nil)
	request(h, "PUT", "", flowWith(1, `,"secret":"`+secret+`"`))
	code, b := request(h, "GET", "", "")
	var all []map[string]any
	if err := json.Unmarshal([]byte(b), &all); code != 200 || err != nil || len(all) != 1 || all[0]["next"] != 7.0 || all[0]["state"] != "waiting" {
		t.Errorf("GET: %d %s", code, b)
	}
	for _, name := range []string{"key", "iv", "secret"} {
		if _, told := all[0][name]; told {
			t.Errorf("%s is told: %s", name, b)
		}
	}
	k := table.All()[0]
	if code, b := request(h, "DELETE", "?source=10.0.0.1:1&destination=10.0.0.2:443", ""); code != 204 {
		t.Errorf("DELETE: %d %s", code, b)
	}
	for _, b := range [][]byte{k.Given.Key, k.Given.IV, k.Given.Secret} {
		if len(b) == 0 || !bytes.Equal(b, make([]byte, len(b))) {
			t.Errorf("not wiped: %x", b)
		}
	}
	if code, _ := request(h, "GET", "?source=10.0.0.1:1&destination=10.0.0.2:443", ""); code != 404 {
		t.Errorf("GET: %d", code)
	}
	if code, _ := request(h, "GET", "?source=x", ""); code != 400 {
		t.Errorf("GET: %d", code)
	}
}

// A request that is refused leaves no keys in memory.
func TestRefusedIsWiped(t *testing.T) {
	flows, err := decode(strings.NewReader("[" + flowWith(1, `,"secret":"`+secret+`","secret":"`+secret+`"`) + "," + flowWith(2, `,"key":"0g"`) + "]"))
	if err == nil || len(flows) == 0 || len(flows[0].Secret) != 32 {
		t.Fatalf("%v %d flows", err, len(flows))
	}
	b := flows[0].Secret
	flows[0].wipe()
	if !bytes.Equal(b, make([]byte, 32)) {
		t.Error("not wiped")
	}
}

// FuzzPut: any input is refused or taken as a whole, no answer contains a key, and a refused flow leaves nothing.
func FuzzPut(f *testing.F) {
	f.Add(flowWith(1, `,"key":"`+key+`","iv":"`+iv+`"`))
	f.Add("[" + flowWith(1, `,"secret":"`+secret+`"`) + "," + flowWith(2, `,"secret":"`+secret+`","sequence":7,"from":"server"`) + "]")
	f.Add(flowWith(1, `,"secret":"`+secret+`","secret":"`+key+`"`))
	f.Add(strings.Replace(flowWith(1, `,"key":"`+key+`","iv":"00000000"`), "TLS_AES", "TLS_ECDHE_RSA_WITH_AES", 1))
	f.Fuzz(func(t *testing.T, body string) {
		table := engine.NewKeys(3)
		h := Flows(table, nil)
		code, says := request(h, "PUT", "", body)
		n := len(table.All())
		if code != 204 && n != 0 || n > 3 || code >= 500 && code != 507 {
			t.Errorf("%d with %d flows: %s", code, n, says)
		}
		_, told := request(h, "GET", "", "")
		for _, k := range table.All() {
			if hex := fmt.Sprintf("%x", k.Given.Key); strings.Contains(says+told, hex) {
				t.Errorf("the key is told: %s %s", says, told)
			}
			if err := k.Given.Complete(); err != nil {
				t.Errorf("taken, and not complete: %v", err)
			}
		}
	})
}

// A request makes no more of itself than it is: a list of millions of nothings is refused before there is memory for each.
func TestBomb(t *testing.T) {
	for _, piece := range []string{"{}", "1", "[]", `{"next":1}`, `""`, `"\",\""`} {
		body := "[" + strings.Repeat(piece+",", (maxRequest-8)/(len(piece)+1)) + piece + "]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code, says := request(Flows(engine.NewKeys(3), nil), "PUT", "", body)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; code != 400 || grown > 8*maxRequest {
			t.Errorf("%s, %d bytes of it: %d, %.80s, %d bytes of memory", piece, len(body), code, says, grown)
		}
	}
	// The maximum number of flows is accepted.
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`{"source":"1.1.1.1:%d","destination":"1.1.1.1:1","suite":"TLS_AES_128_GCM_SHA256","secret":"%s"}`, i+2, secret))
	}
	if code, says := request(Flows(engine.NewKeys(1000), nil), "PUT", "", "["+strings.Join(all, ",")+"]"); code != 204 {
		t.Errorf("1000 short flows: %d %s", code, says)
	}
}

// A client that sends slowly, or does not read the answer, holds nothing that others wait for.
func TestSlowRequest(t *testing.T) {
	var lock sync.Mutex
	table := engine.NewKeys(3)
	h := Flows(table, &lock)
	body, says := io.Pipe()
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("PUT", "/flows", body))
		done <- w.Code
	}()
	whole := flowWith(1, `,"secret":"`+secret+`"`)
	io.WriteString(says, whole[:20]) // it is being read
	if !lock.TryLock() {
		t.Fatal("half a request holds the lock")
	}
	lock.Unlock()
	if code, _ := request(h, "PUT", "", flowWith(2, `,"secret":"`+secret+`"`)); code != 204 {
		t.Errorf("another one, meanwhile: %d", code)
	}
	io.WriteString(says, whole[20:])
	says.Close()
	if code := <-done; code != 204 || len(table.All()) != 2 {
		t.Errorf("%d, and %d flows", code, len(table.All()))
	}
	w := &stuck{header: make(http.Header), lock: &lock}
	h.ServeHTTP(w, httptest.NewRequest("GET", "/flows", nil))
	if w.held || w.n == 0 {
		t.Errorf("the answer, of %d bytes, is written while the lock is held: %v", w.n, w.held)
	}
}

// stuck is a ResponseWriter that looks whether a lock is held.
type stuck struct {
	header http.Header
	lock   *sync.Mutex
	held   bool
	n      int
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write(b []byte) (int, error) {
	if s.n += len(b); !s.lock.TryLock() {
		s.held = true
	} else {
		s.lock.Unlock()
	}
	return len(b), nil
}
