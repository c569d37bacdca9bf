package track

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"

	"github.com/canal-relay/canal-relay/relay/position"
)

const source = "11111111-2222-3333-4444-555555555555"

// TestGTIDSet adds transactions in random order and compares with go-mysql's
// set, which sorts and merges all of them each time.
func TestGTIDSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sids := []uuid.UUID{uuid.MustParse(source), uuid.MustParse("0ff7bb74-ecae-11f1-b832-02fc00000001")}
	want := mysql.NewMysqlGTIDSet()
	var got GTIDSet
	for range 600 {
		sid, tag := sids[rnd.IntN(2)], []string{"", "blue", "red"}[rnd.IntN(3)]
		n := int64(1 + rnd.IntN(400))
		want.AddGTIDWithTag(sid, mysql.NewTag(tag), n)
		got.add(&gtid{sid: sid, tag: tag, number: n})
		parsed, err := ParseGTIDSet(got.String())
		if err != nil || parsed.String() != got.String() {
			t.Fatalf("%q reads as %q, %v", got.String(), parsed.String(), err)
		}
	}
	if got.String() != want.String() {
		t.Errorf("got  %s\nwant %s", got.String(), want.String())
	}
}

func TestGTIDSetText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		" \n":                                "",
		source + ":1-3:5,\n" + source + ":4": source + ":1-5",
		strings.ToUpper(source) + ":7":       source + ":7",
		"10-1-5,2-3-4,2-9-12":                "2-9-12,10-1-5",
	} {
		set, err := ParseGTIDSet(in)
		if err != nil || set.String() != want {
			t.Errorf("%q: %q, %v, want %q", in, set.String(), err, want)
		}
	}
	for _, in := range []string{"x", source, source + ":", source + ":a-b", "1-2"} {
		if _, err := ParseGTIDSet(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func ev(kind replication.EventType, size, logPos uint32, flags uint16, e replication.Event) *replication.BinlogEvent {
	if e == nil {
		e = &replication.GenericEvent{}
	}
	return &replication.BinlogEvent{Header: &replication.EventHeader{EventType: kind, EventSize: size, LogPos: logPos, Flags: flags, ServerID: 7, Timestamp: 1700000000}, Event: e}
}

func query(size, logPos uint32, sql string) *replication.BinlogEvent {
	return ev(replication.QUERY_EVENT, size, logPos, 0, &replication.QueryEvent{Query: []byte(sql)})
}

func rotate(file string, pos uint64, logPos uint32, flags uint16) *replication.BinlogEvent {
	return ev(replication.ROTATE_EVENT, 40, logPos, flags, &replication.RotateEvent{Position: pos, NextLogName: []byte(file)})
}

func start(t *testing.T, p position.Position, files bool) *Track {
	t.Helper()
	k, err := New(p, files)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestOffsetBeyond4GiB follows a file past the point where headers wrap.
func TestOffsetBeyond4GiB(t *testing.T) {
	const begin = 1<<32 - 1000
	k := start(t, position.Position{File: "f.1", Offset: begin}, false)
	k.Next(rotate("f.1", begin, 0, replication.LOG_EVENT_ARTIFICIAL_F))
	k.Next(ev(replication.FORMAT_DESCRIPTION_EVENT, 120, 0, 0, nil))
	at := uint64(begin)
	for i := range 100 {
		k.Next(query(60, uint32(at+60), "BEGIN"))
		k.Next(ev(replication.TABLE_MAP_EVENT, 50, uint32(at+110), 0, nil))
		step := k.Next(ev(replication.XID_EVENT, 31, uint32(at+141), 0, &replication.XIDEvent{}))
		if !step.Ended || k.Start != at+110 || k.End != at+141 || k.Position().Offset != at+110 {
			t.Fatalf("transaction %d: %+v at %d-%d, position %d, want it from %d", i, step, k.Start, k.End, k.Position().Offset, at)
		}
		at += 141
	}
	if at < 1<<32 {
		t.Fatal("never wrapped")
	}
	// A heartbeat behind transactions that the source left out.
	k.Next(ev(replication.HEARTBEAT_EVENT, 40, uint32(at+5000), 0, &replication.HeartbeatEvent{}))
	k.Next(query(60, uint32(at+5060), "BEGIN"))
	if k.Start != at+5000 {
		t.Errorf("at %d, want %d", k.Start, at+5000)
	}
	// Header offsets that are missing or behind change nothing.
	k.Next(query(60, 0, "SAVEPOINT a"))
	k.Next(query(60, uint32(at), "SAVEPOINT b"))
	if k.End != at+5180 {
		t.Errorf("at %d, want %d", k.End, at+5180)
	}
}

func TestRotate(t *testing.T) {
	k := start(t, position.Position{File: "f.1", Offset: 500}, false)
	k.Next(rotate("f.1", 500, 0, replication.LOG_EVENT_ARTIFICIAL_F))
	k.Next(ev(replication.STOP_EVENT, 23, 523, 0, nil))
	k.Next(rotate("f.2", 4, 563, 0))
	k.Next(rotate("f.2", 4, 0, replication.LOG_EVENT_ARTIFICIAL_F))
	k.Next(ev(replication.FORMAT_DESCRIPTION_EVENT, 122, 126, 0, nil))
	if k.File != "f.2" || k.Start != 4 || k.End != 126 {
		t.Errorf("%s:%d-%d", k.File, k.Start, k.End)
	}
}

// TestFiles keeps the offsets of the file that is read: a relay log's headers
// hold its source's.
func TestFiles(t *testing.T) {
	k := start(t, position.Position{File: "relay.1", Offset: 4}, true)
	k.Next(ev(replication.FORMAT_DESCRIPTION_EVENT, 122, 0, replication.LOG_EVENT_ARTIFICIAL_F, nil))
	k.Next(rotate("source.9", 777, 0, replication.LOG_EVENT_ARTIFICIAL_F))
	k.Next(query(60, 98765, "CREATE TABLE t (a INT)"))
	if p := k.Position(); p.File != "relay.1" || p.Offset != 4+122+40+60 {
		t.Errorf("%s:%d", p.File, p.Offset)
	}
}

func gtidEvent(n int64) *replication.BinlogEvent {
	sid := uuid.MustParse(source)
	return ev(replication.GTID_EVENT, 80, 0, 0, &replication.GTIDEvent{SID: sid[:], GNO: n})
}

func maria(seq uint64, standalone bool) *replication.BinlogEvent {
	e := &replication.MariadbGTIDEvent{GTID: mysql.MariadbGTID{DomainID: 0, ServerID: 2, SequenceNumber: seq}}
	if standalone {
		e.Flags = replication.BINLOG_MARIADB_FL_STANDALONE
	}
	return ev(replication.MARIADB_GTID_EVENT, 42, 0, 0, e)
}

// TestTransactions shows where groups of events end, and where a stream resumes.
func TestTransactions(t *testing.T) {
	xid := func() *replication.BinlogEvent { return ev(replication.XID_EVENT, 31, 0, 0, &replication.XIDEvent{}) }
	rows := func() *replication.BinlogEvent { return ev(replication.TABLE_MAP_EVENT, 50, 0, 0, nil) }
	prepare := ev(replication.XA_PREPARE_LOG_EVENT, 40, 0, 0, nil)
	tests := []struct {
		name   string
		events []*replication.BinlogEvent
		gtids  string // behind the last event, from an empty set
		offset uint64 // where the stream resumes, from 1000
		tx     string
	}{
		{"MySQL transaction", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "BEGIN"), rows(), xid()}, source + ":1", 1190, source + ":1"},
		{"MyISAM", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "BEGIN"), rows(), query(60, 0, "COMMIT")}, source + ":1", 1190, source + ":1"},
		{"DDL", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "CREATE TABLE t (a INT)")}, source + ":1", 1140, source + ":1"},
		{"name that ends in COMMIT", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "RENAME TABLE t TO tbl_commit")}, source + ":1", 1140, source + ":1"},
		{"CREATE … SELECT", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "CREATE TABLE t (a INT) START TRANSACTION"), rows(), xid()}, source + ":1", 1190, source + ":1"},
		{"rollback", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "BEGIN"), rows(), query(60, 0, "ROLLBACK")}, source + ":1", 1250, source + ":1"},
		{"savepoint", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "BEGIN"), query(60, 0, "SAVEPOINT `a`"), query(60, 0, "ROLLBACK TO `a`"), xid()}, source + ":1", 1260, source + ":1"},
		{"XA prepare", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "XA START X'31',X'',1"), rows(), query(60, 0, "XA END X'31',X'',1"), prepare}, source + ":1", 1290, source + ":1"},
		{"XA commit", []*replication.BinlogEvent{gtidEvent(1), query(60, 0, "XA COMMIT X'31',X'',1")}, source + ":1", 1140, source + ":1"},
		{"without GTIDs", []*replication.BinlogEvent{query(60, 0, "BEGIN"), rows(), xid()}, "", 1110, "f.1:1000@" + source},
		{"MariaDB transaction", []*replication.BinlogEvent{maria(5, false), rows(), xid()}, "0-2-5", 1092, "0-2-5"},
		{"MariaDB DDL", []*replication.BinlogEvent{maria(5, true), query(60, 0, "DROP TABLE t")}, "0-2-5", 1102, "0-2-5"},
		{"MariaDB CREATE … SELECT", []*replication.BinlogEvent{maria(5, false), query(60, 0, "CREATE TABLE t (a INT)"), rows(), query(60, 0, "COMMIT")}, "0-2-5", 1152, "0-2-5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := start(t, position.Position{File: "f.1", Offset: 1000, ServerUUID: source}, false)
			k.known = tt.gtids != ""
			began := 0
			for i, e := range tt.events {
				step := k.Next(e)
				if step.Began {
					began++
				}
				if last := i == len(tt.events)-1; step.Ended != last {
					t.Errorf("event %d: ended %v", i, step.Ended)
				}
			}
			p := k.Position()
			if p.GTIDs != tt.gtids || p.Offset != tt.offset || string(k.Tx) != tt.tx || began != 1 || k.Open {
				t.Errorf("position %d %q, transaction %s, began %d, open %v", p.Offset, p.GTIDs, k.Tx, began, k.Open)
			}
			if p.ServerID != 7 || p.Time.Unix() != 1700000000 {
				t.Errorf("position %+v", p)
			}
		})
	}
}

