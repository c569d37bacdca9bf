//go:build stack

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// operator runs a command of the built binary against the configuration of the first node.
func (w *world) operator(args ...string) (stdout, stderr string, code int) {
	w.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(w.Context(), os.Getenv("CANAL_RELAY_BIN"), append(args, "--conf", w.nodes[0].Dir)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// answer runs a command with --json that must succeed.
func (w *world) answer(into any, args ...string) {
	w.Helper()
	stdout, stderr, code := w.operator(append(args, "--json")...)
	if code != 0 {
		w.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		w.Fatalf("%q: %v in %s", args, err, stdout)
	}
}

// place is where the operator's commands say a position is.
type place struct {
	File   string
	Offset int
	GTIDs  string
	Past   []struct{ Reason string }
}

// rowsSent reads the ids of the first n rows in the topic, sorted, and the partition of each.
func (w *world) rowsSent(ctx context.Context, n int) (ids []string, partitions map[string]int32) {
	w.Helper()
	partitions = map[string]int32{}
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct{ Data []struct{ ID string } }
		w.must(json.Unmarshal(r.Value, &m))
		for _, row := range m.Data {
			ids = append(ids, row.ID)
			partitions[row.ID] = r.Partition
		}
		return len(ids) < n
	}))
	slices.Sort(ids)
	return ids, partitions
}

// TestStackCommands: what an operator does beside two nodes.
func TestStackCommands(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newWorld(t, server, map[string]string{"canal.mq.partitionHash": `.*\..*:$pk$`, "canal.mq.partitionsNum": "3"})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w.must(w.CreateTopic(ctx, w.name, 3))
			w.patient()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			w.start()
			w.start()
			owner := w.active(ctx)
			w.rowsSent(ctx, 1)
			standby := w.nodes[0]
			if standby == owner {
				standby = w.nodes[1]
			}
			w.statusShows(ctx, owner, standby)
			w.explainAgrees(ctx)
			w.releaseHandsOver(ctx, owner, standby)
			second, err := local.End(conn)
			w.must(err)
			w.exec(conn, "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
			w.rowsSent(ctx, 3)
			w.auditProves()
			w.cursorSets(ctx, second)
			w.cursorRefuses(ctx)
		})
	}
}

func (w *world) statusShows(ctx context.Context, owner, standby *local.Node) {
	var shown []struct {
		Destination, Owner string
		Standbys           []string
		place
	}
	w.until(ctx, "owner, standby and a position", func() bool {
		w.answer(&shown, "status", "--destination", w.name)
		return len(shown) == 1 && len(shown[0].Standbys) == 1 && shown[0].File != ""
	})
	if shown[0].Owner != owner.Address || shown[0].Standbys[0] != standby.Address || shown[0].GTIDs == "" {
		w.Errorf("status shows %+v, want owner %s and standby %s", shown, owner.Address, standby.Address)
	}
	text, errs, code := w.operator("status")
	if code != 0 || !strings.Contains(text, w.name) || !strings.Contains(text, owner.Address) || !strings.Contains(text, standby.Address) {
		w.Errorf("exit code %d:\n%s%s", code, text, errs)
	}
}

// auditProves: the audit finds every change of the source in its topic and partition, also when it reads the binlog from long
// before them.
func (w *world) auditProves() {
	from := fmt.Sprintf("%s:%d", w.from.File, w.from.Offset)
	var r struct {
		Records, Partitions int
		Compared            bool
		Counts              map[string]int
	}
	w.answer(&r, "audit", "--source", "--source-from", from)
	if r.Records < 4 || r.Partitions != 3 || !r.Compared || len(r.Counts) > 0 {
		w.Errorf("the audit found %+v", r)
	}
	text, errs, code := w.operator("audit", "--source")
	if code != 0 || !strings.Contains(text, "none: every change of the source is there") {
		w.Errorf("from the oldest file on: exit code %d: %s%s", code, text, errs)
	}
}

// explainAgrees compares what explain says with what serve did.
func (w *world) explainAgrees(ctx context.Context) {
	var said []struct {
		Captured   bool
		Topic      string
		Partition  *int32
		KeyColumns []string
		Notes      []string
	}
	w.answer(&said, "explain", w.name+".t", "--key", "id=1")
	_, partitions := w.rowsSent(ctx, 1)
	if len(said) != 1 || !said[0].Captured || said[0].Topic != w.name || said[0].Partition == nil || *said[0].Partition != partitions["1"] {
		w.Errorf("explain says %+v, serve sent to %s partition %d", said, w.name, partitions["1"])
	}
	if len(said) == 1 && (fmt.Sprint(said[0].KeyColumns) != "[id]" || len(said[0].Notes) > 0) {
		w.Errorf("key columns %v, notes %q", said[0].KeyColumns, said[0].Notes)
	}
	w.answer(&said, "explain", "elsewhere.t")
	if said[0].Captured {
		w.Errorf("explain says %+v of a table that is not captured", said)
	}
}

