//go:build stack

package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackSameThingTwice: what tail prints for a binlog file is what serve sent for it: topic, partition, headers and
// value. So does a live tail of the same range.
func TestStackSameThingTwice(t *testing.T) {
	const partitions = 3
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			r := newRand(t)
			zone := valueZones[r.IntN(len(valueZones))]
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.mq.partition": "", "canal.mq.partitionsNum": fmt.Sprint(partitions),
				"canal.mq.partitionHash": `.*\..*:$pk$`, "canal.relay.time.zone": zone})
			if err := w.CreateTopic(ctx, w.name, partitions); err != nil {
				t.Fatal(err)
			}
			w.patient()
			node := w.start()
			conn := w.admin()
			common, odd := valueTypes(server, time.UTC)
			path := w.ownBinlog(conn, func() {
				w.exec(conn, "SET SESSION time_zone = '+00:00', sql_mode = ''")
				for _, v := range []*valueTable{{world: w, conn: conn, r: r, name: "vals", types: common}, {world: w, conn: conn, r: r, name: "odd", types: odd}} {
					v.write(20, "FULL")
				}
				w.mixed(conn, server)
			})
			offline := tailFile(t, w, path, "UTC", nil)
			sent := w.sent(ctx, node, len(offline))
			for p := range int32(partitions) {
				printed := comparablesWithHeaders(t, ofPartition(offline, p), true)
				compareRecords(t, fmt.Sprintf("serve, partition %d", p), printed, comparablesWithHeaders(t, ofPartition(sent, p), false))
				if len(printed) < len(offline)/10 {
					t.Errorf("partition %d has %d of %d messages only", p, len(printed), len(offline))
				}
			}
			first := len(offline) / 2
			live := tailRecords(t, w, "UTC", nil, "--from", filepath.Base(path)+":4", "--limit", fmt.Sprint(first))
			compareRecords(t, "live tail", comparablesWithHeaders(t, offline[:first], true), comparablesWithHeaders(t, live, true))
			t.Logf("%d messages", len(offline))
		})
	}
}

// mixed makes changes of all other kinds: DDL, keys of several columns and none, many rows, transactions of several
// tables, roll-back to a savepoint, and what the server can write in other forms.
func (w *world) mixed(conn *client.Conn, server string) {
	w.Helper()
	w.exec(conn,
		"CREATE TABLE pair (a INT, b VARCHAR(20), v DECIMAL(10,2), PRIMARY KEY (a, b))",
		"CREATE TABLE bare (a INT, b VARCHAR(20))",
		"CREATE TABLE `odd name` (`select` INT PRIMARY KEY, `a``b` TEXT)",
		"INSERT INTO pair SELECT seq.n, CONCAT('b', seq.n % 7), seq.n / 3 FROM (WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n FROM s) seq",
		"UPDATE pair SET v = v + 1 WHERE a % 2 = 0", "UPDATE pair SET a = a + 100000 WHERE a % 10 = 0", "DELETE FROM pair WHERE a % 3 = 0",
		"INSERT INTO bare VALUES (1, 'x'), (1, 'x'), (2, NULL)", "UPDATE bare SET b = 'y'", "DELETE FROM bare LIMIT 1",
		"INSERT INTO `odd name` VALUES (1, 'it''s'), (2, '中文')",
		"BEGIN", "INSERT INTO bare VALUES (3, 'kept')", "SAVEPOINT s", "INSERT INTO bare VALUES (4, 'not kept')", "ROLLBACK TO SAVEPOINT s",
		"INSERT INTO pair VALUES (-1, 'p', 1)", "UPDATE `odd name` SET `a``b` = NULL", "COMMIT",
		"BEGIN", "INSERT INTO bare VALUES (5, 'rolled back')", "ROLLBACK",
		"ALTER TABLE bare ADD COLUMN c DATETIME(3) DEFAULT '2026-01-02 03:04:05.678' FIRST, ADD PRIMARY KEY (a)", "INSERT INTO bare (a, b) VALUES (9, 'new')",
		"CREATE TABLE twin LIKE bare", "INSERT INTO twin SELECT * FROM bare", "CREATE TABLE copied AS SELECT * FROM pair LIMIT 3",
		"RENAME TABLE twin TO tween, pair TO couple", "INSERT INTO couple VALUES (-2, 'q', 2)", "CREATE INDEX i ON couple (v)", "CREATE VIEW seen AS SELECT * FROM couple",
		"TRUNCATE TABLE tween", "INSERT INTO tween (a, b) VALUES (10, 'again')", "REPLACE INTO tween (a, b) VALUES (10, 'instead')",
		"DROP VIEW seen", "DROP TABLE copied, `odd name`")
	if server == "mysql" {
		w.exec(conn, "SET SESSION binlog_transaction_compression = ON, binlog_rows_query_log_events = ON")
	} else {
		w.exec(conn, "SET GLOBAL log_bin_compress = ON, log_bin_compress_min_len = 10")
		defer w.exec(conn, "SET GLOBAL log_bin_compress = OFF, log_bin_compress_min_len = DEFAULT")
	}
	w.exec(conn, "INSERT INTO tween (a, b) VALUES (0, 'packed'), (11, 'packed'), (12, 'packed')",
		"UPDATE tween SET b = REPEAT('long ', 4)", "CREATE TABLE last (id INT PRIMARY KEY)", "INSERT INTO last VALUES (1), (2), (3), (4), (5), (6)")
}

