package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rail/server/postgres/backup"
)

// Unpack writes the cluster's files and the WAL into a folder.
func (b Base) Unpack(into string, progress backup.Progress) error {
	if err := b.unpackBase(into, progress); err != nil {
		return err
	}
	return b.wal.unpack(filepath.Join(into, "pg_wal"), progress)
}

// unpackBase writes the cluster's files. The sum at the end of the packed file is checked.
func (b Base) unpackBase(into string, progress backup.Progress) error {
	raw, err := os.Open(b.tar())
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // only read
	plain, err := gzip.NewReader(raw)
	if err == nil {
		err = extract(tar.NewReader(plain), into, progress)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, plain) //nolint:gosec // G110: nothing is kept
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", backup.ErrDamaged, b.tar(), err)
	}
	return nil
}

// extract writes the entries of an archive below a folder.
func extract(from *tar.Reader, into string, progress backup.Progress) error {
	var done int64
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%q is not a path in a cluster", h.Name)
		}
		progress("base backup", done)
		if err := write(h, from, filepath.Join(into, h.Name)); err != nil { //nolint:gosec // G305: it is local
			return err
		}
		done += h.Size
	}
}

// write writes one entry. A cluster of Rail has only folders and files.
func write(h *tar.Header, from io.Reader, path string) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o700)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a folder", h.Name)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
