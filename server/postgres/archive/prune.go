package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rail/server/postgres/embedded"
)

// Prune removes the files that no moment from oldest on needs. In the newest history it keeps the
// last base backup before oldest, later ones, and their WAL. An older history stays complete until
// the next one reaches back to oldest, so that the operator can restore another moment of it.
func Prune(dir string, oldest time.Time) error {
	all, err := bases(dir)
	if err != nil {
		return err
	}
	of, histories := map[string][]Base{}, []string{} // by their first base backups
	for _, b := range all {
		if of[b.history] == nil {
			histories = append(histories, b.history)
		}
		of[b.history] = append(of[b.history], b)
	}
	for i, history := range histories {
		own := of[history]
		last := own[len(own)-1]
		switch {
		case i == len(histories)-1:
			err = errors.Join(err, shorten(history, own, oldest))
		case of[histories[i+1]][0].Ended.Before(oldest) && last.Ended.Before(oldest) && last.wal.reaches().Before(oldest):
			err = errors.Join(err, os.RemoveAll(history))
		}
	}
	return err
}

// shorten removes the files that a history does not need.
func shorten(history string, own []Base, oldest time.Time) error {
	first := 0
	for i, b := range own {
		if !b.Ended.After(oldest) {
			first = i
		}
	}
	var err error
	for _, b := range own[:first] {
		// Remove rail.json first: a partial backup must not look complete.
		err = errors.Join(err, os.Remove(filepath.Join(b.dir, "rail.json")), os.RemoveAll(b.dir))
	}
	entries, read := os.ReadDir(embedded.WAL(history))
	for _, e := range entries {
		if packed.MatchString(e.Name()) && e.Name() < own[first].FirstWAL {
			err = errors.Join(err, os.Remove(filepath.Join(embedded.WAL(history), e.Name())))
		}
	}
	return errors.Join(err, read)
}

// sweep removes incomplete base backups.
func sweep(history string) error {
	entries, err := os.ReadDir(embedded.Bases(history))
	for _, e := range entries {
		dir := filepath.Join(embedded.Bases(history), e.Name())
		if _, whole := os.Stat(filepath.Join(dir, "rail.json")); errors.Is(whole, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}
