package ddl

// statement reads one statement by its first words, up to its end or to where
// nothing of interest follows.
func (p *parser) statement() {
	t := p.take()
	switch {
	case t.is("CREATE"):
		p.create()
	case t.is("ALTER"):
		p.alter()
	case t.is("DROP"):
		p.drop()
	case t.is("TRUNCATE"):
		p.accept("TABLE")
		p.list(func() { p.result(Truncate, p.subject(Truncate)) })
	case t.is("RENAME"):
		p.rename()
	case t.is("USE"):
		p.db = p.ident()
		p.change(Use{p.db})
	case t.is("INSERT"):
		p.acceptWords("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
		p.dml(Insert)
	case t.is("UPDATE"):
		p.acceptWords("LOW_PRIORITY", "IGNORE")
		p.dml(Update)
	case t.is("DELETE"):
		p.acceptWords("LOW_PRIORITY", "QUICK", "IGNORE")
		if p.accept("FROM") {
			p.dml(Delete)
		} else { // DELETE a, b FROM …: no one table
			p.result(Delete, Name{Schema: p.db})
		}
		p.rest()
	case t.is("WITH"):
		p.with()
	case t.punct('('), t.any(silent...):
		p.rest()
	default:
		p.result(Query, Name{})
		p.rest()
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

// acceptWords takes the next words as long as they are among these.
func (p *parser) acceptWords(words ...string) {
	for p.acceptAny(words...) {
	}
}

// rest passes over everything that is left: a routine's body, or rows.
func (p *parser) rest() {
	p.lex.i = len(p.lex.s)
	p.ahead = nil
}

// dml reads the table of a logged INSERT, UPDATE or DELETE. A join has no one
// table.
func (p *parser) dml(k Kind) {
	n := p.name()
	joined := false
	if k != Insert {
		for !p.end() && !joined && !p.peek(0).any("SET", "WHERE", "ORDER", "LIMIT", "RETURNING") {
			joined = p.peek(0).punct(',') || p.peek(0).any("JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "STRAIGHT_JOIN", "NATURAL", "USING")
			p.skip()
		}
	}
	if joined {
		n = Name{Schema: p.db}
	}
	if p.failed == "" {
		p.result(k, n)
	}
	p.rest()
}

// with passes over common table expressions to the statement that they serve.
func (p *parser) with() {
	for !p.end() && !p.peek(0).any("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES", "TABLE") {
		p.skip()
	}
	if !p.end() {
		p.statement()
	}
}

// create reads CREATE by the kind of thing it makes.
func (p *parser) create() {
	replace := p.accept("OR", "REPLACE")
	if !p.definer() {
		p.result(Query, Name{})
		p.rest()
		return
	}
	temporary := p.accept("TEMPORARY")
	p.acceptWords("ONLINE", "OFFLINE", "UNIQUE", "FULLTEXT", "VECTOR", "AGGREGATE", "CLUSTERED")
	if p.peek(0).is("SPATIAL") && p.peek(1).is("INDEX") {
		p.take()
	}
	switch t := p.take(); {
	case t.is("TABLE"):
		p.createTable(replace, temporary)
	case t.is("INDEX"):
		p.ifExists()
		p.ident()
		p.onTable(CIndex)
	case t.any("DATABASE", "SCHEMA"):
		p.createDatabase(replace)
	case t.is("SEQUENCE"):
		p.createSequence(replace, temporary)
	case t.any("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE", "TRIGGER", "EVENT", "USER", "ROLE", "SERVER", "TABLESPACE", "LOGFILE", "UNDO", "SPATIAL"):
		p.rest()
	default:
		p.result(Query, Name{})
		p.rest()
	}
}

// definer takes what views and routines have before the word that names them;
// it reports whether it is well formed.
func (p *parser) definer() bool {
	for {
		switch {
		case p.accept("ALGORITHM"):
			p.acceptPunct('=')
			p.take()
		case p.accept("SQL", "SECURITY"):
			p.take()
		case p.accept("DEFINER"):
			p.acceptPunct('=')
			p.skip()
			if p.acceptPunct('(') {
				p.acceptPunct(')')
			}
			if p.acceptPunct('@') {
				p.take()
			}
			if p.peek(0).kind != tokenWord {
				return false
			}
		default:
			return true
		}
	}
}

// onTable reads ON t of an index statement.
func (p *parser) onTable(k Kind) Name {
	for !p.end() && !p.peek(0).is("ON") {
		p.skip()
	}
	if !p.accept("ON") {
		p.fail("ON")
		return Name{}
	}
	n := p.subject(k)
	if p.failed == "" {
		p.result(k, n)
	}
	return n
}

// alter reads ALTER by the kind of thing it changes.
func (p *parser) alter() {
	if !p.definer() {
		p.result(Query, Name{})
		p.rest()
		return
	}
	p.acceptWords("ONLINE", "OFFLINE", "IGNORE")
	switch t := p.take(); {
	case t.is("TABLE"):
		p.alterTable()
	case t.any("DATABASE", "SCHEMA"):
		p.alterDatabase()
	case t.any("VIEW", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "TABLESPACE", "UNDO", "LOGFILE", "INSTANCE"):
		p.rest()
	default:
		p.result(Query, Name{})
		p.rest()
	}
}

// drop reads DROP by the kind of thing it drops.
func (p *parser) drop() {
	temporary := p.accept("TEMPORARY")
	p.acceptWords("ONLINE", "OFFLINE")
	switch t := p.take(); {
	case t.any("TABLE", "TABLES"):
		p.ifExists()
		p.list(func() {
			n := p.subject(Erase)
			p.result(Erase, n)
			p.change(DropTable{n, temporary})
		})
	case t.is("SEQUENCE"):
		p.ifExists()
		p.list(func() { p.change(DropTable{p.name(), temporary}) })
	case t.is("INDEX"):
		p.ifExists()
		index := p.ident()
		n := p.onTable(DIndex)
		if isPrimary(index) {
			p.change(AlterTable{Name: n, Items: []Item{{Op: DropPrimaryKey}}})
		}
	case t.any("DATABASE", "SCHEMA"):
		p.ifExists()
		p.database(func(schema string) { p.change(DropDatabase{schema}) })
	case t.any("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE", "TRIGGER", "EVENT", "USER", "ROLE", "SERVER", "TABLESPACE", "LOGFILE", "UNDO", "SPATIAL", "PREPARE"):
		p.rest()
	default:
		p.result(Query, Name{})
		p.rest()
	}
}

// database takes a database's name and announces it as written, as Canal does.
func (p *parser) database(f func(schema string)) {
	text := p.peek(0).text
	schema := p.ident()
	if p.failed == "" {
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
	if t := p.peek(0); t.kind == tokenQuoted || !t.any("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ", "COMMENT", "UPGRADE") {
		schema = p.ident()
	}
	charset, collation := p.defaults()
	p.change(Database{Schema: schema, Charset: charset, Collation: collation})
}

// defaults reads the options of a database.
func (p *parser) defaults() (charset, collation string) {
	for !p.end() && !p.peek(0).punct(';') {
		if !p.charset(&charset) && !p.collate(&collation) {
			p.skip()
		}
	}
	return charset, collation
}

// rename reads RENAME TABLE a TO b, …; other things renamed do not matter here.
func (p *parser) rename() {
	if !p.acceptAny("TABLE", "TABLES") {
		if !p.peek(0).is("USER") {
			p.result(Query, Name{})
		}
		p.rest()
		return
	}
	p.ifExists()
	p.list(func() {
		from := p.name()
		p.wait()
		if p.failed == "" {
			p.kind, p.table = Rename, from
		}
		if !p.accept("TO") {
			p.fail("TO")
			return
		}
		to := p.name()
		if p.failed == "" {
			p.renamed(from, to)
			p.change(RenameTable{from, to})
		}
	})
}

// wait takes MariaDB's WAIT n and NOWAIT.
func (p *parser) wait() {
	if p.peek(0).is("WAIT") && p.peek(1).kind == tokenNumber {
		p.take()
		p.take()
	}
	p.accept("NOWAIT")
}
