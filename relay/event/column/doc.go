// Package column appends the text of one column's value, from the bytes that
// stand for it in a row image: numbers, decimals, dates and times as Canal's
// consumers read them. It knows nothing of rows, tables or messages.
package column
