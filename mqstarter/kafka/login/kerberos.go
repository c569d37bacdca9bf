package login

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

// Kerberos is how a ticket is got. The files are read when the client first
// logs in, and again after a failure.
type Kerberos struct {
	Config    string // path of krb5.conf
	Service   string // first part of the brokers' principals: kafka
	Principal string // name@REALM, or name for the default realm; not needed with Cache

	// One of the two:
	Keytab string // path of the principal's keys
	Cache  string // path of tickets that something else keeps fresh
}

func (k *Kerberos) validate() error {
	switch {
	case k.Config == "" || k.Service == "":
		return errors.New("Kerberos needs a krb5.conf and the name of the brokers' service")
	case k.Keytab == "" && k.Cache == "":
		return errors.New("Kerberos needs a keytab or a ticket cache")
	case k.Keytab != "" && k.Principal == "":
		return errors.New("Kerberos needs the principal whose keys stand in the keytab")
	}
	return nil
}

// open reads the files. It asks nobody.
func (k *Kerberos) open() (*client.Client, error) {
	conf, err := config.Load(k.Config)
	if err != nil && !errors.As(err, new(config.UnsupportedDirective)) {
		return nil, fmt.Errorf("read %s: %w", k.Config, err)
	}
	if k.Keytab == "" {
		cache, err := credentials.LoadCCache(k.Cache)
		if err != nil {
			return nil, fmt.Errorf("read ticket cache %s: %w", k.Cache, err)
		}
		return client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true))
	}
	keys, err := keytab.Load(k.Keytab)
	if err != nil {
		return nil, fmt.Errorf("read keytab %s: %w", k.Keytab, err)
	}
	name, realm, ok := strings.Cut(k.Principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	return client.NewWithKeytab(name, realm, keys, conf, client.DisablePAFXFAST(true)), nil
}

// gssapi is the mechanism of one Kafka client.
type gssapi struct {
	c Kerberos

	mu     sync.Mutex
	client *client.Client // nil before the first login and after a failed one
}

// Name is that of the mechanism.
func (*gssapi) Name() string { return Kerberos5 }

// Authenticate begins a login at a broker. The Kerberos library does not know
// contexts: what it waits for when ctx ends comes to its own end within seconds.
func (g *gssapi) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	type result struct {
		session sasl.Session
		first   []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.session, r.first, r.err = g.begin(ctx, host)
		done <- r
	}()
	select {
	case r := <-done:
		return r.session, r.first, r.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (g *gssapi) begin(ctx context.Context, host string) (_ sasl.Session, _ []byte, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client == nil {
		if g.client, err = g.c.open(); err != nil {
			return nil, nil, wrap(err)
		}
	}
	session, first, err := kerberos.Auth{Client: g.client, Service: g.c.Service}.AsMechanism().Authenticate(ctx, host)
	if err != nil {
		g.drop()
		return nil, nil, wrap(fmt.Errorf("get a Kerberos ticket for %s: %w", g.c.Service, err))
	}
	return session, first, nil
}

func (g *gssapi) drop() {
	if g.client != nil {
		g.client.Destroy()
		g.client = nil
	}
}

// Close lets go of the tickets.
func (g *gssapi) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop()
}
