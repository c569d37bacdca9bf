package operate

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
)

// deadAddress refuses connections.
const deadAddress = "127.0.0.1:1"

// conf writes a configuration with one destination, example.
func conf(t *testing.T, server, instance map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	base := map[string]string{"canal.serverMode": "kafka", "canal.destinations": "example", "canal.zkServers": "", "canal.register.ip": "192.0.2.1", "kafka.bootstrap.servers": deadAddress,
		"canal.metrics.pull.port": "0", "canal.file.data.dir": dir}
	maps.Copy(base, server)
	own := map[string]string{"canal.instance.master.address": deadAddress, "canal.instance.dbUsername": "canal", "canal.instance.dbPassword": "Pa55word",
		"canal.mq.topic": "def"}
	maps.Copy(own, instance)
	write(t, filepath.Join(dir, "canal.properties"), base)
	write(t, filepath.Join(dir, "example", "instance.properties"), own)
	return dir
}

func write(t *testing.T, path string, keys map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		b.WriteString(k + " = " + strings.ReplaceAll(keys[k], `\`, `\\`) + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// command runs one command as main does. Whatever happens, it shows no password.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &Program{Env: func(string) (string, bool) { return "", false }, Stdout: &out, Stderr: &errs, ZooKeeper: func(n *config.Node) zookeeper.Config {
		c := zookeeper.DefaultConfig()
		c.Servers = n.ZooKeeper
		return c
	}}
	root := &cobra.Command{Use: "canal-relay", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(Commands(p)...)
	root.SetArgs(args)
	root.SetOut(&out)
	err := root.ExecuteContext(context.Background())
	if err != nil {
		code = exit.CodeUsage
		if coded := (*exit.Error)(nil); errors.As(err, &coded) {
			code = coded.Code
		}
		errs.WriteString(err.Error())
	}
	if all := out.String() + errs.String(); strings.Contains(all, "Pa55word") {
		t.Errorf("%v shows the password:\n%s", args, all)
	}
	return out.String(), errs.String(), code
}
