package position

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// clientID is the id under which Canal's MQ mode keeps its cursor.
const clientID = 1001

// File is a destination's cursor in Canal's meta.dat, for a node without
// ZooKeeper. The file is written beside itself, synced and renamed, so that a
// crash or a full disk leaves the old one. Cursors of other clients in it are
// kept. What Canal has no place for stands in a member "relay", which Canal
// ignores and drops when it writes the file.
//
// A File serves one term after another, not two at a time.
type File struct {
	// Delivery is kept with every position, as in State.
	Delivery string

	path        string
	destination string
	gtidOn      bool
	routing     string

	loaded bool
	cursor []byte // the cursor as Load found it or Save left it; nil when absent
	tried  []byte // what a failed Save may have left there
	state  State
	from   Position // that was loaded
	first  bool     // the next Save is the first since Load
}

// metaFile is Canal's FileMetaInstanceData, and our member beside it.
type metaFile struct {
	Clients     []json.RawMessage `json:"clientDatas"`
	Destination string            `json:"destination"`
	Relay       *fileState        `json:"relay,omitempty"`
}

type clientData struct {
	Identity clientIdentity  `json:"clientIdentity"`
	Cursor   json.RawMessage `json:"cursor,omitempty"`
}

type clientIdentity struct {
	ClientID    int    `json:"clientId"`
	Destination string `json:"destination"`
	Filter      string `json:"filter"`
}

// fileState names the cursor that the state belongs to, since a file has no
// transaction ids to compare.
type fileState struct {
	Cursor json.RawMessage `json:"cursor"`
	State  json.RawMessage `json:"state"`
}

// NewFile returns the cursor kept in the meta.dat at path. gtidOn says whether
// Canal's member gtid is filled, as Canal does only with
// canal.instance.gtidon=true; routing is the hash that is stored with every
// position.
func NewFile(path, destination string, gtidOn bool, routing string) *File {
	return &File{path: path, destination: destination, gtidOn: gtidOn, routing: routing}
}

// Load reads the position. It returns ErrNone when there is no file or no
// cursor of ours in it, and an error that names the file when it cannot be read:
// a damaged file is never an absent one.
func (f *File) Load(context.Context) (Saved, error) {
	f.loaded, f.cursor, f.tried, f.state, f.from = false, nil, nil, State{}, Position{}
	meta, err := f.read()
	if err != nil {
		return Saved{}, err
	}
	f.cursor = meta.cursor()
	f.loaded, f.first = true, true
	if f.cursor == nil {
		return Saved{}, ErrNone
	}
	p, err := ParseCanal(f.cursor)
	if err != nil {
		f.loaded = false
		return Saved{}, fmt.Errorf("load cursor from %s: %w", f.path, err)
	}
	f.from = p
	if meta.Relay == nil || !bytes.Equal(compact(meta.Relay.Cursor), f.cursor) {
		return Saved{Position: p, Foreign: true}, nil
	}
	if f.state, err = ParseState(meta.Relay.State); err != nil {
		f.loaded = false
		return Saved{}, fmt.Errorf("load cursor from %s: %w", f.path, err)
	}
	s := &f.state
	return Saved{Position: s.Apply(p), Routing: s.Routing, Delivery: s.Delivery, Since: s.Since, SinceAt: s.SinceAt}, nil
}

// Save stores p. It returns ErrFenced, and leaves the file, when the cursor in
// it is no longer what this File loaded or saved last.
func (f *File) Save(_ context.Context, p Position) error {
	if !f.loaded {
		return fmt.Errorf("save cursor to %s: it was not loaded in this term", f.path)
	}
	reason := ""
	if f.first {
		reason = "term started" + f.from.Where()
	}
	return f.write(p, f.state.Next(p, time.Now(), reason).Trust(f.routing, f.Delivery, 0, time.Now()))
}

// Skipped does nothing: orders are given in ZooKeeper.
func (f *File) Skipped() {}

