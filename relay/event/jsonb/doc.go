// Package jsonb appends the text of a MySQL JSON value from its binary form,
// straight, without building the document.
//
// The form is that of MySQL's sql-common/json_binary.h: a type byte, then the
// value. Objects and arrays hold an element count, their size in bytes, for
// objects an offset and a length per key, and per element its type with its
// offset or, where it fits, the value itself. Counts, sizes and offsets have two
// bytes in the small form and four in the large one.
package jsonb
