package history

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// openTimeout is how long another process may hold the file.
const openTimeout = 2 * time.Second

// Entries stand in a bucket whose name ends in the format of its values.
const (
	bucketName = "entries-"
	fileFormat = 1
)

var bucket = fmt.Append(nil, bucketName, fileFormat)

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
	if err := f.make(); err != nil {
		return fmt.Errorf("make %s: %w", f.path, err)
	}
	var file *os.File
	var db *bbolt.DB
	err := f.guard(func() (err error) {
		db, err = bbolt.Open(f.path, 0o644, &bbolt.Options{Timeout: openTimeout, OpenFile: func(name string, flag int, mode fs.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		}})
		return err
	})
	if errors.Is(err, errDamaged) { // bbolt has not come so far as to close it
		unlock(file)
		_ = file.Close()
	}
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("open %s: another process holds it: is another canal-relay running with this data folder?", f.path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	if err := db.View(refuseNewer); err != nil {
		_ = db.Close()
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	f.db = db
	return nil
}

// make makes the file when there is none, whole or not at all: one that is cut
// short, by a full disk, has no entry yet, and bbolt would read beyond its end,
// which ends the process.
func (f *File) make() error {
	found, err := os.Stat(f.path)
	if err == nil && found.Size() >= emptyFile || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := f.path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(made, 0o644, &bbolt.Options{Timeout: openTimeout})
	if err == nil {
		err = db.Close()
	}
	if err == nil {
		err = os.Rename(made, f.path)
	}
	if err != nil {
		_ = os.Remove(made) // nothing in it yet
	}
	return err
}

// emptyFile is the size of a file without entries where pages are smallest.
const emptyFile = 4 * 4096

// errDamaged says that bbolt cannot make sense of the file.
var errDamaged = errors.New("the file is damaged: restore it, or remove it to begin with the tables as they are now")

// guard turns what bbolt makes of a damaged file, a panic or an access beyond
// its end, into an error.
func (f *File) guard(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w (%v)", errDamaged, r)
		}
	}()
	return work()
}

// refuseNewer is an error if a file holds entries of a format after ours: what
// stands beside them is no longer kept up to date.
func refuseNewer(tx *bbolt.Tx) error {
	return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		number, ok := strings.CutPrefix(string(name), bucketName)
		if format, err := strconv.Atoi(number); ok && err == nil && format > fileFormat {
			return fmt.Errorf("it holds entries of format %d, written by a newer canal-relay: this one reads up to %d", format, fileFormat)
		}
		return nil
	})
}

// Load returns all entries.
func (f *File) Load(context.Context, position.Position) ([]schema.Entry, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	var entries []schema.Entry
	err := f.guard(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
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
	err = f.update(func(tx *bbolt.Tx) error {
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

func (f *File) update(work func(tx *bbolt.Tx) error) error {
	return f.guard(func() error { return f.db.Update(work) })
}

// Append stores an entry, synced to disk.
func (f *File) Append(_ context.Context, e schema.Entry) error {
	if err := f.open(); err != nil {
		return err
	}
	err := f.update(func(tx *bbolt.Tx) error {
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
