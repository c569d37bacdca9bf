package security_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

const password = "changeit"

// certificate makes one for db1 that is its own authority.
func certificate(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"db1"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

// stores are one certificate, alone and with its key, in every kind.
func stores(t *testing.T) (trust, own map[string][]byte) {
	t.Helper()
	c, key := certificate(t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	trust12, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{c}, password)
	must(t, err)
	own12, err := pkcs12.Modern.Encode(key, c, nil, password)
	must(t, err)
	chain := keystore.Certificate{Type: "X509", Content: c.Raw}
	jks := func(fill func(keystore.KeyStore) error) []byte {
		ks := keystore.New()
		must(t, fill(ks))
		var b bytes.Buffer
		must(t, ks.Store(&b, []byte(password)))
		return b.Bytes()
	}
	trust = map[string][]byte{"PEM": text, "PKCS12": trust12, "JKS": jks(func(ks keystore.KeyStore) error {
		return ks.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: chain})
	})}
	own = map[string][]byte{"PEM": append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), text...), "PKCS12": own12, "JKS": jks(func(ks keystore.KeyStore) error {
		return ks.SetPrivateKeyEntry("own", keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: der, CertificateChain: []keystore.Certificate{chain}}, []byte(password))
	})}
	return trust, own
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shake makes a connection between two sides.
func shake(t *testing.T, client, server *tls.Config) error {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		s := tls.Server(far, server)
		if s.Handshake() == nil {
			_, _ = s.Write([]byte("x"))
		}
	}()
	c := tls.Client(near, client)
	if err := c.Handshake(); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// Every kind of store serves both sides of a connection.
func TestStores(t *testing.T) {
	trust, own := stores(t)
	for kind := range trust {
		t.Run(kind, func(t *testing.T) {
			if got := security.KindOf(trust[kind]); got != kind {
				t.Errorf("it looks like %s", got)
			}
			roots, err := security.Roots(strings.ToLower(kind), trust[kind], password)
			must(t, err)
			pair, err := security.Pair(kind, own[kind], nil, password, "")
			must(t, err)
			client := security.Config(roots, []tls.Certificate{pair}, security.Name)
			client.ServerName = "db1"
			server := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}
			must(t, shake(t, client, server))
			if kind == security.PEM {
				return
			}
			if _, err := security.Roots(kind, trust[kind], "wrong"); err == nil || strings.Contains(err.Error(), "wrong") {
				t.Errorf("wrong password: %v", err)
			}
			if _, err := security.Pair(kind, own[kind], nil, "wrong", ""); err == nil {
				t.Error("wrong password of the key")
			}
		})
	}
	if _, err := security.Roots("BKS", nil, ""); err == nil {
		t.Error("a kind that does not exist")
	}
}

func TestChecks(t *testing.T) {
	trust, own := stores(t)
	others, _ := stores(t)
	roots, err := security.Roots(security.PEM, trust["PEM"], "")
	must(t, err)
	strangers, err := security.Roots(security.PEM, others["PEM"], "")
	must(t, err)
	pair, err := security.Pair(security.PEM, own["PEM"], nil, "", "")
	must(t, err)
	server := &tls.Config{Certificates: []tls.Certificate{pair}}
	for _, tt := range []struct {
		check security.Check
		roots *x509.CertPool
		name  string
		ok    bool
	}{
		{security.Nothing, strangers, "db2", true},
		{security.Chain, roots, "db2", true},
		{security.Chain, strangers, "db1", false},
		{security.Name, roots, "db1", true},
		{security.Name, roots, "db2", false},
		{security.Name, strangers, "db1", false},
	} {
		c := security.Config(tt.roots, nil, tt.check)
		c.ServerName = tt.name
		err := shake(t, c, server)
		var unverified *tls.CertificateVerificationError
		var unknown x509.UnknownAuthorityError
		if (err == nil) != tt.ok || err != nil && !errors.As(err, &unverified) && !errors.As(err, &unknown) {
			t.Errorf("check %d of %s: %v", tt.check, tt.name, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		list        []string
		least, most uint16
		ok          bool
	}{
		{nil, 0, 0, true},
		{[]string{"TLSv1.2"}, tls.VersionTLS12, tls.VersionTLS12, true},
		{[]string{"TLSv1.3", "tlsv1.2", "TLSv1.1"}, tls.VersionTLS12, tls.VersionTLS13, true},
		{[]string{"TLSv1"}, 0, 0, false},
		{[]string{"SSLv3"}, 0, 0, false},
	} {
		least, most, err := security.Versions(tt.list)
		if least != tt.least || most != tt.most || (err == nil) != tt.ok {
			t.Errorf("%v: %x, %x, %v", tt.list, least, most, err)
		}
	}
}
