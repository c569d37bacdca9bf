package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// The budget that keeps the code readable: lines per function, file and package, tests not counted.
const (
	maxFunction    = 80
	maxFunctionP90 = 40
	maxFile        = 400
	maxPackage     = 1500
)

const module = "github.com/canal-relay/canal-relay/"

// allowed lists, for each package, the project's packages it may import.
var allowed = map[string][]string{
	"metrics":                 {},
	"relay/position":          {},
	"relay/pattern":           {},
	"relay/filter":            {"relay/pattern"},
	"mqstarter/route":         {"relay/pattern"},
	"relay/event/column":      {"relay/event/charset", "relay/schema"},
	"relay/event/jsonb":       {"relay/event/charset", "relay/event/column"},
	"relay/schema/ddl/lex":    {},
	"relay/schema/ddl":        {"relay/schema/ddl/lex", "relay/schema/ddl/words"},
	"relay/schema/ddl/words":  {},
	"relay/event/tablemap":    {"relay/event/charset", "relay/schema", "relay/schema/show"},
	"relay/sqltext":           {"relay/event/charset", "relay/event/column"},
	"relay/schema/ddl/simple": {"relay/schema/ddl", "relay/schema/ddl/lex"},
	"relay/schema/show":       {},
	"relay/schema/layout":     {"relay/schema/ddl", "relay/schema/show"},
	"relay/schema":            {"relay/position", "relay/schema/ddl", "relay/schema/ddl/lex", "relay/schema/layout", "relay/schema/show"},
	"relay/schema/history":    {"relay/position", "relay/schema", "relay/schema/ddl/lex"},
	"ha":                      {"metrics"},
	"ha/zookeeper":            {"ha", "relay/position", "ha/zookeeper/session", "ha/zookeeper/pause", "ha/zookeeper/running", "ha/zookeeper/paths", "ha/zookeeper/stored"},
	"ha/zookeeper/stored":     {"relay/position", "ha/zookeeper/session", "ha/zookeeper/paths"},
	"ha/zookeeper/session":    {},
	"ha/zookeeper/running":    {},
	"ha/zookeeper/paths":      {},
	"ha/zookeeper/pause":      {"ha/zookeeper/session"},
	"relay/event/charset":     {},
	"ha/zookeeper/zktest":     {},
	"relay/binlog/parse":      {"relay/binlog/wire"},
	"relay/binlog/source":     {"relay/binlog/parse", "relay/binlog/wire", "relay/position"},
	"relay/binlog":            {"relay/binlog/parse", "relay/binlog/search", "relay/binlog/source", "relay/binlog/track", "relay/binlog/wire", "relay/binlog/wraps", "relay/position", "relay/schema"},
	"relay/binlog/search":     {"relay/binlog/parse", "relay/binlog/track", "relay/position"},
	"relay/binlog/track":      {"relay/position"},
	"relay/binlog/until":      {"relay/binlog", "relay/position"},
	"relay/binlog/wire":       {},
	"relay/binlog/wraps":      {},
	"relay/buffer":            {"relay/event"},
	"relay/pace":              {},
	"relay/outage":            {},
	"relay/rekey":             {"relay/event"},
	"relay/half":              {},
	"mqstarter/kafka/login":   {},
	"mqstarter/target":        {"mqstarter/route", "relay/event"},
	"relay/binlog/binlogtest": {
		"relay/binlog", "relay/position",
	},
	"relay/event": {"relay/position", "relay/schema", "relay/event/column", "relay/event/jsonb", "relay/event/charset", "relay/event/tablemap"},
	"relay": {
		"metrics", "relay/buffer", "relay/binlog", "relay/binlog/parse", "relay/binlog/track", "relay/binlog/wire", "relay/event", "relay/event/charset", "relay/event/column", "relay/filter", "relay/position", "relay/schema", "relay/schema/ddl", "relay/schema/ddl/simple",
		"relay/event/tablemap", "relay/sqltext", "relay/half", "relay/outage", "relay/pace", "relay/rekey",
	},
	"mqstarter/message":         {"relay/event", "relay/position"},
	"mqstarter/kafka/positions": {"mqstarter/kafka/refusal", "relay/position"},
	"mqstarter/kafka":           {"mqstarter/kafka/dial", "mqstarter/kafka/login", "mqstarter/kafka/positions", "mqstarter/kafka/refusal", "mqstarter/kafka/settings", "mqstarter/kafka/tail", "mqstarter/kafka/topics", "mqstarter/message", "relay/position"},
	// opens connections that nothing is written to without leave
	"mqstarter/kafka/dial": {},
	// tells what a cluster refuses from what it cannot do now
	"mqstarter/kafka/refusal": {"mqstarter/kafka/login"},
	// asks which topics there are, and looks after those that are waited for
	"mqstarter/kafka/topics": {"mqstarter/kafka/refusal"},
	// asks brokers how they are set up
	"mqstarter/kafka/settings": {},
	// reads the ends of partitions
	"mqstarter/kafka/tail":        {"mqstarter/message"},
	"mqstarter/kafka/schematopic": {"mqstarter/kafka", "mqstarter/kafka/refusal", "mqstarter/kafka/settings", "relay/position", "relay/schema"},
	// decides between readers' record and the cursor
	"mqstarter/resume": {"relay/position"},
	// finds the records that readers have from an earlier term
	"mqstarter/repeats": {"metrics", "mqstarter/message", "relay/event", "relay/position"},
	// what becomes of changes that are too large
	"mqstarter/oversize":          {},
	"mqstarter/kafka/topicreader": {"mqstarter/kafka"},
	"mqstarter": {
		"metrics", "mqstarter/message", "mqstarter/oversize", "mqstarter/repeats", "mqstarter/resume", "mqstarter/route", "mqstarter/target", "relay/event", "relay/position",
	},
}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func projectPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range projectPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "deploy/") {
			continue
		}
		want, known := allowed[name]
		if !known {
			t.Errorf("%s is not in the list of packages: a new one needs a sentence that says what it is for", name)
			continue
		}
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(want, own) {
				t.Errorf("%s imports %s, against the direction of imports", name, own)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	var functions []int
	for _, p := range projectPackages(t) {
		total := 0
		for _, file := range p.GoFiles {
			path := filepath.Join(p.Dir, file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(text), "// Code generated") {
				continue
			}
			lines := strings.Count(string(text), "\n")
			total += lines
			if lines > maxFile {
				t.Errorf("%s has %d lines, more than %d", path, lines, maxFile)
			}
			functions = append(functions, functionLengths(t, path, text)...)
		}
		if total > maxPackage {
			t.Errorf("%s has %d lines, more than %d", p.ImportPath, total, maxPackage)
		}
	}
	sort.Ints(functions)
	if p90 := functions[len(functions)*9/10]; p90 > maxFunctionP90 {
		t.Errorf("nine of ten functions have up to %d lines, more than %d", p90, maxFunctionP90)
	}
}

