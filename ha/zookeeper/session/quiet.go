package session

import (
	"fmt"
	"log/slog"
)

// quiet passes the zk client's own messages on for those who debug.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, args ...any) {
	q.log.Debug("zk client", "text", fmt.Sprintf(format, args...))
}
