package audit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
)

// maxNamed is how many findings of a kind are told in words.
const maxNamed = 20

// Kind is what an audit finds.
type Kind string

// The kinds of findings. All but Repeat are faults, and that one is where
// nothing may be repeated.
const (
	Gap     Kind = "gap"     // something is missing
	Order   Kind = "order"   // something stands before what comes earlier
	Repeat  Kind = "repeat"  // a repeat that begins where a transaction begins
	Inside  Kind = "inside"  // a repeat that begins within a transaction
	Extra   Kind = "extra"   // something that should not be there
	Content Kind = "content" // the content is another one than it should be
	Stale   Kind = "stale"   // an earlier owner wrote after a later one
	Key     Kind = "key"     // a row does not follow from what was before it
)

// Finding is one place that is not as in an undisturbed stream.
type Finding struct {
	Kind      Kind   `json:"kind"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"` // of the record where it was noticed; -1 at the end
	Tx        string `json:"tx,omitempty"`
	Row       uint64 `json:"row"`
	Text      string `json:"text"`
}

// Report is the outcome of an audit.
type Report struct {
	Topics     int    `json:"topics"`
	Partitions int    `json:"partitions"`
	Records    uint64 `json:"records"`
	Rows       uint64 `json:"rows"`
	Heartbeats uint64 `json:"heartbeats,omitempty"` // passed over
	Foreign    uint64 `json:"foreign,omitempty"`    // records of other destinations
	Bare       uint64 `json:"bare,omitempty"`       // records without headers
	Changes    uint64 `json:"changes"`              // rows that were there for the first time
	Repeats    uint64 `json:"repeats"`              // records that were there before
	Forgotten  uint64 `json:"forgotten,omitempty"`  // of the repeats: too old to be remembered, and so not compared
	Unjudged   uint64 `json:"unjudged,omitempty"`   // transactions at the edges of what was read

	Compared bool              `json:"compared"`                 // with the source
	LeftOut  []LeftOut         `json:"skippedByOrder,omitempty"` // what operators ordered to leave out; the caller adds it
	KeyOnly  uint64            `json:"keyOnly,omitempty"`        // records that show a key in place of a row that was too large
	Letters  uint64            `json:"deadLetters,omitempty"`    // dead letters that were read
	Unread   map[string]uint64 `json:"topicsNotRead,omitempty"`  // records that the source has for topics that were not read
	Behind   uint64            `json:"behind,omitempty"`         // records that the source has behind the last one of the topics

	Holes          uint64   `json:"gtidHoles"` // GTIDs between the first and the last that no record has
	Missing        []string `json:"gtidsMissing,omitempty"`
	NumbersUnknown bool     `json:"gtidsUnknown,omitempty"` // not all transactions have one, or too many holes

	Counts   map[Kind]uint64 `json:"counts"`
	Findings []Finding       `json:"findings,omitempty"` // the first of each kind
}

// LeftOut is something that an operator ordered to leave out, and that is no gap.
type LeftOut struct {
	At     string `json:"at"` // as the order named it
	Reason string `json:"reason,omitempty"`
}

func newReport(ranges []topicreader.Range) *Report {
	topics := map[string]bool{}
	for _, r := range ranges {
		topics[r.Topic] = true
	}
	return &Report{Topics: len(topics), Partitions: len(ranges), Counts: make(map[Kind]uint64), Unread: make(map[string]uint64)}
}

func (r *Report) add(k Kind, l *lane, offset int64, c *Change, text string, args ...any) {
	r.Counts[k]++
	if r.Counts[k] <= maxNamed {
		r.Findings = append(r.Findings, Finding{k, l.topic, l.partition, offset, c.Tx, c.Row, fmt.Sprintf(text, args...)})
	}
}

func (r *Report) lost(l *lane, offset int64, c *Change) {
	r.add(Gap, l, offset, c, "the source has it, the topic does not")
}