func functionLengths(t *testing.T, path string, text []byte) []int {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int
	ast.Inspect(file, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			return true
		}
		n1, n2 := set.Position(f.Pos()).Line, set.Position(f.End()).Line
		if n2-n1+1 > maxFunction {
			t.Errorf("%s:%d: %s has %d lines, more than %d", path, n1, f.Name.Name, n2-n1+1, maxFunction)
		}
		lengths = append(lengths, n2-n1+1)
		return false
	})
	return lengths
}

// wallClock matches a duration that is taken from the wall clock: such a time has lost its monotonic reading.
var wallClock = regexp.MustCompile(`time\.(Since|Until)\(time\.Unix|time\.Now\(\)\.UnixNano\(\)|time\.Now\(\)\.(Round|Truncate|UTC|Local|In)\([^\n]*\.(Add|Sub|Before|After)\(`)

// ofOthers are files with times that others set, or that are shown.
var ofOthers = map[string]string{
	"relay/assemble.go":      "the age of an event, by the source's clock",
	"metrics/destination.go": "clocks that are shown, and the age of an event",
}

// TestDurationsAreMonotonic: a wall clock that is set shortens and prolongs nothing.
func TestDurationsAreMonotonic(t *testing.T) {
	for _, p := range projectPackages(t) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			path := strings.TrimPrefix(p.ImportPath+"/"+name, module)
			if ofOthers[path] != "" || strings.HasPrefix(path, "deploy/") {
				continue
			}
			for i, line := range strings.Split(string(text), "\n") {
				if wallClock.MatchString(line) {
					t.Errorf("%s:%d: a duration of the wall clock: %s", path, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
