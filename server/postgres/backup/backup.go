// Package backup writes a database into one file, while servers use it, and fills
// an empty database from such a file.
//
// A backup is a tar archive, compressed with zstd: manifest.json, then the rows of each table as
// COPY writes them, in pieces, then end.json with their counts, and last the proof, which only a
// program with the secret key can make. All rows are of one moment. The backup omits transaction
// numbers, folded balances, leases and sessions, which only have a meaning in a running cluster.
package backup

import (
	"errors"
	"time"
)

// format is the version of the file's form.
const format = 1

// The names in the archive, in order.
const (
	manifestName = "manifest.json"
	tablePrefix  = "tables/"
	endName      = "end.json"
	proofName    = "proof"
)

// ErrDamaged means that a file is not a backup, or is incomplete, or has been changed.
var ErrDamaged = errors.New("the backup is damaged")

// ErrNotEmpty means that a database has rows. A restore never overwrites any.
var ErrNotEmpty = errors.New("the database is not empty")

// ErrInUse means that the database to restore into has other connections.
var ErrInUse = errors.New("the database is in use")

// Manifest describes a backup. It can be read without a key.
type Manifest struct {
	Format    int       `json:"format"`
	Rail      string    `json:"rail"`
	Schema    uint      `json:"schema"`
	CreatedAt time.Time `json:"created_at"`
	// Fingerprints identify the secret keys that the rows depend on, the current one first.
	Fingerprints []string    `json:"key_fingerprints"`
	Keys         *SealedKeys `json:"keys,omitempty"` // nil if they were omitted
	Tables       []Table     `json:"tables"`
}

// Table is one table with the columns in the backup.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// end holds the number of each table's rows and the last number of each sequence, which are only
// known after all rows are written.
type end struct {
	Rows      map[string]int64 `json:"rows"`
	Sequences map[string]int64 `json:"sequences"`
}

// Progress is called often with the current step and its progress in bytes.
type Progress func(what string, done int64)

// omitted lists the tables that a backup omits, with the reason. It contains all others, so that a
// new table cannot be forgotten.
var omitted = map[string]string{
	"schema_floor":     "migrations fill it",
	"ledger_mark":      "the ledger is folded again",
	"backup_mark":      "it belongs to the source database",
	"audit_mark":       "its transaction numbers belong to the old cluster",
	"webhook_leases":   "they belong to the servers of that time",
	"portal_sessions":  "sessions that have ended since would be valid again",
	"magic_links":      "a link that was used since would work again",
	"join_requests":    "as sign-in links; applicants can ask for new ones",
	"user_sessions":    "like those of the portal",
	"user_links":       "like those of the portal",
	"certificates":     "servers request new ones",
	"sign_in_failures": "they expire after 15 minutes",
}

// reset lists the columns that a restore sets to their defaults, like transaction numbers: balances
// are folded from the ledger again.
var reset = map[string][]string{"balances": {"pending_minor", "due_minor", "paid_minor"}}
