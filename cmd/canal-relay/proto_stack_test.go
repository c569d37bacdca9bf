//go:build stack

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStackProtobuf: with flatMessage=false serve sends the entries that tail prints, in both forms of records, whatever
// batches they came in; and all of a batch's records within its limits.
func TestStackProtobuf(t *testing.T) {
	forms := map[string]map[string]string{
		"raw":        {},
		"rebuilt":    {"canal.instance.memory.rawEntry": "false"},
		"partitions": {"canal.mq.partition": "", "canal.mq.partitionsNum": "3", "canal.mq.partitionHash": `.*\..*:$pk$`},
	}
	for _, server := range []string{"mysql", "mariadb"} {
		for form, instance := range forms {
			t.Run(server+"/"+form, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				w := newWorld(t, server, instance)
				w.conf.Server["canal.mq.flatMessage"], w.conf.Server["canal.mq.canalBatchSize"] = "false", "8"
				w.conf.Server["canal.instance.filter.transaction.entry"] = "false"
				if err := w.CreateTopic(ctx, w.name, 3); err != nil {
					t.Fatal(err)
				}
				w.patient()
				node := w.start()
				conn := w.admin()
				path := w.ownBinlog(conn, func() { w.mixed(conn, server) })
				want := protoEntries(t, tailFile(t, w, path, "UTC", nil))
				got := w.sentEntries(ctx, form, len(want))
				if err := node.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
					t.Error(err)
				}
				for p := range 3 {
					place := fmt.Sprintf("%s %d ", w.name, p)
					compareEntries(t, place, ofPlace(want, place), ofPlace(got, place))
				}
				args := []string{"audit", "--source", "--source-from", fmt.Sprintf("%s:%d", w.from.File, w.from.Offset)}
				if out, errs, code := w.operator(args...); code != 0 || !strings.Contains(out, "gap     none: every change of the source is there") {
					t.Errorf("audit: exit %d: %s%s", code, out, errs)
				}
				t.Logf("%d entries", len(want))
			})
		}
	}
}

func ofPlace(lines []string, place string) (some []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, place) {
			some = append(some, l)
		}
	}
	return some
}

func compareEntries(t *testing.T, place string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		a, b := "nothing more", "nothing more"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			t.Fatalf("%s: %d entries, want %d; entry %d is\n%.1000s\nwant\n%.1000s", place, len(got), len(want), i, b, a)
		}
	}
}

// sentEntries reads so many entries of the topic.
func (w *world) sentEntries(ctx context.Context, form string, n int) (lines []string) {
	w.Helper()
	var records []record
	err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		rec := record{Topic: r.Topic, Partition: r.Partition, Hex: hex.EncodeToString(r.Value)}
		records = append(records, rec)
		p := readPacket(w.T, rec)
		if p.raw != (form == "raw") || p.raw != (p.batch > 0) {
			w.Errorf("a record is raw: %v, batch %d", p.raw, p.batch)
		}
		if len(r.Value) > 8<<10 && len(p.entries) > 2 {
			w.Errorf("a record of %d entries has %d bytes", len(p.entries), len(r.Value))
		}
		lines = protoEntries(w.T, records)
		return len(lines) < n
	})
	if err != nil {
		w.Fatalf("%d entries of %d: %v", len(lines), n, err)
	}
	return lines
}

// protoEntries are the entries of records without transactions that are empty: which of those are sent depends on what
// else the server did.
func protoEntries(t *testing.T, records []record) (lines []string) {
	t.Helper()
	rows := map[string]bool{} // of a place: it has changes since the last end
	for _, r := range records {
		place := fmt.Sprintf("%s %d ", r.Topic, r.Partition)
		for _, e := range readPacket(t, r).entries {
			kind := uint64(0)
			for _, f := range protoFields(t, e) {
				if f.number == 2 {
					kind = f.varint
				}
			}
			if kind == 3 && !rows[place] {
				if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], place+"1 ") {
					lines = slices.Delete(lines, n-1, n)
				}
				continue
			}
			rows[place] = kind == 2
			lines = append(lines, fmt.Sprintf("%s%d %x", place, kind, e))
		}
	}
	return lines
}
