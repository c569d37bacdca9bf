package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// idlers is how many idle destinations a node has beside the first.
const idlers = 20

// settling is how long a node is left alone before its memory is read.
const settling = 15 * time.Second

// idle measures the resident memory of a node whose destinations have nothing
// to do, with one of them and with many.
func (b *bench) idle(ctx context.Context) error {
	conn, err := b.stack.Admin("mysql")
	if err != nil {
		return err
	}
	defer conn.Close()
	from, err := local.End(conn)
	if err != nil {
		return err
	}
	fmt.Printf("%-8s %-14s %16s %21s %12s\n", "idle", "delivery", "one destination", fmt.Sprintf("%d more", idlers), "each of them")
	for _, mode := range b.modes {
		var size [2]float64
		for i, more := range []int{0, idlers} {
			n, err := b.start(ctx, "idle", mode, from, more)
			if err != nil {
				return err
			}
			select {
			case <-time.After(settling):
			case <-ctx.Done():
				return ctx.Err()
			}
			if size[i], err = resident(n.PID()); err != nil {
				return err
			}
			if err := n.stop(); err != nil {
				return err
			}
			if err := n.end(); err != nil {
				return err
			}
		}
		fmt.Printf("%-8s %-14s %13.1f MB %18.1f MB %9.2f MB\n", "", mode, size[0], size[1], (size[1]-size[0])/idlers)
	}
	return nil
}

// resident is the memory of a process in MB of a million bytes.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of process %d is %q", pid, text)
	}
	pages, err := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / 1e6, err
}
