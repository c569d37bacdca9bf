//go:build stack

package main

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestStackHash: MariaDB's hidden hash of a long unique key is no column of a message, but a BIGINT UNSIGNED that was added
// behind the columns without a log is one. Rows are logged without names.
func TestStackHash(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t, "mariadb", nil)
	if err := w.CreateTopic(ctx, w.name, 1); err != nil {
		t.Fatal(err)
	}
	conn := w.admin()
	w.exec(conn, "USE "+w.name,
		"CREATE TABLE h (id INT PRIMARY KEY, a TEXT UNIQUE)", "INSERT INTO h VALUES (1, 'x')",
		"ALTER TABLE h ADD b BIGINT UNSIGNED NOT NULL DEFAULT 7, ADD UNIQUE (b, a)", "INSERT INTO h VALUES (2, 'y', 8)",
		"ALTER TABLE h MODIFY a VARCHAR(20)", "INSERT INTO h VALUES (3, 'z', 9)",
		"CREATE TABLE t (id INT PRIMARY KEY, a INT UNIQUE)", "SET SESSION SQL_LOG_BIN = 0", "ALTER TABLE t ADD b BIGINT UNSIGNED",
		"SET SESSION SQL_LOG_BIN = 1", "INSERT INTO t VALUES (4, 1, 2)")
	w.start()
	want := []string{"a,id", "a,b,id", "a,b,id", "a,b,id"}
	if got := w.columns(ctx, 4); !slices.Equal(got, want) {
		t.Errorf("rows have %q, want %q", got, want)
	}
}
