package login

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// TokenFile is a file that holds a token, which something else keeps fresh.
type TokenFile string

// Token reads it.
func (f TokenFile) Token(context.Context) (string, error) {
	b, err := os.ReadFile(string(f))
	return strings.TrimSpace(string(b)), err
}

// Unsecured makes tokens that nobody signed, which brokers take in tests only:
// https://datatracker.ietf.org/doc/html/rfc7519#section-6
type Unsecured struct {
	Claims   map[string]any // but for iat and exp
	Lifetime time.Duration
}

// Token makes one.
func (u Unsecured) Token(context.Context) (string, error) {
	now := time.Now()
	claims := map[string]any{"iat": float64(now.UnixMilli()) / 1000, "exp": float64(now.Add(u.Lifetime).UnixMilli()) / 1000}
	for k, v := range u.Claims {
		claims[k] = v
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(body) + ".", nil
}

const (
	tokenTimeout = 10 * time.Second
	maxAnswer    = 1 << 20 // bytes
)

// Credentials gets tokens from a server by the client credentials grant:
// https://datatracker.ietf.org/doc/html/rfc6749#section-4.4
// A token is used again for four fifths of its life.
type Credentials struct {
	URL, ID, Secret, Scope string
	Encode                 bool        // ID and Secret for the header, as RFC 6749 §2.3.1; Java's clients do not unless told
	TLS                    *tls.Config // nil: the system's authorities

	mu    sync.Mutex
	token string
	until time.Time
}

// Token gives one that lives. The errors show no secret.
func (c *Credentials) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.token, nil
	}
	token, life, err := c.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", host(c.URL), err)
	}
	c.token, c.until = token, time.Now().Add(life*4/5)
	return token, nil
}

func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return "the token endpoint"
}

func (c *Credentials) ask(ctx context.Context) (token string, life time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if c.Scope != "" {
		form.Set("scope", c.Scope)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("it is not a URL")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	if id, secret := c.ID, c.Secret; c.Encode {
		request.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	} else {
		request.SetBasicAuth(id, secret)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return "", 0, err
	}
	defer response.Body.Close()
	var answer struct {
		Token string  `json:"access_token"`
		Life  float64 `json:"expires_in"` // seconds
		Error string  `json:"error"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch parse := json.Unmarshal(body, &answer); {
	case err != nil:
		return "", 0, err
	case response.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("it answers %s %s", response.Status, answer.Error)
	case parse != nil || answer.Token == "":
		return "", 0, errors.New("its answer has no access_token")
	}
	return answer.Token, time.Duration(answer.Life * float64(time.Second)), nil
}
