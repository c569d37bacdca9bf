// Package simple types statements as Canal's simple DDL parser does
// (canal.instance.filter.druid.ddl=false), under their tables' real names.
package simple
