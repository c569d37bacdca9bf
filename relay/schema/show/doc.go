// Package show tells how a column type reads in SHOW CREATE TABLE.
package show
