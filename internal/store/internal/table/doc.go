// Package table keeps trees of sessions as rows: what the dialects of SQL have in common. It has the columns, the
// statements of a store.Tx, and how the functions given to Update are run in groups; a dialect has its connections,
// its schema, who owns what, and what its errors mean.
package table
