package about

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/cryptobyte"
)

// Fingerprints identify the software behind a hello by its offers or choices, like other tools. JA3 and JA3S follow
// https://github.com/salesforce/ja3. JA4 follows https://github.com/FoxIO-LLC/ja4; its BSD license covers only the
// client's fingerprint. JA4S has the FoxIO License, which does not permit commercial products, so it is omitted;
// ServerLists has its input. A client can send any list, so a fingerprint does not prove identity.

// Extensions that fingerprints read (RFC 8422, RFC 8446).
const (
	groups            = 10
	pointFormats      = 11
	signatures        = 13
	supportedVersions = 43
)

// A hello has the lists in a ClientHello or ServerHello, without the meaningless values of RFC 8701 (GREASE).
type hello struct {
	version    uint16 // the message's own field
	suites     []uint16
	extensions []uint16
	groups     []uint16
	formats    []uint8
	signatures []uint16
	newest     uint16 // from the extension supported_versions
	protocol   string // first ALPN entry
}

func grease(v uint16) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }

// numbers reads a list of 16-bit values.
func numbers(s cryptobyte.String) (list []uint16) {
	for v := uint16(0); s.ReadUint16(&v); {
		if !grease(v) {
			list = append(list, v)
		}
	}
	return list
}

// extension records an extension of a ClientHello.
func (h *hello) extension(kind uint16, value cryptobyte.String) {
	if grease(kind) {
		return
	}
	h.extensions = append(h.extensions, kind)
	var list, name cryptobyte.String
	switch kind {
	case groups:
		if value.ReadUint16LengthPrefixed(&list) {
			h.groups = numbers(list)
		}
	case pointFormats:
		if value.ReadUint8LengthPrefixed(&list) {
			h.formats = list
		}
	case signatures:
		if value.ReadUint16LengthPrefixed(&list) {
			h.signatures = numbers(list)
		}
	case supportedVersions:
		if value.ReadUint8LengthPrefixed(&list) {
			h.newest = slices.Max(append(numbers(list), 0))
		}
	case protocols:
		if value.ReadUint16LengthPrefixed(&list) && list.ReadUint8LengthPrefixed(&name) {
			h.protocol = string(name)
		}
	}
}

func decimal[T uint8 | uint16](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = strconv.Itoa(int(v))
	}
	return strings.Join(text, "-")
}

func hexadecimal(list []uint16) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprintf("%04x", v)
	}
	return strings.Join(text, ",")
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ja3 returns the fingerprint of a ClientHello.
func (h *hello) ja3() string {
	return md5Of(fmt.Sprintf("%d,%s,%s,%s,%s", h.version, decimal(h.suites), decimal(h.extensions), decimal(h.groups), decimal(h.formats)))
}

// ja3s returns the input of a ServerHello's JA3S, which is its MD5.
func (h *hello) ja3s() string {
	return fmt.Sprintf("%d,%s,%s", h.version, decimal(h.suites), decimal(h.extensions))
}

// ja4 returns the fingerprint of a ClientHello over TCP or QUIC.
func (h *hello) ja4(quic bool) string {
	versions := map[uint16]string{0x0304: "13", 0x0303: "12", 0x0302: "11", 0x0301: "10", 0x0300: "s3", 0x0002: "s2"}
	version := versions[h.version]
	if h.newest != 0 {
		version = versions[h.newest]
	}
	if version == "" {
		version = "00"
	}
	to := "i" // no server name: an address
	if slices.Contains(h.extensions, serverName) {
		to = "d"
	}
	kinds := slices.DeleteFunc(slices.Sorted(slices.Values(h.extensions)), func(kind uint16) bool {
		return kind == serverName || kind == protocols
	})
	rest := hexadecimal(kinds)
	if len(h.signatures) != 0 {
		rest += "_" + hexadecimal(h.signatures)
	}
	over := "t"
	if quic {
		over = "q"
	}
	return fmt.Sprintf("%s%s%s%02d%02d%s_%s_%s", over, version, to, min(len(h.suites), 99), min(len(h.extensions), 99), ends(h.protocol),
		short(len(h.suites), hexadecimal(slices.Sorted(slices.Values(h.suites)))), short(len(h.extensions), rest))
}

// short returns the start of a list's hash, or zeros for an empty list.
func short(entries int, text string) string {
	if entries == 0 {
		return "000000000000"
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// ends returns the first and last character of a protocol's name. If either is not a letter or digit, it uses the
// hexadecimal form.
func ends(protocol string) string {
	if protocol == "" {
		return "00"
	}
	alphanumeric := func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	if !alphanumeric(protocol[0]) || !alphanumeric(protocol[len(protocol)-1]) {
		protocol = hex.EncodeToString([]byte(protocol))
	}
	return protocol[:1] + protocol[len(protocol)-1:]
}
