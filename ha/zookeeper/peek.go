package zookeeper

import (
	"context"

	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Peek reads the stored position of a destination, for one who does not own it:
// in a short session that changes nothing. Its errors are those of Cursor.Load,
// but for a ZooKeeper that is away it waits only as long as the context lasts.
func Peek(ctx context.Context, c session.Config, destination string) (position.Saved, error) {
	nodes, err := session.Read(ctx, c, cursorPath(destination), statePath(destination))
	if err != nil {
		return position.Saved{}, err
	}
	var cursor, state stored
	cursor.Node, cursor.found = nodes[cursorPath(destination)]
	state.Node, state.found = nodes[statePath(destination)]
	saved, _, err := decode(destination, cursor, state)
	return saved, err
}
