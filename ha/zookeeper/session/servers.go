package session

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// defaultPort is ZooKeeper's client port.
const defaultPort = "2181"

// parseServers reads canal.zkServers: host:port entries separated by commas or
// semicolons, and behind the last one, optionally, the path of a chroot.
func parseServers(list string) (hosts []string, chroot string, err error) {
	list = strings.ReplaceAll(list, ";", ",")
	if i := strings.IndexByte(list, '/'); i >= 0 {
		list, chroot = list[:i], strings.TrimRight(strings.TrimSpace(list[i:]), "/")
		if strings.Contains(chroot, "//") || strings.ContainsAny(chroot, ", ") {
			return nil, "", fmt.Errorf("the chroot %q is not a ZooKeeper path", chroot)
		}
	}
	for _, host := range strings.Split(list, ",") {
		if host = strings.TrimSpace(host); host == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
		}
		hosts = append(hosts, host)
	}
	if len(hosts) == 0 {
		return nil, "", errors.New("it names no server")
	}
	return hosts, chroot, nil
}

// servers hands the zk client one server after another. It keeps names, not
// addresses: each attempt resolves anew, so that a moved server is found.
type servers struct {
	mu      sync.Mutex
	list    []string
	next    int
	tried   int // since the last session
	expired bool
}

// Init takes the list in the client's random order.
func (s *servers) Init(list []string) error {
	s.list = list
	return nil
}

// Len is the number of servers.
func (s *servers) Len() int { return len(s.list) }

// Next returns the server to try. Its second value makes the client fail every
// request that it has not sent yet, and pause for a second: after each round
// through the list, and before a new session replaces an expired one, so that a
// request meant for the old session is never sent in the new one.
func (s *servers) Next() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := s.expired || s.tried >= len(s.list)
	if pause {
		s.tried, s.expired = 0, false
	}
	s.tried++
	s.next = (s.next + 1) % len(s.list)
	return s.list[s.next], pause
}

// Connected says that the server of the last Next has given or kept a session.
func (s *servers) Connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = 0
}

func (s *servers) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}
