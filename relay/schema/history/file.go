package history

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// openTimeout is how long another process may hold the file.
const openTimeout = 2 * time.Second

var bucket = []byte("entries-1") // 1 is the format of its values

// File is the history of one destination in a bbolt file: JSON entries by
// their number. It is made for a term and closed at its end.
type File struct {
	path string
	db   *bbolt.DB // from the first use on
}

// NewFile returns the history in the file at path. It does no I/O.
func NewFile(path string) *File { return &File{path: path} }

// Close lets go of the file.
func (f *File) Close() {
	if f.db != nil {
		_ = f.db.Close()
		f.db = nil
	}
}

func (f *File) open() error {
	if f.db != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	db, err := bbolt.Open(f.path, 0o644, &bbolt.Options{Timeout: openTimeout})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("open %s: another process holds it: is another canal-relay running with this data folder?", f.path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	f.db = db
	return nil
}

// Load returns all entries.
func (f *File) Load(context.Context, position.Position) ([]schema.Entry, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	var entries []schema.Entry
	err := f.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, value []byte) error {
			var e schema.Entry
			if err := json.Unmarshal(value, &e); err != nil {
				return err
			}
			entries = append(entries, e)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	return entries, nil
}

// Trim removes what stands before the newest snapshot that was taken before a
// time.
func (f *File) Trim(ctx context.Context, before time.Time) error {
	entries, err := f.Load(ctx, position.Position{})
	n := schema.Needless(entries, before)
	if err != nil || n == 0 {
		return err
	}
	err = f.db.Update(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, _ := c.First(); k != nil && n > 0; k, _ = c.Next() {
			if err := c.Delete(); err != nil {
				return err
			}
			n--
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trim %s: %w", f.path, err)
	}
	return nil
}

// Append stores an entry, synced to disk.
func (f *File) Append(_ context.Context, e schema.Entry) error {
	if err := f.open(); err != nil {
		return err
	}
	err := f.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		number, err := b.NextSequence()
		if err != nil {
			return err
		}
		value, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, number), value)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}
