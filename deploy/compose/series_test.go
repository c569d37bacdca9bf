package compose

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/metrics"
)

// series maps the name of a series to its labels.
type series map[string]map[string]bool

// exported is what a node with an active and a failed destination shows.
func exported(t *testing.T) series {
	t.Helper()
	m := metrics.New()
	now := time.Now()
	d := m.Destination("example")
	d.Begin(1 << 20)
	d.Received(100)
	d.Put(1, 100, 1, 1, now, now)
	d.Got(1, now)
	d.Acked(1, 100, 1, now)
	d.Saved(now)
	d.Unusual("nap")
	page := httptest.NewRecorder()
	m.Handler(func() []metrics.Status {
		return []metrics.Status{{Destination: "example", State: metrics.Active, KeptUntil: time.Now().Add(time.Hour)}, {Destination: "other", State: metrics.Failed, Reason: "why"}}
	}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))

	all := series{"up": {}}
	sample := regexp.MustCompile(`(?m)^([a-z_:A-Z0-9]+)(?:\{(.*)\})? `)
	for _, s := range sample.FindAllStringSubmatch(page.Body.String(), -1) {
		labels := map[string]bool{}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(s[2], -1) {
			labels[l[1]] = true
		}
		all[s[1]] = labels
	}
	return all
}

var (
	// The words of PromQL that the queries use.
	words = []string{"and", "or", "unless", "on", "by", "offset", "label_values"}
	// A name with its selector. No query quotes a brace.
	selector = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(\s*\()?`)
	// What is not a name of a series: durations, and the labels that are grouped by.
	noSeries = regexp.MustCompile(`\[[^\]]*\]|\b\d+[smhd]\b|\b(?:by|on)\s*\([^)]*\)`)
	label    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
)

// wrongIn tells which names of series, labels and states in a query no node
// exports.
func (all series) wrongIn(query string) []string {
	var wrong []string
	found := false
	for _, s := range selector.FindAllStringSubmatch(noSeries.ReplaceAllString(query, " "), -1) {
		name, call := s[1], s[3] != ""
		if call || slices.Contains(words, name) {
			continue
		}
		labels, ok := all[name]
		if !ok {
			wrong = append(wrong, "no series "+name)
			continue
		}
		found = true
		for _, l := range label.FindAllStringSubmatch(s[2], -1) {
			if !labels[l[1]] && l[1] != "job" && l[1] != "instance" {
				wrong = append(wrong, name+" has no label "+l[1])
			}
			if l[1] == "state" {
				wrong = append(wrong, notStates(l[2])...)
			}
		}
	}
	if !found {
		wrong = append(wrong, "no series at all")
	}
	return wrong
}

func notStates(states string) []string {
	var wrong []string
	for state := range strings.SplitSeq(states, "|") {
		if !slices.Contains(metrics.States, metrics.State(state)) {
			wrong = append(wrong, "no state "+state)
		}
	}
	return wrong
}

func (all series) check(t *testing.T, where, query string) {
	t.Helper()
	for _, w := range all.wrongIn(query) {
		t.Errorf("%s: %s\n%s", where, w, query)
	}
}

func TestWrongQueriesAreNoticed(t *testing.T) {
	all := series{"up": {}, "canal_relay_state": {"destination": true, "state": true}}
	all.check(t, "right", `sum by (wherever) (rate(canal_relay_state{destination=~"$destination", state="active"}[2m] offset 5m)) / 10 > up`)
	for query, want := range map[string]string{
		`canal_relay_stat > up`:                    "no series canal_relay_stat",
		`rate(canal_relay_state{node="a"}[2m])`:    "canal_relay_state has no label node",
		`canal_relay_state{state="active|asleep"}`: "no state asleep",
		`1`: "no series at all",
	} {
		if got := all.wrongIn(query); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestAlertsUseSeriesThatExist(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	unmarshal(t, "../prometheus/alerts.yml", &rules)
	var tests struct {
		Tests []struct {
			Alerts []struct{ Alertname string } `yaml:"alert_rule_test"`
		}
	}
	unmarshal(t, "../prometheus/alerts_test.yml", &tests)
	tested := map[string]int{}
	for _, test := range tests.Tests {
		for _, a := range test.Alerts {
			tested[a.Alertname]++
		}
	}
	all := exported(t)
	for _, r := range rules.Groups[0].Rules {
		all.check(t, r.Alert, r.Expr)
		if tested[r.Alert] == 0 {
			t.Errorf("%s has no test in alerts_test.yml", r.Alert)
		}
		delete(tested, r.Alert)
	}
	for name := range tested {
		t.Errorf("alerts_test.yml tests %s, which is not there", name)
	}
}

// dashboard is what these tests read of a Grafana dashboard.
type dashboard struct {
	Panels []struct {
		ID         int
		Title      string
		GridPos    struct{ X, Y, W, H int }
		Datasource struct{ UID string }
		Targets    []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Annotations struct{ List []struct{ Name, Expr string } }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(read(t, "../grafana/dashboards/canal-relay.json"), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardUsesSeriesThatExist(t *testing.T) {
	d, all := readDashboard(t), exported(t)
	used := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all.check(t, p.Title, target.Expr)
			for name := range all {
				if regexp.MustCompile(`\b` + name + `\b`).MatchString(target.Expr) {
					used[name] = true
				}
			}
		}
	}
	// label_values(series, label): the label is no series.
	for _, v := range d.Templating.List {
		if v.Definition != "" {
			name, _, _ := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ",")
			all.check(t, v.Name, name)
		}
	}
	for _, a := range d.Annotations.List {
		all.check(t, a.Name, a.Expr)
	}
	// There are no subscribers in this mode: the series is there because Canal has it.
	used["canal_instance_subscriptions"] = true
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "canal_") && !used[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestDashboardPanelsDoNotOverlap(t *testing.T) {
	d := readDashboard(t)
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: number %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		if len(p.Targets) > 0 && p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: the data source is %q, not the one chosen", p.Title, p.Datasource.UID)
		}
		g := p.GridPos
		if g.X+g.W > 24 {
			t.Errorf("%s is wider than the page", p.Title)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
