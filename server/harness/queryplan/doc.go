// Package queryplan holds tests only: each list and count of the API, run on a large
// database, must find its rows by an index and look at few others.
package queryplan
