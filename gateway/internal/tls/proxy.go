package tls

import "bytes"

// The longest header of version 1 (The PROXY protocol, versions 1 and 2, section 2.1), and the fixed part and the
// longest header of version 2.
const (
	maxProxyLine  = 107
	proxyTwoBytes = 16
	maxProxyTwo   = 4096 // including the fields that load balancers add; longer ones are not accepted
)

var proxySignature = []byte("\r\n\r\n\x00\r\nQUIT\n")

// ProxyHeader returns the length of the PROXY protocol header at the start of b, the first data of a client. Load
// balancers send it to tell a server the addresses of the original connection. ProxyHeader returns 0 if there is none,
// or if it is incomplete.
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
