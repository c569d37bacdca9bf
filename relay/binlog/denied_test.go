package binlog_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestNoLogin tells a server that is not there, a name that is not known and a
// login that is refused apart, each with what to do. The password is not shown.
func TestNoLogin(t *testing.T) {
	one, _ := logs()
	s := binlogtest.Start(t, "9.7.4", one)
	for _, tt := range []struct {
		addr, password string
		want           error
		says           string
	}{
		{"127.0.0.1:1", "", binlog.ErrAway, "is a server running there? canal.instance.master.address names it"},
		{strings.Repeat("n", 64) + ":3306", "", binlog.ErrAway, "canal.instance.master.address"}, // not a name: no name server is asked
		{hangsUp(t), "", binlog.ErrAway, "is a server running there?"},
		{s.Addr(), "topsecret", binlog.ErrDenied, "correct canal.instance.dbUsername or canal.instance.dbPassword"},
	} {
		c := config(s)
		c.Addr = tt.addr
		if tt.password != "" {
			c.Password = tt.password
		}
		err := open(t, c).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, &recorder{})
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.addr) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: got %v", tt.addr, err)
		}
	}
}

// hangsUp is the address of what stands before a server that is not there: a
// load balancer, or a port that is forwarded. It takes connections and ends them.
func hangsUp(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	return l.Addr().String()
}
