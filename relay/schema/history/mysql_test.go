package history

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// The data of Canal's first dump, as 1.1.7 stored it for a database of two tables: a name in back-quotes, types spelt as its
// parser prints them.
const firstDump = "{\"`shop`\":\"CREATE TABLE `acct` (\\n\\t`id` bigint NOT NULL,\\n\\t`n` int UNSIGNED NOT NULL,\\n\\t`amount` decimal(12, 2) DEFAULT NULL," +
	"\\n\\t`e` enum('a', 'b', 'c') DEFAULT NULL,\\n\\tPRIMARY KEY (`id`)\\n) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 DEFAULT COLLATE = utf8mb4_0900_ai_ci; \\n" +
	"CREATE TABLE `two` (\\n\\t`a` int NOT NULL,\\n\\t`b` int NOT NULL,\\n\\tPRIMARY KEY (`a`, `b`)\\n) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4; \\n\"}"

// TestDumpOfCanal: its tables are known under the names that rows have, with the types that Canal says of them.
func TestDumpOfCanal(t *testing.T) {
	for _, c := range []struct{ data, schema string }{
		{firstDump, "shop"},
		{"{\"shop\":" + firstDump[len("{\"`shop`\":"):], "shop"}, // as older ones wrote it
		{"{\"`sh``op`\":" + firstDump[len("{\"`shop`\":"):], "sh`op"},
	} {
		entries, err := snapshotOf(c.data, position.Position{Time: time.UnixMilli(-2)})
		if err != nil {
			t.Fatal(err)
		}
		tr := schema.NewTracker(schema.DefaultConfig(), nil, fixed{entries: entries})
		if err := tr.Load(t.Context(), position.Position{File: "binlog.000002", Offset: 4, Time: time.Unix(1796067060, 0)}); err != nil {
			t.Fatal(err)
		}
		want := "id bigint key=true null=false, n int unsigned key=false null=false, amount decimal(12,2) key=false null=true, e enum('a','b','c') key=false null=true, "
		if got := plain(tr.Known(c.schema, "acct")); got != want {
			t.Errorf("%s.acct is %s, want %s", c.schema, got, want)
		}
		if tr.Known(c.schema, "two") == nil {
			t.Errorf("%s.two is not known", c.schema)
		}
	}
}

// fixed is a history that is there already.
type fixed struct {
	schema.History
	entries []schema.Entry
}

func (f fixed) Load(context.Context, position.Position) ([]schema.Entry, error) {
	return f.entries, nil
}

// plain is what Canal knows of a table.
func plain(table *schema.Table) string {
	if table == nil {
		return "nothing"
	}
	text := ""
	for _, c := range table.Columns {
		text += fmt.Sprintf("%s %s key=%v null=%v, ", c.Name, c.Type, c.Key, c.Nullable)
	}
	return text
}
