package login

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t *testing.T, c Config) sasl.Mechanism {
	t.Helper()
	m, err := c.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBearer: a token is fetched once for as long as it lives, and is what the
// broker gets.
func TestBearer(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		id, secret, _ := r.BasicAuth()
		if id != "relay" || secret != "s3+cret" && !(secret == "s3%2Bcret" && r.URL.Path == "/encoded") || secret == "s3+cret" && r.URL.Path == "/encoded" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"t0ken","expires_in":300}`))
	}))
	defer server.Close()
	m := build(t, Config{Mechanism: Bearer, Token: &Credentials{URL: server.URL + "/token", ID: "relay", Secret: "s3+cret", Scope: "kafka"}})
	for range 3 {
		_, first, err := m.Authenticate(t.Context(), "b1:9092")
		if err != nil || !strings.Contains(string(first), "auth=Bearer t0ken\x01") {
			t.Errorf("%q, %v", first, err)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	m = build(t, Config{Mechanism: Bearer, Token: &Credentials{URL: server.URL + "/encoded", ID: "relay", Secret: "s3+cret", Scope: "kafka", Encode: true}})
	if _, first, err := m.Authenticate(t.Context(), "b1:9092"); err != nil || !strings.Contains(string(first), "auth=Bearer t0ken\x01") {
		t.Errorf("encoded: %q, %v", first, err)
	}
	m = build(t, Config{Mechanism: Bearer, Token: &Credentials{URL: server.URL, ID: "relay", Secret: "wr0ng", Scope: "kafka"}})
	_, _, err := m.Authenticate(t.Context(), "b1:9092")
	var nothing *Error
	if !errors.As(err, &nothing) || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("a refused client: %v", err)
	}
}

func TestUnsecuredToken(t *testing.T) {
	token, err := Unsecured{Claims: map[string]any{"sub": "relay"}, Lifetime: time.Hour}.Token(t.Context())
	parts := strings.Split(token, ".")
	if err != nil || len(parts) != 3 || parts[2] != "" {
		t.Fatalf("%q, %v", token, err)
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Sub      string
		Iat, Exp float64
	}
	if err != nil || json.Unmarshal(body, &claims) != nil || claims.Sub != "relay" || claims.Exp-claims.Iat != 3600 {
		t.Errorf("%s: %+v, %v", body, claims, err)
	}
}

// TestNothingToLogInWith: what is missing is named when it is looked for, with
// its path and without a secret.
func TestNothingToLogInWith(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "krb5.conf")
	if err := os.WriteFile(conf, []byte("[libdefaults]\n default_realm = EXAMPLE.ORG\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"no-token":  {Mechanism: Bearer, Token: TokenFile(filepath.Join(dir, "no-token"))},
		"no-conf":   {Mechanism: Kerberos5, Kerberos: Kerberos{Config: filepath.Join(dir, "no-conf"), Service: "kafka", Principal: "a", Keytab: "k"}},
		"no-keytab": {Mechanism: Kerberos5, Kerberos: Kerberos{Config: conf, Service: "kafka", Principal: "a", Keytab: filepath.Join(dir, "no-keytab")}},
		"no-cache":  {Mechanism: Kerberos5, Kerberos: Kerberos{Config: conf, Service: "kafka", Cache: filepath.Join(dir, "no-cache")}},
		"no secret": {Mechanism: Plain, Again: func() (string, string, error) { return "", "", errors.New("no secret") }},
	} {
		m := build(t, c)
		_, _, err := m.Authenticate(t.Context(), "b1:9092")
		var nothing *Error
		if !errors.As(err, &nothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if m, ok := m.(sasl.ClosingMechanism); ok {
			m.Close()
		}
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		`SASL mechanism "NTLM"`: {Mechanism: "NTLM"},
		"get a token from":      {Mechanism: Bearer},
		"krb5.conf":             {Mechanism: Kerberos5},
		"keytab":                {Mechanism: Kerberos5, Kerberos: Kerberos{Config: "x", Service: "kafka"}},
		"principal":             {Mechanism: Kerberos5, Kerberos: Kerberos{Config: "x", Service: "kafka", Keytab: "k"}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (&Config{}).Validate(); err != nil {
		t.Error(err)
	}
}
