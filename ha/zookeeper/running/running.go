// Package running is the content of the node that shows who owns a destination.
package running

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Node is Canal's ServerRunningData, the content of the running node.
type Node struct {
	Active  bool   `json:"active"`
	Address string `json:"address"` // ip:port under which the owner is registered
}

// Bytes is the node as Canal writes it.
func (r Node) Bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("running: encode %+v: %v", r, err)) // two plain fields always encode
	}
	return b
}

// Parse reads the content of a running node: any order, unknown members
// allowed; a missing active is true, as for Canal.
func Parse(b []byte) (Node, error) {
	r := Node{Active: true}
	if err := json.Unmarshal(b, &r); err != nil {
		return Node{}, fmt.Errorf("read running node: %w", err)
	}
	if r.Address == "" {
		return Node{}, errors.New("read running node: it names no address")
	}
	return r, nil
}
