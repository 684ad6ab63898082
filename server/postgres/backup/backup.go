// Package backup writes a database into one file, while servers use it, and fills
// an empty database from such a file.
//
// A backup is a tar archive, compressed with zstd: manifest.json first, then the
// rows of each table as COPY writes them, in pieces, then end.json with how many
// there are, and last the proof, which only a program with the secret key can
// make. All rows are of one moment. What belongs to a running cluster alone is left
// out: numbers of transactions, folded balances, leases and sessions.
package backup

import (
	"errors"
	"time"
)

// format is the version of the file's form.
const format = 1

// The names in the archive, in their order.
const (
	manifestName = "manifest.json"
	tablePrefix  = "tables/"
	endName      = "end.json"
	proofName    = "proof"
)

// ErrDamaged means that a file is no backup, or not whole, or has been changed.
var ErrDamaged = errors.New("the backup is damaged")

// ErrNotEmpty means that a database has rows. A restore never overwrites any.
var ErrNotEmpty = errors.New("the database is not empty")

// ErrInUse means that somebody else uses a database that is to be filled.
var ErrInUse = errors.New("the database is in use")

// Manifest says what a backup is of. It can be read without any key.
type Manifest struct {
	Format    int       `json:"format"`
	Rail      string    `json:"rail"`
	Schema    uint      `json:"schema"`
	CreatedAt time.Time `json:"created_at"`
	// Fingerprints are those of the secret keys that the rows depend on, the current
	// one first.
	Fingerprints []string    `json:"key_fingerprints"`
	Keys         *SealedKeys `json:"keys,omitempty"` // nil where they were left out
	Tables       []Table     `json:"tables"`
}

// Table is one table with those of its columns that are carried over.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// end is what is known only after all rows are written: how many each table has,
// and the last number of each sequence.
type end struct {
	Rows      map[string]int64 `json:"rows"`
	Sequences map[string]int64 `json:"sequences"`
}

// Progress is called often with what is being done and how far that has come, in bytes.
type Progress func(what string, done int64)

// left are the tables that a backup leaves out, with the reason. Every other table is carried over, so that a new one
// cannot be forgotten.
var left = map[string]string{
	"schema_floor":     "migrations fill it",
	"ledger_mark":      "the ledger is folded anew",
	"backup_mark":      "it is of the database that the backup was made of",
	"audit_mark":       "its transactions are of another cluster",
	"webhook_leases":   "they are of servers that ran then",
	"portal_sessions":  "whoever was signed out since would be signed in again",
	"magic_links":      "a link that was used since would work again",
	"join_requests":    "as sign-in links, and they are asked for anew",
	"user_sessions":    "as those of the portal",
	"user_links":       "as those of the portal",
	"certificates":     "servers get others",
	"sign_in_failures": "they are forgotten after a quarter of an hour",
}

// anew are the columns that a restore leaves to their defaults, as it does with
// numbers of transactions: balances are folded from the ledger again.
var anew = map[string][]string{"balances": {"pending_minor", "due_minor", "paid_minor"}}
