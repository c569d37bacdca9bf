package message

import (
	"fmt"
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
	headers := NewOrigin("example", 42).Headers(c.Tx, AppendRow(nil, c, nil))
	headers.Oversize = 2000
	want := []Header{{"r-dest", []byte("example")}, {"r-pos", []byte("uuid:7")}, {"r-row", []byte("14")}, {"r-epoch", []byte("42")}, {"r-oversize", []byte("2000")}}
	if diff := cmp.Diff(want, headers.All()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, tt := range []struct {
		headers Headers
		want    string
	}{
		{NewOrigin("example", 0).Headers([]byte("t"), []byte("1")), "[{r-dest example} {r-pos t} {r-row 1} {r-epoch 0}]"},
		{NewOrigin("example", -1).Headers([]byte("t"), []byte("1")), "[{r-dest example} {r-pos t} {r-row 1}]"},
		{NewOrigin("example", 7).Heartbeat(), "[{r-heartbeat example} {r-epoch 7}]"},
		{Headers{Oversize: 9}, "[{r-oversize 9}]"},
		{Headers{}, "[]"},
	} {
		if got := fmt.Sprintf("%s", tt.headers.All()); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
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
