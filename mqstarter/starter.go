package mqstarter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/mqstarter/repeats"
	"github.com/canal-relay/canal-relay/mqstarter/resume"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/mqstarter/target"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Source yields the changes of one term in binlog order.
type Source interface {
	// Run reads until the context ends, the source fails, or files come to
	// their end. What it returns then, Next tells too.
	Run(ctx context.Context) error
	// Next takes the next batch, waiting for it. Behind the last one it
	// returns io.EOF at the end of files, or the error that ended Run.
	Next(ctx context.Context) (*event.Batch, error)
	// Release gives a batch back after all of it was acknowledged.
	Release(b *event.Batch)
}

// Cursor keeps a destination's stored position.
type Cursor interface {
	// Load returns position.ErrNone when nothing is stored yet.
	Load(ctx context.Context) (position.Saved, error)
	// Save returns position.ErrFenced when someone else moved the position
	// since it was loaded.
	Save(ctx context.Context, p position.Position) error
	// Skipped says that what Saved.Skip names was left out before the position
	// that is saved next, with which the order is forgotten.
	Skipped()
}

// Producer hands parcels to readers.
type Producer interface {
	// Claim makes the producer ready for a term of the ownership epoch. It
	// returns where what readers can see ends, or position.ErrNone if the
	// producer keeps no record of that: then the cursor decides.
	Claim(ctx context.Context, epoch int64) (position.Resume, error)
	// Send takes a parcel after all earlier ones and calls done once: with nil
	// when every message is acknowledged, with the reason when one never will
	// be. It does not wait for acknowledgements. done may be called from any
	// goroutine, Send's own included. The parcel's bytes are the producer's
	// until then.
	Send(ctx context.Context, p *message.Parcel, done func(error))
	// Close lets go of everything at once: nothing is written after it
	// returns. What was not acknowledged is done with an error.
	Close(ctx context.Context) error
}

// Limiter is a Producer that knows how large a message of a topic may be.
type Limiter interface {
	// Limit returns the bytes that key, value and headers of one message may
	// have together.
	Limit(ctx context.Context, topic string) (int, error)
}

// Counter is a Producer that knows how many partitions a topic has.
type Counter interface {
	// Partitions returns the same number throughout a term.
	Partitions(ctx context.Context, topic string) (int32, error)
}

// Ender is a Source that tells where its binlog ends now, as repeats.Config.End.
type Ender interface {
	End(ctx context.Context) (position.Position, error)
}

// Defaults of a Config.
const (
	DefaultWindow       = 64
	DefaultLimit        = 1<<20 - 256
	DefaultDrainTimeout = 5 * time.Second
	DefaultFlushPeriod  = time.Second
)

// Config is what a Starter is told.
type Config struct {
	Destination string // its name, for the r-dest header
	Headers     bool   // give every message the r-… headers
	Routing     string // hash of all that decides which record a change becomes, and where it goes

	Builders int // goroutines that turn changes into messages
	Window   int // batches between the source and the stored position, at most
	Limit    int // bytes of a message: key, value and headers; a Limiter may lower it

	DrainTimeout time.Duration // how long what was sent may take to settle when the term ends
	FlushPeriod  time.Duration // how often a moved position is saved

	// Heartbeat is the time between heartbeats: records without changes, one in
	// each topic that the term has sent to, and in HeartbeatTopic, if that is not empty, from
	// the beginning on. 0: none.
	Heartbeat      time.Duration
	HeartbeatTopic string

	Oversize    oversize.Policy // of a message that is larger than Kafka takes; empty is Stop
	DeadLetters string          // topic of dead letters; with another policy it is not used

	Router  *route.Router  // topics and partitions
	Message message.Config // what messages show
	Packets *PacketConfig  // protobuf; nil for flat messages
}

// DefaultConfig is a Config that lacks only Destination, Router and Message.
func DefaultConfig() Config {
	return Config{
		Headers:      true,
		Builders:     runtime.GOMAXPROCS(0),
		Window:       DefaultWindow,
		Limit:        DefaultLimit,
		DrainTimeout: DefaultDrainTimeout,
		FlushPeriod:  DefaultFlushPeriod,
		Oversize:     oversize.Stop,
	}
}

// Validate reports what in c cannot work.
func (c *Config) Validate() error {
	switch {
	case c.Destination == "":
		return errors.New("the destination has no name")
	case c.Router == nil:
		return errors.New("there is no router")
	case c.Builders < 1:
		return fmt.Errorf("builders %d: at least one is needed", c.Builders)
	case c.Window < c.Builders:
		return fmt.Errorf("window %d: it must hold a batch for each of %d builders", c.Window, c.Builders)
	case c.Limit < 1<<10:
		return fmt.Errorf("message limit %d bytes: at least 1 KiB is needed", c.Limit)
	case c.Packets != nil && c.Packets.Bytes < 1:
		return fmt.Errorf("packet size %d bytes must be positive", c.Packets.Bytes)
	case c.Oversize == oversize.DeadLetter && c.DeadLetters == "":
		return errors.New("there is no topic for dead letters")
	case c.Heartbeat < 0:
		return fmt.Errorf("heartbeat every %s: a time or 0 is needed", c.Heartbeat)
	case c.DrainTimeout <= 0 || c.FlushPeriod <= 0:
		return fmt.Errorf("drain timeout %s and flush period %s must be positive", c.DrainTimeout, c.FlushPeriod)
	}
	return nil
}

