package metrics

import (
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The series of Canal's own exporter: names, types, labels and help texts are
// those of its page, since dashboards and alerts are built on them.
var (
	canalInstance      = desc("canal_instance", "Canal instance", "mode")
	canalSubscriptions = desc("canal_instance_subscriptions", "Canal instance subscriptions")
	canalReceived      = desc("canal_instance_received_binlog_bytes", "Received binlog bytes", "parser")
	canalParserMode    = desc("canal_instance_parser_mode", "Parser mode(parallel/serial) of instance", "parallel")
	canalPublishBlock  = desc("canal_instance_publish_blocking_time", "Publish blocking time of dump thread in milliseconds", "parser")
	canalSinkBlock     = desc("canal_instance_sink_blocking_time", "Total sink blocking time in milliseconds")
	canalTrafficDelay  = desc("canal_instance_traffic_delay", "Traffic delay of canal instance in milliseconds")
	canalTransactions  = desc("canal_instance_transactions", "Transactions counter of canal instance")
	canalProduceSeq    = desc("canal_instance_store_produce_seq", "Produced events counter of canal instance")
	canalConsumeSeq    = desc("canal_instance_store_consume_seq", "Consumed events counter of canal instance")
	canalStore         = desc("canal_instance_store", "Canal instance info", "batchMode", "size")
	canalProduceMem    = desc("canal_instance_store_produce_mem", "Produced mem bytes of canal instance")
	canalConsumeMem    = desc("canal_instance_store_consume_mem", "Consumed mem bytes of canal instance")
	canalPutDelay      = desc("canal_instance_put_delay", "Traffic delay of canal instance put")
	canalGetDelay      = desc("canal_instance_get_delay", "Traffic delay of canal instance get")
	canalAckDelay      = desc("canal_instance_ack_delay", "Traffic delay of canal instance ack")
	canalPutRows       = desc("canal_instance_put_rows", "Put table rows of canal instance")
	canalGetRows       = desc("canal_instance_get_rows", "Got table rows of canal instance")
	canalAckRows       = desc("canal_instance_ack_rows", "Acked table rows of canal instance")
)

// Our own series.
var (
	relayBuild    = prometheus.NewDesc("canal_relay_build_info", "Version of the program, always 1", []string{"version", "go"}, nil)
	relayState    = desc("canal_relay_state", "1 for the state that the destination has on this node", "state")
	relayFailure  = desc("canal_relay_failure", "1 while the destination is failed on this node, with the reason", "reason")
	relayRefused  = desc("canal_relay_configuration_refused", "1 while the newest configuration of the destination is not in force, 0 otherwise")
	relayRestart  = desc("canal_relay_restart_needed", "Changed keys of canal.properties that take a restart of the node")
	relayTerms    = desc("canal_relay_terms_total", "Terms begun on this node")
	relayUnusual  = desc("canal_relay_unusual_total", "Things that happened and should be known of", "what")
	relayLag      = desc("canal_relay_lag_seconds", "Age of the oldest change read and not acknowledged by Kafka, 0 when there is none")
	relayInFlight = desc("canal_relay_in_flight_bytes", "Bytes of binlog read and not acknowledged by Kafka")
	relayRead     = desc("canal_relay_last_read_timestamp_seconds", "When this node last read from the source")
	relayAcked    = desc("canal_relay_last_acked_timestamp_seconds", "When Kafka last acknowledged a batch")
	relaySaved    = desc("canal_relay_last_saved_timestamp_seconds", "When the position was last stored")
	relayXA       = desc("canal_relay_xa_prepared", "XA transactions that are prepared on the source and neither committed nor rolled back")
	relayXAAge    = desc("canal_relay_xa_prepared_age_seconds", "Age of the oldest of them, 0 when there is none")
	relayKept     = desc("canal_relay_position_kept_seconds", "For how long the source still keeps the stored position at the least; absent where it is kept for ever or that is not known")
	relayPosition = desc("canal_relay_position_timestamp_seconds", "Time of the change at which the stored position stands")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"destination"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		canalInstance, canalSubscriptions, canalReceived, canalParserMode, canalPublishBlock, canalSinkBlock,
		canalTrafficDelay, canalTransactions, canalProduceSeq, canalConsumeSeq, canalStore, canalProduceMem,
		canalConsumeMem, canalPutDelay, canalGetDelay, canalAckDelay, canalPutRows, canalGetRows, canalAckRows,
		relayBuild, relayState, relayFailure, relayRefused, relayRestart, relayTerms, relayUnusual, relayLag, relayInFlight,
		relayRead, relayAcked, relaySaved, relayPosition, relayKept, relayXA, relayXAAge,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	list, states := m.known()
	ch <- prometheus.MustNewConstMetric(relayBuild, prometheus.GaugeValue, 1, m.Version, runtime.Version())
	for _, d := range list {
		s := sample{ch, d.name}
		d.collect(s)
		if t := d.now(); t != nil {
			t.collect(s, time.Now())
		}
	}
	for _, st := range states {
		s := sample{ch, st.Destination}
		for _, state := range States {
			s.gauge(relayState, one(st.State == state), string(state))
		}
		if st.State == Failed {
			s.gauge(relayFailure, 1, st.Reason)
		}
		if !st.KeptUntil.IsZero() {
			s.gauge(relayKept, max(0, time.Until(st.KeptUntil).Seconds()))
		}
		s.gauge(relayRefused, one(st.Refused != ""))
		s.gauge(relayRestart, float64(len(st.Restart)))
	}
}

// sample sends values of one destination.
type sample struct {
	ch   chan<- prometheus.Metric
	name string
}

func (s sample) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.GaugeValue, v, labels)
}

