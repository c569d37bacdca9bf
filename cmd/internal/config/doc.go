// Package config turns Canal's configuration files into the Config values of
// the packages that do the work. It is the only place that knows property
// names: every one of them stands in the table of Keys, with what becomes of it.
//
// Load reads canal.properties and the instance.properties of every destination
// and judges all that can be judged without a server. It never stops at the
// first problem: the error lists them all, each with file, line and remedy.
package config

import (
	"github.com/canal-relay/canal-relay/cmd/internal/config/problem"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

type (
	// Problem is one thing in the files that cannot work.
	Problem = problem.Problem
	// Problems is everything in the files that cannot work.
	Problems = problem.Problems
	// Finding is a key that was found, and what becomes of it.
	Finding = problem.Finding
	// Secret is a text that is never shown.
	Secret = security.Secret
)
