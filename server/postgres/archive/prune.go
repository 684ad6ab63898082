package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rail/server/postgres/embedded"
)

// Prune removes what no moment from oldest on needs: of the newest history base backups but the last
// one before it, and the WAL before what stays. An older history stays whole until the one
// that follows it reaches back so far: whoever has restored from it may want another moment.
func Prune(dir string, oldest time.Time) error {
	all, err := bases(dir)
	if err != nil {
		return err
	}
	of, histories := map[string][]Base{}, []string{} // in the order of their first base backups
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

// shorten removes what a history does not need.
func shorten(history string, own []Base, oldest time.Time) error {
	first := 0
	for i, b := range own {
		if !b.Ended.After(oldest) {
			first = i
		}
	}
	var err error
	for _, b := range own[:first] {
		// What makes it whole goes first: half a backup must not look like one.
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

// sweep removes base backups that were not finished.
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
