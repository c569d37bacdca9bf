package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/layout"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// Apply follows a logged statement and returns what Canal would announce for
// it. ErrStatement: it leaves the layout of a captured table unknown.
func (t *Tracker) Apply(ctx context.Context, q Statement) ([]ddl.Result, error) {
	if q.At.Host == "" {
		q.At.Host, q.At.Port = t.origin.Host, t.origin.Port
	}
	t.before, t.at = t.at, q.At
	st, unread := parse(q)
	if err := t.learn(ctx, st, q); err != nil {
		return st.Results, err
	}
	changed, err := t.follow(st, unread, q)
	if err != nil {
		return st.Results, err
	}
	if !changed {
		return st.Results, nil
	}
	if err := t.confirm(ctx, st, q); err != nil {
		return st.Results, err
	}
	err = t.record(ctx, Entry{At: q.At, Start: q.Start, SQL: q.SQL, Database: q.Database, SQLMode: q.SQLMode, MariaDB: q.MariaDB, Version: q.Version, Charset: q.Charset})
	if err != nil {
		return st.Results, err
	}
	return st.Results, t.snapshot(ctx, q.At)
}

// learn asks the source for the default character sets of databases that a
// statement needs and nobody has described, once.
func (t *Tracker) learn(ctx context.Context, st ddl.Statement, q Statement) error {
	if t.source == nil || q.Captured == nil {
		return nil
	}
	for _, c := range st.Changes {
		schema := ""
		switch c := c.(type) {
		case ddl.CreateTable:
			if c.Charset == "" && c.Collation == "" && q.Captured(c.Schema, c.Table) {
				schema = c.Schema
			}
		case ddl.AlterTable:
			if t.find(c.Schema, c.Table) != nil && q.Captured(c.Schema, c.Table) {
				schema = c.Schema
			}
		}
		k := t.key(schema, "").schema
		if _, known := t.databases[k]; known || schema == "" {
			continue
		}
		text, err := t.source.ShowCreateDatabase(ctx, schema)
		if errors.Is(err, ErrNoTable) { // it is gone since
			t.databases[k] = t.config.Charset
			continue
		}
		if err != nil {
			return err
		}
		e := Entry{At: t.before, Schema: schema, SQL: text, MariaDB: t.config.MariaDB, Version: t.config.Version}
		if err := t.take(e); err != nil {
			return err
		}
		if err := t.record(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func parse(q Statement) (ddl.Statement, error) {
	return ddl.Parse(q.SQL, q.Database, ddl.Options{SQLMode: q.SQLMode, MariaDB: q.MariaDB, Version: q.Version})
}

// replay applies a statement to the layouts and reports whether it changed any.
func (t *Tracker) replay(q Statement) (ddl.Statement, bool, error) {
	st, unread := parse(q)
	changed, err := t.follow(st, unread, q)
	return st, changed, err
}

// follow applies what was read of a statement, and err, what was not.
func (t *Tracker) follow(st ddl.Statement, err error, q Statement) (bool, error) {
	if err != nil && len(st.Changes) == 0 {
		t.unread++ // it names no table
	}
	t.rules, t.script = layout.Rules{MariaDB: q.MariaDB}, q.script
	if t.config.ServerTypes || q.script {
		t.rules.Types = &show.Server{MariaDB: q.MariaDB, Version: q.Version}
	}
	changed := false
	for _, c := range st.Changes {
		if q.Session {
			c = ofSession(c)
		}
		why := err
		if _, ok := c.(ddl.Forget); !ok {
			var did bool
			did, why = t.change(c, cmp.Or(q.Charset, t.config.Charset))
			changed = changed || did
		}
		if why == nil {
			continue
		}
		n := subject(c)
		if q.Captured != nil && q.Captured(n.Schema, n.Table) {
			return changed, fmt.Errorf("%w: %s.%s at %s:%d: %w: %s", ErrStatement, n.Schema, n.Table, q.At.File, q.At.Offset, why, shorten(q.SQL))
		}
		t.unread++
		changed = t.drop(n) || changed
	}
	return changed, nil
}

// ofSession is what a statement does that uses a temporary table: it alters that
// one, or takes its layout, which nobody knows.
func ofSession(c ddl.Change) ddl.Change {
	switch c := c.(type) {
	case ddl.AlterTable:
		return ddl.DropTable{Name: c.Name, Temporary: true}
	case ddl.CreateLike:
		return ddl.CreateTable{Name: c.Name, Unknown: true, Temporary: c.Temporary, IfNotExists: c.IfNotExists}
	}
	return c
}

// subject is the table that a change is about.
func subject(c ddl.Change) ddl.Name {
	switch c := c.(type) {
	case ddl.AlterTable:
		return c.Name
	case ddl.Forget:
		return c.Name
	}
	return ddl.Name{}
}

// shorten cuts a statement for an error message.
func shorten(sql string) string {
	if len(sql) > 200 {
		return strings.ToValidUTF8(sql[:200], "") + "…"
	}
	return sql
}

// change applies one effect and reports whether any layout or database changed.
func (t *Tracker) change(c ddl.Change, fallback string) (bool, error) {
	switch c := c.(type) {
	case ddl.CreateTable:
		return t.createTable(c), nil
	case ddl.CreateLike:
		return t.createLike(c), nil
	case ddl.AlterTable:
		return t.alterTable(c)
	case ddl.RenameTable:
		return t.rename(c.From, c.To), nil
	case ddl.DropTable:
		return !c.Temporary && t.drop(c.Name), nil
	case ddl.Database:
		return t.database(c, fallback), nil
	case ddl.DropDatabase:
		return t.dropDatabase(c.Schema), nil
	}
	return false, nil
}

func (t *Tracker) drop(n ddl.Name) bool {
	l := t.find(n.Schema, n.Table)
	if l != nil {
		delete(t.tables, t.key(l.Schema, l.Name))
	}
	return l != nil
}

func (t *Tracker) put(n ddl.Name, l *layout.Layout) {
	n = t.name(n)
	table := *l.Table
	table.Schema, table.Name = n.Schema, n.Table
	l.Table = &table
	t.tables[t.key(n.Schema, n.Table)] = l
}

// createTable tracks a new table. A temporary one hides a table for its session
// only, and its rows are never logged as rows.
func (t *Tracker) createTable(c ddl.CreateTable) bool {
	switch {
	case c.Temporary, c.IfNotExists && t.find(c.Schema, c.Table) != nil:
		return false
	case c.Unknown:
		return t.drop(c.Name)
	}
	l := t.create(c)
	l.From = FromStatement
	if t.script {
		l.From = FromScript
	}
	t.put(c.Name, l)
	return true
}

// create is the layout that a CREATE TABLE defines.
func (t *Tracker) create(c ddl.CreateTable) *layout.Layout {
	database := t.charset(c.Schema)
	c.Name = t.name(c.Name)
	return t.rules.Create(c, database)
}

func (t *Tracker) createLike(c ddl.CreateLike) bool {
	if c.Temporary || c.IfNotExists && t.find(c.Schema, c.Table) != nil {
		return false
	}
	l := t.find(c.Like.Schema, c.Like.Table)
	if l == nil {
		return t.drop(c.Name)
	}
	copied := *l
	t.put(c.Name, &copied)
	return true
}

// rename moves a table. A table that is not tracked stays so under its new
// name.
func (t *Tracker) rename(from, to ddl.Name) bool {
	l := t.find(from.Schema, from.Table)
	if l == nil {
		return t.drop(to)
	}
	t.drop(ddl.Name{Schema: l.Schema, Table: l.Name})
	moved := *l
	t.put(to, &moved)
	return true
}

func (t *Tracker) alterTable(c ddl.AlterTable) (bool, error) {
	changed := false
	if l := t.find(c.Schema, c.Table); l != nil && len(c.Items) > 0 {
		l, err := t.rules.Alter(l, c, t.charset(l.Schema))
		if err != nil {
			return false, err
		}
		t.put(ddl.Name{Schema: l.Schema, Table: l.Name}, l)
		changed = true
	}
	if c.RenameTo != (ddl.Name{}) {
		changed = t.rename(c.Name, c.RenameTo) || changed
	}
	return changed, nil
}

// charset is the default character set of a database.
func (t *Tracker) charset(schema string) string {
	if cs := t.databases[t.key(schema, "").schema]; cs != "" {
		return cs
	}
	return t.config.Charset
}

func (t *Tracker) database(c ddl.Database, fallback string) bool {
	k := t.key(c.Schema, "").schema
	was, known := t.databases[k]
	if c.Create && c.IfNotExists && known {
		return false
	}
	cs := layout.Charset(c.Charset, c.Collation, fallback)
	if c.Charset == "" && c.Collation == "" && !c.Create {
		cs = was
	}
	t.databases[k] = cs
	return cs != was
}

func (t *Tracker) dropDatabase(schema string) bool {
	k := t.key(schema, "").schema
	_, changed := t.databases[k]
	delete(t.databases, k)
	for name := range t.tables {
		if name.schema == k {
			delete(t.tables, name)
			changed = true
		}
	}
	return changed
}

// confirm settles a CREATE TABLE IF NOT EXISTS of a captured table that was not
// tracked: if the table was there already, the statement's text does not say
// what it looks like. Another number of columns, or other types, will show in
// the table map; other names would not, so there the server's word counts.
func (t *Tracker) confirm(ctx context.Context, st ddl.Statement, q Statement) error {
	if t.source == nil || q.Captured == nil {
		return nil
	}
	for _, c := range st.Changes {
		c, ok := c.(ddl.CreateTable)
		if !ok || !c.IfNotExists || !q.Captured(c.Schema, c.Table) {
			continue
		}
		mine := t.find(c.Schema, c.Table)
		if mine == nil {
			continue
		}
		theirs, _, err := t.fetch(ctx, c.Schema, c.Table)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err == nil && sameTypes(mine.Columns, theirs.Columns) && !sameNames(mine.Columns, theirs.Columns):
			t.Forget(c.Schema, c.Table)
		}
	}
	return nil
}

func sameTypes(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(a, b Column) bool { return a.Base == b.Base && a.Unsigned == b.Unsigned })
}

func sameNames(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(a, b Column) bool { return strings.EqualFold(a.Name, b.Name) })
}
