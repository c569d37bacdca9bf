// Canal-relay reads the binlog of MySQL and MariaDB servers and writes every
// committed change, in order, to Kafka. It takes the place of Canal's
// serverMode=kafka: same configuration files, same ZooKeeper tree, same
// messages, same metric names.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // so that TIMESTAMP columns have their zone in an empty container

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "unknown"

// Exit codes.
const (
	exitFailed = 1 // what was asked for did not work out
	exitUsage  = 2 // the command line or the configuration files are wrong
)

// program is what every command shares.
type program struct {
	env            func(string) (string, bool) // environment variables
	stdout, stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs one command and returns the exit code.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	p := &program{env: env, stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:           "canal-relay",
		Short:         "MySQL and MariaDB binlogs to Kafka, one elected node for each destination",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	serve := p.serveCommand()
	root.AddCommand(serve, p.checkCommand(), p.tailCommand())
	root.RunE = serve.RunE // `serve` is the default
	root.Flags().AddFlagSet(serve.Flags())
	root.Args = cobra.NoArgs
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		coded = &exitError{code: exitUsage, err: err} // cobra's own: an unknown command or argument
	}
	if coded.err != nil {
		for line := range strings.Lines(coded.err.Error()) {
			fmt.Fprintf(stderr, "canal-relay: %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return coded.code
}

// exitError is an error that knows the exit code it means; without an err everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error  { return &exitError{exitUsage, err} }
func failed(err error) error { return &exitError{exitFailed, err} }
