// Package paths says where in ZooKeeper Canal and we keep things, below the chroot.
package paths

import "strings"

// Root is where Canal keeps everything.
const Root = "/otter/canal"

// Cluster is a node's entry among all nodes.
func Cluster(id string) string { return Root + "/cluster/" + id }

// Destination is where everything of a destination stands.
func Destination(d string) string { return Root + "/destinations/" + d }

// Running is the node of a destination's owner.
func Running(d string) string { return Destination(d) + "/running" }

// Standby is a node's entry among those of a destination, its owner included.
func Standby(d, id string) string { return Destination(d) + "/cluster/" + id }

// Cursor is the cursor of Canal's MQ client, whose id is always 1001.
func Cursor(d string) string { return Destination(d) + "/1001/cursor" }

// State is what we keep beside the cursor. It is ours, as all below relay: Canal
// looks only at children of a destination whose name is a number, and at those it
// knows.
func State(d string) string { return Destination(d) + "/relay/state" }

// Skip holds an operator's order to leave one thing out, until that was done.
func Skip(d string) string { return Destination(d) + "/relay/skip" }

// Released holds the mark of the last clean hand-over.
func Released(d string) string { return Destination(d) + "/relay/released" }

// Paused is there while a destination is not to be read.
func Paused(d string) string { return Destination(d) + "/relay/paused" }

// Held is there for as long as an operator moves the position of a destination:
// nobody may start it. It is ephemeral, and goes with the operator.
func Held(d string) string { return Destination(d) + "/relay/held" }

// Parent is the path without its last part.
func Parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }
