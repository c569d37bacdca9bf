package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/relay/position"
)

// importedCursor is a cursor in ZooKeeper that takes over, once, what a node
// without ZooKeeper (Canal or this one) left in its meta.dat. Only the owner of a
// destination loads its cursor, and so only the owner imports.
type importedCursor struct {
	*zookeeper.Cursor
	file *position.File
	path string // of the meta.dat
	log  *slog.Logger
	said sync.Once
}

// Load reads the position. Where ZooKeeper has none, that of the meta.dat is
// stored there, as who wrote it had it, and the file renamed; where it has one, the file is left alone.
func (c *importedCursor) Load(ctx context.Context) (position.Saved, error) {
	saved, err := c.Cursor.Load(ctx)
	if err != nil && !errors.Is(err, position.ErrNone) {
		return saved, err
	}
	if _, statErr := os.Stat(c.path); errors.Is(statErr, os.ErrNotExist) {
		return saved, err
	}
	left, fileErr := c.file.Load(ctx)
	switch {
	case err == nil:
		c.said.Do(func() {
			c.log.Warn("a meta.dat is ignored, since ZooKeeper has a position", "path", c.path,
				"there", where(left.Position), "in ZooKeeper", where(saved.Position), "unreadable", fileErr)
		})
		return saved, nil
	case errors.Is(fileErr, position.ErrNone):
		return saved, err
	case fileErr != nil:
		return saved, fmt.Errorf("ZooKeeper has no position, and that of %s cannot be taken over: %w: mend or remove the file", c.path, fileErr)
	}
	if err := c.Import(ctx, left); err != nil {
		return saved, fmt.Errorf("take over the position of %s: %w", c.path, err)
	}
	const imported = ".imported"
	if err := os.Rename(c.path, c.path+imported); err != nil {
		c.log.Warn("a meta.dat was taken over and could not be renamed; it is ignored from now on", "error", err)
	}
	c.log.Info("the position of a meta.dat was taken over into ZooKeeper", "path", c.path+imported, "position", where(left.Position))
	return left, nil
}

// where is a position in one line.
func where(p position.Position) string {
	if p.GTIDs != "" {
		return fmt.Sprintf("%s:%d %s", p.File, p.Offset, p.GTIDs)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Offset)
}
