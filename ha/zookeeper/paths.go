package zookeeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// root is where Canal keeps everything, below the chroot.
const root = "/otter/canal"

func clusterPath(id string) string { return root + "/cluster/" + id }

func destinationPath(d string) string { return root + "/destinations/" + d }

func runningPath(d string) string { return destinationPath(d) + "/running" }

func standbyPath(d, id string) string { return destinationPath(d) + "/cluster/" + id }

// cursorPath is the cursor of Canal's MQ client, whose id is always 1001.
func cursorPath(d string) string { return destinationPath(d) + "/1001/cursor" }

// statePath and releasedPath are ours. Canal looks only at children of a
// destination whose name is a number, and at those it knows.
func statePath(d string) string { return destinationPath(d) + "/relay/state" }

// skipPath holds an operator's order to leave one thing out, until that was done.
func skipPath(d string) string { return destinationPath(d) + "/relay/skip" }

func releasedPath(d string) string { return destinationPath(d) + "/relay/released" }

// pausedPath is there while a destination is not to be read.
func pausedPath(d string) string { return destinationPath(d) + "/relay/paused" }

// heldPath is there for as long as an operator moves the position of a
// destination: nobody may start it. It is ephemeral, and goes with the operator.
func heldPath(d string) string { return destinationPath(d) + "/relay/held" }

// running is Canal's ServerRunningData, the content of the running node.
type running struct {
	Active  bool   `json:"active"`
	Address string `json:"address"` // ip:port under which the owner is registered
}

func (r running) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("zookeeper: encode %+v: %v", r, err)) // two plain fields always encode
	}
	return b
}

// parseRunning reads the content of a running node: any order, unknown members
// allowed; a missing active is true, as for Canal.
func parseRunning(b []byte) (running, error) {
	r := running{Active: true}
	if err := json.Unmarshal(b, &r); err != nil {
		return running{}, fmt.Errorf("read running node: %w", err)
	}
	if r.Address == "" {
		return running{}, errors.New("read running node: it names no address")
	}
	return r, nil
}

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
