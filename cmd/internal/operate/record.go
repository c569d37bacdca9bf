package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/positions"
	"github.com/canal-relay/canal-relay/mqstarter/resume"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// recorded is what exactly-once recorded of a destination's readers, as JSON.
type recorded struct {
	stored
	Sent      uint64          `json:"sent,omitempty"`      // rows of the next transaction that readers have as well
	Epoch     int64           `json:"epoch,omitempty"`     // of who wrote it
	ZooKeeper string          `json:"zookeeper,omitempty"` // that elected who wrote it
	Node      string          `json:"node,omitempty"`      // host that wrote it
	Decides   resume.Decision `json:"decides,omitempty"`   // where the next term goes on; empty if the record cannot be read
}

func (r *recorded) String() string {
	switch {
	case r.Error != "":
		return "cannot be read: " + r.Error
	case r.Sent > 0:
		return fmt.Sprintf("%s and %d rows", r.stored, r.Sent)
	}
	return r.stored.String()
}

// meaning says in words where the next term goes on.
func (r *recorded) meaning() string {
	switch r.Decides {
	case resume.Record:
		return "the record: the next term goes on where readers are"
	case resume.Cursor:
		return "the cursor, which is ahead of the record"
	case resume.Neither:
		return "neither: the cursor is not ahead of the record, and was not written behind it; set it"
	}
	return "not known"
}

// records adds what exactly-once recorded to destinations that deliver so. Kafka
// that is away is told in its place.
func records(ctx context.Context, node *config.Node, all []shown) {
	type source struct{ brokers, topic string }
	type found struct {
		values map[string][]byte
		err    error
	}
	looked := map[source]found{}
	for i := range all {
		instance := node.Instance(all[i].Destination)
		if instance == nil || instance.ExactlyOnce == nil {
			continue
		}
		s := source{strings.Join(instance.Kafka.Brokers, ","), instance.ExactlyOnce.Topic}
		f, known := looked[s]
		if !known {
			f.values, f.err = look(ctx, instance)
			looked[s] = f
		}
		all[i].Record = recordedAs(all[i], f.values[instance.Name], f.err)
	}
}

// look reads the position topic of a destination.
func look(ctx context.Context, i *config.Instance) (map[string][]byte, error) {
	ctx, cancel := ask(ctx)
	defer cancel()
	options, err := i.Kafka.Options()
	if err != nil {
		return nil, err
	}
	all, err := positions.Look(ctx, options, i.ExactlyOnce.Topic)
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", i.ExactlyOnce.Topic, err)
	}
	return all, nil
}

// lookRecord reads the record of a destination, nil if it has none.
func lookRecord(ctx context.Context, i *config.Instance) (*positions.Record, error) {
	all, err := look(ctx, i)
	if err != nil || all[i.Name] == nil {
		return nil, err
	}
	return positions.Parse(all[i.Name])
}

func recordedAs(d shown, value []byte, err error) *recorded {
	if err == nil && value == nil {
		return &recorded{Decides: resume.Cursor}
	}
	r := &positions.Record{}
	if err == nil {
		r, err = positions.Parse(value)
	}
	if err != nil {
		return &recorded{stored: stored{Error: err.Error()}}
	}
	return &recorded{stored: store(position.Saved{Position: r.Position}, position.State{}, nil), Sent: r.Sent,
		Epoch: r.Epoch, ZooKeeper: r.ZooKeeper, Node: r.Node, Decides: resume.Decide(r.Resume(), d.saved)}
}

// errNoRecord says that there is nothing to take over from.
var errNoRecord = errors.New("there is no position record: only exactly-once writes one, with its first term")

// chosen is where readers go on when an operator asks for a position: zero is
// where they are. Going back must be meant.
func (c *cursorSet) chosen(r *positions.Record, to position.Position) (position.Resume, error) {
	switch {
	case r == nil && to.IsZero():
		return position.Resume{}, errNoRecord
	case r == nil:
		return position.Resume{Position: to}, nil
	case to.IsZero():
		return r.Resume(), nil
	}
	to = to.Keep(r.Position)
	ahead, _ := to.Covers(r.Position)
	if back, _ := r.Position.Covers(to); ahead && back {
		return position.Resume{Position: to, Sent: r.Sent, Tx: r.Tx}, nil
	}
	if !ahead && !c.resend {
		return position.Resume{}, fmt.Errorf("readers have everything up to %s, and that is not ahead of it: they would get changes again; say --resend if that is meant",
			store(position.Saved{Position: r.Position}, position.State{}, nil))
	}
	return position.Resume{Position: to}, nil
}

// recorded reports whether the source still holds where readers are.
func (c *cursorSet) recorded(ctx context.Context, i *config.Instance) error {
	r, err := lookRecord(ctx, i)
	if err == nil && r == nil {
		err = errNoRecord
	}
	if err != nil {
		return err
	}
	reader, err := binlog.NewReader(i.ForTail().Source, c.log())
	if err != nil {
		return err
	}
	defer reader.Close()
	return reader.Holds(ctx, r.Position)
}

// setOnce moves the record of what readers have, and the cursor with it. While
// it is moved nobody owns the destination. Without an election a process that
// runs is fenced, and goes on at the record.
func (c *cursorSet) setOnce(ctx context.Context, node *config.Node, i *config.Instance, to position.Position) (done change, err error) {
	r, err := lookRecord(ctx, i)
	if err != nil {
		return done, err
	}
	first, err := c.chosen(r, to) // before the owner is asked to let go
	if err != nil {
		return done, err
	}
	own := *i.ExactlyOnce
	own.Routing = i.Starter.Routing
	transactions := kafka.NewTransactions(i.Kafka, own, c.log())
	claim := func(ctx context.Context, h zookeeper.Hold) (position.Position, error) {
		err := transactions.Move(ctx, h.Epoch, h.Identity, func(r *positions.Record) (position.Resume, error) {
			is, err := c.chosen(r, to)
			if r != nil {
				done.was = r.Position
			}
			done.is = is.Position
			return is, err
		})
		return done.is, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if node.ZooKeeper == "" {
		file := position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, "")
		file.Delivery = position.ExactlyOnce
		if _, err = file.Set(ctx, first.Position, c.reason); err == nil {
			_, err = claim(ctx, zookeeper.Hold{})
		}
		return done, err
	}
	m := zookeeper.Move{Reason: c.reason, GTIDOn: i.Relay.GTID, Release: c.release, Delivery: position.ExactlyOnce, Before: claim}
	moved, err := zookeeper.SetCursor(ctx, c.ZooKeeper(node).Config, i.Name, m)
	done.from = moved.From
	if done.was.IsZero() {
		done.was = moved.Old
	}
	return done, err
}
