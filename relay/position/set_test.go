package position

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSetByAnOperator: old and new position and the reason are kept, and a term that runs is fenced.
func TestSetByAnOperator(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.dat")
	running := NewFile(path, "example", false, "r1")
	if _, err := running.Load(t.Context()); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	at := func(offset uint64) Position {
		return Position{File: "binlog.000001", Offset: offset, Host: "db", Port: 3306, GTIDs: "0-1-7"}
	}
	if err := running.Save(t.Context(), at(900)); err != nil {
		t.Fatal(err)
	}
	old, err := NewFile(path, "example", false, "").Set(t.Context(), at(157), "again")
	if err != nil || old.Offset != 900 {
		t.Fatalf("%+v, %v", old, err)
	}
	if err := running.Save(t.Context(), at(1000)); !errors.Is(err, ErrFenced) {
		t.Errorf("the running term saved: %v", err)
	}
	next := NewFile(path, "example", false, "r1")
	got, err := next.Load(t.Context())
	if err != nil || got.Offset != 157 || got.Foreign || got.GTIDs != "0-1-7" || got.Routing != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := next.Save(t.Context(), at(2000)); err != nil { // perhaps far behind it
		t.Error(err)
	}
	var reasons []string
	for _, past := range next.State().Past {
		reasons = append(reasons, past.Reason)
	}
	if all := strings.Join(reasons, ", "); all != "term started at binlog.000001:157, set by an operator: again, replaced by an operator, term started" {
		t.Errorf("reasons %s", all)
	}
}

// TestSetGTIDsAlone: Canal's member gtid must hold them even when GTIDs are off, or nothing would name the position.
func TestSetGTIDsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.dat")
	if _, err := NewFile(path, "example", false, "").Set(t.Context(), Position{GTIDs: "0-1-7"}, "r"); err != nil {
		t.Fatal(err)
	}
	if got, err := NewFile(path, "example", false, "").Load(t.Context()); err != nil || got.GTIDs != "0-1-7" || got.File != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSetLeavesADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.dat")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFile(path, "example", false, "").Set(t.Context(), Position{File: "binlog.000001", Offset: 4}, "r"); err == nil {
		t.Error("a damaged file was overwritten")
	}
}

func TestKeepPrepared(t *testing.T) {
	xa := func(id string, end uint64) XA {
		return XA{XID: id, File: "binlog.000002", Start: 4, End: end, ServerUUID: "u"}
	}
	old := Position{File: "binlog.000002", Offset: 500, ServerUUID: "u", Prepared: []XA{xa("before", 100), xa("behind", 400), xa("found", 150)}}
	p := Position{File: "binlog.000002", Offset: 200, ServerUUID: "u", Prepared: []XA{xa("found", 150)}}.Keep(old)
	var ids []string
	for _, x := range p.Prepared {
		ids = append(ids, x.XID)
	}
	if got := strings.Join(ids, ","); got != "found,before" {
		t.Errorf("kept %s, want found,before", got)
	}
	if p := (Position{GTIDs: "0-1-7"}).Keep(old); len(p.Prepared) != 3 {
		t.Errorf("where nothing can be compared %d are kept, want all", len(p.Prepared))
	}
	if s := (State{}).Set(Position{}, Position{File: "a.1", Offset: 4}, "", time.Unix(0, 0), "r"); len(s.Past) != 1 {
		t.Errorf("without an old position %d are kept, want 1", len(s.Past))
	}
}
