package rekey

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// layout is that of a table (a INT, b INT, v VARCHAR) with some primary key.
func layout(t *testing.T, key ...int) *event.Layout {
	t.Helper()
	table := &schema.Table{Schema: "d", Name: "t", PrimaryKey: key}
	for _, name := range []string{"a", "b"} {
		table.Columns = append(table.Columns, schema.Column{Name: name, Type: "int", Base: "int"})
	}
	table.Columns = append(table.Columns, schema.Column{Name: "v", Type: "varchar(9)", Base: "varchar", Charset: "utf8mb4"})
	l, err := event.NewLayout(table, &replication.TableMapEvent{Schema: []byte("d"), Table: []byte("t"), ColumnCount: 3,
		ColumnType: []byte{mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_VARCHAR}, ColumnMeta: []uint16{0, 0, 36}, NullBitmap: []byte{7}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// image is a row with every column; a negative b is NULL.
func image(a, b int32, v string) []byte {
	out := []byte{0}
	out = binary.LittleEndian.AppendUint32(out, uint32(a))
	if b < 0 {
		out[0] = 2
	} else {
		out = binary.LittleEndian.AppendUint32(out, uint32(b))
	}
	return append(append(out, byte(len(v))), v...)
}

func update(l *event.Layout, rows ...[]byte) *event.Change {
	return &event.Change{Kind: event.Update, Layout: l, Present: []byte{7}, PresentAfter: []byte{7}, Image: slices.Concat(rows...), Rows: len(rows) / 2}
}

func show(parts []event.Change) (out []string) {
	for i := range parts {
		out = append(out, fmt.Sprintf("%s %d %d", parts[i].Kind, parts[i].Rows, len(parts[i].Image)))
	}
	return out
}

func TestSplit(t *testing.T) {
	one, two, three := image(1, 1, "x"), image(2, 2, ""), image(3, -1, "long text")
	for _, tt := range []struct {
		key  []int
		rows [][]byte
		want []string
	}{
		{[]int{0}, [][]byte{one, image(1, 5, "y")}, []string{"UPDATE 1 22"}},
		{nil, [][]byte{one, two}, []string{"UPDATE 1 21"}},
		{[]int{0}, [][]byte{one, two}, []string{"DELETE 1 11", "INSERT 1 10"}},
		{[]int{1}, [][]byte{two, three}, []string{"DELETE 1 10", "INSERT 1 15"}},
		{[]int{1, 0}, [][]byte{one, one, two, three, three, three, one, one}, []string{"UPDATE 1 22", "DELETE 1 10", "INSERT 1 15", "UPDATE 2 52"}},
		{[]int{0}, [][]byte{two, three, one, two}, []string{"DELETE 1 10", "INSERT 1 15", "DELETE 1 11", "INSERT 1 10"}},
	} {
		var s Splitter
		c := update(layout(t, tt.key...), tt.rows...)
		parts, err := s.Split(c)
		if got := show(parts); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("key %v of %d rows: %v, %v; want %v", tt.key, len(tt.rows)/2, got, err, tt.want)
		}
		var all []byte
		for _, p := range parts {
			all = append(all, p.Image...)
			var it event.RowIter
			if err := p.Locate(&it); err != nil || it.Len() != p.Rows {
				t.Errorf("%s: %d rows, %v", p.Kind, it.Len(), err)
			}
		}
		if !slices.Equal(all, c.Image) {
			t.Errorf("the parts together are not the update")
		}
	}
}

// TestSplitNeedsWholeRows: an insert must not lack columns.
func TestSplitNeedsWholeRows(t *testing.T) {
	var s Splitter
	c := &event.Change{Kind: event.Update, Layout: layout(t, 0), Present: []byte{1}, PresentAfter: []byte{1},
		Image: []byte{0, 1, 0, 0, 0, 0, 2, 0, 0, 0}, Rows: 1}
	if _, err := s.Split(c); !errors.Is(err, ErrImage) {
		t.Errorf("a minimal image: %v", err)
	}
	// MINIMAL without a change of the key.
	c.PresentAfter, c.Image = []byte{2}, []byte{0, 1, 0, 0, 0, 0, 2, 0, 0, 0}
	parts, err := s.Split(c)
	if got := show(parts); err != nil || !slices.Equal(got, []string{"UPDATE 1 10"}) {
		t.Errorf("a minimal image that leaves the key: %v, %v", got, err)
	}
}
