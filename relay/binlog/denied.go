package binlog

import (
	"context"
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
)

// ErrDenied says that the source does not let the account in, or does not let
// it do what a stream needs.
var ErrDenied = source.ErrDenied

// Report is what a check of a source found.
type Report struct {
	source.Server
	Account string   // the account that the source matched, user@host
	Missing []string // privileges that the account lacks
	Grant   string   // the statement that an administrator runs to add them; empty when none is missing
}

// explain says what a refusal of the source means for an account that could log
// in, and what can be done.
func (r *Reader) explain(ctx context.Context, err error) error {
	if !source.Refused(err) {
		return err
	}
	report, _ := r.check(ctx) // what it cannot tell is left out
	if report.Grant == "" {
		return fmt.Errorf("%w: %s: %w: an administrator grants what it asks for", ErrDenied, r.here().Addr, err)
	}
	return fmt.Errorf("%w: %s: %w: an administrator runs: %s", ErrDenied, r.here().Addr, err, report.Grant)
}

// Check connects once and reports what the source is and what its account may
// not do. It starts no dump, so that it disturbs no reader.
func (r *Reader) Check(ctx context.Context) (Report, error) {
	report, err := r.check(ctx)
	return report, r.explain(ctx, err)
}

func (r *Reader) check(ctx context.Context) (Report, error) {
	s, err := r.here().Open(ctx)
	if err != nil {
		return Report{}, err
	}
	defer s.Close()
	report := Report{Server: s.Server}
	if rows, err := s.Rows("SELECT CURRENT_USER()"); err == nil && len(rows) == 1 {
		report.Account = rows[0][0]
	}
	rows, err := s.Rows("SHOW GRANTS")
	if err != nil {
		return report, err
	}
	var grants []string
	for _, row := range rows {
		grants = append(grants, row[0])
	}
	report.Missing = source.MissingRights(grants)
	if len(report.Missing) > 0 {
		user, host, _ := strings.Cut(report.Account, "@")
		report.Grant = fmt.Sprintf("GRANT %s ON *.* TO %s@%s;", strings.Join(report.Missing, ", "), quoteText(user), quoteText(host))
	}
	return report, s.Usable(r.here())
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
