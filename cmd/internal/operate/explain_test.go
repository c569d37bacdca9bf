package operate

import (
	"encoding/json"
	"strings"
	"testing"
)

func explainJSON(t *testing.T, dir string, args ...string) explanation {
	t.Helper()
	stdout, stderr, code := command(t, append([]string{"explain", "--conf", dir, "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var all []explanation
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 1 {
		t.Fatalf("%s: %v", stdout, err)
	}
	return all[0]
}

// TestExplainTopics: the vectors of Canal's topic choice, with the rule that decided.
func TestExplainTopics(t *testing.T) {
	const many = `mytest1.user,topic2:mytest2\..*,.*\..*`
	for _, tt := range []struct{ table, rules, topic, why string }{
		{"mytest1.user", many, "mytest1_user", `rule "mytest1.user"`},
		{"mytest2.abc", many, "topic2", `rule "topic2:mytest2\\..*"`},
		{"Other.T", many, "other_t", `rule ".*\\..*"`},
		{"test.t", "test", "test", `rule "test"`},
		{"test2.t", "test", "def", "no rule of canal.mq.dynamicTopic matches"},
		{"test2.t", "test.*", "test2", `rule "test.*"`},
		{"test.t", "test,topicB:test.t", "topicB", `rule "topicB:test.t"`},
		{"test.t", "topic:with:test.t", "def", "canal.mq.topic, since no rule"},
		{"db1.t", "db[12]", "db1", `rule "db[12]"`},
		{"test.t", "", "def", "canal.mq.dynamicTopic is empty"},
	} {
		x := explainJSON(t, conf(t, nil, map[string]string{"canal.mq.dynamicTopic": tt.rules}), tt.table)
		if !x.Captured || x.Topic != tt.topic || !strings.Contains(x.WhyTopic, tt.why) {
			t.Errorf("%s with %q: topic %s (%s), want %s (%s)", tt.table, tt.rules, x.Topic, x.WhyTopic, tt.topic, tt.why)
		}
	}
}

// TestExplainPartitions: the vectors of Canal's partition choice.
func TestExplainPartitions(t *testing.T) {
	const pk = `.*\..*:$pk$`
	for _, tt := range []struct {
		table, rules, n, hash string
		keys                  []string
		partition             int32 // -1: depends on the row
	}{
		{"shop.orders", pk, "3", "true", []string{"id=1"}, 2},
		{"shop.orders", pk, "3", "false", []string{"id=1"}, 1},
		{"shop.orders", pk, "6", "true", []string{"id=1001"}, 0},
		{"shop.orders", pk, "3", "false", []string{"id=1", "name=1"}, 0},
		{"shop.orders", pk, "8", "false", []string{"id=7", "name=bob"}, 2},
		{"shop.orders", pk, "8", "false", []string{"id=7", "name="}, 7},
		{"shop.orders", pk, "16", "true", []string{"id=9223372036854775807"}, 12},
		{"shop.orders", "shop.orders", "8", "true", nil, 3},
		{"shop.t", `shop\..*`, "5", "true", nil, 1},
		{"shop.中文表", `shop\..*`, "4", "true", nil, 2},
		{"SHOP.ORDERS", "shop.orders:id", "4", "true", []string{"id=42"}, 0},
		{"shop.orders", "shop.orders:id^user_id", "4", "true", []string{"id=42", "user_id=9"}, 1},
		{"shop.orders", "shop.orders:id^user_id", "4", "true", []string{"id=42"}, -1},
		{"shop.orders", "shop.orders:id", "4", "true", nil, -1},
		{"shop.orders", "shop.other:id", "4", "true", []string{"id=42"}, 0},
		{"shop.orders", pk, "3", "true", nil, -1},
		{"db.t", "db.t:c", "5", "false", []string{"c=polygenelubricants"}, 3},
		{"shop.orders", "", "3", "true", nil, 2},
	} {
		dir := conf(t, map[string]string{"canal.mq.database.hash": tt.hash},
			map[string]string{"canal.mq.partition": "2", "canal.mq.partitionHash": tt.rules, "canal.mq.partitionsNum": tt.n})
		args := []string{tt.table}
		for _, key := range tt.keys {
			args = append(args, "--key", key)
		}
		x := explainJSON(t, dir, args...)
		got := int32(-1)
		if x.Partition != nil {
			got = *x.Partition
		}
		if got != tt.partition {
			t.Errorf("%v with %q over %s: partition %d, want %d: %+v", args, tt.rules, tt.n, got, tt.partition, x)
		}
	}
}

func TestExplainCapture(t *testing.T) {
	dir := conf(t, nil, map[string]string{"canal.instance.filter.regex": `shop\..*,test\.t1`, "canal.instance.filter.black.regex": `shop\.tmp_.*`,
		"canal.instance.filter.dml.delete": "true"})
	for table, want := range map[string]struct {
		captured bool
		why      string
	}{
		"shop.orders": {true, `pattern shop\..* of canal.instance.filter.regex matches`},
		"TEST.T1":     {true, `pattern test\.t1 of canal.instance.filter.regex matches`},
		"test.t2":     {false, "no pattern of canal.instance.filter.regex matches"},
		"shop.tmp_1":  {false, `pattern shop\.tmp_.* of canal.instance.filter.black.regex matches`},
	} {
		x := explainJSON(t, dir, table)
		if x.Captured != want.captured || x.WhyCaptured != want.why || !want.captured && x.Topic != "" {
			t.Errorf("%s: %+v, want %+v", table, x, want)
		}
	}
	stdout, _, _ := command(t, "explain", "--conf", dir, "shop.orders")
	for _, want := range []string{"captured     yes: pattern", "but not what canal.instance.filter.dml.delete drops", "topic        def: canal.mq.topic", "partition    0: canal.mq.partition"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	dir := conf(t, nil, nil)
	for _, args := range [][]string{{"orders"}, {"shop.orders", "--key", "id"}, {"shop.orders", "--destination", "none"}, {}} {
		if stdout, stderr, code := command(t, append([]string{"explain", "--conf", dir}, args...)...); code != 2 || stdout != "" || stderr == "" {
			t.Errorf("%q: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}
