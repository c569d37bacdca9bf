// Package stored reads the position of a destination out of its ZooKeeper nodes.
package stored

import (
	"errors"
	"fmt"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Node is Canal's cursor or the relay's state beside it.
type Node struct {
	session.Node
	Found bool // else there is none
}

// Read returns both nodes as they stood at one moment: the cursor is read again
// behind the state, until no write has come between.
func Read(get func(path string) (session.Node, bool, error), destination string) (cursor, state Node, err error) {
	for {
		if cursor.Node, cursor.Found, err = get(paths.Cursor(destination)); err != nil {
			return cursor, state, err
		}
		if state.Node, state.Found, err = get(paths.State(destination)); err != nil {
			return cursor, state, err
		}
		again, found, err := get(paths.Cursor(destination))
		if err != nil || found == cursor.Found && again.Mzxid == cursor.Mzxid {
			return cursor, state, err
		}
	}
}

// Decode reads what the two nodes hold: the position, and the state that the next
// one follows, which keeps the history whoever wrote the cursor. It returns
// position.ErrNone when there is no cursor. A state of a newer build must not be
// overwritten, so that it is an error, too.
func Decode(destination string, cursor, state Node) (saved position.Saved, last position.State, err error) {
	if state.Found {
		if last, err = position.ParseState(state.Data); err != nil {
			return saved, last, fmt.Errorf("the state in ZooKeeper node %s cannot be read: %w: if it is damaged, delete the node to go on at the cursor beside it", paths.State(destination), err)
		}
	}
	foreign := !state.Found || cursor.Mzxid != state.Mzxid
	if foreign {
		last.Routing = ""
	}
	if !cursor.Found {
		return saved, last, position.ErrNone
	}
	p, err := position.ParseCanal(cursor.Data)
	if err != nil {
		return saved, last, fmt.Errorf("the cursor in ZooKeeper node %s cannot be read: %w: set it with canal-relay cursor set, or delete the node to start where the configuration says", paths.Cursor(destination), err)
	}
	if foreign {
		return position.Saved{Position: p, Foreign: true}, last, nil
	}
	return position.Saved{
		Position: last.Apply(p), Routing: last.Routing, Delivery: last.Delivery, Since: last.Since, SinceAt: last.SinceAt,
	}, last, nil
}

// Gone tells which position was stored last where there is no cursor any more;
// empty when none was.
func Gone(last position.State, err error) string {
	if !errors.Is(err, position.ErrNone) || len(last.Past) == 0 {
		return ""
	}
	was := last.Past[0]
	text := was.File
	if was.File != "" {
		text = fmt.Sprintf("%s:%d", was.File, was.Offset)
	}
	if was.GTIDs != "" {
		text += " " + was.GTIDs
	}
	return text
}

// Order reads the order to leave something out that stands in its node.
func Order(destination string, data []byte) (position.Skip, error) {
	order, err := position.ParseSkip(data)
	if err != nil {
		err = fmt.Errorf("%w: replace the ZooKeeper node %s with canal-relay cursor skip, or delete it", err, paths.Skip(destination))
	}
	return order, err
}
