package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/mqstarter/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// sent is a record of the relay: some rows of a transaction.
type sent struct {
	partition int32
	tx        int
	row, rows int // number of the last row, and how many there are
	epoch     int64
	note      string // makes another content
}

func (s sent) text() string {
	var data []string
	for i := s.row - s.rows + 1; i <= s.row; i++ {
		data = append(data, fmt.Sprintf(`{"id":"%d","name":"a \"b\" }"}`, s.tx*100+i))
	}
	return fmt.Sprintf(`{"data":[%s],"database":"shop","es":1,"id":%d,"pkNames":["id"],"table":"t%s","ts":%d,"type":"INSERT"}`,
		strings.Join(data, ","), s.epoch, s.note, s.epoch)
}

func (s sent) pos() string { return fmt.Sprintf("%s:%d", uuid, s.tx) }

// stream is what a relay sends undisturbed: ten transactions of six rows in
// three records, the second one in another partition.
func stream() []sent {
	var all []sent
	for tx := 1; tx <= 10; tx++ {
		all = append(all, sent{0, tx, 1, 2, 1, ""}, sent{1, tx, 3, 2, 1, ""}, sent{0, tx, 5, 2, 1, ""})
	}
	return all
}

// source yields the changes of records.
func source(all []sent) Source {
	return func(context.Context) (Change, error) {
		if len(all) == 0 {
			return Change{}, io.EOF
		}
		s := all[0]
		all = all[1:]
		_, sum, err := content.Flat([]byte(s.text()))
		return Change{Topic: "t", Partition: s.partition, Tx: s.pos(), Row: uint64(s.row), Rows: s.rows, Sum: sum}, err
	}
}

// audited writes records to a topic and audits it.
func audited(t *testing.T, all []sent, o Options) *Report {
	t.Helper()
	r, err := tryAudit(t, all, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryAudit(t *testing.T, all []sent, o Options) (*Report, error) {
	t.Helper()
	var records []*kgo.Record
	began := time.Now().Add(-time.Hour)
	for i, s := range all {
		records = append(records, &kgo.Record{Topic: "t", Partition: s.partition, Value: []byte(s.text()), Timestamp: began.Add(time.Duration(i) * time.Millisecond),
			Headers: []kgo.RecordHeader{{Key: message.HeaderDestination, Value: []byte("d")}, {Key: message.HeaderPosition, Value: []byte(s.pos())},
				{Key: message.HeaderRow, Value: fmt.Append(nil, s.row)}, {Key: message.HeaderEpoch, Value: fmt.Append(nil, s.epoch)}}})
	}
	return auditRecords(t, records, o)
}

func auditRecords(t *testing.T, records []*kgo.Record, o Options) (*Report, error) {
	t.Helper()
	return auditIn(t, 2, records, o)
}

// auditIn audits a topic of so many partitions.
func auditIn(t *testing.T, partitions int32, records []*kgo.Record, o Options) (*Report, error) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "t"), kfake.SeedTopics(1, "lost"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	o.Topics.Kafka = kafka.DefaultConfig()
	o.Topics.Kafka.Brokers = cluster.ListenAddrs()
	o.Topics.Topics = []string{"t"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return Run(ctx, o)
}

// again is all records, and then those from one on once more, by another owner.
func again(all []sent, from int) []sent {
	out := slices.Clone(all)
	for _, s := range all[from:] {
		s.epoch++
		out = append(out, s)
	}
	return out
}

// TestBrokenStreams: what a broken relay would do is found, from headers alone and by the source, and what is allowed is not
// taken for a fault.
func TestBrokenStreams(t *testing.T) {
	all := stream()
	swap := slices.Clone(all)
	swap[13], swap[16] = swap[16], swap[13] // transactions of partition 1
	within := slices.Clone(all)
	within[12], within[14] = within[14], within[12] // rows of one transaction
	twice := slices.Insert(slices.Clone(all), 15, all[14])
	other := slices.Clone(again(all, 15))
	other[len(other)-2].note = "x"
	skips := again(all, 15)
	skips = slices.Delete(skips, len(skips)-4, len(skips)-3)
	stale := append(again(all, 15), all[29])
	unknown := append(slices.Clone(all), sent{0, 99, 0, 1, 1, ""})
	for _, c := range []struct {
		name   string
		sent   []sent
		header []Kind // found by headers alone
		source []Kind // and with the source
	}{
		{"undisturbed", all, nil, nil},
		{"first record of a transaction dropped", slices.Delete(slices.Clone(all), 12, 13), []Kind{Gap}, []Kind{Gap, Gap}},
		{"last record of a transaction dropped", slices.Delete(slices.Clone(all), 14, 15), nil, []Kind{Gap}},
		{"record of the other partition dropped", slices.Delete(slices.Clone(all), 13, 14), []Kind{Gap}, []Kind{Gap, Gap}},
		{"the very last record dropped", all[:29], nil, nil}, // not sent yet: Behind
		{"a partition's last record dropped", slices.Delete(slices.Clone(all), 28, 29), []Kind{Gap}, []Kind{Gap, Gap}},
		{"a record repeated", twice, []Kind{Inside}, []Kind{Inside}},
		{"two transactions swapped", swap, []Kind{Order}, []Kind{Gap, Order}},
		{"two records of a transaction swapped", within, []Kind{Order}, nil},
		{"all repeated from a transaction's begin", again(all, 15), []Kind{Repeat, Repeat}, []Kind{Repeat, Repeat}},
		{"all repeated from within a transaction", again(all, 17), []Kind{Inside, Repeat}, []Kind{Inside, Repeat}},
		{"a repeat with another content", other, []Kind{Content, Repeat, Repeat}, []Kind{Content, Repeat, Repeat}},
		{"a repeat that leaves out a record", skips, []Kind{Order, Repeat, Repeat}, nil},
		{"an old owner writes late", stale, []Kind{Inside, Repeat, Repeat, Stale}, nil},
		{"a change that never was", unknown, nil, []Kind{Extra}},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(want []Kind, r *Report) {
				t.Helper()
				var got []Kind
				for k, n := range r.Counts {
					got = append(got, slices.Repeat([]Kind{k}, int(n))...)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("found %v, want %v: %+v", got, want, r.Findings)
				}
			}
			check(c.header, audited(t, c.sent, Options{}))
			if c.source == nil && c.header != nil {
				return
			}
			r := audited(t, c.sent, Options{Source: source(all), Whole: true})
			check(c.source, r)
			if wanted := uint64(0); c.name == "the very last record dropped" && r.Behind != 1 || c.name != "the very last record dropped" && r.Behind != wanted {
				t.Errorf("behind by %d", r.Behind)
			}
		})
	}
}

