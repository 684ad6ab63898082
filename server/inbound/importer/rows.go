package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/work"
)

// The positions of kinds in the database. payments are the payouts that an import makes of paid commissions.
const (
	partners = iota
	links
	coupons
	customers
	sales
	commissions
	payouts
	payments
)

// The orders of kinds: a row refers only to rows of kinds before it, and objects are removed in reverse.
var (
	planned = []int{partners, links, coupons, customers, sales, payouts, commissions}
	written = []int{partners, links, coupons, customers, sales, payments, commissions}
	undone  = []int{payments, commissions, sales, customers, coupons, links, partners}
)

// number returns the position of a kind.
func number(kind source.Kind) int {
	for i, k := range source.Kinds {
		if k == kind {
			return i
		}
	}
	return -1
}

// smallint returns a position as the database has it.
func smallint(kind int) int16 { return int16(kind) }

// name returns the kind at a position.
func name(kind int) source.Kind { return source.Kinds[objectKind(kind)] }

// objectKind returns the kind under which written objects are remembered.
func objectKind(kind int) int {
	if kind == payments {
		return payouts
	}
	return kind
}

// refused is the data of a row that the source cannot convert.
type refused struct {
	Problem *source.Problem `json:"problem"`
}

// object returns the object of a row, and the time that orders it among those of its kind. A row with a problem only is
// refused.
func object(r source.Row) (data any, at clock.Time) {
	switch {
	case r.Partner != nil:
		return r.Partner, r.Partner.CreatedAt
	case r.Link != nil:
		return r.Link, r.Link.CreatedAt
	case r.Coupon != nil:
		return r.Coupon, r.Coupon.CreatedAt
	case r.Customer != nil:
		return r.Customer, r.Customer.CreatedAt
	case r.Sale != nil:
		return r.Sale, r.Sale.OccurredAt
	case r.Commission != nil:
		return r.Commission, r.Commission.CreatedAt
	case r.Payout != nil:
		return r.Payout, r.Payout.CreatedAt
	}
	if r.Problem == nil {
		r.Problem = &source.Problem{Code: source.MissingMember, Detail: "The object is empty."}
	}
	return refused{r.Problem}, clock.Time{}
}

// store writes rows that were read, and the import's new place. A row that came before is replaced.
func (s *Service) store(ctx context.Context, u *work.Unit, m db.Import, rows []source.Row, p place) (db.Import, error) {
	at := map[string]int{}
	b := &batch{u: u, m: &m}
	put := db.ImportRowsPutParams{ImportID: m.ID, OrgID: m.OrgID, ProgramID: m.ProgramID}
	for _, r := range rows {
		if r.ID == "" || number(r.Kind) < 0 {
			continue // a source names all of its objects; nothing can refer to this one
		}
		r = bounded(r)
		data, when := object(r)
		if _, bad := data.(refused); !bad && r.Problem != nil {
			b.found = append(b.found, finding{r.Kind, r.ID, string(r.Problem.Code), r.Problem.Detail})
		}
		if when.IsZero() || when.After(u.Now.Time) {
			when = m.CreatedAt
		}
		when = inMilliseconds(when)
		text := withoutZeros(string(encode(data)))
		key := string(r.Kind) + " " + r.ID
		if i, twice := at[key]; twice {
			put.Ats[i], put.Data[i] = when, text
			continue
		}
		at[key] = len(put.SourceIds)
		put.Kinds, put.SourceIds = append(put.Kinds, smallint(number(r.Kind))), append(put.SourceIds, r.ID)
		put.Ats, put.Data = append(put.Ats, when), append(put.Data, text)
	}
	if err := b.skipStored(ctx, &put); err != nil {
		return m, err
	}
	counts := CountsOf(m)
	if len(put.SourceIds) > 0 {
		raw, err := queries.ImportRowsPut(ctx, u.Tx, put)
		if err != nil {
			return m, err
		}
		var added map[int]int64
		if err := json.Unmarshal(raw, &added); err != nil {
			return m, err
		}
		for kind, n := range added {
			counts.of(name(kind)).Read += n
		}
	}
	if err := b.record(ctx); err != nil {
		return m, err
	}
	m.Counts, m.Place = encode(counts), encode(p)
	return m, save(ctx, u, m, p)
}

