//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackSchema, cases PC-10 and PC-11: tables are changed all the time while owners are killed, once while Kafka
// acknowledges nothing, and the position is set back once: every row is read with the layout of its own time, whoever
// reads it.
func TestStackSchema(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.relay.takeover.delay": "200ms"})
			w.conf.Server["canal.relay.session.timeout"] = "4500ms"
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			w.exec(conn, "USE "+w.name)
			r := newRand(t)
			s := &storm{world: w, conn: conn, r: r, kills: rand.New(rand.NewPCG(r.Uint64(), 0))}
			w.start()
			w.start()
			s.run(100)
			w.prove(ctx, conn)
			early := w.storedCursor(ctx)

			w.servers("pause", "kafka")
			s.run(200)
			s.kill(ctx)
			w.servers("resume", "kafka")
			for range 2 {
				var writer sync.WaitGroup
				writer.Go(func() { s.run(600) })
				time.Sleep(time.Duration(s.kills.IntN(1000)) * time.Millisecond)
				s.kill(ctx)
				writer.Wait()
			}

			w.active(ctx)
			w.prove(ctx, conn)
			for _, n := range w.nodes {
				_ = n.Stop(syscall.SIGTERM, 30*time.Second)
			}
			w.putCursor(w.name, early)
			w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
			w.start()
			changes, repeats := w.prove(ctx, conn)
			s.checkNames(ctx)
			t.Logf("%d changes, %d of them DDL, %d sent twice", changes, s.statements, repeats)
			if repeats < s.rows/2 {
				t.Error("setting back the position had no effect")
			}
		})
	}
}

// storedCursor is the stored position, once there is one.
func (w *world) storedCursor(ctx context.Context) string {
	w.Helper()
	conn, _, err := zk.Connect([]string{w.ZooKeeper}, 10*time.Second, zk.WithLogInfo(false))
	w.must(err)
	defer conn.Close()
	var text []byte
	w.until(ctx, "a stored position", func() bool {
		text, _, err = conn.Get("/otter/canal/destinations/" + w.name + "/1001/cursor")
		return err == nil
	})
	return string(text)
}

// storm changes tables and writes rows. Every text begins with the name that its column has then.
type storm struct {
	*world
	conn       *client.Conn
	r, kills   *rand.Rand
	tables     []stormTable
	made       int // names given so far
	rows       int
	statements int // DDL so far
}

type stormTable struct {
	name    string
	columns []string // besides id
}

// kill kills the active node and starts another one.
func (s *storm) kill(ctx context.Context) {
	node := s.active(ctx)
	s.must(node.Signal(syscall.SIGKILL))
	<-node.Done()
	s.start()
}

func (s *storm) run(steps int) {
	for range steps {
		if err := local.Exec(s.conn, s.step()); err != nil {
			s.Error(err)
			return
		}
	}
}

// step is one statement.
func (s *storm) step() string {
	if len(s.tables) < 3 {
		return s.create()
	}
	at := s.r.IntN(len(s.tables))
	t := &s.tables[at]
	c := s.r.IntN(len(t.columns))
	old := t.columns[c]
	kind := s.r.IntN(16)
	if kind < 9 {
		s.statements++
	}
	switch {
	case kind == 0 || kind < 4 && len(t.columns) < 2:
		t.columns = append(t.columns, s.newName("c"))
		return "ALTER TABLE " + t.name + " ADD COLUMN " + t.columns[len(t.columns)-1] + s.kind() + " NULL" + s.place(old)
	case kind == 1:
		t.columns = slices.Delete(t.columns, c, c+1)
		return "ALTER TABLE " + t.name + " DROP COLUMN " + old
	case kind == 2:
		other := t.columns[(c+1)%len(t.columns)]
		return fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %[3]s, RENAME COLUMN %[3]s TO %[2]s", t.name, old, other)
	case kind == 3:
		return "ALTER TABLE " + t.name + " MODIFY COLUMN " + old + s.kind() + " NULL" + s.place(t.columns[(c+1)%len(t.columns)])
	case kind == 4:
		t.columns[c] = s.newName("c")
		return "ALTER TABLE " + t.name + " CHANGE COLUMN " + old + " " + t.columns[c] + s.kind() + " NULL FIRST"
	case kind == 5:
		t.columns[c] = s.newName("c")
		return "ALTER TABLE " + t.name + " RENAME COLUMN " + old + " TO " + t.columns[c]
	case kind == 6:
		name := t.name
		t.name = s.newName("t")
		return "RENAME TABLE " + name + " TO " + t.name
	case kind == 7: // a table of this name may come again
		name := t.name
		s.tables = slices.Delete(s.tables, at, at+1)
		return "DROP TABLE " + name
	case kind == 8:
		return "TRUNCATE TABLE " + t.name
	case kind == 9:
		return fmt.Sprintf("UPDATE %s SET %s = '%[2]s:changed' WHERE id %% 3 = 0", t.name, old)
	case kind == 10:
		return "DELETE FROM " + t.name + " WHERE id % 5 = 0"
	}
	return s.insert(t)
}

func (s *storm) create() string {
	s.statements++
	t := stormTable{name: fmt.Sprint("again", s.r.IntN(1000))}
	for _, other := range s.tables {
		if other.name == t.name {
			t.name = s.newName("t")
		}
	}
	text := "CREATE TABLE " + t.name + " (id INT PRIMARY KEY"
	for range 1 + s.r.IntN(4) {
		t.columns = append(t.columns, s.newName("c"))
		text += ", " + t.columns[len(t.columns)-1] + s.kind()
	}
	s.tables = append(s.tables, t)
	return text + ")"
}

func (s *storm) insert(t *stormTable) string {
	var rows []string
	for range 1 + s.r.IntN(4) {
		s.rows++
		row := fmt.Sprint(s.rows)
		for _, c := range t.columns {
			row += fmt.Sprintf(", '%s:%d'", c, s.rows)
		}
		rows = append(rows, "("+row+")")
	}
	return "INSERT INTO " + t.name + " (id, " + strings.Join(t.columns, ", ") + ") VALUES " + strings.Join(rows, ", ")
}

func (s *storm) newName(prefix string) string {
	s.made++
	return fmt.Sprint(prefix, s.made)
}

func (s *storm) kind() string {
	return " " + []string{"VARCHAR(60)", "TEXT", "VARCHAR(80) CHARACTER SET latin1", "CHAR(50)", "MEDIUMTEXT", "VARCHAR(300) CHARACTER SET gbk"}[s.r.IntN(6)]
}

func (s *storm) place(column string) string {
	return []string{"", " FIRST", " AFTER id", " AFTER " + column}[s.r.IntN(4)]
}

// checkNames sees that every text of an inserted row is under its column's name.
func (s *storm) checkNames(ctx context.Context) {
	s.Helper()
	texts, wrong := 0, 0
	s.must(s.ReadTopic(ctx, s.world.name, func(r *kgo.Record) bool {
		var m struct {
			Type, Table string
			Data        []map[string]*string
		}
		s.must(json.Unmarshal(r.Value, &m))
		for _, row := range m.Data {
			for name, text := range row {
				if m.Type != "INSERT" || name == "id" || text == nil {
					continue
				}
				texts++
				if !strings.HasPrefix(*text, name+":") {
					wrong++
					s.Errorf("%s.%s is %q", m.Table, name, *text)
				}
			}
		}
		return m.Table != "finished" && wrong < 10
	}))
	if texts < s.rows {
		s.Errorf("only %d texts of %d rows", texts, s.rows)
	}
}
