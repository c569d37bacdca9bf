// Package words knows the words of column types.
package words
