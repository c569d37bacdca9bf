package zktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

type node struct {
	data         []byte
	czxid, mzxid int64
	pzxid        int64 // of the last change of children
	ctime, mtime int64 // milliseconds
	version      int32
	cversion     int32
	owner        int64    // session of an ephemeral node
	auth         []string // whose credentials it takes; none for everybody's
	children     map[string]bool
}

// tree holds the nodes. A change is applied at once; undo, filled while a
// transaction runs, takes it back. Events are collected until it has succeeded.
type tree struct {
	nodes  map[string]*node
	zxid   int64
	undo   []func()
	events []event
}

type event struct {
	kind int32
	path string
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{"/": {children: map[string]bool{}}}}
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func name(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (t *tree) create(path string, data []byte, flags int32, session int64) (string, int32) {
	up, ok := t.nodes[parent(path)]
	switch {
	case !ok:
		return "", codeNoNode
	case up.owner != 0:
		return "", codeNoChildren
	}
	if flags&2 != 0 {
		path += fmt.Sprintf("%010d", up.cversion)
	}
	if t.nodes[path] != nil {
		return "", codeNodeExists
	}
	now := time.Now().UnixMilli()
	n := &node{data: data, czxid: t.zxid, mzxid: t.zxid, pzxid: t.zxid, ctime: now, mtime: now, children: map[string]bool{}}
	if flags&1 != 0 {
		n.owner = session
	}
	was := *up
	t.nodes[path] = n
	up.children[name(path)] = true
	up.cversion++
	up.pzxid = t.zxid
	t.undo = append(t.undo, func() {
		delete(t.nodes, path)
		delete(up.children, name(path))
		up.cversion, up.pzxid = was.cversion, was.pzxid
	})
	t.events = append(t.events, event{eventCreated, path}, event{eventChildren, parent(path)})
	return path, codeOK
}

func (t *tree) remove(path string, version int32) int32 {
	n := t.nodes[path]
	switch {
	case n == nil:
		return codeNoNode
	case version >= 0 && version != n.version:
		return codeBadVersion
	case len(n.children) > 0:
		return codeNotEmpty
	}
	up := t.nodes[parent(path)]
	was := *up
	delete(t.nodes, path)
	delete(up.children, name(path))
	up.cversion++
	up.pzxid = t.zxid
	t.undo = append(t.undo, func() {
		t.nodes[path] = n
		up.children[name(path)] = true
		up.cversion, up.pzxid = was.cversion, was.pzxid
	})
	t.events = append(t.events, event{eventDeleted, path}, event{eventChildren, parent(path)})
	return codeOK
}

func (t *tree) set(path string, data []byte, version int32) (*node, int32) {
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, codeNoNode
	case version >= 0 && version != n.version:
		return nil, codeBadVersion
	}
	was := *n
	n.data, n.mzxid, n.mtime = data, t.zxid, time.Now().UnixMilli()
	n.version++
	t.undo = append(t.undo, func() {
		n.data, n.mzxid, n.mtime, n.version = was.data, was.mzxid, was.mtime, was.version
	})
	t.events = append(t.events, event{eventChanged, path})
	return n, codeOK
}

func (t *tree) check(path string, version int32) int32 {
	n := t.nodes[path]
	switch {
	case n == nil:
		return codeNoNode
	case version >= 0 && version != n.version:
		return codeBadVersion
	}
	return codeOK
}

// begin opens a transaction under the next zxid.
func (t *tree) begin() { t.zxid++; t.undo, t.events = nil, nil }

// rollback takes everything since begin back.
func (t *tree) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.undo, t.events = nil, nil
}

// owned returns the ephemeral nodes of a session, deepest first.
func (t *tree) owned(session int64) []string {
	var paths []string
	for path, n := range t.nodes {
		if n.owner == session && session != 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }
