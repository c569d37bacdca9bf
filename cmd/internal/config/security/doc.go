// Package security reads who a client is and how a connection is kept private:
// login modules, certificates and keys in PEM, PKCS #12 or Java key stores.
package security
