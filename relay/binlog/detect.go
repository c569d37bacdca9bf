package binlog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Detect is how it is found out that the source is no longer the one to read
// from: canal.instance.detecting.*, with Canal's rule.
type Detect struct {
	SQL       string        // asked on a connection of its own; empty: nothing is asked
	Every     time.Duration // between two questions
	Threshold int           // so many failures in a row are borne
	Switch    bool          // beyond them, go on at the other server
}

// DefaultDetectEvery is the time between two questions.
const DefaultDetectEvery = 5 * time.Second

// errSwitched says that the other server of the pair is to be read from now on.
var errSwitched = errors.New("the source does not answer, changing to the other server")

// here is the server of the pair that is read from.
func (r *Reader) here() *source.Config { return &r.pair[r.side.Load()] }

// start is the configured start on that server.
func (r *Reader) start() Start {
	if r.side.Load() == 1 {
		return r.c.StandbyStart
	}
	return r.c.Start
}

// settle chooses the server to begin with: the one that the position is of, if
// that is the standby.
func (r *Reader) settle(ctx context.Context, from position.Position) {
	if r.settled {
		return
	}
	r.settled = true
	if host, port := r.pair[1].HostPort(); r.pair[1].Addr != "" && from.Host != "" && sameAddress(ctx, from.Host, from.Port, host, port) {
		r.side.Store(1)
	}
}

// watched runs a stream while the source is asked now and then. A stream that
// the source's end or silence breaks waits for what the questions say: it may be
// time to change over. It then ends with errSwitched, since only the caller knows
// how far the stream has come.
func (r *Reader) watched(ctx context.Context, from position.Position, h Handler) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &detector{r: r, answered: make(chan time.Time, 1), ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		if d.run(limited) {
			cancel(errSwitched)
		}
	}()
	err := r.attempt(limited, from, h)
	if r.c.Detect.Switch && r.pair[1].Addr != "" && broken(err) {
		broke := time.Now()
		for asked := broke; !asked.After(broke); { // what was asked before says nothing of the break
			select {
			case <-limited.Done():
				asked = time.Now()
			case asked = <-d.answered:
			}
		}
	}
	switched := errors.Is(context.Cause(limited), errSwitched)
	cancel(nil)
	<-d.ended
	if !switched || ctx.Err() != nil {
		return err
	}
	other := 1 - r.side.Load()
	r.log.Warn("the source does not answer, going on at the other server of the pair", "source", r.here().Addr, "other", r.pair[other].Addr, "failures", d.failures.Load())
	why := ""
	if err != nil { // not wrapped: that this server is away does not count any more
		why = ": " + err.Error()
	}
	err = fmt.Errorf("%w, %s%s", errSwitched, r.pair[other].Addr, why)
	r.side.Store(other)
	r.Close()
	return err
}

// broken reports whether an error is one that the other server would not have.
func broken(err error) bool {
	return err != nil && !errors.Is(err, ErrPurged) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrStart) && !errors.Is(err, ErrDenied)
}

// detector asks a source whether it answers.
type detector struct {
	r        *Reader
	failures atomic.Int64   // in a row
	answered chan time.Time // when that was asked which was answered lately
	ended    chan struct{}
}

// run asks until ctx ends, or until it is time to change over, which it reports.
func (d *detector) run(ctx context.Context) bool {
	var s *source.Conn
	defer func() {
		if s != nil {
			s.Close()
		}
	}()
	tick := time.NewTicker(d.r.c.Detect.Every)
	defer tick.Stop()
	for {
		asked := time.Now()
		err := d.ask(ctx, &s)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			d.failures.Store(0)
			select {
			case d.answered <- asked:
			default:
			}
		case d.failures.Add(1) == int64(d.r.c.Detect.Threshold)+1:
			if d.r.c.Detect.Switch && d.r.pair[1].Addr != "" {
				return true
			}
			d.r.log.Warn("the source does not answer canal.instance.detecting.sql", "source", d.r.here().Addr, "failures", d.failures.Load(), "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// ask asks once, on a connection that is opened when there is none, and given up
// when it fails.
func (d *detector) ask(ctx context.Context, s **source.Conn) error {
	if *s == nil {
		c := *d.r.here()
		c.DialTimeout = max(d.r.c.Detect.Every, time.Second)
		c.Timeout = c.DialTimeout
		conn, err := c.Dial(ctx)
		if err != nil {
			return err
		}
		*s = conn
	}
	err := (*s).Exec(d.r.c.Detect.SQL)
	if err != nil {
		(*s).Close()
		*s = nil
	}
	return err
}
