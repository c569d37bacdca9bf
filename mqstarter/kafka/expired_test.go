package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// certificate makes one for 127.0.0.1 that is its own authority.
func certificate(t *testing.T, until time.Time) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, c
}

// TestCertificateExpiresDuringTheTerm, case KD-13: the broker's certificate, or ours, is no longer good when a connection
// has to be made again. That is told within seconds, with the reason.
func TestCertificateExpiresDuringTheTerm(t *testing.T) {
	good, authority := certificate(t, time.Now().Add(time.Hour))
	old, expired := certificate(t, time.Now().Add(-time.Hour))
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	roots.AddCert(expired)
	for _, tt := range []struct {
		name, want string
		version    uint16
	}{
		{"the broker's", "certificate has expired", tls.VersionTLS13},
		{"ours, TLS 1.2", "does it want a certificate of the client, or another one", tls.VersionTLS12},
		{"ours, TLS 1.3", "does it want a certificate of the client, or another one", tls.VersionTLS13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var over atomic.Bool
			ours := strings.HasPrefix(tt.name, "ours")
			c := cluster(t, kfake.SeedTopics(1, "changes"), kfake.TLS(&tls.Config{
				MaxVersion: tt.version,
				GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
					if over.Load() && !ours {
						return &old, nil
					}
					return &good, nil
				},
				ClientAuth: tls.RequireAnyClientCert,
				VerifyConnection: func(tls.ConnectionState) error {
					if over.Load() && ours {
						return errors.New("the client's certificate has expired")
					}
					return nil
				},
			}))
			p, _ := producer(t, c.ListenAddrs(), func(c *Config) {
				c.TLS = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS12}
			})
			claim(t, p)
			if err := outcome(t, send(t, p, record("changes", 0, "first"))); err != nil {
				t.Fatal(err)
			}
			over.Store(true)
			drop(c)
			began := time.Now()
			err := outcome(t, send(t, p, record("changes", 0, "second")))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > promised {
				t.Errorf("it took %v", took)
			}
		})
	}
}
