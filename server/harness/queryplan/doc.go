// Package queryplan explains the statements of generated queries for tests. Its own tests check that each list and count
// of the API finds its rows in a large database by an index, and reads few others.
package queryplan
