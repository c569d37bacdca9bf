package config

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"
)

// TestDruidPassword: a password encrypted with Druid's tools, which use the
// private key of a pair, in its own key and in a file.
func TestDruidPassword(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block := append([]byte{0, 1}, []byte(strings.Repeat("\xff", key.Size()-9))...)
	block = append(block, "\x00s3cret"...)
	sealed := base64.StdEncoding.EncodeToString(new(big.Int).Exp(new(big.Int).SetBytes(block), key.D, key.N).FillBytes(block))
	c := newConf(t)
	c.write("db.secret", sealed+"\n")
	c.instance = append(c.instance, "canal.instance.enableDruid = true", "canal.instance.pwdPublicKey = "+base64.StdEncoding.EncodeToString(der))
	in := *c
	in.instance = append(in.instance[:len(in.instance):len(in.instance)], "canal.instance.dbPassword = "+sealed)
	if got := in.mustLoad().Instances[0].Source.Password; got != "s3cret" {
		t.Errorf("password %q", got)
	}
	c.instance = append(c.instance, "canal.relay.secret.canal.instance.dbPassword.file = db.secret")
	source := c.mustLoad().Instances[0].Source
	if again, err := source.Secret(); err != nil || again != "s3cret" || source.Password != "s3cret" {
		t.Errorf("password %q, again %q, %v", source.Password, again, err)
	}
	c.instance = append(c.instance, "canal.instance.pwdPublicKey = retl")
	if got := strings.Join(c.problems(), ""); !strings.Contains(got, "canal.instance.dbPassword: the public key is not an RSA key") || strings.Contains(got, sealed) {
		t.Errorf("problems %q", got)
	}
}