func (s sample) counter(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.CounterValue, v, labels)
}

func (s sample) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	labels = append([]string{s.name}, labels...)
	for i := range labels { // a reason, or the directory of a destination, may be anything
		labels[i] = strings.ToValidUTF8(labels[i], "\ufffd")
	}
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	s.ch <- m
}

// collect sends what outlives a term.
func (d *Destination) collect(s sample) {
	s.counter(relayTerms, float64(d.terms.Load()))
	s.clock(relayRead, d.lastRead.Load())
	s.clock(relayAcked, d.lastAck.Load())
	s.clock(relaySaved, d.lastSave.Load())
	s.gauge(relayLag, d.Lag().Seconds())
	d.mu.Lock()
	saved, unusual := d.savedAt, maps.Clone(d.unusual)
	d.mu.Unlock()
	if !saved.IsZero() {
		s.gauge(relayPosition, float64(saved.UnixNano())/1e9)
	}
	for _, what := range slices.Sorted(maps.Keys(unusual)) {
		s.counter(relayUnusual, float64(unusual[what]), what)
	}
}

// clock sends a wall clock time in seconds, nothing while it never happened.
func (s sample) clock(d *prometheus.Desc, ns int64) {
	if ns != 0 {
		s.gauge(d, float64(ns)/1e9)
	}
}

// collect sends Canal's series.
func (t *term) collect(s sample, now time.Time) {
	blocked := float64(t.blocked.Load()) / 1e6
	s.gauge(canalInstance, 1, "spring")
	s.gauge(canalSubscriptions, 1)
	s.gauge(canalParserMode, 1, "true")
	s.gauge(canalStore, 1, "MEMSIZE", strconv.FormatInt(t.memory/1024, 10)) // in Canal's units of 1 KiB
	s.counter(canalReceived, float64(t.received.Load()), "0")
	// One goroutine reads and queues: when the budget is full, both what Canal
	// calls dump and what it calls sink are blocked.
	s.counter(canalPublishBlock, blocked, "0")
	s.counter(canalSinkBlock, blocked)
	s.counter(canalTransactions, float64(t.transactions.Load()))
	// A batch may be acknowledged before the relay has noted that it was put.
	ackedChanges, ackedBytes := t.acked.changes.Load(), t.acked.bytes.Load()
	putChanges, putBytes := max(ackedChanges, t.put.changes.Load()), max(ackedBytes, t.put.bytes.Load())
	s.counter(canalConsumeSeq, float64(ackedChanges))
	s.counter(canalConsumeMem, float64(ackedBytes))
	s.counter(canalProduceSeq, float64(putChanges))
	s.counter(canalProduceMem, float64(putBytes))
	s.gauge(relayInFlight, float64(putBytes-ackedBytes))
	age, waiting := 0.0, t.prepared.Load()
	if waiting > 0 {
		age = float64(max(0, now.Unix()-t.preparedAt.Load()))
	}
	s.gauge(relayXA, float64(waiting))
	s.gauge(relayXAAge, age)
	s.counter(canalAckRows, float64(t.acked.rows.Load()))
	s.counter(canalGetRows, float64(t.got.Load()))
	s.counter(canalPutRows, float64(t.put.rows.Load()))
	t.collectDelays(s, now)
}

// collectDelays sends milliseconds between now and the event that a step has
// come to: the first one that it has not done, else what the step before has
// come to. Where nothing is left to do that is the moment at which the source
// last said that it has nothing newer, so that an idle destination shows no
// growing delay. (Canal shows the last event done, and there only the traffic
// delay stays low.)
func (t *term) collectDelays(s sample, now time.Time) {
	for i, d := range t.delays(now) {
		s.gauge([]*prometheus.Desc{canalTrafficDelay, canalPutDelay, canalGetDelay, canalAckDelay}[i], float64(max(0, d/1e6)))
	}
}

// delays are those of traffic, put, get and ack, in nanoseconds at a time of the
// wall clock. What happened here is counted on the monotonic clock: a wall clock
// that is set back must not hide that nothing was heard since.
func (t *term) delays(now time.Time) [4]int64 {
	t.mu.Lock()
	ungot, unacked := t.window.oldest(t.window.got), t.window.oldest(t.window.acked)
	t.mu.Unlock()
	// What happened before the source said that nothing is newer was read
	// before, so the later of the two times counts.
	begun, alive := now.UnixNano()-int64(time.Since(t.begun)), t.alive.Load()
	if alive > 0 {
		alive += begun
	}
	traffic, put := max(t.last.Load(), alive), max(t.first.Load(), alive)
	if put == 0 {
		traffic, put = begun, begun // nothing is known yet
	}
	got := earlier(ungot, put)
	acked := earlier(unacked, got)
	at := now.UnixNano()
	return [4]int64{at - traffic, at - put, at - got, at - acked}
}

// earlier is at, unless it is unset or later than before.
func earlier(at, before int64) int64 {
	if at == 0 {
		return before
	}
	return min(at, before)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