// skipStored handles rows that were stored before: their problems are not noted again. A source that lists an object
// again replaces it. Of rows of files with one id, the first one is imported.
func (b *batch) skipStored(ctx context.Context, put *db.ImportRowsPutParams) error {
	if len(b.found) == 0 && b.m.Source != CSV || len(put.SourceIds) == 0 {
		return nil
	}
	rows, err := queries.ImportRowsRead(ctx, b.u.Tx, db.ImportRowsReadParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kinds: put.Kinds, SourceIds: put.SourceIds,
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	before := map[finding]string{}
	for _, r := range rows {
		before[finding{kind: name(int(r.Kind)), id: r.SourceID}] = r.Data
	}
	b.found = slices.DeleteFunc(b.found, func(f finding) bool {
		_, is := before[finding{kind: f.kind, id: f.id}]
		return is
	})
	if b.m.Source != CSV {
		return nil
	}
	unique := db.ImportRowsPutParams{ImportID: put.ImportID, OrgID: put.OrgID, ProgramID: put.ProgramID}
	for i, id := range put.SourceIds {
		kind := name(int(put.Kinds[i]))
		if data, is := before[finding{kind: kind, id: id}]; is && !equalJSON([]byte(data), []byte(put.Data[i])) {
			b.found = append(b.found, finding{kind, id, string(source.Duplicate),
				fmt.Sprintf("Another line has the id %q as well. The first one is imported.", id)})
			continue
		}
		unique.Kinds, unique.SourceIds = append(unique.Kinds, put.Kinds[i]), append(unique.SourceIds, id)
		unique.Ats, unique.Data = append(unique.Ats, put.Ats[i]), append(unique.Data, put.Data[i])
	}
	*put = unique
	return nil
}

// inMilliseconds truncates a time to milliseconds, the precision of a place.
func inMilliseconds(at clock.Time) clock.Time { return clock.At(at.Truncate(time.Millisecond)) }

// withoutZeros removes the escapes of zero bytes from JSON, which PostgreSQL cannot store. An escaped backslash before
// the same letters is text.
func withoutZeros(text string) string {
	return zeros.ReplaceAllStringFunc(text, func(found string) string {
		if found == `\u0000` {
			return ""
		}
		return found
	})
}

var zeros = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|.)`)

// bounded refuses a row whose id, or the indexed member of a link, is too long to be stored.
func bounded(r source.Row) source.Row {
	const longestText = 512
	long := r.Link != nil && (len(r.Link.Value) > longestText || len(r.Link.PartnerID) > longestText)
	if len(r.ID) <= maxID && !strings.Contains(r.ID, "\x00") && !long {
		return r
	}
	id := r.ID
	if len(id) > maxID || strings.Contains(id, "\x00") {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	return source.Row{Kind: r.Kind, ID: id, Problem: &source.Problem{
		Code: "out_of_bounds", Detail: "The id or the value is too long.",
	}}
}

// batch is a batch of rows of one kind while they are compared or written.
type batch struct {
	u       *work.Unit
	m       *db.Import
	program db.Program
	kind    int
	rows    []*row
	counts  Counts
	found   []finding
	imports []string          // to undo
	moves   map[string]string // objects that rows were bound to since the comparison, by their planned ids
}

// row is a row with the decision about it.
type row struct {
	db.ImportRow
	outcome db.ImportRowOutcome
	target  string
	refs    refs
	earlier *db.ImportObject    // what an earlier import wrote
	holder  db.ImportHoldersRow // in Rail, of a changed row of files
	edited  bool                // the object was changed in Rail since
}

// refs are the objects of Rail that a row refers to, and figures for writing it.
type refs struct {
	Partner  string   `json:"partner,omitempty"`
	Customer string   `json:"customer,omitempty"`
	Sale     string   `json:"sale,omitempty"`
	Link     string   `json:"link,omitempty"`
	Coupon   string   `json:"coupon,omitempty"`
	Payout   string   `json:"payout,omitempty"`
	Group    string   `json:"group,omitempty"`
	Handle   string   `json:"handle,omitempty"`
	IDs      []string `json:"ids,omitempty"`      // a customer's external ids that are free
	Refunded int64    `json:"refunded,omitempty"` // of the commission's sale, in minor units
	Exact    bool     `json:"exact,omitempty"`    // another partner has the value in another case
	Bound    bool     `json:"bound,omitempty"`    // Rail had the object before
	First    bool     `json:"first,omitempty"`    // the customer's first sale
	ByRule   bool     `json:"by_rule,omitempty"`  // the commission of a sale, not a reward
	Settled  bool     `json:"settled,omitempty"`  // paid at the source together with deductions of at least its amount
}

// finding is a problem to store.
type finding struct {
	kind             source.Kind
	id, code, detail string
}

// refuse decides that a row is not imported.
func (b *batch) refuse(r *row, code, detail string) {
	r.outcome, r.target = db.ImportRowOutcomeRefused, ""
	b.note(r, code, detail)
}

// note adds a problem without a refusal.
func (b *batch) note(r *row, code, detail string) {
	b.found = append(b.found, finding{name(b.kind), r.SourceID, code, detail})
}

// settled reports whether the outcome of a row is decided.
func (r *row) settled() bool { return r.outcome != "" }

// decode reads the object in the data of a row.
func decode[T any](data []byte) (v T, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

const (
	maxDetail  = 1000
	maxFinding = 255
)

// record stores the problems of a batch.
func (b *batch) record(ctx context.Context) error {
	if len(b.found) == 0 {
		return nil
	}
	p := db.ImportProblemInsertParams{OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, ImportID: b.m.ID, CreatedAt: b.u.Now}
	for _, f := range b.found {
		p.Ids, p.Kinds = append(p.Ids, ident.New(ident.Problem)), append(p.Kinds, string(f.kind))
		p.SourceIds, p.Codes = append(p.SourceIds, plain.Short(f.id, maxFinding)), append(p.Codes, f.code)
		p.Details = append(p.Details, plain.Short(f.detail, maxDetail))
	}
	b.m.ProblemsCount += int64(len(b.found))
	b.found = nil
	return queries.ImportProblemInsert(ctx, b.u.Later(), p)
}
