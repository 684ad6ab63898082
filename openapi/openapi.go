// Package openapi has the bundled description of the API.
package openapi

import _ "embed"

// Bundle is the description as it is served, validated against and generated
// from: OpenAPI 3.1 as JSON.
//
//go:embed bundle.json
var Bundle []byte
