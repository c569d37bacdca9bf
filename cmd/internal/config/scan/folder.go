package scan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
)

// Folder is a Source in files. A file is read when its time or size has changed,
// not before.
type Folder struct {
	dir  string
	seen map[string]*seen // by path
}

type seen struct {
	mod  time.Time
	size int64
	sum  [sha256.Size]byte
	text *config.Text
}

// settle is how long a file must have been left alone before it is read again:
// whoever writes it may not have come to its end.
const settle = time.Second

// errFresh says that a file has not been left alone for as long.
var errFresh = errors.New("it is being written")

// NewFolder returns the files of dir.
func NewFolder(dir string) *Folder { return &Folder{dir: dir, seen: map[string]*seen{}} }

// Server returns canal.properties.
func (f *Folder) Server(context.Context) (*config.Text, error) {
	t, err := f.read(filepath.Join(f.dir, config.ServerFile))
	if err != nil {
		return nil, fmt.Errorf("look at the configuration: %w", err)
	}
	return t, nil
}

// Names lists the directories that hold a destination. One that was there and of
// which cannot be said now whether it is counts as there: Instance says why.
func (f *Folder) Names(context.Context) ([]string, error) {
	names, err := config.Directories(f.dir)
	if err != nil {
		return nil, fmt.Errorf("look for destinations: %w", err)
	}
	for path := range f.seen {
		name := filepath.Base(filepath.Dir(path))
		if path == filepath.Join(f.dir, config.ServerFile) || slices.Contains(names, name) {
			continue
		}
		if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Instance returns the instance.properties of a destination.
func (f *Folder) Instance(_ context.Context, name string) (*config.Text, error) {
	path := filepath.Join(f.dir, name, config.InstanceFile)
	if info, err := os.Stat(path); err == nil && f.seen[path] == nil && fresh(info) {
		return nil, errFresh
	}
	t, err := f.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		delete(f.seen, path)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the configuration: %w", err)
	}
	return t, nil
}

func fresh(info fs.FileInfo) bool {
	age := time.Since(info.ModTime())
	return age >= 0 && age < settle
}

func (f *Folder) read(path string) (*config.Text, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	last := f.seen[path]
	if last != nil {
		if last.mod.Equal(info.ModTime()) && last.size == info.Size() || fresh(info) {
			return last.text, nil
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	now := &seen{mod: info.ModTime(), size: info.Size(), sum: sha256.Sum256(content), text: &config.Text{Content: content}}
	if last != nil && last.sum == now.sum {
		now.text = last.text
	}
	f.seen[path] = now
	return now.text, nil
}
