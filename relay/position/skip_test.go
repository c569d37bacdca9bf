package position

import (
	"strings"
	"testing"
	"time"
)

func TestSkipNamesOneThing(t *testing.T) {
	for at, ok := range map[string]bool{
		"binlog.000004:157": true,
		"binlog.000004:157@6be1439e-ecaa-11f1-aa2a-02fc00000001": true,
		"mysql-bin.000004:157@":                                  true,
		"0-1-4711":                                               true,
		"6be1439e-ecaa-11f1-aa2a-02fc00000001:4711":              true,
		"6be1439e-ecaa-11f1-aa2a-02fc00000001:tag:4711":          true,
		"6be1439e-ecaa-11f1-aa2a-02fc00000001:1-4711":            false,
		"binlog.000004":                                          false,
		"binlog.000004:":                                         false,
		"":                                                       false,
		"latest":                                                 false,
		"binlog.000004:157 binlog.000004:999":                    false,
		"0-1-1,1-1-1":                                            false,
		"6be1439e-ecaa-11f1-aa2a-02fc00000001:1:2":               false,
		"binlog.000004:-157":                                     false,
		"binlog.000004:157@6be1439e-ecaa-11f1-aa2a-02fc00000001;": false,
	} {
		if err := (Skip{At: at, Reason: "r"}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", at, err)
		}
	}
	if err := (Skip{At: "0-1-1"}).Validate(); err == nil {
		t.Error("an order without a reason is accepted")
	}
}

func TestSkipIsReadAsItWasWritten(t *testing.T) {
	want := Skip{Version: skipVersion, At: "0-1-4711", Reason: "broken <row>", Who: "ops@host", When: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	got, err := ParseSkip(want.Append(nil))
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if text := got.Done(); !strings.Contains(text, "left out 0-1-4711 as ops@host ordered at 2026-11-30T09:00:00Z: broken <row>") {
		t.Error(text)
	}
	if at, why, ok := LeftOut(want.Done()); !ok || at != want.At || !strings.HasSuffix(why, "broken <row>") {
		t.Errorf("%q, %q, %v", at, why, ok)
	}
	if _, _, ok := LeftOut("term started, epoch 7"); ok {
		t.Error("not every reason is that of an order")
	}
	for _, damaged := range []string{"", "{", `{"at":"all","reason":"r"}`} {
		if _, err := ParseSkip([]byte(damaged)); err == nil {
			t.Errorf("%q is accepted", damaged)
		}
	}
}
