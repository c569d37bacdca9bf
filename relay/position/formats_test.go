package position

import (
	"strings"
	"testing"
)

// What the first version of each format looks like, all members set. Texts like these are in the field: a build that cannot
// read them, or writes others under the same version, breaks a rolling upgrade.
const (
	stateOne = `{"version":1,"serverUuid":"df7e4cd1-ecf0-11f1-b394-02fc00000001","gtids":"df7e4cd1-ecf0-11f1-b394-02fc00000001:1-2255","epoch":1009,` +
		`"routing":"9f86d081884c7d65","delivery":"exactly-once","since":7,"sinceAt":"2026-11-30T19:31:28.25Z",` +
		`"prepared":[{"xid":"X'61',X'',1","file":"binlog.000013","start":4711,"end":4999,"serverUuid":"df7e4cd1-ecf0-11f1-b394-02fc00000001","gtid":"df7e4cd1-ecf0-11f1-b394-02fc00000001:2254","time":1796067088}],` +
		`"past":[{"at":"2026-11-30T19:31:28Z","reason":"term started","file":"binlog.000012","offset":4992,"gtids":"df7e4cd1-ecf0-11f1-b394-02fc00000001:1-2200"}]}`
	skipOne = `{"version":1,"at":"binlog.000012:4992","reason":"ticket 4711","who":"ops@host","when":"2026-11-30T09:00:00Z"}`
)

func TestFormatsOfTheFirstVersion(t *testing.T) {
	state, err := ParseState([]byte(stateOne))
	if err != nil || string(state.Append(nil)) != stateOne {
		t.Errorf("%v; read and written again it is\n%s", err, state.Append(nil))
	}
	order, err := ParseSkip([]byte(skipOne))
	if err != nil || string(order.Append(nil)) != skipOne {
		t.Errorf("%v; read and written again it is\n%s", err, order.Append(nil))
	}
}

func TestFormatsOfOtherVersions(t *testing.T) {
	state := func(text string) error { _, err := ParseState([]byte(text)); return err }
	skip := func(text string) error { _, err := ParseSkip([]byte(text)); return err }
	later := func(text string) string {
		return strings.Replace(text, `{"version":1`, `{"version":2,"at":{},"gtids":[1]`, 1)
	}
	for _, c := range []struct {
		name string
		err  error
		want string // empty: it is read
	}{
		{"a state with members of later", state(strings.Replace(stateOne, `"epoch"`, `"hint":{},"epoch"`, 1)), ""},
		{"a newer state", state(later(stateOne)), "format version 2 is newer than 1"},
		{"a state without version", state(`{"epoch":3}`), "no format version"},
		{"an order from before orders had a version", skip(strings.Replace(skipOne, `"version":1,`, "", 1)), ""},
		{"a newer order", skip(later(skipOne)), "format version 2 is newer than 1"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
}
