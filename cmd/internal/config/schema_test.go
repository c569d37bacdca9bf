package config

import (
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/schema/history"
)

// TestHistory: where the schema history is kept, from what Canal's files say.
func TestHistory(t *testing.T) {
	for _, c := range []struct {
		lines []string
		store string
		mysql history.MySQLConfig
		wrong string
	}{
		{[]string{"canal.zkServers = 127.0.0.1:2181"}, StoreKafka, history.MySQLConfig{}, ""},
		{[]string{"canal.instance.tsdb.url = jdbc:h2:/x/h2;CACHE_SIZE=1000;MODE=MYSQL;", "canal.instance.tsdb.dbUsername = canal"}, StoreFile, history.MySQLConfig{}, ""},
		{nil, StoreFile, history.MySQLConfig{}, ""},
		{[]string{"canal.instance.tsdb.url = jdbc:mysql://127.0.0.1:3306/canal_tsdb", "canal.instance.tsdb.dbUsername = canal", "canal.instance.tsdb.dbPassword = p"},
			StoreMySQL, history.MySQLConfig{Addr: "127.0.0.1:3306", Database: "canal_tsdb", User: "canal", Password: "p"}, ""},
		{[]string{"canal.instance.tsdb.url = jdbc:mysql://db/tsdb?useSSL=false"}, StoreMySQL, history.MySQLConfig{Addr: "db:3306", Database: "tsdb"}, ""},
		{[]string{"canal.instance.tsdb.url = jdbc:mysql://db/tsdb", "canal.relay.schema.store = kafka"}, StoreKafka, history.MySQLConfig{}, ""},
		{[]string{"canal.relay.schema.store = mysql"}, "", history.MySQLConfig{}, "write jdbc:mysql://host:port/database"},
		{[]string{"canal.relay.schema.store = h2"}, "", history.MySQLConfig{}, "choose kafka, file or mysql"},
	} {
		conf := newConf(t)
		for _, line := range c.lines {
			key, _, _ := strings.Cut(line, " ")
			kept := conf.server[:0]
			for _, l := range conf.server {
				if !strings.HasPrefix(l, key+" ") {
					kept = append(kept, l)
				}
			}
			conf.server = append(kept, line)
		}
		if c.wrong != "" {
			if got := conf.problems(); len(got) != 1 || !strings.Contains(got[0], c.wrong) {
				t.Errorf("%q: %q", c.lines, got)
			}
			continue
		}
		if h := conf.mustLoad().Instances[0].History; h.Store != c.store || h.MySQL != c.mysql {
			t.Errorf("%q: %+v", c.lines, h)
		}
	}
}
