//go:build stack

package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackMetadata: with binlog_row_metadata=FULL, rows of a table that nobody tracks are read by their table map: a file
// without any DDL gives the messages that it gives with the table's definition, and a live stream has the names of the
// rows' time although the source has others now.
func TestStackMetadata(t *testing.T) {
	both := "u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, u64 BIGINT UNSIGNED, d DECIMAL(12,3), ud DECIMAL(5) UNSIGNED, f FLOAT, db DOUBLE, " +
		"b BIT(11), y YEAR, da DATE, t TIME(2), dt DATETIME(6), ts TIMESTAMP NULL, c CHAR(5) CHARACTER SET gbk, vc VARCHAR(300) CHARACTER SET latin1, " +
		"tt TINYTEXT, te TEXT CHARACTER SET utf16, lt LONGTEXT, bi BINARY(7), vb VARBINARY(9), tb TINYBLOB, lb LONGBLOB, " +
		"e ENUM('a','it''s','c,d'), s SET('x','y') CHARACTER SET latin1, g POINT, j JSON"
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			admin := w.admin()
			w.exec(admin, "SET GLOBAL binlog_row_metadata = FULL")
			defer w.exec(admin, "SET GLOBAL binlog_row_metadata = DEFAULT")
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT, k VARCHAR(10), "+both+", PRIMARY KEY (k, id))", "CREATE TABLE ambiguous (id INT PRIMARY KEY, b BINARY(16))")
			schema := filepath.Join(t.TempDir(), "schema.sql")
			r, err := conn.Execute("SHOW CREATE TABLE t")
			w.must(err)
			text, err := r.GetString(0, 1)
			w.must(err)
			writeFile(t, schema, "USE "+w.name+";\n"+text)
			first := w.ownBinlog(conn, func() {
				w.from, err = local.End(conn)
				w.must(err)
				w.exec(conn, "INSERT INTO t VALUES (1, 'é', 200, -3, -70000, -5, 18446744073709551615, 12.500, 9, 1.5, 2.25, b'10000000001', 2026, '2026-01-02', '-10:11:12.34', "+
					"'2026-01-02 03:04:05.678901', '2026-01-02 03:04:05', '中文', 'é', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'it''s', 'x,y', POINT(1, 2), '{\"a\": [1, 2.5]}')",
					"INSERT INTO t (id, k) VALUES (2, '')", "UPDATE t SET i32 = 7, lt = 'x' WHERE id = 1")
			})
			second := w.ownBinlog(conn, func() { w.exec(conn, "INSERT INTO ambiguous VALUES (1, 'x')") })

			alone, errs, code := w.tailOffline("--binlog", first)
			if want := "table " + w.name + ".t is defined by the table metadata in the binlog\n"; code != 0 || strings.Count(errs, want) != 1 {
				t.Fatalf("exit %d: %s", code, errs)
			}
			defined, errs, code := w.tailOffline("--binlog", first, "--schema", schema)
			if code != 0 || !strings.Contains(errs, "defined by the schema file") {
				t.Fatalf("exit %d: %s", code, errs)
			}
			if alone == "" || alone != defined {
				t.Errorf("with metadata alone\n%.3000s\nwith the definition\n%.3000s", alone, defined)
			}
			_, errs, code = w.tailOffline("--binlog", second)
			if (code != 0) != (server == "mariadb") || code != 0 && !strings.Contains(errs, "column b: the table map does not tell its exact type, which has the size of binary(16)") {
				t.Errorf("BINARY(16), which may be a UUID: exit %d: %s", code, errs)
			}

			w.exec(conn, "ALTER TABLE t RENAME COLUMN lb TO later, RENAME COLUMN lt TO lb", "INSERT INTO t (id, k) VALUES (3, '')")
			keys := w.conf.Destinations[w.name]
			keys["canal.instance.master.journal.name"], keys["canal.instance.master.position"] = w.from.File, fmt.Sprint(w.from.Offset)
			keys["canal.instance.filter.regex"] = w.name + `\.t`
			w.must(w.CreateTopic(ctx, w.name, 1))
			w.start()
			var later []bool
			for _, names := range w.columns(ctx, 3) {
				later = append(later, strings.Contains(names, "later"))
			}
			if want := []bool{false, false, false, true}; !slices.Equal(later, want) {
				t.Errorf("rows have the names after the statement: %v, want %v", later, want)
			}
		})
	}
}

// tailOffline is what tail prints, without times of building.
func (w *world) tailOffline(args ...string) (out, errs string, code int) {
	w.Helper()
	dir := w.TempDir()
	w.must(w.conf.Write(dir))
	var stdout, stderr bytes.Buffer
	args = append([]string{"tail", "--conf", dir, "--destination", w.name, "--output", "jsonl"}, args...)
	code = run(w.Context(), args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	for _, r := range parseRecords(w.T, stdout.Bytes()) {
		out += r.comparable() + "\n"
	}
	return out, stderr.String(), code
}
