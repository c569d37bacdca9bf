// Package refusal tells what a cluster refuses from what it cannot do now.
package refusal

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"

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

// Again is an error that another term may not meet: what readers have must be
// read anew.
type Again struct{ Err error }

// Error is the text.
func (a Again) Error() string { return a.Err.Error() }

// Unwrap is the error.
func (a Again) Unwrap() error { return a.Err }

// Again reports that the next term may begin in the same ownership.
func (Again) Again() bool { return true }

// lasting are answers to a record that another term would get as well.
var lasting = []error{
	kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.PolicyViolation, kerr.InvalidTopicException,
	kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.SaslAuthenticationFailed,
	kerr.InvalidTransactionTimeout, kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType, kerr.InvalidRequiredAcks,
}

// Lasts tells what another term would be refused as well, or what says what to
// do.
func Lasts(err error) bool {
	var named *Error
	return errors.As(err, &named) || slices.ContainsFunc(lasting, func(e error) bool { return errors.Is(err, e) })
}

// Shut is err, or, where that is the alert by which a broker ended the TLS
// handshake, a failure that says so. With TLS 1.3 it comes behind the handshake.
func Shut(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // crypto/tls has no type for it
		return Named("the broker ends the TLS handshake (%v): does it want a certificate of the client, or another one?", op.Err)
	}
	return err
}
