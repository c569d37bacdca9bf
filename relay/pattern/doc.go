// Package pattern matches names against the regular expressions of Canal's
// settings as the Perl5 engine of Jakarta ORO does, which Canal uses: table
// filters, topic and partition rules. Patterns are translated once, to RE2
// where it can hold them, else to a backtracking engine with a time limit.
package pattern
