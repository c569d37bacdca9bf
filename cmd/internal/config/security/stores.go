package security

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"
)

// The kinds of store that Roots and Pair read.
const (
	PEM    = "PEM"
	PKCS12 = "PKCS12"
	JKS    = "JKS"
)

// KindOf is the kind of a store whose kind is not told: PEM if it looks like
// it, PKCS12 or JKS by its first bytes.
func KindOf(store []byte) string {
	switch {
	case bytes.HasPrefix(store, []byte{0xfe, 0xed, 0xfe, 0xed}):
		return JKS
	case bytes.HasPrefix(store, []byte{0x30}):
		return PKCS12
	}
	return PEM
}

// form is the kind by which a store is read: as in Java, one that is told to be
// JKS or PKCS12 may be either.
func form(kind string, store []byte) string {
	kind = strings.ToUpper(kind)
	if found := KindOf(store); found != PEM && (kind == JKS || kind == PKCS12) {
		return found
	}
	return kind
}

// Roots reads the certificates of a store: the authorities that are trusted.
func Roots(kind string, store []byte, password string) (*x509.CertPool, error) {
	var certs []*x509.Certificate
	var err error
	switch form(kind, store) {
	case PEM:
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(store) {
			return nil, errors.New("it holds no certificate in PEM form")
		}
		return pool, nil
	case PKCS12:
		if certs, err = pkcs12.DecodeTrustStore(store, password); err != nil {
			_, own, chain, chainErr := pkcs12.DecodeChain(store, password)
			if chainErr != nil {
				return nil, err
			}
			certs = append(chain, own)
		}
	case JKS:
		if certs, err = javaRoots(store, password); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%q: choose PEM, PKCS12 or JKS", kind)
	}
	if len(certs) == 0 {
		return nil, errors.New("it holds no certificate")
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// Pair reads a certificate with its key. key is PEM text; empty when the store
// has it. keyPassword is the key's own password; empty when it is the store's.
func Pair(kind string, store, key []byte, password, keyPassword string) (tls.Certificate, error) {
	if keyPassword == "" {
		keyPassword = password
	}
	switch form(kind, store) {
	case PEM:
		if len(key) == 0 {
			key = store // one file with both
		}
		key, err := opened(key, keyPassword)
		if err != nil {
			return tls.Certificate{}, err
		}
		pair, err := tls.X509KeyPair(store, key)
		if err != nil {
			return pair, fmt.Errorf("%w: it must hold a certificate and its key in PEM form", err)
		}
		return pair, nil
	case PKCS12:
		private, own, chain, err := pkcs12.DecodeChain(store, password)
		if err != nil {
			return tls.Certificate{}, err
		}
		pair := tls.Certificate{PrivateKey: private, Certificate: [][]byte{own.Raw}, Leaf: own}
		for _, c := range chain {
			pair.Certificate = append(pair.Certificate, c.Raw)
		}
		return pair, nil
	case JKS:
		return javaPair(store, password, keyPassword)
	}
	return tls.Certificate{}, fmt.Errorf("%q: choose PEM, PKCS12 or JKS", kind)
}

// opened replaces an encrypted key in PEM text by the plain one.
func opened(text []byte, password string) ([]byte, error) {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return text, nil
		}
		if block.Type != "ENCRYPTED PRIVATE KEY" {
			continue
		}
		key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(password))
		if err != nil {
			return nil, errors.New("its key is encrypted and cannot be read: is the key's password right?")
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
	}
}

func java(store []byte, password string) (keystore.KeyStore, error) {
	ks := keystore.New()
	if err := ks.Load(bytes.NewReader(store), []byte(password)); err != nil {
		return ks, fmt.Errorf("%w: is the password right?", err)
	}
	return ks, nil
}

func javaRoots(store []byte, password string) (certs []*x509.Certificate, err error) {
	ks, err := java(store, password)
	if err != nil {
		return nil, err
	}
	for _, alias := range ks.Aliases() {
		var raw []keystore.Certificate
		if e, err := ks.GetTrustedCertificateEntry(alias); err == nil {
			raw = []keystore.Certificate{e.Certificate}
		} else if raw, err = ks.GetPrivateKeyEntryCertificateChain(alias); err != nil {
			continue
		}
		for _, r := range raw {
			c, err := x509.ParseCertificate(r.Content)
			if err != nil {
				return nil, fmt.Errorf("certificate %s: %w", alias, err)
			}
			certs = append(certs, c)
		}
	}
	return certs, nil
}

func javaPair(store []byte, password, keyPassword string) (pair tls.Certificate, err error) {
	ks, err := java(store, password)
	if err != nil {
		return pair, err
	}
	for _, alias := range ks.Aliases() {
		if !ks.IsPrivateKeyEntry(alias) {
			continue
		}
		e, err := ks.GetPrivateKeyEntry(alias, []byte(keyPassword))
		if err != nil {
			return pair, fmt.Errorf("key %s: %w", alias, err)
		}
		var chain []byte
		for _, c := range e.CertificateChain {
			chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Content})...)
		}
		return tls.X509KeyPair(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: e.PrivateKey}))
	}
	return pair, errors.New("it holds no private key")
}
