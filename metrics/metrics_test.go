package metrics

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write testdata/*.golden")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape gives the /metrics page without what the process itself adds.
func scrape(t *testing.T, m *Metrics, status func() []Status) string {
	t.Helper()
	r := httptest.NewRequest("GET", "/metrics", nil)
	// What a Prometheus server asks for; OpenMetrics would rename counters.
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	w := httptest.NewRecorder()
	m.Handler(status).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	var out []string
	for line := range strings.SplitSeq(w.Body.String(), "\n") {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "canal_") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// value is the value of a series on a page, "" when it is not there.
func value(page, series string) string {
	for line := range strings.SplitSeq(page, "\n") {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return rest
		}
	}
	return ""
}

// family is what a page says about a metric but for its values.
type family struct {
	Type, Help string
	Labels     []string
}

var sampleLine = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
var labelName = regexp.MustCompile(`(\w+)="`)

func families(t *testing.T, page string) map[string]family {
	out := map[string]family{}
	for s := bufio.NewScanner(strings.NewReader(page)); s.Scan(); {
		line := s.Text()
		if f := strings.SplitN(line, " ", 4); len(f) == 4 && f[0] == "#" {
			fam := out[f[2]]
			if f[1] == "HELP" {
				fam.Help = f[3]
			} else {
				fam.Type = f[3]
			}
			out[f[2]] = fam
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("unexpected line %q", line)
		}
		fam := out[m[1]]
		fam.Labels = nil
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			fam.Labels = append(fam.Labels, l[1])
		}
		slices.Sort(fam.Labels)
		out[m[1]] = fam
	}
	return out
}

// work lets a destination do a little of everything, at fixed times.
func work(m *Metrics) *Destination {
	start := time.Now().Truncate(time.Second)
	d := m.Destination("bench")
	d.Begin(16 << 20)
	d.Received(1000)
	d.Put(10, 600, 2, 3, start.Add(-4*time.Second), start.Add(-3*time.Second))
	d.Put(5, 400, 1, 1, start.Add(-2*time.Second), start.Add(-1*time.Second))
	d.PutBlocked(1500 * time.Millisecond)
	d.Got(10, start.Add(-4*time.Second))
	d.Got(5, start.Add(-2*time.Second))
	d.Acked(10, 600, 3, start.Add(-4*time.Second))
	d.Saved(start.Add(-3 * time.Second))
	d.Unusual("reconnect")
	d.Unusual("reconnect")
	return d
}

// TestCanalFamilies compares with the page of a real Canal: every series that
// has a meaning without TCP clients is there, under the same name, type, help
// text and labels.
func TestCanalFamilies(t *testing.T) {
	text, err := os.ReadFile("testdata/canal-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	work(m)
	got := families(t, scrape(t, m, nil))
	for name, want := range families(t, string(text)) {
		if !strings.HasPrefix(name, "canal_instance") || strings.HasPrefix(name, "canal_instance_client_") {
			continue
		}
		if d := cmp.Diff(want, got[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		delete(got, name)
	}
	for name := range got {
		if !strings.HasPrefix(name, "canal_relay_") {
			t.Errorf("%s is not on Canal's page", name)
		}
	}
}

func TestGoldenPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		m.Version = "1.2.3"
		work(m)
		page := scrape(t, m, func() []Status {
			return []Status{{Destination: "bench", State: Active, KeptUntil: time.Now().Add(-time.Hour)}, {Destination: "shop", State: Failed, Reason: `table "a": no`}}
		})
		page = regexp.MustCompile(`go="go[^"]*"`).ReplaceAllString(page, `go="go1"`)
		const golden = "testdata/metrics.golden"
		if *update {
			if err := os.WriteFile(golden, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), page); d != "" {
			t.Error(d)
		}
	})
}

func TestOnlyTermsExportCanalSeries(t *testing.T) {
	m := New()
	d := m.Destination("shop")
	has := func() (canal, relay bool) {
		page := scrape(t, m, nil)
		return strings.Contains(page, `canal_instance{destination="shop"`), strings.Contains(page, `canal_relay_terms_total{destination="shop"`)
	}
	if canal, relay := has(); canal || !relay {
		t.Errorf("standby: canal %v, relay %v", canal, relay)
	}
	d.Begin(1 << 20)
	d.Put(7, 70, 1, 1, time.Now(), time.Now())
	if canal, relay := has(); !canal || !relay {
		t.Errorf("in a term: canal %v, relay %v", canal, relay)
	}
	d.End()
	d.Put(7, 70, 1, 1, time.Now(), time.Now()) // a late one counts nothing
	if canal, relay := has(); canal || !relay {
		t.Errorf("after the term: canal %v, relay %v", canal, relay)
	}
	d.Begin(1 << 20)
	page := scrape(t, m, nil)
	if v := value(page, `canal_instance_put_rows{destination="shop"}`); v != "0" {
		t.Errorf("a new term begins with %s rows put", v)
	}
	if v := value(page, `canal_relay_terms_total{destination="shop"}`); v != "2" {
		t.Errorf("terms = %s", v)
	}
	m.Forget("shop")
	if page := scrape(t, m, nil); strings.Contains(page, `destination="shop"`) {
		t.Error("a forgotten destination is shown")
	}
}

// TestDelays follows the delays in milliseconds through a backlog and idleness.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		d := m.Destination("d")
		d.Begin(1 << 20)
		expect := func(when, traffic, put, get, ack, lag string) {
			t.Helper()
			page := scrape(t, m, nil)
			for _, s := range []struct{ series, want string }{
				{"canal_instance_traffic_delay", traffic}, {"canal_instance_put_delay", put},
				{"canal_instance_get_delay", get}, {"canal_instance_ack_delay", ack}, {"canal_relay_lag_seconds", lag},
			} {
				got, err := strconv.ParseFloat(value(page, s.series+`{destination="d"}`), 64)
				if fmt.Sprintf("%.0f", got) != s.want || err != nil {
					t.Errorf("%s: %s = %.0f, want %s", when, s.series, got, s.want)
				}
			}
		}
		expect("at first", "0", "0", "0", "0", "0")
		time.Sleep(time.Second)
		begun := time.Now().Add(-time.Second)
		expect("nothing heard for 1 s", "1000", "1000", "1000", "1000", "0")

		hours := begun.Add(-3 * time.Hour)
		d.Put(10, 100, 1, 1, hours, hours.Add(time.Second))
		expect("a backlog of three hours", "10800000", "10801000", "10801000", "10801000", "10801")
		d.Got(10, hours)
		recent := begun.Add(-4 * time.Second)
		d.Put(10, 100, 1, 1, recent, recent)
		expect("the second batch is near", "5000", "5000", "5000", "10801000", "10801")
		d.Acked(10, 100, 1, hours)
		expect("the first one is acknowledged", "5000", "5000", "5000", "5000", "5")
		d.Got(10, recent)
		expect("the second one is taken", "5000", "5000", "5000", "5000", "5")
		d.Acked(10, 100, 1, recent)
		expect("all is acknowledged", "5000", "5000", "5000", "5000", "0")
		d.Alive()
		expect("nothing newer", "0", "0", "0", "0", "0")
		time.Sleep(15 * time.Second)
		expect("and no word since", "15000", "15000", "15000", "15000", "0")
		d.Alive()
		d.Got(1, time.Now()) // a batch may be taken and acknowledged before it is put
		d.Acked(1, 1, 1, time.Now())
		d.Put(1, 1, 1, 1, time.Now().Add(-time.Minute), time.Now().Add(-time.Minute))
		expect("read just before the source fell silent", "0", "0", "0", "0", "0")
		d.Got(0, time.Time{})
		d.Put(0, 0, 0, 0, time.Time{}, time.Time{})
		expect("a batch without changes", "0", "0", "0", "0", "0")
		ahead := time.Now().Add(time.Minute)
		d.Put(1, 1, 1, 1, ahead, ahead)
		expect("the source's clock is ahead", "0", "0", "0", "0", "0")
	})
}

// TestClockIsSet: the wall clock jumps; what is counted here goes on, and nothing is negative.
func TestClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New().Destination("d")
		d.Begin(1 << 20)
		expect := func(when string, jump time.Duration, want [4]time.Duration) {
			t.Helper()
			got := d.now().delays(time.Now().Round(0).Add(jump))
			for i := range got {
				if max(0, got[i]) != int64(want[i]) {
					t.Errorf("%s, the clock set by %v: delay %d is %v, want %v", when, jump, i, time.Duration(got[i]), want[i])
				}
			}
		}
		all := func(d time.Duration) [4]time.Duration { return [4]time.Duration{d, d, d, d} }
		for _, jump := range []time.Duration{-time.Hour, 0, time.Hour} {
			expect("at first", jump, all(0))
		}
		time.Sleep(5 * time.Second)
		for _, jump := range []time.Duration{-time.Hour, 0, time.Hour} {
			expect("nothing heard yet", jump, all(5*time.Second))
		}
		d.Alive()
		time.Sleep(10 * time.Second)
		for _, jump := range []time.Duration{-time.Hour, 0, time.Hour} {
			expect("nothing heard since", jump, all(10*time.Second))
		}
		at := time.Now().Add(-20 * time.Second)
		d.Put(1, 1, 1, 1, at, at)
		expect("a change that waits, from the future", -time.Hour, all(0))
		d.Put(1, 1, 1, 1, time.Now().Add(time.Hour), time.Now().Add(time.Hour))
		if lag := d.Lag(); lag != 20*time.Second {
			t.Errorf("lag %v, want 20s", lag)
		}
		d.Acked(1, 1, 1, at)
		if lag := d.Lag(); lag != 0 {
			t.Errorf("the lag of a change from the future is %v", lag)
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New().Destination("d")
		d.Begin(1 << 20)
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			d.Acked(50, 1, 1, time.Now())
		}
		if r := d.Rate(); r < 480 || r > 520 {
			t.Errorf("500 rows per second are shown as %.0f", r)
		}
		time.Sleep(2 * time.Minute)
		if r := d.Rate(); r > 0.1 {
			t.Errorf("%.1f rows per second after two idle minutes", r)
		}
	})
}

// TestNil uses a destination that counts nothing.
func TestNil(*testing.T) {
	var d *Destination
	d.Begin(1)
	d.Received(1)
	d.Alive()
	d.Put(1, 1, 1, 1, time.Now(), time.Now())
	d.PutBlocked(1)
	d.Got(1, time.Now())
	d.Acked(1, 1, 1, time.Now())
	d.Saved(time.Now())
	d.Unusual("x")
	d.Lag()
	d.Rate()
	d.End()
}

// TestAllocations keeps what is called per packet and per batch free of garbage.
func TestAllocations(t *testing.T) {
	d := New().Destination("d")
	d.Begin(1)
	now := time.Now()
	if n := testing.AllocsPerRun(1000, func() {
		d.Received(100)
		d.Got(1, now)
		d.Put(1, 1, 1, 1, now, now)
		d.Acked(1, 1, 1, now)
	}); n > 0.1 {
		t.Errorf("%.2f allocations per batch", n)
	}
}

// TestWindow holds the window against a plain list through long backlogs.
func TestWindow(t *testing.T) {
	var w window
	var put, got, acked int64
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100000 {
		switch n := r.IntN(3); {
		case n == 0 || (i/10000)%2 == 0 && n == 1:
			put++
			w.put(put)
		case n == 1 && got <= put: // one ahead: the relay notes a batch late
			got++
			w.got++
		case acked < got:
			acked++
			w.ack()
		}
		for _, done := range []int64{got, acked} {
			want := done + 1
			if done >= put {
				want = 0
			}
			if at := w.oldest(done); at != want {
				t.Fatalf("step %d: oldest behind %d = %d, want %d", i, done, at, want)
			}
		}
	}
	if int64(cap(w.times)) > 4*(put-acked)+4096 {
		t.Errorf("%d places for %d batches", cap(w.times), put-acked)
	}
}

// TestNamesOfAnyBytes: a reason, or a directory's name, that is not UTF-8 is exported all the same.
func TestNamesOfAnyBytes(t *testing.T) {
	page := scrape(t, New(), func() []Status {
		return []Status{{Destination: "bad\xff", State: Failed, Reason: "no \xfe", Refused: "its name"}}
	})
	for _, want := range []string{"canal_relay_configuration_refused{destination=\"bad\ufffd\"} 1\n", "{destination=\"bad\ufffd\",reason=\"no \ufffd\"} 1\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in %s", want, page)
		}
	}
}
