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
	"sync"
	"syscall"
	_ "time/tzdata" // so that TIMESTAMP columns have their zone in an empty container

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/inforce"
	"github.com/canal-relay/canal-relay/cmd/internal/operate"
)

// version is set by the linker.
var version = "unknown"

// Exit codes.
const (
	exitFailed = exit.CodeFailed
	exitUsage  = exit.CodeUsage
)

// program is what every command shares.
type program struct {
	env            func(string) (string, bool) // environment variables
	stdout, stderr io.Writer
}

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs one command and returns the exit code.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	stderr = &oneAtATime{w: stderr}
	root := commands(&program{env: env, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var coded *exit.Error
	if !errors.As(err, &coded) {
		coded = &exit.Error{Code: exitUsage, Err: err} // cobra's own: an unknown command or argument
	}
	if coded.Err != nil {
		for line := range strings.Lines(coded.Err.Error()) {
			fmt.Fprintf(stderr, "canal-relay: %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return coded.Code
}

// commands is the command with all those below it.
func commands(p *program) *cobra.Command {
	serve := p.serveCommand()
	root := &cobra.Command{
		Use:           "canal-relay",
		Short:         "MySQL and MariaDB binlogs to Kafka, one elected node for each destination",
		Example:       "  canal-relay check --conf conf\n  canal-relay --conf conf",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          serve.RunE, // `serve` is the default
		Args:          cobra.NoArgs,
	}
	root.AddCommand(serve, p.checkCommand(), inforce.Command(p.env, p.stdout), p.tailCommand(), p.auditCommand())
	root.AddCommand(operate.Commands(&operate.Program{Env: p.env, Stdout: p.stdout, Stderr: p.stderr, ZooKeeper: zookeeperConfig})...)
	root.Flags().AddFlagSet(serve.Flags())
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	return root
}

// oneAtATime is stderr for loggers and commands, which write to it from goroutines of their own.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

func usage(err error) error  { return exit.Usage(err) }
func failed(err error) error { return exit.Failed(err) }
