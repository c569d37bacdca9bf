package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// audited runs audit on a topic that has so many rows of each of two transactions, whose last row is always number 2.
func audited(t *testing.T, keys map[string]string, first, second int, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for tx, rows := range []int{first, second} {
		value := fmt.Sprintf(`{"data":[%s],"database":"d","table":"t","type":"INSERT"}`, strings.TrimSuffix(strings.Repeat(`{"id":"1"},`, rows), ","))
		r := &kgo.Record{Value: []byte(value), Headers: []kgo.RecordHeader{{Key: message.HeaderDestination, Value: []byte("d")},
			{Key: message.HeaderPosition, Value: fmt.Appendf(nil, "0-1-%d", tx+1)}, {Key: message.HeaderRow, Value: []byte("2")}}}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := local.Conf{Server: map[string]string{"kafka.bootstrap.servers": cluster.ListenAddrs()[0], "canal.metrics.pull.port": "0"},
		Destinations: map[string]map[string]string{"d": {"canal.instance.master.address": untouched(t), "canal.instance.dbUsername": "u", "canal.mq.topic": "t"}}}
	for k, v := range keys {
		c.Destinations["d"][k] = v
		if k == "canal.mq.flatMessage" {
			c.Server[k] = v
		}
	}
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"audit", "--conf", dir}, args...), func(string) (string, bool) { return "", false }, &out, &errs)
	return out.String(), errs.String(), code
}

func TestAuditCommand(t *testing.T) {
	out, _, code := audited(t, nil, 3, 3)
	if code != 0 || !strings.Contains(out, "2 records with 6 rows, 1 topic, 1 partition\ngap     none: ") || !strings.Contains(out, "order   right") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, errs, code := audited(t, nil, 3, 2, "--json")
	var r struct{ Counts map[string]int }
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed || errs != "" || r.Counts["gap"] != 1 {
		t.Errorf("exit code %d, %v, %s:\n%s", code, err, errs, out)
	}
	out, _, code = audited(t, map[string]string{"canal.mq.dynamicTopic": `.*\..*`}, 3, 3, "--topic", "t", "--isolation", "read_committed", "--from", "1")
	if code != 0 || !strings.Contains(out, "1 record with 3 rows") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestAuditUsage(t *testing.T) {
	for _, c := range []struct {
		keys map[string]string
		args []string
		want string
	}{
		{nil, []string{"--isolation", "x"}, "choose read_committed or read_uncommitted"},
		{nil, []string{"--from", "x"}, `--from "x": write a time as`},
		{nil, []string{"--to", "-3"}, `--to "-3"`},
		{nil, []string{"--source-from", "binlog.000001"}, "--source-from is for --source"},
		{map[string]string{"canal.relay.headers": "false"}, []string{"--source"}, "canal.relay.headers is false"},
		{map[string]string{"canal.mq.dynamicTopic": `.*\..*`}, nil, "name each that is to be audited with --topic"},
		{map[string]string{"canal.mq.dynamicTopic": `.*\..*`, "canal.relay.oversize": "dead-letter"}, nil, "name each that is to be audited with --topic"},
		{nil, []string{"--left-out", "binlog.000001:4"}, "--left-out is for --source"},
		{nil, []string{"--destination", "other"}, `no destination "other"`},
	} {
		if _, errs, code := audited(t, c.keys, 3, 3, c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, errs)
		}
	}
	if _, errs, code := audited(t, nil, 3, 3, "--topic", "none"); code != exitFailed || !strings.Contains(errs, "none") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
