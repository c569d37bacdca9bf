//go:build stack

package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestStackPartialJSON: random edits of random documents that the server logs as differences come out as the documents
// that SELECT shows, to the byte in style mysql.
func TestStackPartialJSON(t *testing.T) {
	r := newRand(t)
	w := newWorld(t, "mysql", map[string]string{"canal.relay.values": "mysql"})
	conn := w.admin()
	const edits = 150
	var want []string
	path := w.ownBinlog(conn, func() {
		w.exec(conn, "SET SESSION binlog_row_value_options = PARTIAL_JSON", "CREATE TABLE doc (id INT PRIMARY KEY, n INT, j JSON, k JSON)",
			`INSERT INTO doc VALUES (1, 0, '{"a": {"b": [1, 2], "c d": {}}, "l": [[], {"x": 1}], "long": "`+fmt.Sprintf("%01000d", 7)+`"}', '[]')`)
		for i := range edits {
			w.exec(conn, fmt.Sprintf("UPDATE doc SET n = %d, j = %s, k = JSON_ARRAY_APPEND(k, '$', n) WHERE id = 1", i+1, randomEdit(r, "j", 3)))
			rows, err := conn.Execute("SELECT CAST(j AS CHAR), CAST(k AS CHAR) FROM doc")
			if err != nil {
				t.Fatal(err)
			}
			j, _ := rows.GetString(0, 0)
			k, _ := rows.GetString(0, 1)
			want = append(want, j, k)
		}
	})
	changes := tailChanges(t, w, path, "UTC", nil)["doc"]
	if len(changes) != edits+1 {
		t.Fatalf("%d changes, want %d", len(changes), edits+1)
	}
	before := changes[0].data
	for i, c := range changes[1:] {
		j, k := *c.data["j"], *c.data["k"]
		if j != want[2*i] || k != want[2*i+1] {
			t.Fatalf("edit %d\nwant %s %s\ngot  %s %s", i, want[2*i], want[2*i+1], j, k)
		}
		old, changed := c.old["j"]
		if changed != (*before["j"] != j) || changed && *old != *before["j"] {
			t.Fatalf("edit %d: old has j %v", i, changed)
		}
		before = c.data
	}
}

// randomEdit is an expression that edits a document in ways that the server can log as differences.
func randomEdit(r *rand.Rand, doc string, depth int) string {
	paths := []string{"$.a", "$.a.b", "$.a.b[0]", "$.a.b[1]", `$.a."c d"`, `$.a."c d".e`, "$.l", "$.l[0]", "$.l[1].x", "$.l[last]", "$.new", `$."q\\"uote"`, "$.é"}
	values := []string{"1", "-70000", "5000000000", "1.50", "1e20", "'text \\\"q\\\" é'", "TRUE", "CAST('null' AS JSON)", "JSON_ARRAY()", "JSON_OBJECT('k', 1)",
		"JSON_ARRAY(1, JSON_OBJECT('b', JSON_ARRAY(2)))", "CAST('2024-01-02 03:04:05.6' AS DATETIME(1))", "REPEAT('long ', 40)", "CAST(x'00ff' AS BINARY)"}
	if depth == 0 {
		return doc
	}
	path, value := paths[r.IntN(len(paths))], values[r.IntN(len(values))]
	inner := randomEdit(r, doc, depth-1)
	switch r.IntN(3) {
	case 0:
		return fmt.Sprintf("JSON_SET(%s, '%s', %s)", inner, path, value)
	case 1:
		return fmt.Sprintf("JSON_REPLACE(%s, '%s', %s)", inner, path, value)
	}
	if r.IntN(3) > 0 { // else documents become too small
		return fmt.Sprintf("JSON_SET(%s, '%s', %s)", inner, path, value)
	}
	return fmt.Sprintf("JSON_REMOVE(%s, '%s')", inner, path)
}
