package config

import (
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/schema/history"
)

// Where a schema history is kept.
const (
	StoreKafka = "kafka"
	StoreFile  = "file"
	StoreMySQL = "mysql"
)

// History is where a destination's schema history is kept, and for how long.
type History struct {
	Store    string // StoreKafka, StoreFile or StoreMySQL
	Topic    string // of StoreKafka
	MySQL    history.MySQLConfig
	Interval time.Duration // between snapshots; 0: none
	Expire   time.Duration // 0: never
}

// history reads where the schema history is kept.
func (r *reader) history(node *Node) History {
	const store, address = "canal.relay.schema.store", "canal.instance.tsdb.url"
	h := History{Store: r.Text(store), Topic: r.Text("canal.relay.schema.topic")}
	h.Interval = r.Units("canal.instance.tsdb.snapshot.interval", time.Hour)
	h.Expire = r.Units("canal.instance.tsdb.snapshot.expire", time.Hour)
	if h.Topic == "" {
		h.Topic = node.Cluster + "-schema"
	}
	where := r.Text(address)
	text, isMySQL := strings.CutPrefix(where, "jdbc:")
	isMySQL = isMySQL && strings.HasPrefix(text, "mysql://")
	switch h.Store {
	case "":
		h.Store = StoreKafka
		if isMySQL {
			h.Store = StoreMySQL
		} else if node.ZooKeeper == "" {
			h.Store = StoreFile
		}
	case StoreKafka, StoreFile, StoreMySQL:
	default:
		r.Blame(store, "%q: choose kafka, file or mysql", h.Store)
	}
	if h.Store != StoreMySQL {
		return h
	}
	u, err := url.Parse(text)
	if !isMySQL || err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		r.Blame(address, "write jdbc:mysql://host:port/database: the schema history is to be kept there")
		return h
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	h.MySQL = history.MySQLConfig{Addr: net.JoinHostPort(u.Hostname(), port), Database: strings.Trim(u.Path, "/"),
		User: r.Text("canal.instance.tsdb.dbUsername"), Password: string(r.Secret("canal.instance.tsdb.dbPassword"))}
	return h
}
