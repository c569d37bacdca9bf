package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// Read asks ZooKeeper once for some nodes and changes nothing. Those that do
// not exist are not in the answer.
func Read(ctx context.Context, c Config, paths ...string) (map[string]Node, error) {
	hosts, _, err := parseServers(c.Servers)
	if err != nil {
		return nil, fmt.Errorf("read the server list %q: %w", c.Servers, err)
	}
	var refused atomic.Pointer[error] // the latest failure to connect
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			refused.Store(&err)
		}
		return conn, err
	}
	quietly := slog.New(slog.DiscardHandler)
	client := New(c, nil, quietly)
	conn, events, err := zk.Connect(hosts, c.SessionTimeout, zk.WithDialer(client.dialer(ctx)),
		zk.WithHostProvider(&client.hosts), zk.WithLogger(quiet{quietly}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
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
			if last := refused.Load(); last != nil {
				err = *last
			}
			return nil, fmt.Errorf("connect to ZooKeeper at %s: %w", c.Servers, err)
		}
	}
	if c.Auth != "" {
		if err := conn.AddAuth("digest", []byte(c.Auth)); err != nil {
			return nil, fmt.Errorf("present credentials: %w", err)
		}
	}
	found := map[string]Node{}
	for _, path := range paths {
		data, stat, err := conn.Get(client.Path(path))
		switch {
		case err == nil:
			found[path] = newNode(data, stat, nil)
		case !errors.Is(err, zk.ErrNoNode):
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return found, nil
}
