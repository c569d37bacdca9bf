package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bare makes flat messages without headers from lines: INSERT id n, UPDATE id n from-n, DELETE id n, MOVE id n from-id, or a DDL.
func bare(lines ...string) (records []*kgo.Record) {
	began := time.Now().Add(-time.Hour)
	for i, line := range lines {
		word := strings.Fields(line)
		at := func(i int) string {
			if i < len(word) {
				return word[i]
			}
			return ""
		}
		row := fmt.Sprintf(`[{"id":%q,"n":%q}]`, at(1), at(2))
		value := ""
		switch word[0] {
		case "INSERT", "DELETE":
			value = fmt.Sprintf(`{"data":%s,"database":"s","es":%d,"isDdl":false,"old":null,"pkNames":["id"],"table":"t","type":%q}`, row, i/10, word[0])
		case "UPDATE":
			value = fmt.Sprintf(`{"data":%s,"database":"s","es":%d,"isDdl":false,"old":[{"n":%q}],"pkNames":["id"],"table":"t","type":"UPDATE"}`, row, i/10, at(3))
		case "MOVE":
			value = fmt.Sprintf(`{"data":%s,"database":"s","es":%d,"isDdl":false,"old":[{"id":%q}],"pkNames":["id"],"table":"t","type":"UPDATE"}`, row, i/10, at(3))
		default:
			value = fmt.Sprintf(`{"data":null,"database":"s","es":%d,"isDdl":true,"old":null,"pkNames":null,"sql":"%s TABLE t","table":"t","type":%q}`, i, word[0], word[0])
		}
		records = append(records, &kgo.Record{Topic: "t", Value: []byte(value), Timestamp: began.Add(time.Duration(i) * time.Millisecond)})
	}
	return records
}

// TestKeys: without headers rows are judged by what was before them.
func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		lines   []string
		want    []Kind
		repeats int
	}{
		"in order":                 {[]string{"CREATE", "INSERT 1 a", "UPDATE 1 b a", "DELETE 1 b", "INSERT 1 c"}, nil, 0},
		"an update dropped":        {[]string{"INSERT 1 a", "UPDATE 1 c b"}, []Kind{Key}, 0},
		"updates swapped":          {[]string{"INSERT 1 a", "UPDATE 1 c b", "UPDATE 1 b a"}, []Kind{Key, Key}, 0},
		"an insert dropped":        {[]string{"CREATE", "INSERT 1 a", "DELETE 2 a"}, []Kind{Key}, 0},
		"nothing known":            {[]string{"UPDATE 1 c b", "DELETE 2 a"}, nil, 0},
		"a delete dropped":         {[]string{"INSERT 1 a", "INSERT 1 b"}, []Kind{Key}, 0},
		"deleted twice":            {[]string{"DELETE 1 a", "UPDATE 2 b a", "DELETE 1 a"}, []Kind{Repeat}, 1},
		"a record repeated":        {[]string{"INSERT 1 a", "INSERT 1 a", "INSERT 2 a"}, []Kind{Repeat}, 1},
		"a suffix repeated":        {[]string{"CREATE", "INSERT 1 a", "UPDATE 1 b a", "INSERT 1 a", "UPDATE 1 b a", "UPDATE 1 c b"}, []Kind{Repeat}, 2},
		"to and fro is no repeat":  {[]string{"INSERT 1 a", "UPDATE 1 b a", "UPDATE 1 a b", "UPDATE 1 b a"}, nil, 0},
		"another key":              {[]string{"CREATE", "INSERT 1 a", "MOVE 2 a 1", "INSERT 1 b", "DELETE 2 a"}, nil, 0},
		"a key that is taken":      {[]string{"CREATE", "INSERT 1 a", "INSERT 2 a", "MOVE 2 a 1"}, []Kind{Key}, 0},
		"a column more":            {[]string{"INSERT 1 a", "ALTER", "UPDATE 1 c b", "UPDATE 1 e d"}, []Kind{Key}, 0},
		"emptied":                  {[]string{"INSERT 1 a", "TRUNCATE", "INSERT 1 b", "UPDATE 2 b a"}, []Kind{Key}, 0},
		"another table's name now": {[]string{"INSERT 1 a", "RENAME", "UPDATE 1 c b", "INSERT 1 z"}, []Kind{Key}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := auditIn(t, 1, bare(c.lines...), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []Kind
			for k, n := range r.Counts {
				got = append(got, slices.Repeat([]Kind{k}, int(n))...)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || int(r.Repeats) != c.repeats {
				t.Errorf("found %v, want %v; %d repeats, want %d: %+v", got, c.want, r.Repeats, c.repeats, r.Findings)
			}
		})
	}
}

// TestKeysOfPartitions: between partitions there is no order, so that a row which moves is taken as it is.
func TestKeysOfPartitions(t *testing.T) {
	records := bare("CREATE", "INSERT 1 a", "MOVE 2 a 1", "INSERT 1 b", "UPDATE 2 c a", "UPDATE 2 e d")
	for _, i := range []int{2, 4, 5} {
		records[i].Partition = 1
	}
	records[1].Timestamp = records[2].Timestamp.Add(time.Second) // read late
	r, err := auditRecords(t, records, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts[Key] != 1 || r.Findings[0].Offset != 2 {
		t.Errorf("%+v", r.Findings)
	}
}
