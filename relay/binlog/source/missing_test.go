package source

import "testing"

func TestCompareDomains(t *testing.T) {
	for _, tt := range []struct {
		name, set, state, replayed, last string
		missing, common                  string
	}{
		{"has it", "0-1-9", "0-1-9", "", "0-1-9", "", ""},
		{"has more", "0-1-9,7-2-1", "7-2-5,0-3-10,0-1-9", "", "0-3-10,7-2-5", "", ""},
		{"replayed without a binlog", "0-1-9", "", "0-1-9", "", "", ""},
		{"behind", "0-1-9", "0-1-7", "0-1-7", "0-1-7", "0-1-9", ""},
		{"went on without it", "0-1-9", "0-1-7,0-2-8", "0-1-7", "0-2-8", "0-1-9", "0-1-7"},
		{"went on farther than that", "0-1-9", "0-1-7,0-2-30", "", "0-2-30", "0-1-9", "0-1-7"},
		{"went on, the other domain is there", "0-1-9,7-1-4", "0-1-7,0-2-8,7-1-4", "", "0-2-8,7-1-4", "0-1-9", "0-1-7,7-1-4"},
		{"one domain is behind, one went on", "0-1-9,7-1-4", "0-1-7,0-2-8,7-1-3", "", "0-2-8,7-1-3", "0-1-9,7-1-4", ""},
		{"nothing of that server", "0-1-9", "0-2-8", "", "0-2-8", "0-1-9", ""},
		{"behind since it was set up", "0-1-9", "", "0-1-7", "", "0-1-9", ""},
		{"nothing at all", "0-1-9", "", "", "", "", ""},
		{"a domain that was deleted", "0-1-9,5-78-1", "0-1-9", "", "0-1-9", "", ""},
	} {
		if m := compareDomains(tt.set, tt.state, tt.replayed, tt.last); m.GTIDs != tt.missing || m.Common != tt.common {
			t.Errorf("%s: missing %q, in common %q", tt.name, m.GTIDs, m.Common)
		}
	}
}

// TestOwnedSet reads what MySQL 9.7 and 8.0 say of transactions under way.
func TestOwnedSet(t *testing.T) {
	const one, two = "00000000-0000-0000-0000-000000000001", "9b9cd442-ed2e-11f1-b522-02fc00000001"
	for text, want := range map[string]string{
		"":              "",
		one + ":7#22":   one + ":7",
		"something new": "",
		one + ":7#22" + two + ":2#23:1#13" + two + ":mytag:1#21": one + ":7," + two + ":1-2:mytag:1",
		one + ":7#22#24,\n" + two + ":2#23":                      one + ":7," + two + ":2",
	} {
		if got := ownedSet(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