// Set stores a position that an operator chose, with the reason, and returns the
// one before, zero if there was none. A term that runs meanwhile gets ErrFenced
// at its next Save, and the one after it starts at p.
func (f *File) Set(ctx context.Context, p Position, reason string) (Position, error) {
	saved, err := f.Load(ctx)
	if err != nil && !errors.Is(err, ErrNone) {
		return Position{}, err
	}
	p = p.Keep(saved.Position)
	return saved.Position, f.write(p, f.state.Set(saved.Position, p, f.Delivery, time.Now(), reason))
}

// State is what stood beside the cursor when it was loaded or saved last.
func (f *File) State() State { return f.state }

// write stores a position and its state, if the cursor is still what it was.
func (f *File) write(p Position, state State) error {
	meta, err := f.read()
	if err != nil {
		return err
	}
	if found := meta.cursor(); !bytes.Equal(found, f.cursor) && (f.tried == nil || !bytes.Equal(found, f.tried)) {
		return fmt.Errorf("save cursor to %s: %w", f.path, ErrFenced)
	}
	shown := p
	if !f.gtidOn && p.File != "" {
		shown.GTIDs = ""
	}
	cursor := appendJSON(nil, shown.logPosition())
	meta.set(f.destination, cursor, state)
	f.tried = cursor
	if err := replace(f.path, appendJSON(nil, meta)); err != nil {
		return fmt.Errorf("save cursor to %s: %w", f.path, err)
	}
	f.cursor, f.tried, f.state, f.first = cursor, nil, state, false
	return nil
}

// read returns the file's content, an empty one when there is no file.
func (f *File) read() (*metaFile, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &metaFile{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load cursor: %w", err)
	}
	meta, err := parseMeta(b)
	if err != nil {
		return nil, fmt.Errorf("load cursor: %s is damaged (%w): restore it, or remove it to start without a position", f.path, err)
	}
	return meta, nil
}

func parseMeta(b []byte) (*metaFile, error) {
	var meta metaFile
	if err := json.Unmarshal(b, &meta); err != nil {
		return nil, err
	}
	if meta.Clients == nil {
		return nil, errors.New("no member clientDatas")
	}
	for _, c := range meta.Clients {
		if err := json.Unmarshal(c, &clientData{}); err != nil {
			return nil, fmt.Errorf("read a member of clientDatas: %w", err)
		}
	}
	return &meta, nil
}

// cursor returns our client's cursor without insignificant blanks, nil if there is none.
func (m *metaFile) cursor() []byte {
	for _, raw := range m.Clients {
		var c clientData
		if json.Unmarshal(raw, &c) != nil || c.Identity.ClientID != clientID {
			continue
		}
		if len(c.Cursor) > 0 && !bytes.Equal(c.Cursor, []byte("null")) {
			return compact(c.Cursor)
		}
	}
	return nil
}

// set replaces our client's entry, or adds it behind the others. Its filter
// becomes empty, as it does when Canal's MQ client subscribes.
func (m *metaFile) set(destination string, cursor []byte, s State) {
	ours := appendJSON(nil, clientData{
		Identity: clientIdentity{ClientID: clientID, Destination: destination},
		Cursor:   cursor,
	})
	m.Destination = destination
	m.Relay = &fileState{Cursor: cursor, State: s.Append(nil)}
	for i, raw := range m.Clients {
		var c clientData
		if json.Unmarshal(raw, &c) == nil && c.Identity.ClientID == clientID {
			m.Clients[i] = ours
			return
		}
	}
	m.Clients = append(m.Clients, ours)
}

func compact(raw json.RawMessage) []byte {
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return raw
	}
	return buf.Bytes()
}

// replace writes b to path so that path holds either the old content or all of b.
func replace(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	t, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(t.Name()))
		}
	}()
	_, err = t.Write(b)
	if err == nil {
		err = t.Chmod(0o644)
	}
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return err
	}
	if err = os.Rename(t.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir last through a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
