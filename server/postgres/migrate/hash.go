package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// Hash returns a hex digest of the names and texts of the set's .up.sql files. Test databases are
// cached by it.
func (s Set) Hash() (string, error) {
	names, err := fs.Glob(s.files, "*.up.sql")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(s.files, name)
		if err != nil {
			return "", fmt.Errorf("read migrations: %w", err)
		}
		// The lengths distinguish sets whose concatenated texts are equal.
		fmt.Fprintf(sum, "%d %s %d\n%s", len(name), name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
