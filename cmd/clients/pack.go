package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rail/cmd/clients/golang"
	"rail/cmd/clients/python"
	"rail/cmd/clients/typescript"
)

// archive is a file of a release.
type archive struct {
	name    string
	content []byte
}

// packers are the clients of a release: pack makes an archive of the files of a folder, with the licence.
var packers = []struct {
	folder string
	pack   func(files map[string][]byte, version string, at time.Time) (archive, error)
}{
	{"gen/clients/typescript", func(files map[string][]byte, version string, at time.Time) (archive, error) {
		content, err := tarball("package", typescript.Package(files, version), at)
		return archive{"rail-client-" + typescript.Version(version) + ".tgz", content}, err
	}},
	{"gen/clients/python", func(files map[string][]byte, version string, at time.Time) (archive, error) {
		name, content, err := python.Wheel(files, version, at)
		return archive{name, content}, err
	}},
	{"gen/client", func(files map[string][]byte, version string, at time.Time) (archive, error) {
		const name = "rail-client-go"
		content, err := tarball(name, golang.Module(files, strings.TrimPrefix(version, "v")), at)
		return archive{name + "-" + version + ".tar.gz", content}, err
	}},
}

// pack writes an archive of each client to a folder. The same files, version and time make the same bytes.
func pack(version, out string, at time.Time) error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for _, p := range packers {
		files, err := contents(os.DirFS(p.folder))
		if err != nil {
			return err
		}
		files["LICENSE"] = licence
		a, err := p.pack(files, version, at)
		if err != nil {
			return fmt.Errorf("%s: %w", p.folder, err)
		}
		if err := save(filepath.Join(out, a.name), a.content); err != nil {
			return err
		}
	}
	return nil
}

// contents returns the files of a folder by their paths.
func contents(folder fs.FS) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[name], err = fs.ReadFile(folder, name)
		return err
	})
	return out, err
}

// tarball returns files in a folder as a compressed archive.
func tarball(folder string, files map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Name: path.Join(folder, name), Mode: 0o644, Size: int64(len(files[name])), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
