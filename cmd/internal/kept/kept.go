// Package kept tells for how long the source of a destination keeps its position.
package kept

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// timeout bounds what is asked of a source.
const timeout = 10 * time.Second

// Kept is what a source says.
type Kept struct {
	Until time.Time `json:"until,omitzero"` // at the least
	Ever  bool      `json:"forEver,omitempty"`
	Error string    `json:"error,omitempty"` // why it cannot be told
}

// Of asks the source of a destination, as one more reader.
func Of(ctx context.Context, i *config.Instance, p position.Position) Kept {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	until, err := ask(ctx, i, p)
	switch {
	case err != nil:
		return Kept{Error: err.Error()}
	case until.IsZero():
		return Kept{Ever: true}
	}
	return Kept{Until: until.UTC().Truncate(time.Second)}
}

func ask(ctx context.Context, i *config.Instance, p position.Position) (time.Time, error) {
	if p.IsZero() {
		return time.Time{}, errors.New("there is no stored position")
	}
	one := i.ForTail()
	reader, err := binlog.NewReader(one.Source, slog.New(slog.DiscardHandler))
	if err != nil {
		return time.Time{}, err
	}
	defer reader.Close()
	return reader.Kept(ctx, p)
}

// String is what the source says in words, of now.
func (k Kept) String() string {
	left := time.Until(k.Until)
	switch {
	case k.Error != "":
		return "how long the source keeps its position cannot be told: " + k.Error
	case k.Ever:
		return "the source keeps its binlog for ever"
	case left <= 0:
		return "the source may purge its position at any time"
	}
	return fmt.Sprintf("the source keeps its position for %s more at least, until %s", words(left), k.Until.Format(time.RFC3339))
}

func words(left time.Duration) string {
	switch {
	case left < 2*time.Minute:
		return fmt.Sprintf("%.0f seconds", left.Seconds())
	case left < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes", left.Minutes())
	case left < 48*time.Hour:
		return fmt.Sprintf("%.0f hours", left.Hours())
	}
	return fmt.Sprintf("%.0f days", left.Hours()/24)
}
