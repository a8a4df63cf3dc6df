package about

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// A list of 16-bit values in a hello, with a value of GREASE before and after them, which no fingerprint may see.
func greased(list ...uint16) (b []byte) {
	for _, v := range append(append([]uint16{0x1a1a}, list...), 0xfafa) {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func prefixed(bytes int, b []byte) []byte {
	if bytes == 1 {
		return append([]byte{byte(len(b))}, b...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

// clientHelloOf makes a ClientHello whose extensions are empty, except the given ones.
func clientHelloOf(version uint16, suites, kinds []uint16, values map[uint16][]byte) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, version), make([]byte, 32)...)
	b = append(append(append(b, 0), prefixed(2, greased(suites...))...), 1, 0)
	var extensions []byte
	for _, kind := range kinds {
		extensions = append(binary.BigEndian.AppendUint16(extensions, kind), prefixed(2, values[kind])...)
	}
	return append(b, prefixed(2, extensions)...)
}

func TestFingerprints(t *testing.T) {
	// The examples of the README of https://github.com/salesforce/ja3 (BSD 3-Clause).
	for _, c := range []struct {
		suites, kinds []uint16
		want          string
	}{
		{[]uint16{47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4}, []uint16{0, 10, 11}, "ada70206e40642a3e4461f35503241d5"},
		{[]uint16{4, 5, 10, 9, 100, 98, 3, 6, 19, 18, 99}, nil, "de350869b8c85de67a350c8d186f11e6"},
	} {
		var about Connection
		about.Message(0, clientHello, 0x0301, clientHelloOf(0x0301, c.suites, c.kinds, map[uint16][]byte{
			groups: prefixed(2, greased(23, 24, 25)), pointFormats: {1, 0}}))
		if about.JA3 != c.want {
			t.Errorf("JA3 of %v, %v: %s, want %s", c.suites, c.kinds, about.JA3, c.want)
		}
	}
	var about Connection
	// The ServerHello of testdata/s-12gcm.pcap; tshark 4.0.17 gives the same result.
	body, err := hex.DecodeString("0303da5157db105ce41fbbc5b63b72637bc18d508d51912978f5444f574e4752440120a24c72a896b6e2522717701f1e53bbfe353d" +
		"a730158b75ccabefb8876c559d7fc02f000020ff01000100000b0004030001020010000b000908687474702f312e3100170000")
	if err != nil {
		t.Fatal(err)
	}
	about.Message(1, serverHello, 0x0303, body)
	if want := "27eabd2e03c903c0e38682b67d24b578"; about.JA3S != want {
		t.Errorf("JA3S: %s, want %s", about.JA3S, want)
	}
	if want := "771,49199,65281-11-16-23"; about.ServerLists != want {
		t.Errorf("ServerLists: %s, want %s", about.ServerLists, want)
	}

	// The example of JA4's technical details (https://github.com/FoxIO-LLC/ja4, BSD 3-Clause), in another order.
	suites := []uint16{0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x9c, 0x9d, 0x2f, 0x35}
	kinds := []uint16{0x1b, 0, 0x33, 0x10, 0x4469, 0x17, 0x2d, 0xd, 5, 0x23, 0x12, 0x2b, 0xff01, 0xb, 0xa, 0x15}
	values := map[uint16][]byte{
		signatures:        prefixed(2, greased(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601)),
		supportedVersions: prefixed(1, greased(0x0304, 0x0303)),
		protocols:         prefixed(2, []byte("\x02h2\x08http/1.1")),
	}
	for protocol, want := range map[string]string{"\x02h2": "h2", "": "00", "\x08http/1.1": "h1", "\x01h": "hh", "\x03\xab12": "a2", "\x02h\xff": "6f"} {
		if values[protocols] = nil; protocol != "" {
			values[protocols] = prefixed(2, []byte(protocol))
		}
		about.Message(0, clientHello, 0x0303, clientHelloOf(0x0303, suites, kinds, values))
		if want = "t13d1516" + want + "_8daaf6152771_e5627efa2ab1"; about.JA4 != want {
			t.Errorf("JA4, protocol %q: %s, want %s", protocol, about.JA4, want)
		}
	}

	// A hello that offers nothing, and an unknown version.
	about.Message(0, clientHello, 0, append(append([]byte{9, 9}, make([]byte, 32)...), 0, 0, 0, 1, 0))
	if want := "t00i000000_000000000000_000000000000"; about.JA4 != want {
		t.Errorf("JA4 of an empty hello: %s, want %s", about.JA4, want)
	}
	// More than two digits hold.
	about.Message(0, clientHello, 0, clientHelloOf(0x0303, make([]uint16, 120), make([]uint16, 130), nil))
	if want := "t12d9999"; !strings.HasPrefix(about.JA4, want) {
		t.Errorf("JA4 of long lists: %s, want %s...", about.JA4, want)
	}
}
