package mqstarter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/relay/event"
)

func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		second := b.Changes[0]
		second.Row, second.SQL = 1, "create table u (id int)"
		third := second
		third.Tx, third.Row = []byte("tx2"), 0
		b.Changes = append(b.Changes, second, third)
		f := newFixture(t, b)
		f.start(t)
		synctest.Wait()
		var got []string
		for _, m := range f.producer.sent[0].messages {
			var s []string
			for _, h := range m.Headers.All() {
				s = append(s, h.Key+"="+string(h.Value))
			}
			got = append(got, strings.Join(s, " "))
		}
		want(t, "headers", strings.Join(got, "\n"), "r-dest=shop r-pos=tx1 r-row=0 r-epoch=7\n"+
			"r-dest=shop r-pos=tx1 r-row=1 r-epoch=7\nr-dest=shop r-pos=tx2 r-row=0 r-epoch=7")
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestWithoutHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"))
		f.config.Headers = false
		f.start(t)
		synctest.Wait()
		want(t, "headers", len(f.producer.sent[0].messages[0].Headers.All()), 0)
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestOversizeMessageIsRefusedBeforeItsBatchIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := whole(2, "b")
		c := big.Changes[0]
		c.SQL = strings.Repeat("x", 3000)
		big.Changes = append(big.Changes, c)
		f := newFixture(t, whole(1, "a"), big, whole(3, "c"))
		f.producer.limits = map[string]int{"changes": 2000}
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		f.start(t)
		err := f.ended(t)
		if !errors.Is(err, oversize.ErrTooLarge) {
			t.Fatalf("result: got %v, want oversize.ErrTooLarge", err)
		}
		for _, part := range []string{"shop.orders", "mysql-bin.000001:2", "topic changes takes 2000"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not name %q: %v", part, err)
			}
		}
		want(t, "parcels sent", f.producer.count(), 1)
		want(t, "saved", f.cursor.list(), "a")
	})
}

func TestBatchKnowsWhatWasBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		f := newFixture(t, b)
		f.start(t)
		synctest.Wait()
		if value := f.producer.sent[0].messages[0].Value; b.Built < len(value) {
			t.Errorf("built %d bytes, the message alone has %d", b.Built, len(value))
		}
		want(t, "raw changes kept", fmt.Sprint(b.Changes), fmt.Sprint([]event.Change{{}}))
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestArenasAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.config.Builders, f.config.Window = 1, 1
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		for id := range uint64(50) {
			f.source.batches <- whole(id+1, "x")
		}
		f.start(t)
		synctest.Wait()
		for i, s := range f.producer.sent {
			if text := fmt.Sprintf("create table t%d (", i+1); !strings.Contains(string(s.messages[0].Value), text) {
				t.Fatalf("parcel %d holds %s", i+1, s.messages[0].Value)
			}
		}
		f.cancel(errLost)
		f.ended(t)
	})
}
