package proof

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The faults that Check finds. An error of Check wraps one of them and has the details.
var (
	// ErrForm means that a document is not a signed statement.
	ErrForm = errors.New("not a signed statement")
	// ErrKey means that no published key has the id that the document names.
	ErrKey = errors.New("unknown key")
	// ErrUnchecked means that the signature was not checked, since its key cannot be read. The statement may be good.
	ErrUnchecked = errors.New("could not be checked: keys unavailable")
	// ErrKeyTime means that the key was not valid when the statement was issued.
	ErrKeyTime = errors.New("key not valid at that time")
	// ErrSignature means that the statement was changed after it was signed, or was signed by another key.
	ErrSignature = errors.New("wrong signature")
	// ErrLines means that the lines are not those of the statement.
	ErrLines = errors.New("wrong lines")
	// ErrChain means that the statement does not follow the earlier one.
	ErrChain = errors.New("broken chain")
)

// Document is a signed statement as the API returns it. Statement and Lines have the bytes of the document, since a
// hash covers members that this release does not read.
type Document struct {
	Statement jsontext.Value `json:"statement"`
	Signature string         `json:"signature"`
	KeyID     string         `json:"key_id"`
	// Lines is nil in a document without lines.
	Lines []jsontext.Value `json:"lines"`
}

// Head contains the members of a statement that its proof needs.
type Head struct {
	Version      int       `json:"version"`
	Number       string    `json:"number"`
	IssuedAt     time.Time `json:"issued_at"`
	LinesCount   int       `json:"lines_count"`
	LinesHash    string    `json:"lines_hash"`
	Salt         string    `json:"salt"`
	PreviousHash *string   `json:"previous_hash"`
	Program      struct {
		ID string `json:"id"`
	} `json:"program"`
	Partner struct {
		ID string `json:"id"`
	} `json:"partner"`
}

// Line contains the members of a line that its proof needs.
type Line struct {
	CommissionID string  `json:"commission_id"`
	OrderHash    *string `json:"order_hash"`
}

// Key is a published key of an organization.
type Key struct {
	ID        string     `json:"id"`
	PublicKey string     `json:"public_key"`
	CreatedAt time.Time  `json:"created_at"`
	RetiredAt *time.Time `json:"retired_at"`
}

// Keys is the file that a server publishes as /.well-known/rail-keys.json. HasMore means that the server has more keys,
// which it publishes by their ids.
type Keys struct {
	Keys    []Key `json:"keys"`
	HasMore bool  `json:"has_more"`
}

// ErrNoKeys means that a file of keys is empty.
var ErrNoKeys = errors.New("proof: the file has no keys")

// Parse reads a signed statement.
func Parse(text []byte) (Document, Head, error) {
	var d Document
	var head Head
	if err := json.Unmarshal(text, &d); err != nil {
		return d, head, fmt.Errorf("%w: %w", ErrForm, err)
	}
	head, err := d.Head()
	return d, head, err
}

