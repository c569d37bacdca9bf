package simulation

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fault is something that goes wrong at a time. end, which may be nil, is when
// it is over.
type fault struct {
	name   string
	weight int
	begin  func(w *world, p *process) (end func())
}

// faults of the schedule, with how often each comes.
var faults = []fault{
	{"crash", 6, func(w *world, p *process) func() { p.kill(); w.again(p, 8*time.Second); return nil }},
	{"stop", 3, func(w *world, p *process) func() { p.stop(nil); w.again(p, 5*time.Second); return nil }},
	{"pause", 6, func(_ *world, p *process) func() { p.pause(); return p.resume }},
	{"release", 3, func(w *world, p *process) func() {
		w.all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = p.elector.Release(ctx)
		})
		return nil
	}},
	{"reload", 1, func(_ *world, p *process) func() {
		p.monitor.Reload(p.starter)
		return nil
	}},
	{"freeze zookeeper", 4, func(w *world, p *process) func() { return w.freeze(p.zk) }},
	{"freeze kafka", 4, func(w *world, p *process) func() { return w.freeze(p.kafka) }},
	{"cut zookeeper", 3, func(_ *world, p *process) func() { p.zk.cut(true); return p.zk.heal }},
	{"cut kafka", 3, func(_ *world, p *process) func() { p.kafka.cut(true); return p.kafka.heal }},
	{"drop zookeeper", 2, func(_ *world, p *process) func() { p.zk.cut(false); return nil }},
	{"drop kafka", 2, func(_ *world, p *process) func() { p.kafka.cut(false); return nil }},
	{"slow zookeeper", 3, func(w *world, p *process) func() { return w.slow(p.zk) }},
	{"slow kafka", 5, func(w *world, p *process) func() { return w.slow(p.kafka) }},
	{"zookeeper down", 1, func(w *world, _ *process) func() { w.zk.Down(); return w.zk.Up }},
	{"isolate zookeeper", 2, func(w *world, _ *process) func() {
		w.mu.Lock()
		id := w.running.session
		w.mu.Unlock()
		w.zk.Isolate(id)
		return nil
	}},
	{"lose answer", 2, func(w *world, _ *process) func() {
		w.zk.Lose([]string{"create", "setData", "delete", "multi", "multi", "multi"}[w.r.IntN(6)])
		return nil
	}},
	{"refuse a batch", 4, func(w *world, _ *process) func() { return w.refuse() }},
	{"busy broker", 3, func(w *world, _ *process) func() { return w.busy() }},
	{"busy coordinator", 3, func(w *world, _ *process) func() { return w.busyCoordinator() }},
}

func (w *world) freeze(c *cable) func() {
	which := w.r.IntN(3)
	c.change(func() {
		c.frozen, c.keeps = [2]bool{which != back, which != there}, w.r.IntN(4) == 0
	})
	return c.heal
}

func (w *world) slow(c *cable) func() {
	d := time.Duration(w.r.Int64N(int64(800 * time.Millisecond)))
	which := w.r.IntN(3)
	if which != there {
		c.delay(back, d)
	}
	if which != back {
		c.delay(there, d)
	}
	return c.heal
}

// refuse has the broker refuse a batch for good.
func (w *world) refuse() func() {
	f := kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "orders", Err: kerr.PolicyViolation, Count: 1}
	if w.r.IntN(4) == 0 {
		f.Topic = "items"
	}
	f.Partitions = []int32{w.r.Int32N(partitions[f.Topic])}
	return w.kafka.Fault(f).Remove
}

// busy has the broker fail requests in ways that pass; the last one has been
// executed nevertheless.
func (w *world) busy() func() {
	f := kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: 1 + w.r.IntN(4)}
	f.Err = []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend}[w.r.IntN(4)]
	return w.kafka.Fault(f).Remove
}

// busyCoordinator has the broker fail what belongs to transactions: in ways that
// pass, and in one that leaves open what was done.
func (w *world) busyCoordinator() func() {
	f := kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.EndTxn}, TopLevel: true, Count: 1 + w.r.IntN(4)}
	f.Err = []*kerr.Error{kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.UnknownServerError}[w.r.IntN(4)]
	return w.kafka.Fault(f).Remove
}

// again has a process that ends followed by another one.
func (w *world) again(p *process, most time.Duration) {
	p.node.due = time.Now().Add(time.Duration(w.r.Int64N(int64(most))))
}

// revive starts processes where none runs and one is due.
func (w *world) revive() {
	for _, n := range w.nodes {
		p := n.process
		if p != nil {
			select {
			case <-p.ended:
				n.process = nil
			default:
				p.mu.Lock()
				killed := p.killed
				p.mu.Unlock()
				if !killed {
					continue
				}
			}
		}
		if n.due.After(time.Now()) {
			continue
		}
		if err := n.start(); err != nil {
			w.violated("%s cannot be started: %v", n.address, err)
		}
	}
}

// lasting is a fault that goes on.
type lasting struct {
	at   time.Time
	end  func()
	name string
}

// faults runs the schedule and then ends all faults.
func (w *world) faults() {
	var under []lasting
	weights := 0
	for _, f := range faults {
		weights += f.weight
	}
	until := time.Now().Add(25 * time.Second)
	due := time.Now().Add(w.span(8 * time.Second))
	for time.Now().Before(until) && (w.plant == nil || len(w.broken()) == 0) {
		time.Sleep(w.span(200 * time.Millisecond))
		w.revive()
		left := under[:0]
		for _, e := range under {
			if e.at.After(time.Now()) {
				left = append(left, e)
				continue
			}
			w.log.Debug("OVER", "fault", e.name)
			e.end()
		}
		under = left
		if due.After(time.Now()) {
			continue
		}
		due = time.Now().Add(w.span(9 * time.Second))
		p := w.victim()
		if p == nil {
			continue
		}
		f := pick(w.r.IntN(weights))
		w.log.Debug("FAULT", "fault", f.name, "node", p.node.address)
		if end := f.begin(w, p); end != nil {
			under = append(under, lasting{time.Now().Add(w.span(12 * time.Second)), end, f.name})
		}
	}
	for _, e := range under {
		w.log.Debug("OVER", "fault", e.name)
		e.end()
	}
}

// span draws a time below most; short ones are as likely as long ones.
func (w *world) span(most time.Duration) time.Duration {
	d := w.r.Int64N(int64(most)) + 1
	if w.r.IntN(2) == 0 {
		d = w.r.Int64N(d) + 1
	}
	return time.Duration(d)
}

func pick(n int) fault {
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	panic("no fault")
}

// victim picks a process: mostly the owner's.
func (w *world) victim() *process {
	w.mu.Lock()
	address := w.running.address
	w.mu.Unlock()
	any := w.r.IntN(len(w.nodes))
	if w.r.IntN(4) > 0 {
		for _, n := range w.nodes {
			if n.address == address && n.process != nil {
				return n.process
			}
		}
	}
	return w.nodes[any].process
}
