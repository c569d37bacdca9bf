package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config captures the tables that a pattern accepts, defined by what source says.
func config(t testing.TB, pattern string, source schema.Source) Config {
	t.Helper()
	f, err := filter.New(filter.Config{Regex: pattern})
	if err != nil {
		t.Fatal(err)
	}
	return Config{Filter: f, Tracker: schema.NewTracker(schema.DefaultConfig(), source, nil)}
}

// seen is a batch as a test looks at it after its release.
type seen struct {
	event.Batch
	lines []string // one per change
	rows  []string // one per row: transaction#index
}

// line shows a change in one line.
func line(c *event.Change) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s rows=%d ddl=%v %s", c.Kind, c.Schema, c.Table, c.Rows, c.DDL, c.SQL))
}

// drain takes batches until Next ends, calling each for every batch.
func drain(ctx context.Context, r *Relay, each func(*event.Batch)) ([]seen, error) {
	var out []seen
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return out, err
		}
		s := seen{Batch: *b}
		for i := range b.Changes {
			c := &b.Changes[i]
			s.lines = append(s.lines, line(c))
			for n := range c.Rows {
				s.rows = append(s.rows, fmt.Sprintf("%s#%d", c.Tx, c.Row+uint64(n)))
			}
		}
		s.Changes = nil
		out = append(out, s)
		if each != nil {
			each(b)
		}
		r.Release(b)
	}
}

// runFiles relays files and returns all batches.
func runFiles(t *testing.T, c Config, paths ...string) []seen {
	t.Helper()
	c.Files = true
	r := New(c, position.Resume{}, binlog.NewFiles(paths...), nil, nil)
	var group errgroup.Group
	group.Go(func() error { return r.Run(t.Context()) })
	batches, err := drain(t.Context(), r, nil)
	if run := group.Wait(); run != io.EOF || err != io.EOF {
		t.Fatalf("Run: %v, Next: %v", run, err)
	}
	return batches
}

// TestGolden relays recorded binlogs: what comes out, change by change, must be
// what was recorded here, which was compared with what Canal made of them.
func TestGolden(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.m*")
	for _, path := range paths {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := config(t, `zoo\..*`, nil)
			c.GTID = strings.Contains(path, "gtid")
			var b strings.Builder
			for _, batch := range runFiles(t, c, path) {
				for i, l := range batch.lines {
					fmt.Fprintf(&b, "%s\n", l)
					_ = i
				}
				if p := batch.Resume; !p.IsZero() {
					fmt.Fprintf(&b, "  -- %d transactions, resume %d %s\n", batch.Transactions, p.Offset, p.GTIDs)
				}
			}
			golden(t, path+".golden", b.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("UPDATE") != "" {
		err = os.WriteFile(path, []byte(got), 0o600)
		want = []byte(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}
