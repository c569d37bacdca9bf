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
	all, err := Survey(ctx, c, destination)
	if err != nil {
		return position.Saved{}, err
	}
	return all[0].Saved, all[0].Err
}
