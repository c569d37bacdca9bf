package ddl

import "github.com/canal-relay/canal-relay/relay/schema/ddl/lex"

// statement reads one statement by its first words, up to its end or to where
// nothing of interest follows.
func (p *parser) statement() {
	t := p.Take()
	switch {
	case t.Is("CREATE"):
		p.create()
	case t.Is("ALTER"):
		p.alter()
	case t.Is("DROP"):
		p.drop()
	case t.Is("TRUNCATE"):
		p.Accept("TABLE")
		p.list(func() { p.result(Truncate, p.subject(Truncate)) })
	case t.Is("RENAME"):
		p.rename()
	case t.Is("USE"):
		p.db = p.ident()
		p.change(Use{p.db})
	case t.Is("INSERT"):
		p.AcceptAll("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
		p.dml(Insert, false)
	case t.Is("UPDATE"):
		p.AcceptAll("LOW_PRIORITY", "IGNORE")
		p.dml(Update, false)
	case t.Is("DELETE"):
		p.AcceptAll("LOW_PRIORITY", "QUICK", "IGNORE")
		p.dml(Delete, !p.Accept("FROM")) // DELETE a, b FROM …
	case t.Is("WITH"):
		p.with()
	case t.IsPunct('('), t.Any(silent...):
		p.Stop()
	default:
		p.unknown()
	}
}

// silent are the first words of statements that name no table we follow and
// that Canal does not announce.
var silent = []string{
	"ANALYZE", "BEGIN", "BINLOG", "CACHE", "CALL", "CHANGE", "CHECK", "CHECKSUM", "COMMIT", "DEALLOCATE", "DO", "EXECUTE", "EXPLAIN",
	"FLUSH", "GRANT", "HANDLER", "INSTALL", "KILL", "LOAD", "LOCK", "OPTIMIZE", "PREPARE", "PURGE", "RELEASE", "REPAIR", "REPLACE",
	"RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHOW", "SHUTDOWN", "SIGNAL", "START", "STOP", "TABLE", "UNINSTALL",
	"UNLOCK", "VALUES", "XA",
}

// unknown announces a statement that no table has to do with as Canal announces
// what its parser refuses.
func (p *parser) unknown() {
	p.result(Query, Name{})
	p.Stop()
}

// dml reads the table of a logged INSERT, UPDATE or DELETE. Canal announces a
// join under the first table that it names; because the others change too, no
// filter refuses it: a result without a table follows.
func (p *parser) dml(k Kind, joined bool) {
	n := Name{Schema: p.db}
	if p.Peek(2).IsPunct('*') { // DELETE a.* FROM …
		n.Table = p.ident()
	} else {
		n = p.name()
	}
	if k == Delete && p.Peek(0).IsPunct(',') {
		n = Name{Schema: p.db} // it announces none of several targets
	}
	for k != Insert && !p.End() && !joined && !p.Peek(0).Any("SET", "WHERE", "ORDER", "LIMIT", "RETURNING") {
		joined = p.Peek(0).IsPunct(',') || p.Peek(0).Any("JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "STRAIGHT_JOIN", "NATURAL", "USING")
		p.Skip()
	}
	if p.Failed() == "" {
		p.result(k, n)
		if joined && n.Table != "" {
			p.result(k, Name{Schema: p.db})
		}
	}
	p.Stop()
}

// with passes over common table expressions to the statement that they serve.
func (p *parser) with() {
	for !p.End() && !p.Peek(0).Any("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES", "TABLE") {
		p.Skip()
	}
	if !p.End() {
		p.statement()
	}
}

// create reads CREATE by the kind of thing it makes.
func (p *parser) create() {
	replace := p.Accept("OR", "REPLACE")
	formed := p.definer()
	temporary := p.Accept("TEMPORARY")
	p.AcceptAll("ONLINE", "OFFLINE")
	unique := p.Accept("UNIQUE")
	p.AcceptAll("FULLTEXT", "VECTOR", "AGGREGATE", "CLUSTERED")
	if p.Peek(0).Is("SPATIAL") && p.Peek(1).Is("INDEX") {
		p.Take()
	}
	switch t := p.Take(); {
	case !formed:
		p.unknown()
	case t.Is("TABLE"):
		p.createTable(replace, temporary)
	case t.Is("INDEX"):
		p.createIndex(unique)
	case t.Any("DATABASE", "SCHEMA"):
		p.createDatabase(replace)
	case t.Is("SEQUENCE"):
		p.createSequence(replace, temporary)
	case t.Any("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE", "TRIGGER", "EVENT", "USER", "ROLE", "SERVER", "TABLESPACE", "LOGFILE", "UNDO", "SPATIAL"):
		p.Stop()
	default:
		p.unknown()
	}
}

// definer takes what views and routines have before the word that names them;
// it reports whether it is well formed.
func (p *parser) definer() bool {
	for {
		switch {
		case p.Accept("ALGORITHM"):
			p.AcceptPunct('=')
			p.Take()
		case p.Accept("SQL", "SECURITY"):
			p.Take()
		case p.Accept("DEFINER"):
			p.AcceptPunct('=')
			p.Skip()
			if p.AcceptPunct('(') {
				p.AcceptPunct(')')
			}
			if p.AcceptPunct('@') {
				p.Take()
			}
			if p.Peek(0).Kind != lex.Word {
				return false
			}
		default:
			return true
		}
	}
}

// onTable reads ON t of an index statement.
func (p *parser) onTable(k Kind) Name {
	for !p.End() && !p.Peek(0).Is("ON") {
		p.Skip()
	}
	if !p.Accept("ON") {
		p.Fail("ON")
		return Name{}
	}
	n := p.subject(k)
	if p.Failed() == "" {
		p.result(k, n)
	}
	return n
}

// alter reads ALTER by the kind of thing it changes.
func (p *parser) alter() {
	formed := p.definer()
	p.AcceptAll("ONLINE", "OFFLINE", "IGNORE")
	switch t := p.Take(); {
	case !formed:
		p.unknown()
	case t.Is("TABLE"):
		p.alterTable()
	case t.Any("DATABASE", "SCHEMA"):
		p.alterDatabase()
	case t.Any("VIEW", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "TABLESPACE", "UNDO", "LOGFILE", "INSTANCE"):
		p.Stop()
	default:
		p.unknown()
	}
}

// drop reads DROP by the kind of thing it drops.
func (p *parser) drop() {
	temporary := p.Accept("TEMPORARY")
	p.AcceptAll("ONLINE", "OFFLINE")
	switch t := p.Take(); {
	case t.Any("TABLE", "TABLES"):
		p.ifExists()
		p.list(func() {
			n := p.subject(Erase)
			p.result(Erase, n)
			p.change(DropTable{n, temporary})
		})
	case t.Is("SEQUENCE"):
		p.ifExists()
		p.list(func() { p.change(DropTable{p.name(), temporary}) })
	case t.Is("INDEX"):
		p.ifExists()
		index := p.ident()
		n := p.onTable(DIndex)
		p.change(AlterTable{Name: n, Items: []Item{dropIndex(index, false)}})
	case t.Any("DATABASE", "SCHEMA"):
		p.ifExists()
		p.database(func(schema string) { p.change(DropDatabase{schema}) })
	case t.Any("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE", "TRIGGER", "EVENT", "USER", "ROLE", "SERVER", "TABLESPACE", "LOGFILE", "UNDO", "SPATIAL", "PREPARE"):
		p.Stop()
	default:
		p.unknown()
	}
}

// database takes a database's name and announces it as written, as Canal does.
func (p *parser) database(f func(schema string)) {
	text := p.Peek(0).Text
	schema := p.ident()
	if p.Failed() == "" {
		p.result(Query, Name{Schema: text})
		f(schema)
	}
}

func (p *parser) createDatabase(replace bool) {
	exists := p.ifExists()
	p.database(func(schema string) {
		charset, collation := p.defaults()
		if replace {
			p.change(DropDatabase{schema})
		}
		p.change(Database{schema, charset, collation, true, exists})
	})
}

// alterDatabase reads ALTER DATABASE [d] options: Canal says nothing about it.
func (p *parser) alterDatabase() {
	schema := p.db
	if t := p.Peek(0); t.Kind == lex.Quoted || !t.Any("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ", "COMMENT", "UPGRADE") {
		schema = p.ident()
	}
	charset, collation := p.defaults()
	p.change(Database{Schema: schema, Charset: charset, Collation: collation})
}

// defaults reads the options of a database.
func (p *parser) defaults() (charset, collation string) {
	for !p.statementEnd() {
		if !p.charset(&charset) && !p.collate(&collation) {
			p.Skip()
		}
	}
	return charset, collation
}

// rename reads RENAME TABLE a TO b, …; other things renamed do not matter here.
func (p *parser) rename() {
	if !p.AcceptAny("TABLE", "TABLES") {
		if !p.Peek(0).Is("USER") {
			p.unknown()
		}
		p.Stop()
		return
	}
	p.ifExists()
	p.list(func() {
		from := p.name()
		p.wait()
		if p.Failed() == "" {
			p.kind, p.table = Rename, from
		}
		if !p.Accept("TO") {
			p.Fail("TO")
			return
		}
		to := p.name()
		if p.Failed() == "" {
			p.st.Results = append(p.st.Results, renamed(from, to))
			p.change(RenameTable{from, to})
		}
	})
}

// wait takes MariaDB's WAIT n and NOWAIT.
func (p *parser) wait() {
	if p.Peek(0).Is("WAIT") && p.Peek(1).Kind == lex.Number {
		p.Take()
		p.Take()
	}
	p.Accept("NOWAIT")
}
