package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

// zookeeperAuth reads canal.relay.zookeeper.auth. again reads it anew from its
// file; nil when it stands in none.
func (r *reader) zookeeperAuth() (auth Secret, again func() (string, error)) {
	const key = "canal.relay.zookeeper.auth"
	before := len(*r.Problems)
	auth = r.Secret(key)
	path := r.SecretPath(key)
	if (auth != "" || path != "") && !isLogin(auth.Reveal()) && len(*r.Problems) == before {
		r.Blame(key, "write it as user:password")
	}
	read := r.SecretAgain(key)
	if read == nil {
		return auth, nil
	}
	return auth, func() (string, error) {
		text, err := read()
		if err == nil && !isLogin(text) {
			err = fmt.Errorf("%s does not hold user:password", path)
		}
		return text, err
	}
}

func isLogin(text string) bool {
	user, password, _ := strings.Cut(text, ":")
	return user != "" && password != ""
}

// zookeeperTLS reads canal.relay.zookeeper.tls.*, nil when none of them is set.
// again reads the files anew.
func (r *reader) zookeeperTLS() (c *tls.Config, again func() (*tls.Config, error)) {
	const ca, certificate, key, name = "canal.relay.zookeeper.tls.ca", "canal.relay.zookeeper.tls.certificate", "canal.relay.zookeeper.tls.key", "canal.relay.zookeeper.tls.server.name"
	if r.Text(ca)+r.Text(certificate)+r.Text(key)+r.Text(name) == "" {
		return nil, nil
	}
	var roots *x509.CertPool
	var own []tls.Certificate
	var err error
	var files tlsFiles
	if r.Text(ca) != "system" {
		if roots, err = security.Roots(security.PEM, r.File(ca), ""); err != nil {
			r.Blame(ca, "%v: name the file of the authorities that the servers' certificates are checked by, or system", err)
		}
		files.ca = r.FileAgain(ca)
	}
	if store := r.File(certificate); store != nil {
		pair, err := security.Pair(security.PEM, store, r.File(key), "", "")
		if err != nil {
			r.BlameErr(certificate, err)
		}
		own = []tls.Certificate{pair}
		files.certificate, files.key = r.FileAgain(certificate), r.FileAgain(key)
	} else if r.Text(key) != "" {
		r.Blame(key, "it goes with %s: set both or none", certificate)
	}
	c = security.Config(roots, own, security.Name)
	c.ServerName = r.Text(name)
	return c, func() (*tls.Config, error) { return files.read(c) }
}

// tlsFiles are paths of PEM files, empty for those that there are not.
type tlsFiles struct{ ca, certificate, key string }

// read gives the settings of c with what the files hold now.
func (f tlsFiles) read(c *tls.Config) (*tls.Config, error) {
	c = c.Clone()
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, err
		}
		if c.RootCAs, err = security.Roots(security.PEM, text, ""); err != nil {
			return nil, fmt.Errorf("%s: %w", f.ca, err)
		}
	}
	if f.certificate != "" {
		pair, err := f.pair()
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (f tlsFiles) pair() (pair tls.Certificate, err error) {
	store, err := os.ReadFile(f.certificate)
	if err != nil {
		return pair, err
	}
	var key []byte
	if f.key != "" {
		if key, err = os.ReadFile(f.key); err != nil {
			return pair, err
		}
	}
	if pair, err = security.Pair(security.PEM, store, key, "", ""); err != nil {
		return pair, fmt.Errorf("%s: %w", strings.Trim(f.certificate+", "+f.key, ", "), err)
	}
	return pair, nil
}
