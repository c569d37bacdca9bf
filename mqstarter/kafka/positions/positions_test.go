package positions

import (
	"strings"
	"testing"
)

// A record of the first version, all members set. Texts like this are in the field.
const recordOne = `{"format":1,"epoch":1009,"zookeeper":"2-1796067000000","node":"host","routing":"9f86d081884c7d65",` +
	`"position":{"File":"binlog.000013","Offset":198263,"GTIDs":"df7e4cd1-ecf0-11f1-b394-02fc00000001:1-2255","ServerID":11,` +
	`"ServerUUID":"df7e4cd1-ecf0-11f1-b394-02fc00000001","Time":"2026-11-30T19:31:28Z","Host":"127.0.0.1","Port":3306,` +
	`"Prepared":[{"xid":"X'61',X'',1","file":"binlog.000013","start":4711,"end":4999}]},"sent":17}`

// TestFormats: a record of the first version is read, and written as it was; an
// older one is read; a newer one is refused with the node that wrote it.
func TestFormats(t *testing.T) {
	r, err := Parse([]byte(recordOne))
	if err != nil || r.Judge("shop", 1010, "2-1796067000000") != nil {
		t.Fatalf("%v, %v", err, r.Judge("shop", 1010, "2-1796067000000"))
	}
	if at := r.Resume(); at.Sent != 17 || at.Position.Offset != 198263 || len(at.Position.Prepared) != 1 {
		t.Errorf("it goes on at %+v", at)
	}
	again, err := r.Kafka(t.Context(), "positions", "shop")
	if err != nil {
		t.Fatal(err)
	}
	written, err := Parse(again.Value)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Replace(string(again.Value), `"node":"`+written.Node+`"`, `"node":"host"`, 1); got != recordOne {
		t.Errorf("read and written again it is\n%s", got)
	}
	for text, want := range map[string]string{
		strings.Replace(recordOne, `{"format":1,`, `{"rule":[1],`, 1):                  "",
		strings.Replace(recordOne, `{"format":1,`, `{"format":2,"rule":[1],`, 1):       "format 2, written by a newer canal-relay on host: this one reads up to 1",
		`{"format":2,"node":"host","position":"of another kind, which only it knows"}`: "format 2, written by a newer canal-relay on host",
	} {
		r, err := Parse([]byte(text))
		if err == nil {
			err = r.Judge("shop", 1010, "2-1796067000000")
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}
