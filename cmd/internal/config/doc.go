// Package config turns Canal's configuration files into the Config values of
// the packages that do the work. It is the only place that knows property
// names: every one of them stands in the table of Keys, with what becomes of it.
//
// Load reads canal.properties and the instance.properties of every destination
// and judges all that can be judged without a server. It never stops at the
// first problem: the error lists them all, each with file, line and remedy.
package config
