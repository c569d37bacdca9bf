package position

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Cursors that Canal 1.1.8 wrote into ZooKeeper.
const (
	byFile = `{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":13306}},"postion":{"gtid":"","included":false,"journalName":"binlog.000002","position":237944863,"serverId":1,"timestamp":1796036582000}}`
	byGTID = `{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":13306}},"postion":{"gtid":"6be1439e-ecaa-11f1-aa2a-02fc00000001:1-262099","included":false,"journalName":"binlog.000002","position":238053017,"serverId":1,"timestamp":1796037302000}}`
	// inMeta is the form of meta.dat.
	inMeta = `{"identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":3306}},"postion":{"gtid":"","included":false,"journalName":"mysql-bin.000003","position":1234,"serverId":1,"timestamp":1700000000000}}`
)

func TestCanalTextComesBackByteForByte(t *testing.T) {
	for _, text := range []string{byFile, byGTID} {
		p, err := ParseCanal([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.AppendCanal([]byte("x"))); got != "x"+text {
			t.Errorf("got\n%s, want\nx%s", got, text)
		}
	}
}

func TestParseCanal(t *testing.T) {
	at := time.UnixMilli(1700000000000)
	for name, tt := range map[string]struct {
		text string
		want Position
	}{
		"meta.dat": {inMeta, Position{File: "mysql-bin.000003", Offset: 1234, ServerID: 1, Time: at, Host: "localhost", Port: 3306}},
		"another order, unknown members": {
			`{"postion":{"timestamp":1700000000000,"position":5,"x":[1],"journalName":"b.000001"},"y":{},"@type":"com.alibaba.otter.canal.protocol.position.LogPosition"}`,
			Position{File: "b.000001", Offset: 5, Time: at},
		},
		"unresolvable host":   {`{"identity":{"slaveId":-1,"sourceAddress":{"port":3306}},"postion":{"journalName":"b.000001","position":5}}`, Position{File: "b.000001", Offset: 5, Port: 3306}},
		"null members":        {`{"identity":null,"postion":{"gtid":null,"journalName":"b.000001","position":5,"serverId":null,"timestamp":null}}`, Position{File: "b.000001", Offset: 5}},
		"file without offset": {`{"postion":{"journalName":"b.000001"}}`, Position{File: "b.000001", Offset: 4}},
		"only GTIDs":          {`{"postion":{"gtid":"0-1-7"}}`, Position{GTIDs: "0-1-7"}},
		"beyond 4 GiB":        {`{"postion":{"journalName":"b.000001","position":5000000000}}`, Position{File: "b.000001", Offset: 5000000000}},
	} {
		got, err := ParseCanal([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// A damaged position is never taken for an absent one.
func TestParseCanalRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "null", "{}", "[]", "7", `{"postion":null}`, `{"postion":{}}`, `{"postion":{"timestamp":1}}`,
		`{"position":{"journalName":"b.000001","position":5}}`,
		`{"postion":{"journalName":"b.000001","position":-1}}`,
		`{"postion":{"journalName":"b.000001","position":"5"}}`,
		`{"@type":"java.lang.Object","postion":{"journalName":"b.000001","position":5}}`,
		byFile[:len(byFile)-1], byFile + "x",
	} {
		if p, err := ParseCanal([]byte(text)); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q: got %+v, %v; want an error that is not ErrNone", text, p, err)
		}
	}
}

func FuzzParseCanal(f *testing.F) {
	for _, text := range []string{byFile, byGTID, inMeta} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseCanal(b)
		if err != nil {
			return
		}
		again, err := ParseCanal(p.AppendCanal(nil))
		if err != nil {
			t.Fatalf("%q is read, but not what is written of it: %v", b, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%q changes when written and read again: %s", b, diff)
		}
	})
}

func TestCovers(t *testing.T) {
	const u, v = "6be1439e-ecaa-11f1-aa2a-02fc00000001", "7be1439e-ecaa-11f1-aa2a-02fc00000001"
	file := func(name string, offset uint64) Position {
		return Position{File: name, Offset: offset, Host: "db", Port: 3306}
	}
	on := func(p Position, uuid string) Position { p.ServerUUID = uuid; return p }
	gtid := func(set string) Position { return Position{GTIDs: set} }
	both := func(p Position, set string) Position { p.GTIDs = set; return p }
	elsewhere := Position{File: "b.000001", Offset: 9, Host: "other", Port: 3306}

	for name, tt := range map[string]struct {
		p, q                        Position
		covers, covered, comparable bool // p covers q; q covers p
	}{
		"offset":                       {file("b.000001", 9), file("b.000001", 8), true, false, true},
		"same":                         {file("b.000001", 9), file("b.000001", 9), true, true, true},
		"number, not text":             {file("b.1000000", 4), file("b.999999", 900), true, false, true},
		"another series":               {file("b.000002", 4), file("c.000001", 4), false, false, false},
		"another host":                 {file("b.000002", 4), elsewhere, false, false, false},
		"same UUID, another host":      {on(file("b.000002", 4), u), on(elsewhere, strings.ToUpper(u)), true, false, true},
		"another UUID, same host":      {on(file("b.000002", 4), u), on(file("b.000001", 4), v), false, false, false},
		"UUID known of one":            {on(file("b.000002", 4), u), file("b.000001", 4), true, false, true},
		"MySQL sets":                   {gtid(u + ":1-9"), gtid(u + ":1-5:7"), true, false, true},
		"MySQL sets with blanks":       {gtid(u + ":1-9,\n" + v + ":1-2"), gtid(v + ":1"), true, false, true},
		"MySQL sets apart":             {gtid(u + ":1-9"), gtid(u + ":1-5:11"), false, false, false},
		"MySQL tags":                   {gtid(u + ":1-9:blue:1-3"), gtid(u + ":1-9"), true, false, true},
		"MariaDB":                      {gtid("0-1-9"), gtid("0-1-5"), true, false, true},
		"MariaDB after failover":       {gtid("0-2-9"), gtid("0-1-5"), true, false, true},
		"MariaDB with another domain":  {gtid("0-1-9,1-1-1"), gtid("0-1-9"), true, false, true},
		"MariaDB domains apart":        {gtid("0-1-9,1-1-1"), gtid("0-1-5,1-1-2"), false, false, false},
		"flavours":                     {gtid("0-1-9"), gtid(u + ":1"), false, false, false},
		"unreadable set":               {gtid("x"), gtid("x"), false, false, false},
		"file against GTIDs":           {file("b.000001", 9), gtid("0-1-9"), false, false, false},
		"GTIDs across servers":         {both(on(file("b.000001", 4), u), u+":1-9"), both(on(file("b.000007", 4), v), u+":1-8"), true, false, true},
		"both orders agree":            {both(file("b.000002", 4), u+":1-9"), both(file("b.000001", 4), u+":1-8"), true, false, true},
		"same set, anonymous behind":   {both(file("b.000002", 4), u+":1-9"), both(file("b.000001", 4), u+":1-9"), true, false, true},
		"binlog was reset":             {both(file("b.000001", 400), u+":1-2"), both(file("b.000001", 4), u+":1-9"), false, false, false},
		"nothing known":                {Position{}, file("b.000001", 4), false, false, false},
		"files that are not numbered":  {file("binlog", 9), file("binlog", 8), false, false, false},
		"offline, one list of files":   {Position{File: "b.000002", Offset: 4}, Position{File: "b.000001", Offset: 99}, true, false, true},
		"larger than a 32-bit offset":  {file("b.000001", 5_000_000_000), file("b.000001", 4_000_000_000), true, false, true},
		"a set and one that is longer": {gtid(u + ":1-9"), gtid(u + ":1-10"), false, true, true},
	} {
		for _, way := range []struct {
			p, q Position
			want bool
		}{{tt.p, tt.q, tt.covers}, {tt.q, tt.p, tt.covered}} {
			covered, comparable := way.p.Covers(way.q)
			if comparable != tt.comparable || comparable && covered != way.want {
				t.Errorf("%s: %+v covers %+v = %v, %v; want %v, %v", name, way.p, way.q, covered, comparable, way.want, tt.comparable)
			}
		}
	}
}

func somePosition() Position {
	return Position{
		File: "mysql-bin.000003", Offset: 1234, ServerID: 1, Time: time.UnixMilli(1700000000000), Host: "localhost", Port: 3306,
		GTIDs: "6be1439e-ecaa-11f1-aa2a-02fc00000001:1-9", ServerUUID: "6be1439e-ecaa-11f1-aa2a-02fc00000001",
		Prepared: []XA{{XID: "X'01',X'',1", File: "mysql-bin.000002", Start: 4, End: 99}},
	}
}

func TestFileKeepsEverything(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "example", "meta.dat")
	f := NewFile(path, "example", false, "r1")
	if _, err := f.Load(ctx); !errors.Is(err, ErrNone) {
		t.Fatalf("Load without a file returned %v, want ErrNone", err)
	}
	for range 3 {
		if err := f.Save(ctx, somePosition()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := NewFile(path, "example", false, "r2").Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Saved{Position: somePosition(), Routing: "r1", SinceAt: f.state.SinceAt}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b, _ := os.ReadFile(path)
	want := `{"clientDatas":[{"clientIdentity":{"clientId":1001,"destination":"example","filter":""},"cursor":` + inMeta + `}],"destination":"example",`
	if !strings.HasPrefix(string(b), want) {
		t.Errorf("meta.dat\n%s, want it to start as Canal's\n%s", b, want)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("temporary files are left: %v", entries)
	}
}

func TestFileOfCanal(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "meta.dat")
	other := `{"clientIdentity":{"clientId":1002,"destination":"example","filter":".*"},"cursor":` + strings.Replace(inMeta, "1234", "77", 1) + `}`
	text := `{"clientDatas":[` + other + `,{"clientIdentity":{"clientId":1001,"destination":"example","filter":"a.b"},"cursor":` + inMeta + `}],"destination":"example"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := NewFile(path, "example", true, "")
	got, err := f.Load(ctx)
	if err != nil || !got.Foreign || got.Offset != 1234 {
		t.Fatalf("Load returned %+v, %v", got, err)
	}
	if err := f.Save(ctx, somePosition()); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	if !strings.HasPrefix(string(b), `{"clientDatas":[`+other+`,`) {
		t.Errorf("the other client's entry is gone: %s", b)
	}
	if !strings.Contains(string(b), `"gtid":"6be1439e`) {
		t.Errorf("no GTID set although gtidon: %s", b)
	}
	// Canal runs again and rewrites the file, with our member or without.
	moved := strings.Replace(string(b), `"position":1234`, `"position":2000`, 1)
	if err := os.WriteFile(path, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(ctx, somePosition()); !errors.Is(err, ErrFenced) {
		t.Errorf("Save over a moved cursor returned %v, want ErrFenced", err)
	}
	got, err = f.Load(ctx)
	if err != nil || !got.Foreign || got.Offset != 2000 || got.ServerUUID != "" || got.Prepared != nil {
		t.Errorf("Load returned %+v, %v; want only what Canal wrote", got, err)
	}
	if err := f.Save(ctx, somePosition()); err != nil {
		t.Errorf("Save after Load: %v", err)
	}
}

func TestDamagedFileIsRefusedByName(t *testing.T) {
	for _, text := range []string{
		"", "{", "null", "{}", "[]", `{"clientDatas":[7]}`,
		`{"clientDatas":[{"clientIdentity":{"clientId":1001},"cursor":{}}],"destination":"example"}`,
		`{"clientDatas":[{"clientIdentity":{"clientId":1001},"cursor":` + inMeta + `}],"relay":{"cursor":` + inMeta + `,"state":{"version":9}}}`,
	} {
		path := filepath.Join(t.TempDir(), "meta.dat")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := NewFile(path, "example", false, "")
		if _, err := f.Load(context.Background()); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load of %q returned %v, want an error that names the file", text, err)
		}
		if err := f.Save(context.Background(), somePosition()); err == nil {
			t.Errorf("Save over %q succeeded", text)
		}
		if b, _ := os.ReadFile(path); string(b) != text {
			t.Errorf("the damaged file was changed to %q", b)
		}
	}
}

func TestFileWithoutOurClientHasNoPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.dat")
	os.WriteFile(path, []byte(`{"clientDatas":[{"clientIdentity":{"clientId":1001,"destination":"e","filter":""}}],"destination":"e"}`), 0o600)
	if _, err := NewFile(path, "e", false, "").Load(context.Background()); !errors.Is(err, ErrNone) {
		t.Errorf("Load before Canal's first acknowledgement returned %v, want ErrNone", err)
	}
}

// The save fails for root, too: the name leaves no room for that of the file that is written first.
func TestFailedSaveLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	short, long := filepath.Join(dir, "meta.dat"), filepath.Join(dir, strings.Repeat("m", 250))
	first := NewFile(short, "example", false, "")
	if _, err := first.Load(context.Background()); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	if err := first.Save(context.Background(), somePosition()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(short, long); err != nil {
		t.Fatal(err)
	}
	f := NewFile(long, "example", false, "")
	if _, err := f.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := somePosition()
	p.Offset++
	if err := f.Save(context.Background(), p); err == nil {
		t.Error("Save succeeded without room for a new file")
	}
	if got, err := f.Load(context.Background()); err != nil || got.Offset != 1234 {
		t.Errorf("Load returned %+v, %v; want the old position", got, err)
	}
}

func TestStateKeepsTwentyPositions(t *testing.T) {
	var s State
	at := time.Unix(1700000000, 0)
	p := somePosition()
	for i := range 50 {
		p.Offset = uint64(i)
		s = s.Next(p, at.Add(time.Duration(i)*time.Minute), "")
		s = s.Next(p, at.Add(time.Duration(i)*time.Minute+30*time.Second), "") // too soon to be kept
	}
	if len(s.Past) != 20 || s.Past[0].Offset != 49 || s.Past[19].Offset != 30 {
		t.Fatalf("%d positions are kept, the newest %+v", len(s.Past), s.Past[0])
	}
	s = s.Next(p, at.Add(50*time.Minute), "term started")
	if s.Past[0].Reason != "term started" {
		t.Errorf("newest is %+v, want the one with a reason", s.Past[0])
	}
	got, err := ParseState(s.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	s.Version = stateVersion
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p.GTIDs = strings.Repeat("x", 2000)
	if s = s.Next(p, at, "long"); s.Past[0].GTIDs != "" || s.GTIDs != p.GTIDs {
		t.Error("a long GTID set must be kept for the cursor and not for the history")
	}
	if !json.Valid(s.Append(nil)) {
		t.Error("state is not JSON")
	}
}

// TestHistoryBegins: what was sent before a term that began where somebody else
// said, or with another routing, says nothing about what readers lack.
func TestHistoryBegins(t *testing.T) {
	now := time.Unix(1_790_000_000, 0).UTC()
	s := State{}.Trust("r1", "", 5, now)
	for i, step := range []struct {
		change func(State) State
		since  int64
	}{
		{func(s State) State { return s.Trust("r1", "", 9, now.Add(time.Hour)) }, 5},
		{func(s State) State { return s.Trust("r2", ExactlyOnce, 12, now.Add(time.Hour)) }, 12},
		{func(s State) State {
			return s.Set(Position{}, Position{File: "b.1", Offset: 4}, "", now, "again").Trust("r2", "", 15, now)
		}, 15},
		{func(s State) State { return s.Trust("r2", "", 16, now) }, 15},
	} {
		s = step.change(s)
		if s.Since != step.since {
			t.Errorf("step %d: since %d, want %d", i, s.Since, step.since)
		}
	}
}

// TestClockSetBack: positions go on to be kept, and noted once a minute, when the wall clock is set back by a day; and the
// cursor is moved by where it stands, not by its event's time.
func TestClockSetBack(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var s State
	for i := range 4 {
		now := at.Add(time.Duration(i) * 20 * time.Second)
		if i > 0 {
			now = now.Add(-24 * time.Hour)
		}
		s = s.Next(Position{File: "binlog.000001", Offset: uint64(100 * (i + 1))}, now, "")
	}
	if len(s.Past) != 2 || s.Past[0].Offset != 200 {
		t.Errorf("past positions %+v, want one of before and one of after", s.Past)
	}
	f := NewFile(filepath.Join(t.TempDir(), "meta.dat"), "d", false, "")
	if _, err := f.Load(t.Context()); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := f.Save(t.Context(), Position{File: "binlog.000001", Offset: uint64(100 * (i + 1)), Time: at.Add(-time.Duration(i) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := f.Load(t.Context()); err != nil || p.Offset != 400 {
		t.Errorf("the cursor stands at %+v, %v", p, err)
	}
}
