package about

import (
	"net/netip"
	"testing"
)

// From the baselines of https://github.com/corelight/community-id-spec, commit b1fe530faa0c, baseline/baseline_deflt.json and
// baseline_seed1.json (facts; the repository's files are under the BSD licence in its COPYING).
func TestCommunityID(t *testing.T) {
	for _, c := range []struct {
		a, b string
		seed uint16
		want string
	}{
		{"128.232.110.120:34855", "66.35.250.204:80", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"66.35.250.204:80", "128.232.110.120:34855", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", "[2607:f8b0:400c:c03::1a]:25", 0, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
		{"[2607:f8b0:400c:c03::1a]:25", "[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", 0, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
		{"128.232.110.120:34855", "66.35.250.204:80", 1, "1:3V71V58M3Ksw/yuFALMcW0LAHvc="},
		{"[::ffff:128.232.110.120]:34855", "66.35.250.204:80", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
	} {
		if got := CommunityID(c.seed, netip.MustParseAddrPort(c.a), netip.MustParseAddrPort(c.b)); got != c.want {
			t.Errorf("%s %s, seed %d: %s, want %s", c.a, c.b, c.seed, got, c.want)
		}
	}
}

// Whatever comes is taken or ignored.
func FuzzMessage(f *testing.F) {
	hello := append(make([]byte, 34), 0, 0, 2, 0x13, 1, 1, 0, 0, 18, 0, 0, 0, 14, 0, 12, 0, 0, 9)
	f.Add(uint8(0), uint8(1), uint16(0x0303), append(hello, "a.example"...))
	f.Add(uint8(1), uint8(8), uint16(0x0304), []byte{0, 9, 0, 16, 0, 5, 0, 3, 2, 'h', '2'})
	f.Add(uint8(1), uint8(11), uint16(0x0304), []byte{0, 0, 0, 9, 0, 0, 4, 1, 2, 3, 4, 0, 0})
	f.Fuzz(func(t *testing.T, side, kind uint8, version uint16, body []byte) {
		var c Connection
		n := 0
		c.Chain = func(_ string, chain [][]byte) {
			for _, b := range chain {
				n += len(b)
			}
		}
		c.Message(side&1, kind, version, body)
		if len(c.ServerName) > maxName || len(c.Protocol) > maxName || n > len(body) {
			t.Errorf("%+v, %d bytes of certificates", c, n)
		}
	})
}