// Starter runs terms of one destination. It holds nothing between them.
type Starter struct {
	config  Config
	cursor  Cursor
	open    func(position.Resume) (Source, error)
	dial    func() (Producer, error)
	metrics *metrics.Destination
	log     *slog.Logger
	once    *target.Once // warnings, in whichever term
}

// New makes a Starter. Source and producer are made for each term by open and
// dial. cur is nil where no position is kept.
func New(c Config, cur Cursor, open func(position.Resume) (Source, error), dial func() (Producer, error), d *metrics.Destination, l *slog.Logger) *Starter {
	return &Starter{config: c, cursor: cur, open: open, dial: dial, metrics: d, log: l, once: target.NewOnce(l)}
}

// ErrUnsettled says that a term was asked to end in good order, and that
// something it had sent was not acknowledged or not noted as the stored
// position in time: the next owner will repeat it.
var ErrUnsettled = errors.New("not everything sent was acknowledged and saved before the drain timeout")

// Run runs one term: from the position that readers have reached until the
// context ends or the term fails. A context whose cause has a method Drain()
// that returns true lets what was sent settle, up to the drain timeout, and
// saves the position it reached; any other cause drops everything at once and
// saves nothing, and so does, while it drains, the closing of the channel that
// a method Cut() of the cause returns.
//
// It returns nil when the context ended, but ErrUnsettled when draining did not
// come to its end; io.EOF when the source had an end and all of it is
// acknowledged; and the reason otherwise. A term that fails by itself drains as
// well, so that what came before the failure is not repeated each time. All
// that it started has ended when Run returns.
func (s *Starter) Run(ctx context.Context, epoch int64) error {
	err := s.run(ctx, epoch)
	if ctx.Err() != nil && !errors.Is(err, ErrUnsettled) {
		return nil
	}
	return err
}

func (s *Starter) run(ctx context.Context, epoch int64) error {
	saved, err := s.load(ctx)
	if err != nil {
		return fmt.Errorf("load cursor: %w", err)
	}
	producer, err := s.dial()
	if err != nil {
		return fmt.Errorf("set up producer: %w", err)
	}
	from, exact, err := resume.Claim(ctx, producer, saved, s.owner(epoch), s.log)
	var source Source
	if err != nil {
		err = fmt.Errorf("claim destination: %w", err)
	} else if source, err = s.open(from); err != nil {
		err = fmt.Errorf("open source: %w", err)
	}
	if err != nil {
		if closeErr := producer.Close(ctx); closeErr != nil {
			err = fmt.Errorf("%w; close producer: %w", err, closeErr)
		}
		return err
	}
	s.log.Info("reading changes from here on", "epoch", epoch, "file", from.File, "offset", from.Offset, "gtids", from.GTIDs)
	t := newTerm(s, epoch, source, producer)
	if !exact {
		t.repeats = t.readersHave(saved, from)
	}
	t.commit.known = saved.Routing == s.config.Routing
	return t.run(ctx)
}

func (s *Starter) owner(epoch int64) resume.Owner {
	o := resume.Owner{Destination: s.config.Destination, Epoch: epoch}
	if s.cursor != nil {
		o.Save, o.Skipped = s.cursor.Save, s.cursor.Skipped
	}
	return o
}

// readersHave makes what takes out records that an earlier term has sent; nil
// where that cannot be told.
func (t *term) readersHave(saved position.Saved, from position.Resume) *repeats.Filter {
	scanner, can := t.producer.(repeats.Scanner)
	ends, told := t.source.(Ender)
	if !can || !told || saved.IsZero() {
		return nil
	}
	c := repeats.Config{Destination: t.config.Destination, Epoch: t.epoch, Saved: saved, From: from.Position, End: ends.End,
		Headers: t.config.Headers, Routing: t.config.Routing, FromTopic: t.config.Router.FromTopic()}
	if t.config.Packets != nil {
		c.Form = t.config.Packets.Form
	}
	return repeats.New(c, scanner, t.metrics, t.log)
}

// load returns the stored position, zero if there is none.
func (s *Starter) load(ctx context.Context) (position.Saved, error) {
	if s.cursor == nil {
		return position.Saved{}, nil
	}
	saved, err := s.cursor.Load(ctx)
	if errors.Is(err, position.ErrNone) {
		return position.Saved{}, nil
	}
	return saved, err
}
