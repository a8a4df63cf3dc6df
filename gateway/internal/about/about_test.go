package about

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// From the baselines of https://github.com/corelight/community-id-spec, commit b1fe530faa0c, baseline/baseline_deflt.json and
// baseline_seed1.json (facts; the repository's files are under the BSD license in its COPYING).
func TestCommunityID(t *testing.T) {
	for _, c := range []struct {
		a, b string
		seed uint16
		want string
		udp  bool
	}{
		{"128.232.110.120:34855", "66.35.250.204:80", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=", false},
		{"66.35.250.204:80", "128.232.110.120:34855", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=", false},
		{"[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", "[2607:f8b0:400c:c03::1a]:25", 0, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=", false},
		{"[2607:f8b0:400c:c03::1a]:25", "[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", 0, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=", false},
		{"128.232.110.120:34855", "66.35.250.204:80", 1, "1:3V71V58M3Ksw/yuFALMcW0LAHvc=", false},
		{"[::ffff:128.232.110.120]:34855", "66.35.250.204:80", 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=", false},
		{"192.168.1.52:54585", "8.8.8.8:53", 0, "1:d/FP5EW3wiY1vCndhwleRRKHowQ=", true},
	} {
		protocol := uint8(6)
		if c.udp {
			protocol = 17
		}
		if got := CommunityID(c.seed, protocol, netip.MustParseAddrPort(c.a), netip.MustParseAddrPort(c.b)); got != c.want {
			t.Errorf("%s %s, seed %d: %s, want %s", c.a, c.b, c.seed, got, c.want)
		}
	}
}

// seen reports whether all characters of a text are visible.
func seen(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
}

// Data of peers is read in terminals. It must have no control sequences and no line ends, and must not change the
// direction of text.
func TestSeen(t *testing.T) {
	for _, name := range []string{"\x1b[2J", "a\nb", "\x7f", "\u009b2J", "\u0085", "\u202egnp.exe", "\u2028", "\xff\xfe\x9b", "\x00", "\ufeff"} {
		var c Connection
		hello := append(make([]byte, 34), 0, 0, 2, 0x13, 1, 1, 0)
		n := byte(len(name))
		hello = append(hello, 0, n+9, 0, 0, 0, n+5, 0, n+3, 0, 0, n)
		c.Message(0, clientHello, 0x0303, append(hello, name...))
		c.Message(1, encryptedExtensions, 0x0304, append([]byte{0, n + 7, 0, 16, 0, n + 3, 0, n + 1, n}, name...))
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x" + name, Organization: []string{name}}}
		public, private, _ := ed25519.GenerateKey(nil)
		if cert, err := x509.CreateCertificate(nil, template, template, public, private); err == nil {
			m := len(cert)
			c.Message(1, certificate, 0x0304, append(append([]byte{0, 0, byte((m + 5) >> 8), byte(m + 5), 0, byte(m >> 8), byte(m)}, cert...), 0, 0))
			if c.Certificate[1].Subject == "" {
				t.Errorf("%q: no subject", name)
			}
		}
		for what, text := range map[string]string{"name": c.ServerName, "protocol": c.Protocol, "subject": c.Certificate[1].Subject} {
			if !seen(text) || text == "" && what != "subject" {
				t.Errorf("%s: %q became %q", what, name, text)
			}
		}
	}
}

// The first certificate of a chain is summarized, in either version. The number of names is limited, and no name has
// a control sequence for terminals.
func TestCertificate(t *testing.T) {
	from, until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("host%d.example", i)
	}
	public, private, _ := ed25519.GenerateKey(nil)
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA", Organization: []string{"a\x1bb"}}}
	for _, names := range [][]string{{"www.example", "*.example"}, many} {
		der, err := x509.CreateCertificate(nil, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "www.example"},
			NotBefore: from, NotAfter: until, DNSNames: names, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)},
			EmailAddresses: []string{"web@example"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "example", Path: "/web"}}}, issuer, public, private)
		if err != nil {
			t.Fatal(err)
		}
		want := append(slices.Clone(names), "web@example", "192.0.2.1", "spiffe://example/web")
		want = want[:min(len(want), maxNames)]
		sum := sha256.Sum256(der)
		for _, version := range []uint16{0x0303, 0x0304} {
			one := append([]byte{byte(len(der) >> 16), byte(len(der) >> 8), byte(len(der))}, der...)
			if version == 0x0304 {
				one = append(one, 0, 0)
			}
			body := append([]byte{byte(len(one) >> 16), byte(len(one) >> 8), byte(len(one))}, one...)
			if version == 0x0304 {
				body = append([]byte{0}, body...)
			}
			var about Connection
			about.Message(1, certificate, version, body)
			c := about.Certificate[1]
			if c.Subject != "CN=www.example" || c.Issuer != "CN=Test CA,O=a?b" || !slices.Equal(c.Names, want) || !c.From.Equal(from) ||
				!c.Until.Equal(until) || c.Fingerprint != hex.EncodeToString(sum[:]) {
				t.Errorf("%#x: %+v, want names %q", version, c, want)
			}
		}
	}
}

// Any input is either used or ignored.
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
		if !seen(c.ServerName) || !seen(c.Protocol) || !seen(c.Certificate[side&1].Subject) || len(c.ServerName) > maxName || len(c.Protocol) > maxName || n > len(body) {
			t.Errorf("%+v, %d bytes of certificates", c, n)
		}
	})
}
