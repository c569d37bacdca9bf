package history

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/server"

	"github.com/canal-relay/canal-relay/relay/schema"
)

// mute is a server that says when it was asked something, and never answers.
type mute struct {
	server.EmptyHandler
	asked chan<- string
	over  <-chan struct{}
}

func (m mute) HandleQuery(q string) (*mysql.Result, error) {
	m.asked <- q
	<-m.over
	return nil, errors.New("nobody waits any more")
}

// A term that ends is not held up by a store that does not answer, neither to a login nor to a statement.
func TestSilentMySQLStore(t *testing.T) {
	for name, greets := range map[string]bool{"no greeting": false, "no answer": true} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			asked, over, served := make(chan string, 10), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(served)
				link, err := listener.Accept()
				if err != nil {
					return
				}
				defer link.Close()
				if !greets {
					asked <- "greeting"
					<-over
					return
				}
				auth := server.NewInMemoryAuthenticationHandler(mysql.AUTH_NATIVE_PASSWORD)
				if err := auth.AddUser("u", "p"); err != nil {
					return
				}
				conf := server.NewServer("8.0.11", mysql.DEFAULT_COLLATION_ID, mysql.AUTH_NATIVE_PASSWORD, nil, nil)
				conn, err := conf.NewCustomizedConn(link, auth, mute{asked: asked, over: over})
				for err == nil {
					err = conn.HandleCommand()
				}
			}()
			defer func() { listener.Close(); close(over); <-served }()

			ctx, cancel := context.WithCancel(t.Context())
			h := NewMySQL(MySQLConfig{Addr: listener.Addr().String(), User: "u", Password: "p"}, "orders", slog.New(slog.DiscardHandler))
			done := make(chan error, 1)
			go func() { done <- h.Append(ctx, schema.Entry{SQL: "CREATE TABLE t (id INT)"}) }()
			<-asked
			began := time.Now()
			cancel()
			if err := <-done; err == nil {
				t.Error("the entry was stored")
			}
			h.Close()
			if waited := time.Since(began); waited >= serverTimeout {
				t.Errorf("the end took %v", waited)
			}
		})
	}
}
