//go:build stack

package zktest_test

import (
	"os"
	"testing"
)

// TestStackAnswers runs the script of TestAnswers against a real ZooKeeper.
func TestStackAnswers(t *testing.T) { script(t, os.Getenv("CANAL_RELAY_ZOOKEEPER")) }
