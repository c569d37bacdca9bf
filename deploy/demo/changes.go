package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// firstChanges creates tables and changes them in every way.
func firstChanges(conn *client.Conn) error {
	statements := []string{
		"USE shop",
		"CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(10,2), made DATE)",
		"CREATE TABLE sale (id BIGINT PRIMARY KEY, item INT, pieces INT, note VARCHAR(60))",
		"INSERT INTO item VALUES (1, 'tea', 3.50, '2026-01-02'), (2, 'cup', 7.00, NULL), (3, 'pot \"blue\"', 21.99, '2026-02-03')",
		"UPDATE item SET price = 7.25 WHERE id = 2",
		"ALTER TABLE item ADD COLUMN stock INT NOT NULL DEFAULT 5 AFTER name",
		"INSERT INTO item VALUES (4, 'spoon', 40, 1.10, '2026-03-04')",
		"DELETE FROM item WHERE id = 1",
		"RENAME TABLE sale TO sold",
	}
	for i := 1; i <= 100; i++ {
		statements = append(statements, "BEGIN",
			fmt.Sprintf("INSERT INTO sold VALUES (%d, 2, %d, 'first'), (%d, 3, 1, NULL)", 2*i, i, 2*i+1),
			fmt.Sprintf("UPDATE item SET stock = %d WHERE id IN (2, 3)", 1000+i),
			"COMMIT")
	}
	statements = append(statements, "DELETE FROM sold WHERE id % 10 = 0", "CREATE INDEX by_item ON sold (item)", "TRUNCATE TABLE sold")
	return local.Exec(conn, statements...)
}

// writeOn keeps changing the tables until told to stop.
func (d *demo) writeOn(stop <-chan struct{}) error {
	conn, err := d.stack.Admin(d.server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := local.Exec(conn, "USE shop"); err != nil {
		return err
	}
	for i := 1; ; i++ {
		err := local.Exec(conn, "BEGIN",
			fmt.Sprintf("INSERT INTO sold VALUES (%d, 4, %d, 'while it fails over')", 10000+i, i),
			fmt.Sprintf("UPDATE item SET stock = %d WHERE id = 4", 5000+i),
			"COMMIT")
		if err == nil && i%200 == 0 {
			err = local.Exec(conn, fmt.Sprintf("ALTER TABLE sold ADD COLUMN extra%d INT", i/200), fmt.Sprintf("ALTER TABLE sold DROP COLUMN extra%d", i/200))
		}
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return local.Exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
		default:
		}
	}
}

// showMessages prints a few messages as a consumer reads them.
func (d *demo) showMessages(ctx context.Context) error {
	say("The first messages in the topic %q, as a consumer reads them:", topic)
	wanted := map[string]bool{"CREATE": true, "INSERT": true, "UPDATE": true, "ALTER": true, "DELETE": true, "RENAME": true}
	seen, err := 0, error(nil)
	readErr := d.stack.ReadTopic(ctx, topic, func(r *kgo.Record) bool {
		var m struct{ Type string }
		if err = json.Unmarshal(r.Value, &m); err != nil {
			return false
		}
		if wanted[m.Type] {
			delete(wanted, m.Type)
			seen++
			var pretty bytes.Buffer
			if err = json.Indent(&pretty, r.Value, "    ", "  "); err != nil {
				return false
			}
			fmt.Printf("  topic %s, partition %d, offset %d\n    %s\n", r.Topic, r.Partition, r.Offset, pretty.Bytes())
		}
		return len(wanted) > 0
	})
	if err == nil {
		err = readErr
	}
	return err
}

// prove compares the whole topic with the binlog, read independently with go-mysql's own decoder.
func (d *demo) prove(ctx context.Context, conn *client.Conn, from local.Mark) error {
	say("Comparing the topic with the binlog, read independently.")
	to, err := local.End(conn)
	if err != nil {
		return err
	}
	binlog, err := d.stack.ReadBinlog(ctx, d.server, "shop", from, to)
	if err != nil {
		return err
	}
	var changes []string
	var parseErr error
	err = d.stack.ReadTopic(ctx, topic, func(r *kgo.Record) bool {
		var found []string
		if found, parseErr = local.Changes(r.Value); parseErr != nil {
			return false
		}
		changes = append(changes, found...)
		return len(changes) == 0 || changes[len(changes)-1] != binlog[len(binlog)-1].Text
	})
	if err == nil {
		err = parseErr
	}
	if err != nil {
		return err
	}
	repeats, err := local.Prove(binlog, changes)
	if err != nil {
		return fmt.Errorf("the topic is not right: %w", err)
	}
	fmt.Printf("    %d changes in the binlog, all in the topic, in order; %d of them twice\n", len(binlog), repeats)
	return nil
}
