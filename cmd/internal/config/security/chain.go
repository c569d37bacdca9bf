package security

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// VerifyChain checks that a broker's certificate comes from a known authority,
// whatever name it bears.
func VerifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, cert := range s.PeerCertificates[1:] {
			options.Intermediates.AddCert(cert)
		}
		if _, err := s.PeerCertificates[0].Verify(options); err != nil {
			return fmt.Errorf("verify the broker's certificate: %w", err)
		}
		return nil
	}
}
