// Package queries holds the SQL from which sqlc generates gen/db; it has no Go
// code, only a test that every statement is bound to its organization.
package queries
