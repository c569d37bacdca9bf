//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package history

import (
	"os"
	"syscall"
)

// unlock takes back the lock of a file that bbolt did not come so far as to
// close: its memory map would hold it beyond Close.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
