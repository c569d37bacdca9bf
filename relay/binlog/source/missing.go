package source

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Missing is what a source has not executed of a set of GTIDs.
type Missing struct {
	GTIDs string // in the form of the set; empty for nothing
	Own   bool   // MySQL: the source numbered some of them itself
	// Common is the set without what is missing. On MariaDB it ends in each domain
	// where the source has gone on otherwise; it is empty if the source has not gone
	// on yet where something is missing, or does not tell from where.
	Common string
	Newer  bool // MySQL: the source has executed what is not in the set
}

// replicating is how long a source may take for transactions that it has as good
// as executed: its dump may show them a moment before.
const replicating = time.Second

// Missing asks what the source has not executed of a set.
func (s *Conn) Missing(set string) (m Missing, err error) {
	if s.Server.MariaDB() {
		rows, err := s.Rows("SELECT @@global.gtid_binlog_state, @@global.gtid_slave_pos, @@global.gtid_binlog_pos")
		if err != nil || len(rows) == 0 {
			return m, err
		}
		return compareDomains(set, rows[0][0], rows[0][1], rows[0][2]), nil
	}
	if m.GTIDs, err = s.gtids("SELECT GTID_SUBTRACT('" + set + "', @@global.gtid_executed)"); err != nil || m.GTIDs == "" {
		return m, err
	}
	// What waits for a semi-synchronous replica is in the binlog, not yet executed, and
	// owned, which is asked first: it goes from one to the other.
	committing, err := s.Rows("SELECT @@global.gtid_owned")
	if err != nil {
		return m, err
	}
	owned := ""
	if len(committing) == 1 {
		owned = ownedSet(committing[0][0])
	}
	query := "SELECT GTID_SUBTRACT('" + set + "', CONCAT(@@global.gtid_executed, '," + owned + "'))"
	if m.GTIDs, err = s.gtids(query); err != nil || m.GTIDs == "" {
		return m, err
	}
	if _, err = s.Rows(fmt.Sprintf("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', %d)", m.GTIDs, int(replicating.Seconds()))); err != nil {
		return m, err
	}
	if m.GTIDs, err = s.gtids(query); err != nil || m.GTIDs == "" {
		return m, err
	}
	m.Own = strings.Contains(strings.ToLower(m.GTIDs), strings.ToLower(s.Server.UUID))
	if m.Common, err = s.gtids("SELECT GTID_SUBTRACT('" + set + "', '" + m.GTIDs + "')"); err != nil {
		return m, err
	}
	others, err := s.gtids("SELECT GTID_SUBTRACT(@@global.gtid_executed, '" + set + "')")
	m.Newer = others != ""
	return m, err
}

var (
	ownedUUID   = regexp.MustCompile(`[,\s]*([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})`)
	ownedThread = regexp.MustCompile(`#\d+`)
)

// ownedSet is gtid_owned as a set: in it the thread stands behind each number, and
// nothing need stand before the next UUID (uuid:1#13uuid:2#7). It is empty for a
// text that cannot be read.
func ownedSet(text string) string {
	set, err := mysql.ParseMysqlGTIDSet(strings.Trim(ownedThread.ReplaceAllString(ownedUUID.ReplaceAllString(text, ",$1"), ""), ","))
	if err != nil {
		return ""
	}
	return set.String()
}

// gtids is the set that a query answers, without white space.
func (s *Conn) gtids(query string) (string, error) {
	rows, err := s.Rows(query)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return strings.Join(strings.Fields(rows[0][0]), ""), nil
}

// compareDomains finds the GTIDs of a MariaDB position that are not in a binlog:
// state has the last one of each server in each domain, replayed is what a replica
// had executed before it kept a binlog, and last has the last one of each domain.
// A domain that is in none of them is none of this source's: it takes no notice.
func compareDomains(set, state, replayed, last string) (m Missing) {
	had := make(map[string]uint64)    // by domain and server
	newest := make(map[string]string) // server by domain
	for one := range strings.SplitSeq(replayed+","+state, ",") {
		if domain, server, n, ok := mariaGTID(one); ok {
			had[server], newest[domain] = max(had[server], n), server
		}
	}
	for one := range strings.SplitSeq(last, ",") {
		if domain, server, _, ok := mariaGTID(one); ok {
			newest[domain] = server
		}
	}
	var missing, common []string
	told := true
	for one := range strings.SplitSeq(set, ",") {
		domain, server, n, ok := mariaGTID(one)
		if _, known := newest[domain]; !ok || !known || had[server] >= n {
			common = append(common, one)
			continue
		}
		missing = append(missing, one)
		told = told && had[server] > 0 && newest[domain] != server
		common = append(common, server+"-"+strconv.FormatUint(had[server], 10))
	}
	if m.GTIDs = strings.Join(missing, ","); told && m.GTIDs != "" {
		m.Common = strings.Join(common, ",")
	}
	return m
}

// mariaGTID reads domain-server-number; server is with its domain.
func mariaGTID(text string) (domain, server string, n uint64, ok bool) {
	text = strings.TrimSpace(text)
	cut := strings.LastIndexByte(text, '-')
	if cut < 0 {
		return "", "", 0, false
	}
	server = text[:cut]
	domain, _, ok = strings.Cut(server, "-")
	n, err := strconv.ParseUint(text[cut+1:], 10, 64)
	return domain, server, n, ok && err == nil
}
