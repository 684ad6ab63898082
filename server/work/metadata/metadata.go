// Package metadata checks fields with arbitrary JSON objects of the caller: metadata, answers and payout
// details.
package metadata

import (
	"bytes"
	"encoding/json"

	"rail/server/problem"
)

// Limits of an object (decisions, 188).
const (
	maxKeys  = 50
	maxBytes = 16 << 10
	maxDepth = 5
)

// Check refuses values other than an object of at most 50 keys, 16 KiB and 5 levels without empty keys. Absent
// and null pass. It returns nil or a *problem.Error that names param.
func Check(raw json.RawMessage, param string) error {
	if Absent(raw) {
		return nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return problem.Invalid(param, "%s must be an object.", param)
	}
	if len(top) > maxKeys {
		return problem.Invalid(param, "%s has more than %d keys.", param, maxKeys)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Len() > maxBytes {
		return problem.Invalid(param, "%s is larger than 16 KiB.", param)
	}
	deepest, emptyKey := survey(compact.Bytes())
	if deepest > maxDepth {
		return problem.Invalid(param, "%s is nested deeper than %d levels.", param, maxDepth)
	}
	if emptyKey {
		return problem.Invalid(param, "%s has an empty key.", param)
	}
	return nil
}

// survey scans compact JSON for its deepest level and for an empty key: only member names are followed by a
// colon.
func survey(compact []byte) (deepest int, emptyKey bool) {
	depth, opened := 0, -1 // opened is the start of the current string
	for i := 0; i < len(compact); i++ {
		switch b := compact[i]; {
		case opened >= 0 && b == '\\':
			i++
		case opened >= 0 && b == '"':
			emptyKey = emptyKey || i == opened+1 && i+1 < len(compact) && compact[i+1] == ':'
			opened = -1
		case opened >= 0:
		case b == '"':
			opened = i
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest, emptyKey
}

// Absent reports whether raw is missing or null; on a create both mean the same (decisions, 222).
func Absent(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// Stored returns the stored form of raw: the text as given, or nil.
func Stored(raw json.RawMessage) []byte {
	if Absent(raw) {
		return nil
	}
	return raw
}
