package schema

import (
	"context"
	"fmt"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// LoadScript takes up the tables and databases that a script defines: a dump,
// or CREATE statements. Types read as the server, Config.MariaDB and
// Config.Version, would print them. What it does not understand leaves its table unknown,
// see NotUnderstood.
func (t *Tracker) LoadScript(ctx context.Context, text string) error {
	database := ""
	for _, sql := range lex.SplitStatements(text) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read schema script: %w", err)
		}
		st, _, err := t.replay(Statement{SQL: sql, Database: database, MariaDB: t.config.MariaDB, Version: t.config.Version, script: true})
		if err != nil {
			return fmt.Errorf("read schema script: %w", err)
		}
		for _, c := range st.Changes {
			if c, ok := c.(ddl.Use); ok {
				database = c.Schema
			}
		}
	}
	return nil
}
