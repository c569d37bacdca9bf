package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// What one term stored is there for the next one, in order.
func TestFileKeepsEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders", "schema.db")
	want := []schema.Entry{
		{At: position.Position{File: "binlog.000001", Offset: 120}, SQL: "CREATE TABLE t (id INT)", Database: "shop"},
		{At: position.Position{File: "binlog.000001", Offset: 300}, Schema: "shop", Table: "u", SQL: "CREATE TABLE `u` (`id` int)"},
	}
	for _, e := range want {
		f := NewFile(path)
		if err := f.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	f := NewFile(path)
	defer f.Close()
	got, err := f.Load(t.Context(), position.Position{})
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// A second process with the same file is told why it cannot have it.
func TestFileHeldByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schema.db")
	first, second := NewFile(path), NewFile(path)
	defer first.Close()
	defer second.Close()
	if _, err := first.Load(t.Context(), position.Position{}); err != nil {
		t.Fatal(err)
	}
	_, err := second.Load(t.Context(), position.Position{})
	if err == nil || !strings.Contains(err.Error(), "another process holds it") {
		t.Errorf("%v", err)
	}
}

// A file that a newer build has written to is refused, also where it still has entries of ours.
func TestFileOfANewerBuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schema.db")
	f := NewFile(path)
	if err := f.Append(t.Context(), schema.Entry{SQL: "CREATE TABLE a (id INT)"}); err != nil {
		t.Fatal(err)
	}
	err := f.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("entries-2"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for name, do := range map[string]func(*File) error{
		"Load":   func(f *File) error { _, err := f.Load(t.Context(), position.Position{}); return err },
		"Append": func(f *File) error { return f.Append(t.Context(), schema.Entry{SQL: "CREATE TABLE b (id INT)"}) },
		"Trim":   func(f *File) error { return f.Trim(t.Context(), time.Now()) },
	} {
		f := NewFile(path)
		err := do(f)
		f.Close()
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "entries of format 2, written by a newer canal-relay") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Entries before an old snapshot are removed, the rest stays.
func TestFileIsTrimmed(t *testing.T) {
	f := NewFile(filepath.Join(t.TempDir(), "schema.db"))
	defer f.Close()
	entries := []schema.Entry{{SQL: "CREATE TABLE a (id INT)"}, {Snapshot: 1000, Part: 1, Of: 1}, {SQL: "CREATE TABLE b (id INT)"}, {Snapshot: 3000, Part: 1, Of: 1}}
	for _, e := range entries {
		if err := f.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := f.Trim(t.Context(), time.Unix(2000, 0)); err != nil {
			t.Fatal(err)
		}
		got, err := f.Load(t.Context(), position.Position{})
		if err != nil || !cmp.Equal(got, entries[1:]) {
			t.Errorf("%v\n%s", err, cmp.Diff(entries[1:], got))
		}
	}
}

// TestFileCutShort: the disk was full, or the power went, while the file was made. What there is of it holds no entry yet,
// and it is made anew.
func TestFileCutShort(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	f := NewFile(whole)
	if _, err := f.Load(t.Context(), position.Position{}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	made, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 100, 4096, 8192, 12288, len(made) - 1} {
		path := filepath.Join(t.TempDir(), "schema.db")
		if err := os.WriteFile(path, made[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		f := NewFile(path)
		e := schema.Entry{SQL: "CREATE TABLE t (id INT)"}
		if err := f.Append(t.Context(), e); err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		f.Close()
		f = NewFile(path)
		if entries, err := f.Load(t.Context(), position.Position{}); err != nil || len(entries) != 1 {
			t.Errorf("%d bytes: %v, %v", size, entries, err)
		}
		f.Close()
	}
}

// TestFileDamaged: a file whose end is gone, or that is something else, is a named error of its destination, each time, and
// not the end of the process.
func TestFileDamaged(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	f := NewFile(whole)
	for range 30 {
		if err := f.Append(t.Context(), schema.Entry{SQL: strings.Repeat("x", 4000)}); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	made, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"end": made[:5*4096], "other": make([]byte, 1<<20)} {
		path := filepath.Join(t.TempDir(), "schema.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f := NewFile(path)
			_, err := f.Load(t.Context(), position.Position{})
			if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "another process") {
				t.Errorf("%s: %v", name, err)
			}
			f.Close()
		}
	}
}
