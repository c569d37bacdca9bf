package config

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

// zookeeperTLS reads canal.relay.zookeeper.tls.*, nil when none of them is set.
func (r *reader) zookeeperTLS() *tls.Config {
	const ca, certificate, key, name = "canal.relay.zookeeper.tls.ca", "canal.relay.zookeeper.tls.certificate", "canal.relay.zookeeper.tls.key", "canal.relay.zookeeper.tls.server.name"
	if r.Text(ca)+r.Text(certificate)+r.Text(key)+r.Text(name) == "" {
		return nil
	}
	var roots *x509.CertPool
	var own []tls.Certificate
	var err error
	if r.Text(ca) != "system" {
		if roots, err = security.Roots(security.PEM, r.File(ca), ""); err != nil {
			r.Blame(ca, "%v: name the file of the authorities that the servers' certificates are checked by, or system", err)
		}
	}
	if store := r.File(certificate); store != nil {
		pair, err := security.Pair(security.PEM, store, r.File(key), "", "")
		if err != nil {
			r.BlameErr(certificate, err)
		}
		own = []tls.Certificate{pair}
	} else if r.Text(key) != "" {
		r.Blame(key, "it goes with %s: set both or none", certificate)
	}
	c := security.Config(roots, own, security.Name)
	c.ServerName = r.Text(name)
	return c
}
