package bar

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// entry is one acknowledged write.
type entry struct {
	Key, Path, Body string
	Status          int
	Hash, ID        string
}

// journal lists the acknowledged writes of a client, flushed before its next call. It is a
// file, so that a run that dies leaves what was promised.
type journal struct {
	file *os.File
}

// newJournal makes the file of the nth client.
func newJournal(dir string, n int) (*journal, error) {
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("client-%d", n)))
	return &journal{f}, err
}

// add appends an entry and syncs it: after a kill of everything, what the journal
// has must be in the database too.
func (j *journal) add(key, path, body string, a answer) error {
	e := entry{key, path, body, a.status, hashOf(a.raw), a.text("id")}
	if err := json.NewEncoder(j.file).Encode(e); err != nil {
		return err
	}
	return j.file.Sync()
}

// read returns the entries on disk.
func (j *journal) read() ([]entry, error) {
	raw, err := os.Open(j.file.Name())
	if err != nil {
		return nil, err
	}
	defer raw.Close() //nolint:errcheck // only read
	var out []entry
	for dec := json.NewDecoder(raw); dec.More(); {
		var e entry
		if err := dec.Decode(&e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, j.file.Close()
}

// hashOf returns the hash of an answer, which is enough to compare a replay with
// it.
func hashOf(raw []byte) string { return fmt.Sprintf("%x", sha256.Sum256(raw)) }
