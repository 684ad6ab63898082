package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"rail/server/secret"
)

// maxText bounds the bytes read from an entry that is not a table's.
const maxText = 4 << 20

// source reads a backup and computes its checksum. The data is not verified before finish.
type source struct {
	file     *os.File
	packed   *zstd.Decoder
	tar      *tar.Reader
	sum      hash.Hash
	manifest Manifest
	entry    *tar.Header // the current one, nil after the last
	progress Progress
	read     int64
}

// open opens a backup, reads its manifest and stops at the first table.
func open(path string, progress Progress) (s *source, err error) {
	s = &source{sum: sha256.New(), progress: progress}
	if s.file, err = os.Open(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	// This bounds the window of a hostile file, not the size of the backup.
	if s.packed, err = zstd.NewReader(s.file, zstd.WithDecoderMaxMemory(256<<20)); err != nil {
		return s, err
	}
	s.tar = tar.NewReader(s.packed)
	if err := s.next(); err != nil || s.entry == nil || s.entry.Name != manifestName {
		return s, fmt.Errorf("%w: %s does not begin like a backup", ErrDamaged, path)
	}
	if err := s.text(&s.manifest); err != nil {
		return s, err
	}
	// Checked first, because the rest of the file depends on the format.
	if s.manifest.Format != format {
		return s, fmt.Errorf("the backup has the form %d, this program reads %d: a newer Rail made it", s.manifest.Format,
			format)
	}
	return s, s.next()
}

// close closes the file.
func (s *source) close() {
	if s.packed != nil {
		s.packed.Close()
	}
	_ = s.file.Close() // opened for reading only
}

// next goes to the next entry.
func (s *source) next() (err error) {
	s.entry, err = s.tar.Next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return damaged(err)
	}
	if s.entry.Name != proofName { // which covers only the entries before it
		count(s.sum, s.entry.Name, s.entry.Size)
	}
	return nil
}

// damaged wraps an error of the archive's format in ErrDamaged.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is truncated", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Read reads from the current entry, and adds to the checksum.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.tar.Read(p)
	s.sum.Write(p[:n])
	s.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	return n, err
}

// text reads the current entry as JSON.
func (s *source) text(into any) error {
	raw, err := io.ReadAll(io.LimitReader(s, maxText))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return damaged(err)
	}
	return nil
}

// table returns the table whose rows are in the current entry, or "".
func (s *source) table() string {
	if s.entry == nil {
		return ""
	}
	rest, ok := strings.CutPrefix(s.entry.Name, tablePrefix)
	name, _, _ := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return name
}

// rows reads the rows of one table over all its entries, as one stream for COPY.
type rows struct {
	*source
	of     string
	begun  int64
	failed error // the error that ended it early
}

// rows returns a reader of the table whose first entry is the current one.
func (s *source) rows(table string) *rows { return &rows{source: s, of: table, begun: s.read} }

// Read continues with the next entry as long as it belongs to the same table.
func (r *rows) Read(p []byte) (int, error) {
	for r.table() == r.of {
		n, err := r.source.Read(p)
		// The end of an entry, perhaps not of the table.
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if n == 0 && err == nil {
			r.progress(r.of, r.read-r.begun)
			err = r.next()
		}
		if n > 0 || err != nil {
			r.failed = err
			return n, err
		}
	}
	return 0, io.EOF
}

// finish reads the entries after the tables, and checks the proof over all entries. Only then are
// the rows verified.
func (s *source) finish(keeper *secret.Keeper) (e end, err error) {
	if s.entry == nil || s.entry.Name != endName {
		return e, fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	if err := s.text(&e); err != nil {
		return e, err
	}
	if err := s.next(); err != nil {
		return e, err
	}
	// Take the sum before reading the proof, which is not part of it.
	if s.entry == nil || s.entry.Name != proofName {
		return e, fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	want := proven(s.sum)
	proof, err := io.ReadAll(io.LimitReader(s.tar, maxText))
	if err != nil {
		return e, damaged(err)
	}
	if !keeper.Marked(want, string(bytes.TrimSpace(proof))) {
		return e, fmt.Errorf("%w: its proof does not match", ErrDamaged)
	}
	if err := s.next(); err != nil || s.entry != nil {
		return e, fmt.Errorf("%w: something follows its end", ErrDamaged)
	}
	return e, nil
}

// Describe reads the manifest of a backup. It verifies nothing: call Check before relying on it.
func Describe(path string) (Manifest, error) {
	s, err := open(path, nil)
	if err != nil {
		return Manifest{}, err
	}
	s.close()
	return s.manifest, nil
}

// Check reads the whole backup, and fails with ErrDamaged unless a program with the same secret key
// wrote it and it is unchanged.
func Check(ctx context.Context, path string, keeper *secret.Keeper, progress Progress) error {
	s, err := open(path, progress)
	if err != nil {
		return err
	}
	defer s.close()
	// Each reader leaves the source at the next table.
	for t := s.table(); t != ""; t = s.table() {
		if _, err := io.Copy(io.Discard, s.rows(t)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	_, err = s.finish(keeper)
	return err
}
