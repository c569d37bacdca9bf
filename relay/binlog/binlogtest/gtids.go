package binlogtest

import (
	"regexp"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// sets are the texts of a query.
var sets = regexp.MustCompile(`'([^']*)'`)

// subtract answers GTID_SUBTRACT of two texts, or of one and gtid_executed with,
// perhaps, another one, or of gtid_executed and one. A server whose gtid_executed was not Set has executed all
// that it is asked for.
func (s *Server) subtract(q string) string {
	texts := sets.FindAllStringSubmatch(q, -1)
	from, without := texts[0][1], ""
	if len(texts) > 1 {
		without = texts[1][1]
	}
	if strings.Contains(q, "gtid_executed") {
		executed, known := s.variables["gtid_executed"]
		switch {
		case !known:
			return ""
		case strings.Contains(q, "SUBTRACT(@@global."):
			from, without = executed, from
		default:
			without += "," + executed
		}
	}
	all, err := mysql.ParseMysqlGTIDSet(from)
	taken, bad := mysql.ParseMysqlGTIDSet(strings.Trim(without, ","))
	if err != nil || bad != nil {
		return ""
	}
	left := mysql.NewMysqlGTIDSet()
	for source, tags := range *all.(*mysql.MysqlGTIDSet) {
		for tag, intervals := range tags {
			for _, in := range intervals {
				for n := in.Start; n < in.Stop; n++ {
					one := mysql.NewMysqlGTIDSet()
					if one.AddGTIDWithTag(source, tag, n); !taken.Contain(&one) {
						left.AddGTIDWithTag(source, tag, n)
					}
				}
			}
		}
	}
	return left.String()
}
