package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// untouched is the address of a server that must not be called.
func untouched(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
		if n := calls.Load(); n > 0 {
			t.Errorf("a server was called %d times", n)
		}
	})
	return l.Addr().String()
}

// badConf writes a configuration of several destinations, whose servers must not be called.
func badConf(t *testing.T, server string, instances map[string]string) string {
	t.Helper()
	addr, dir := untouched(t), t.TempDir()
	files := map[string]string{"canal.properties": "canal.serverMode = kafka\ncanal.auto.scan = true\ncanal.zkServers = " + addr +
		"\nkafka.bootstrap.servers = " + addr + "\ncanal.metrics.pull.port = 0\ncanal.instance.master.address = " + addr + "\n" + server}
	for name, text := range instances {
		files[filepath.Join(name, "instance.properties")] = "canal.mq.topic = t\n" + text
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := func(key string) (string, bool) { return "192.0.2.1", key == "canal.register.ip" } // whatever this host has
	code = run(t.Context(), args, env, &out, &errs)
	return code, out.String(), errs.String()
}

// What the files alone show ends serve with exit 2, tail and check with exit 1, before a server is called: each problem
// in one line with its place, its key and what to do.
func TestBadInput(t *testing.T) {
	tests := []struct {
		name, server string
		instances    map[string]string
		want         []string // file:line: key: and a part of what to do
	}{
		{"unknown value", "", map[string]string{"shop": "canal.relay.statement.dml = drop"},
			[]string{`shop/instance.properties:2: canal.relay.statement.dml: .*choose emit or stop`}},
		{"contradiction", "kafka.max.request.size = 64MiB", map[string]string{"shop": ""},
			[]string{`canal.properties: kafka.buffer.memory: .*kafka.max.request.size`}},
		{"bad pattern", "", map[string]string{"shop": `canal.instance.filter.regex = shop\\.(a`},
			[]string{`shop/instance.properties:2: canal.instance.filter.regex: `}},
		{"missing key", "", map[string]string{"shop": "canal.instance.master.address ="},
			[]string{`shop/instance.properties:2: canal.instance.master.address: it is missing: set the source as host:port`}},
		{"server mode", "canal.serverMode = rocketMQ", map[string]string{"shop": ""},
			[]string{`canal.properties:7: canal.serverMode: .*it must be kafka`}},
		{"unknown key of ours", "canal.relay.memroy = 1", map[string]string{"shop": ""},
			[]string{`canal.properties:7: canal.relay.memroy: there is no such key: did you mean canal.relay.memory\?`}},
		{"too few partitions asked for", "", map[string]string{"shop": "canal.relay.topic.create = relay\ncanal.relay.topic.partitions = 2\ncanal.mq.partition = 4"},
			[]string{`shop/instance.properties:3: canal.relay.topic.partitions: 2 are too few: the routing needs 5`}},
		{"several destinations", "", map[string]string{"a": "canal.instance.gtidon = maybe", "b": "canal.mq.partition = -1\ncanal.mq.topic = x y", "c": ""},
			[]string{`a/instance.properties:2: canal.instance.gtidon: .*true.*false`, `b/instance.properties:2: canal.mq.partition: `,
				`b/instance.properties:3: canal.mq.topic: .*use letters`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := badConf(t, tt.server, tt.instances)
			code, stdout, stderr := runCommand(t, "serve", "--conf", dir)
			if code != exitUsage || stdout != "" {
				t.Errorf("serve: exit %d, stdout %q", code, stdout)
			}
			told(t, "serve", stderr, "canal-relay: "+dir+"/", tt.want)
			code, stdout, stderr = runCommand(t, "tail", "--conf", dir)
			if code != exitFailed || stdout != "" {
				t.Errorf("tail: exit %d, stdout %q", code, stdout)
			}
			told(t, "tail", stderr, "canal-relay: "+dir+"/", tt.want)
			code, stdout, stderr = runCommand(t, "check", "--conf", dir)
			if code != exitFailed || stderr != "" {
				t.Errorf("check: exit %d, stderr %q", code, stderr)
			}
			var problems []string
			for line := range strings.Lines(stdout) {
				if rest, ok := strings.CutPrefix(line, "error"); ok {
					place, what, _ := strings.Cut(strings.TrimSpace(rest), "  ")
					problems = append(problems, place+": "+strings.TrimSpace(what)+"\n")
				}
			}
			told(t, "check", strings.Join(problems, ""), dir+"/", tt.want)
		})
	}
}

// told wants one line for each problem, and nothing else.
func told(t *testing.T, command, output, prefix string, want []string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		if !ok {
			t.Errorf("%s: a line that does not begin with %q: %s", command, prefix, line)
		}
		lines = append(lines, rest)
	}
	if len(lines) != len(want) {
		t.Errorf("%s: %d lines, want %d:\n%s", command, len(lines), len(want), output)
		return
	}
	for i := range want {
		if !regexp.MustCompile("^" + want[i]).MatchString(lines[i]) {
			t.Errorf("%s:\ngot  %s\nwant %s", command, lines[i], want[i])
		}
	}
}

// No configuration at all is told in the same way.
func TestNoConfiguration(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for command, want := range map[string]int{"serve": exitUsage, "tail": exitFailed, "check": exitFailed} {
		code, stdout, stderr := runCommand(t, command, "--conf", dir)
		if code != want || !strings.Contains(stdout+stderr, "canal.properties") || !strings.Contains(stdout+stderr, "--conf") {
			t.Errorf("%s: exit %d, %q %q", command, code, stdout, stderr)
		}
	}
}
