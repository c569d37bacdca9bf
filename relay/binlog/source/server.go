package source

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
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

// queryVariables asks for everything a Server holds; what a server does not
// know is not in the answer.
const queryVariables = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version','server_id','server_uuid','log_bin','binlog_format'," +
	"'binlog_row_image','binlog_row_metadata','binlog_checksum','gtid_mode','binlog_expire_logs_seconds','expire_logs_days','binlog_expire_logs_auto_purge')"

func (s *Conn) inspect() error {
	rows, err := s.Rows(queryVariables)
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
	s.Server = Server{
		Version: v["version"], Flavor: FlavorOf(v["version"]), ID: uint32(id), UUID: v["server_uuid"],
		LogBin: v["log_bin"] == "ON" || v["log_bin"] == "1", Format: v["binlog_format"], RowImage: v["binlog_row_image"],
		RowMetadata: v["binlog_row_metadata"], Checksum: v["binlog_checksum"], GTIDMode: v["gtid_mode"],
	}
	if s.Server.Format == "" {
		s.Server.Format = "ROW"
	}
	if auto := v["binlog_expire_logs_auto_purge"]; strings.EqualFold(auto, "OFF") {
		return nil
	}
	if sec, err := strconv.ParseInt(v["binlog_expire_logs_seconds"], 10, 64); err == nil && sec > 0 {
		s.Server.Retention = time.Duration(sec) * time.Second
	} else if days, err := strconv.ParseFloat(v["expire_logs_days"], 64); err == nil {
		s.Server.Retention = time.Duration(days * 24 * float64(time.Hour))
	}
	return nil
}

// Usable checks what a stream needs of its source.
func (s *Conn) Usable(c *Config) error {
	v := s.Server
	switch {
	case !v.LogBin:
		return fmt.Errorf("%w: binary logging is off on %s; set log_bin in its configuration and restart it", parse.ErrFormat, c.Addr)
	case !accepts(c.Formats, v.Format):
		return fmt.Errorf("%w: binlog_format on %s is %s, canal.instance.binlog.format allows %s", parse.ErrFormat, c.Addr, v.Format, strings.Join(c.Formats, ","))
	case v.RowImage != "" && !accepts(c.RowImages, v.RowImage):
		return fmt.Errorf("%w: binlog_row_image on %s is %s, canal.instance.binlog.image allows %s", parse.ErrFormat, c.Addr, v.RowImage, strings.Join(c.RowImages, ","))
	}
	return nil
}

// MissingRights lists the privileges that grants do not give, in the spelling that
// both servers take. MariaDB prints some of them under newer names.
func MissingRights(grants []string) []string {
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

// AtLeast compares the first two numbers of the version.
func (s Server) AtLeast(major, minor int) bool {
	var a, b int
	_, _ = fmt.Sscanf(s.Version, "%d.%d", &a, &b)
	return a > major || a == major && b >= minor
}

// FlavorOf tells the two servers apart by their version text.
func FlavorOf(version string) string {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return mysql.MariaDBFlavor
	}
	return mysql.MySQLFlavor
}
