package typescript

import (
	"bytes"
	"maps"
	"regexp"
)

// release is the form of a version that npm reads. The rest after the number names a commit after the release.
var release = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)$`)

// Version returns a release's version as npm reads it: v1.2.3 is 1.2.3, and a commit without a release is 0.0.0 with
// its name.
func Version(version string) string {
	if m := release.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0-" + regexp.MustCompile(`[^0-9A-Za-z-]+`).ReplaceAllString(version, "-")
}

// Package returns the files of an archive for npm, with the version of a release.
func Package(files map[string][]byte, version string) map[string][]byte {
	out := maps.Clone(files)
	for name, quote := range map[string]string{"package.json": `"`, "version.js": "'"} {
		out[name] = bytes.Replace(files[name], []byte(quote+develop+quote), []byte(quote+Version(version)+quote), 1)
	}
	return out
}
