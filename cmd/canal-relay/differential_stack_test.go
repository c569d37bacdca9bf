//go:build stack

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

var (
	differential = flag.Duration("differential", 0, "how long TestStackDifferential runs with new seeds, each server half of it; 0 runs the same few each time")
	showDDL      = flag.Bool("show-ddl", false, "log the DDL of TestStackDifferential, and all that the server refused")
)

var rowImages = []string{"FULL", "MINIMAL", "NOBLOB"}

// TestStackDifferential: random tables, rows and DDL. Each value of each message is compared with go-mysql's decoder and
// with what SELECT showed behind the statement, in both styles, and after each DDL the tracked tables are compared with
// information_schema. A round is named by its seed, which -seed runs again, alone. Without -differential the seeds are
// the same in every run, so that a change is judged by itself and not by chance; make differential looks for new ones.
func TestStackDifferential(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			seen, kinds := coverage{}, map[string]int{}
			base, end := *seed, time.Now().Add(*differential/2)
			more := func(rounds uint64) bool { return *seed == 0 && time.Now().Before(end) }
			switch {
			case base != 0:
			case *differential > 0:
				base = uint64(time.Now().UnixNano())
			default:
				base = 1
				more = func(rounds uint64) bool { return rounds < fixedRounds }
			}
			rounds := uint64(0)
			for ; rounds == 0 || more(rounds); rounds++ {
				t.Run(fmt.Sprint("seed", base+rounds), func(t *testing.T) { differentialRound(t, server, base+rounds, seen, kinds) })
			}
			if !t.Failed() {
				seen.check(t, server)
			}
			t.Logf("%d rounds from seed %d on; DDL accepted and refused: %v", rounds, base, kinds)
		})
	}
}

// fixedRounds is how many seeds, from 1 on, are run where no time is given: enough to hit every cell of the coverage.
const fixedRounds = 5

// roundSteps is the number of statements behind the first ones, which write each type in each way.
const roundSteps = 150

func differentialRound(t *testing.T, server string, seed uint64, seen coverage, kinds map[string]int) {
	began := time.Now()
	r := rand.New(rand.NewPCG(seed, 0))
	zone := valueZones[r.IntN(len(valueZones))]
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, server, nil)
	d := &drift{world: w, conn: w.admin(), r: r, kinds: kinds, wrong: map[string]bool{}, settings: roundSettings(server, r)}
	common, odd := valueTypes(server, location)
	d.pools = map[string][]valueType{"t": common[2:], "odd": slices.DeleteFunc(odd[2:], isOldTemporal)}
	path := w.ownBinlog(d.conn, d.run)
	wrote := time.Now()
	if len(d.changes) == 0 {
		t.Fatal("no row was changed")
	}
	d.compareStructures(path)
	for _, style := range []string{"canal", "mysql"} {
		ours := tailRows(t, w, path, zone, map[string]string{"canal.relay.values": style, "canal.instance.tsdb.enable": fmt.Sprint(r.IntN(2) == 0)})
		compareSelected(t, d.changes, ours, map[string]int{"canal": canalStyle, "mysql": mysqlStyle}[style])
		if style == "canal" {
			isOdd := func(name string) bool { return strings.HasPrefix(name, "odd") }
			compareDecoded(t, slices.DeleteFunc(slices.Clone(d.changes), func(c valueChange) bool { return isOdd(c.name) }),
				w.decode(path, location, "t"), slices.DeleteFunc(ours, func(m messageRow) bool { return isOdd(m.table) }))
		}
	}
	seen.add(d.changes)
	t.Logf("%d changes, %d DDL statements, %s, zone %s, written in %v, compared in %v", len(d.changes), len(d.structures), d.settings, zone,
		wrote.Sub(began).Round(time.Millisecond), time.Since(wrote).Round(time.Millisecond))
	if t.Failed() {
		t.Logf("again: go test -tags stack -run '^TestStackDifferential$/^%s$' -seed %d", server, seed)
	}
}

// isOldTemporal says that a type needs a global setting: TestStackValues has those.
func isOldTemporal(t valueType) bool {
	return t.ddl == "TIME" || t.ddl == "DATETIME" || t.ddl == "TIMESTAMP"
}

const partialJSON = "SESSION binlog_row_value_options = PARTIAL_JSON"

// roundSettings are the settings under which a round is logged, by turns.
func roundSettings(server string, r *rand.Rand) []string {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	list := []string{"GLOBAL binlog_row_metadata = " + pick("MINIMAL", "FULL")}
	if server == "mysql" {
		return append(list, "SESSION binlog_transaction_compression = "+pick("OFF", "OFF", "ON"),
			"SESSION sql_generate_invisible_primary_key = "+pick("OFF", "OFF", "ON"), pick("SESSION binlog_row_value_options = ''", partialJSON))
	}
	return append(list, "GLOBAL log_bin_compress = "+pick("OFF", "OFF", "ON"), "GLOBAL log_bin_compress_min_len = "+pick("10", "256"))
}

// set makes the settings, and returns what takes back those that outlive the session.
func (w *world) set(conn *client.Conn, settings []string) (back func()) {
	w.Helper()
	var old []string
	for _, s := range settings {
		if name, ok := strings.CutPrefix(s, "GLOBAL "); ok {
			name, _, _ = strings.Cut(name, " = ")
			old = append(old, fmt.Sprintf("SET GLOBAL %s = '%s'", name, w.text(conn, "SELECT @@global."+name, 0)))
			if name == "log_bin_compress" || name == "log_bin_compress_min_len" {
				old[len(old)-1] = strings.ReplaceAll(old[len(old)-1], "'", "")
			}
		}
		w.exec(conn, "SET "+s)
	}
	return func() { w.exec(conn, old...) }
}

// coverage counts compared values by type, how they were chosen, and row image.
type coverage map[string]*[writtens]map[string]int

func (seen coverage) add(changes []valueChange) {
	for _, c := range changes {
		for i, how := range c.written {
			name := c.columns[i].label()
			if seen[name] == nil {
				seen[name] = &[writtens]map[string]int{}
			}
			if seen[name][how] == nil {
				seen[name][how] = map[string]int{}
			}
			seen[name][how][c.image]++
		}
	}
}

// label is the type, shortened, with the character set that its column has.
func (t *valueType) label() string {
	if len(t.ddl) > 60 {
		return t.ddl[:20] + "…"
	}
	return t.ddl
}

// check prints the table and fails if something of it was not hit.
func (seen coverage) check(t *testing.T, server string) {
	t.Helper()
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprint(table, "type")
	for how := writtenNull; how < writtens; how++ {
		fmt.Fprintf(table, "\t%s F/M/N", how)
	}
	common, odd := valueTypes(server, time.UTC)
	missing := 0
	for _, v := range append(slices.Clone(common[2:]), slices.DeleteFunc(odd[2:], isOldTemporal)...) {
		fmt.Fprintf(table, "\n%s", v.label())
		for how := writtenNull; how < writtens; how++ {
			separator := "\t"
			for _, image := range rowImages {
				n := 0
				if cells := seen[v.label()]; cells != nil {
					n = cells[how][image]
				}
				fmt.Fprintf(table, "%s%d", separator, n)
				separator = "/"
				if n == 0 {
					missing++
				}
			}
		}
	}
	_ = table.Flush()
	t.Logf("values compared, by row image FULL/MINIMAL/NOBLOB:\n%s", b.String())
	if missing > 0 {
		t.Errorf("%d cells of the coverage table were not hit", missing)
	}
}