// Faults counts what breaks a promise. once says that nothing may be repeated.
func (r *Report) Faults(once bool) uint64 {
	var n uint64
	for k, count := range r.Counts {
		if k != Repeat || once {
			n += count
		}
	}
	return n
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer, once bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s, %s, %s\n", quantity(int(r.Records), "record"), quantity(int(r.Rows), "row"), quantity(r.Topics, "topic"), quantity(r.Partitions, "partition"))
	if r.Foreign > 0 {
		fmt.Fprintf(&b, "%s records of other destinations were passed over\n", many(r.Foreign))
	}
	fmt.Fprintf(&b, "gap     %s\n", r.gap())
	fmt.Fprintf(&b, "repeat  %s\n", r.repeat(once))
	fmt.Fprintf(&b, "order   %s\n", r.order())
	if r.KeyOnly+r.Letters > 0 {
		fmt.Fprintf(&b, "too large  %s by the key alone, %s: their content is not compared\n", quantity(int(r.KeyOnly), "row"), quantity(int(r.Letters), "dead letter"))
	}
	for _, o := range r.LeftOut {
		fmt.Fprintf(&b, "skipped by order  %s %s\n", o.At, o.Reason)
	}
	for _, topic := range slices.Sorted(maps.Keys(r.Unread)) {
		fmt.Fprintf(&b, "not read  %s of the source for topic %s: name it with --topic\n", quantity(int(r.Unread[topic]), "record"), topic)
	}
	for _, f := range r.Findings {
		where := fmt.Sprintf("%s, partition %d, offset %d", f.Topic, f.Partition, f.Offset)
		if f.Offset < 0 {
			where = fmt.Sprintf("%s, partition %d, at the end", f.Topic, f.Partition)
		}
		what := ""
		if f.Tx != "" {
			what = fmt.Sprintf(" (%s row %d)", f.Tx, f.Row)
		}
		fmt.Fprintf(&b, "  %-7s %s%s: %s\n", f.Kind, where, what, f.Text)
	}
	for _, k := range []Kind{Gap, Order, Repeat, Inside, Extra, Content, Stale, Key} {
		if n := r.Counts[k]; n > maxNamed {
			fmt.Fprintf(&b, "  %-7s and %s more\n", k, many(n-maxNamed))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gap says what is known of losses.
func (r *Report) gap() string {
	if n := r.Counts[Gap]; n > 0 {
		return fmt.Sprintf("REFUTED: %s", quantity(int(n), "gap"))
	}
	if n := r.Counts[Key]; n > 0 {
		return fmt.Sprintf("REFUTED: %s that do not follow from what was before them", quantity(int(n), "row"))
	}
	var notes []string
	if r.Unjudged > 0 {
		notes = append(notes, fmt.Sprintf("%s at the edges not judged", quantity(int(r.Unjudged), "transaction")))
	}
	if r.Behind > 0 {
		notes = append(notes, fmt.Sprintf("the source has %s more, not sent yet or lost at the end", quantity(int(r.Behind), "record")))
	}
	verdict := ""
	switch {
	case r.Records == 0:
		verdict = "there is nothing to judge"
	case r.Rows == 0 && !r.Compared:
		verdict = "cannot be told from protobuf records"
	case r.Bare == r.Records-r.Foreign:
		verdict = "none as far as the rows' keys tell; more cannot be told without headers"
	case r.Compared:
		verdict = "none: every change of the source is there"
	case !r.NumbersUnknown && r.Holes == 0:
		verdict = "none: no row is missing in a transaction, and no GTID between the first and the last"
	case !r.NumbersUnknown:
		verdict = fmt.Sprintf("none within transactions; %s in the topics (%s): whether they hold changes for this destination cannot be told without --source",
			quantity(int(r.Holes), "GTID")+" are not", strings.Join(r.Missing, ", "))
	default:
		verdict = "none within transactions; whether whole ones are missing cannot be told from headers without --source"
	}
	return strings.Join(append([]string{verdict}, notes...), "; ")
}

func (r *Report) repeat(once bool) string {
	switch steps, inside := r.Counts[Repeat], r.Counts[Inside]; {
	case inside > 0:
		return fmt.Sprintf("REFUTED: %s begin within a transaction, %d where one begins; %s records are there again", quantity(int(inside), "repeat"), steps, many(r.Repeats))
	case r.Repeats == 0:
		return "none"
	case once:
		return fmt.Sprintf("REFUTED: %s, %s records are there again", quantity(int(steps), "repeat"), many(r.Repeats))
	default:
		verdict := fmt.Sprintf("allowed: %s, each from where a transaction begins; %s records are there again", quantity(int(steps), "repeat"), many(r.Repeats))
		if r.Forgotten > 0 {
			verdict += fmt.Sprintf("; %s of them are too old to be remembered, and were not compared", many(r.Forgotten))
		}
		return verdict
	}
}

func (r *Report) order() string {
	n := r.Counts[Order] + r.Counts[Extra] + r.Counts[Content] + r.Counts[Stale]
	if n == 0 {
		return "right"
	}
	return fmt.Sprintf("REFUTED: %d out of order, %d that should not be there, %d with another content, %d by an owner that was replaced",
		r.Counts[Order], r.Counts[Extra], r.Counts[Content], r.Counts[Stale])
}

func quantity(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return many(uint64(n)) + " " + word + "s"
}

// many writes a number with commas between thousands.
func many(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
