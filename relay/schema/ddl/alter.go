package ddl

import "strings"

// tableWords are the options of ALTER TABLE that may stand without an equals
// sign. With one, any word is an option: engines have their own.
var tableWords = []string{
	"AUTOEXTEND_SIZE", "AUTO_INCREMENT", "AVG_ROW_LENGTH", "CHECKSUM", "COMMENT", "COMPRESSION", "CONNECTION", "DELAY_KEY_WRITE", "ENCRYPTION",
	"ENGINE", "ENGINE_ATTRIBUTE", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PAGE_CHECKSUM", "PASSWORD",
	"ROW_FORMAT", "SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "STORAGE",
	"TABLE_CHECKSUM", "TABLESPACE", "TRANSACTIONAL", "TYPE", "UNION",
}

// alterTable reads ALTER TABLE from the table's name on. Canal announces table
// options first, whatever their place, then the items one by one.
func (p *parser) alterTable() {
	p.ifExists()
	n := p.subject(Alter)
	if p.failed != "" {
		return
	}
	p.wait()
	a := &alteration{parser: p, table: n, effect: AlterTable{Name: n}}
	for !p.end() && !p.peek(0).punct(';') {
		a.item()
		p.acceptPunct(',')
	}
	if p.failed != "" {
		return
	}
	if a.options {
		p.result(Alter, n)
	}
	p.st.Results = append(p.st.Results, a.results...)
	if len(a.effect.Items) > 0 || a.effect.RenameTo != (Name{}) {
		p.change(a.effect)
	}
	p.st.Changes = append(p.st.Changes, a.others...)
}

// alteration is one ALTER TABLE while it is read.
type alteration struct {
	*parser
	table   Name
	options bool // there was a table option
	results []Result
	effect  AlterTable
	others  []Change // effects on other tables
}

func (a *alteration) announce(k Kind) {
	a.results = append(a.results, Result{Kind: k, Schema: a.table.Schema, Table: a.table.Table})
}

func (a *alteration) add(i Item) { a.effect.Items = append(a.effect.Items, i) }

// item reads one item, an option or a partitioning clause.
func (a *alteration) item() {
	if a.tableOption() {
		return
	}
	switch t := a.take(); {
	case a.peek(0).is("PARTITION") && !t.is("CONVERT"): // TRUNCATE PARTITION a, b and the like stand alone
		a.announce(Alter)
		a.skipToEnd()
	case t.is("ADD"):
		a.addItem()
	case t.is("DROP"):
		a.dropItem()
	case t.any("MODIFY", "CHANGE"):
		a.changeItem(t.is("MODIFY"))
	case t.is("RENAME"):
		a.renameItem()
	case t.is("ALTER"):
		a.alterItem()
	case t.is("CONVERT"):
		a.convertItem()
	case t.is("ORDER"):
		a.orderItem()
	case t.is("PARTITION") && a.peek(0).is("BY"), t.is("REMOVE"): // Canal says nothing about either
		a.skipToEnd()
	case t.any("ALGORITHM", "LOCK", "ANALYZE", "CHECK", "COALESCE", "DISABLE", "DISCARD", "ENABLE", "EXCHANGE", "FORCE", "IMPORT", "OPTIMIZE", "REBUILD",
		"REORGANIZE", "REPAIR", "SECONDARY_LOAD", "SECONDARY_UNLOAD", "TRUNCATE", "UPGRADE", "VALIDATION", "WITH", "WITHOUT"):
		a.announce(Alter)
		a.skipItem()
	default:
		a.ahead = append([]token{t}, a.ahead...)
		a.fail("an item of ALTER TABLE")
	}
}

// skipToEnd passes over the rest of the statement.
func (a *alteration) skipToEnd() {
	for !a.end() && !a.peek(0).punct(';') {
		a.skip()
	}
}

// tableOption takes a table option.
func (a *alteration) tableOption() bool {
	var charset, collation string
	switch t := a.peek(0); {
	case a.charset(&charset):
		a.collate(&collation)
	case a.collate(&collation):
	case t.any("DATA", "INDEX") && a.peek(1).is("DIRECTORY"):
		a.take()
		a.take()
		a.option()
	case t.any("ALGORITHM", "LOCK"):
		return false
	case t.any(tableWords...), t.kind != tokenPunct && a.peek(1).punct('='):
		a.take()
		a.option()
	default:
		return false
	}
	if charset != "" || collation != "" {
		a.add(Item{Op: DefaultCharset, Charset: charset, Collation: collation})
	}
	a.options = true
	return true
}

func (a *alteration) addItem() {
	if keys, ok := a.constraint(); ok {
		a.addConstraint(keys)
		return
	}
	switch {
	case a.peek(0).is("PERIOD") && a.peek(1).is("FOR"):
		a.announce(Alter)
		if period := a.period(); !strings.EqualFold(period[0], "SYSTEM_TIME") {
			a.add(Item{Op: AddPeriod, Keys: period})
		}
	case a.accept("SYSTEM", "VERSIONING"):
		a.announce(Alter)
		a.add(Item{Op: AddVersioning})
	default:
		a.announce(Alter)
		a.accept("COLUMN")
		exists := a.ifExists()
		if !a.acceptPunct('(') {
			a.addColumn(exists)
			return
		}
		a.list(func() {
			if keys, ok := a.constraint(); ok {
				if keys != nil {
					a.add(Item{Op: AddPrimaryKey, Keys: keys})
				}
				a.skipItem()
				return
			}
			a.addColumn(exists)
		})
		if !a.acceptPunct(')') {
			a.fail("a closing bracket")
		}
	}
}

