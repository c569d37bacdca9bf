//go:build stack

package charset

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
)

// TestStackServers asks both servers for the text of every code that they take, of one to four bytes, in each of their
// character sets. The style `mysql` has the same, the style `canal` too but for codes that have no character.
func TestStackServers(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			conn, err := client.Connect(os.Getenv("CANAL_RELAY_"+strings.ToUpper(server)), "root", "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			s := asked{t, conn}
			s.query("SET NAMES utf8mb4")
			s.query(map[string]string{"mysql": "SET cte_max_recursion_depth = 70000", "mariadb": "SET max_recursive_iterations = 70000"}[server])
			for _, row := range s.query("SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY 1") {
				s.compare(row[0])
			}
		})
	}
}

type asked struct {
	*testing.T
	conn *client.Conn
}

func (s asked) query(sql string) [][]string {
	s.Helper()
	r, err := s.conn.Execute(sql)
	if err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	if r.Resultset == nil {
		return nil
	}
	rows := make([][]string, r.RowNumber())
	for i := range rows {
		for j := range r.Fields {
			text, _ := r.GetString(i, j)
			rows[i] = append(rows[i], text)
		}
	}
	return rows
}

func (s asked) compare(name string) {
	set := ByName(name)
	if set == nil {
		s.Errorf("no set %s", name)
		return
	}
	if set == Binary {
		return // bytes are no text
	}
	codes := 0
	for _, form := range forms(name) {
		// An X'…' is not validated where it gets an introducer, but where it is converted from binary.
		for _, row := range s.query(fmt.Sprintf(`WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM n WHERE n < %d), c(c) AS (SELECT UNHEX(%s) FROM n)
			SELECT HEX(c), HEX(CONVERT(CONVERT(c USING %[3]s) USING utf8mb4)) FROM c WHERE HEX(CONVERT(c USING %[3]s)) = HEX(c) AND CONVERT(CONVERT(c USING %[3]s) USING utf8mb4) IS NOT NULL`, form.codes-1, form.hex, name)) {
			codes++
			s.compareCode(set, row[0], row[1])
		}
	}
	if codes < 100 {
		s.Errorf("%s: %d codes compared", name, codes)
	}
}

func (s asked) compareCode(set *Set, code, selected string) {
	raw, _ := hex.DecodeString(code)
	if euc := set.name == "ujis" || set.name == "eucjpms"; euc && (len(raw) == 1 && raw[0] >= 0x80 || code == "8EA0") {
		return // halves of codes, which MySQL takes in SQL but not in a column
	}
	b, _ := hex.DecodeString(selected)
	want := string(b)
	if strings.Contains(set.name, "ucs2") && raw[0] >= 0xd8 && raw[0] <= 0xdf || strings.HasPrefix(selected, "ED") && selected > "EDA" {
		want = "\uFFFD" // a lone surrogate, which the servers send as such, though it is not UTF-8
	}
	if shown := string(set.AppendShown(nil, raw)); shown != want {
		s.Errorf("%s %s is shown as %q, SELECT has %q", set.name, code, shown, want)
	}
	canal := string(set.Append(nil, raw))
	if want == "?" && code != "3F" && code != "003F" && code != "3F00" && code != "0000003F" {
		if want = "\uFFFD"; raw[len(raw)-1] < 0x80 && len(raw) == 2 {
			want += string(raw[1:])
		}
	}
	if canal != want {
		s.Errorf("%s %s is %q, want %q", set.name, code, canal, want)
	}
}

// form makes codes of a number n.
type form struct {
	hex   string
	codes int
}

func forms(name string) []form {
	one, two := form{"LPAD(HEX(n), 2, '0')", 256}, form{"LPAD(HEX(n + 32768), 4, '0')", 32768}
	switch name {
	case "utf16", "ucs2", "utf16le":
		return []form{{"LPAD(HEX(n), 4, '0')", 65536}}
	case "utf32":
		return []form{{"LPAD(HEX(n), 8, '0')", 65536}}
	case "ujis", "eucjpms":
		return []form{one, two, {"CONCAT('8F', LPAD(HEX(n + 32768), 4, '0'))", 32768}}
	case "gb18030":
		four := "CONCAT('%s', HEX(48 + n DIV 1260), LPAD(HEX(129 + n DIV 10 %% 126), 2, '0'), HEX(48 + n %% 10))"
		return []form{one, two, {fmt.Sprintf(four, "81"), 12600}, {fmt.Sprintf(four, "84"), 12600}, {fmt.Sprintf(four, "95"), 12600}, {fmt.Sprintf(four, "FE"), 12600}}
	case "utf8mb3", "utf8mb4":
		return []form{one, {"HEX(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32))", 1}, {"LPAD(HEX(n + 49152), 4, '0')", 16384}}
	case "big5", "gbk", "gb2312", "euckr", "sjis", "cp932":
		return []form{one, two}
	}
	return []form{one}
}
