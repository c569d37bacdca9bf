package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// Config says how to reach ZooKeeper, and as whom.
type Config struct {
	session.Config
	// ID is the ip:port under which this node is known in the tree.
	ID string
}

// DefaultConfig returns a Config for a session timeout of 6 s.
func DefaultConfig() Config { return Config{Config: session.DefaultConfig()} }

// Validate checks what can be checked without a server.
func (c Config) Validate() error {
	if c.ID == "" {
		return errors.New("the node's own ip:port is empty")
	}
	return c.Config.Validate()
}

// Client is this node in Canal's tree.
type Client struct {
	id      string
	log     *slog.Logger
	session *session.Client

	mu     sync.Mutex
	leases map[string]*lease // latest by destination
}

// New returns a client that does nothing until Run.
func New(c Config, l *slog.Logger) *Client {
	client := &Client{
		id: c.ID, log: l, leases: map[string]*lease{},
		session: session.New(c.Config, []string{paths.Root + "/cluster", paths.Root + "/destinations"}, l),
	}
	client.session.Wish(paths.Cluster(c.ID), true)
	return client
}

// Run keeps a session until the context ends, and shows the node in it. It waits
// for servers that are away. When it returns the session is closed, and with it
// everything that the node owned: it must be the last to be told to end.
func (c *Client) Run(ctx context.Context) error { return c.session.Run(ctx) }

// Connected reports whether the node has a session that it can work in now.
func (c *Client) Connected() bool {
	s, _ := c.session.Current()
	return s.Usable()
}

// Identity tells the tree in which this node's epochs grow from any other, also
// from one that was set up anew at the same address: by when and in which
// transaction /otter/canal was created. It waits for a session.
func (c *Client) Identity(ctx context.Context) (string, error) {
	if _, err := c.session.Await(ctx); err != nil {
		return "", fmt.Errorf("read %s: %w", paths.Root, err)
	}
	return identity(c.session.Get(ctx, paths.Root))
}

func identity(n session.Node, found bool, err error) (string, error) {
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", paths.Root, err)
	case !found:
		return "", fmt.Errorf("there is no ZooKeeper node %s", paths.Root)
	}
	return fmt.Sprintf("%x@%d", n.Czxid, n.Ctime), nil
}

// Shared is an error when another process seems to use this node's address.
func (c *Client) Shared() error { return c.session.Shared() }

// Holds reports whether this node owns a destination at this moment, by the
// clock and without asking anybody.
func (c *Client) Holds(destination string) bool {
	c.mu.Lock()
	l := c.leases[destination]
	c.mu.Unlock()
	return l != nil && l.valid()
}
