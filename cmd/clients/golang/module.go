package golang

import (
	_ "embed"
	"maps"
	"strings"
)

// Path is the import path of the released module. No file of the module imports it, so `go mod edit -module` publishes
// it under another.
const Path = "rail/client"

// goMod is the module's go.mod. 1.24 has `omitzero` of encoding/json.
const goMod = "module " + Path + "\n\ngo 1.24\n"

//go:embed README.md
var readme []byte

// Module returns the files of the client as a separate module: with go.mod, a README and the version of the release.
func Module(files map[string][]byte, version string) map[string][]byte {
	out := maps.Clone(files)
	source := strings.Replace(string(files["runtime.go"]), `"0.0.0-dev"`, `"`+strings.TrimPrefix(version, "v")+`"`, 1)
	out["runtime.go"], out["go.mod"], out["README.md"] = []byte(source), []byte(goMod), readme
	return out
}
