package route

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Config is the routing of one destination: Canal's settings below canal.mq.
type Config struct {
	Topic        string // topic: where changes go that no rule of DynamicTopic takes
	DynamicTopic string // dynamicTopic: rules; empty sends everything to Topic

	Partition                int32  // partition: of everything, while PartitionHash is empty
	PartitionsNum            *int32 // partitionsNum: over how many a rule of PartitionHash spreads; nil is 1
	PartitionHash            string // partitionHash: rules; empty sends everything to Partition
	DynamicTopicPartitionNum string // dynamicTopicPartitionNum: rules that outdo PartitionsNum by topic
	DatabaseHash             bool   // database.hash: the schema name takes part in the hash of a row

	// FromTopic leaves it to the topic how many partitions there are: PartitionsNum
	// and DynamicTopicPartitionNum do not count.
	FromTopic bool
	// RecordKey says what the key of a record is: pk, the primary key of its table,
	// or rules as those of PartitionHash, each with columns. Empty: records have none.
	RecordKey string
}

// DefaultConfig sends everything to partition 0 of a topic that is still to be
// named.
func DefaultConfig() Config { return Config{DatabaseHash: true} }

// Router answers by the settings it was made from. It is safe for concurrent
// use. Answers are computed anew each time: ask once per table version.
type Router struct {
	config Config
	topics []topicRule
	hashes []hashRule
	counts []countRule
	keys   []hashRule
	err    atomic.Pointer[error]
}

// New compiles c. What can never work (a malformed pattern, a count that is not
// positive, a topic without a name) is an error that names the key and the rule.
func New(c Config) (*Router, error) {
	if c.Partition < 0 {
		return nil, fmt.Errorf("canal.mq.partition: %d is not a partition, they count from 0", c.Partition)
	}
	if c.PartitionsNum != nil && *c.PartitionsNum <= 0 {
		return nil, fmt.Errorf("canal.mq.partitionsNum: %d partitions are none to choose from, set 1 or more", *c.PartitionsNum)
	}
	r := &Router{config: c}
	var err error
	if r.topics, err = rules("canal.mq.dynamicTopic", c.DynamicTopic, parseTopicRule); err != nil {
		return nil, err
	}
	if r.hashes, err = rules("canal.mq.partitionHash", c.PartitionHash, parseHashRule); err != nil {
		return nil, err
	}
	if r.counts, err = rules("canal.mq.dynamicTopicPartitionNum", c.DynamicTopicPartitionNum, parseCountRule); err != nil {
		return nil, err
	}
	if r.keys, err = keyRules(c.RecordKey); err != nil {
		return nil, err
	}
	if c.Topic == "" && !r.dynamic() {
		return nil, errors.New("canal.mq.topic: is empty and canal.mq.dynamicTopic has no rules, name a topic")
	}
	return r, nil
}

// dynamic reports whether topics are chosen by rules. Canal looks at whether
// the setting is blank, not at whether it holds a rule.
func (r *Router) dynamic() bool { return strings.TrimSpace(r.config.DynamicTopic) != "" }

// hashed reports whether partitions are chosen by rules.
func (r *Router) hashed() bool { return strings.TrimSpace(r.config.PartitionHash) != "" }

// Topic returns the topic of a change that announces schema and table, either of
// which may be empty. With dynamicTopic set, dots in its name become underscores,
// in the default topic's too. It is empty if no rule takes the change and there
// is no default topic.
func (r *Router) Topic(schema, table string) string {
	if !r.dynamic() {
		return r.config.Topic
	}
	topic, _ := r.dotted(schema, table)
	return strings.ReplaceAll(topic, ".", "_")
}

// dotted returns the topic before its dots are replaced, and the rule that took
// the change, nil if none did: a rule that takes schema.table is before one that
// takes the schema, wherever they stand.
func (r *Router) dotted(schema, table string) (string, *topicRule) {
	if schema == "" || table == "" {
		return r.config.Topic, nil
	}
	for _, name := range [...]string{schema + "." + table, schema} {
		for i := range r.topics {
			if rule := &r.topics[i]; r.ask(rule.matches(name)) {
				if rule.named {
					return rule.topic, rule
				}
				return strings.ToLower(name), rule
			}
		}
	}
	return r.config.Topic, nil
}

