package filter

import (
	"fmt"

	"github.com/canal-relay/canal-relay/relay/pattern"
)

// Answer is what became of a table and why, for people.
type Answer struct {
	Captured bool
	Key      string // the setting that decided
	Pattern  string // the pattern in it that matched; empty when none did, or the setting is empty
}

// String says it in a sentence without a stop.
func (a Answer) String() string {
	switch {
	case a.Captured && a.Pattern == "":
		return a.Key + " is empty: every table is captured"
	case a.Pattern == "":
		return "no pattern of " + a.Key + " matches"
	}
	return fmt.Sprintf("pattern %s of %s matches", a.Pattern, a.Key)
}

// Explain tells what Table answers, and which pattern decided: the first in the
// list that matches by itself.
func (f *Filter) Explain(schema, name string) (Answer, error) {
	captured := f.Table(schema, name)
	if f.err != nil {
		return Answer{}, f.err
	}
	a := Answer{Captured: captured, Key: keyRegex}
	list := f.config.Regex
	if !captured && f.match(f.white, true, schema, name) {
		a.Key, list = keyBlackRegex, f.config.BlackRegex
	} else if !captured {
		return a, nil
	}
	pieces := split(list)
	for _, piece := range pieces {
		p, err := pattern.Compile(piece)
		if err != nil {
			continue // right only together with another one
		}
		if ok, err := p.Match(schema + "." + name); ok && err == nil {
			a.Pattern = piece
			return a, nil
		}
	}
	if len(pieces) > 0 {
		a.Pattern = list
	}
	return a, nil
}

// Drops names the settings by which changes of captured tables are dropped
// whatever their table.
func (c Config) Drops() []string {
	var keys []string
	for _, k := range []struct {
		on  bool
		key string
	}{
		{c.DMLInsert, "dml.insert"}, {c.DMLUpdate, "dml.update"}, {c.DMLDelete, "dml.delete"},
		{c.Rows, "rows"}, {c.QueryDML, "query.dml"}, {c.QueryDDL, "query.ddl"}, {c.QueryDCL, "query.dcl"},
	} {
		if k.on {
			keys = append(keys, prefix+k.key)
		}
	}
	return keys
}
