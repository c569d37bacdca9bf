package source

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
)

// ErrDenied says that the source does not let the account in, or does not let
// it do what a stream needs.
var ErrDenied = errors.New("the source denies access")

// ErrAway says that the source could not be reached; it may be back later.
var ErrAway = errors.New("the source cannot be reached")

// ErrStart says that a stream cannot start at the position asked for.
var ErrStart = errors.New("the stream cannot start at this position")

// Errors of the servers, by what they mean here:
// https://dev.mysql.com/doc/mysql-errors/9.4/en/server-error-reference.html
var (
	// The account cannot log in: unknown or wrong password, host, locked, expired.
	loginDenied = []uint16{1045, 1130, 1524, 1698, 1820, 1862, 3118, 3159, 3955, 4151}
	// A privilege is missing: of a database, a table, all. 1045 once logged in is
	// MySQL's answer to COM_REGISTER_SLAVE.
	rightDenied = []uint16{1044, 1045, 1142, 1227}
	// The server is on its way down, up, or full.
	busy = []uint16{1040, 1053, 1129, 1203, 1226, 1927, 3168}
)

// Refused reports whether a source said that the account lacks a privilege.
func Refused(err error) bool {
	var se *wire.SourceError
	return errors.As(err, &se) && !errors.Is(err, ErrDenied) && slices.Contains(rightDenied, se.Code)
}

// Busy reports whether a source may answer the same later.
func Busy(e *wire.SourceError) bool { return slices.Contains(busy, e.Code) }

// advise adds what to do to the error of a connection that was not made.
func (c *Config) advise(err error) error {
	var se *wire.SourceError
	var op *net.OpError
	switch {
	case errors.As(err, &se) && slices.Contains(loginDenied, se.Code):
		return fmt.Errorf("%w: %w: correct canal.instance.dbUsername or canal.instance.dbPassword, or have an administrator change the account", ErrDenied, err)
	case errors.As(err, &op), // of a name that is not known, too
		errors.Is(err, mysql.ErrBadConn): // taken and ended, as before a server that is not there
		return fmt.Errorf("%w: %w: is a server running there? canal.instance.master.address names it", ErrAway, err)
	}
	return err
}
