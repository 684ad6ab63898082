package archive

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rail/server/postgres/backup"
)

// segment is the size of a WAL file, which initdb sets.
const segment = 16 << 20

// packed matches the name of a WAL file in an archive.
var packed = regexp.MustCompile(`^[0-9A-F]{24}\.gz$`)

// wal is a sequence of WAL files without a gap.
type wal struct {
	dir   string
	files []string
	// missing is the file after the last one, if later ones exist, or "".
	missing string
}

// name returns the name of the WAL file with a position of a timeline.
func name(timeline uint32, position uint64) string {
	n := position / segment
	return fmt.Sprintf("%08X%08X%08X", timeline, n>>8, n&0xff)
}

// next returns the name of the next file.
func next(of string) string {
	timeline, _ := strconv.ParseUint(of[:8], 16, 32) // packed has matched
	high, _ := strconv.ParseUint(of[8:16], 16, 32)
	low, _ := strconv.ParseUint(of[16:], 16, 32)
	return name(uint32(timeline), (high<<8+low+1)*segment)
}

// following returns the files of a folder from the first one up to a gap.
func following(dir, first string) (wal, error) {
	w := wal{dir: dir, missing: first}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return w, err
	}
	for _, e := range entries {
		of := strings.TrimSuffix(e.Name(), ".gz")
		if !packed.MatchString(e.Name()) || of < first || of[:8] != first[:8] {
			continue
		}
		if of != w.missing {
			return w, nil
		}
		w.files, w.missing = append(w.files, of), next(of)
	}
	if len(w.files) > 0 {
		w.missing = ""
	}
	return w, nil
}

// reaches returns the time of the last record, which is the modification time of its file.
func (w *wal) reaches() time.Time {
	if len(w.files) == 0 {
		return time.Time{}
	}
	st, err := os.Stat(filepath.Join(w.dir, w.files[len(w.files)-1]+".gz"))
	if err != nil {
		return time.Time{}
	}
	return st.ModTime().UTC()
}

// end drops the files after last, if it exists.
func (w *wal) end(last string) bool {
	at := slices.Index(w.files, last)
	if at >= 0 {
		w.files, w.missing = w.files[:at+1], ""
	}
	return at >= 0
}

// gap returns an error with advice if a file between others is missing, or nil.
func (w *wal) gap(advice string) error {
	if w.missing == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is missing, so it reaches to %s; put the file back, or %s", ErrNoMoment,
		filepath.Join(w.dir, w.missing+".gz"), show(w.reaches()), advice)
}

// unpack writes the files into a folder.
func (w *wal) unpack(into string, progress backup.Progress) error {
	for i, name := range w.files {
		progress("WAL", int64(i)*segment)
		if err := w.unpackOne(name, filepath.Join(into, name)); err != nil {
			return err
		}
	}
	return nil
}

// unpackOne writes one file and checks its size: a truncated file would silently end a recovery
// early.
func (w *wal) unpackOne(name, to string) (err error) {
	from := filepath.Join(w.dir, name+".gz")
	raw, err := os.Open(from)
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	plain, err := gzip.NewReader(raw)
	var n int64
	if err == nil {
		n, err = io.Copy(out, io.LimitReader(plain, segment+1))
	}
	if err == nil && n != segment {
		err = fmt.Errorf("it has %d bytes", n)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", backup.ErrDamaged, from, err)
	}
	return nil
}