// TestPayload resumes behind the payload, not within.
func TestPayload(t *testing.T) {
	k := start(t, position.Position{File: "f.1", Offset: 1000, GTIDs: source + ":1-4"}, false)
	k.Next(gtidEvent(5))
	k.Next(ev(replication.TRANSACTION_PAYLOAD_EVENT, 300, 0, 0, nil))
	k.Inner(query(60, 0, "BEGIN"))
	if got := string(k.AppendGTIDs(nil)); got != source+":1-5" || k.Position().GTIDs != source+":1-4" {
		t.Errorf("within: %s, position %s", got, k.Position().GTIDs)
	}
	step := k.Inner(ev(replication.XID_EVENT, 31, 0, 0, &replication.XIDEvent{}))
	if p := k.Position(); !step.Ended || p.Offset != 1380 || p.GTIDs != source+":1-5" {
		t.Errorf("%+v %+v", step, p)
	}
}

// TestAnonymous gives up on the set: it cannot say what was executed.
func TestAnonymous(t *testing.T) {
	k := start(t, position.Position{File: "f.1", Offset: 4, GTIDs: source + ":1-4"}, false)
	k.Next(ev(replication.ANONYMOUS_GTID_EVENT, 80, 0, 0, &replication.GTIDEvent{SID: make([]byte, 16)}))
	k.Next(query(60, 0, "CREATE TABLE t (a INT)"))
	k.Next(ev(replication.PREVIOUS_GTIDS_EVENT, 80, 0, 0, &replication.PreviousGTIDsEvent{GTIDSets: source + ":1-4"}))
	if p := k.Position(); p.GTIDs != "" {
		t.Errorf("GTIDs %s", p.GTIDs)
	}
}

