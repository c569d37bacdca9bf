package assembly

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// canalMeta is a meta.dat as Canal writes it.
const canalMeta = `{"clientDatas":[{"clientIdentity":{"clientId":1001,"destination":"shop","filter":""},"cursor":{"identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":3306}},"postion":{"gtid":"","included":false,"journalName":"mysql-bin.000003","position":1234,"serverId":1,"timestamp":1700000000000}}}],"destination":"shop"}`

// start runs a client in a ZooKeeper of its own until the test ends.
func start(t *testing.T) (*zktest.Server, *zookeeper.Client, context.Context) {
	s := zktest.Start(t)
	c := zookeeper.DefaultConfig()
	c.Servers, c.ID = s.Addr(), "a:1"
	client := zookeeper.New(c, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	done := make(chan struct{})
	go func() { defer close(done); _ = client.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s, client, ctx
}

// TestMetaFileKeepsItsWriter: who wrote the position decides in exactly-once whether it outdoes what readers have, also when
// the term that took it over ends before it saves its own.
func TestMetaFileKeepsItsWriter(t *testing.T) {
	_, client, ctx := start(t)
	here := position.Position{File: "mysql-bin.000003", Offset: 1234}
	for name, saved := range map[string]position.Saved{
		"canal": {Foreign: true}, "at-least-once": {}, "exactly-once": {Delivery: position.ExactlyOnce},
	} {
		path := filepath.Join(t.TempDir(), "meta.dat")
		if saved.Foreign {
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(canalMeta, "shop", name)), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			left := position.NewFile(path, name, false, "")
			left.Delivery = saved.Delivery
			if _, err := left.Set(ctx, here, "a test"); err != nil {
				t.Fatal(err)
			}
		}
		cursor := func() *importedCursor {
			return &importedCursor{Cursor: client.Cursor(name, zookeeper.CursorConfig{Delivery: position.ExactlyOnce}),
				file: position.NewFile(path, name, false, ""), path: path, log: slog.New(slog.DiscardHandler)}
		}
		k := cursor()
		first, err := k.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		again, err := cursor().Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for when, got := range map[string]position.Saved{"at once": first, "later": again} {
			if got.Foreign != saved.Foreign || got.Delivery != saved.Delivery || got.File != here.File || got.Offset != here.Offset {
				t.Errorf("%s, %s: %+v", name, when, got)
			}
		}
		if err := k.Save(ctx, here); err != nil {
			t.Errorf("%s: save: %v", name, err)
		}
		if got, err := cursor().Load(ctx); err != nil || got.Foreign || got.Delivery != position.ExactlyOnce {
			t.Errorf("%s, saved: %+v, %v", name, got, err)
		}
	}
}

func TestMetaFileIsTakenOverOnce(t *testing.T) {
	s, client, loading := start(t)
	path := filepath.Join(t.TempDir(), "meta.dat")
	var said bytes.Buffer
	cursor := func() *importedCursor {
		return &importedCursor{Cursor: client.Cursor("shop", zookeeper.CursorConfig{}), file: position.NewFile(path, "shop", false, ""), path: path,
			log: slog.New(slog.NewTextHandler(&said, nil))}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// A file that cannot be read is no absent one.
	write(`{"clientDatas":`)
	if _, err := cursor().Load(loading); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("damaged file: %v", err)
	}
	write(canalMeta)
	got, err := cursor().Load(loading)
	if err != nil || got.File != "mysql-bin.000003" || got.Offset != 1234 || got.Host != "localhost" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if b, err := os.ReadFile(path + ".imported"); err != nil || string(b) != canalMeta {
		t.Errorf("renamed file: %s, %v", b, err)
	}
	if n, ok := s.Get("/otter/canal/destinations/shop/1001/cursor"); !ok || !strings.Contains(string(n.Data), `"journalName":"mysql-bin.000003","position":1234`) {
		t.Errorf("node %s", n.Data)
	}

	// It comes back, older than what ZooKeeper has by now.
	k := cursor()
	if _, err := k.Load(loading); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(loading, position.Position{File: "mysql-bin.000004", Offset: 99}); err != nil {
		t.Fatal(err)
	}
	write(canalMeta)
	for range 2 {
		if got, err := k.Load(loading); err != nil || got.File != "mysql-bin.000004" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if n := strings.Count(said.String(), "is ignored"); n != 1 || !strings.Contains(said.String(), "mysql-bin.000003:1234") || !strings.Contains(said.String(), "mysql-bin.000004:99") {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the ignored file: %v", err)
	}
}
