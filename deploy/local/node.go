package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Conf is a configuration folder to write: Canal's two files.
type Conf struct {
	Server       map[string]string            // canal.properties
	Destinations map[string]map[string]string // instance.properties by destination

	Detached bool // a node started with it outlives the process that started it
}

// Write writes the folder, which is made if need be.
func (c Conf) Write(dir string) error {
	names := make([]string, 0, len(c.Destinations))
	for name := range c.Destinations {
		names = append(names, name)
	}
	sort.Strings(names)
	server := map[string]string{"canal.serverMode": "kafka", "canal.destinations": strings.Join(names, ",")}
	for k, v := range c.Server {
		server[k] = v
	}
	if err := writeProperties(filepath.Join(dir, "canal.properties"), server); err != nil {
		return err
	}
	for _, name := range names {
		if err := writeProperties(filepath.Join(dir, name, "instance.properties"), c.Destinations[name]); err != nil {
			return err
		}
	}
	return nil
}

func writeProperties(path string, values map[string]string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var text strings.Builder
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(&text, "%s = %s\n", k, strings.ReplaceAll(values[k], `\`, `\\`))
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}

// Node is a running process of the relay.
type Node struct {
	Dir     string // its configuration folder
	Address string // its identity in ZooKeeper
	HTTP    string // host:port of metrics and page

	cmd  *exec.Cmd
	done chan struct{}
	err  error
	peak int64 // largest resident size in bytes, as last seen
}

// StartNode writes a configuration for one node below dir and starts the
// binary on it. The node gets free ports of its own; what it logs goes to log.
func StartNode(bin, dir string, c Conf, log io.Writer) (*Node, error) {
	identity, err := FreePort()
	if err != nil {
		return nil, err
	}
	web, err := FreePort()
	if err != nil {
		return nil, err
	}
	own := map[string]string{"canal.ip": "127.0.0.1", "canal.register.ip": "127.0.0.1",
		"canal.port": fmt.Sprint(identity), "canal.metrics.pull.port": fmt.Sprint(web)}
	for k, v := range c.Server {
		own[k] = v
	}
	c.Server = own
	if err := c.Write(dir); err != nil {
		return nil, fmt.Errorf("write the node's configuration: %w", err)
	}
	n := &Node{Dir: dir, Address: fmt.Sprintf("127.0.0.1:%d", identity), HTTP: fmt.Sprintf("127.0.0.1:%d", web), done: make(chan struct{})}
	n.cmd = exec.Command(bin, "serve", "--conf", dir)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.Detached {
		n.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	go func() {
		n.err = n.cmd.Wait()
		close(n.done)
	}()
	return n, nil
}

// PID is the process's number.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Signal sends the process a signal.
func (n *Node) Signal(s syscall.Signal) error { return n.cmd.Process.Signal(s) }

// Done is closed when the process has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// Stop ends the process with a signal and waits for it, at most for limit.
func (n *Node) Stop(s syscall.Signal, limit time.Duration) error {
	select {
	case <-n.done:
		return n.err
	default:
	}
	n.lookAtPeak()
	if err := n.Signal(s); err != nil {
		return err
	}
	over := time.After(limit)
	for {
		select {
		case <-n.done:
			return n.err
		case <-time.After(10 * time.Millisecond):
			n.lookAtPeak()
		case <-over:
			_ = n.cmd.Process.Kill()
			<-n.done
			return fmt.Errorf("the node did not end within %v of %v", limit, s)
		}
	}
}

// lookAtPeak reads the largest resident size of the process, while there is one.
func (n *Node) lookAtPeak() {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err == nil {
		n.peak = kib << 10
	}
}

// Usage is what a stopped process has used: CPU time of user and system, and
// its largest resident size in bytes. The latter is not taken from wait4: that
// one begins with the size of the process that started it.
func (n *Node) Usage() (cpu time.Duration, peak int64) {
	state := n.cmd.ProcessState
	return state.UserTime() + state.SystemTime(), n.peak
}

// Status asks the node for its destinations.
func (n *Node) Status(ctx context.Context) ([]byte, error) { return n.Get(ctx, "/status") }

// Get fetches a page of the node.
func (n *Node) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return body, err
}

// Active reports whether the node is the active one of a destination.
func (n *Node) Active(ctx context.Context, destination string) bool {
	body, err := n.Status(ctx)
	if err != nil {
		return false
	}
	var all struct {
		Destinations []struct{ Destination, State string }
	}
	if json.Unmarshal(body, &all) != nil {
		return false
	}
	for _, d := range all.Destinations {
		if d.Destination == destination {
			return d.State == "active"
		}
	}
	return false
}

// WaitActive waits until one of the nodes is active for the destination.
func WaitActive(ctx context.Context, destination string, nodes ...*Node) (*Node, error) {
	for {
		for _, n := range nodes {
			if n.Active(ctx, destination) {
				return n, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("no node became active for " + destination)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// handedOut are the ports that FreePort has returned, which nobody may listen on yet, or ever.
var handedOut sync.Map

// FreePort is a loopback port that nobody listens on and that this process has
// not had before. It lies below those that the kernel gives to connections, so
// that none takes it before it is used, and below those of the stack's servers.
func FreePort() (int, error) {
	var last error
	for range 100 {
		port := 10000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if _, had := handedOut.LoadOrStore(port, true); !had {
			return port, nil
		}
		last = fmt.Errorf("port %d was handed out before", port)
	}
	return 0, fmt.Errorf("find a free port: %w", last)
}
