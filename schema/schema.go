// Package schema contains the database's migrations, embedded so that one binary
// can bring any database to the version it was built for.
package schema

import "embed"

// FS has the migrations at its root, named NNNNNN_name.up.sql and .down.sql. Those of releases never change:
// released.sum has their checksums.
//
//go:embed *.sql
var FS embed.FS
