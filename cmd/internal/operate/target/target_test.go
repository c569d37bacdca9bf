package target

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"binlog.000004:157":                        "binlog.000004 157",
		"6be1439e-ecaa-11f1-aa2a-02fc00000001:1-9": "6be1439e-ecaa-11f1-aa2a-02fc00000001:1-9",
		"0-1-42":                    "0-1-42",
		"2026-11-30T09:00:00Z":      "2026-11-30 09:00:00 +0000 UTC",
		"2026-11-30T10:00:00+01:00": "2026-11-30 09:00:00 +0000 UTC",
		"earliest":                  "earliest",
		"latest":                    "latest",
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s := got.start
		switch {
		case got.earliest && want == "earliest", got.latest && want == "latest":
		case s.GTIDs != "" && s.GTIDs == want:
		case s.Journal != "" && s.Journal+" 157" == want && s.Offset == 157:
		case !s.Time.IsZero() && s.Time.UTC().String() == want:
		default:
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}
