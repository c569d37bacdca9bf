package simple

import (
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// Unannounced is the table of a statement that changes rows and of which
// Canal's larger parser announces nothing: REPLACE and LOAD DATA.
func Unannounced(sql, database string, o ddl.Options) (ddl.Name, bool) {
	r := reader{lex.NewCursor(sql, o), database}
	switch {
	case r.Accept("REPLACE"):
		r.AcceptAll("LOW_PRIORITY", "DELAYED", "INTO")
	case r.Accept("LOAD", "DATA"), r.Accept("LOAD", "XML"):
		for !r.Accept("INTO", "TABLE") {
			if r.End() {
				return ddl.Name{}, false
			}
			r.Take()
		}
	default:
		return ddl.Name{}, false
	}
	schema, table := r.name()
	return ddl.Name{Schema: schema, Table: table}, table != ""
}
