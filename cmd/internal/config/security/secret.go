package security

import (
	"fmt"
	"log/slog"
	"regexp"
)

// Secret is a text that is never shown: every way of printing it gives ***.
type Secret string

// Hidden stands for a secret.
const Hidden = "***"

// String hides the secret.
func (s Secret) String() string { return Hidden }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return Hidden }

// Format hides the secret from every verb, %x included.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, Hidden) }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalText hides the secret from JSON and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Hidden + `"`), nil }

// Reveal gives the text, to those who log in with it.
func (s Secret) Reveal() string { return string(s) }

var (
	userInfo  = regexp.MustCompile(`(://[^/@\s:]*):[^/@\s]*@`)
	parameter = regexp.MustCompile(`(?i)([?&;][^=&;\s]*(?:passw|passwd|pwd|secret|token)[^=&;\s]*)=[^&;\s]*`)
)

// Masked is a text in which the passwords of URLs, as user:password@ or as
// parameters, are hidden.
func Masked(text string) string {
	text = userInfo.ReplaceAllString(text, "$1:"+Hidden+"@")
	return parameter.ReplaceAllString(text, "$1="+Hidden)
}
