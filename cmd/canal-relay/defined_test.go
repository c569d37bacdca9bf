package main

import (
	"strings"
	"testing"
)

// TestDefined: tail says once for each table where its definition came from.
func TestDefined(t *testing.T) {
	for _, s := range scenarios(t) {
		want := map[string]string{"15-ddl-tables/mysql": "table zoo.oryx is defined by the DDL in the binlog\n",
			"46-tsdb-first-dump/mysql": "table zoo.macaw is defined by the schema file\n", "47-row-metadata-full/mysql": "is defined by the DDL in the binlog\n"}[s.id()]
		if want == "" {
			continue
		}
		_, stderr, code := s.tail(t, "flat", "false")
		if n := strings.Count(stderr, want); code != 0 || n == 0 || strings.HasPrefix(want, "table") && n > 1 {
			t.Errorf("%s: exit %d, %q %d times in\n%s", s.id(), code, want, n, stderr)
		}
	}
}
