package kafka

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// What is ready to be sent when the lease is over stays unsent.
func TestNothingIsSentWithoutLeave(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	var over atomic.Bool
	p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.Allowed = func() bool { return !over.Load() } })
	claim(t, p)
	if err := outcome(t, send(t, p, record("changes", 0, "first"))); err != nil {
		t.Fatal(err)
	}
	over.Store(true)
	late := send(t, p, record("changes", 0, "late"))
	select {
	case err := <-late:
		t.Errorf("settled: %v", err)
	case <-time.After(300 * time.Millisecond): // several attempts
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := outcome(t, late); err == nil {
		t.Error("the late record was acknowledged")
	}
	if n := c.PartitionInfo("changes", 0).HighWatermark; n != 1 {
		t.Errorf("%d records were written, want 1", n)
	}
}
