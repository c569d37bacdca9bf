package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

const createTable = `CREATE TABLE bench.orders (
	id BIGINT NOT NULL PRIMARY KEY, customer INT UNSIGNED NOT NULL, kind TINYINT NOT NULL, state SMALLINT,
	amount DECIMAL(12,2) NOT NULL, rate DOUBLE, name VARCHAR(40) NOT NULL, email VARCHAR(60), note VARCHAR(100),
	created DATETIME NOT NULL, updated TIMESTAMP(3) NULL, flags INT NOT NULL)`

// workload is a backlog: how it is prepared, and the part that is drained.
type workload struct {
	name    string
	rows    int
	prepare func(*client.Conn, int) error // before the relay's start position
	write   func(*client.Conn, int) error // after it
}

func workloads(scale float64) []workload {
	size := func(n int) int { return max(100, int(float64(n)*scale)/100*100) }
	none := func(*client.Conn, int) error { return nil }
	return []workload{
		{"bulk", size(1_000_000), none, func(c *client.Conn, n int) error { return insert(c, n, 100) }},
		{"single", size(300_000), none, func(c *client.Conn, n int) error { return insert(c, n, 1) }},
		{"update", size(300_000), func(c *client.Conn, n int) error { return insert(c, n, 100) }, updateAll},
	}
}

// insert writes n rows in transactions of so many.
func insert(c *client.Conn, n, each int) error {
	for id := 1; id <= n; id += each {
		if err := insertFrom(c, id, each); err != nil {
			return err
		}
	}
	return nil
}

// insertFrom writes so many rows in one transaction, numbered from id on.
func insertFrom(c *client.Conn, id, rows int) error {
	var q strings.Builder
	q.WriteString("INSERT INTO bench.orders VALUES ")
	for i := id; i < id+rows; i++ {
		if i > id {
			q.WriteByte(',')
		}
		fmt.Fprintf(&q, "(%d,%d,%d,%d,%d.%02d,%d.25,'customer %d','user%d@example.com','order %d of a busy day','%s','2026-11-30 10:%02d:%02d.%03d',%d)",
			i, i%50000, i%7, i%300, i%10000, i%100, i%1000, i%50000, i%50000, i,
			time.Unix(1_790_000_000+int64(i), 0).UTC().Format("2006-01-02 15:04:05"), i/60%60, i%60, i%1000, i%2048)
	}
	return local.Exec(c, q.String())
}

// updateAll changes every row once, a hundred in a transaction.
func updateAll(c *client.Conn, n int) error {
	for id := 1; id <= n; id += 100 {
		q := fmt.Sprintf("UPDATE bench.orders SET state = state + 1, note = CONCAT('changed ', id), amount = amount + 1 WHERE id BETWEEN %d AND %d", id, id+99)
		if err := local.Exec(c, q); err != nil {
			return err
		}
	}
	return nil
}
