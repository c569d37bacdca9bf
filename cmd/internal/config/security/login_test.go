package security

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLogin(t *testing.T) {
	for text, want := range map[string]Login{
		`org.apache.kafka.common.security.scram.ScramLoginModule required username="re\"lay" password='p;=}"' ;`: {
			"org.apache.kafka.common.security.scram.ScramLoginModule", map[string]string{"username": `re"lay`, "password": `p;=}"`}},
		"PlainLoginModule REQUIRED\n\tusername = u password=p1;":                              {"PlainLoginModule", map[string]string{"username": "u", "password": "p1"}},
		`a.OAuthBearerLoginModule required;`:                                                  {"a.OAuthBearerLoginModule", map[string]string{}},
		`OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x" scope="";`:         {"OAuthBearerLoginModule", map[string]string{"unsecuredLoginStringClaim_sub": "x", "scope": ""}},
		`com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true /* why */ a=b;`: {"com.sun.security.auth.module.Krb5LoginModule", map[string]string{"useKeyTab": "true", "a": "b"}},
	} {
		got, err := ParseLogin(text)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `;`, `X`, `X required`, `X required a`, `X required a=;`, `X required a="s3cret`, `X required a="b"`, `X a="b";`, `X required a="b"; Y required;`, `X required ="b";`} {
		if got, err := ParseLogin(text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestParseLoginFile(t *testing.T) {
	const file = `// comment
Other { a.B required x=y; };
/* KafkaClient { no.No required; }; */
# a third kind
KafkaClient {
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true
  keyTab="/etc/security/relay.keytab"
  principal="relay/host@EXAMPLE.ORG";
  second.Module optional;
};
`
	l, err := ParseLoginFile(file, "KafkaClient")
	if err != nil || !l.Is("Krb5LoginModule") || !l.On("useKeyTab") || l.Options["keyTab"] != "/etc/security/relay.keytab" || l.Options["principal"] != "relay/host@EXAMPLE.ORG" {
		t.Errorf("%+v, %v", l, err)
	}
	for text, want := range map[string]string{
		"Other { a.B required; };":        "no section KafkaClient",
		"KafkaClient { a.B required; }":   "does not end with };",
		"KafkaClient { a.B required x };": "section KafkaClient: the options",
		"KafkaClient a.B required;":       "does not begin",
		"KafkaClient {":                   "class of a login module is missing",
	} {
		if _, err := ParseLoginFile(text, "KafkaClient"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseLogin(f *testing.F) {
	f.Add(`A { b.C required d="e" f='g'; /* h */ }; // i`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = ParseLogin(text)
		_, _ = ParseLoginFile(text, "A")
	})
}

// seal encrypts as Druid's ConfigTools does: with the private key.
func seal(t *testing.T, key *rsa.PrivateKey, text string) string {
	t.Helper()
	block := make([]byte, key.Size())
	block[1] = 1
	for i := 2; i < len(block)-len(text)-1; i++ {
		block[i] = 0xff
	}
	copy(block[len(block)-len(text):], text)
	return base64.StdEncoding.EncodeToString(new(big.Int).Exp(new(big.Int).SetBytes(block), key.D, key.N).FillBytes(block))
}

func TestDecryptDruid(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := base64.StdEncoding.EncodeToString(der)
	sealed := seal(t, key, "s3cret")
	if got, err := DecryptDruid(public, sealed); err != nil || got != "s3cret" {
		t.Errorf("%q, %v", got, err)
	}
	for want, in := range map[string][2]string{
		"the public key is not base64": {"retl!", sealed},
		"not an RSA key":               {"cmV0bA==", sealed},
		"the password is not base64":   {public, "s3cret?"},
		"multiple of the key's size":   {public, "c2VjcmV0"},
		"was not encrypted with":       {public, base64.StdEncoding.EncodeToString(make([]byte, key.Size()))},
	} {
		if got, err := DecryptDruid(in[0], in[1]); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
}
