package message

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/event"
)

func TestHeaders(t *testing.T) {
	c := &event.Change{Tx: []byte("uuid:7"), Row: 10, Rows: 5}
	for _, tt := range []struct {
		rows []int
		want string
	}{{nil, "14"}, {[]int{0, 2}, "12"}, {[]int{0}, "10"}} {
		if got := string(AppendRow(nil, c, tt.rows)); got != tt.want {
			t.Errorf("rows %v: got %s, want %s", tt.rows, got, tt.want)
		}
	}
	got := NewOrigin("example", 42).AppendHeaders(nil, c.Tx, AppendRow(nil, c, nil))
	want := []Header{{"r-dest", []byte("example")}, {"r-pos", []byte("uuid:7")}, {"r-row", []byte("14")}, {"r-epoch", []byte("42")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := NewOrigin("example", 0).AppendHeaders(nil, nil, nil); string(got[3].Value) != "0" {
		t.Errorf("epoch 0: got %q", got)
	}
	if got := NewOrigin("example", -1).AppendHeaders(nil, nil, nil); len(got) != 3 {
		t.Errorf("no epoch: got %q", got)
	}
	for _, tt := range []struct {
		change event.Change
		rows   []int
		want   string
	}{
		{event.Change{Row: 3, Rows: 1}, nil, "3"}, {event.Change{Row: 3, Rows: 4}, nil, "6"}, {event.Change{Row: 3, Rows: 4}, []int{0, 2}, "5"},
		{event.Change{Kind: event.End, Row: 3}, nil, "2"}, {event.Change{Kind: event.Begin}, nil, "0"},
	} {
		if got := string(AppendRow(nil, &tt.change, tt.rows)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt, got, tt.want)
		}
	}
}
