package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// recorded is a line of testdata: a scenario, its preparation, a statement of a
// recorded binlog, or a row event with the columns of its image and what Canal
// 1.1.8 said of them.
type recorded struct {
	Scenario     string
	Setup        string
	SQL, DB      string
	Mode         uint64
	Schema, Rows string
	Count        int
	Types        json.RawMessage
	Keys         []string
}

func readRecorded(t *testing.T, server string) []recorded {
	t.Helper()
	f, err := os.Open("testdata/" + server + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	for in := bufio.NewScanner(f); in.Scan(); {
		var r recorded
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// pairs are the members of a JSON object of strings, in order.
func pairs(t *testing.T, object json.RawMessage) (names, values []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	for d.More() {
		k, _ := d.Token()
		v, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names, values = append(names, k.(string)), append(values, v.(string))
	}
	return names, values
}

// fetched are the tables whose types Canal had from the server, so that they
// read otherwise than our reading of their statement.
var fetched = []string{"07-text-utf8 gnu", "09-binary impala", "15-ddl-tables otter4", "15-ddl-tables tbl_commit", "36-table-filters keep_two",
	"48-mariadb-types narwhal2", "50-mariadb-log-bin-compress osprey"}

// serverTypes are the scenarios without a structure store, and written is the
// one in which Canal had the setup's own text.
var (
	serverTypes = []string{"45-no-tsdb", "52-invisible-column-no-tsdb"}
	written     = "46-tsdb-first-dump"
)

func TestGoldenLayouts(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) { replayRecorded(t, server) })
	}
}

func replayRecorded(t *testing.T, server string) {
	var tr *Tracker
	scenario, checked := "", 0
	ctx := t.Context()
	for _, r := range readRecorded(t, server) {
		switch {
		case r.Scenario != "":
			scenario = r.Scenario
			c := DefaultConfig()
			c.MariaDB, c.ServerTypes = server == "mariadb", slices.Contains(serverTypes, scenario)
			tr = NewTracker(c, nil, nil)
		case r.Setup != "" && scenario == written && server == "mariadb":
			apply(t, tr, Statement{MariaDB: true, Database: "zoo"}, strings.TrimSuffix(strings.TrimSpace(r.Setup), ";"))
		case r.Setup != "":
			if err := tr.LoadScript(ctx, "USE zoo;"+r.Setup); err != nil {
				t.Fatal(err)
			}
		case r.SQL != "":
			all := func(string, string) bool { return true }
			if _, err := tr.Apply(ctx, Statement{SQL: r.SQL, Database: r.DB, SQLMode: r.Mode, MariaDB: server == "mariadb", Captured: all}); err != nil {
				t.Errorf("%s: %v", scenario, err)
			}
		default:
			checked++
			at := fmt.Sprintf("%s %s.%s", scenario, r.Schema, r.Rows)
			table, err := tr.Table(ctx, r.Schema, r.Rows)
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			if len(table.Columns) != r.Count {
				t.Errorf("%s: %d columns, the row event has %d", at, len(table.Columns), r.Count)
			}
			if r.Types != nil && string(r.Types) != "null" {
				compareTypes(t, at, table, r, slices.Contains(fetched, scenario+" "+r.Rows))
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d row events", checked)
	}
}

func compareTypes(t *testing.T, at string, table *Table, r recorded, namesOnly bool) {
	t.Helper()
	var keys []string
	names, types := pairs(t, r.Types)
	for i, n := range names {
		n = strings.ReplaceAll(n, "``", "`")
		c := slices.IndexFunc(table.Columns, func(c Column) bool { return strings.EqualFold(c.Name, n) })
		if c < 0 {
			t.Errorf("%s: no column %s", at, n)
			continue
		}
		if got := table.Columns[c].Type; got != types[i] && !namesOnly {
			t.Errorf("%s.%s: type %q, want %q", at, n, got, types[i])
		}
		if len(names) == len(table.Columns) && c != i {
			t.Errorf("%s.%s: column %d, want %d", at, n, c, i)
		}
		if table.Columns[c].Key {
			keys = append(keys, n)
		}
	}
	for i, k := range r.Keys {
		r.Keys[i] = strings.ReplaceAll(k, "``", "`")
	}
	if !slices.Equal(keys, r.Keys) {
		t.Errorf("%s: key %v, want %v", at, keys, r.Keys)
	}
}
