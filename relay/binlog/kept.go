package binlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
)

// Kept asks until when the source keeps what stands behind a position, at the
// least: zero is for ever. A source purges a file when its last change is older
// than the time for which it keeps its binlog, and the changes of the position's
// file are not older than the position; the file that is written now is kept that
// long from now on. It wraps ErrPurged when the file is gone already.
func (r *Reader) Kept(ctx context.Context, p position.Position) (time.Time, error) {
	s, err := r.here().Open(ctx)
	if err != nil {
		return time.Time{}, r.explain(ctx, err)
	}
	defer s.Close()
	if s.Server.Retention == 0 {
		return time.Time{}, nil
	}
	files, err := r.files(ctx)
	if err != nil {
		return time.Time{}, r.explain(ctx, err)
	}
	byFile := p.GTIDs == "" || !s.Server.GTID()
	switch {
	case len(files) > 0 && p.File == files[len(files)-1]:
		return time.Now().Add(s.Server.Retention), nil
	case byFile && !slices.Contains(files, p.File):
		return time.Time{}, fmt.Errorf("%w: %s has no file %s any more", ErrPurged, r.here().Addr, p.File)
	case p.Time.IsZero():
		return time.Time{}, errors.New("the stored position has no time")
	}
	return p.Time.Add(s.Server.Retention), nil
}
