package audit

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
)

// maxKeys is how many rows are remembered by their keys; each takes about 60
// bytes.
const maxKeys = 10_000_000

// keys judges flat messages without headers by their rows: each change must find
// its row as the messages before it left it. Of a row that was not met yet
// nothing is known, unless its table was made within the topics. Rows that are
// in another partition than before are taken as they are, since partitions have
// no order between them.
type keys struct {
	rows   map[uint64]known
	tables map[string]*table
	clock  uint64 // counts statements
	since  uint64 // nothing from before is known of any table
	full   bool   // no more rows are remembered
	single bool   // there is one partition, so that statements have their place among all rows

	message flat
}

// known is what is known of a row.
type known struct {
	sum     uint64 // of its columns, in any order
	columns uint32
	there   bool
	loose   bool // it moved between partitions once, and may do so again
	lane    *lane
	when    uint64 // clock
}

type table struct {
	emptied, altered uint64 // clock of the latest statement that did that
	whole            bool   // every row since emptied was seen
}

// flat is what is needed of a message.
type flat struct {
	table, kind   string
	ddl           bool
	data, old, pk []byte
}

// image is a row, or what is known of it before a change.
type image struct{ key, sum uint64 }

func newKeys() *keys {
	return &keys{rows: make(map[uint64]known), tables: make(map[string]*table)}
}

func (m *flat) read(value []byte) error {
	var database, name []byte
	*m = flat{}
	err := content.Members(value, func(member, raw []byte) error {
		switch string(member) {
		case "data":
			m.data = raw
		case "old":
			m.old = raw
		case "pkNames":
			m.pk = raw
		case "database":
			database = raw
		case "table":
			name = raw
		case "type":
			m.kind = string(bytes.Trim(raw, `"`))
		case "isDdl":
			m.ddl = string(raw) == "true"
		}
		return nil
	})
	m.table = string(bytes.Trim(database, `"`)) + "." + string(bytes.Trim(name, `"`))
	return err
}

