package binlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/binlog/wraps"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Reader streams the binlog of a server. It is also where table definitions
// come from, over a connection of their own.
type Reader struct {
	c    Config
	pair [2]source.Config // the source and its standby
	log  *slog.Logger

	side    atomic.Int32 // which of the two is read from
	settled bool         // it was chosen; owned by Run

	mu   sync.Mutex
	meta *source.Conn // for definitions; nil until asked, and after a failure
}

// NewReader returns a Reader; it connects to nothing.
func NewReader(c Config, l *slog.Logger) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Complete()
	if c.Detect.Every <= 0 {
		c.Detect.Every = DefaultDetectEvery
	}
	r := &Reader{c: c, pair: [2]source.Config{c.Config, c.Config}, log: orDiscard(l)}
	r.pair[1].Addr, r.pair[1].TLS, r.pair[1].TLSOptional = c.Standby.Addr, c.Standby.TLS, c.Standby.TLSOptional
	return r, nil
}

// Run is one dump connection: it streams from a position, or from the
// configured start when that is zero, until the context ends (nil), the
// connection breaks or h fails. Errors that trying again cannot help wrap
// ErrPurged, ErrFormat, ErrStart or ErrDenied.
func (r *Reader) Run(ctx context.Context, from position.Position, h Handler) error {
	r.settle(ctx, from)
	if r.c.Detect.SQL != "" {
		return r.watched(ctx, from, h)
	}
	return r.attempt(ctx, from, h)
}

// attempt is one connection to the server that is read from.
func (r *Reader) attempt(ctx context.Context, from position.Position, h Handler) error {
	err := r.explain(ctx, r.run(ctx, from, h))
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, ErrPurged) && r.c.Latest {
		r.log.Warn("position is gone from the source, continuing at the end of its binlog", "error", err)
		end, endErr := r.Locate(ctx, Start{})
		if endErr != nil {
			return endErr
		}
		err = r.run(ctx, end, h)
		if ctx.Err() != nil {
			return nil
		}
	}
	return err
}

func (r *Reader) run(ctx context.Context, from position.Position, h Handler) error {
	s, err := r.here().Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Usable(r.here()); err != nil {
		return err
	}
	if from, err = r.begin(ctx, s, from, true); err != nil {
		return err
	}
	at := &wraps.Start{Ask: func(query string) ([][]string, error) { return r.ask(ctx, query) }, Log: r.log}
	if from.GTIDs != "" && s.Server.MariaDB() {
		files, err := s.Rows("SHOW BINARY LOGS")
		if err != nil {
			return err
		}
		at.Files(files)
	}
	if err := s.Replica(r.here()); err != nil {
		return err
	}
	if err := s.Dump(r.here(), from); err != nil {
		return err
	}
	begin := func() error {
		r.log.Info("reading binlog", "source", r.here().Addr, "version", s.Server.Version, "file", from.File, "offset", from.Offset, "gtids", from.GTIDs)
		return h.Begin(from)
	}
	return r.named(ctx, from, stream(s, &opening{Handler: h, begin: begin, at: at}))
}

// opening is a handler whose stream begins with the first event: the source may
// refuse the position until then, and nobody may note it as one that works.
type opening struct {
	Handler
	begin func() error // nil when it was called
	at    *wraps.Start
}

func (o *opening) HandleEvent(e *replication.BinlogEvent) error {
	if begin := o.begin; begin != nil {
		o.begin = nil
		if err := begin(); err != nil {
			return err
		}
	}
	if beat := o.at.Before(e); beat != nil {
		if err := o.Handler.HandleEvent(beat); err != nil {
			return err
		}
	}
	return o.Handler.HandleEvent(e)
}

func (o *opening) Idle() error {
	if o.begin != nil {
		return nil
	}
	return o.Handler.Idle()
}

