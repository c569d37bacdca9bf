package zookeeper

import "strings"

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

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
