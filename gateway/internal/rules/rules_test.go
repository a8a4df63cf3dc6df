package rules

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

func one(t *testing.T, text string) []Rule {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return []Rule{r}
}

func TestRules(t *testing.T) {
	p := func(proto int, a string, aPort uint16, b string, bPort uint16) Packet {
		return Packet{Proto: proto, Addr: [2]netip.Addr{netip.MustParseAddr(a), netip.MustParseAddr(b)}, Port: [2]uint16{aPort, bPort}}
	}
	dns := p(17, "10.0.0.9", 40000, "10.0.0.53", 53)
	for _, c := range []struct {
		rule  string
		p     Packet
		match bool
	}{
		{"proto=udp", dns, true},
		{"proto=17", dns, true},
		{"proto=tcp", dns, false},
		{"port=53", dns, true},
		{"net=10.0.0.53,port=53", dns, true},
		{"net=10.0.0.9,port=53", dns, false}, // network and port are of one endpoint
		{"net=10.0.0.53/32,port=53,peer=10.0.0.8/31", dns, true},
		{"net=10.0.0.53/32,port=53,peer=192.168.0.0/16", dns, false},
		{"port=40000-40010", dns, true},
		{"port=40001-40010", dns, false},
		{"net=2001:db8::/32", p(58, "2001:db8::1", 0, "fe80::1", 0), true},
		{"net=10.0.0.0/8", p(58, "2001:db8::1", 0, "fe80::1", 0), false},
		{"net=10.0.0.0/8", p(packet.OuterFragment, "10.0.0.1", 0, "10.0.0.2", 0), false}, // a rule for fragments names them
		{"proto=fragment,net=10.0.0.0/8", p(packet.OuterFragment, "10.0.0.1", 0, "10.0.0.2", 0), true},
		{"port=443", p(1, "10.0.0.1", 443, "10.0.0.2", 443), false},
		{"sni=a.test", p(6, "10.0.0.1", 5, "10.0.0.2", 443), false}, // not known yet
	} {
		set := Set{Allow: one(t, c.rule)}
		if got := set.Packet(&c.p) == Allow; got != c.match {
			t.Errorf("%s: %v", c.rule, got)
		}
		set.Deny = one(t, c.rule)
		if got := set.Packet(&c.p) == Deny; got != c.match {
			t.Errorf("deny %s: %v", c.rule, got)
		}
	}
	tls := p(6, "10.0.0.1", 50000, "10.0.0.2", 443)
	for _, c := range []struct {
		rule, name string
		match      bool
	}{
		{"sni=a.test", "a.test", true}, {"sni=A.test", "a.TEST", true}, {"sni=a.test", "b.a.test", false}, {"sni=a.test", "", false},
		{"sni=*.a.test", "b.a.test", true}, {"sni=*.a.test", "a.test", false}, {"sni=*.a.test", ".a.test", false}, {"sni=*.a.test", "bada.test", false},
		{"sni=a.test,port=444", "a.test", false},
		// The root has no name, and naming it changes nothing.
		{"sni=a.test.", "a.test", true}, {"sni=*.a.test.", "b.a.test", true}, {"sni=a.test", "a.test.", true}, {"sni=a.test", "a.test..", true},
		{"sni=_x-1.a.test", "_x-1.a.test", true},
		{"port=443", "whatever", true},
	} {
		set := Set{Allow: one(t, c.rule)}
		if got := set.Name(&tls, c.name) == Allow; got != c.match {
			t.Errorf("%s, %q: %v", c.rule, c.name, got)
		}
	}
	for _, bad := range []string{"", "proto=300", "proto=gre", "net=10.0.0.0/40", "port=0", "port=9-8", "port=70000", "sni=", "sni=*.", "sni=a.*", "sni=*", "sni=.", "sni=.a.test", "sni=a..test", "sni=b\u00fccher.test", "sni=a test", "sni=*.*.test", "sni=**.test", "what=1", "sni=a,proto=udp", "proto=icmp,port=1"} {
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "rule") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFrame(t *testing.T) {
	link := "020000000002020000000001"
	ip4 := func(proto, rest string) string {
		return "0800" + "45000028000000004 0" + proto + "0000" + "0a000001" + "0a000002" + rest
	}
	tcp := "c35001bb" + "00000001" + "00000000" + "5010ffff00000000"
	for name, c := range map[string]struct {
		frame string
		proto int
		tcp   int
		local bool
		bad   bool
	}{
		"TCP":                {frame: ip4("06", tcp), proto: 6, tcp: 34},
		"TCP, two tags":      {frame: "88a80007" + "81000009" + ip4("06", tcp), proto: 6, tcp: 42},
		"TCP, tag of 0x9100": {frame: "91000007" + "81000009" + ip4("06", tcp), proto: 6, tcp: 42},
		"TCP, tag of 0x9200": {frame: "92000007" + "81000009" + ip4("06", tcp), proto: 6, tcp: 42},
		"TCP, three tags":    {frame: "88a80007" + "81000009" + "81000009" + ip4("06", tcp), bad: true},
		"UDP":                {frame: ip4("11", "c35001bb00080000"), proto: 17},
		"a fragment":         {frame: strings.Replace(ip4("06", tcp), "00000000", "00002000", 1), proto: packet.OuterFragment},
		"GRE":                {frame: ip4("2f", "00000800"), proto: 47},
		"TCP, cut":           {frame: ip4("06", tcp[:20]), bad: true},
		"ARP":                {frame: "0806" + "00010800060400010200000000010a0000010000000000000a000002", proto: packet.OuterARP, local: true},
		"ARP, with a letter": {frame: "0806" + "00010800060400010200000000010a0000010000000000000a000002" + strings.Repeat("41", 18), proto: packet.OuterARP},
		"LLDP":               {frame: "88cc" + strings.Repeat("00", 40), bad: true},
		"neighbours": {frame: "86dd" + "6000000000203aff" + strings.Repeat("fe", 16) + strings.Repeat("ff", 16) + "87000000" + strings.Repeat("00", 28),
			proto: 58, local: true},
		"an echo": {frame: "86dd" + "6000000000203aff" + strings.Repeat("fe", 16) + strings.Repeat("ff", 16) + "80000000" + strings.Repeat("00", 28), proto: 58},
		"TCP over IPv6 after options": {frame: "86dd" + "6000000000203cff" + strings.Repeat("fe", 16) + strings.Repeat("ff", 16) + "0600000000000000" + tcp,
			proto: 6, tcp: 62},
	} {
		b, err := hex.DecodeString(link + strings.ReplaceAll(c.frame, " ", ""))
		if err != nil {
			t.Fatal(name, err)
		}
		p, _, at, ok := packet.OuterOf(b)
		if ok == c.bad || ok && (p.Proto != c.proto || at != c.tcp || p.Local != c.local) {
			t.Errorf("%s: %+v, %d, %v", name, p, at, ok)
		}
		for n := range b {
			packet.OuterOf(b[:n])
		}
	}
}

// A rule that sets something twice would apply only the last. One with an IPv4 address in IPv6 would match nothing.
func TestContradictions(t *testing.T) {
	for _, text := range []string{"net=10.0.0.1,net=10.0.0.2", "port=1,port=2", "proto=tcp,proto=udp", "sni=a.example,sni=b.example", "peer=10.0.0.1,peer=10.0.0.1"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", text, err)
		}
	}
	p := Packet{Proto: 6, Addr: [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.9.9.9")}}
	for _, text := range []string{"net=::ffff:10.0.0.1", "net=::ffff:10.0.0.0/104", "peer=::ffff:10.9.9.9"} {
		r, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s := (&Set{Deny: []Rule{r}}); s.Packet(&p) != Deny {
			t.Errorf("%s: it is not about %v", text, p.Addr)
		}
	}
}
