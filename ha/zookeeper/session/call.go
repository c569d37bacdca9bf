package session

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// Call runs one request of the zk client, which takes no context and may block
// for as long as the connection is gone. When ctx ends first, its result is lost
// and the request may still be executed.
func Call[T any](ctx context.Context, c *Client, f func(*zk.Conn) (T, error)) (T, error) {
	var none T
	c.mu.Lock()
	conn := c.conn
	if conn == nil || !c.session.connected {
		c.mu.Unlock()
		return none, ErrNone
	}
	c.calls.Add(1)
	c.mu.Unlock()
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer c.calls.Done()
		v, err := f(conn)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, explain(r.err)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
