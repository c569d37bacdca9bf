//go:build stack

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// workload changes tables at a rate, through outages of the server: transactions of tens of thousands of rows, which take
// several batches, between small ones, and a DDL now and then. Beside them a row is written each beat, so that a time without
// a record is one in which the relay stood still, and not its source.
type workload struct {
	w    *world
	rand *rand.Rand
	rate int // rows a second
	rows atomic.Int64
	main writer
	id   int
}

// writer is a connection to the source that is made again when it breaks.
type writer struct {
	load *workload
	conn *client.Conn
}

// beat is the time between two rows that are written in any case.
const beat = 10 * time.Millisecond

const largest = 60_000 // rows of a transaction

// prepare makes the tables. What large transactions are made from stands before all that is captured; begin is called between
// the two.
func (l *workload) prepare(begin func()) {
	conn := l.w.admin()
	l.w.exec(conn, "CREATE DATABASE IF NOT EXISTS numbers", "CREATE TABLE IF NOT EXISTS numbers.n (n INT PRIMARY KEY)")
	for from := 0; from < largest; from += 10_000 {
		var q strings.Builder
		q.WriteString("REPLACE INTO numbers.n VALUES ")
		for i := from; i < from+10_000; i++ {
			if i > from {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d)", i)
		}
		l.w.exec(conn, q.String())
	}
	l.w.exec(conn, "FLUSH BINARY LOGS")
	l.w.fromHere(conn)
	begin()
	l.w.exec(conn, "USE "+l.w.name,
		"CREATE TABLE wide (id BIGINT PRIMARY KEY, size INT NOT NULL, pad VARCHAR(30))",
		"CREATE TABLE tick (id BIGINT PRIMARY KEY)",
		"CREATE TABLE acct (id BIGINT PRIMARY KEY, n INT NOT NULL, name VARCHAR(30), amount DECIMAL(10,2), at DATETIME)")
}

// run writes until enough is closed.
func (l *workload) run(enough <-chan struct{}) {
	var ticks sync.WaitGroup
	ticks.Go(func() { l.tick(enough) })
	defer ticks.Wait()
	l.main.load = l
	defer l.main.close()
	due := time.Now()
	for round := 0; ; round++ {
		select {
		case <-enough:
			return
		case <-time.After(time.Until(due)):
		}
		due = due.Add(time.Duration(l.round(round)) * time.Second / time.Duration(l.rate))
		if late := time.Now().Add(-time.Second); due.Before(late) { // an outage is not made up for
			due = late
		}
	}
}

// tick writes a row each beat.
func (l *workload) tick(enough <-chan struct{}) {
	w := writer{load: l}
	defer w.close()
	for id := 0; ; id++ {
		select {
		case <-enough:
			return
		case <-time.After(beat):
			w.change(1, fmt.Sprintf("INSERT INTO tick VALUES (%d)", id))
		}
	}
}

// round is one large transaction and some small ones. It returns how many rows were changed.
func (l *workload) round(n int) int {
	before := l.rows.Load()
	size := multiBatch + l.rand.IntN(largest-multiBatch)
	l.main.change(2*size, fmt.Sprintf("INSERT INTO wide SELECT n + %d, %d, 'a row of a large transaction' FROM numbers.n WHERE n < %d", l.id, size, size),
		fmt.Sprintf("DELETE FROM wide WHERE id BETWEEN %d AND %d", l.id, l.id+size))
	for range 20 {
		l.id += 100
		var rows []string
		for i := l.id; i < l.id+100; i++ {
			rows = append(rows, fmt.Sprintf("(%d, 0, 'owner %d', %d.50, '2026-11-30 10:00:%02d')", i, i, i%1000, i%60))
		}
		l.main.change(300, "BEGIN", "INSERT INTO acct VALUES "+strings.Join(rows, ","),
			fmt.Sprintf("UPDATE acct SET n = n + 1 WHERE id BETWEEN %d AND %d", l.id, l.id+99), "COMMIT",
			fmt.Sprintf("DELETE FROM acct WHERE id BETWEEN %d AND %d", l.id-100, l.id-1))
	}
	l.id += size
	if n%10 == 9 {
		l.main.change(2, fmt.Sprintf("ALTER TABLE wide ADD COLUMN c%d INT NULL DEFAULT 7", n), fmt.Sprintf("ALTER TABLE wide DROP COLUMN c%d", n))
	}
	return int(l.rows.Load() - before)
}

// change runs statements. Whether they were committed when the connection breaks, the binlog tells.
func (w *writer) change(rows int, statements ...string) {
	world := w.load.w
	if w.conn == nil {
		conn, err := world.Admin(world.server)
		if err != nil {
			time.Sleep(50 * time.Millisecond) // the server restarts
			return
		}
		if local.Exec(conn, "USE "+world.name) != nil {
			_ = conn.Close()
			return
		}
		w.conn = conn
	}
	if err := local.Exec(w.conn, statements...); err != nil {
		if strings.Contains(err.Error(), "syntax") || strings.Contains(err.Error(), "Duplicate") {
			world.Error(err)
		}
		w.close()
		return
	}
	w.load.rows.Add(int64(rows))
}

func (w *writer) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}
