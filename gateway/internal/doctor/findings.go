package doctor

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"

	gateway "github.com/sealane/sealane/gateway/internal/tls"
)

// A Finding is a reason why data is not decrypted, or another observation.
type Finding struct {
	Cause string // stable name
	Count int    // connections, packets or files
	What  string // the finding, a sentence
	Do    string // the remedy, a sentence
	Of    string // an example
}

// A Summary counts connections.
type Summary struct {
	Packets           uint64
	TCP               int // connections
	TLS               int // connections with a hello or a record
	Decrypted         int
	Secrets, BadLines uint64 // key log lines with a secret, and invalid lines
	Unseen            uint64 // packets of connections beyond the limit
}

// Findings ends the examination. It returns one finding for each cause: first those about the capture, then those about
// connections. A connection that is not decrypted has one cause, the first that applies.
func (d *Doctor) Findings() (Summary, []Finding) {
	d.worker.Close()
	s := Summary{Packets: d.frames, TCP: len(d.order), Unseen: d.ignored}
	s.Secrets, s.BadLines = d.store.Lines()
	all := append(d.notes, d.capture()...)
	twins := d.twins()
	found := make([]Finding, len(causes))
	for _, c := range d.order {
		c.parse()
		if c.client.found || c.server.found || c.records {
			s.TLS++
		}
		// Even with all secrets, an opened record may contain no data.
		if t := anywhere(c.tuple); d.read[t] || d.opened[t] && d.complete(c) {
			s.Decrypted++
			continue
		}
		for i := range causes {
			if !causes[i].is(d, c, twins) {
				continue
			}
			f := &found[i]
			if f.Count++; f.Count == 1 {
				f.Cause, f.What, f.Do, f.Of = causes[i].name, causes[i].what, causes[i].do, c.String()
			}
			break
		}
	}
	for _, f := range found {
		if f.Count > 0 && f.Cause != "" {
			all = append(all, f)
		}
	}
	return s, all
}

// twins returns connections with packets of only one side, if the other side's packets are in another network.
func (d *Doctor) twins() map[packet.Tuple]bool {
	sides := make(map[packet.Tuple]int)
	twins := make(map[packet.Tuple]bool)
	for _, c := range d.order {
		if side, one := c.oneWay(); one {
			sides[anywhere(c.tuple)] |= 1 << side
		}
	}
	for t, both := range sides {
		twins[t] = both == 3
	}
	return twins
}

// oneWay reports whether there are packets of only one side, and which.
func (c *conn) oneWay() (side uint8, one bool) {
	if c.packets[1] > 0 {
		side = 1
	}
	return side, (c.packets[0] > 0) != (c.packets[1] > 0)
}

func (c *conn) String() string {
	client := uint8(0)
	if h := c.heads[1]; len(h) > 5 && h[5] == msgClientHello || len(c.heads[0]) > 5 && c.heads[0][5] == msgServerHello {
		client = 1
	}
	text := fmt.Sprintf("%v to %v", c.tuple.Endpoint(client), c.tuple.Endpoint(1-client))
	if c.client.name != "" {
		text += " (" + c.client.name + ")"
	}
	if c.server.found {
		text += fmt.Sprintf(", %s, %s", tls.VersionName(c.server.version), tls.CipherSuiteName(c.server.suite))
	}
	return text
}

// A cause explains why a connection is not decrypted, if is returns true. An empty name means no cause.
type cause struct {
	name     string
	is       func(d *Doctor, c *conn, twins map[packet.Tuple]bool) bool
	what, do string
}