func (w *world) releaseHandsOver(ctx context.Context, owner, standby *local.Node) {
	var done struct {
		From, To string
		Seconds  float64
	}
	w.answer(&done, "release")
	if done.From != owner.Address || done.To != standby.Address || done.Seconds <= 0 || done.Seconds > 30 {
		w.Errorf("release says %+v, want from %s to %s", done, owner.Address, standby.Address)
	}
	w.Logf("handed over in %v s", done.Seconds)
	if now, err := local.WaitActive(ctx, w.name, w.nodes...); err != nil || now != standby {
		w.Errorf("active is %v, %v", now, err)
	}
}

// cursorSets moves the position back to before the rows 2 and 3: they, and only they, are sent again.
func (w *world) cursorSets(ctx context.Context, second local.Mark) {
	target := fmt.Sprintf("%s:%d", second.File, second.Offset)
	_, stderr, code := w.operator("cursor", "set", target, "--reason", "again")
	if code != exitFailed || !strings.Contains(stderr, "--release") {
		w.Errorf("while a node is active: exit code %d, %s", code, stderr)
	}
	var done struct {
		Old, New        place
		Released, Means string
	}
	w.answer(&done, "cursor", "set", target, "--reason", "again", "--release")
	if done.Released == "" || done.New.File != second.File || done.New.Offset != int(second.Offset) || !strings.HasPrefix(done.Means, "back") {
		w.Errorf("cursor set says %+v, want %s", done, target)
	}
	ids, _ := w.rowsSent(ctx, 5)
	if got := strings.Join(ids, ","); got != "1,2,2,3,3" {
		w.Errorf("ids in the topic %s, want 1,2,2,3,3", got)
	}
	w.active(ctx)
	var shown place
	w.answer(&shown, "cursor", "show")
	var reasons []string
	for _, past := range shown.Past {
		reasons = append(reasons, past.Reason)
	}
	if all := strings.Join(reasons, "; "); !strings.Contains(all, "set by an operator: again; replaced by an operator") {
		w.Errorf("reasons of the last positions: %s", all)
	}
}

// cursorRefuses: targets that the source does not have change nothing, not even the owner.
func (w *world) cursorRefuses(ctx context.Context) {
	var before, after struct {
		Epoch int64
		place
	}
	w.answer(&before, "cursor", "show")
	foreign := "00000000-0000-0000-0000-000000000001:1-5"
	if w.server == "mariadb" {
		foreign = "77-1-5"
	}
	for _, target := range []string{"binlog.999999:4", before.File + ":4000000000", foreign, "2:3:4", ""} {
		if _, stderr, code := w.operator("cursor", "set", target, "--reason", "r", "--release"); code == 0 || stderr == "" {
			w.Errorf("%q: exit code %d, %s", target, code, stderr)
		} else {
			w.Logf("%q: %s", target, stderr)
		}
	}
	w.answer(&after, "cursor", "show")
	if after.Epoch != before.Epoch {
		w.Errorf("the owner changed from epoch %d to %d", before.Epoch, after.Epoch)
	}
	var exported struct {
		place
		Cursor struct {
			Postion struct{ JournalName string }
		}
	}
	w.answer(&exported, "cursor", "export")
	if exported.File != after.File || exported.Cursor.Postion.JournalName != after.File {
		w.Errorf("exported %+v", exported)
	}
	for _, target := range []string{"earliest", time.Now().UTC().Format(time.RFC3339), after.GTIDs, "latest"} {
		var done struct{ New place }
		w.answer(&done, "cursor", "set", target, "--reason", "r", "--release")
		w.Logf("%s: %s:%d %s", target, done.New.File, done.New.Offset, done.New.GTIDs)
		w.active(ctx)
	}
}

// TestStackCommandsStatic: without ZooKeeper nobody can be asked to let go, and a node that runs starts again at the position that was set.
func TestStackCommandsStatic(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	delete(w.conf.Server, "canal.zkServers")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	first, err := local.End(conn)
	w.must(err)
	w.exec(conn, "INSERT INTO t VALUES (1)")
	w.start()
	w.rowsSent(ctx, 1)
	var shown []struct {
		Election string
		place
	}
	w.until(ctx, "a stored position", func() bool {
		w.answer(&shown, "status")
		return shown[0].Offset > int(first.Offset)
	})
	if shown[0].Election != "static" {
		t.Errorf("status shows %+v", shown)
	}
	target := fmt.Sprintf("%s:%d", first.File, first.Offset)
	for _, args := range [][]string{{"release"}, {"cursor", "set", target, "--reason", "r", "--release"}} {
		if _, stderr, code := w.operator(args...); code != exitFailed || !strings.Contains(stderr, "there is no election") {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
	var done struct{ Old, New place }
	w.answer(&done, "cursor", "set", target, "--reason", "again")
	if done.New.Offset != int(first.Offset) || done.Old.Offset != shown[0].Offset {
		t.Errorf("cursor set says %+v, want from %+v to %s", done, shown, target)
	}
	w.exec(conn, "INSERT INTO t VALUES (2)")
	if ids, _ := w.rowsSent(ctx, 4); fmt.Sprint(ids) != "[1 1 2 2]" {
		t.Errorf("rows in the topic %v, want each twice", ids)
	}
}
