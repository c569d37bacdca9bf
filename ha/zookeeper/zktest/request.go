package zktest

import "slices"

// answer executes a request of a link's session. The body is empty when code is
// not codeOK.
func (s *Server) answer(l *link, op int32, r *reader) (body []byte, code int32) {
	switch op {
	case opPing:
		return nil, codeOK
	case opAuth:
		r.int32()
		r.string() // always digest
		l.auth = append(l.auth, string(r.buffer()))
		return nil, codeOK
	case opSync:
		return appendBuffer(nil, []byte(r.string())), codeOK
	case opSetWatches:
		s.rewatch(l, r)
		return nil, codeOK
	case opClose:
		s.endSession(l.session)
		return nil, codeOK
	case opExists, opGetData:
		return s.look(l, op, r)
	case opGetChildren, opGetChildren2:
		return s.list(l, op, r)
	case opCreate, opDelete, opSetData, opCheck:
		s.tree.begin()
		body, code = s.change(l, op, r)
		s.settle(l.session, code == codeOK)
		return body, code
	case opMulti:
		return s.multi(l, r), codeOK
	}
	return nil, codeUnimplemented
}

func (s *Server) look(l *link, op int32, r *reader) ([]byte, int32) {
	path, watch := r.string(), r.bool()
	n := s.tree.nodes[path]
	if n == nil {
		if watch && op == opExists {
			l.watch(watchExists, path)
		}
		return nil, codeNoNode
	}
	if op == opGetData && !l.may(n) {
		return nil, codeNoAuth
	}
	if watch {
		l.watch(watchData, path)
	}
	var body []byte
	if op == opGetData {
		body = appendBuffer(body, n.data)
	}
	return n.appendStat(body), codeOK
}

// may reports whether a link's credentials fit a node; there may be none.
func (l *link) may(n *node) bool {
	return n == nil || len(n.auth) == 0 || slices.ContainsFunc(n.auth, func(one string) bool { return slices.Contains(l.auth, one) })
}

func (s *Server) list(l *link, op int32, r *reader) ([]byte, int32) {
	path, watch := r.string(), r.bool()
	n := s.tree.nodes[path]
	switch {
	case n == nil:
		return nil, codeNoNode
	case !l.may(n):
		return nil, codeNoAuth
	}
	if watch {
		l.watch(watchChildren, path)
	}
	body := appendStrings(nil, n.names())
	if op == opGetChildren2 {
		body = n.appendStat(body)
	}
	return body, codeOK
}

// change executes one writing request inside the open transaction.
func (s *Server) change(l *link, op int32, r *reader) (body []byte, code int32) {
	path := r.string()
	if target := map[int32]string{opCreate: parent(path), opDelete: parent(path), opSetData: path}[op]; !l.may(s.tree.nodes[target]) {
		return nil, codeNoAuth
	}
	switch op {
	case opCreate:
		data, scheme := r.buffer(), ""
		for n := r.int32(); n > 0 && r.err == nil; n-- { // access control lists
			r.int32()
			scheme = r.string()
			r.string()
		}
		path, code = s.tree.create(path, data, r.int32(), l.session)
		if scheme == "auth" && code == codeOK {
			s.tree.nodes[path].auth = slices.Clone(l.auth)
		}
		return appendBuffer(nil, []byte(path)), code
	case opDelete:
		return nil, s.tree.remove(path, r.int32())
	case opCheck:
		return nil, s.tree.check(path, r.int32())
	case opSetData:
		data := r.buffer()
		n, code := s.tree.set(path, data, r.int32())
		if code != codeOK {
			return nil, code
		}
		return n.appendStat(nil), codeOK
	}
	return nil, codeUnimplemented
}

// settle ends the open transaction of a session: watches fire, or nothing has
// happened.
func (s *Server) settle(session int64, ok bool) {
	if !ok {
		s.tree.rollback()
		return
	}
	events := s.tree.events
	s.tree.undo, s.tree.events = nil, nil
	for _, e := range events {
		if s.observe != nil && e.kind != eventChildren {
			s.observe(s.changed(session, e))
		}
		s.fire(e)
	}
}

// multi executes all of its requests or none. A failed one answers with its
// code, those before it with 0, those after it with codeRolledBack.
func (s *Server) multi(l *link, r *reader) []byte {
	s.tree.begin()
	var ops []int32
	var bodies [][]byte
	failed, why := -1, codeOK
	for {
		op, done := r.int32(), r.bool()
		r.int32()
		if done || r.err != nil {
			break
		}
		body, code := s.change(l, op, r)
		if code != codeOK && failed < 0 {
			failed, why = len(ops), code
		}
		ops, bodies = append(ops, op), append(bodies, body)
	}
	s.settle(l.session, failed < 0)
	var b []byte
	for i, op := range ops {
		if failed < 0 {
			b = append(appendHeader(b, op, false, 0), bodies[i]...)
			continue
		}
		code := codeOK
		switch {
		case i == failed:
			code = why
		case i > failed:
			code = codeRolledBack
		}
		b = appendInt32(appendHeader(b, opError, false, code), code)
	}
	return appendHeader(b, -1, true, -1)
}

func appendHeader(b []byte, op int32, done bool, code int32) []byte {
	return appendInt32(appendBool(appendInt32(b, op), done), code)
}