// Rule says to which partitions of its topic the rows of a table go.
type Rule struct {
	// Hashed says that the rows are spread by a hash of columns, and that a row
	// without any of these columns still takes Seed alone. Otherwise all of them
	// go to Partition.
	Hashed    bool
	Partition int32

	Seed       int32    // where the hash of a row begins
	PrimaryKey bool     // hash the primary key's columns, those that the image has
	Columns    []string // else these, by exact name; those that the image lacks hash as empty texts
	Partitions int32    // how many there are to choose from
}

// Rule returns how the rows of a table are spread over topic, which is what
// Topic returned for it, and which has so many partitions if FromTopic. The hash of a row is Seed XOR the Hash of the text of
// each column, an empty text for NULL; its partition is Partition(hash,
// Partitions).
func (r *Router) Rule(topic, schema, table string, partitions int32) Rule {
	if !r.hashed() {
		return Rule{Partition: r.config.Partition}
	}
	h := r.hashRule(schema + "." + table)
	if h == nil {
		return Rule{}
	}
	n := partitions
	if !r.config.FromTopic {
		n = r.count(topic)
	}
	if h.byTable {
		return Rule{Partition: Partition(Hash(table), n)}
	}
	rule := Rule{Hashed: true, PrimaryKey: h.primaryKey, Columns: h.columns, Partitions: n}
	if r.config.DatabaseHash {
		rule.Seed = Hash(schema)
	}
	return rule
}

// Statement returns the partition of what has no rows: DDL, statements, row
// events that lost all their columns.
func (r *Router) Statement() int32 {
	if r.hashed() {
		return 0
	}
	return r.config.Partition
}

// Partitions returns how many partitions a topic must have for all that may be
// sent to it.
func (r *Router) Partitions(topic string) int32 {
	if r.hashed() && r.config.FromTopic {
		return 1
	}
	if r.hashed() {
		return r.count(topic)
	}
	return r.config.Partition + 1
}

// FromTopic reports whether a topic says itself how many partitions rows are
// spread over, so that Rule has to be told.
func (r *Router) FromTopic() bool { return r.config.FromTopic && r.hashed() }

// HashItem is the rule of partitionHash that takes a table, as it was written;
// empty if none does.
func (r *Router) HashItem(schema, table string) string {
	if h := r.hashRule(schema + "." + table); h != nil {
		return h.item
	}
	return ""
}

// Key is what the key of a table's records is made of.
type Key struct {
	PrimaryKey bool     // the primary key's columns
	Columns    []string // else these, in any case
}

// Key returns it; ok is false for a table whose records have no key.
func (r *Router) Key(schema, table string) (k Key, ok bool) {
	for i := range r.keys {
		if h := &r.keys[i]; r.ask(h.matches(schema + "." + table)) {
			return Key{h.primaryKey, h.columns}, true
		}
	}
	return Key{}, false
}

func (r *Router) hashRule(name string) *hashRule {
	for i := range r.hashes {
		if r.ask(r.hashes[i].matches(name)) {
			return &r.hashes[i]
		}
	}
	return nil
}

// count returns the number of partitions that rows of a topic are spread over.
func (r *Router) count(topic string) int32 {
	n, _ := r.counted(topic)
	return n
}

// counted returns it with the rule that says so, nil if it is not a rule.
func (r *Router) counted(topic string) (int32, *countRule) {
	for i := range r.counts {
		if !r.ask(r.counts[i].matches(topic)) {
			continue
		}
		if n := r.counts[i].partitions; n > 0 {
			return n, &r.counts[i]
		}
		break // its number cannot be used, and later rules are not asked
	}
	if r.config.PartitionsNum != nil {
		return *r.config.PartitionsNum, nil
	}
	return 1, nil
}

func (r *Router) ask(ok bool, err error) bool {
	if err != nil {
		err = fmt.Errorf("route: %w", err)
		r.err.CompareAndSwap(nil, &err)
	}
	return ok
}

// Err returns why an answer cannot be trusted: a pattern ran into its time
// limit. Nothing must be sent by such an answer; the term should end with it.
func (r *Router) Err() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Fingerprint identifies the settings, so that a stored position tells whether
// what was sent before it was routed by the same.
func (r *Router) Fingerprint() string {
	h := sha256.New()
	c := &r.config
	var n int32 = 1
	if c.PartitionsNum != nil {
		n = *c.PartitionsNum
	}
	fmt.Fprintf(h, "route 1\n%q\n%q\n%d\n%d\n%q\n%q\n%t\n",
		c.Topic, c.DynamicTopic, c.Partition, n, c.PartitionHash, c.DynamicTopicPartitionNum, c.DatabaseHash)
	if r.FromTopic() {
		fmt.Fprintln(h, "partitions from the topic")
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
