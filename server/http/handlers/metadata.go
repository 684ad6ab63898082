package handlers

import (
	"bytes"
	"encoding/json"

	"rail/server/problem"
)

// The bounds of metadata (decisions, 188).
const (
	metadataKeys  = 50
	metadataBytes = 16 << 10
	metadataDepth = 5
)

// checkMetadata judges metadata that a body gives: an object of at most 50
// keys, 16 KiB and 5 levels, without empty keys. Absent and null pass.
func checkMetadata(raw json.RawMessage, param string) *problem.Error {
	if noMetadata(raw) {
		return nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return problem.Invalid(param, "%s must be an object.", param)
	}
	if len(top) > metadataKeys {
		return problem.Invalid(param, "%s has more than %d keys.", param, metadataKeys)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Len() > metadataBytes {
		return problem.Invalid(param, "%s is larger than 16 KiB.", param)
	}
	deepest, emptyKey := survey(compact.Bytes())
	if deepest > metadataDepth {
		return problem.Invalid(param, "%s is nested deeper than %d levels.", param, metadataDepth)
	}
	if emptyKey {
		return problem.Invalid(param, "%s has an empty key.", param)
	}
	return nil
}

// survey walks compact JSON for its deepest level and for a key without text:
// only member names are followed by a colon.
func survey(compact []byte) (deepest int, emptyKey bool) {
	depth, opened := 0, -1 // opened is where the text at hand began
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

// noMetadata tells whether metadata is absent or null; on a create both mean
// the same (decisions, 222).
func noMetadata(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// storedMetadata returns what is kept of metadata: the text as given, or nil.
func storedMetadata(raw json.RawMessage) []byte {
	if noMetadata(raw) {
		return nil
	}
	return raw
}