// begin settles where the stream starts: the configured start for a zero
// position; for another server's file position without a usable GTID set, its
// time; for a GTID set that the source does not have, what it has of it, which
// the log is told of with tell.
func (r *Reader) begin(ctx context.Context, s *source.Conn, from position.Position, tell bool) (position.Position, error) {
	var err error
	byFile := from.GTIDs == "" || !s.Server.GTID()
	foreign := r.foreign(ctx, s, from)
	if byFile && !foreign {
		if foreign, err = r.moved(ctx, s, from); err != nil {
			return from, err
		}
	}
	switch {
	case from.IsZero():
		from, err = r.Locate(ctx, r.start())
	case foreign && byFile:
		if r.c.Fallback <= 0 || from.Time.IsZero() {
			return from, fmt.Errorf("%w: %s:%d was read from %s, and this is %s: choose a position there with canal-relay cursor set", ErrStart, from.File, from.Offset, serverOf(from), serverOf(r.at(s)))
		}
		if r.c.Once && from.ServerUUID != "" {
			return from, fmt.Errorf("%w: %s:%d was read from %s, and this is %s, without GTIDs: a search by time would send again what readers are to get once. "+
				"Go back to that server, or choose where to go on here: canal-relay cursor set TIME --resend, some changes again; or FILE:OFFSET, if the place is known",
				ErrStart, from.File, from.Offset, serverOf(from), serverOf(r.at(s)))
		}
		r.log.Warn("the stored position is another server's, searching by its time", "position", from.File, "server", serverOf(from), "time", from.Time)
		prepared := from.Prepared // of the other server, unless the search finds them here
		from, err = r.byTime(ctx, from.Time.Add(-r.c.Fallback), "", true)
		for _, x := range prepared {
			if !slices.ContainsFunc(from.Prepared, func(y position.XA) bool { return y.XID == x.XID }) {
				from.Prepared = append(from.Prepared, x)
			}
		}
	}
	if err == nil {
		from, err = r.shared(ctx, s, from, tell)
	}
	at := r.at(s)
	from.ServerUUID, from.Host, from.Port = at.ServerUUID, at.Host, at.Port
	return from, err
}

// at is a position that names only the server of a connection.
func (r *Reader) at(s *source.Conn) (p position.Position) {
	p.ServerUUID = s.Server.UUID
	p.Host, p.Port = r.here().HostPort()
	return p
}

// serverOf names the server that a position is of.
func serverOf(p position.Position) string {
	name := fmt.Sprintf("%s:%d", p.Host, p.Port)
	if p.ServerUUID != "" {
		name += " (server " + p.ServerUUID + ")"
	}
	return name
}

// stream hands the dump's events on until it ends.
func stream(s *source.Conn, h Handler) error {
	p := parse.New(s.Server.Flavor)
	in := s.Packets(h.Idle)
	for {
		raw, err := in.Next()
		if err != nil {
			if s.Failed() != nil {
				return s.Failed()
			}
			return err
		}
		e, err := p.Parse(raw)
		if err != nil {
			return err
		}
		if err := h.HandleEvent(e); err != nil {
			return err
		}
	}
}

// named says what a source's refusal means and what can be done.
func (r *Reader) named(ctx context.Context, from position.Position, err error) error {
	var se *wire.SourceError
	if !errors.As(err, &se) {
		return err
	}
	m := strings.ToLower(se.Message)
	switch {
	case strings.Contains(m, "same server_uuid/server_id") || strings.Contains(m, "same server_id"):
		return fmt.Errorf("another reader with server id %d connected to %s, and it ended this dump: %w", r.here().ServerID, r.here().Addr, err)
	case se.Code != 1236:
		return err
	}
	for _, gone := range []string{"purged", "could not find", "not in the master", "not in the primary", "impossible position", "position > file size", "doesn't have the", "gtid"} {
		if strings.Contains(m, gone) {
			where := fmt.Sprintf("%s:%d", from.File, from.Offset)
			if from.GTIDs != "" {
				where = "after " + from.GTIDs
			}
			return fmt.Errorf("%w: %s on %s (%w); the source still has %s: to go on at the end of its binlog set "+
				"canal.auto.reset.latest.pos.mode=true; to go on elsewhere choose with canal-relay cursor set among earliest, latest, a time and FILE:OFFSET",
				ErrPurged, where, r.here().Addr, err, r.left(ctx))
		}
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// left names the binlog files that the source still has.
func (r *Reader) left(ctx context.Context) string {
	files, err := r.files(ctx)
	if err != nil {
		return "files that could not be listed (" + err.Error() + ")"
	}
	if len(files) == 0 {
		return "no file"
	}
	left := fmt.Sprintf("%s to %s", files[0], files[len(files)-1])
	if s, err := r.here().Open(ctx); err == nil {
		defer s.Close()
		if rows, err := s.Rows("SELECT @@global.gtid_purged"); err == nil && len(rows) == 1 && rows[0][0] != "" {
			left += ", which lack the transactions " + strings.Join(strings.Fields(rows[0][0]), "")
		}
	}
	return left
}

// files lists the source's binlog files, oldest first.
func (r *Reader) files(ctx context.Context) ([]string, error) {
	s, err := r.here().Open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := s.Rows("SHOW BINARY LOGS")
	if err != nil {
		return nil, err
	}
	files := make([]string, len(rows))
	for i, row := range rows {
		files[i] = row[0]
	}
	return files, nil
}