// sent reads so many records of the topic, stops the node, which sends what it still has, and makes sure that there are
// no more.
func (w *world) sent(ctx context.Context, node *local.Node, n int) []record {
	w.Helper()
	var all []record
	read := func(n int) {
		all = nil
		err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
			rec := record{Topic: r.Topic, Partition: r.Partition, Value: string(r.Value), Headers: map[string]string{}}
			if r.Key != nil {
				key := string(r.Key)
				rec.Key = &key
			}
			for _, h := range r.Headers {
				rec.Headers[h.Key] = string(h.Value)
			}
			all = append(all, rec)
			return len(all) < n
		})
		if err != nil {
			w.Fatalf("%d records of %d: %v", len(all), n, err)
		}
	}
	read(n)
	if err := node.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
		w.Error(err)
	}
	end, err := w.TopicLength(ctx, w.name)
	if err != nil {
		w.Fatal(err)
	}
	if end != n {
		w.Errorf("serve sent %d records, tail prints %d", end, n)
		read(end)
	}
	return all
}

func ofPartition(all []record, partition int32) (some []record) {
	for _, r := range all {
		if r.Partition == partition {
			some = append(some, r)
		}
	}
	return some
}

// comparablesWithHeaders are the texts of records without what a run need not repeat. Only what serve sent has an
// epoch; a file position has a server's identity only there.
func comparablesWithHeaders(t *testing.T, records []record, tail bool) []string {
	t.Helper()
	texts := comparables(records)
	for i, r := range records {
		h := maps.Clone(r.Headers)
		if _, epoch := h["r-epoch"]; epoch == tail {
			t.Errorf("headers %v: an epoch belongs to what serve sends", h)
		}
		delete(h, "r-epoch")
		if pos, server, found := strings.Cut(h["r-pos"], "@"); found {
			if h["r-pos"] = pos; tail != (server == "") {
				t.Errorf("r-pos %s@%s", pos, server)
			}
		}
		texts[i] += fmt.Sprint(" ", h)
	}
	return texts
}

func compareRecords(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			a, b := "nothing more", "nothing more"
			if i < len(want) {
				a = want[i]
			}
			if i < len(got) {
				b = got[i]
			}
			t.Fatalf("%s: %d records, want %d; record %d is\n%.2000s\nwant\n%.2000s", what, len(got), len(want), i, b, a)
		}
	}
}
