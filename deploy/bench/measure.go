package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// backlog is a workload that is written, and what reading it raw took.
type backlog struct {
	workload
	from  local.Mark
	raw   time.Duration
	bytes int64 // of binlog
}

// prepare writes a backlog.
func (b *bench) prepare(w workload) (backlog, error) {
	log := backlog{workload: w}
	conn, err := b.stack.Admin("mysql")
	if err != nil {
		return log, err
	}
	defer conn.Close()
	err = local.Exec(conn, "SET SESSION time_zone = '+00:00'", "DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench", createTable)
	if err != nil {
		return log, err
	}
	if err := w.prepare(conn, w.rows); err != nil {
		return log, fmt.Errorf("prepare the backlog: %w", err)
	}
	if err := local.Exec(conn, "FLUSH BINARY LOGS"); err != nil {
		return log, err
	}
	if log.from, err = local.End(conn); err != nil {
		return log, err
	}
	if err := w.write(conn, w.rows); err != nil {
		return log, fmt.Errorf("write the backlog: %w", err)
	}
	if log.raw, log.bytes, err = rawDump(b.stack, log.from); err != nil {
		return log, fmt.Errorf("read the raw dump: %w", err)
	}
	return log, nil
}

// measure has a fresh node drain a backlog, and reads back what it sent.
func (b *bench) measure(ctx context.Context, log backlog, mode string) (result, error) {
	r := result{all: log.rows}
	n, err := b.start(ctx, log.name, mode, log.from, 0)
	if err != nil {
		return r, err
	}
	err = b.drain(ctx, n, &r)
	if err == nil {
		err = log.readBack(ctx, b.stack, n.topic)
	}
	return r, errors.Join(err, n.end())
}

// drain waits until Kafka has acknowledged every row of the backlog.
func (b *bench) drain(ctx context.Context, n *node, r *result) error {
	profiled := make(chan error, 1)
	go func() { profiled <- b.takeProfile(ctx, n) }()
	owned := time.Now()
	first, err := waitAcked(ctx, n, 1)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := waitAcked(ctx, n, r.all); err != nil {
		return err
	}
	r.start, r.rows, r.drain = began.Sub(owned), r.all-first, time.Since(began)
	if err := <-profiled; err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	if err := n.stop(); err != nil {
		return err
	}
	r.cpu, r.peak = n.Usage()
	return nil
}

// takeProfile writes profiles of the node's first seconds, if any are wanted.
func (b *bench) takeProfile(ctx context.Context, n *node) error {
	if b.profile == "" {
		return nil
	}
	page, err := n.Get(ctx, "/debug/pprof/profile?seconds=2")
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.profile+n.topic+".cpu", page, 0o644); err != nil {
		return err
	}
	if page, err = n.Get(ctx, "/debug/pprof/heap"); err != nil {
		return err
	}
	return os.WriteFile(b.profile+n.topic+".heap", page, 0o644)
}

// waitAcked waits until Kafka has acknowledged so many rows, and returns how
// many it has. /status is cheaper for the node than /metrics.
func waitAcked(ctx context.Context, n *node, rows int) (int, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var all struct{ Destinations []struct{ Rows int } }
		page, err := n.Status(ctx)
		if err == nil && json.Unmarshal(page, &all) == nil && len(all.Destinations) > 0 && all.Destinations[0].Rows >= rows {
			return all.Destinations[0].Rows, nil
		}
		select {
		case <-ctx.Done():
			return 0, errors.New("the backlog was not drained in time")
		case <-n.Done():
			return 0, errors.New("the node ended")
		case <-tick.C:
		}
	}
}

// readBack counts the rows in the topic and sums a checksum of one column, and compares both with the table.
func (w workload) readBack(ctx context.Context, stack local.Stack, topic string) error {
	conn, err := stack.Admin("mysql")
	if err != nil {
		return err
	}
	defer conn.Close()
	rows, sum := 0, uint64(0)
	var parseErr error
	err = stack.ReadCommitted(ctx, topic, func(rec *kgo.Record) bool {
		var m struct{ Data []struct{ Note string } }
		if parseErr = json.Unmarshal(rec.Value, &m); parseErr != nil {
			return false
		}
		for _, row := range m.Data {
			rows++
			sum += uint64(crc32.ChecksumIEEE([]byte(row.Note)))
		}
		return rows < w.rows
	})
	if err = errors.Join(err, parseErr); err != nil {
		return err
	}
	table, err := conn.Execute("SELECT COUNT(*), SUM(CRC32(note)) FROM bench.orders")
	if err != nil {
		return err
	}
	wantRows, _ := table.GetInt(0, 0)
	text, _ := table.GetString(0, 1)
	wantSum, _ := strconv.ParseUint(text, 10, 64)
	if int64(rows) != wantRows || sum != wantSum {
		return fmt.Errorf("the topic has %d rows with checksum %d, the table %d with %d", rows, sum, wantRows, wantSum)
	}
	return nil
}

// rawDump reads the binlog from a mark to its end without looking at it, as fast as the server sends it.
func rawDump(stack local.Stack, from local.Mark) (time.Duration, int64, error) {
	conn, err := stack.Admin("mysql")
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	if err := local.Exec(conn, "SET @source_binlog_checksum = @@global.binlog_checksum"); err != nil {
		return 0, 0, err
	}
	const nonBlocking = 1
	dump := make([]byte, 4, 64)
	dump = append(dump, mysql.COM_BINLOG_DUMP)
	dump = binary.LittleEndian.AppendUint32(dump, from.Offset)
	dump = binary.LittleEndian.AppendUint16(dump, nonBlocking)
	dump = binary.LittleEndian.AppendUint32(dump, 4243)
	dump = append(dump, from.File...)
	conn.ResetSequence()
	began := time.Now()
	if err := conn.WritePacket(dump); err != nil {
		return 0, 0, err
	}
	in, total := bufio.NewReaderSize(conn.Conn.Conn, 256<<10), int64(0)
	for {
		head, err := in.Peek(5)
		if err != nil {
			return 0, 0, err
		}
		size := int64(head[0]) | int64(head[1])<<8 | int64(head[2])<<16
		if head[4] == mysql.EOF_HEADER && size < 9 {
			return time.Since(began), total, nil
		}
		if head[4] == mysql.ERR_HEADER {
			return 0, 0, errors.New("the server refused the dump")
		}
		if _, err := io.CopyN(io.Discard, in, 4+size); err != nil {
			return 0, 0, err
		}
		total += size - 1
	}
}
