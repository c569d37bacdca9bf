//go:build stack

package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// TestStackStatements: what a server logs because a restart has emptied a MEMORY table does not stop a destination that
// stops at statements; a LOAD DATA in statement format does, and is named. EV-05.
func TestStackStatements(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.relay.statement.dml": "stop"})
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MEMORY", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO m VALUES (1)")
			node := w.start()
			w.ids(ctx, 1)
			w.servers("restart", server)
			conn = w.admin()
			w.exec(conn, "USE "+w.name)
			if n := w.text(conn, "SELECT COUNT(*) FROM m", 0); n != "0" {
				t.Fatalf("the MEMORY table has %s rows", n)
			}
			w.exec(conn, "INSERT INTO t VALUES (2)")
			if got := w.ids(ctx, 2); !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("the topic has %v", got)
			}
			if server == "mysql" {
				w.exec(conn, "SET SESSION binlog_format = STATEMENT", "INSERT INTO t VALUES (3)") // LOAD DATA needs secure_file_priv
			} else {
				file := filepath.Join(os.TempDir(), w.name+".txt")
				writeFile(t, file, "3\n4\n")
				w.Cleanup(func() { _ = os.Remove(file) })
				w.exec(conn, "SET SESSION binlog_format = STATEMENT", "LOAD DATA INFILE '"+file+"' INTO TABLE t")
			}
			w.awaitFailure(ctx, node, "", regexp.MustCompile(regexp.QuoteMeta("a change of "+w.name+".t was logged as a statement")))
		})
	}
}
