// Package source reads what concerns the server that a destination reads.
package source

import (
	"crypto/tls"
	"crypto/x509"
	"math"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/identity"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
	"github.com/canal-relay/canal-relay/relay/binlog"
)

// reader reads what concerns the source.
type reader struct{ *reading.Reader }

// Source reads how the source of a destination is reached, and where to begin.
// cluster is the name of the set of nodes.
func Source(from *reading.Reader, cluster string) binlog.Config {
	r := &reader{from}
	c := binlog.Config{
		Fallback: r.Units("canal.instance.fallbackIntervalInSeconds", time.Second),
		Latest:   r.Boolean("canal.auto.reset.latest.pos.mode"),
		Start:    r.start("master"),
	}
	const password = "canal.instance.dbPassword"
	c.User = r.Text("canal.instance.dbUsername")
	c.Password, c.Secret = r.Secret(password).Reveal(), r.SecretAgain(password)
	if r.Boolean("canal.instance.enableDruid") {
		r.druid(password, &c)
	}
	c.Timeout = r.Units("canal.instance.network.soTimeout", time.Second)
	c.Formats = r.List("canal.instance.binlog.format")
	c.RowImages = r.List("canal.instance.binlog.image")
	if c.Timeout == 0 {
		r.Blame("canal.instance.network.soTimeout", "0 is no time for a statement: choose 1 or more seconds")
	}
	c.ServerID, c.ReplicaUUID = identity.Owner(cluster, r.Destination)
	if id := r.Number("canal.instance.mysql.slaveId", math.MinInt32, math.MaxUint32); id > 0 {
		c.ServerID = uint32(id)
	}
	master := r.server("master")
	c.Addr, c.TLS, c.TLSOptional = master.Addr, master.TLS, master.TLSOptional
	if c.Addr == "" {
		r.Blame("canal.instance.master.address", "it is missing: set the source as host:port")
	}
	if c.Standby = r.server("standby"); c.Standby.Addr != "" {
		c.StandbyStart = r.start("standby")
	}
	c.Detect = binlog.Detect{
		SQL:       r.Text("canal.instance.detecting.sql"),
		Every:     r.Units("canal.instance.detecting.interval.time", time.Second),
		Threshold: int(r.Number("canal.instance.detecting.retry.threshold", 0, math.MaxInt32)),
		Switch:    r.Boolean("canal.instance.detecting.heartbeatHaEnable"),
	}
	if !r.Boolean("canal.instance.detecting.enable") {
		c.Detect.SQL = ""
	}
	if c.Detect.Every == 0 {
		r.Blame("canal.instance.detecting.interval.time", "0 is no time between two questions: choose 1 or more seconds")
	}
	return c
}

// druid makes plain a password that was encrypted with Druid's tools.
func (r *reader) druid(key string, c *binlog.Config) {
	public := r.Text("canal.instance.pwdPublicKey")
	var err error
	if c.Password, err = security.DecryptDruid(public, c.Password); err != nil {
		r.Blame(key, "%v: with canal.instance.enableDruid=true it must be encrypted, and canal.instance.pwdPublicKey must be the public key", err)
	}
	if again := c.Secret; again != nil {
		c.Secret = func() (string, error) {
			text, err := again()
			if err != nil {
				return "", err
			}
			return security.DecryptDruid(public, text)
		}
	}
}

// server reads where a server of the pair is and how the connection to it is
// kept private.
func (r *reader) server(side string) (s binlog.Standby) {
	key := "canal.instance." + side + ".address"
	if s.Addr = r.Text(key); s.Addr != "" {
		if err := properties.CheckAddress(s.Addr); err != nil {
			r.BlameErr(key, err)
		}
	}
	s.TLS, s.TLSOptional = r.sourceTLS("canal.instance." + side + ".")
	return s
}

// sourceTLS reads MySQL's ssl-mode as Canal spells it, and the stores that
// belong to it.
func (r *reader) sourceTLS(prefix string) (c *tls.Config, optional bool) {
	const disabled, preferred, required, authority, identity = "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"
	mode := r.Choice(prefix+"sslMode", disabled, preferred, required, authority, identity)
	least, most, err := security.Versions(r.List(prefix + "tlsVersions"))
	if err != nil {
		r.BlameErr(prefix+"tlsVersions", err)
	}
	if mode == disabled {
		return nil, false
	}
	var roots *x509.CertPool
	var own []tls.Certificate
	const trust, client = "trustCertificateKeyStore", "clientCertificateKeyStore"
	if kind, store := r.javaStore(prefix + trust); store != nil {
		if roots, err = security.Roots(kind, store, r.Secret(prefix+trust+"Password").Reveal()); err != nil {
			r.BlameErr(prefix+trust+"Url", err)
		}
	}
	if kind, store := r.javaStore(prefix + client); store != nil {
		pair, err := security.Pair(kind, store, nil, r.Secret(prefix+client+"Password").Reveal(), "")
		if err != nil {
			r.BlameErr(prefix+client+"Url", err)
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
	store = r.File(key + "Url")
	if kind = r.Text(key + "Type"); kind == "" {
		kind = security.KindOf(store)
	}
	return kind, store
}

// start reads where to begin without a stored position. A GTID set counts only
// with gtidon, an offset only with a file name: as in Canal.
func (r *reader) start(side string) binlog.Start {
	prefix := "canal.instance." + side + "."
	var s binlog.Start
	s.Journal = r.Text(prefix + "journal.name")
	if offset, ok := r.Optional(prefix+"position", 0, math.MaxInt64); ok && s.Journal != "" {
		s.Offset = uint64(offset)
	}
	if ms, ok := r.Optional(prefix+"timestamp", 0, math.MaxInt64); ok && ms > 0 {
		s.Time = time.UnixMilli(ms)
	}
	key := prefix + "gtid"
	gtids := r.Text(key)
	if _, err := binlog.ParseGTIDSet(gtids); err != nil {
		r.BlameErr(key, err)
	}
	if r.Boolean("canal.instance.gtidon") {
		s.GTIDs = gtids
	}
	return s
}
