package verify

import _ "embed"

// Source is the source of this package. The Go client contains it, so that a receiver needs no other module.
//
//go:embed verify.go
var Source string
