package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keyed prints what the recorded changes of primary keys give, spread over three
// partitions by key.
func keyed(t *testing.T, lines ...string) []record {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "canal.properties"), "canal.serverMode = kafka\ncanal.destinations = d\nkafka.bootstrap.servers = 127.0.0.1:1\n")
	writeFile(t, filepath.Join(dir, "d", "instance.properties"), `canal.instance.master.address = 127.0.0.1:3306
canal.instance.filter.regex = zoo\\.xe.*
canal.mq.topic = t
canal.mq.partitionHash = .*\\..*:$pk$
canal.relay.partitions.from.topic = true
canal.relay.record.key = pk
`+strings.Join(lines, "\n")+"\n")
	var out, errs bytes.Buffer
	args := []string{"tail", "--conf", dir, "--output", "jsonl", "--partitions", "t=3", "--binlog", "testdata/golden/25-partition-pk/mysql.binlog"}
	code := run(t.Context(), args, func(name string) (string, bool) { return "UTC", name == "TZ" }, &out, &errs)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	return parseRecords(t, out.Bytes())
}

// applied is what a consumer has that applies the records of one partition after
// the other: rows by table and key.
func applied(t *testing.T, records []record, partitions ...int32) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, p := range partitions {
		for _, r := range records {
			var m struct {
				Type, Table string
				IsDdl       bool
				Data        []json.RawMessage
			}
			if err := json.Unmarshal([]byte(r.Value), &m); err != nil {
				t.Fatal(err)
			}
			if r.Partition != p || m.IsDdl {
				continue
			}
			if len(m.Data) != 1 || r.Key == nil {
				t.Fatalf("a record with %d rows and key %v", len(m.Data), r.Key)
			}
			key := m.Table + " " + *r.Key
			if m.Type == "DELETE" {
				delete(rows, key)
			} else {
				rows[key] = string(m.Data[0])
			}
		}
	}
	return rows
}

// TestChangedKeys is the field case KD-08: with a change of the key split, the
// order in which partitions are read does not matter.
func TestChangedKeys(t *testing.T) {
	records := keyed(t, "canal.relay.pk.update = split")
	want := applied(t, records, 0, 1, 2)
	if len(want) != 11 {
		t.Errorf("%d rows are left: %v", len(want), slices.Sorted(maps.Keys(want)))
	}
	for _, order := range [][]int32{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		if got := applied(t, records, order...); !maps.Equal(got, want) {
			t.Errorf("read in the order %v:\n%v\nwant\n%v", order, got, want)
		}
	}
	seen := map[string]bool{}
	for _, r := range records {
		at := fmt.Sprint(r.Headers["r-pos"], "#", r.Headers["r-row"])
		if seen[at] {
			t.Errorf("two records at %s", at)
		}
		seen[at] = true
	}
	if as := applied(t, keyed(t), 2, 1, 0); len(as) == len(want) {
		t.Error("as Canal does it, the order of partitions does not matter either: this test proves nothing")
	}
}

// TestPartitionsFromTopicIsAsked: tail does not guess.
func TestPartitionsFromTopicIsAsked(t *testing.T) {
	_, errs, code := tailCase(t, "testdata/golden/25-partition-pk/mysql.binlog", "UTC", `canal.mq.partitionHash = .*\\..*:$pk$`, "canal.relay.partitions.from.topic = true")
	if code != 1 || !strings.Contains(errs, "--partitions t=N") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
