package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachCommand calls f for the command and all below it that are ours.
func eachCommand(f func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		f(c)
		for _, sub := range c.Commands() {
			if name := sub.Name(); name != "help" && name != "completion" {
				walk(sub)
			}
		}
	}
	walk(commands(&program{env: func(string) (string, bool) { return "", false }, stdout: io.Discard, stderr: io.Discard}))
}

// TestHelp: every command says what it is for and has an example, every flag is described, and a destination is completed.
func TestHelp(t *testing.T) {
	n := 0
	eachCommand(func(c *cobra.Command) {
		n++
		path := c.CommandPath()
		if c.Short == "" || c.Short[0] < 'A' || c.Short[0] > 'Z' || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %q is no headline", path, c.Short)
		}
		if c.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  "+path+" ") {
				t.Errorf("%s: an example is %q", path, line)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimRight(line, "\n")) > 90 {
				t.Errorf("%s: a line is too long for a terminal: %q", path, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s is not described", path, f.Name)
			}
			if _, completed := c.GetFlagCompletionFunc(f.Name); !completed && (f.Name == "destination" || f.Name == "output" || f.Name == "isolation") {
				t.Errorf("%s: --%s is not completed", path, f.Name)
			}
		})
	})
	if n < 15 {
		t.Errorf("%d commands", n)
	}
}

// words splits an example as a shell does, up to where its output goes.
func words(line string) (all []string) {
	var word strings.Builder
	var quote rune
	inside := false
	for _, c := range strings.TrimSpace(line) + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c != ' ':
			word.WriteRune(c)
			inside = true
		case inside:
			if word.String() == ">" {
				return all
			}
			all = append(all, word.String())
			word.Reset()
			inside = false
		}
	}
	return all
}

// examples lists those of every command as arguments. The folders and files that they name are replaced.
func examples(conf, binlog string) (all [][]string) {
	eachCommand(func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			args := words(line)[1:]
			for i, arg := range args {
				switch {
				case arg == "conf" || arg == "/etc/canal-relay":
					args[i] = conf
				case i > 0 && args[i-1] == "--binlog":
					args[i] = binlog
				}
			}
			all = append(all, args)
		}
	})
	return all
}

// TestExamples runs every example in the help once, without servers: each is a command line that is understood, so that what
// fails is what it asks of a server.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "canal.properties"), "canal.serverMode = kafka\ncanal.destinations = example\ncanal.register.ip = 192.0.2.1\nkafka.bootstrap.servers = 127.0.0.1:1\n"+
		"canal.metrics.pull.port = 0\ncanal.relay.delivery = exactly-once\ncanal.zkServers = 127.0.0.1:1\n")
	writeFile(t, filepath.Join(dir, "example", "instance.properties"), "canal.instance.master.address = 127.0.0.1:1\ncanal.mq.topic = t\ncanal.mq.partitionHash = .*\\\\..*:id^name\n")
	for _, args := range examples(dir, "testdata/golden/25-partition-pk/mysql.binlog") {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			var out, errs bytes.Buffer
			if code := run(ctx, args, func(string) (string, bool) { return "", false }, &out, &errs); code == exitUsage {
				t.Errorf("exit %d: %s", code, &errs)
			}
		})
	}
}
