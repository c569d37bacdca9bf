package mq

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
)

const (
	jaasConfig = "kafka.sasl.jaas.config"
	jaasFile   = "kafka.kerberos.jaas.file"
	krb5File   = "kafka.kerberos.krb5.file"
	kerberosOn = "kafka.kerberos.enable"
)

// security reads who the client is and how the connection is kept private.
func (r *reader) security(c *kafka.Config) {
	const protocol = "kafka.security.protocol"
	p := r.Choice(protocol, "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
	if r.Boolean(kerberosOn) {
		const forced = "SASL_PLAINTEXT"
		if set := r.Server(protocol).Value; set != "" && p != forced {
			r.Blame(protocol, "%s: with %s=true it is %s, as in Canal; for Kerberos over TLS take that key away and set kafka.sasl.mechanism=GSSAPI", p, kerberosOn, forced)
		}
		p = forced
	}
	if strings.HasSuffix(p, "SSL") {
		c.TLS = r.tlsConfig()
	}
	if strings.HasPrefix(p, "SASL") {
		c.SASL = r.sasl(c.TLS)
	}
}

func (r *reader) sasl(private *tls.Config) login.Config {
	const mechanism = "kafka.sasl.mechanism"
	c := login.Config{Mechanism: login.Kerberos5}
	if !r.Boolean(kerberosOn) || r.Server(mechanism).Value != "" {
		c.Mechanism = r.Choice(mechanism, login.Mechanisms...)
	}
	key, l, err := r.login()
	if err != nil {
		r.BlameErr(key, err)
		return c
	}
	switch c.Mechanism {
	case login.Kerberos5:
		err = r.kerberos(&c.Kerberos, l)
	case login.Bearer:
		c.Token, err = r.token(l, private)
	default:
		c.User, c.Password, err = userOf(l)
		if again := r.SecretAgain(jaasConfig); again != nil {
			c.Again = func() (user, password string, err error) {
				text, err := again()
				if err != nil {
					return "", "", err
				}
				l, err := security.ParseLogin(text)
				if err != nil {
					return "", "", err
				}
				return userOf(l)
			}
		}
	}
	if err != nil {
		r.BlameErr(key, err)
	}
	return c
}

// login finds the login module, and the key that it stands under: the text, or
// the section of Java's clients in the file.
func (r *reader) login() (key string, l security.Login, err error) {
	text := r.Secret(jaasConfig).Reveal()
	if text == "" && (r.Boolean(kerberosOn) || r.Server(jaasFile).Value != "") {
		b, err := r.ReadFile(r.besideBin(r.Text(jaasFile)))
		if err != nil {
			return jaasFile, l, fmt.Errorf("%w: make the file readable for this user, or set %s", err, jaasConfig)
		}
		l, err = security.ParseLoginFile(string(b), "KafkaClient")
		return jaasFile, l, err
	}
	if text == "" {
		return jaasConfig, l, fmt.Errorf(`it is missing: set org.apache.kafka.common.security.scram.ScramLoginModule required username="…" password="…"; or the login module of another mechanism`)
	}
	l, err = security.ParseLogin(text)
	return jaasConfig, l, err
}

func wrongModule(l security.Login, want string) error {
	return fmt.Errorf("its login module is %s, the mechanism wants %s", l.Module, want)
}

func userOf(l security.Login) (user, password string, err error) {
	if !l.Is("PlainLoginModule") && !l.Is("ScramLoginModule") {
		return "", "", wrongModule(l, "PlainLoginModule or ScramLoginModule")
	}
	user, password = l.Options["username"], l.Options["password"]
	if user == "" || password == "" {
		err = fmt.Errorf(`it lacks username="…" or password="…"`)
	}
	return user, password, err
}

// kerberos reads the options of Java's login module:
// https://docs.oracle.com/en/java/javase/17/docs/api/jdk.security.auth/com/sun/security/auth/module/Krb5LoginModule.html
func (r *reader) kerberos(k *login.Kerberos, l security.Login) error {
	const service = "kafka.sasl.kerberos.service.name"
	if !l.Is("Krb5LoginModule") {
		return wrongModule(l, "Krb5LoginModule")
	}
	k.Principal = l.Options["principal"]
	if k.Service = r.Text(service); k.Service == "" {
		k.Service = l.Options["serviceName"]
	}
	if k.Service == "" && r.Boolean(kerberosOn) {
		k.Service = "kafka"
	}
	if k.Service == "" {
		r.Blame(service, "it is missing: set the first part of the brokers' principals, as kafka")
	}
	k.Config = r.krb5()
	switch {
	case l.On("useKeyTab") && l.Options["keyTab"] != "" && k.Principal != "":
		k.Keytab = r.besideBin(strings.TrimPrefix(l.Options["keyTab"], "file:"))
	case l.On("useKeyTab"):
		return fmt.Errorf(`with useKeyTab=true it must have keyTab="…" and principal="…"`)
	case l.On("useTicketCache"):
		k.Cache = r.ticketCache(l.Options["ticketCache"])
	default:
		return fmt.Errorf("it must have useKeyTab=true or useTicketCache=true: nobody is there to be asked for a password")
	}
	return nil
}

// krb5 finds the file that says where the realms' servers are.
func (r *reader) krb5() string {
	path := r.besideBin(r.Text(krb5File))
	if !r.Boolean(kerberosOn) && r.Server(krb5File).Value == "" {
		path = "/etc/krb5.conf"
		if env, ok := r.Env("KRB5_CONFIG"); ok && env != "" {
			path = env
		}
	}
	if _, err := os.Stat(path); err != nil {
		r.Blame(krb5File, "%v: name a krb5.conf that is readable for this user", err)
	}
	return path
}

func (r *reader) ticketCache(path string) string {
	if path == "" {
		path, _ = r.Env("KRB5CCNAME")
	}
	if path == "" {
		return filepath.Join(os.TempDir(), "krb5cc_"+strconv.Itoa(os.Getuid()))
	}
	return r.besideBin(strings.TrimPrefix(path, "FILE:"))
}

// besideBin finds a file of Canal, which runs in bin beside the directory of the
// configuration: ../conf is that directory, whatever ours is called.
func (r *reader) besideBin(path string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(filepath.Clean(path)), "../conf/"); ok {
		path = rest
	}
	return r.Path(path)
}

