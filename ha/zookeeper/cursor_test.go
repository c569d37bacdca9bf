package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// canalCursor was written by Canal 1.1.8.
const canalCursor = `{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":13306}},"postion":{"gtid":"","included":false,"journalName":"binlog.000002","position":237944863,"serverId":1,"timestamp":1796036582000}}`

func somePosition() position.Position {
	return position.Position{
		File: "binlog.000002", Offset: 237944863, ServerID: 1, Time: time.UnixMilli(1796036582000),
		Host: "localhost", Port: 13306, ServerUUID: "6be1439e-ecaa-11f1-aa2a-02fc00000001",
		GTIDs:    "6be1439e-ecaa-11f1-aa2a-02fc00000001:1-262099",
		Prepared: []position.XA{{XID: "X'01',X'',1", File: "binlog.000001", Start: 4, End: 99}},
	}
}

func TestCursorIsCanalsAndKeepsTheRest(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		ctx := t.Context()
		k := client.Cursor(dest, zookeeper.CursorConfig{Routing: "r1"})
		if _, err := k.Load(ctx); !errors.Is(err, position.ErrNone) {
			t.Fatalf("Load without a cursor returned %v, want ErrNone", err)
		}
		want := somePosition()
		for range 3 {
			if err := k.Save(ctx, want); err != nil {
				t.Fatal(err)
			}
		}
		cursor, _ := s.Get(cursorAt)
		if string(cursor.Data) != canalCursor {
			t.Errorf("cursor node\n%s, want\n%s", cursor.Data, canalCursor)
		}
		if state, _ := s.Get(stateAt); state.Mzxid != cursor.Mzxid {
			t.Errorf("mzxids of cursor and state are %d and %d, want the same", cursor.Mzxid, state.Mzxid)
		}
		got, err := client.Cursor(dest, zookeeper.CursorConfig{}).Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got.Foreign || got.Routing != "r1" || got.GTIDs != want.GTIDs || got.ServerUUID != want.ServerUUID ||
			len(got.Prepared) != 1 || got.Prepared[0] != want.Prepared[0] || got.Offset != want.Offset || !got.Time.Equal(want.Time) {
			t.Errorf("loaded %+v, want %+v with routing r1", got, want)
		}
		// Where the next term began to read stands with its first position, wherever that is (PC-04).
		next := client.Cursor(dest, zookeeper.CursorConfig{})
		if _, err := next.Load(ctx); err != nil {
			t.Fatal(err)
		}
		if err := next.Save(ctx, position.Position{File: "binlog.000099", Offset: 4}); err != nil {
			t.Fatal(err)
		}
		state, _ := s.Get(stateAt)
		if said := fmt.Sprintf("at %s:%d", want.File, want.Offset); !strings.Contains(string(state.Data), said) {
			t.Errorf("%q is not in %s", said, state.Data)
		}
	})
}

func TestCursorShowsGTIDsOnlyWhenTold(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		k := client.Cursor(dest, zookeeper.CursorConfig{GTIDOn: true})
		k.Load(t.Context())
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		cursor, _ := s.Get(cursorAt)
		if !strings.Contains(string(cursor.Data), `"gtid":"6be1439e-ecaa-11f1-aa2a-02fc00000001:1-262099"`) {
			t.Errorf("cursor node %s shows no GTID set", cursor.Data)
		}
	})
}

func TestCursorOfCanalIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		ctx := t.Context()
		s.Put(cursorAt, []byte(canalCursor))
		k := client.Cursor(dest, zookeeper.CursorConfig{})
		got, err := k.Load(ctx)
		if err != nil || !got.Foreign || got.File != "binlog.000002" || got.Offset != 237944863 {
			t.Fatalf("Load returned %+v, %v", got, err)
		}
		if err := k.Save(ctx, somePosition()); err != nil {
			t.Fatal(err)
		}
		// Canal ran again meanwhile: its cursor counts, our state does not.
		s.Put(cursorAt, []byte(strings.Replace(canalCursor, "237944863", "300000000", 1)))
		got, err = client.Cursor(dest, zookeeper.CursorConfig{}).Load(ctx)
		if err != nil || !got.Foreign || got.Offset != 300000000 || got.GTIDs != "" || got.ServerUUID != "" || got.Prepared != nil || got.Routing != "" {
			t.Fatalf("Load returned %+v, %v; want only what Canal wrote", got, err)
		}
	})
}

