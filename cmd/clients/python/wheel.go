package python

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// release is the form of a release's version; the rest names a commit after it.
var release = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)(?:-(.+))?$`)

// Version returns a release's version as Python orders it: v1.2.3-4-gabc is 1.2.3+4.gabc, and a commit without a
// release is 0.0.0 with its name.
func Version(version string) string {
	number, rest := "0.0.0", version
	if m := release.FindStringSubmatch(version); m != nil {
		number, rest = m[1], m[2]
	}
	local := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(rest), "."), ".")
	if local == "" {
		return number
	}
	return number + "+" + local
}

// Package returns the files of the client with the version of a release.
func Package(files map[string][]byte, version string) map[string][]byte {
	out := maps.Clone(files)
	for _, name := range []string{"pyproject.toml", pkg + "/_runtime.py"} {
		out[name] = bytes.Replace(files[name], []byte(`"0.0.0.dev0"`), []byte(`"`+Version(version)+`"`), 1)
	}
	return out
}

// The files of a wheel beside the package.
const (
	wheelFile = "Wheel-Version: 1.0\nGenerator: rail\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	metadata  = "Metadata-Version: 2.1\nName: rail-client\nVersion: %s\n" +
		"Summary: The client of Rail, a self-hosted affiliate program service\nRequires-Python: >=3.9\n" +
		"License: Apache-2.0\nDescription-Content-Type: text/markdown\n\n%s"
)

// Wheel returns the name and the content of a wheel, which pip installs. The same files, version and time make the same
// bytes.
func Wheel(files map[string][]byte, version string, at time.Time) (name string, content []byte, err error) {
	files, version = Package(files, version), Version(version)
	info := pkg + "-" + version + ".dist-info/"
	packed := map[string][]byte{
		info + "METADATA": fmt.Appendf(nil, metadata, version, files["README.md"]), info + "WHEEL": []byte(wheelFile),
	}
	for path, source := range files {
		if path == "LICENSE" {
			packed[info+path] = source
		} else if strings.HasPrefix(path, pkg+"/") {
			packed[path] = source
		}
	}
	var out, record bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(path string, source []byte) error {
		header := zip.FileHeader{Name: path, Method: zip.Deflate, Modified: at.UTC()}
		f, err := w.CreateHeader(&header)
		if err == nil {
			_, err = f.Write(source)
		}
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(packed)) {
		sum := sha256.Sum256(packed[path])
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", path, base64.RawURLEncoding.EncodeToString(sum[:]), len(packed[path]))
		if err := add(path, packed[path]); err != nil {
			return "", nil, err
		}
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	if err := add(info+"RECORD", record.Bytes()); err != nil {
		return "", nil, err
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return pkg + "-" + version + "-py3-none-any.whl", out.Bytes(), nil
}
