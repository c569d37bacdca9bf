package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Where each field case of the kinds data-types, charset, time, binlog-events and ddl-schema has its right value:
//
//	DT-02, 05, 06, 09, 10, 13, 16, 17, 19, 22, 23, 27, 30, 31   TestRecorded/cases.mysql, in both styles (05: metadata FULL and
//	                           MINIMAL; 10: the zeros are Canal's in style canal, restored in style mysql; 23: VECTOR is a list, as
//	                           design and README have it; its table may be excluded: TestExcludedTable)
//	DT-25                      TestRecorded/old-times.mariadb, row-metadata.mariadb, TestGolden/49-mariadb-compressed-column
//	CS-01, 02, 05              TestRecorded/cases.mysql, tables mc, d, d2; row-metadata.mariadb; every code: event/charset
//	CS-06                      TestRecorded/events.mysql, tables 表 and café; sqltext.TestStatusVars, TestGolden/43-connection-charset-gbk
//	TM-02                      TestRecorded/cases.mysql, table dst, in UTC and New York
//	TM-04, 06                  TestRecorded/cases.mysql, tables tm, fr
//	EV-01                      TestRecorded/cases.mysql, table cmp; TestGolden/21-compressed
//	EV-03                      TestGolden/22-xa, relay tests of XA, TestStackXA, TestStackXAPromoted
//	EV-05                      TestRecorded/events.mysql, TestStatements; TestGolden/41-statement-format, relay.TestStatementStop
//	EV-07                      TestGolden/50-…, 55-…, TestRecorded/old-times.mariadb
//	DDL-01, 04, 06, 07, 12, 13, 20   TestStackDDL… on real servers, TestStackDifferential, schema.TestFieldCases
//	DDL-10, 16, 18, 21, 24, 26       TestRecorded/ddl.mysql and ddl.mariadb; of DDL-21 what stops: schema.TestStatementNotUnderstood
//	EV-09, 11                  TestRecorded/events.mysql, tables mi, m1, m2; relay/binlog/track tests, relay.TestLive… on real servers
//
// and of the kinds gtid, position-cursor, network-mysql, auth-version, kafka-delivery, memory-large and ha-zookeeper (those that
// routing decides: cmd/internal/config/odd_test.go):
//
//	GT-02        relay.TestReconnect, TestStackCutTwice
//	GT-04, 06, 08, 10   TestStackGapsInGTIDs, TestStackTaggedGTIDs, TestStackDomains, TestStackGTIDMode
//	PC-01        simulation.TestLongOutages, mqstarter.TestFailedSaveIsTriedAgain, zookeeper.TestStackRealServerRefusedSave
//	PC-04        binlog.TestPurgedNamesWhatIsLeft, TestStackPurgedCursor, TestStackFaultyDestinations, zookeeper.TestCursorIsCanalsAndKeepsTheRest
//	PC-06        binlog.TestDumpBy: another server's file, and its set; TestStackPromotedReplica, TestStackLaggingReplica,
//	             TestStackXAPromoted, schema.TestAnotherServerByTime
//	PC-07        relay.TestBeyond4GiB, TestXABeyond4GiB, track.TestOffsetBeyond4GiB, wraps.TestStart, binlog.TestStackHeartbeat
//	PC-10, 11    relay.TestResume, TestStackSchema
//	PC-13        zookeeper.TestDamagedCursorIsRefusedByName, TestDamagedStateIsRefusedByName, TestStateOfANewerBuildIsRefused; position.TestDamagedFileIsRefusedByName,
//	             TestFailedSaveLeavesTheOldFile; TestStackFaultyDestinations, TestStackDiskFull
//	NW-02, 05    binlog.TestStackIdleSource, TestStackSideConnection; relay.TestStackFullSource
//	NW-03, 07    relay.TestStackSlowReader, binlog.TestFailuresLeaveNothing
//	NW-09        binlog.TestStackTLS
//	AV-02, 03    binlog.TestStackLogin, TestDroppedProbeIsNoVerdict
//	KD-02        TestStackOversize
//	KD-03, 06    kafka.TestRefusalHoldsThePosition, TestTopicMadeAnew, TestStackTopicMadeAnew
//	KD-13        kafka.TestRefusalDuringTheTerm, TestCertificateExpiresDuringTheTerm, TestStackKafkaPassword
//	KD-19        simulation.TestLongOutages, relay.TestBudget, TestStackOutages
//	ML-02        parse.TestPayloadInPieces, TestPayloadsOfTen, TestStackLarge
//	ML-03        wire.TestPacketBoundary, relay.TestStackLargeEvents, binlog.TestStackCompression, TestStackLarge
//	HA-02        TestStackPausedOwner, TestStackExactlyOncePaused, simulation
//	HA-04, 05    TestStackBackAndForth, TestStackTwins
//	HA-08        zookeeper.TestManyShortLosses, TestRollingRestart
//	HA-10        TestStackSecuredZooKeeper, zookeeper.TestStackRealServerCredentials, TestTLS, TestChrootIsMadeForItsUser,
//	             TestChrootBelowClosedNodes, TestCredentialsChange, TestCertificatesChange
//
// The binlogs of TestRecorded were written by MySQL 9.7 and MariaDB 10.11; the texts were compared with what SELECT showed.
func TestRecorded(t *testing.T) {
	paths, err := filepath.Glob("testdata/binlogs/*.binlog")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded binlogs: %v", err)
	}
	for _, path := range paths {
		for _, style := range []struct{ name, values, zone string }{
			{"canal", "canal", "UTC"}, {"mysql", "mysql", "UTC"}, {"newyork", "canal", "America/New_York"},
		} {
			name := strings.TrimSuffix(filepath.Base(path), ".binlog")
			t.Run(name+"/"+style.name, func(t *testing.T) {
				t.Parallel()
				records, errs, code := tailCase(t, path, style.zone, "canal.relay.values = "+style.values)
				if code != 0 {
					t.Fatalf("exit %d: %s", code, errs)
				}
				got := rowsOf(t, records)
				right := strings.TrimSuffix(path, "binlog") + style.name + ".txt"
				if *update {
					writeFile(t, right, got)
					return
				}
				want, err := os.ReadFile(right)
				if err != nil {
					t.Fatal(err)
				}
				a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
				for i := range max(len(a), len(b)) {
					if i >= len(a) || i >= len(b) || a[i] != b[i] {
						t.Fatalf("line %d\nwant %s\ngot  %s", i+1, strings.Join(a[min(i, len(a)):min(i+1, len(a))], ""), strings.Join(b[min(i, len(b)):min(i+1, len(b))], ""))
					}
				}
			})
		}
	}
}

