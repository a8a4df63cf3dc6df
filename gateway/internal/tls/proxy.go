package tls

import "bytes"

// The longest header of version 1 (The PROXY protocol, versions 1 and 2, section 2.1), and the beginning of version 2.
const (
	maxProxyLine  = 107
	proxyTwoBytes = 16
	maxProxyTwo   = 4096 // with the fields that a balancer adds; more is not believed
)

var proxySignature = []byte("\r\n\r\n\x00\r\nQUIT\n")

// ProxyHeader returns how many bytes of b, the beginning of a client's data, are a header of the PROXY protocol, in which a
// balancer tells a server whose connection it passes on. It is 0 if there is none, or if it is not whole.
func ProxyHeader(b []byte) int {
	switch {
	case len(b) >= 8 && b[0] == 'P' && bytes.HasPrefix(b, []byte("PROXY ")):
		end := bytes.Index(b[:min(len(b), maxProxyLine)], []byte("\r\n"))
		if end < 0 {
			return 0
		}
		return end + 2
	case len(b) >= proxyTwoBytes && b[0] == '\r' && bytes.HasPrefix(b, proxySignature) && b[12]>>4 == 2:
		n := proxyTwoBytes + int(be.Uint16(b[14:]))
		if n > len(b) || n > maxProxyTwo {
			return 0
		}
		return n
	}
	return 0
}
