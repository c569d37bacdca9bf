package security

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"math/big"
)

// DecryptDruid gives the password that Druid's ConfigTools has encrypted with
// the private key of a pair: base64 of PKCS #1 v1.5 in block type 1, as a
// signature has it, but around the text itself. publicKey is base64 of the X.509
// form. Keys may be as short as Druid's own of 512 bits. The errors show neither.
func DecryptDruid(publicKey, text string) (string, error) {
	der, err := base64.StdEncoding.DecodeString(publicKey)
	if err != nil {
		return "", errors.New("the public key is not base64")
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*rsa.PublicKey)
	if err != nil || !ok {
		return "", errors.New("the public key is not an RSA key in X.509 form")
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", errors.New("the password is not base64, as an encrypted one is")
	}
	var plain []byte
	for size := key.Size(); len(sealed) > 0; sealed = sealed[size:] {
		if len(sealed) < size {
			return "", errors.New("the password is no multiple of the key's size")
		}
		block := new(big.Int).Exp(new(big.Int).SetBytes(sealed[:size]), big.NewInt(int64(key.E)), key.N).FillBytes(make([]byte, size))
		body, ok := bytes.CutPrefix(block, []byte{0, 1})
		rest := bytes.TrimLeft(body, "\xff")
		if !ok || len(body)-len(rest) < 8 || len(rest) == 0 || rest[0] != 0 {
			return "", errors.New("the password was not encrypted with the key that belongs to this public key")
		}
		plain = append(plain, rest[1:]...)
	}
	return string(plain), nil
}
