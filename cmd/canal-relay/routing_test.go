package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/dlclark/regexp2"
)

// canalRouting routes and filters messages as canal-mq.md §2.6 and §4 and canal-parse.md §7 say that Canal does, written from
// these texts and without the packages under test: what it makes of the messages of a plain configuration must be what tail
// prints for another one.
type canalRouting struct {
	*testing.T
	keys map[string]string // below canal.mq. and canal.instance.filter., without that
}

// flat is a flat message as far as routing and filters care.
type flat struct {
	Database, Table, Type, SQL string
	IsDDL                      bool
	Data, Old                  []map[string]any
	MysqlType                  map[string]any
	SQLType                    map[string]any
	PkNames                    []string
}

// full matches a name as Canal's engine does: at its start, the first match that is found, which must be all of it.
func (c *canalRouting) full(pattern, name string) bool {
	name = strings.ToLower(name)
	m, err := regexp2.MustCompile(`\A(?:^`+pattern+`$)`, regexp2.IgnoreCase|regexp2.Singleline).FindStringMatch(name)
	if err != nil {
		c.Fatal(err)
	}
	return m != nil && m.String() == name
}

func wild(text string) bool { return strings.ContainsAny(text, `*?+|(){}[]\$^`) }

func (c *canalRouting) matches(text, name string) bool {
	if wild(text) {
		return c.full(text, name)
	}
	return strings.EqualFold(text, name)
}

func items(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' })
}

func (c *canalRouting) topic(m flat) string {
	base, rules := c.keys["topic"], c.keys["dynamicTopic"]
	if rules == "" {
		return base
	}
	route := func(name string) string {
		for _, item := range items(rules) {
			topic, text, named := strings.Cut(item, ":")
			if topic, text = strings.TrimSpace(topic), strings.TrimSpace(text); !named {
				topic, text = strings.ToLower(name), item
			}
			byTable := strings.Contains(text, `\.`)
			if text != "" && c.matches(text, name) && (!wild(text) || byTable == strings.Contains(name, ".")) {
				return topic
			}
		}
		return ""
	}
	topic := base
	if m.Database != "" && m.Table != "" {
		if topic = route(m.Database + "." + m.Table); topic == "" {
			topic = route(m.Database)
		}
		if topic == "" {
			topic = base
		}
	}
	return strings.ReplaceAll(topic, ".", "_")
}

func javaHash(text string) (h int32) {
	for _, unit := range utf16.Encode([]rune(text)) {
		h = 31*h + int32(unit)
	}
	return h
}

func spread(h int32, n int) int {
	wide := int64(h)
	if wide < 0 {
		wide = -wide
	}
	return int(wide % int64(n))
}

func (c *canalRouting) partitions(topic string) int {
	for _, item := range items(c.keys["dynamicTopicPartitionNum"]) {
		i := strings.LastIndex(item, ":")
		if i <= 0 || !c.matches(item[:i], topic) {
			continue
		}
		if n, err := strconv.ParseUint(item[i+1:], 10, 31); err == nil {
			return int(n)
		}
		break
	}
	n, _ := strconv.Atoi(c.keys["partitionsNum"])
	return max(n, 1)
}

// split gives the partition of each row, -1 for a message that is not split, with its partition.
func (c *canalRouting) split(m flat, topic string) (rows []int, whole int) {
	rules := c.keys["partitionHash"]
	if rules == "" {
		n, _ := strconv.Atoi(c.keys["partition"])
		return nil, n
	}
	if m.IsDDL || len(m.Data) == 0 {
		return nil, 0
	}
	n := c.partitions(topic)
	for _, item := range items(rules) {
		i := strings.LastIndex(item, ":")
		if i <= 0 {
			if c.matches(item, m.Database+"."+m.Table) {
				return nil, spread(javaHash(m.Table), n)
			}
			continue
		}
		if !c.matches(item[:i], m.Database+"."+m.Table) {
			continue
		}
		columns := m.PkNames
		if !strings.EqualFold(item[i+1:], "$pk$") {
			columns = strings.FieldsFunc(item[i+1:], func(r rune) bool { return r == '^' })
		}
		for _, row := range m.Data {
			var h int32
			if c.keys["database.hash"] != "false" {
				h = javaHash(m.Database)
			}
			for _, column := range columns {
				text, _ := row[column].(string)
				h ^= javaHash(text)
			}
			rows = append(rows, spread(h, n))
		}
		return rows, -1
	}
	return nil, 0
}

