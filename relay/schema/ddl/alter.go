package ddl

import (
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

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
	if p.Failed() != "" {
		return
	}
	p.wait()
	a := &alteration{parser: p, table: n, effect: AlterTable{Name: n}}
	for !p.statementEnd() {
		a.item()
		p.AcceptPunct(',')
	}
	if p.Failed() != "" {
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
	switch t := a.Take(); {
	case a.Peek(0).Is("PARTITION") && !t.Is("CONVERT"): // TRUNCATE PARTITION a, b and the like stand alone
		a.announce(Alter)
		a.skipStatement()
	case t.Is("ADD"):
		a.addItem()
	case t.Is("DROP"):
		a.dropItem()
	case t.Any("MODIFY", "CHANGE"):
		a.changeItem(t.Is("MODIFY"))
	case t.Is("RENAME"):
		a.renameItem()
	case t.Is("ALTER"):
		a.alterItem()
	case t.Is("CONVERT"):
		a.convertItem()
	case t.Is("ORDER"):
		a.orderItem()
	case t.Is("PARTITION") && a.Peek(0).Is("BY"), t.Is("REMOVE"): // Canal says nothing about either
		a.skipStatement()
	case t.Any("ALGORITHM", "LOCK", "ANALYZE", "CHECK", "COALESCE", "DISABLE", "DISCARD", "ENABLE", "EXCHANGE", "FORCE", "IMPORT", "OPTIMIZE", "REBUILD",
		"REORGANIZE", "REPAIR", "SECONDARY_LOAD", "SECONDARY_UNLOAD", "TRUNCATE", "UPGRADE", "VALIDATION", "WITH", "WITHOUT"):
		a.announce(Alter)
		a.skipItem()
	default:
		a.Untake(t)
		a.Fail("an item of ALTER TABLE")
	}
}

// tableOption takes a table option.
func (a *alteration) tableOption() bool {
	var charset, collation string
	switch t := a.Peek(0); {
	case a.charset(&charset):
		a.collate(&collation)
	case a.collate(&collation):
	case t.Any("DATA", "INDEX") && a.Peek(1).Is("DIRECTORY"):
		a.Take()
		a.Take()
		a.option()
	case t.Any("ALGORITHM", "LOCK", "RENAME"):
		return false
	case t.Any(tableWords...), t.Kind != lex.Punct && a.Peek(1).IsPunct('='):
		a.Take()
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
	if k := a.constraint(); k.any {
		a.addConstraint(k)
		return
	}
	switch {
	case a.Peek(0).Is("PERIOD") && a.Peek(1).Is("FOR"):
		a.announce(Alter)
		if period := a.period(); !strings.EqualFold(period[0], "SYSTEM_TIME") {
			a.add(Item{Op: AddPeriod, Keys: period})
		}
	case a.Accept("SYSTEM", "VERSIONING"):
		a.announce(Alter)
		a.add(Item{Op: AddVersioning})
	default:
		a.announce(Alter)
		a.Accept("COLUMN")
		exists := a.ifExists()
		if !a.AcceptPunct('(') {
			a.addColumn(exists)
			return
		}
		a.list(func() {
			if k := a.constraint(); k.any {
				a.addKeys(k)
				a.skipItem()
				return
			}
			a.addColumn(exists)
		})
		if !a.AcceptPunct(')') {
			a.Fail("a closing bracket")
		}
	}
}

// addConstraint announces a key. Canal says nothing about foreign keys and
// checks.
func (a *alteration) addConstraint(k constraint) {
	if !a.Peek(0).Any("FOREIGN", "CHECK") {
		a.announce(CIndex)
	}
	a.addKeys(k)
	a.skipItem()
}

func (a *alteration) addKeys(k constraint) {
	if k.primary != nil {
		a.add(Item{Op: AddPrimaryKey, Keys: k.primary})
	}
	if k.unique != nil {
		a.add(Item{Op: AddUnique, Unique: *k.unique})
	}
}

func (a *alteration) addColumn(exists bool) {
	i := Item{Op: AddColumn, Column: a.column(), If: exists}
	a.place(&i)
	a.add(i)
}

// place takes FIRST and AFTER.
func (a *alteration) place(i *Item) {
	switch {
	case a.Accept("FIRST"):
		i.First = true
	case a.Accept("AFTER"):
		i.After = a.ident()
	}
	if !a.itemEnd() && !a.Peek(0).Any("PARTITION", "REMOVE") {
		a.Fail("a comma")
	}
}

func (a *alteration) dropItem() {
	switch {
	case a.Accept("PRIMARY", "KEY"):
		a.announce(Alter)
		a.add(Item{Op: DropPrimaryKey})
	case a.AcceptAny("INDEX", "KEY", "CONSTRAINT"):
		a.announce(DIndex)
		exists := a.ifExists()
		a.add(dropIndex(a.ident(), exists))
	case a.Accept("FOREIGN", "KEY"):
		a.announce(DIndex)
	case a.Accept("SYSTEM", "VERSIONING"):
		a.announce(Alter)
		a.add(Item{Op: DropVersioning})
	case a.Peek(0).Is("CHECK"), a.Peek(0).Is("PERIOD") && a.Peek(1).Is("FOR"):
		a.announce(Alter)
	default:
		a.announce(Alter)
		a.Accept("COLUMN")
		exists := a.ifExists()
		a.add(Item{Op: DropColumn, Old: a.ident(), If: exists})
	}
	a.skipItem()
}

func (a *alteration) changeItem(modify bool) {
	a.announce(Alter)
	a.Accept("COLUMN")
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
	case a.Accept("COLUMN"):
		a.announce(Alter)
		i := Item{Op: RenameColumn, If: a.ifExists(), Old: a.ident()}
		if !a.Accept("TO") {
			a.Fail("TO")
		}
		i.Column.Name = a.ident()
		a.add(i)
	case a.AcceptAny("INDEX", "KEY"):
		a.announce(Alter)
		a.ifExists()
		i := Item{Op: RenameIndex, Old: a.ident()}
		if a.Accept("TO") {
			i.Unique.Name = a.ident()
		}
		a.add(i)
	default:
		if !a.AcceptAny("TO", "AS") {
			a.AcceptPunct('=')
		}
		to := a.name()
		a.results = append(a.results, renamed(a.table, to))
		a.effect.RenameTo = to
	}
}

// alterItem reads ALTER [COLUMN] c …, of which only its visibility matters.
func (a *alteration) alterItem() {
	a.announce(Alter)
	if a.Peek(0).Any("INDEX", "KEY", "CHECK", "CONSTRAINT") {
		a.skipItem()
		return
	}
	a.Accept("COLUMN")
	exists := a.ifExists()
	name := a.ident()
	if hidden := a.Accept("SET", "INVISIBLE"); hidden || a.Accept("SET", "VISIBLE") {
		a.add(Item{Op: SetVisibility, Old: name, If: exists, Column: Column{Invisible: hidden}})
	}
	a.skipItem()
}

// convertItem reads CONVERT TO CHARACTER SET, and MariaDB's conversions between
// tables and partitions.
func (a *alteration) convertItem() {
	a.announce(Alter)
	i := Item{Op: ConvertCharset}
	switch {
	case a.Accept("TO"):
		if !a.charset(&i.Charset) {
			a.Fail("CHARACTER SET")
		}
		a.collate(&i.Collation)
		a.add(i)
	case a.Accept("TABLE"): // it becomes a partition of this one
		a.others = append(a.others, DropTable{Name: a.name()})
		a.skipStatement()
	case a.Accept("PARTITION"): // it becomes a table
		a.ident()
		if !a.Accept("TO", "TABLE") {
			a.Fail("TO TABLE")
			return
		}
		a.others = append(a.others, CreateLike{Name: a.name(), Like: a.table})
		a.skipItem()
	default:
		a.Fail("TO")
	}
}

// orderItem reads ORDER BY a, b DESC: a comma goes on with the list when one
// column follows it.
func (a *alteration) orderItem() {
	a.announce(Alter)
	a.Accept("BY")
	for {
		a.name()
		a.AcceptAny("ASC", "DESC")
		next := a.Peek(2)
		if !a.Peek(0).IsPunct(',') || next.Kind != lex.End && !next.IsPunct(',') && !next.IsPunct('.') && !next.IsPunct(';') && !next.Any("ASC", "DESC") {
			return
		}
		a.Take()
	}
}
