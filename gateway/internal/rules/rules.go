// Package rules decides which unreadable traffic passes a closed gateway, and which readable traffic does not.
package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Rule is a list of terms that must all be true.
//
//	proto=NAME    arp, icmp, tcp, udp, fragment, or an IP protocol number; without it everything except fragments and ARP
//	net=CIDR      one endpoint's address is in this network
//	port=N[-M]    the same endpoint's port, of TCP or UDP
//	peer=CIDR     the other endpoint's address is in this network
//	sni=NAME      TLS: the server name in the ClientHello; *.NAME includes all names below it
type Rule struct {
	text     string
	proto    int // -1: any
	net      netip.Prefix
	peer     netip.Prefix
	from, to uint16 // ports; 0 means no port
	sni      string
}

const any = -1 // protocol

var protocols = map[string]int{"arp": packet.OuterARP, "icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58, "fragment": packet.OuterFragment}

// Parse parses a rule, such as "proto=udp,net=10.0.0.53/32,port=53".
func Parse(text string) (Rule, error) {
	r := Rule{text: text, proto: any}
	fail := func(term, what string) (Rule, error) { return r, fmt.Errorf("rule %q: %s: %s", text, term, what) }
	seen := make(map[string]struct{})
	for _, term := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(term), "=")
		var err error
		if _, twice := seen[name]; twice {
			return fail(term, "a rule cannot say this twice")
		}
		seen[name] = struct{}{}
		switch name {
		case "proto":
			n, ok := protocols[value]
			if !ok {
				if n, err = strconv.Atoi(value); err != nil || n < 0 || n > 255 {
					return fail(term, "it is arp, icmp, icmpv6, tcp, udp, fragment, or a number from 0 to 255")
				}
			}
			r.proto = n
		case "net", "peer":
			p, err := netip.ParsePrefix(value)
			if a, e := netip.ParseAddr(value); e == nil {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96) // the form used in packets
			}
			if err != nil {
				return fail(term, "it is an address or a network, such as 10.0.0.0/8")
			}
			if name == "net" {
				r.net = p.Masked()
			} else {
				r.peer = p.Masked()
			}
		case "port":
			from, to, ranged := strings.Cut(value, "-")
			if !ranged {
				to = from
			}
			a, err1 := strconv.ParseUint(from, 10, 16)
			b, err2 := strconv.ParseUint(to, 10, 16)
			if err1 != nil || err2 != nil || a == 0 || b < a {
				return fail(term, "it is a port from 1 to 65535, or a range of them")
			}
			r.from, r.to = uint16(a), uint16(b)
		case "sni":
			// An invalid name would never match, and a rule that denies it would have no effect.
			if r.sni = strings.ToLower(strings.TrimRight(value, ".")); !named(strings.TrimPrefix(r.sni, "*.")) {
				return fail(term, "it is a name of letters, digits, - and _ (xn-- where it has others), or *.NAME")
			}
		default:
			return fail(term, "terms are proto=, net=, port=, peer= and sni=")
		}
	}
	if r.sni != "" && r.proto != any && r.proto != 6 {
		return fail("sni="+r.sni, "it is for TCP")
	}
	if r.sni != "" {
		r.proto = 6
	}
	if r.from != 0 && r.proto != any && r.proto != 6 && r.proto != 17 {
		return fail("port", "only TCP and UDP have ports")
	}
	return r, nil
}

// named reports whether a client may ask for a name.
func named(name string) bool {
	for _, label := range strings.Split(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func (r *Rule) String() string { return r.text }

// A Verdict is the decision of a Set.
type Verdict uint8

// Verdicts.
const (
	None  Verdict = iota // no rule applies
	Allow                // it passes, read or not
	Deny                 // it does not pass
)

// A Set is the rules of a gateway. Deny takes precedence over Allow. A Set in use must not be changed.
type Set struct{ Allow, Deny []Rule }

// A Packet is the input of rules.
type Packet = packet.Outer

func (r *Rule) matches(p *Packet) bool {
	if r.proto == any && (p.Proto == packet.OuterFragment || p.Proto == packet.OuterARP) || r.proto != any && r.proto != p.Proto {
		return false
	}
	if p.Proto == packet.OuterARP {
		return !r.net.IsValid() && !r.peer.IsValid() && r.from == 0
	}
	for i := range 2 {
		if (!r.net.IsValid() || r.net.Contains(p.Addr[i])) && (!r.peer.IsValid() || r.peer.Contains(p.Addr[1-i])) &&
			(r.from == 0 || (p.Proto == 6 || p.Proto == 17) && p.Port[i] >= r.from && p.Port[i] <= r.to) {
			return true
		}
	}
	return false
}

// name reports whether a rule's name matches a server name.
func (r *Rule) name(sni string) bool {
	if below, ok := strings.CutPrefix(r.sni, "*"); ok {
		return len(sni) > len(below) && strings.HasSuffix(sni, below)
	}
	return r.sni == sni
}

func match(rules []Rule, p *Packet, sni string, known bool) bool {
	for i := range rules {
		r := &rules[i]
		if (r.sni == "" || known && r.name(sni)) && r.matches(p) {
			return true
		}
	}
	return false
}

// Packet decides about a packet. Rules with names do not apply.
func (s *Set) Packet(p *Packet) Verdict {
	switch {
	case match(s.Deny, p, "", false):
		return Deny
	case p.Local || match(s.Allow, p, "", false):
		return Allow
	}
	return None
}

// Name decides about a TLS connection by the server name in its ClientHello; "" means that it has no name.
func (s *Set) Name(p *Packet, sni string) Verdict {
	sni = strings.ToLower(strings.TrimRight(sni, "."))
	switch {
	case match(s.Deny, p, sni, true):
		return Deny
	case match(s.Allow, p, sni, true):
		return Allow
	}
	return None
}

// Of returns the input of rules for a connection.
func Of(t *packet.Tuple) Packet {
	a, b := t.Endpoint(0), t.Endpoint(1)
	return Packet{Proto: 6, Addr: [2]netip.Addr{a.Addr(), b.Addr()}, Port: t.Port}
}
