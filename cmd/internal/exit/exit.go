// Package exit gives errors the exit code that a command ends with.
package exit

import "fmt"

// Exit codes.
const (
	CodeFailed = 1 // what was asked for did not work out
	CodeUsage  = 2 // the command line or the configuration files are wrong
)

// Error is an error that knows the exit code it means; without an Err everything has been said.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usage says that the command line or the configuration files are wrong.
func Usage(err error) error { return &Error{CodeUsage, err} }

// Failed says that what was asked for did not work out.
func Failed(err error) error { return &Error{CodeFailed, err} }
