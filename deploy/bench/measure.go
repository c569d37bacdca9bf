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
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

func (b *bench) measure(ctx context.Context, w workload) (result, error) {
	stack := b.stack
	r := result{rows: w.rows}
	conn, err := stack.Admin("mysql")
	if err != nil {
		return r, err
	}
	defer conn.Close()
	err = local.Exec(conn, "SET SESSION time_zone = '+00:00'", "DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench", createTable)
	if err != nil {
		return r, err
	}
	if err := w.prepare(conn, w.rows); err != nil {
		return r, fmt.Errorf("prepare the backlog: %w", err)
	}
	if err := local.Exec(conn, "FLUSH BINARY LOGS"); err != nil {
		return r, err
	}
	from, err := local.End(conn)
	if err != nil {
		return r, err
	}
	if err := w.write(conn, w.rows); err != nil {
		return r, fmt.Errorf("write the backlog: %w", err)
	}
	if r.raw, r.bytes, err = rawDump(stack, from); err != nil {
		return r, fmt.Errorf("read the raw dump: %w", err)
	}
	topic := fmt.Sprintf("bench-%s-%d", w.name, time.Now().UnixNano())
	if err := stack.CreateTopic(ctx, topic, 1); err != nil {
		return r, fmt.Errorf("create topic %s: %w", topic, err)
	}
	defer func() { _ = stack.DeleteTopic(context.WithoutCancel(ctx), topic) }()
	defer func() { _ = stack.DeleteTopic(context.WithoutCancel(ctx), "bench-"+topic+"-positions") }()
	defer func() { _ = stack.DeleteTopic(context.WithoutCancel(ctx), "bench-"+topic+"-schema") }()
	if err := b.drain(ctx, w, topic, from, &r); err != nil {
		return r, err
	}
	return r, w.readBack(ctx, stack, conn, topic)
}

// drain runs a fresh node until Kafka has acknowledged every row of the backlog.
func (b *bench) drain(ctx context.Context, w workload, topic string, from local.Mark, r *result) error {
	stack := b.stack
	dir, err := os.MkdirTemp("", "canal-relay-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	conf := local.Conf{
		Server: map[string]string{"canal.zkServers": stack.ZooKeeper, "kafka.bootstrap.servers": stack.Kafka,
			"kafka.compression.type": b.compression, "canal.relay.http.pprof": fmt.Sprint(b.profile != ""),
			"canal.relay.delivery": b.delivery, "canal.relay.cluster": "bench-" + topic},
		Destinations: map[string]map[string]string{topic: {
			"canal.instance.master.address": stack.MySQL, "canal.instance.dbUsername": stack.User, "canal.instance.dbPassword": stack.Password,
			"canal.instance.master.journal.name": from.File, "canal.instance.master.position": fmt.Sprint(from.Offset),
			"canal.instance.filter.regex": `bench\..*`, "canal.mq.topic": topic, "canal.mq.partition": "0"}},
	}
	log, err := os.CreateTemp("", "canal-relay-bench-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	node, err := local.StartNode(b.bin, dir, conf, log)
	if err != nil {
		return err
	}
	defer func() { _ = node.Stop(syscall.SIGKILL, time.Second) }()
	if _, err := local.WaitActive(ctx, topic, node); err != nil {
		return fmt.Errorf("%w (its log: %s)", err, log.Name())
	}
	profiled := make(chan error, 1)
	go func() { profiled <- b.takeProfile(ctx, node) }()
	began := time.Now()
	if err := waitAcked(ctx, node, w.rows); err != nil {
		return fmt.Errorf("%w (its log: %s)", err, log.Name())
	}
	r.drain = time.Since(began)
	if err := <-profiled; err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	if err := node.Stop(syscall.SIGTERM, 20*time.Second); err != nil {
		return fmt.Errorf("stop the node: %w", err)
	}
	r.cpu, r.peak = node.Usage()
	return os.Remove(log.Name())
}

// takeProfile writes a CPU profile of the node's first seconds, if one is wanted.
func (b *bench) takeProfile(ctx context.Context, node *local.Node) error {
	if b.profile == "" {
		return nil
	}
	page, err := node.Get(ctx, "/debug/pprof/profile?seconds=3")
	if err != nil {
		return err
	}
	return os.WriteFile(b.profile, page, 0o644)
}

// waitAcked waits until Kafka has acknowledged so many rows. /status is cheaper for the node than /metrics.
func waitAcked(ctx context.Context, node *local.Node, rows int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var all struct{ Destinations []struct{ Rows int } }
		page, err := node.Status(ctx)
		if err == nil && json.Unmarshal(page, &all) == nil && len(all.Destinations) == 1 && all.Destinations[0].Rows >= rows {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the backlog was not drained in time")
		case <-node.Done():
			return errors.New("the node ended")
		case <-tick.C:
		}
	}
}

// readBack counts the rows in the topic and sums a checksum of one column, and compares both with the table.
func (w workload) readBack(ctx context.Context, stack local.Stack, conn *client.Conn, topic string) error {
	rows, sum := 0, uint64(0)
	var parseErr error
	err := stack.ReadCommitted(ctx, topic, func(rec *kgo.Record) bool {
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
