// Package login says to brokers who a client is, by SASL.
package login
