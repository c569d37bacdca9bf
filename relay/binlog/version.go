package binlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// ParseVersion reads a server's version text: whether it is MariaDB, and its
// version as a number, 90704 for 9.7.4.
func ParseVersion(text string) (mariaDB bool, version uint32) {
	var x, y, z uint32
	_, _ = fmt.Sscanf(text, "%d.%d.%d", &x, &y, &z) // what is missing is 0
	return strings.Contains(strings.ToLower(text), "mariadb"), x*10000 + y*100 + z
}

// The format description event begins behind the file's 4 bytes of magic and
// its own header of 19; 2 bytes of binlog version and 50 of server version
// follow.
const (
	versionOffset = 4 + 19 + 2
	versionSize   = 50
)

// ServerOf tells which server wrote a binlog file, as ParseVersion does.
func ServerOf(path string) (mariaDB bool, version uint32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, 0, fmt.Errorf("open binlog file: %w", err)
	}
	defer file.Close()
	text := make([]byte, versionSize)
	if _, err := file.ReadAt(text, versionOffset); err != nil && err != io.EOF {
		return false, 0, fmt.Errorf("read binlog file %s: %w", path, err)
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	mariaDB, version = ParseVersion(string(text))
	return mariaDB, version, nil
}
