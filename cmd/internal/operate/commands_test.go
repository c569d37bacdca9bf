package operate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/position"
)

// storedPosition makes a configuration without ZooKeeper that has a position in meta.dat.
func storedPosition(t *testing.T) (dir string) {
	t.Helper()
	dir = conf(t, nil, nil)
	f := position.NewFile(filepath.Join(dir, "example", "meta.dat"), "example", false, "r1")
	if _, err := f.Load(t.Context()); err != nil && !strings.Contains(err.Error(), "no position") {
		t.Fatal(err)
	}
	err := f.Save(t.Context(), position.Position{File: "binlog.000007", Offset: 4711, Host: "db", Port: 3306, GTIDs: "6be1439e-ecaa-11f1-aa2a-02fc00000001:1-9"})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStaticPositions(t *testing.T) {
	dir := storedPosition(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"status"}, []string{"DESTINATION", "example      static", "binlog.000007:4711, 6be1439e"}},
		{[]string{"cursor", "show"}, []string{"position     binlog.000007:4711", "source       db:3306", "REASON", "term started"}},
		{[]string{"cursor", "export"}, []string{`"file": "binlog.000007"`, `"journalName": "binlog.000007"`}},
	} {
		stdout, stderr, code := command(t, append(tt.args, "--conf", dir)...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, %s", tt.args, code, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q: %q is missing in\n%s", tt.args, want, stdout)
			}
		}
	}
	stdout, _, _ := command(t, "status", "--conf", dir, "--json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 1 || all[0]["election"] != "static" || all[0]["offset"] != 4711.0 || all[0]["past"] != nil {
		t.Errorf("%v: %s", err, stdout)
	}
}

// TestNothingStored: no position is no failure, but there is nothing to export.
func TestNothingStored(t *testing.T) {
	dir := conf(t, nil, nil)
	if stdout, _, code := command(t, "cursor", "show", "--conf", dir); code != 0 || !strings.Contains(stdout, "position     none") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if stdout, stderr, code := command(t, "cursor", "export", "--conf", dir); code != 1 || stdout != "" || !strings.Contains(stderr, "no position") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "example", "meta.dat"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if stdout, _, code := command(t, "status", "--conf", dir); code != 0 || !strings.Contains(stdout, "is damaged") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

func TestCommandsRefuse(t *testing.T) {
	static := storedPosition(t)
	elected := conf(t, map[string]string{"canal.zkServers": deadAddress}, nil)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"release", "--conf", static}, 1, "there is no election"},
		{[]string{"release", "--conf", static, "--destination", "none"}, 2, `no destination "none"`},
		{[]string{"release", "--conf", elected, "--timeout", "0s"}, 2, "--timeout"},
		{[]string{"release", "--conf", elected, "--timeout", "3s"}, 1, "connection refused"},
		{[]string{"cursor", "--conf", static}, 2, "unknown flag"},
		{[]string{"cursor"}, 2, "show, export, set or skip"},
		{[]string{"cursor", "skip", "0-1-4711", "--conf", static}, 2, "--reason"},
		{[]string{"cursor", "skip", "everything", "--conf", static, "--reason", "r"}, 2, "name an event as FILE:OFFSET"},
		{[]string{"cursor", "skip", "0-1-4711", "--conf", static, "--reason", "r"}, 1, "canal.zkServers is blank"},
		{[]string{"cursor", "set", "latest", "--conf", static}, 2, "--reason"},
		{[]string{"cursor", "set", "--conf", static, "--reason", "r"}, 2, "accepts 1 arg"},
		{[]string{"cursor", "set", "yesterday", "--conf", static, "--reason", "r"}, 2, "write FILE:OFFSET"},
		{[]string{"cursor", "set", "binlog.000001:3", "--conf", static, "--reason", "r"}, 2, "write FILE:OFFSET"},
		{[]string{"cursor", "set", "latest", "--conf", static, "--reason", "r", "--release"}, 1, "there is no election"},
		{[]string{"cursor", "set", "latest", "--conf", static, "--reason", "r"}, 1, "cannot be reached"},
		{[]string{"status", "--conf", filepath.Join(static, "none")}, 2, "canal.properties"},
	} {
		stdout, stderr, code := command(t, tt.args...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

func TestMeaning(t *testing.T) {
	at := func(offset uint64) position.Position {
		return position.Position{File: "binlog.000001", Offset: offset, Host: "db", Port: 3306}
	}
	for _, tt := range []struct {
		old, to position.Position
		want    string
	}{
		{position.Position{}, at(4), "no position before"}, {at(4), at(9), "forward"}, {at(9), at(4), "back"}, {at(4), at(4), "where it was"},
		{at(4), position.Position{GTIDs: "0-1-2"}, "cannot be compared"},
	} {
		if got := meaning(tt.old, tt.to); !strings.Contains(got, tt.want) {
			t.Errorf("from %+v to %+v: %s, want %s", tt.old, tt.to, got, tt.want)
		}
	}
}
