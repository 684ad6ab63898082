// Package archive stores base backups of a private cluster and all WAL from the first one on, from
// which the cluster can be restored to any moment. PostgreSQL writes both.
//
// An archive has a folder for each history of a cluster: a period of WAL without a gap. A restored
// cluster begins a new history, so that no cluster overwrites another's files, and a moment belongs
// to one history:
//
//	20261123T135200.000Z/wal/000000010000000000000003.gz
//	20261123T135200.000Z/base/20261123T135201.000Z/base.tar.gz
//	20261123T135200.000Z/base/20261123T135201.000Z/rail.json
//
// rail.json is written last: a base backup without it is incomplete.
package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rail/server/postgres/backup"
	"rail/server/postgres/embedded"
)

// stamp is the time format of folder names.
const stamp = "20060102T150405.000Z"

// ErrNoMoment means that the archive does not contain the requested moment.
var ErrNoMoment = errors.New("the archive does not contain that moment")

// Manifest describes a base backup.
type Manifest struct {
	Rail string `json:"rail"`
	// Began and Ended are the times of the backup. It cannot restore moments before its end.
	Began time.Time `json:"began_at"`
	Ended time.Time `json:"ended_at"`
	// FirstWAL is the file with which recovery begins, LastWAL a file with a commit after Began.
	FirstWAL string `json:"first_wal"`
	LastWAL  string `json:"last_wal"`
	// Fingerprints identify the secret keys that the rows depend on.
	Fingerprints []string           `json:"key_fingerprints"`
	Keys         *backup.SealedKeys `json:"keys,omitempty"` // nil if they were omitted
}

// Base is a base backup with the WAL that follows it in its history.
type Base struct {
	Manifest
	history string
	dir     string
	wal     wal
}

// Range is the period to which one base backup can be restored.
type Range struct {
	Base  string    `json:"base"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Bytes int64     `json:"bytes"`
	Key   bool      `json:"holds_key"`
	// Missing is the absent WAL file that cuts the range short, or "".
	Missing string `json:"missing,omitempty"`
}

// List returns the ranges of an archive, the oldest first.
func List(dir string) ([]Range, error) {
	all, err := bases(dir)
	out := make([]Range, 0, len(all))
	for i, b := range all {
		r := b.Range()
		if next := i + 1; next < len(all) && all[next].history == b.history && all[next].Ended.Before(r.To) {
			r.To, r.Missing = all[next].Ended, ""
		}
		out = append(out, r)
	}
	return out, err
}

// Range returns the range of the backup, regardless of later ones.
func (b Base) Range() Range {
	r := Range{Base: b.dir, From: b.Ended, To: b.wal.reaches(), Key: b.Keys != nil, Missing: b.wal.missing}
	if st, err := os.Stat(b.tar()); err == nil {
		r.Bytes = st.Size()
	}
	return r
}

// bases returns the complete base backups of an archive in the order of their ends.
func bases(dir string) ([]Base, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(escaped(dir), "*", "base", "*", "rail.json"))
	var out []Base
	for _, path := range found {
		b, one := read(path)
		err = errors.Join(err, one)
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Base) int { return a.Ended.Compare(b.Ended) })
	return out, err
}

// read reads the rail.json of a base backup, and the names of the WAL files that follow it.
func read(path string) (b Base, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(raw, &b.Manifest); err != nil {
		return b, fmt.Errorf("%w: %s: %w", backup.ErrDamaged, path, err)
	}
	b.dir = filepath.Dir(path)
	b.history = filepath.Dir(filepath.Dir(b.dir))
	b.wal, err = following(embedded.WAL(b.history), b.FirstWAL)
	return b, err
}

// Folder returns the folder of the base backup.
func (b Base) Folder() string { return b.dir }

// Files returns the number of WAL files to restore after it.
func (b Base) Files() int { return len(b.wal.files) }

// tar returns the path of the archive of the cluster's files.
func (b Base) tar() string { return filepath.Join(b.dir, "base.tar.gz") }

// Choose returns the base backup and the WAL for restoring a moment, or the last moment if it is
// zero. It fails with ErrNoMoment.
func Choose(dir string, to time.Time) (Base, error) {
	all, err := bases(dir)
	if err != nil {
		return Base{}, err
	}
	if len(all) == 0 {
		return Base{}, fmt.Errorf("%w: there is no whole base backup in %s", ErrNoMoment, dir)
	}
	at := len(all) - 1
	if to.IsZero() {
		return all[at], all[at].wal.gap("to restore to the last moment before it, give --to")
	}
	for at >= 0 && all[at].Ended.After(to) {
		at--
	}
	if at < 0 {
		return Base{}, fmt.Errorf("%w: it begins at %s", ErrNoMoment, show(all[0].Ended))
	}
	return all[at], all[at].upTo(to, all[at+1:])
}

// upTo drops WAL after the next base backup of the history, which a moment does not need, and
// refuses a moment after the last file.
func (b *Base) upTo(to time.Time, later []Base) error {
	for _, next := range later {
		if next.history == b.history && next.Began.After(to) && b.wal.end(next.LastWAL) {
			return nil
		}
	}
	if !b.wal.reaches().Before(to) {
		return nil
	}
	return cmp.Or(b.wal.gap("give an earlier --to"),
		fmt.Errorf("%w: from %s it reaches to %s, which it is restored to without --to", ErrNoMoment, show(b.Ended),
			show(b.wal.reaches())))
}

// show formats a moment for --to.
func show(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// escaped escapes a folder's name for a glob pattern.
func escaped(dir string) string {
	var out []rune
	for _, r := range dir {
		if slices.Contains([]rune{'*', '?', '[', '\\'}, r) {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// Newest returns the start of the last base backup of a history, or zero.
func Newest(history string) (time.Time, error) {
	// The names are times, so they are in order.
	found, err := filepath.Glob(filepath.Join(escaped(embedded.Bases(history)), "*", "rail.json"))
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return time.Parse(stamp, filepath.Base(filepath.Dir(found[len(found)-1])))
}
