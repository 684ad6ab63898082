package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/cmd/clients/typescript"
)

// packed returns the archives of a release by their names.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, pack("v1.2.3", dir, time.Unix(1_700_000_000, 0)))
	files, err := contents(os.DirFS(dir))
	require.NoError(t, err)
	return files
}

// TestPack packs the clients of a release twice into the same bytes, with their licences and versions.
func TestPack(t *testing.T) {
	t.Chdir("../..")
	archives := packed(t)
	require.Equal(t, archives, packed(t))
	files := unpacked(t, archives["rail-client-1.2.3.tgz"])
	require.Contains(t, string(files["package/LICENSE"]), "Apache License")
	require.Contains(t, files, "package/runtime.js")
	var manifest struct{ Name, Version string }
	require.NoError(t, json.Unmarshal(files["package/package.json"], &manifest))
	require.Equal(t, "1.2.3", manifest.Version)
	require.Contains(t, string(files["package/version.js"]), "release = '1.2.3'")
	files = unpacked(t, archives["rail-client-go-v1.2.3.tar.gz"])
	require.Contains(t, string(files["rail-client-go/LICENSE"]), "Apache License")
	require.Contains(t, string(files["rail-client-go/runtime.go"]), `Release = "1.2.3"`)
	require.Contains(t, string(files["rail-client-go/go.mod"]), "module rail/client")
	wheel := archives["rail_client-1.2.3-py3-none-any.whl"]
	r, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	require.NoError(t, err)
	files, err = contents(r)
	require.NoError(t, err)
	require.Contains(t, string(files["rail_client-1.2.3.dist-info/LICENSE"]), "Apache License")
	require.Contains(t, string(files["rail_client/_runtime.py"]), `"1.2.3"`)
}

func unpacked(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		files[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
}

// TestPackedTypeScriptInstalls installs the archive as npm does, and loads the client.
func TestPackedTypeScriptInstalls(t *testing.T) {
	t.Chdir("../..")
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: the archive for it is not installed")
	}
	dir := t.TempDir()
	const name = "rail-client-1.2.3.tgz"
	require.NoError(t, save(filepath.Join(dir, name), packed(t)[name]))
	require.NoError(t, save(filepath.Join(dir, "package.json"), []byte(`{"type": "module", "private": true}`)))
	for _, command := range [][]string{
		{"npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "./" + name},
		{"node", "--input-type=module", "-e", "import { Rail } from 'rail-client'; new Rail({ baseURL: 'http://rail.test' })"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func TestVersionsForNpm(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-4-gabc": "1.2.3-4-gabc", "abc": "0.0.0-abc", "a/b dirty": "0.0.0-a-b-dirty",
	} {
		require.Equal(t, want, typescript.Version(version), version)
	}
}
