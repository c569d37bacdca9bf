// Package identity makes up the names by which others know a node and its
// readers.
package identity

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"net"
)

// Owner gives the server id and UUID under which a destination's owner, on
// whichever node, is known to the source.
func Owner(cluster, destination string) (uint32, string) {
	sum := sha1.Sum([]byte("canal-relay\x00" + cluster + "\x00" + destination))
	// Above the small numbers that people choose, below those of OneMore.
	return 1<<30 | binary.BigEndian.Uint32(sum[16:])>>2, uuid(sum[:16], 5)
}

// OneMore gives those of one more reader, new ones each time.
func OneMore() (uint32, string) {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return 1<<31 | binary.BigEndian.Uint32(b[16:]), uuid(b[:16], 4)
}

// uuid writes 16 bytes as a UUID of a version of RFC 9562.
func uuid(b []byte, version byte) string {
	b[6], b[8] = version<<4|b[6]&0x0f, 0x80|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// HostIP is the first IPv4 address of this host that is not a loopback one,
// empty when there is none.
func HostIP() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsUnspecified() {
			return n.IP.String()
		}
	}
	return ""
}
