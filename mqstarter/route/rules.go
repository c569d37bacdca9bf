package route

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/canal-relay/canal-relay/relay/pattern"
)

// expression is the part of a rule that is held against a name: the name
// itself, ignoring case, or a pattern.
type expression struct {
	item    string // the whole rule as written, for people
	literal string
	pattern *pattern.Pattern // nil for a literal
}

func parseExpression(item, text string) (expression, error) {
	if !pattern.IsPattern(text) {
		return expression{item: item, literal: text}, nil
	}
	p, err := pattern.Compile(text)
	return expression{item: item, pattern: p}, err
}

func (e *expression) matches(name string) (bool, error) {
	if e.pattern == nil {
		return equalFold(e.literal, name), nil
	}
	return e.pattern.Match(name)
}

// equalFold compares as Java's equalsIgnoreCase: letters are equal that are so in
// upper case, or then in lower case. Unlike strings.EqualFold it takes the
// Turkish ı and İ for an i.
func equalFold(a, b string) bool {
	return slices.EqualFunc([]rune(a), []rune(b), func(x, y rune) bool {
		x, y = unicode.ToUpper(x), unicode.ToUpper(y)
		return x == y || unicode.ToLower(x) == unicode.ToLower(y)
	})
}

// trim is Java's: everything up to U+0020 goes, other blanks stay.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// topicRule is one item of dynamicTopic: [topic:]expression.
type topicRule struct {
	expression
	named   bool
	topic   string
	byTable bool // a pattern with \. is held against schema.table, another against the schema
	empty   bool // takes nothing
}

func parseTopicRule(item string) (rule topicRule, err error) {
	text := item
	if topic, rest, ok := strings.Cut(item, ":"); ok {
		rule.named, rule.topic = true, trim(topic)
		text = trim(rest)
		if rule.topic == "" {
			return rule, errors.New("there is no topic before the colon")
		}
	}
	rule.empty = text == ""
	rule.byTable = strings.Contains(text, `\.`)
	rule.expression, err = parseExpression(item, text)
	return rule, err
}

func (r *topicRule) matches(name string) (bool, error) {
	if r.empty || r.pattern != nil && r.byTable != strings.Contains(name, ".") {
		return false, nil
	}
	return r.expression.matches(name)
}

// hashRule is one item of partitionHash: expression[:columns].
type hashRule struct {
	expression
	byTable    bool // no columns: the hash of the table's name decides
	primaryKey bool
	columns    []string
}

func parseHashRule(item string) (rule hashRule, err error) {
	text, columns, ok := cutLast(item)
	switch {
	case !ok:
		rule.byTable = true
	case strings.EqualFold(columns, "$pk$"):
		rule.primaryKey = true
	default:
		for column := range strings.SplitSeq(columns, "^") {
			if column != "" {
				rule.columns = append(rule.columns, column)
			}
		}
	}
	rule.expression, err = parseExpression(item, text)
	return rule, err
}

// keyRules reads RecordKey.
func keyRules(text string) ([]hashRule, error) {
	const key = "canal.relay.record.key"
	if strings.EqualFold(strings.TrimSpace(text), "pk") {
		text = `.*\..*:$pk$`
	}
	all, err := rules(key, text, parseHashRule)
	for i := range all {
		if err == nil && !all[i].primaryKey && len(all[i].columns) == 0 {
			err = fmt.Errorf("%s: rule %q: there are no columns behind the table: write schema.table:col1^col2 or schema.table:$pk$, or pk for every table", key, all[i].item)
		}
	}
	return all, err
}

// countRule is one item of dynamicTopicPartitionNum: expression:number.
type countRule struct {
	expression
	skip       bool  // without a colon: is never asked
	partitions int32 // 0 when the number is none
}

func parseCountRule(item string) (rule countRule, err error) {
	text, number, ok := cutLast(item)
	if !ok {
		return countRule{skip: true}, nil
	}
	if number != "" && strings.Trim(number, "0123456789") == "" {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n == 0 {
			return rule, fmt.Errorf("%s is not a number of partitions, set 1 or more", number)
		}
		rule.partitions = int32(n)
	}
	rule.expression, err = parseExpression(item, text)
	return rule, err
}

func (r *countRule) matches(topic string) (bool, error) {
	if r.skip {
		return false, nil
	}
	return r.expression.matches(topic)
}

// cutLast splits an item at its last colon, unless that comes first.
func cutLast(item string) (before, after string, ok bool) {
	i := strings.LastIndexByte(item, ':')
	if i <= 0 {
		return item, "", false
	}
	return item[:i], item[i+1:], true
}

// rules reads a list as Canal splits it: at every comma and semicolon, without
// trimming. It does not know brackets, so that a comma inside of them, as in
// \d{1,2}, cannot be written: that is refused.
func rules[T any](key, list string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for item := range strings.SplitSeq(strings.ReplaceAll(list, ",", ";"), ";") {
		if item == "" {
			continue
		}
		if open := strings.LastIndexAny(item, "{}"); open >= 0 && item[open] == '{' && !strings.HasSuffix(item[:open], `\`) {
			return nil, fmt.Errorf("%s: rule %q: the list is split at every comma, also inside {}: write the alternatives out", key, item)
		}
		rule, err := parse(item)
		if err != nil {
			return nil, fmt.Errorf("%s: rule %q: %w", key, item, err)
		}
		all = append(all, rule)
	}
	return all, nil
}
