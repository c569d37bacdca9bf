// Package refusal tells what a cluster refuses from what it cannot do now.
package refusal

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
)

// Is tells an answer that will not change from a cluster that is away.
func Is(err error) bool {
	var named *Error
	var nothing *login.Error
	if errors.As(err, &named) || errors.As(err, &nothing) {
		return true
	}
	var answer *kerr.Error
	if errors.As(err, &answer) {
		return !answer.Retriable
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &certificate) || errors.As(err, &authority)
}

// Error is a failure that says what to do.
type Error struct{ text string }

// Error is the text.
func (e *Error) Error() string { return e.text }

// Named makes one.
func Named(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Shut is err, or, where that is the alert by which a broker ended the TLS
// handshake, a failure that says so. With TLS 1.3 it comes behind the handshake.
func Shut(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // crypto/tls has no type for it
		return Named("the broker ends the TLS handshake (%v): does it want a certificate of the client, or another one?", op.Err)
	}
	return err
}