// Head reads the statement of a document.
func (d Document) Head() (Head, error) {
	var head Head
	if d.Statement.Kind() != '{' {
		return head, fmt.Errorf("%w: the member statement is missing", ErrForm)
	}
	if err := json.Unmarshal(d.Statement, &head); err != nil {
		return head, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if head.Version != 1 || head.Number == "" || head.IssuedAt.IsZero() {
		return head, fmt.Errorf("%w: it has no version 1, no number or no time", ErrForm)
	}
	return head, nil
}

// ParseKeys reads a file of published keys.
func ParseKeys(text []byte) (Keys, error) {
	var k Keys
	err := json.Unmarshal(text, &k)
	switch {
	case err != nil:
		return k, fmt.Errorf("proof: not a file of keys: %w", err)
	case k.Keys == nil:
		return k, errors.New("proof: not a file of keys: the member keys is missing")
	case len(k.Keys) == 0:
		return k, ErrNoKeys
	}
	return k, nil
}

// Check returns every fault of a signed statement: its signature by one of the keys, the validity of that key when
// the statement was issued, and its lines if the document has them. With an earlier document of the same partner,
// Check also requires that this statement is the next one.
func Check(d Document, keys []Key, earlier *Document) []error {
	head, err := d.Head()
	if err != nil {
		return []error{err}
	}
	var faults []error
	for _, check := range []func() error{
		func() error { return checkSignature(d, head, keys) },
		func() error { return checkLines(d, head) },
		func() error { return checkChain(head, earlier) },
	} {
		if err := check(); err != nil {
			faults = append(faults, fmt.Errorf("statement %s: %w", head.Number, err))
		}
	}
	return faults
}

func checkSignature(d Document, head Head, keys []Key) error {
	canonical, err := Canonicalize(d.Statement)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	for _, k := range keys {
		if k.ID != d.KeyID {
			continue
		}
		if len(decode(k.PublicKey)) != ed25519.PublicKeySize {
			return fmt.Errorf("%w: key %s is damaged", ErrUnchecked, k.ID)
		}
		if !Verify(k.PublicKey, canonical, d.Signature) {
			return fmt.Errorf("%w: the statement was changed, or key %s did not sign it", ErrSignature, k.ID)
		}
		return k.validAt(head.IssuedAt)
	}
	return fmt.Errorf("%w: %q is not among the published keys", ErrKey, d.KeyID)
}

// validAt refuses a time at which the key did not sign.
func (k Key) validAt(at time.Time) error {
	if at.Before(k.CreatedAt) {
		return fmt.Errorf("%w: key %s was created on %s", ErrKeyTime, k.ID, k.CreatedAt.Format(time.RFC3339))
	}
	if k.RetiredAt != nil && at.After(*k.RetiredAt) {
		return fmt.Errorf("%w: key %s was retired on %s", ErrKeyTime, k.ID, k.RetiredAt.Format(time.RFC3339))
	}
	return nil
}

func checkLines(d Document, head Head) error {
	if d.Lines == nil {
		return nil
	}
	if len(d.Lines) != head.LinesCount {
		return fmt.Errorf("%w: the document has %d, the statement counts %d", ErrLines, len(d.Lines), head.LinesCount)
	}
	sum := NewDigest()
	for i, line := range d.Lines {
		canonical, err := Canonicalize(line)
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrLines, i+1, err)
		}
		sum.Add(canonical)
	}
	if sum.Sum() != head.LinesHash {
		return fmt.Errorf("%w: a line was changed, or the order of lines", ErrLines)
	}
	return nil
}

func checkChain(head Head, earlier *Document) error {
	if earlier == nil {
		return nil
	}
	before, err := earlier.Head()
	if err != nil {
		return err
	}
	hash, err := earlier.Hash()
	if err != nil {
		return err
	}
	switch {
	case head.Partner.ID != before.Partner.ID:
		return fmt.Errorf("%w: %s is a statement of another partner", ErrChain, before.Number)
	case head.PreviousHash == nil:
		return fmt.Errorf("%w: it says that it is the partner's first, but %s is earlier", ErrChain, before.Number)
	case *head.PreviousHash != hash:
		return fmt.Errorf("%w: it does not follow %s: that one was changed, or one between them is missing",
			ErrChain, before.Number)
	}
	return nil
}

// Hash returns the hash of the document's statement.
func (d Document) Hash() (string, error) {
	canonical, err := Canonicalize(d.Statement)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrForm, err)
	}
	return Hash(canonical), nil
}

// FindOrder returns the number, from 1, of the line of an order, or 0 if the statement has none.
func (d Document) FindOrder(orderID string) (int, error) {
	head, err := d.Head()
	if err != nil {
		return 0, err
	}
	want := OrderHash(head.Salt, orderID)
	for i, text := range d.Lines {
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return 0, fmt.Errorf("%w: line %d: %w", ErrLines, i+1, err)
		}
		if line.OrderHash != nil && *line.OrderHash == want {
			return i + 1, nil
		}
	}
	return 0, nil
}
