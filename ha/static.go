package ha

import (
	"context"
	"errors"
)

// ErrStatic is why a release is refused without ZooKeeper.
var ErrStatic = errors.New("there is no election (canal.zkServers is empty): no other node could take the destination over")

// Static is the Elector of a node without ZooKeeper: it is always elected, with
// epoch 0, and never loses.
type Static struct{}

// Campaign elects at once.
func (Static) Campaign(ctx context.Context) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return staticLease{}, nil
}

// Register does nothing: there is nobody to show the node to.
func (Static) Register(context.Context) error { return nil }

// Unregister does nothing.
func (Static) Unregister(context.Context) error { return nil }

// Release is refused with ErrStatic.
func (Static) Release(context.Context) error { return ErrStatic }

type staticLease struct{}

func (staticLease) Epoch() int64                       { return 0 }
func (staticLease) Lost() <-chan error                 { return nil }
func (staticLease) Resign(context.Context, bool) error { return nil }
