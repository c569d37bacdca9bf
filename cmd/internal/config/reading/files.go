package reading

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Files are the files that settings name, key stores and secrets say, as they were
// when they were read. Those that are read again at each login are not among them.
type Files map[string]stamp

// stamp is what a file was; zero for one that could not be read.
type stamp struct {
	mod  time.Time
	size int64
	sum  [sha256.Size]byte
}

func look(path string) (s stamp) {
	if info, err := os.Stat(path); err == nil {
		s.mod, s.size = info.ModTime(), info.Size()
	}
	return s
}

// read reads a file and remembers it.
func (f Files) read(path string) ([]byte, error) {
	s := look(path) // before it is read, so that a change meanwhile is found
	b, err := os.ReadFile(path)
	if err == nil {
		s.sum = sha256.Sum256(b)
	}
	f[path] = s
	return b, err
}

// Changed reports whether a file has another time or size than when it was read.
func (f Files) Changed() bool {
	for path, was := range f {
		if is := look(path); !is.mod.Equal(was.mod) || is.size != was.size {
			return true
		}
	}
	return false
}

// Sum identifies a file's content; empty for one that was not read.
func (f Files) Sum(path string) string {
	if s, ok := f[path]; ok {
		return fmt.Sprintf("%x", s.sum)
	}
	return ""
}

// String identifies the content of all of them.
func (f Files) String() (text string) {
	for _, path := range slices.Sorted(maps.Keys(f)) {
		text += fmt.Sprintf("%q %x\n", path, f[path].sum)
	}
	return text
}