// The first cause that applies counts.
var causes = []cause{
	{"", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return c.bytes == 0 }, "", ""},
	{"cut packets", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return c.cut },
		"Packets were cut off when they were captured, and a record can only be opened whole.", "Capture with tcpdump -s 0."},
	{"joined late", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool {
		return !c.client.found && !c.server.found && c.records
	}, "The ClientHello was not seen, as the connection began before the capture, and no secret of the key log opens its records.",
		"Start the capture first, then let the client connect again. For TLS 1.3 the key log of that connection is enough; otherwise pass keys by address (--api of live)."},
	{"not TLS", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !c.client.found && !c.server.found },
		"The connection holds no ClientHello: it is not TLS, or TLS begins within a protocol that the gateway does not support.",
		"If you expected TLS, check the port, and that TLS does not end at a load balancer before this place."},
	{"one network", func(_ *Doctor, c *conn, twins map[packet.Tuple]bool) bool { return twins[anywhere(c.tuple)] },
		"The two directions have different VLAN tags or tunnels, and count as two connections.", "Use --one-network."},
	{"one direction", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { _, one := c.oneWay(); return one },
		"Only one direction was seen. The keys need both hellos: the client's names them, and the server's has the cipher suite.",
		"Mirror both directions to this interface, or read both taps at once (--interface twice); keys by address (--api of live) work with one direction."},
	{"no ClientHello", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !c.client.found },
		"The ServerHello was seen, but not the ClientHello, which names the keys.",
		"Start the capture before the client connects; if it did run, packets were lost on the way."},
	{"no ServerHello", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !c.server.found },
		"The ClientHello was seen, but no ServerHello: the server refused the connection, or its answer was lost.",
		"Try the connection with curl -v; if it works, packets were lost on the way."},
	{"old version", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return c.server.version < tls.VersionTLS12 },
		"The connection has a version of TLS before 1.2, which the gateway does not read.", "Make the server require TLS 1.2 or 1.3."},
	{"unsupported suite", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool {
		return !gateway.Supported(c.server.version, c.server.suite)
	}, "The gateway does not read this cipher suite: it reads AES-GCM, AES-CCM and ChaCha20-Poly1305.",
		"Make the server prefer TLS 1.3, or TLS 1.2 suites with AES-GCM, AES-CCM or ChaCha20-Poly1305."},
	{"no keys", func(d *Doctor, _ *conn, _ map[packet.Tuple]bool) bool { n, _ := d.store.Lines(); return n == 0 },
		"There are no keys at all.",
		"Start the client or server with SSLKEYLOGFILE=/path/keys.log in its environment and use --keys /path/keys.log, or take them with sealane-gateway keys. " +
			"A certificate's private key is not enough."},
	{"keys of other connections, or encrypted ClientHello", func(d *Doctor, c *conn, _ map[packet.Tuple]bool) bool {
		return c.client.encrypted && !d.store.Has(&c.client.random)
	}, "The key log has no keys of this connection. If its ClientHello is encrypted (ECH), the log names one that no packet shows.",
		"Check that this client or server writes the key log for this connection. If it does, disable ECH."},
	{"keys of other connections", func(d *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !d.store.Has(&c.client.random) },
		"All keys belong to other connections.",
		"Check that this client or server writes the key log, and that both ran at the same time as the capture. Check that no proxy in between makes its own TLS connection."},
	{"half the keys", func(d *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !d.complete(c) },
		"The key log names this connection, but lacks the secrets of its data.",
		"Check that the log is complete, and that its writer does not stop before the handshake ends."},
	{"no data yet", func(_ *Doctor, c *conn, _ map[packet.Tuple]bool) bool { return !c.records },
		"The keys are there, but the connection has no encrypted records yet.", "Capture for longer, or check why the handshake does not end."},
	{"nothing opens", func(*Doctor, *conn, map[packet.Tuple]bool) bool { return true },
		"The keys of this connection are there, but none of its records opens: segments are missing, or the keys are wrong.",
		"Look for lost packets below; if there are none, check that the key log was not altered."},
}

// complete reports whether all secrets for a connection's data are there.
func (d *Doctor) complete(c *conn) bool {
	var s keys.Secrets
	defer s.Wipe()
	d.store.Get(&c.client.random, &s)
	if c.server.version == tls.VersionTLS12 {
		return s.Get(keys.Master) != nil
	}
	return s.Get(keys.ClientTraffic) != nil && s.Get(keys.ServerTraffic) != nil
}

