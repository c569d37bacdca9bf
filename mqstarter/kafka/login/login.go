package login

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The mechanisms.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
	Bearer      = "OAUTHBEARER"
	Kerberos5   = "GSSAPI"
)

// Mechanisms lists all of them.
var Mechanisms = []string{Plain, ScramSHA256, ScramSHA512, Bearer, Kerberos5}

// Config is how the client says who it is.
type Config struct {
	Mechanism      string // one of Mechanisms; empty for none
	User, Password string // of Plain and the Scrams

	// Again, if set, is asked for both before each login, so that a changed password
	// is used without a restart.
	Again func() (user, password string, err error)

	Token    TokenSource // of Bearer
	Kerberos Kerberos    // of Kerberos5
}

// Error says why there is nothing to log in with: a file that cannot be read, a
// server that gives no token or ticket.
type Error struct{ Err error }

// Error tells it.
func (e *Error) Error() string { return "there is nothing to log in with: " + e.Err.Error() }

// Unwrap gives what went wrong.
func (e *Error) Unwrap() error { return e.Err }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}

// TokenSource gives the token of one login.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Validate reports what in c cannot work, without asking anybody.
func (c *Config) Validate() error {
	switch {
	case c.Mechanism == "":
		return nil
	case !slices.Contains(Mechanisms, c.Mechanism):
		return fmt.Errorf("SASL mechanism %q: choose %s", c.Mechanism, strings.Join(Mechanisms, ", "))
	case c.Mechanism == Bearer && c.Token == nil:
		return errors.New("SASL mechanism OAUTHBEARER: there is nothing to get a token from")
	case c.Mechanism == Kerberos5:
		return c.Kerberos.validate()
	}
	return nil
}

// Build returns franz-go's mechanism, nil for none. It does no I/O. A mechanism
// that is a sasl.ClosingMechanism belongs to one client, which closes it.
func (c *Config) Build() (sasl.Mechanism, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ask := c.Again
	if ask == nil {
		ask = func() (string, string, error) { return c.User, c.Password, nil }
	}
	scrammed := func(context.Context) (scram.Auth, error) {
		user, password, err := ask()
		return scram.Auth{User: user, Pass: password}, wrap(err)
	}
	switch c.Mechanism {
	case Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := ask()
			return plain.Auth{User: user, Pass: password}, wrap(err)
		}), nil
	case ScramSHA256:
		return scram.Sha256(scrammed), nil
	case ScramSHA512:
		return scram.Sha512(scrammed), nil
	case Bearer:
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := c.Token.Token(ctx)
			return oauth.Auth{Token: token}, wrap(err)
		}), nil
	case Kerberos5:
		return &gssapi{c: c.Kerberos}, nil
	}
	return nil, nil
}
