package schema

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/schema/layout"
)

// TestSnapshots: with a snapshot now and then, the layouts at every position
// that may still be gone back to are what they are without, and what is stored
// stays small.
func TestSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := DefaultConfig()
		kept := &memory{}
		plain := NewTracker(c, nil, &memory{})
		c.SnapshotEvery, c.Expire = 24*time.Hour, 72*time.Hour
		tr := NewTracker(c, nil, kept)
		if err := tr.Load(t.Context(), at(0)); err != nil {
			t.Fatal(err)
		}
		shapes := map[uint64]string{}
		show := func(tr *Tracker) string {
			return fmt.Sprint(shape(tr.Known("d", "t")), "; ", shape(tr.Known("d", "v")), "; ", shape(tr.Known("d", "c")), tr.databases)
		}
		const last = 200
		for i := range last {
			sql := fmt.Sprintf("ALTER TABLE t ADD c%d INT UNSIGNED, DROP c%d", i, i-1)
			switch i {
			case 0:
				sql = "CREATE DATABASE d CHARACTER SET latin1"
			case 1:
				sql = "CREATE TABLE t (id INT, `odd``name` VARCHAR(20) CHARACTER SET gbk, e ENUM('a''b', 'c') INVISIBLE, g INT AS (id + 1), c1 INT, PRIMARY KEY (e, id)) CHARSET utf8mb3"
			case 50:
				sql = "CREATE TABLE v (a TEXT(300)) WITH SYSTEM VERSIONING"
			case 51:
				sql = "CREATE TABLE c (p DATE, q DATE, PERIOD FOR x (p, q), PRIMARY KEY (x WITHOUT OVERLAPS))"
			case 150:
				sql = "ALTER TABLE v ADD b TEXT"
			}
			q := Statement{SQL: sql, Database: "d", At: at(uint64(10 * (i + 1))), MariaDB: i > 10}
			for _, tr := range []*Tracker{tr, plain} {
				if _, err := tr.Apply(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			shapes[q.At.Offset] = show(plain)
			time.Sleep(3 * time.Hour)
		}
		for i := last - 24; i < last; i++ { // 72 hours
			p := uint64(10 * (i + 1))
			back := NewTracker(c, nil, kept)
			if err := back.Load(t.Context(), at(p)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(shapes[p], show(back)); d != "" {
				t.Fatalf("at %d: %s", p, d)
			}
		}
		if n := len(kept.entries); n > 70 {
			t.Errorf("%d entries are kept", n)
		}

		// A snapshot that was not finished does not count.
		cut := &memory{entries: kept.entries}
		for len(cut.entries) > 0 && !strings.Contains(cut.entries[len(cut.entries)-1], `"part"`) {
			cut.entries = cut.entries[:len(cut.entries)-1]
		}
		cut.entries = cut.entries[:len(cut.entries)-1]
		all, _ := cut.Load(t.Context(), at(0))
		p := all[len(all)-1].At
		back := NewTracker(DefaultConfig(), nil, cut)
		if err := back.Load(t.Context(), p); err != nil || show(back) != shapes[p.Offset] {
			t.Errorf("%v, %s, want %s", err, show(back), shapes[p.Offset])
		}
	})
}

// TestCreate: what is written for others reads as the same table.
func TestCreate(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (id INT(11) UNSIGNED ZEROFILL, `a``b` VARCHAR(20) CHARACTER SET gbk COLLATE gbk_bin NOT NULL, e ENUM('a''b', 'c'), g INT AS (id + 1), d DECIMAL(10,2), v VARBINARY(9), PRIMARY KEY (e, id))")
	l := tr.tables[key{"d", "t"}]
	text := (&layout.Layout{Table: l.Table}).Create()
	back := NewTracker(DefaultConfig(), nil, nil)
	apply(t, back, Statement{}, text)
	if d := cmp.Diff(l.Table, back.Known("d", "t")); d != "" {
		t.Errorf("%s\n%s", text, d)
	}
}

