package binlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Errors of the server for what does not exist.
const (
	badDatabase = 1049
	noSuchTable = 1146
)

// ShowCreateTable returns the source's present definition of a table; it wraps
// schema.ErrNoTable when there is none.
func (r *Reader) ShowCreateTable(ctx context.Context, schemaName, table string) (string, error) {
	return r.definition(ctx, "TABLE", quoteName(schemaName)+"."+quoteName(table))
}

// ShowCreateDatabase does the same for a database.
func (r *Reader) ShowCreateDatabase(ctx context.Context, schemaName string) (string, error) {
	return r.definition(ctx, "DATABASE", quoteName(schemaName))
}

// LowerCase is the source's lower_case_table_names.
func (r *Reader) LowerCase(ctx context.Context) (int, error) {
	rows, err := r.ask(ctx, "SELECT @@lower_case_table_names")
	if err != nil || len(rows) != 1 {
		return 0, fmt.Errorf("lower_case_table_names of %s: %w", r.here().Addr, err)
	}
	return strconv.Atoi(rows[0][0])
}

func (r *Reader) definition(ctx context.Context, kind, name string) (string, error) {
	rows, err := r.ask(ctx, "SHOW CREATE "+kind+" "+name)
	var se *wire.SourceError
	switch {
	case errors.As(err, &se) && (se.Code == noSuchTable || se.Code == badDatabase),
		err == nil && (len(rows) != 1 || len(rows[0]) < 2 || !strings.HasPrefix(rows[0][1], "CREATE "+kind) && !strings.HasPrefix(rows[0][1], "CREATE TEMPORARY TABLE")):
		return "", fmt.Errorf("%w: %s on %s", schema.ErrNoTable, name, r.here().Addr)
	case err != nil:
		return "", fmt.Errorf("definition of %s from %s: %w", name, r.here().Addr, err)
	}
	return rows[0][1], nil
}

// ask runs a query on the connection for definitions, which is opened when first
// needed, again after a failure, and ends with the context that opened it.
func (r *Reader) ask(ctx context.Context, query string) ([][]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reused := r.meta != nil
	rows, err := r.query(ctx, query)
	var se *wire.SourceError
	if err != nil && !errors.As(err, &se) {
		r.drop()
		if reused { // the source may have closed an idle connection
			if rows, err = r.query(ctx, query); err != nil && !errors.As(err, &se) {
				r.drop()
			}
		}
	}
	if err != nil && !errors.Is(err, ErrAway) && (se == nil || source.Busy(se)) {
		err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	return rows, r.explain(ctx, err)
}

func (r *Reader) query(ctx context.Context, query string) ([][]string, error) {
	if r.meta == nil {
		s, err := r.here().Dial(ctx)
		if err != nil {
			return nil, err
		}
		r.meta = s
		// sql_mode decides how the definition is quoted.
		if err := s.Exec("SET NAMES utf8mb4", "SET SESSION sql_mode='', SESSION sql_quote_show_create=1"); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, r.meta.Close)
	defer stop()
	return r.meta.Rows(query)
}

func (r *Reader) drop() {
	if r.meta != nil {
		r.meta.Close()
		r.meta = nil
	}
}

// Close ends the connection for definitions, if there is one.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
