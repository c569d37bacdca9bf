package config

import (
	"crypto/tls"
	"crypto/x509"
	"math"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/identity"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
	"github.com/canal-relay/canal-relay/relay/binlog"
)

func (r *reader) binlog(node *Node) binlog.Config {
	c := binlog.Config{
		Fallback: r.units("canal.instance.fallbackIntervalInSeconds", time.Second),
		Latest:   r.boolean("canal.auto.reset.latest.pos.mode"),
		Start:    r.start("master"),
	}
	const password = "canal.instance.dbPassword"
	c.User = r.text("canal.instance.dbUsername")
	c.Password, c.Secret = r.secret(password).Reveal(), r.secretAgain(password)
	c.Timeout = r.units("canal.instance.network.soTimeout", time.Second)
	c.Formats = r.list("canal.instance.binlog.format")
	c.RowImages = r.list("canal.instance.binlog.image")
	if c.Timeout == 0 {
		r.blame("canal.instance.network.soTimeout", "0 is no time for a statement: choose 1 or more seconds")
	}
	c.ServerID, c.ReplicaUUID = identity.Owner(node.Cluster, r.destination)
	if id := r.number("canal.instance.mysql.slaveId", math.MinInt32, math.MaxUint32); id > 0 {
		c.ServerID = uint32(id)
	}
	master := r.server("master")
	c.Addr, c.TLS, c.TLSOptional = master.Addr, master.TLS, master.TLSOptional
	if c.Addr == "" {
		r.blame("canal.instance.master.address", "it is missing: set the source as host:port")
	}
	if c.Standby = r.server("standby"); c.Standby.Addr != "" {
		c.StandbyStart = r.start("standby")
	}
	c.Detect = binlog.Detect{
		SQL:       r.text("canal.instance.detecting.sql"),
		Every:     r.units("canal.instance.detecting.interval.time", time.Second),
		Threshold: int(r.number("canal.instance.detecting.retry.threshold", 0, math.MaxInt32)),
		Switch:    r.boolean("canal.instance.detecting.heartbeatHaEnable"),
	}
	if !r.boolean("canal.instance.detecting.enable") {
		c.Detect.SQL = ""
	}
	if c.Detect.Every == 0 {
		r.blame("canal.instance.detecting.interval.time", "0 is no time between two questions: choose 1 or more seconds")
	}
	return c
}

// server reads where a server of the pair is and how the connection to it is
// kept private.
func (r *reader) server(side string) (s binlog.Standby) {
	key := "canal.instance." + side + ".address"
	if s.Addr = r.text(key); s.Addr != "" {
		if err := properties.CheckAddress(s.Addr); err != nil {
			r.blameErr(key, err)
		}
	}
	s.TLS, s.TLSOptional = r.sourceTLS("canal.instance." + side + ".")
	return s
}

// sourceTLS reads MySQL's ssl-mode as Canal spells it, and the stores that
// belong to it.
func (r *reader) sourceTLS(prefix string) (c *tls.Config, optional bool) {
	const disabled, preferred, required, authority, identity = "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"
	mode := r.choice(prefix+"sslMode", disabled, preferred, required, authority, identity)
	least, most, err := security.Versions(r.list(prefix + "tlsVersions"))
	if err != nil {
		r.blameErr(prefix+"tlsVersions", err)
	}
	if mode == disabled {
		return nil, false
	}
	var roots *x509.CertPool
	var own []tls.Certificate
	const trust, client = "trustCertificateKeyStore", "clientCertificateKeyStore"
	if kind, store := r.javaStore(prefix + trust); store != nil {
		if roots, err = security.Roots(kind, store, r.secret(prefix+trust+"Password").Reveal()); err != nil {
			r.blameErr(prefix+trust+"Url", err)
		}
	}
	if kind, store := r.javaStore(prefix + client); store != nil {
		pair, err := security.Pair(kind, store, nil, r.secret(prefix+client+"Password").Reveal())
		if err != nil {
			r.blameErr(prefix+client+"Url", err)
		}
		own = []tls.Certificate{pair}
	}
	check := map[string]security.Check{preferred: security.Nothing, required: security.Nothing, authority: security.Chain, identity: security.Name}[mode]
	c = security.Config(roots, own, check)
	if least != 0 {
		c.MinVersion, c.MaxVersion = least, most
	}
	return c, mode == preferred
}

// javaStore gives the kind and the bytes of a store, nil when there is none.
func (r *reader) javaStore(key string) (kind string, store []byte) {
	store = r.file(key + "Url")
	if kind = r.text(key + "Type"); kind == "" {
		kind = security.KindOf(store)
	}
	return kind, store
}

// zookeeperTLS reads canal.relay.zookeeper.tls.*, nil when none of them is set.
func (r *reader) zookeeperTLS() *tls.Config {
	const ca, certificate, key, name = "canal.relay.zookeeper.tls.ca", "canal.relay.zookeeper.tls.certificate", "canal.relay.zookeeper.tls.key", "canal.relay.zookeeper.tls.server.name"
	if r.text(ca)+r.text(certificate)+r.text(key)+r.text(name) == "" {
		return nil
	}
	var roots *x509.CertPool
	var own []tls.Certificate
	var err error
	if r.text(ca) != "system" {
		if roots, err = security.Roots(security.PEM, r.file(ca), ""); err != nil {
			r.blame(ca, "%v: name the file of the authorities that the servers' certificates are checked by, or system", err)
		}
	}
	if store := r.file(certificate); store != nil {
		pair, err := security.Pair(security.PEM, store, r.file(key), "")
		if err != nil {
			r.blameErr(certificate, err)
		}
		own = []tls.Certificate{pair}
	} else if r.text(key) != "" {
		r.blame(key, "it goes with %s: set both or none", certificate)
	}
	c := security.Config(roots, own, security.Name)
	c.ServerName = r.text(name)
	return c
}

// start reads where to begin without a stored position. A GTID set counts only
// with gtidon, an offset only with a file name: as in Canal.
func (r *reader) start(side string) binlog.Start {
	prefix := "canal.instance." + side + "."
	var s binlog.Start
	s.Journal = r.text(prefix + "journal.name")
	if offset, ok := r.optional(prefix+"position", 0, math.MaxInt64); ok && s.Journal != "" {
		s.Offset = uint64(offset)
	}
	if ms, ok := r.optional(prefix+"timestamp", 0, math.MaxInt64); ok && ms > 0 {
		s.Time = time.UnixMilli(ms)
	}
	key := prefix + "gtid"
	gtids := r.text(key)
	if _, err := binlog.ParseGTIDSet(gtids); err != nil {
		r.blameErr(key, err)
	}
	if r.boolean("canal.instance.gtidon") {
		s.GTIDs = gtids
	}
	return s
}
