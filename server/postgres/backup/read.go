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

// maxText bounds, in bytes, what is read of an entry that is not a table's.
const maxText = 4 << 20

// source is a backup that is being read, with the checksum of what was read. Nothing that it has read is proven before
// finish.
type source struct {
	file     *os.File
	packed   *zstd.Decoder
	tar      *tar.Reader
	sum      hash.Hash
	manifest Manifest
	entry    *tar.Header // the one at hand, nil after the last
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
	// A small file may unpack to a large one; this bounds the window, not the backup.
	if s.packed, err = zstd.NewReader(s.file, zstd.WithDecoderMaxMemory(256<<20)); err != nil {
		return s, err
	}
	s.tar = tar.NewReader(s.packed)
	if err := s.next(); err != nil || s.entry == nil || s.entry.Name != manifestName {
		return s, fmt.Errorf("%w: %s does not begin as a backup does", ErrDamaged, path)
	}
	if err := s.text(&s.manifest); err != nil {
		return s, err
	}
	// Checked first: the rest of the file means something else in another form.
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
	_ = s.file.Close() // it was only read
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
	if s.entry.Name != proofName { // which proves what is before it
		count(s.sum, s.entry.Name, s.entry.Size)
	}
	return nil
}

// damaged wraps an error of the archive's form in ErrDamaged.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut off", ErrDamaged)
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
	failed error // what ended it too early
}

// rows returns the reader of a table whose first entry is the current one.
func (s *source) rows(table string) *rows { return &rows{source: s, of: table, begun: s.read} }

// Read goes on with the next entry as long as that is of the same table.
func (r *rows) Read(p []byte) (int, error) {
	for r.table() == r.of {
		n, err := r.source.Read(p)
		// The end of an entry, not yet of the table.
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

// finish reads what follows the tables, and checks the proof over all that was
// read. Only then are the rows known to be those of the backup.
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
	// The sum is taken before the proof is read, which is not a part of it.
	if s.entry == nil || s.entry.Name != proofName {
		return e, fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	want := proven(s.sum)
	proof, err := io.ReadAll(io.LimitReader(s.tar, maxText))
	if err != nil {
		return e, damaged(err)
	}
	if !keeper.Marked(want, string(bytes.TrimSpace(proof))) {
		return e, fmt.Errorf("%w: it is not as it was written", ErrDamaged)
	}
	if err := s.next(); err != nil || s.entry != nil {
		return e, fmt.Errorf("%w: something follows its end", ErrDamaged)
	}
	return e, nil
}

// Describe reads the manifest of a backup. It proves nothing: use Check before relying on it.
func Describe(path string) (Manifest, error) {
	s, err := open(path, nil)
	if err != nil {
		return Manifest{}, err
	}
	s.close()
	return s.manifest, nil
}

// Check reads a backup from its beginning to its end, and fails with ErrDamaged
// where it is not as it was written by a program with the same secret key.
func Check(ctx context.Context, path string, keeper *secret.Keeper, progress Progress) error {
	s, err := open(path, progress)
	if err != nil {
		return err
	}
	defer s.close()
	// Each reader leaves the source at the first entry of the next table.
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