func TestOnceRefusesRepeats(t *testing.T) {
	r := audited(t, again(stream(), 15), Options{})
	if r.Faults(false) != 0 || r.Faults(true) != 2 || r.Repeats != 15 {
		t.Errorf("faults %d, %d if nothing may be repeated; %d repeats", r.Faults(false), r.Faults(true), r.Repeats)
	}
}

// TestSourceBeginsEarlier: what the source has before the first change of the topic is passed over; a source that begins later is
// an error.
func TestSourceBeginsEarlier(t *testing.T) {
	all := stream()
	if r := audited(t, all[9:], Options{Source: source(all)}); r.Faults(false) != 0 || r.Behind != 0 {
		t.Errorf("%+v", r)
	}
	if r := audited(t, all[10:], Options{Source: source(all)}); r.Counts[Gap] != 2 {
		t.Errorf("the first record of the first transaction is not missed: %+v", r)
	}
	_, err := tryAudit(t, all, Options{Source: source(all[9:])})
	if err == nil || !strings.Contains(err.Error(), "--source-from") {
		t.Errorf("error %v", err)
	}
	failing := errors.New("gone")
	if _, err = tryAudit(t, all, Options{Source: func(context.Context) (Change, error) { return Change{}, failing }}); !errors.Is(err, failing) {
		t.Errorf("error %v", err)
	}
}

// TestPartOfTopics: a transaction that is cut by where reading begins is not judged.
func TestPartOfTopics(t *testing.T) {
	all := stream()
	// Partition 0 begins within transaction 3.
	r := audited(t, all, Options{Topics: topicreader.Config{From: topicreader.Bound{Offset: 5}}})
	if r.Faults(false) != 0 || r.Unjudged == 0 {
		t.Errorf("%+v", r)
	}
}

func TestShownToPeople(t *testing.T) {
	var b strings.Builder
	r := audited(t, slices.Delete(again(stream(), 15), 12, 13), Options{})
	if err := r.Print(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"44 records with 88 rows, 1 topic, 2 partitions\n", "gap     REFUTED: 1 gap\n", "repeat  allowed: 2 repeats, each from where a transaction begins; 15 records are there again\n",
		"order   right\n", "gap     t, partition 0, offset ", "the transaction has 4 rows up to number 5: 2 are missing",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

func TestGTIDHoles(t *testing.T) {
	all := stream()
	r := audited(t, slices.Delete(slices.Clone(all), 12, 18), Options{})
	if r.Faults(false) != 0 || r.Holes != 2 || r.gap() == "" || !strings.Contains(r.gap(), uuid+": 5-6") || !strings.Contains(r.gap(), "--source") {
		t.Errorf("%d holes: %s", r.Holes, r.gap())
	}
}

func TestOrderOf(t *testing.T) {
	for tx, want := range map[string]order{
		uuid + ":7":                 {uuid, 7, false},
		uuid + ":tag:7":             {uuid + ":tag", 7, false},
		"1-11-9":                    {"1", 9, false},
		"binlog.000002:157@" + uuid: {"@" + uuid, 2<<44 | 157, true},
		"binlog.000002:5000000000@": {"@", 2<<44 | 5000000000, true},
		"something else":            {},
	} {
		if got := orderOf(tx); got != want {
			t.Errorf("%s: %+v, want %+v", tx, got, want)
		}
	}
}