// keeps filters: a message and the columns of it.
func (c *canalRouting) keeps(m *flat) bool {
	if m.IsDDL && c.keys["query.ddl"] == "true" || !m.IsDDL && (c.keys["rows"] == "true" || c.keys["dml."+strings.ToLower(m.Type)] == "true") {
		return false
	}
	name := m.Database + "." + m.Table
	listed := func(list string) bool {
		pieces := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
		slices.SortStableFunc(pieces, func(a, b string) int { return len(b) - len(a) })
		return len(pieces) > 0 && c.full(strings.Join(pieces, "$|^"), name)
	}
	if m.Table != "" && (!listed(c.keys["regex"]) || listed(c.keys["black.regex"])) { // CREATE DATABASE has none
		return false
	}
	white, black := fieldsOf(c.keys["field"], name), fieldsOf(c.keys["black.field"], name)
	gone := func(column string) bool {
		column = strings.ToUpper(column)
		return len(white) > 0 && !slices.Contains(white, column) || len(white) == 0 && slices.Contains(black, column)
	}
	without := func(row map[string]any) map[string]any {
		row = maps.Clone(row)
		maps.DeleteFunc(row, func(column string, _ any) bool { return gone(column) })
		return row
	}
	m.Data, m.Old = slices.Clone(m.Data), slices.Clone(m.Old)
	left := 0
	for i := range m.Data {
		m.Data[i] = without(m.Data[i])
		left += len(m.Data[i])
	}
	for i := range m.Old {
		m.Old[i] = without(m.Old[i])
	}
	if left == 0 {
		m.Data = nil
	}
	m.MysqlType, m.SQLType = without(m.MysqlType), without(m.SQLType)
	m.PkNames = slices.DeleteFunc(slices.Clone(m.PkNames), gone)
	return true
}

// fieldsOf reads schema.table:col1/col2,… as Java's split does, which drops empty texts at the end alone.
func fieldsOf(list, name string) (columns []string) {
	for _, piece := range strings.Split(list, ",") {
		parts := strings.Split(piece, ":")
		for len(parts) > 0 && parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1]
		}
		if len(parts) == 2 && strings.EqualFold(strings.TrimSpace(parts[0]), name) {
			columns = strings.Split(strings.ToUpper(strings.TrimSpace(parts[1])), "/")
			for len(columns) > 0 && columns[len(columns)-1] == "" && strings.TrimSpace(parts[1]) != "" {
				columns = columns[:len(columns)-1]
			}
		}
	}
	return columns
}

func (c *canalRouting) route(all []flat) map[string][]flat {
	places := map[string][]flat{}
	put := func(topic string, partition int, m flat) {
		place := fmt.Sprintf("%s[%d]", topic, partition)
		places[place] = append(places[place], m)
	}
	for _, m := range all {
		if !c.keeps(&m) {
			continue
		}
		topic := c.topic(m)
		rows, whole := c.split(m, topic)
		if whole >= 0 {
			put(topic, whole, m)
			continue
		}
		for p := range c.partitions(topic) {
			part := m
			part.Data, part.Old = nil, nil
			for i, to := range rows {
				if to != p {
					continue
				}
				part.Data = append(part.Data, m.Data[i])
				if m.Old != nil {
					part.Old = append(part.Old, m.Old[i])
				}
			}
			if part.Data != nil {
				put(topic, p, part)
			}
		}
	}
	return places
}

