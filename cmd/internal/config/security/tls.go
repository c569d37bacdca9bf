package security

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// Check is what is checked of the other side.
type Check int

// The checks, each with those before it.
const (
	Nothing Check = iota // any certificate is taken
	Chain                // a known authority has signed it
	Name                 // and it is for the name that was dialled
)

// Config is a client's side of TLS 1.2 or newer. roots is nil for the system's
// authorities.
func Config(roots *x509.CertPool, own []tls.Certificate, check Check) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: own}
	if check < Name {
		c.InsecureSkipVerify = true
	}
	if check == Chain {
		c.VerifyConnection = verifyChain(roots)
	}
	return c
}

// verifyChain checks that a server's certificate comes from a known authority,
// whatever name it bears.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, cert := range s.PeerCertificates[1:] {
			options.Intermediates.AddCert(cert)
		}
		if _, err := s.PeerCertificates[0].Verify(options); err != nil {
			return fmt.Errorf("verify the server's certificate: %w", err)
		}
		return nil
	}
}

// Versions reads a list as TLSv1.2,TLSv1.3 into the least and the greatest
// version that is taken.
func Versions(list []string) (least, most uint16, err error) {
	known := map[string]uint16{"TLSV1.2": tls.VersionTLS12, "TLSV1.3": tls.VersionTLS13}
	for _, name := range list {
		v, ok := known[strings.ToUpper(name)]
		switch {
		case ok:
		case strings.EqualFold(name, "TLSv1") || strings.EqualFold(name, "TLSv1.1"):
			continue // too old to be used, whoever offers it
		default:
			return 0, 0, fmt.Errorf("%q: choose TLSv1.2, TLSv1.3 or both", name)
		}
		if least == 0 || v < least {
			least = v
		}
		most = max(most, v)
	}
	if least == 0 && len(list) > 0 {
		return 0, 0, fmt.Errorf("nothing newer than TLS 1.1 is allowed: add TLSv1.2 or TLSv1.3")
	}
	return least, most, nil
}
