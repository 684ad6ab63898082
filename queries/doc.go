// Package queries contains the SQL from which sqlc generates gen/db, and the
// declaration of the API's lists, from which cmd/lists generates theirs.
package queries
