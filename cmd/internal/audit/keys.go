package audit

import "github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"

type keys struct{}

func newKeys() *keys { return &keys{} }

func (k *keys) record(a *auditor, l *lane, r *topicreader.Record) error { return nil }
