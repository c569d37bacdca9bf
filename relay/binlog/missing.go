package binlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Lost is what Config.Unusual is told of transactions that a position names and
// the source does not have.
const Lost = "source_lacks_transactions"

// errBehind says that a source may still get what it lacks.
var errBehind = errors.New("the source is behind the stored position")

// shared moves a position by GTIDs back to what the source has of it, where it
// has gone on without the rest: readers keep that, and nobody can take it back.
// On MySQL the rest stays in the set, in case it comes after all, unless tables were
// changed in it: their layouts go back, and must not be changed unseen.
func (r *Reader) shared(ctx context.Context, s *source.Conn, from position.Position, tell bool) (position.Position, error) {
	if from.GTIDs == "" || !s.Server.GTID() {
		return from, nil
	}
	m, err := s.Missing(from.GTIDs)
	switch {
	case err != nil:
		return from, err
	case m.GTIDs == "":
		return from, nil
	case m.Own:
		return from, fmt.Errorf("%w: %s has lost transactions %s of its own, which were read from it: a backup was restored, or it crashed before they were on its disk. "+
			"It gives new transactions their numbers, which would be left out here: go on behind what it still has with canal-relay cursor set '%s'", ErrStart, r.here().Addr, m.GTIDs, m.Common)
	case s.Server.MariaDB() && m.Common == "":
		return from, fmt.Errorf("%w: %s lacks %s and has nothing newer in that domain: waiting until it has caught up, or is written to. "+
			"If it was set up anew, choose a position there with canal-relay cursor set", errBehind, r.here().Addr, m.GTIDs)
	}
	statements, err := r.unshared(ctx, from, m)
	switch {
	case err != nil:
		return from, err
	case len(statements) > 0 && !s.Server.MariaDB() && !m.Newer:
		return from, fmt.Errorf("%w: %s lacks %s, in which tables were changed (%s), and has executed nothing else: waiting until it has caught up, or is written to",
			errBehind, r.here().Addr, m.GTIDs, strings.Join(statements, "; "))
	}
	if tell && from.ServerUUID == s.Server.UUID { // the same on each connection, and MariaDB's are all empty
		tell = s.Server.MariaDB()
	}
	if tell {
		r.log.Warn("the source does not have transactions that were read from another one: readers have them all the same. Unless it is a replica that gets them still, take them out of where they were copied to, or apply them to the source",
			"source", r.here().Addr, "missing", m.GTIDs)
		if r.c.Unusual != nil {
			r.c.Unusual(Lost)
		}
	}
	if len(statements) > 0 {
		r.log.Warn("among what the source does not have are changes of tables: their layouts go back to what they were before. What is executed after all is sent again",
			"source", r.here().Addr, "statements", strings.Join(statements, "; "), "behind", m.Common)
	}
	if s.Server.MariaDB() || len(statements) > 0 {
		from.GTIDs = m.Common
		from.File, from.Offset = "", 0
	}
	return from, nil
}

// unshared lists the changes of tables that a source does not have.
func (r *Reader) unshared(ctx context.Context, from position.Position, m source.Missing) ([]string, error) {
	if r.c.Ahead == nil {
		return nil, nil
	}
	common := from
	common.File, common.Offset, common.GTIDs = "", 0, m.Common
	return r.c.Ahead(ctx, from, common)
}

// Lacks reports whether the source has not executed all of a set of GTIDs.
func (r *Reader) Lacks(ctx context.Context, gtids string) (bool, error) {
	s, err := r.here().Open(ctx)
	if err != nil {
		return false, err
	}
	defer s.Close()
	if !s.Server.GTID() {
		return false, nil
	}
	m, err := s.Missing(gtids)
	return m.GTIDs != "", err
}

// Executed is End with all that the source has executed: on MariaDB the last GTID
// of each server in each domain, of which End has the last in each domain.
func (r *Reader) Executed(ctx context.Context) (position.Position, error) {
	end, err := r.End(ctx)
	if err != nil || end.ServerUUID != "" {
		return end, err
	}
	rows, err := r.ask(ctx, "SELECT @@global.gtid_binlog_state")
	if err == nil && len(rows) == 1 {
		end.GTIDs = rows[0][0]
	}
	return end, err
}