// tailCase runs the command over a binlog file with more lines of instance.properties.
func tailCase(t *testing.T, path, zone string, lines ...string) ([]record, string, int) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "canal.properties"), "canal.serverMode = kafka\ncanal.destinations = d\nkafka.bootstrap.servers = 127.0.0.1:1\n")
	writeFile(t, filepath.Join(dir, "d", "instance.properties"), `canal.instance.master.address = 127.0.0.1:3306
canal.instance.dbUsername = x
canal.instance.dbPassword = x
canal.instance.filter.regex = .*\\..*
canal.mq.topic = t
canal.mq.partition = 0
`+strings.Join(lines, "\n")+"\n")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"tail", "--conf", dir, "--destination", "d", "--output", "jsonl", "--binlog", path},
		func(name string) (string, bool) { return zone, name == "TZ" }, &out, &errs)
	return parseRecords(t, out.Bytes()), errs.String(), code
}

// rowsOf has one line a row: what changed, and what it was.
func rowsOf(t *testing.T, records []record) string {
	t.Helper()
	var out strings.Builder
	for _, r := range records {
		var m struct {
			Type, Database, Table, SQL string
			Data, Old                  []json.RawMessage
			SQLType                    json.RawMessage
		}
		if err := json.Unmarshal([]byte(r.Value), &m); err != nil {
			t.Fatalf("%v in %.200s", err, r.Value)
		}
		if strings.HasSuffix(m.Database, "_other") {
			m.Table = m.Database + "." + m.Table
		}
		for i, row := range m.Data {
			fmt.Fprintf(&out, "%s %s %s", m.Type, m.Table, shortened(row))
			if m.Old != nil {
				fmt.Fprintf(&out, " was %s", shortened(m.Old[i]))
			}
			out.WriteByte('\n')
		}
		if m.Data != nil {
			fmt.Fprintf(&out, "  %s\n", m.SQLType)
		} else {
			fmt.Fprintf(&out, "%s %s: %s\n", m.Type, m.Table, shortened([]byte(strings.ReplaceAll(m.SQL, "\n", " "))))
		}
	}
	return out.String()
}

// shortened cuts a long row in its middle.
func shortened(row []byte) string {
	const most = 4000
	if len(row) <= most {
		return string(row)
	}
	end := most
	for !utf8.RuneStart(row[end]) {
		end--
	}
	return fmt.Sprintf("%s … %d bytes", row[:end], len(row))
}

// What changes rows and has no message is counted and named all the same: here REPLACE and LOAD DATA, of which Canal says nothing.
func TestStatements(t *testing.T) {
	_, errs, code := tailCase(t, "testdata/binlogs/events.mysql.binlog", "UTC", `canal.instance.filter.regex = nv\\.m2`)
	if code != 0 || strings.Contains(errs, "logged as a statement") {
		t.Errorf("none of them is of a captured table: exit %d: %s", code, errs)
	}
	_, errs, code = tailCase(t, "testdata/binlogs/events.mysql.binlog", "UTC")
	if code != 0 || !strings.Contains(errs, "logged as a statement") || !strings.Contains(errs, "table=nv.m1") {
		t.Errorf("exit %d: %s", code, errs)
	}
	_, errs, code = tailCase(t, "testdata/binlogs/events.mysql.binlog", "UTC", "canal.relay.statement.dml = stop")
	if code == 0 || !strings.Contains(errs, "a change of nv.m1 was logged as a statement") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Rows of a table that the filter refuses are never decoded, whatever they hold.
func TestExcludedTable(t *testing.T) {
	records, errs, code := tailCase(t, "testdata/binlogs/cases.mysql.binlog", "UTC", `canal.instance.filter.black.regex = nv\\.(v|mv|pj)`)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, r := range records {
		for _, table := range []string{"v", "mv", "pj"} {
			if strings.Contains(r.Value, `"table":"`+table+`"`) {
				t.Errorf("%.200s", r.Value)
			}
		}
	}
}

// A difference to a document that the before image lacks is a named error.
func TestPartialWithoutBefore(t *testing.T) {
	_, errs, code := tailCase(t, "testdata/partial-minimal.mysql.binlog", "UTC")
	if code == 0 {
		t.Fatal("no error")
	}
	for _, want := range []string{"nv.pm column j row 1", "set binlog_row_image=FULL"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not in %q", want, errs)
		}
	}
}