func TestCursorMovedBySomebodyElseIsFenced(t *testing.T) {
	for name, move := range map[string]func(s *zktest.Server, other *zookeeper.Cursor) error{
		"another node": func(_ *zktest.Server, other *zookeeper.Cursor) error {
			return other.Save(context.Background(), somePosition())
		},
		"canal":          func(s *zktest.Server, _ *zookeeper.Cursor) error { s.Put(cursorAt, []byte(canalCursor)); return nil },
		"deleted":        func(s *zktest.Server, _ *zookeeper.Cursor) error { s.Remove(cursorAt); return nil },
		"only the state": func(s *zktest.Server, _ *zookeeper.Cursor) error { s.Put(stateAt, []byte("{}")); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				client, stop := startClient(t, config(s, "a:1"))
				defer stop()
				ctx := t.Context()
				first := client.Cursor(dest, zookeeper.CursorConfig{})
				first.Load(ctx)
				if err := first.Save(ctx, somePosition()); err != nil {
					t.Fatal(err)
				}
				other := client.Cursor(dest, zookeeper.CursorConfig{})
				if _, err := other.Load(ctx); err != nil {
					t.Fatal(err)
				}
				if err := move(s, other); err != nil {
					t.Fatal(err)
				}
				before, _ := s.Get(cursorAt)
				if err := first.Save(ctx, somePosition()); !errors.Is(err, position.ErrFenced) {
					t.Errorf("Save returned %v, want ErrFenced", err)
				}
				if after, _ := s.Get(cursorAt); after.Mzxid != before.Mzxid {
					t.Error("a fenced Save has written the cursor")
				}
			})
		})
	}
}

// Somebody deletes the cursor, and the destination begins where the configuration
// says: the log tells where it was, and the earlier positions stay to go back to.
func TestDeletedCursorLeavesItsHistory(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		var said bytes.Buffer
		client, stop := startClientLogged(t, config(s, "a:1"), slog.New(slog.NewTextHandler(&said, nil)))
		k := client.Cursor(dest, zookeeper.CursorConfig{Routing: "r"})
		k.Load(t.Context())
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		s.Remove(cursorAt)
		if saved, err := k.Load(t.Context()); !errors.Is(err, position.ErrNone) || !saved.IsZero() {
			t.Errorf("loaded %+v, %v", saved, err)
		}
		anew := position.Position{File: "binlog.000009", Offset: 4}
		if err := k.Save(t.Context(), anew); err != nil {
			t.Fatal(err)
		}
		n, _ := s.Get(stateAt)
		state, err := position.ParseState(n.Data)
		if err != nil || len(state.Past) != 2 || state.Past[1].Offset != somePosition().Offset || state.GTIDs != "" || state.Prepared != nil {
			t.Errorf("the state is %+v, %v", state, err)
		}
		s.Remove(cursorAt)
		s.Put(stateAt, []byte(`{"version":99}`))
		if _, err := k.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("a newer build's state without a cursor: %v", err)
		}
		stop()
		if text := said.String(); strings.Count(text, "is gone") != 1 || !strings.Contains(text, "binlog.000002:237944863") {
			t.Errorf("it was not said once:\n%s", text)
		}
	})
}

// Two owners meet an empty destination: only one of them may create the cursor.
func TestCursorCreatedBySomebodyElseIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		one, two := client.Cursor(dest, zookeeper.CursorConfig{}), client.Cursor(dest, zookeeper.CursorConfig{})
		one.Load(t.Context())
		two.Load(t.Context())
		if err := two.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		if err := one.Save(t.Context(), somePosition()); !errors.Is(err, position.ErrFenced) {
			t.Errorf("Save returned %v, want ErrFenced", err)
		}
	})
}

func TestDamagedCursorIsRefusedByName(t *testing.T) {
	for _, data := range []string{
		"", "{", "null", "{}", `{"postion":{}}`,
		strings.Replace(canalCursor, `"position":237944863`, `"position":-1`, 1),
	} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			client, stop := startClient(t, config(s, "a:1"))
			defer stop()
			s.Put(cursorAt, []byte(data))
			k := client.Cursor(dest, zookeeper.CursorConfig{})
			_, err := k.Load(t.Context())
			if err == nil || errors.Is(err, position.ErrNone) || !strings.Contains(err.Error(), cursorAt) {
				t.Errorf("Load of %q returned %v, want an error that names the node", data, err)
			}
			if err := k.Save(t.Context(), somePosition()); err == nil {
				t.Errorf("Save over the damaged cursor %q succeeded", data)
			}
		})
	}
}

