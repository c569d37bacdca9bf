// Package rekey turns updates that change a primary key into a delete and an insert.
package rekey