// addConstraint announces a key. Canal says nothing about foreign keys and
// checks.
func (a *alteration) addConstraint(primary []string) {
	t := a.peek(0)
	switch {
	case primary != nil:
		a.announce(CIndex)
		a.add(Item{Op: AddPrimaryKey, Keys: primary})
	case !t.any("FOREIGN", "CHECK"):
		a.announce(CIndex)
	}
	a.skipItem()
}

func (a *alteration) addColumn(exists bool) {
	i := Item{Op: AddColumn, Column: a.column(), If: exists}
	a.place(&i)
	a.add(i)
}

// place takes FIRST and AFTER.
func (a *alteration) place(i *Item) {
	switch {
	case a.accept("FIRST"):
		i.First = true
	case a.accept("AFTER"):
		i.After = a.ident()
	}
	if !a.itemEnd() && !a.peek(0).any("PARTITION", "REMOVE") {
		a.fail("a comma")
	}
}

func (a *alteration) dropItem() {
	switch {
	case a.accept("PRIMARY", "KEY"):
		a.announce(Alter)
		a.add(Item{Op: DropPrimaryKey})
	case a.acceptAny("INDEX", "KEY", "CONSTRAINT"):
		a.announce(DIndex)
		exists := a.ifExists()
		if isPrimary(a.ident()) {
			a.add(Item{Op: DropPrimaryKey, If: exists})
		}
	case a.accept("FOREIGN", "KEY"):
		a.announce(DIndex)
	case a.accept("SYSTEM", "VERSIONING"):
		a.announce(Alter)
		a.add(Item{Op: DropVersioning})
	case a.peek(0).is("CHECK"), a.peek(0).is("PERIOD") && a.peek(1).is("FOR"):
		a.announce(Alter)
	default:
		a.announce(Alter)
		a.accept("COLUMN")
		exists := a.ifExists()
		a.add(Item{Op: DropColumn, Old: a.ident(), If: exists})
	}
	a.skipItem()
}

func (a *alteration) changeItem(modify bool) {
	a.announce(Alter)
	a.accept("COLUMN")
	i := Item{Op: ChangeColumn, If: a.ifExists()}
	if !modify {
		i.Old = a.ident()
	}
	i.Column = a.column()
	if modify {
		i.Old = i.Column.Name
	}
	a.place(&i)
	a.add(i)
}

func (a *alteration) renameItem() {
	switch {
	case a.accept("COLUMN"):
		a.announce(Alter)
		i := Item{Op: RenameColumn, If: a.ifExists(), Old: a.ident()}
		if !a.accept("TO") {
			a.fail("TO")
		}
		i.Column.Name = a.ident()
		a.add(i)
	case a.acceptAny("INDEX", "KEY"):
		a.announce(Alter)
		a.skipItem()
	default:
		if !a.acceptAny("TO", "AS") {
			a.acceptPunct('=')
		}
		to := a.name()
		a.results = append(a.results, Result{Kind: Rename, Schema: to.Schema, Table: to.Table, OldSchema: a.table.Schema, OldTable: a.table.Table})
		a.effect.RenameTo = to
	}
}

// alterItem reads ALTER [COLUMN] c …, of which only its visibility matters.
func (a *alteration) alterItem() {
	a.announce(Alter)
	if a.peek(0).any("INDEX", "KEY", "CHECK", "CONSTRAINT") {
		a.skipItem()
		return
	}
	a.accept("COLUMN")
	exists := a.ifExists()
	name := a.ident()
	switch {
	case a.accept("SET", "INVISIBLE"):
		a.add(Item{Op: SetInvisible, Old: name, If: exists})
	case a.accept("SET", "VISIBLE"):
		a.add(Item{Op: SetVisible, Old: name, If: exists})
	}
	a.skipItem()
}

// convertItem reads CONVERT TO CHARACTER SET, and MariaDB's conversions between
// tables and partitions.
func (a *alteration) convertItem() {
	a.announce(Alter)
	i := Item{Op: ConvertCharset}
	switch {
	case a.accept("TO"):
		if !a.charset(&i.Charset) {
			a.fail("CHARACTER SET")
		}
		a.collate(&i.Collation)
		a.add(i)
	case a.accept("TABLE"): // it becomes a partition of this one
		a.others = append(a.others, DropTable{Name: a.name()})
		a.skipToEnd()
	case a.accept("PARTITION"): // it becomes a table
		a.ident()
		if !a.accept("TO", "TABLE") {
			a.fail("TO TABLE")
			return
		}
		a.others = append(a.others, CreateLike{Name: a.name(), Like: a.table})
		a.skipItem()
	default:
		a.fail("TO")
	}
}

// orderItem reads ORDER BY a, b DESC: a comma goes on with the list when one
// column follows it.
func (a *alteration) orderItem() {
	a.announce(Alter)
	a.accept("BY")
	for {
		a.name()
		a.acceptAny("ASC", "DESC")
		next := a.peek(2)
		if !a.peek(0).punct(',') || next.kind != tokenEnd && !next.punct(',') && !next.punct('.') && !next.punct(';') && !next.any("ASC", "DESC") {
			return
		}
		a.take()
	}
}