// capture returns findings about packets.
func (d *Doctor) capture() (all []Finding) {
	note := func(cause string, n uint64, what, do string) {
		if n > 0 {
			all = append(all, Finding{Cause: cause, Count: int(n), What: what, Do: do})
		}
	}
	switch {
	case d.frames == 0:
		all = append(all, Finding{Cause: "no packets", What: "No packet was seen.",
			Do: "Check the name of the interface, that the mirror port is on, and that no capture filter excludes everything."})
	case d.tcp == 0 && d.worker.Snapshot().QUIC.Decrypted == 0:
		all = append(all, Finding{Cause: "no TCP", Count: int(d.frames), What: "No packet holds TCP. There is " + d.list() + ".",
			Do: "Check that you capture where the connections pass."})
	}
	for _, name := range slices.Sorted(maps.Keys(tunnels)) {
		note("tunnel", d.others[name], "Packets are "+name+".", "It is "+tunnels[name]+".")
	}
	switch q := d.worker.Snapshot().QUIC; {
	case q.Connections == 0:
		note("QUIC", d.others[quic], "Packets are UDP of port 443, but no QUIC connection begins in them.", "Start the capture before the connection. The versions read are 1 and 2.")
	case q.Decrypted == 0:
		note("QUIC", q.Connections, "QUIC connections (HTTP/3) have no keys.", "Make the program write a key log, and pass it with --keys.")
	case q.Decrypted < q.Connections:
		note("QUIC", q.Connections-q.Decrypted, "QUIC connections (HTTP/3) were not decrypted, while others were.", "Check that all programs write the key log.")
	}
	deep := d.parser.Tunnels.Deep
	note("deep tunnels", deep, "Packets are in more than four tunnels.", "Capture inside the outer ones.")
	f := &d.parser.Fragments
	note("fragments", f.Expired+f.Evicted, "IP fragments of incomplete packets.", "Check that all fragments reach this interface; a larger MTU avoids them.")
	note("lost by the kernel", d.Dropped, "The kernel dropped packets because they were not read in time.", "Use a larger --ring or more --workers for live.")
	holes := d.worker.Stats.Holes
	note("lost segments", holes, "Gaps in TCP connections: their packets did not arrive here.", "Look for drops at the mirror or tap: it may have less capacity than the link.")
	note("cut packets", d.cut, "Packets were cut off when they were captured.", "Capture with tcpdump -s 0.")
	note("damaged packets", d.malformed, "Packets are shorter than their headers say, or contradict themselves.", "Capture with tcpdump -s 0, and check the link type.")
	if n := d.badSums + d.long; n > 0 {
		note("offload", n, "Packets have no valid checksum, or are longer than a frame: the network card computes checksums and splits segments.",
			"Nothing: this is normal on the sending host, and the gateway reads such packets.")
	}
	return all
}

// list names the most frequent kinds of frames without TCP.
func (d *Doctor) list() string {
	names := slices.SortedFunc(maps.Keys(d.others), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.others[b], d.others[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "nothing well formed"
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, d.others[name])
	}
	return strings.Join(names[:min(len(names), 5)], ", ")
}

// Note adds a finding of the caller.
func (d *Doctor) Note(f Finding) { d.notes = append(d.notes, f) }

// Keys reads a key log, and adds a finding if it is invalid.
func (d *Doctor) Keys(name string, r io.Reader) error {
	log := &keys.Log{Store: d.store, From: "file"}
	first := make([]byte, 4096)
	n, err := io.ReadFull(r, first)
	defer clear(first)
	if err == nil {
		log.Write(first)
		_, err = io.Copy(log, r)
	} else if err == io.EOF || err == io.ErrUnexpectedEOF {
		log.Write(first[:n])
		err = nil
	}
	log.Flush()
	note := Finding{Count: 1, Of: name}
	switch {
	case bytes.Contains(first[:n], []byte("PRIVATE KEY-----")):
		note.Cause, note.What = "private key", "The file given as key log holds a private key, which does not reveal the keys of a connection."
		note.Do = "Log the keys of connections with SSLKEYLOGFILE."
	case log.Secrets == 0 && n == 0:
		note.Cause, note.What = "empty key log", "The key log is empty."
		note.Do = "Check that the program honors SSLKEYLOGFILE, was started with it, and may write the file."
	case log.Secrets == 0:
		note.Cause, note.What = "no key log", "The file given as key log has no line with a key."
		note.Do = "Lines look like this: CLIENT_RANDOM, 64 hexadecimal digits, and a secret."
	default:
		return err
	}
	d.Note(note)
	return err
}
