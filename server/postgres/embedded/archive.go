package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
)

// archiveEvery is the longest time before a partial WAL file is archived: the loss if the data disk
// fails.
const archiveEvery = time.Minute

// archiveCommand compresses a WAL file under a temporary name, flushes it, and renames it, so that
// every name is a complete file. It never overwrites a file: PostgreSQL may archive one twice, and
// a different one belongs to another cluster. It keeps the file's time, which is that of its last
// record.
const archiveCommand = `d=%s; f="$d/%%f.gz"; if [ -e "$f" ]; then gzip -dc "$f" | cmp - "%%p"; ` +
	`else gzip -1c "%%p" >"$f.new" && touch -r "%%p" "$f.new" && sync "$f.new" && mv "$f.new" "$f"; fi && sync "$d"`

// archiving returns the settings of a server that archives into the cluster's history.
func archiving(history string) []string {
	quoted := "'" + strings.ReplaceAll(WAL(history), "'", `'\''`) + "'"
	return []string{
		"archive_mode=on", "archive_timeout=" + strconv.Itoa(int(archiveEvery.Seconds())),
		"archive_command=" + fmt.Sprintf(archiveCommand, strings.ReplaceAll(quoted, "%", "%%")),
	}
}

// WAL returns the folder of a history that has the files of WAL.
func WAL(history string) string { return filepath.Join(history, "wal") }

// Bases returns the folder of a history that has its base backups.
func Bases(history string) string { return filepath.Join(history, "base") }

// History returns the folder that the cluster archives into, or "" without an archive. A history
// has no gap: a cluster that was restored, or ran without an archive, begins a new one.
func (s *Server) History() (string, error) { return layout{dir: s.options.Dir}.history() }

// history reads the folder's name from its file.
func (l layout) history() (string, error) {
	noted, err := os.ReadFile(l.note())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(noted), err
}

// note returns the file with the folder's name, which is not part of a base backup.
func (l layout) note() string { return filepath.Join(l.dir, "archive.history") }

// forget removes the note, so that the next start with an archive begins a new history.
func (l layout) forget() error {
	if err := os.Remove(l.note()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// continues returns the settings for archiving into the cluster's current history, even if its
// folder is unavailable: PostgreSQL then retains its files. Without a history in this archive it
// begins one.
func (c cluster) continues() ([]string, error) {
	if c.ArchiveDir == "" {
		return nil, c.forget()
	}
	dir, err := filepath.Abs(c.ArchiveDir)
	if err != nil {
		return nil, err
	}
	history, err := c.history()
	if err == nil && filepath.Dir(history) != dir {
		history, err = c.begins(dir)
	}
	return archiving(history), err
}

// begins creates the folder of a new history.
func (c cluster) begins(dir string) (string, error) {
	if err := reachable(dir, c.account); err != nil {
		return "", err
	}
	if err := makeOpen(dir); err != nil {
		return "", err
	}
	history := filepath.Join(dir, clock.Real().UTC().Format("20060102T150405.000Z"))
	for _, path := range []string{history, WAL(history), Bases(history)} {
		if err := makePrivate(path, c.account); err != nil {
			return "", err
		}
	}
	return history, os.WriteFile(c.note(), []byte(history), 0o600)
}
