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

func TestMetaFileIsTakenOverOnce(t *testing.T) {
	s := zktest.Start(t)
	c := zookeeper.DefaultConfig()
	c.Servers, c.ID = s.Addr(), "a:1"
	client := zookeeper.New(c, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = client.Run(ctx) }()
	defer func() { cancel(); <-done }()
	loading, cancelLoad := context.WithTimeout(ctx, 30*time.Second)
	defer cancelLoad()

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