// TestUnfinished drops what a source that was killed left open.
func TestUnfinished(t *testing.T) {
	k := start(t, position.Position{File: "f.1", Offset: 4, GTIDs: source + ":1-4"}, false)
	k.Next(gtidEvent(5))
	k.Next(query(60, 0, "BEGIN"))
	k.Next(gtidEvent(6))
	k.Next(query(60, 0, "DROP TABLE t"))
	if p := k.Position(); p.GTIDs != source+":1-4:6" {
		t.Errorf("GTIDs %s", p.GTIDs)
	}
}

func TestClassify(t *testing.T) {
	for sql, want := range map[string]Text{
		"BEGIN": TextBegin, "begin": TextBegin, "COMMIT": TextCommit, " commit ;": TextCommit, "ROLLBACK": TextRollback,
		"ROLLBACK TO `a`": TextSavepoint, "SAVEPOINT `a`": TextSavepoint, "XA START X'31'": TextXAStart, "XA END X'31'": TextXAEnd,
		"XA COMMIT X'31'": TextXADecision, "xa rollback X'31'": TextXADecision, "": TextStatement, "CREATE TABLE begin (a INT)": TextStatement,
		"CREATE PROCEDURE p() BEGIN": TextStatement, "savepoints": TextStatement, "BEGIN WORK": TextStatement, "COMMITTED": TextStatement,
	} {
		if got := ClassifyText([]byte(sql)); got != want {
			t.Errorf("%q: %d, want %d", sql, got, want)
		}
	}
}

// TestBeforeOnMariaDB: a prepared transaction is found by what is before it in its domain, whatever the others have done since.
func TestBeforeOnMariaDB(t *testing.T) {
	for from, want := range map[string]string{"0-1-41,3-1-7": "0-1-41,3-2-9", "3-1-7": "3-2-9", "": ""} {
		k := start(t, position.Position{File: "f.1", Offset: 1000, GTIDs: from}, false)
		prepare := maria(42, false)
		prepare.Event.(*replication.MariadbGTIDEvent).Flags = mariadbPreparedXA
		k.Next(prepare)
		k.Next(ev(replication.XA_PREPARE_LOG_EVENT, 40, 0, 0, &replication.GenericEvent{Data: append([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, 'x')}))
		other := maria(9, true)
		other.Event.(*replication.MariadbGTIDEvent).GTID.DomainID = 3
		k.Next(other)
		k.Next(query(60, 0, "CREATE TABLE t (a INT)"))
		p := k.Position()
		if len(p.Prepared) != 1 {
			t.Fatalf("from %q: %+v", from, p)
		}
		if got := k.Before(p.Prepared[0]); got.GTIDs != want || got.File != "f.1" || got.Offset != 1000 {
			t.Errorf("from %q: %+v, want %s", from, got, want)
		}
	}
}
