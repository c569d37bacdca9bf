package schema

import "testing"

// TestHashes: which unique keys MariaDB keeps a hash of, as seen on 10.11; the
// same of a layout that was stored and of one that Canal's tables hold.
func TestHashes(t *testing.T) {
	for _, c := range []struct {
		table string
		more  []string
		want  int
	}{
		{"a TEXT, UNIQUE (a)", nil, 1},
		{"a BLOB UNIQUE", nil, 1},
		{"a TEXT, UNIQUE (a(20))", nil, 0},
		{"a TEXT, UNIQUE (a(1000) DESC)", nil, 1},
		{"a TEXT, KEY (a(20)), INDEX k (a(3)), FULLTEXT (a)", nil, 0},
		{"a VARCHAR(768) UNIQUE", nil, 0},
		{"a VARCHAR(769) UNIQUE", nil, 1},
		{"a VARCHAR(400), b VARCHAR(400), CONSTRAINT c UNIQUE KEY (a, b)", nil, 1},
		{"a VARCHAR(400), b VARCHAR(400) CHARACTER SET latin1, UNIQUE (a, b)", nil, 0},
		{"a INT, UNIQUE (a) USING HASH", nil, 1},
		{"a INT, UNIQUE USING HASH (a)", nil, 1},
		{"a GEOMETRY NOT NULL, UNIQUE (a)", nil, 1},
		{"a INT UNIQUE, b BIGINT UNSIGNED", nil, 0},
		{"a TEXT, b TEXT UNIQUE, UNIQUE (a), UNIQUE (a, b)", nil, 3},
		{"a TEXT UNIQUE", []string{"ALTER TABLE t ADD b BIGINT UNSIGNED"}, 1},
		{"a TEXT UNIQUE", []string{"ALTER TABLE t MODIFY a VARCHAR(10)"}, 0},
		{"`a` varchar(1000), UNIQUE KEY `a` (`a`) USING HASH", []string{"ALTER TABLE t CHANGE a b VARCHAR(10)"}, 0},
		{"a VARCHAR(10), UNIQUE (a)", []string{"ALTER TABLE t CHANGE a b TEXT"}, 1},
		{"a VARCHAR(900) UNIQUE", []string{"ALTER TABLE t CONVERT TO CHARACTER SET latin1"}, 0},
		{"a TEXT UNIQUE, b TEXT UNIQUE", []string{"ALTER TABLE t DROP a"}, 1},
		{"a TEXT UNIQUE, b TEXT, UNIQUE (a)", []string{"DROP INDEX a_2 ON t"}, 1},
		{"a TEXT UNIQUE, b TEXT UNIQUE", []string{"ALTER TABLE t RENAME INDEX a TO q, DROP KEY b", "ALTER TABLE t DROP CONSTRAINT q"}, 0},
		{"a TEXT", []string{"CREATE UNIQUE INDEX u ON t (a)", "CREATE OR REPLACE UNIQUE INDEX u USING BTREE ON t (a)", "ALTER TABLE t ADD UNIQUE IF NOT EXISTS v (a)"}, 2},
		{"a INT", []string{"ALTER TABLE t ADD (b TEXT UNIQUE, UNIQUE (b, a))"}, 2},
		{"a TEXT UNIQUE", []string{"CREATE TABLE u LIKE t", "DROP TABLE t", "RENAME TABLE u TO t"}, 1},
	} {
		kept := &memory{}
		tr := NewTracker(DefaultConfig(), nil, kept)
		q := Statement{MariaDB: true, Captured: all, At: at(1)}
		apply(t, tr, q, append([]string{"CREATE TABLE t (id INT PRIMARY KEY, " + c.table + ")"}, c.more...)...)
		if got := tr.Known("d", "t").Hashes; got != c.want {
			t.Errorf("%s %v: %d hashes, want %d", c.table, c.more, got, c.want)
		}
		parts := tr.parts()
		l := parts[len(parts)-1].Layout
		if got := l.Hashes; got != c.want {
			t.Errorf("%s: %d hashes in a snapshot, want %d", c.table, got, c.want)
		}
		other := NewTracker(DefaultConfig(), nil, nil)
		apply(t, other, q, l.Create())
		if got := other.Known("d", "t").Hashes; got != c.want {
			t.Errorf("%s: %d hashes, want %d", l.Create(), got, c.want)
		}
	}
}
