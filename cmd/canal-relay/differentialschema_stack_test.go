//go:build stack

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// structures are all tables behind a statement, which ends at an offset of the binlog file.
type structures struct {
	sql    string
	end    uint32
	tables map[string]structure
}

// structure is a table: a line for each column, and the names of its primary key.
type structure struct{ columns, key []string }

// look reads all tables from information_schema, lays out what the test knows of them anew, and keeps them.
func (d *drift) look(sql string) {
	d.Helper()
	end, err := local.End(d.conn)
	if err != nil {
		d.Fatal(err)
	}
	now := structures{sql, end.Offset, map[string]structure{}}
	shapes := map[string]*valueShape{}
	for _, row := range d.query(`SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), IS_NULLABLE, EXTRA, COALESCE(GENERATION_EXPRESSION, ''), DATA_TYPE
		FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME)
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME, ORDINAL_POSITION`) {
		table, name := row[0], row[1]
		s := now.tables[table]
		s.columns = append(s.columns, structureLine(name, strings.Replace(row[2], " /*M!100301 COMPRESSED*/", "", 1), row[3],
			row[4] == "YES", strings.Contains(row[5], "INVISIBLE"), row[6] != ""))
		now.tables[table] = s
		if t := d.table(table); t != nil {
			if shapes[table] == nil {
				shapes[table] = &valueShape{name: table}
			}
			shapes[table].columns = append(shapes[table].columns, valueColumn{name, t.typeNow(name, row[2], row[3])})
		}
	}
	for _, row := range d.query("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME, SEQ_IN_INDEX") {
		s := now.tables[row[0]]
		s.key = append(s.key, row[1])
		now.tables[row[0]] = s
	}
	for name, shape := range shapes {
		shape.key = now.tables[name].key
		d.table(name).valueShape = shape
	}
	d.structures = append(d.structures, now)
}

func structureLine(name, kind, charset string, nullable, invisible, generated bool) string {
	if charset == "binary" {
		charset = ""
	}
	return fmt.Sprintf("%s %s charset=%s null=%v invisible=%v generated=%v", name, kind, charset, nullable, invisible, generated)
}

func (d *drift) table(name string) *driftTable {
	for _, t := range d.tables {
		if t.name == name {
			return t
		}
	}
	return nil
}

// typeNow is what the test knows of a column's type, with the character set that it has now.
func (t *driftTable) typeNow(name, columnType, charset string) *valueType {
	v, ok := t.types[name]
	switch {
	case name == t.id || name == t.n:
		v = valueType{ddl: columnType, sel: "%s"}
	case !ok:
		v, t.made[name] = valueType{ddl: columnType, sel: "%s"}, true // the server made it
	case v.kind != "" && v.charset != charset:
		v = textType(v.kind, charset, v.limit)
	case v.kind == "" && charset != "" && !strings.HasPrefix(charset, "utf8"):
		v.incomparable = v.incomparable || v.ddl == "JSON"
	}
	v.charset = charset
	t.types[name] = v
	return &v
}

func (d *drift) query(sql string) [][]string {
	d.Helper()
	r, err := d.conn.Execute(sql)
	if err != nil {
		d.Fatal(err)
	}
	rows := make([][]string, r.RowNumber())
	for i := range rows {
		for j := range r.Fields {
			text, _ := r.GetString(i, j)
			rows[i] = append(rows[i], text)
		}
	}
	return rows
}

// watched are the events of a file, with a look behind each of them.
type watched struct {
	binlog.Events
	seen func(end uint32)
}

func (w watched) Run(ctx context.Context, from position.Position, h binlog.Handler) error {
	return w.Events.Run(ctx, from, watcher{h, w.seen}) //nolint:wrapcheck // a test's
}

type watcher struct {
	binlog.Handler
	seen func(end uint32)
}

func (w watcher) HandleEvent(e *replication.BinlogEvent) error {
	err := w.Handler.HandleEvent(e)
	if err == nil {
		w.seen(e.Header.LogPos)
	}
	return err //nolint:wrapcheck // a test's
}

// compareStructures reads the binlog with the relay that serve runs and compares the tables that it tracks behind each
// DDL with what information_schema had then.
func (d *drift) compareStructures(path string) {
	d.Helper()
	conf, dir := d.conf, d.T.TempDir()
	if err := conf.Write(dir); err != nil {
		d.Fatal(err)
	}
	node, _, err := config.Load(dir, func(string) (string, bool) { return "", false })
	if err != nil {
		d.Fatal(err)
	}
	i := node.Instances[0].ForTail()
	i.Structures, i.Relay.Files = false, true // types as information_schema has them
	var s *assembly.Source
	left, gone := d.structures, map[string]bool{}
	seen := func(end uint32) {
		for len(left) > 0 && end >= left[0].end {
			d.compareTables(s.Tracker, left[0], gone)
			left = left[1:]
		}
	}
	log := slog.New(slog.DiscardHandler)
	if s, err = assembly.NewSource(&i, position.Resume{}, watched{binlog.NewFiles(path), seen}, nil, nil, nil, log); err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.Error(err)
			break
		}
		s.Release(batch)
	}
	cancel()
	<-ended
	if len(left) > 0 && !d.Failed() {
		d.Errorf("%d of %d statements were not met in the binlog", len(left), len(d.structures))
	}
}

func (d *drift) compareTables(tracker *schema.Tracker, want structures, gone map[string]bool) {
	d.Helper()
	for name := range gone {
		if _, back := want.tables[name]; !back && tracker.Known(d.world.name, name) != nil {
			d.Errorf("behind %.300s: %s is tracked, and is not there", want.sql, name)
		}
	}
	for name, s := range want.tables {
		gone[name] = true
		table := tracker.Known(d.world.name, name)
		if table == nil {
			d.Errorf("behind %.300s: %s is not tracked", want.sql, name)
			continue
		}
		var got structure
		for _, c := range table.Columns {
			got.columns = append(got.columns, structureLine(c.Name, c.Type, c.Charset, c.Nullable, c.Invisible, c.Generated))
		}
		if n := len(got.columns); n == len(s.columns)+2 && table.Columns[n-2].Invisible && table.Columns[n-2].Name == "row_start" {
			got.columns = got.columns[:n-2] // those of system versioning, which information_schema does not have
		}
		for _, k := range table.PrimaryKey {
			got.key = append(got.key, table.Columns[k].Name)
		}
		if d.wrong[name] {
			continue // and named before
		}
		if !slices.Equal(got.key, s.key) {
			d.wrong[name] = true
			d.Errorf("behind %.300s: the key of %s is %q, the server's %q", want.sql, name, got.key, s.key)
		}
		for i := range max(len(got.columns), len(s.columns)) {
			mine, server := at(got.columns, i), at(s.columns, i)
			if mine != server {
				d.wrong[name] = true
				d.Errorf("behind %.300s: column %d of %s is %q, the server's %q", want.sql, i, name, mine, server)
			}
		}
	}
}

// at is a line of a list, if it has so many, shortened in the middle.
func at(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	if line := lines[i]; len(line) > 300 {
		return line[:100] + "…" + fmt.Sprintf("%x", crc32.ChecksumIEEE([]byte(line))) + "…" + line[len(line)-150:]
	}
	return lines[i]
}
