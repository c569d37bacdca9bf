package binlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Errors of the server for what does not exist.
const (
	badDatabase = 1049
	noSuchTable = 1146
)

// ShowCreateTable returns the source's present definition of a table; it wraps
// schema.ErrNoTable when there is none. The connection is opened when first
// needed, again after a failure, and ends with the context that opened it.
func (r *Reader) ShowCreateTable(ctx context.Context, schemaName, table string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reused := r.meta != nil
	text, err := r.define(ctx, schemaName, table)
	var se *wire.SourceError
	if err != nil && !errors.As(err, &se) {
		r.drop()
		if reused { // the source may have closed an idle connection
			if text, err = r.define(ctx, schemaName, table); err != nil && !errors.As(err, &se) {
				r.drop()
			}
		}
	}
	if se != nil && (se.Code == noSuchTable || se.Code == badDatabase) {
		return "", fmt.Errorf("%w: %s.%s on %s", schema.ErrNoTable, schemaName, table, r.c.Addr)
	}
	if err != nil && (se == nil || slices.Contains(busy, se.Code)) {
		err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return "", fmt.Errorf("definition of %s.%s from %s: %w", schemaName, table, r.c.Addr, r.explain(ctx, err))
	}
	return text, nil
}

func (r *Reader) define(ctx context.Context, schemaName, table string) (string, error) {
	if r.meta == nil {
		s, err := r.c.dial(ctx)
		if err != nil {
			return "", err
		}
		r.meta = s
		// sql_mode decides how the definition is quoted.
		if err := s.exec("SET NAMES utf8mb4", "SET SESSION sql_mode='', SESSION sql_quote_show_create=1"); err != nil {
			return "", err
		}
	}
	stop := context.AfterFunc(ctx, r.meta.close)
	defer stop()
	rows, err := r.meta.rows("SHOW CREATE TABLE " + quoteName(schemaName) + "." + quoteName(table))
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0]) < 2 || !strings.HasPrefix(rows[0][1], "CREATE TABLE") && !strings.HasPrefix(rows[0][1], "CREATE TEMPORARY TABLE") {
		return "", &wire.SourceError{Code: noSuchTable, Message: "not a table"}
	}
	return rows[0][1], nil
}

func (r *Reader) drop() {
	if r.meta != nil {
		r.meta.close()
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
