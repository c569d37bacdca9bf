package route

import (
	"strings"
	"testing"
)

func mustNew(t *testing.T, c Config) *Router {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func num(n int32) *int32 { return &n }

func TestTopic(t *testing.T) {
	const many = `mytest1.user,topic2:mytest2\..*,.*\..*`
	tests := []struct{ schema, table, rules, want string }{
		{"mytest1", "user", many, "mytest1_user"},
		{"mytest2", "abc", many, "topic2"},
		{"Other", "T", many, "other_t"},
		{"test", "t", `test`, "test"},
		{"test2", "t", `test`, "DEF"},
		{"test2", "t", `test.*`, "test2"},
		{"test2", "t", `.*`, "test2"},
		{"a", "b", `.*\..*`, "a_b"},
		{"test", "t", `topicA:test.t`, "topicA"},
		{"test", "t", `topicA:test`, "topicA"},
		{"test", "t", `test,topicB:test.t`, "topicB"},
		{"test", "t", `topic:with:test.t`, "DEF"},
		{"A", "B", `a.b`, "a_b"},
		{"test", "u", `topicA:test.t, topicB:test.u`, "topicB"},
		{"test", "u", `test.t, test.u`, "DEF"},
		{"test", "u", ` topicB : test.u `, "topicB"},
		{"", "u", `.*\..*`, "DEF"},
		{"test", "", `.*\..*`, "DEF"},
		{"db", "t12", `x:db\.t\d+`, "x"},
		{"db1", "t", `db[12]`, "db1"},
		{"a.b", "c", `.*`, "DEF"},
		{"s", "t", `s:`, "DEF"},
		{"db1", "t", `test:db1|db2`, "test"},
		{"db2", "t", `test:db1|db2`, "test"},
		{"db1", "t", `test:db|db1`, "DEF"}, // the first alternative matches, but not the whole name
		{"test", "t", `x.y:test`, "x_y"},
		{"test", "t", `a:b;c:test`, "c"},
		{"zoo", "cat_small", `golden-cats:zoo\.cat_.*,zoo.dog,golden-extra:zoo_extra,zoo\.wolf\d`, "golden-cats"},
		{"zoo", "Dog", `zoo.dog`, "zoo_dog"},
		{"a.b", "c", `t:a\.b`, "t"}, // the schema's own dot makes its name one for patterns with \.
		{"a.b", "c", `a.b`, "a_b"},
		{"a", "b.c", `t:a.b.c`, "t"},
		{"Ilan", "T", `t:ılan`, "t"},   // as Java compares
		{"s", "t", "x:s\u00a0", "DEF"}, // no blank for Java
		{"s", "t", "\tx :\v s.t ", "x"},
		{"s", "t", `x:s[.]t`, "DEF"}, // without \. a pattern for schemas
		{"s", "t", `x:s\\.t`, "DEF"},
		{"s\\x", "t", `x:s\\.,y:s\\x`, "y"},
		{"s", "t", `x:$,y:.`, "DEF"}, // a dot alone is a name
		{"S", "T", `x:[S]\.[T]`, "x"},
		{"s", "t", `x:(?:s|x)\.t`, "x"},
		{"s", "t", `x:s\.t|y:s`, "x"},
	}
	for _, tt := range tests {
		if got := mustNew(t, Config{Topic: "DEF", DynamicTopic: tt.rules}).Topic(tt.schema, tt.table); got != tt.want {
			t.Errorf("%s.%s by %q: got %q, want %q", tt.schema, tt.table, tt.rules, got, tt.want)
		}
	}
}

// Dots of the default topic are replaced only where topics are dynamic.
func TestTopicDefault(t *testing.T) {
	for rules, want := range map[string]string{"": "my.topic", "  ": "my.topic", "none": "my_topic", ",": "my_topic"} {
		if got := mustNew(t, Config{Topic: "my.topic", DynamicTopic: rules}).Topic("a", "b"); got != want {
			t.Errorf("dynamicTopic %q: got %q, want %q", rules, got, want)
		}
	}
	if got := mustNew(t, Config{DynamicTopic: "a"}).Topic("b", "t"); got != "" {
		t.Errorf("no default topic: got %q", got)
	}
}

// place sends one row through a rule as a builder does.
func place(r Rule, key map[string]string, columns ...string) (h, p int32) {
	if !r.Hashed {
		return 0, r.Partition
	}
	if !r.PrimaryKey {
		columns = r.Columns
	}
	h = r.Seed
	for _, c := range columns {
		h ^= Hash(key[c])
	}
	return h, Partition(h, r.Partitions)
}

func TestRule(t *testing.T) {
	const pk = `.*\..*:$pk$`
	tests := []struct {
		name, rules string
		n           int32
		database    bool
		key         string // column=text, separated by commas; all of them are the primary key
		h, want     int32
	}{
		{"shop.orders", pk, 3, true, "id=1", 3529415, 2},
		{"shop.orders", pk, 3, false, "id=1", 49, 1},
		{"shop.orders", pk, 3, true, "id=2", 3529412, 2},
		{"shop.orders", pk, 3, true, "id=3", 3529413, 0},
		{"shop.orders", pk, 3, true, "id=4", 3529410, 0},
		{"shop.orders", pk, 3, true, "id=5", 3529411, 1},
		{"shop.orders", pk, 3, true, "id=6", 3529408, 1},
		{"shop.orders", pk, 3, false, "id=2", 50, 2},
		{"shop.orders", pk, 3, false, "id=6", 54, 0},
		{"shop.orders", pk, 6, true, "id=1001", 2284182, 0},
		{"shop.orders", pk, 6, false, "id=1001", 1507424, 2},
		{"shop.orders", pk, 3, true, "", 3529462, 1},
		{"shop.orders", pk, 3, false, "", 0, 0},
		{"shop.orders", pk, 3, false, "id=1,name=1", 0, 0},
		{"shop.orders", pk, 8, false, "id=7,name=bob", 97666, 2},
		{"shop.orders", pk, 8, true, "id=7,name=bob", 3450740, 4},
		{"shop.orders", pk, 8, false, "id=7,name=", 55, 7},
		{"shop.orders", pk, 5, true, "id=-1", 3530578, 3},
		{"shop.orders", pk, 16, true, "id=9223372036854775807", -1770387756, 12},
		{"shop.orders", pk, 16, true, "id=18446744073709551615", 1822382067, 3},
		{"shop.orders", `shop.orders`, 3, true, "", 0, 0},
		{"shop.orders", `shop.orders`, 8, false, "", 0, 3},
		{"shop.user", `shop.user`, 4, true, "", 0, 3},
		{"shop.t", `shop\..*`, 5, true, "", 0, 1},
		{"shop.order_item", `shop.order_item`, 6, true, "", 0, 4},
		{"shop.中文表", `shop\..*`, 4, true, "", 0, 2},
		{"SHOP.ORDERS", `shop.orders:id`, 4, true, "id=42", 2544776, 0},
		{"shop.orders", `shop.orders:id`, 4, true, "id=42", 3529864, 0},
		{"shop.orders", `shop.orders:id`, 4, false, "id=42", 1662, 2},
		{"shop.orders", `shop.orders:ID`, 4, false, "id=42", 0, 0},
		{"shop.orders", `shop.orders:id^user_id`, 4, true, "id=42,user_id=9", 3529905, 1},
		{"shop.orders", `shop.orders:id^user_id`, 4, true, "id=42", 3529864, 0},
		{"shop.orders", `shop.other:id`, 4, true, "id=42", 0, 0},
		{"db.t", `db.t:c`, 3, false, "c=polygenelubricants", -1 << 31, 2},
		{"db.t", `db.t:c`, 5, false, "c=polygenelubricants", -1 << 31, 3},
		{"db.t", `db.t:c`, 7, false, "c=中文", 646394, 0},
		{"db.t", `db.t:c`, 7, false, "c=😀", 1772899, 2},
		{"db.t", `db.t:c`, 7, false, "c=\u00ff\u00fe\u0000", 252929, 5},
		{"db.t", `db.t:c`, 7, true, "c=2017-01-01 00:00:00", 344407362, 5},
		{"test.table", `test.table:id^name,.*\..*`, 3, true, "id=1,name=n", 3556557, 0},
		{"db.u", `db.t:id, db.u:id`, 3, false, "id=2", 0, 0},
		{"shop.orders", `.*\..*:$PK$`, 3, true, "id=1", 3529415, 2},
	}
	for _, tt := range tests {
		r := mustNew(t, Config{Topic: "T", PartitionsNum: num(tt.n), PartitionHash: tt.rules, DatabaseHash: tt.database, Partition: 9})
		schema, table, _ := strings.Cut(tt.name, ".")
		key, columns := make(map[string]string), []string(nil)
		for pair := range strings.SplitSeq(tt.key, ",") {
			if name, text, ok := strings.Cut(pair, "="); ok {
				key[name], columns = text, append(columns, name)
			}
		}
		if h, p := place(r.Rule("T", schema, table, 0), key, columns...); h != tt.h || p != tt.want {
			t.Errorf("%s by %q over %d, %q: got %d → %d, want %d → %d", tt.name, tt.rules, tt.n, tt.key, h, p, tt.h, tt.want)
		}
		if p := r.Statement(); p != 0 {
			t.Errorf("a statement goes to %d under partitionHash", p)
		}
	}
}

func TestRuleWithoutHash(t *testing.T) {
	r := mustNew(t, Config{Topic: "T", Partition: 2, PartitionsNum: num(4), DynamicTopicPartitionNum: "T:5"})
	if got := r.Rule("T", "a", "b", 0); got.Hashed || got.Partition != 2 || r.Statement() != 2 {
		t.Errorf("got %+v, statements %d", got, r.Statement())
	}
	r = mustNew(t, Config{Topic: "T", PartitionHash: `.*\..*:$pk$`})
	if got := r.Rule("T", "a", "b", 0); got.Partitions != 1 {
		t.Errorf("unset partitionsNum: got %+v", got)
	}
}

func TestCount(t *testing.T) {
	tests := []struct {
		topic, rules string
		want         int32
	}{
		{"test_user", `test.*:4,mycanal:6`, 4},
		{"MyCanal", `test.*:4,mycanal:6`, 6},
		{"foo", `test.*:4,mycanal:6`, 9},
		{"my_topic", `my.topic:3`, 9},
		{"x", `x:abc,x:5`, 9},
		{"x", `x,x:5`, 5},
		{"x", `.*:2;x:5`, 2},
		{"x", `x: 5`, 9},
		{"x", `x:`, 9},
		{"zoo_crab", `zoo_cr.b:4,zoo_crane:3`, 9}, // no wildcard in it: a name
		{"zoo_crane", `zoo_cr.b:4,zoo_crane:3`, 3},
	}
	for _, tt := range tests {
		r := mustNew(t, Config{Topic: "T", PartitionsNum: num(9), PartitionHash: `.*\..*:id`, DynamicTopicPartitionNum: tt.rules})
		if got := r.Rule(tt.topic, "a", "b", 0).Partitions; got != tt.want {
			t.Errorf("%s by %q: got %d, want %d", tt.topic, tt.rules, got, tt.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		config Config
		names  []string
	}{
		{Config{}, []string{"canal.mq.topic"}},
		{Config{Topic: "T", Partition: -1}, []string{"canal.mq.partition:", "-1"}},
		{Config{Topic: "T", PartitionsNum: num(0)}, []string{"canal.mq.partitionsNum", "0"}},
		{Config{Topic: "T", PartitionsNum: num(-3)}, []string{"canal.mq.partitionsNum", "-3"}},
		{Config{Topic: "T", DynamicTopic: `ok,x:db\.t\d{1,2}`}, []string{"canal.mq.dynamicTopic", `"x:db\\.t\\d{1"`, "comma"}},
		{Config{Topic: "T", DynamicTopic: `x:(a`}, []string{"canal.mq.dynamicTopic", `"x:(a"`}},
		{Config{Topic: "T", DynamicTopic: `(?:s|x)\.t`}, []string{"canal.mq.dynamicTopic", `"s|x)\\.t"`}}, // the first colon ends the topic
		{Config{Topic: "T", PartitionHash: `(?:s|x)\.t`}, []string{"canal.mq.partitionHash", `"(?"`}},     // the last one the pattern
		{Config{Topic: "T", DynamicTopic: `:a`}, []string{"canal.mq.dynamicTopic", `":a"`}},
		{Config{Topic: "T", PartitionHash: `db\.t\d{1,2}:id`}, []string{"canal.mq.partitionHash", "comma"}},
		{Config{Topic: "T", PartitionHash: `a?+:id`}, []string{"canal.mq.partitionHash", `"a?+"`}},
		{Config{Topic: "T", DynamicTopicPartitionNum: `x:0`}, []string{"canal.mq.dynamicTopicPartitionNum", `"x:0"`}},
		{Config{Topic: "T", DynamicTopicPartitionNum: `x:99999999999`}, []string{"canal.mq.dynamicTopicPartitionNum"}},
		{Config{Topic: "T", DynamicTopicPartitionNum: `[:1`}, []string{"canal.mq.dynamicTopicPartitionNum", `"[:1"`}},
	}
	for _, tt := range tests {
		_, err := New(tt.config)
		if err == nil {
			t.Errorf("%+v accepted", tt.config)
			continue
		}
		for _, name := range tt.names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
		}
	}
	mustNew(t, Config{Topic: "T", DynamicTopic: `x:db\.t\d{2}`, PartitionHash: `a\{b:id`})
}

// A pattern that explodes is told by Err, whoever asked.
func TestErr(t *testing.T) {
	r := mustNew(t, Config{Topic: "T", DynamicTopic: `(a+)+\1b(?=c)`})
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	r.Topic(strings.Repeat("a", 60), "t")
	if r.Err() == nil {
		t.Error("no error")
	}
}

func TestFingerprint(t *testing.T) {
	base := DefaultConfig()
	base.Topic = "T"
	seen := map[string]int{}
	configs := []Config{base, base, base, base, base, base, base}
	configs[1].Topic = "U"
	configs[2].DynamicTopic = "a"
	configs[3].Partition = 1
	configs[4].PartitionHash = "a:$pk$"
	configs[5].PartitionsNum = num(2)
	configs[6].DatabaseHash = false
	for i, c := range configs {
		seen[mustNew(t, c).Fingerprint()] = i
	}
	if len(seen) != len(configs) {
		t.Errorf("%d fingerprints of %d settings", len(seen), len(configs))
	}
	// It is stored: it must not change from one version to the next.
	const want = "4b512847906b8311"
	if got := mustNew(t, base).Fingerprint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPartitions(t *testing.T) {
	for _, tt := range []struct {
		config Config
		want   int32
	}{
		{Config{Partition: 4}, 5},
		{Config{PartitionHash: `.*\..*:$pk$`, PartitionsNum: num(3)}, 3},
		{Config{PartitionHash: `.*\..*:$pk$`, PartitionsNum: num(3), DynamicTopicPartitionNum: "DEF:7"}, 7},
		{Config{Partition: 4, PartitionHash: `a.b`}, 1},
	} {
		tt.config.Topic = "DEF"
		if got := mustNew(t, tt.config).Partitions("DEF"); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.config, got, tt.want)
		}
	}
}
