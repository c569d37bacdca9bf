package binlog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Server is what a source says about itself.
type Server struct {
	Version     string // as the server writes it
	Flavor      string // mysql or mariadb
	ID          uint32
	UUID        string // empty on MariaDB
	LogBin      bool
	Format      string        // binlog_format; ROW where a server has no such variable any more
	RowImage    string        // binlog_row_image; empty on servers without it
	RowMetadata string        // binlog_row_metadata; empty on servers without it
	Checksum    string        // binlog_checksum
	GTIDMode    string        // gtid_mode of MySQL; empty on MariaDB, which always has GTIDs
	Retention   time.Duration // how long binlog files are kept; 0 for ever
}

// MariaDB reports whether the source is a MariaDB server.
func (s Server) MariaDB() bool { return s.Flavor == mysql.MariaDBFlavor }

// GTID reports whether a dump can start from a GTID set.
func (s Server) GTID() bool { return s.MariaDB() || strings.EqualFold(s.GTIDMode, "ON") }

// Report is what a check of a source found.
type Report struct {
	Server
	Account string   // the account that the source matched, user@host
	Missing []string // privileges that the account lacks
	Grant   string   // the statement that an administrator runs to add them; empty when none is missing
}

// queryVariables asks for everything a Server holds; what a server does not
// know is not in the answer.
const queryVariables = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version','server_id','server_uuid','log_bin','binlog_format'," +
	"'binlog_row_image','binlog_row_metadata','binlog_checksum','gtid_mode','binlog_expire_logs_seconds','expire_logs_days')"

func (s *session) inspect() error {
	rows, err := s.rows(queryVariables)
	if err != nil {
		return err
	}
	v := make(map[string]string, len(rows))
	for _, r := range rows {
		if len(r) == 2 {
			v[strings.ToLower(r[0])] = r[1]
		}
	}
	id, _ := strconv.ParseUint(v["server_id"], 10, 32)
	s.server = Server{
		Version: v["version"], Flavor: flavorOf(v["version"]), ID: uint32(id), UUID: v["server_uuid"],
		LogBin: v["log_bin"] == "ON" || v["log_bin"] == "1", Format: v["binlog_format"], RowImage: v["binlog_row_image"],
		RowMetadata: v["binlog_row_metadata"], Checksum: v["binlog_checksum"], GTIDMode: v["gtid_mode"],
	}
	if s.server.Format == "" {
		s.server.Format = "ROW"
	}
	if sec, err := strconv.ParseInt(v["binlog_expire_logs_seconds"], 10, 64); err == nil && sec > 0 {
		s.server.Retention = time.Duration(sec) * time.Second
	} else if days, err := strconv.ParseFloat(v["expire_logs_days"], 64); err == nil {
		s.server.Retention = time.Duration(days * 24 * float64(time.Hour))
	}
	return nil
}

// usable checks what a stream needs of its source.
func (s *session) usable(c *Config) error {
	v := s.server
	switch {
	case !v.LogBin:
		return fmt.Errorf("%w: binary logging is off on %s; set log_bin in its configuration and restart it", ErrFormat, c.Addr)
	case !accepts(c.Formats, v.Format):
		return fmt.Errorf("%w: binlog_format on %s is %s, canal.instance.binlog.format allows %s", ErrFormat, c.Addr, v.Format, strings.Join(c.Formats, ","))
	case v.RowImage != "" && !accepts(c.RowImages, v.RowImage):
		return fmt.Errorf("%w: binlog_row_image on %s is %s, canal.instance.binlog.image allows %s", ErrFormat, c.Addr, v.RowImage, strings.Join(c.RowImages, ","))
	}
	return nil
}

// Check connects once and reports what the source is and what its account may
// not do. It starts no dump, so that it disturbs no reader.
func (r *Reader) Check(ctx context.Context) (Report, error) {
	report, err := r.check(ctx)
	return report, r.explain(ctx, err)
}

func (r *Reader) check(ctx context.Context) (Report, error) {
	s, err := r.open(ctx)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	report := Report{Server: s.server}
	if rows, err := s.rows("SELECT CURRENT_USER()"); err == nil && len(rows) == 1 {
		report.Account = rows[0][0]
	}
	rows, err := s.rows("SHOW GRANTS")
	if err != nil {
		return report, err
	}
	var grants []string
	for _, row := range rows {
		grants = append(grants, row[0])
	}
	report.Missing = missing(grants)
	if len(report.Missing) > 0 {
		user, host, _ := strings.Cut(report.Account, "@")
		report.Grant = fmt.Sprintf("GRANT %s ON *.* TO %s@%s;", strings.Join(report.Missing, ", "), quoteText(user), quoteText(host))
	}
	return report, s.usable(&r.c)
}

// missing lists the privileges that grants do not give, in the spelling that
// both servers take. MariaDB prints some of them under newer names.
func missing(grants []string) []string {
	needs := []struct {
		name    string
		printed []string
		global  bool
	}{
		{"SELECT", []string{"SELECT"}, false},
		{"REPLICATION SLAVE", []string{"REPLICATION SLAVE", "REPLICATION REPLICA"}, true},
		{"REPLICATION CLIENT", []string{"REPLICATION CLIENT", "BINLOG MONITOR", "SUPER"}, true},
	}
	var out []string
	for _, need := range needs {
		given := false
		for _, g := range grants {
			privileges, on, ok := strings.Cut(strings.TrimPrefix(strings.ToUpper(g), "GRANT "), " ON ")
			if !ok || need.global && !strings.HasPrefix(on, "*.*") {
				continue
			}
			for _, p := range append(need.printed, "ALL PRIVILEGES", "ALL") {
				given = given || strings.Contains(", "+privileges+",", ", "+p+",")
			}
		}
		if !given {
			out = append(out, need.name)
		}
	}
	return out
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
