package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
)

// writeScript returns Go source with the browser's script, which esbuild wrote beside it, and
// the two hashes of it that a page names.
func writeScript(minified []byte) []byte {
	short, long := sha256.Sum256(minified), sha512.Sum384(minified)
	var w bytes.Buffer
	w.WriteString(notice + `// Package script is the browser's script, minified from server/http/docs/script/rail.js.
package script

import _ "embed"

// Source is the script.
//
//go:embed rail.js
var Source []byte

`)
	fmt.Fprintf(&w, "// Hash is the beginning of the script's SHA-256, in hex.\nconst Hash = \"%x\"\n\n", short[:4])
	w.WriteString("// Integrity is the script's hash for the tag's integrity attribute.\n")
	fmt.Fprintf(&w, "const Integrity = \"sha384-%s\"\n", base64.StdEncoding.EncodeToString(long[:]))
	return w.Bytes()
}