// token reads where the token of OAUTHBEARER comes from.
func (r *reader) token(l security.Login, private *tls.Config) (login.TokenSource, error) {
	const endpoint = "kafka.sasl.oauthbearer.token.endpoint.url"
	if !l.Is("OAuthBearerLoginModule") {
		return nil, wrongModule(l, "OAuthBearerLoginModule")
	}
	address := r.Text(endpoint)
	switch {
	case strings.HasPrefix(address, "file:"):
		return login.TokenFile(r.Path("/" + strings.TrimLeft(strings.TrimPrefix(address, "file:"), "/"))), nil
	case strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://"):
		const client = "kafka.sasl.oauthbearer.client.credentials.client."
		c := &login.Credentials{URL: address, ID: r.or(client+"id", l.Options["clientId"]), Secret: cmp.Or(r.Secret(client+"secret").Reveal(), l.Options["clientSecret"]),
			Scope: r.or("kafka.sasl.oauthbearer.scope", l.Options["scope"]), Encode: r.Boolean("kafka.sasl.oauthbearer.header.urlencode"), TLS: private}
		if c.ID == "" || c.Secret == "" {
			return c, fmt.Errorf(`it lacks clientId="…" or clientSecret="…", and kafka.sasl.oauthbearer.client.credentials.* is not set`)
		}
		return c, nil
	case address != "":
		r.Blame(endpoint, "it is no URL of a server or of a file: write https://… or file:///…")
	}
	return unsecured(l)
}

// or reads a setting, and takes the login module's option where it is blank.
func (r *reader) or(key, option string) string { return cmp.Or(r.Text(key), option) }

// unsecured reads the options of tokens that nobody signs:
// https://kafka.apache.org/documentation/#security_sasl_oauthbearer
func unsecured(l security.Login) (login.TokenSource, error) {
	u := login.Unsecured{Claims: map[string]any{}, Lifetime: time.Hour}
	for name, value := range l.Options {
		if claim, ok := strings.CutPrefix(name, "unsecuredLoginStringClaim_"); ok {
			u.Claims[claim] = value
		}
		if claim, ok := strings.CutPrefix(name, "unsecuredLoginListClaim_"); ok && len(value) > 1 {
			u.Claims[claim] = strings.Split(value[1:], value[:1]) // the first character is what separates
		}
		if claim, ok := strings.CutPrefix(name, "unsecuredLoginNumberClaim_"); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return u, fmt.Errorf("option %s is no number", name)
			}
			u.Claims[claim] = n
		}
	}
	if text := l.Options["unsecuredLoginLifetimeSeconds"]; text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds < 1 {
			return u, fmt.Errorf("option unsecuredLoginLifetimeSeconds is no number of seconds")
		}
		u.Lifetime = time.Duration(seconds) * time.Second
	}
	if len(u.Claims) == 0 {
		return u, fmt.Errorf("it says nothing of a token: set kafka.sasl.oauthbearer.token.endpoint.url with clientId and clientSecret, or unsecuredLoginStringClaim_sub for a broker that tests")
	}
	return u, nil
}

// limits reads what of the Kafka client's limits has an equal.
func (r *reader) limits(c *kafka.Config) {
	millis := func(key string) time.Duration {
		n, _ := r.Optional(key, 1, math.MaxInt32)
		return time.Duration(n) * time.Millisecond
	}
	c.RequestTimeout = millis("kafka.request.timeout.ms")
	c.DialTimeout = millis("kafka.socket.connection.setup.timeout.ms")
	c.IdleTimeout = millis("kafka.connections.max.idle.ms")
	c.MetadataMaxAge = millis("kafka.metadata.max.age.ms")
	c.RetryPause = millis("kafka.retry.backoff.ms")
	c.RetryPauseMax = millis("kafka.retry.backoff.max.ms")
	lowest := map[string]int64{"gzip": 1, "lz4": 1, "zstd": 1}
	highest := map[string]int64{"gzip": 9, "lz4": 17, "zstd": 22}
	for codec := range lowest {
		if n, ok := r.Optional("kafka.compression."+codec+".level", lowest[codec], highest[codec]); ok && codec == c.Compression {
			c.Level = int(n)
		}
	}
}