// record judges a record of a lane.
func (k *keys) record(a *auditor, l *lane, r *topicreader.Record, sum uint64) error {
	m := mark{tx: sum, sum: sum}
	if l.next < l.count && l.at(l.next).is(m) {
		l.next++
		a.report.Repeats++
		return nil
	}
	if err := k.message.read(r.Value); err != nil {
		return err
	}
	wrong, err := k.take(l, false)
	if err != nil {
		return fmt.Errorf("topic %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	if wrong != "" || k.message.ddl {
		if i := l.find(m); i >= 0 {
			a.report.add(Repeat, l, r.Offset, &Change{}, "from here on %d records are repeated; whether from where a transaction begins cannot be told without headers", l.count-i)
			a.report.Repeats++
			l.next = i + 1
			return nil
		}
	}
	if wrong != "" {
		a.report.add(Key, l, r.Offset, &Change{}, "%s of %s: %s", k.message.kind, k.message.table, wrong)
	}
	l.append(m)
	_, err = k.take(l, true)
	return err
}

// take looks at the change of the message, or makes it. It returns what is
// wrong with it.
func (k *keys) take(l *lane, do bool) (wrong string, err error) {
	m := &k.message
	if m.ddl || len(m.data) == 0 || m.data[0] != '[' {
		if do {
			k.statement()
		}
		return "", nil
	}
	pk := names(m.pk)
	if len(pk) == 0 {
		return "", nil
	}
	t := k.tables[m.table]
	if t == nil {
		t = &table{}
		k.tables[m.table] = t
	}
	old := split(m.old)
	row := 0
	err = content.Elements(m.data, func(raw []byte) error {
		var before []byte
		if row < len(old) {
			before = old[row]
		}
		row++
		now, was, columns, err := images(m.table, raw, before, pk)
		if err != nil {
			return err
		}
		if wrong == "" && !do {
			wrong = k.judge(l, t, now, was, columns)
		}
		if do {
			k.change(l, now, was, columns)
		}
		return nil
	})
	return wrong, err
}

// statement notes that a table was made, emptied or changed.
func (k *keys) statement() {
	k.clock++
	t := k.tables[k.message.table]
	if t == nil {
		t = &table{}
		k.tables[k.message.table] = t
	}
	switch k.message.kind {
	case "CREATE", "TRUNCATE":
		t.emptied, t.whole = k.clock, k.single && !k.full
	case "ALTER", "CINDEX", "DINDEX", "QUERY":
		t.altered = k.clock
	default: // names or databases may have changed
		k.since = k.clock
		for _, t := range k.tables {
			t.whole = false
		}
	}
}

// of returns what is known of a row: whether it is there, and whether its
// content is known as well.
func (k *keys) of(l *lane, t *table, key uint64) (row known, sure, content bool) {
	row, met := k.rows[key]
	switch {
	case !met || row.when < k.since || row.when < t.emptied:
		return known{}, t.whole && t.emptied >= k.since, false
	case row.lane != l || row.loose:
		return known{}, false, false
	}
	return row, true, row.there && row.when >= t.altered
}

// judge says what is wrong with a change of a row.
func (k *keys) judge(l *lane, t *table, now, was image, columns int) string {
	row, sure, content := k.of(l, t, was.key)
	switch kind := k.message.kind; {
	case !sure:
		return ""
	case kind == "INSERT" && row.there:
		return "the row is there already"
	case kind != "INSERT" && !row.there:
		return "there is no such row"
	case kind != "INSERT" && content && int(row.columns) == columns && row.sum != was.sum:
		return "the row is another one than the messages before it left"
	}
	if now.key != was.key {
		if there, sure, _ := k.of(l, t, now.key); sure && there.there {
			return "a row with the new key is there already"
		}
	}
	return ""
}

// change notes what a change leaves.
func (k *keys) change(l *lane, now, was image, columns int) {
	if now.key != was.key {
		k.rows[was.key] = known{lane: l, when: k.clock, loose: !k.single}
	}
	row, met := k.rows[now.key]
	if !met && len(k.rows) >= maxKeys {
		if !k.full {
			k.full = true
			for _, t := range k.tables {
				t.whole = false
			}
		}
		return
	}
	k.rows[now.key] = known{sum: now.sum, columns: uint32(columns), there: k.message.kind != "DELETE", lane: l, when: k.clock, loose: row.loose}
}

// images reads a row and what it was before: old has the columns that changed.
func images(table string, data, old []byte, pk []string) (now, was image, columns int, err error) {
	before := make(map[string][]byte)
	if len(old) > 0 && old[0] == '{' {
		if err := content.Members(old, func(name, raw []byte) error { before[string(name)] = raw; return nil }); err != nil {
			return now, was, 0, err
		}
	}
	now.key = maphash.String(content.Seed, table)
	was.key = now.key
	err = content.Members(data, func(name, raw []byte) error {
		columns++
		first := raw
		if o, ok := before[string(name)]; ok {
			first = o
		}
		v, w := columnSum(name, raw), columnSum(name, first)
		now.sum += v
		was.sum += w
		for _, p := range pk {
			if p == string(name) {
				now.key += v
				was.key += w
			}
		}
		return nil
	})
	return now, was, columns, err
}

func columnSum(name, raw []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(content.Seed)
	_, _ = h.Write(name)
	_ = h.WriteByte(0)
	_, _ = h.Write(raw)
	return h.Sum64()
}

func split(array []byte) (all [][]byte) {
	if len(array) > 0 && array[0] == '[' {
		_ = content.Elements(array, func(raw []byte) error { all = append(all, raw); return nil })
	}
	return all
}

func names(array []byte) (all []string) {
	for _, raw := range split(array) {
		all = append(all, string(bytes.Trim(raw, `"`)))
	}
	return all
}