// messages runs tail over a golden binlog with more keys.
func messages(t *testing.T, name string, keys map[string]string) ([]record, []flat) {
	t.Helper()
	dir, server := t.TempDir(), map[string]string{"canal.serverMode": "kafka", "canal.destinations": "d", "kafka.bootstrap.servers": "127.0.0.1:1", "canal.relay.compat.decimal": "true"}
	instance := map[string]string{"canal.instance.master.address": "127.0.0.1:3306", "canal.instance.filter.regex": `zoo.*\..*`, "canal.mq.topic": "base"}
	for key, value := range keys {
		switch prefix := "canal.mq."; {
		case key == "database.hash":
			server[prefix+key] = value
		case slices.Contains([]string{"topic", "dynamicTopic", "partition", "partitionsNum", "partitionHash", "dynamicTopicPartitionNum"}, key):
			instance[prefix+key] = value
		default:
			instance["canal.instance.filter."+key] = value
		}
	}
	for key, value := range instance {
		instance[key] = strings.ReplaceAll(value, `\`, `\\`)
	}
	writeFile(t, filepath.Join(dir, "canal.properties"), properties(server))
	writeFile(t, filepath.Join(dir, "d", "instance.properties"), properties(instance))
	args := []string{"tail", "--conf", dir, "--destination", "d", "--output", "jsonl", "--binlog", filepath.Join("testdata/golden", name, "mysql.binlog")}
	if setup, err := os.ReadFile(filepath.Join("testdata/golden", name, "setup.sql")); err == nil {
		script := filepath.Join(dir, "schema.sql")
		writeFile(t, script, "CREATE DATABASE zoo;\nUSE zoo;\n"+string(setup))
		args = append(args, "--schema", script)
	}
	var out, errs strings.Builder
	if code := run(t.Context(), args, func(string) (string, bool) { return "", false }, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	records := slices.DeleteFunc(parseRecords(t, []byte(out.String())), func(r record) bool {
		return strings.Contains(r.Value, "DROP TABLE `Dog`,`cat_small`") // it bears the name of the first that is captured
	})
	all := make([]flat, len(records))
	for i, r := range records {
		if err := json.Unmarshal([]byte(r.Value), &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return records, all
}

// TestRouting: rules and filters that no recorded scenario has, over the recorded binlogs.
func TestRouting(t *testing.T) {
	golden := []string{"12-updates", "13-keys", "25-partition-pk", "29-dynamic-topic", "31-field-filters", "36-table-filters"}
	plain := map[string][]flat{}
	for _, name := range golden {
		_, plain[name] = messages(t, name, nil)
	}
	for i, keys := range []map[string]string{
		{"dynamicTopic": `.*\..*`, "topic": "my.default"},
		{"dynamicTopic": `zoo`, "topic": "my.default"},
		{"dynamicTopic": `ZOO`},
		{"dynamicTopic": `z.*,special:zoo\..*e`},
		{"dynamicTopic": `a.b:zoo.dove; second : zoo\.d.*|zoo\.cat_.*;zoo`},
		{"dynamicTopic": `zoo_extra.dog, zoo`, "topic": "d"},
		{"dynamicTopic": `x:zoo.do|zoo.dog,y:(zoo\.do|zoo\.dog)`},
		{"dynamicTopic": `x:(?!zoo\.d).*\..*,y:zoo\.(.)\1.*`},
		{"dynamicTopic": `x:,y:zoo\.[^d].*,.*`},
		{"dynamicTopic": `t:x:zoo.dove,t1:[Z]oo\.DOVE`},
		{"dynamicTopic": `zoo\.dove,x:zoo`, "partitionHash": `zoo\..*:$pk$`, "partitionsNum": "3", "dynamicTopicPartitionNum": `zoo_dove:5,x:2`},
		{"dynamicTopic": `.*\..*`, "partitionHash": `.*\..*:$PK$`, "partitionsNum": "4", "dynamicTopicPartitionNum": `zoo_.*d.*:7;zoo_.*:x;zoo_cat_small:9`},
		{"partitionHash": `.*\..*:id^name`, "partitionsNum": "6", "database.hash": "false"},
		{"partitionHash": `.*\..*:name^id^id`, "partitionsNum": "6"},
		{"partitionHash": `zoo.dove:ID,zoo\.d.*:id,.*\..*`, "partitionsNum": "5", "database.hash": "false"},
		{"partitionHash": `zoo.d|zoo.dog:id, zoo.dove:id,zoo\..*:`, "partitionsNum": "5"},
		{"partitionHash": `.*\..*:^id^`, "partitionsNum": "3", "partition": "2"},
		{"partitionHash": `zoo\.d[^o].*`, "partitionsNum": "3", "partition": "2"},
		{"partition": "2", "partitionsNum": "3"},
		{"partitionHash": `.*\..*:$pk$`, "partitionsNum": "3", "black.field": "zoo.dove:id,zoo.cat_small:id/n,ZOO.Drake:ID"},
		{"partitionHash": `.*\..*:$pk$`, "partitionsNum": "3", "field": "zoo.dove:nothing, Zoo.Drake : NAME/t ,zoo.dog:id:x,:zoo.cat_small:n,zoo.dugong:,zoo.bear::n,zoo.mole:id::"},
		{"field": "zoo.dove:name,zoo.dove:ID", "black.field": "zoo.dove:id,zoo.drake:/name//"},
		{"field": "zoo.dove: ,zoo.drake:/"},
		{"regex": `zoo\..*`, "black.regex": `zoo\.d.*`},
		{"regex": `ZOO\.DO.*,zoo\.c`, "black.regex": `zoo\.dove|zoo\.dovecot`},
		{"regex": `zoo\.d|zoo\.dove, zoo\.cat.*`},
		{"regex": `(?!zoo\.d).*\..*`, "black.regex": `.*\.(.)\1.*`},
		{"regex": `zoo.*\..*`, "dml.insert": "true", "query.ddl": "true"},
		{"regex": `zoo.*\..*`, "dml.update": "true", "dml.delete": "true", "partitionHash": `.*\..*:$pk$`, "partitionsNum": "2"},
		{"regex": `zoo.*\..*`, "rows": "true"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := &canalRouting{T: t, keys: maps.Clone(keys)}
			for key, value := range map[string]string{"topic": "base", "regex": `zoo.*\..*`} {
				if _, set := c.keys[key]; !set {
					c.keys[key] = value
				}
			}
			for _, name := range golden {
				records, all := messages(t, name, keys)
				got := map[string][]flat{}
				for i, r := range records {
					place := fmt.Sprintf("%s[%d]", r.Topic, r.Partition)
					got[place] = append(got[place], all[i])
				}
				want := c.route(plain[name])
				for _, place := range slices.Sorted(maps.Keys(merged(want, got))) {
					if a, b := inJSON(want[place]), inJSON(got[place]); !reflect.DeepEqual(a, b) {
						t.Errorf("%s by %v, %s\nwant %s\ngot  %s", name, keys, place, strings.Join(a, "\n     "), strings.Join(b, "\n     "))
					}
				}
			}
		})
	}
}

func merged(a, b map[string][]flat) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string][]flat{a, b} {
		for key := range m {
			all[key] = true
		}
	}
	return all
}

func inJSON(all []flat) (lines []string) {
	for _, m := range all {
		if len(m.PkNames) == 0 {
			m.PkNames = nil
		}
		if len(m.MysqlType) == 0 {
			m.MysqlType, m.SQLType = nil, nil
		}
		text, _ := json.Marshal(m)
		lines = append(lines, string(text))
	}
	return lines
}