// A state that cannot be read may hold the only word of prepared transactions: it is refused, and stays. What a cursor has besides is
// somebody else's business.
func TestDamagedStateIsRefusedByName(t *testing.T) {
	for _, data := range []string{"", "{", "null", "{}", "[]", `{"version":-1}`, `{"version":1,"prepared":7}`} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			client, stop := startClient(t, config(s, "a:1"))
			defer stop()
			s.Put(cursorAt, []byte(canalCursor))
			s.Put(stateAt, []byte(data))
			k := client.Cursor(dest, zookeeper.CursorConfig{})
			if _, err := k.Load(t.Context()); err == nil || !strings.Contains(err.Error(), stateAt) {
				t.Errorf("Load beside the state %q returned %v, want an error that names the node", data, err)
			}
			if err := k.Save(t.Context(), somePosition()); err == nil {
				t.Errorf("Save over the damaged state %q succeeded", data)
			}
		})
	}
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		s.Put(cursorAt, []byte(strings.Replace(canalCursor, `"position":237944863`, `"later":{"x":[1]},"position":237944863`, 1)))
		if p, err := client.Cursor(dest, zookeeper.CursorConfig{}).Load(t.Context()); err != nil || p.Offset != 237944863 {
			t.Errorf("a cursor with a field of somebody else's: %+v, %v", p, err)
		}
	})
}

func TestStateOfANewerBuildIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		s.Put(cursorAt, []byte(canalCursor))
		s.Put(stateAt, []byte(`{"version":99}`))
		_, err := client.Cursor(dest, zookeeper.CursorConfig{}).Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("Load returned %v, want a refusal of the newer format", err)
		}
	})
}

func TestLostReplyOfSaveIsUnderstood(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		k := client.Cursor(dest, zookeeper.CursorConfig{})
		k.Load(t.Context())
		for range 3 {
			s.Lose("multi")
			if err := k.Save(t.Context(), somePosition()); err == nil || errors.Is(err, position.ErrFenced) {
				t.Fatalf("Save whose answer was lost returned %v", err)
			}
			settle(3 * time.Second)
			if err := k.Save(t.Context(), somePosition()); err != nil {
				t.Fatalf("the next Save returned %v", err)
			}
		}
	})
}

// The answer of a Save was lost, and somebody else moved the cursor before the next
// one: that one must not go over it, whatever became of the first.
func TestLostReplyOfSaveHidesNobodyElse(t *testing.T) {
	for name, move := range map[string]func(s *zktest.Server){
		"cursor":  func(s *zktest.Server) { s.Put(cursorAt, []byte(canalCursor)) },
		"state":   func(s *zktest.Server) { s.Put(stateAt, []byte(`{"version":1}`)) },
		"deleted": func(s *zktest.Server) { s.Remove(cursorAt) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				client, stop := startClient(t, config(s, "a:1"))
				defer stop()
				k := client.Cursor(dest, zookeeper.CursorConfig{})
				k.Load(t.Context())
				s.Lose("multi")
				k.Save(t.Context(), somePosition())
				settle(3 * time.Second)
				move(s)
				if err := k.Save(t.Context(), somePosition()); !errors.Is(err, position.ErrFenced) {
					t.Errorf("the next Save returned %v, want ErrFenced", err)
				}
			})
		})
	}
}

// Cursor and state are read as they stood at one moment, although somebody saves
// between the requests: the relay's own position is never taken for a foreign one.
func TestLoadBesideASave(t *testing.T) {
	for after := time.Millisecond; after < 60*time.Millisecond; after += 3 * time.Millisecond {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			a, stopA := startClient(t, config(s, "a:1"))
			defer stopA()
			b, stopB := startClient(t, config(s, "b:1"))
			defer stopB()
			writer := a.Cursor(dest, zookeeper.CursorConfig{Routing: "r"})
			writer.Load(t.Context())
			if err := writer.Save(t.Context(), somePosition()); err != nil {
				t.Fatal(err)
			}
			settle(time.Second)
			s.Delay(10 * time.Millisecond)
			go func() {
				time.Sleep(after)
				if err := writer.Save(context.Background(), somePosition()); err != nil {
					t.Error(err)
				}
			}()
			saved, err := b.Cursor(dest, zookeeper.CursorConfig{}).Load(t.Context())
			if err != nil || saved.Foreign || saved.Routing != "r" {
				t.Errorf("saved after %v: loaded %+v, %v", after, saved, err)
			}
			settle(time.Second)
			s.Delay(0)
		})
	}
}

// A process that was paused past its session must not move the cursor, even if
// its successor has not moved it yet.
func TestSaveWithoutLeaseIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		k := a.client.Cursor(dest, zookeeper.CursorConfig{})
		k.Load(t.Context())
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		a.stopMonitor(nil)
		<-a.monitorDone
		if err := k.Save(t.Context(), somePosition()); !errors.Is(err, position.ErrFenced) {
			t.Errorf("Save after the lease returned %v, want ErrFenced", err)
		}
		a.stop()
	})
}
