package target

import (
	"slices"
	"testing"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// TestFind: as in Canal the flat form looks for each name as it is, so that one
// that is written twice cancels itself, and protobuf looks through the columns for
// those that any name means.
func TestFind(t *testing.T) {
	table := &schema.Table{PrimaryKey: []int{2, 0}}
	l := &event.Layout{Table: table, Columns: make([]event.Column, 3)}
	for i, name := range []string{"id", "Name", "region"} {
		l.Columns[i].Name = name
	}
	for _, tt := range []struct {
		primary bool
		names   []string
		fold    bool
		want    []int
		missing []string
	}{
		{true, nil, false, []int{2, 0}, nil},
		{false, []string{"id", "id"}, false, []int{0, 0}, nil},
		{false, []string{"id", "ID", "name"}, true, []int{0, 1}, nil},
		{false, []string{"ID", "name", "region"}, false, []int{2}, []string{"ID", "name"}},
		{false, []string{" id", "x"}, true, nil, []string{" id", "x"}},
		{false, []string{"region", "id"}, true, []int{2, 0}, nil},
	} {
		if got, missing := find(tt.primary, tt.names, l, tt.fold); !slices.Equal(got, tt.want) || !slices.Equal(missing, tt.missing) {
			t.Errorf("%v, fold %v: %v without %v, want %v without %v", tt.names, tt.fold, got, missing, tt.want, tt.missing)
		}
	}
}
