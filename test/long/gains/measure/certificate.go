package measure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"
)

// Certificate returns one for localhost that is signed by its own key only.
func Certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, err
}

// WantSuite reports whether a connection has the cipher suite of that name.
func WantSuite(state *tls.ConnectionState, suite string) error {
	if state == nil {
		return fmt.Errorf("the connection has no TLS")
	}
	if got := tls.CipherSuiteName(state.CipherSuite); got != suite {
		return fmt.Errorf("the connection has %s, not %s", got, suite)
	}
	return nil
}