// TestDatabaseCharset: the default of a database that the stream has not named
// is asked for once, and known to the next owner. CS-05.
func TestDatabaseCharset(t *testing.T) {
	src := tables{"old.": "CREATE DATABASE `old` /*!40100 DEFAULT CHARACTER SET latin1 */"}
	h := &memory{}
	tr := NewTracker(DefaultConfig(), src, h)
	if err := tr.Load(t.Context(), at(1)); err != nil {
		t.Fatal(err)
	}
	apply(t, tr, Statement{Database: "old", Captured: all}, "CREATE TABLE a (x TEXT)")
	delete(src, "old.")
	apply(t, tr, Statement{Database: "old", Captured: all}, "CREATE TABLE b (x TEXT)", "CREATE DATABASE gb", "ALTER DATABASE old CHARACTER SET utf8mb3", "CREATE TABLE c (x TEXT)")
	for i, sql := range []string{"CREATE DATABASE s", "CREATE TABLE e (x TEXT)"} {
		if _, err := tr.Apply(t.Context(), Statement{SQL: sql, Database: "s", Charset: "gbk", At: at(uint64(60 + i)), Captured: all}); err != nil {
			t.Fatal(err)
		}
	}
	next := NewTracker(DefaultConfig(), src, h)
	if err := next.Load(t.Context(), at(1000)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"old.b": "x TEXT(latin1)", "old.c": "x TEXT(utf8mb3)", "s.e": "x TEXT(gbk)"} {
		schema, table, _ := strings.Cut(name, ".")
		if got := shape(tr.Known(schema, table)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := shape(next.Known("s", "e")); got != "x TEXT(gbk)" {
		t.Errorf("the next owner has %s", got)
	}
}

// TestOnlineSchemaChange: gh-ost and pt-online-schema-change build a table under
// another name, which the filter may refuse, and swap.
func TestOnlineSchemaChange(t *testing.T) {
	captured := func(_, table string) bool { return table == "t" }
	for name, run := range map[string][]string{
		"gh-ost": {
			"create /* gh-ost */ table `d`.`_t_ghc` (\n\tid bigint unsigned auto_increment,\n\tlast_update timestamp not null DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,\n\thint varchar(64) charset ascii not null,\n\tvalue varchar(4096) charset ascii not null,\n\tprimary key(id),\n\tunique key hint_uidx(hint)\n) auto_increment=256 comment='gh-ost'",
			"create /* gh-ost */ table `d`.`_t_gho` like `d`.`t`",
			"alter /* gh-ost */ table `d`.`_t_gho` ADD COLUMN n INT AFTER id, DROP b",
			"create /* gh-ost */ table `d`.`_t_del` (\n\tid int auto_increment primary key\n) engine=InnoDB comment='ghost-cut-over-sentry'",
			"drop /* gh-ost */ table if exists `d`.`_t_del`",
			"rename /* gh-ost */ table `d`.`t` to `d`.`_t_del`, `d`.`_t_gho` to `d`.`t`",
			"drop /* gh-ost */ table if exists `d`.`_t_ghc`",
			"drop /* gh-ost */ table if exists `d`.`_t_del`",
		},
		"pt-osc": {
			"CREATE TABLE `d`.`_t_new` (\n  `id` int NOT NULL,\n  `b` int DEFAULT NULL,\n  PRIMARY KEY (`id`)\n)",
			"ALTER TABLE `d`.`_t_new` ADD COLUMN n INT AFTER id, DROP b",
			"CREATE TRIGGER `pt_osc_d_t_del` AFTER DELETE ON `d`.`t` FOR EACH ROW BEGIN DECLARE CONTINUE HANDLER FOR 1146 begin end; DELETE IGNORE FROM `d`.`_t_new` WHERE `d`.`_t_new`.`id` <=> OLD.`id`; END",
			"ANALYZE TABLE `d`.`_t_new` /* pt-online-schema-change */",
			"RENAME TABLE `d`.`t` TO `d`.`_t_old`, `d`.`_t_new` TO `d`.`t`",
			"DROP TABLE IF EXISTS `d`.`_t_old`",
			"DROP TRIGGER IF EXISTS `d`.`pt_osc_d_t_del`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker(DefaultConfig(), nil, nil)
			q := Statement{Captured: captured, Version: 90704}
			apply(t, tr, q, append([]string{"CREATE TABLE t (id INT, b INT, PRIMARY KEY (id))"}, run...)...)
			if got := strings.ToUpper(shape(tr.Known("d", "t"))); got != "ID INT, N INT KEY ID" {
				t.Errorf("t is %s", got)
			}
			if tr.NotUnderstood() > 0 || len(tr.tables) != 1 {
				t.Errorf("%d not understood; %d tables", tr.NotUnderstood(), len(tr.tables))
			}
		})
	}
}

// TestCheck: at the end of the binlog a table that was changed without a log is
// replaced, and stays so for the next owner; anywhere else nothing is.
func TestCheck(t *testing.T) {
	src := tables{"d.a": "CREATE TABLE `a` (`x` int, `renamed` int)", "d.same": "CREATE TABLE `same` (`x` int)"}
	h := &memory{}
	tr := NewTracker(DefaultConfig(), src, h)
	if err := tr.Load(t.Context(), at(1)); err != nil {
		t.Fatal(err)
	}
	apply(t, tr, Statement{}, "CREATE TABLE a (x INT, y INT)", "CREATE TABLE same (x INT)", "CREATE TABLE gone (x INT)") // to 30
	load := func(end int) (*Tracker, []*Table) {
		src["end"] = strings.Repeat(" ", end)
		tr := NewTracker(DefaultConfig(), src, h)
		if err := tr.Load(t.Context(), at(30)); err != nil {
			t.Fatal(err)
		}
		differ, done, err := tr.Check(t.Context(), at(30), all)
		if err != nil || done != (end == 30) {
			t.Fatal(done, err)
		}
		return tr, differ
	}
	if tr, differ := load(90); len(differ) != 0 || shape(tr.Known("d", "a")) != "x INT, y INT" {
		t.Errorf("before the end: %v", differ)
	}
	for n, want := range []int{2, 1} { // what is gone is found again each time
		tr, differ := load(30)
		if len(differ) != want || shape(tr.Known("d", "a")) != "x int, renamed int" || shape(tr.Known("d", "same")) != "x INT" || tr.Known("d", "gone") != nil {
			t.Errorf("%d: %v, %s", n, differ, shape(tr.Known("d", "a")))
		}
	}
}

// TestAdopt: a table that its table map describes has the server's types, is
// followed from there on, and is there again after a restart.
func TestAdopt(t *testing.T) {
	kept := &memory{}
	tr := NewTracker(DefaultConfig(), nil, kept)
	tr.Serve(true, 101100)
	table := &Table{Schema: "d", Name: "t", PrimaryKey: []int{0}, Columns: []Column{
		{Name: "id", Base: "int", Unsigned: true, Key: true},
		{Name: "e", Base: "enum", Args: []string{"it's", "b"}, Charset: "utf8mb4", Nullable: true},
	}}
	if _, err := tr.Adopt(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	if got := tr.From("d", "t"); got != FromMetadata {
		t.Errorf("defined by %s", got)
	}
	apply(t, tr, Statement{MariaDB: true, Captured: all, At: at(10)}, "ALTER TABLE t ADD n INT FIRST")
	again := NewTracker(DefaultConfig(), nil, kept)
	if err := again.Load(t.Context(), at(10)); err != nil {
		t.Fatal(err)
	}
	want := []Column{
		{Name: "n", Type: "INT", Base: "int", Nullable: true},
		{Name: "id", Type: "int(10) unsigned", Base: "int", Unsigned: true, Key: true},
		{Name: "e", Type: "enum('it''s','b')", Base: "enum", Args: []string{"it's", "b"}, Charset: "utf8mb4", Nullable: true},
	}
	if d := cmp.Diff(want, again.Known("d", "t").Columns); d != "" {
		t.Error(d)
	}
}
