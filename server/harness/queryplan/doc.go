// Package queryplan has query plan tests only: each list and count of the API must
// find its rows in a large database by an index, and read few others.
package queryplan
