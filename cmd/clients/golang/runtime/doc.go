// Package client is the hand-written part of the Go client. Package golang writes it to gen/client, beside the
// generated methods.
package client
