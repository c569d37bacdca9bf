package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Read asks ZooKeeper once for some nodes and changes nothing. Those that do
// not exist are not in the answer.
func Read(ctx context.Context, c Config, paths ...string) (map[string]Node, error) {
	found := map[string]Node{}
	err := Briefly(ctx, c, func(v *Visit) error {
		for _, path := range paths {
			n, there, err := v.Get(path)
			if err != nil {
				return err
			}
			if there {
				found[path] = n
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Visit is a short session of one who looks on or asks for something, and is no
// node. Its requests take no context: they end when the connection does.
type Visit struct {
	client *Client
	conn   *zk.Conn
}

// Briefly makes a visit. For a ZooKeeper that is away it waits only as long as the
// context lasts. What is ephemeral is gone when it returns.
func Briefly(ctx context.Context, c Config, do func(*Visit) error) error {
	hosts, _, err := parseServers(c.Servers)
	if err != nil {
		return fmt.Errorf("read the server list %q: %w", c.Servers, err)
	}
	quietly := slog.New(slog.DiscardHandler)
	client := New(c, nil, quietly)
	conn, events, err := zk.Connect(hosts, c.SessionTimeout, zk.WithDialer(client.dialer(ctx)),
		zk.WithHostProvider(&client.hosts), zk.WithLogger(quiet{quietly}), zk.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	defer func() {
		conn.Close()
		for range events { // until the zk client's goroutines have ended
		}
	}()
	for conn.State() != zk.StateHasSession {
		select {
		case <-events:
		case <-ctx.Done():
			err := context.Cause(ctx)
			if last := client.lastRefusal(); last != nil {
				err = last
			}
			return fmt.Errorf("connect to ZooKeeper at %s: %w", c.Servers, err)
		}
	}
	if auth := client.auth.get(quietly); auth != "" {
		if err := conn.AddAuth("digest", []byte(auth)); err != nil {
			return fmt.Errorf("present credentials: %w", err)
		}
	}
	return do(&Visit{client, conn})
}

// Get reads a node; found is false when there is none.
func (v *Visit) Get(path string) (n Node, found bool, err error) {
	data, stat, err := v.conn.Get(v.client.Path(path))
	if err == nil {
		n = newNode(data, stat, nil)
	}
	return asFound(n, explain(err), path)
}

// Children returns the names of a node's children in their order, none when
// there is no such node.
func (v *Visit) Children(path string) ([]string, error) {
	names, _, err := v.conn.Children(v.client.Path(path))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("list %s: %w", path, explain(err))
	}
	slices.Sort(names)
	return names, nil
}

// Show creates an ephemeral node, and its parents where missing.
func (v *Visit) Show(path string, data []byte) error {
	if err := v.Ensure(parentOf(path)); err != nil {
		return err
	}
	if _, err := v.conn.Create(v.client.Path(path), data, zk.FlagEphemeral, v.client.ACL()); err != nil {
		return fmt.Errorf("create %s: %w", path, explain(err))
	}
	return nil
}

// Ensure creates a persistent node without data, and its parents, where missing.
func (v *Visit) Ensure(path string) error {
	return ensure(v.client.Path(path), func(path string) error {
		_, err := v.conn.Create(path, nil, 0, v.client.ACL())
		return err
	})
}

// Create is a part of Do that creates a node.
func (v *Visit) Create(path string, data []byte, ephemeral bool) any {
	r := &zk.CreateRequest{Path: v.client.Path(path), Data: data, Acl: v.client.ACL()}
	if ephemeral {
		r.Flags = zk.FlagEphemeral
	}
	return r
}

// Set is a part of Do that writes a node of a version.
func (v *Visit) Set(path string, data []byte, version int32) any {
	return &zk.SetDataRequest{Path: v.client.Path(path), Data: data, Version: version}
}

// Delete is a part of Do that deletes a node of a version.
func (v *Visit) Delete(path string, version int32) any {
	return &zk.DeleteRequest{Path: v.client.Path(path), Version: version}
}

// Do makes some changes, all of them or none. Its error is that of the first
// that cannot be made.
func (v *Visit) Do(parts ...any) error {
	replies, err := v.conn.Multi(parts...)
	for _, r := range replies {
		if r.Error != nil {
			return explain(r.Error)
		}
	}
	return explain(err)
}
