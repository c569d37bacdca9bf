// Package security reads who a client is and how a connection is kept private:
// login modules, certificates and keys in PEM, PKCS #12 or Java key stores.
package security

import (
	"errors"
	"regexp"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
)

var jaasOption = regexp.MustCompile(`(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)`)

// ParseJAAS reads user and password of a login module line. The errors do not
// show the text.
func ParseJAAS(text string) (user, password string, err error) {
	module, _, _ := strings.Cut(properties.Trim(text), " ")
	if module == "" {
		return "", "", errors.New(`it is missing: set org.apache.kafka.common.security.scram.ScramLoginModule required username="…" password="…";`)
	}
	if !strings.HasSuffix(module, "PlainLoginModule") && !strings.HasSuffix(module, "ScramLoginModule") {
		return "", "", errors.New("only PlainLoginModule and ScramLoginModule are available")
	}
	for _, m := range jaasOption.FindAllStringSubmatch(text, -1) {
		v := m[2]
		if v[0] == '"' || v[0] == '\'' {
			v = unquote(v[1 : len(v)-1])
		}
		switch m[1] {
		case "username":
			user = v
		case "password":
			password = v
		}
	}
	if user == "" || password == "" {
		return "", "", errors.New(`it lacks username="…" or password="…"`)
	}
	return user, password, nil
}

func unquote(v string) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) {
			i++
		}
		b.WriteByte(v[i])
	}
	return b.String()
}
