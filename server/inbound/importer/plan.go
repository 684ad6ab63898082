package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer/source"
	"rail/server/money/commission"
	"rail/server/work"
)

// planSize bounds the rows that are compared in one transaction.
const planSize = 500

// analyzeEvery is the number of rows after which the statistics of the import's tables are updated.
const analyzeEvery = 20 * planSize

// plan compares the next rows with Rail and stores the decision about each.
func (s *Service) plan(ctx context.Context, u *work.Unit, m db.Import, p place) error {
	if p.Done%analyzeEvery == 0 {
		if err := analyze(ctx, u, "import_rows, import_keys"); err != nil {
			return err
		}
	}
	b, err := next(ctx, u, &m, planned, &p, planSize)
	if err != nil {
		return err
	}
	if b == nil {
		if err := analyze(ctx, u, "import_rows, import_objects"); err != nil {
			return err
		}
		return save(ctx, u, m, place{Phase: summing})
	}
	if err := b.compare(ctx); err != nil {
		return err
	}
	if err := b.saveDecisions(ctx); err != nil {
		return err
	}
	m.Counts = encode(b.counts)
	return save(ctx, u, m, p)
}

// analyze updates the statistics of tables that an import has filled: until then the database may compare each row with
// all others, or read whole tables. Its locks delay the same of another import, so they are released within a second.
func analyze(ctx context.Context, u *work.Unit, tables string) error {
	_, err := u.Tx.Exec(ctx, "ANALYZE "+tables)
	return err
}

// next reads the next batch of an order of kinds and advances the place; nil is the end.
func next(ctx context.Context, u *work.Unit, m *db.Import, kinds []int, p *place, size int32) (*batch, error) {
	for ; p.Kind < len(kinds); p.Kind, p.At, p.ID, p.Done = p.Kind+1, (clock.Time{}), "", 0 {
		rows, err := queries.ImportRowsNext(ctx, u.Tx, db.ImportRowsNextParams{
			ImportID: m.ID, OrgID: m.OrgID, Kind: smallint(kinds[p.Kind]), AfterAt: p.At, AfterID: p.ID, Lim: size,
		})
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			continue
		}
		last := rows[len(rows)-1]
		p.At, p.ID, p.Done = last.At, last.SourceID, p.Done+int64(len(rows))
		program, err := u.Program(ctx, m.ProgramID)
		if err != nil {
			return nil, err
		}
		b := &batch{u: u, m: m, program: program, kind: kinds[p.Kind], counts: CountsOf(*m), moves: map[string]string{}}
		for _, r := range rows {
			b.rows = append(b.rows, &row{ImportRow: r})
		}
		return b, nil
	}
	return nil, nil //nolint:nilnil // the end
}

// compare decides about the rows of a batch.
func (b *batch) compare(ctx context.Context) error {
	for _, r := range b.rows {
		if bad, err := decode[refused](r.Data); err == nil && bad.Problem != nil {
			b.refuse(r, string(bad.Problem.Code), bad.Problem.Detail)
		}
	}
	if err := b.findImported(ctx); err != nil {
		return err
	}
	return map[int]func(context.Context) error{
		partners:    b.comparePartners,
		links:       b.compareLinks,
		coupons:     b.compareCoupons,
		customers:   b.compareCustomers,
		sales:       b.compareSales,
		commissions: b.compareCommissions,
		payouts:     b.comparePayouts,
	}[b.kind](ctx)
}

// findImported finds the objects that an earlier import of the source wrote: the same, changed at the source, or
// deleted in Rail since.
func (b *batch) findImported(ctx context.Context) error {
	var ids []string
	at := map[string]*row{}
	for _, r := range b.undecided() {
		ids, at[r.SourceID] = append(ids, r.SourceID), r
	}
	found, err := queries.ImportObjects(ctx, b.u.Tx, db.ImportObjectsParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Source: family(*b.m), Kind: smallint(b.kind), SourceIds: ids,
	})
	if err != nil || len(found) == 0 {
		return err
	}
	targets := make([]string, len(found))
	for i, o := range found {
		targets[i] = o.Target
	}
	existing, err := b.existingIDs(ctx, targets)
	if err != nil {
		return err
	}
	joined, err := b.merged(ctx, found, existing)
	if err != nil {
		return err
	}
	for _, o := range found {
		r := at[o.SourceID]
		if to, is := joined[o.Target]; is {
			o.Target = to
			existing[to] = true
		}
		switch {
		case !existing[o.Target]:
			b.refuse(r, "deleted", "It was imported before and is deleted in Rail; an import does not bring it back.")
		case equalJSON(o.Data, r.Data):
			r.outcome, r.target = db.ImportRowOutcomeSame, o.Target
		default:
			r.outcome, r.target, r.earlier = db.ImportRowOutcomeChanged, o.Target, &o
		}
	}
	if err := b.findHolders(ctx); err != nil {
		return err
	}
	for _, r := range b.rows {
		if r.outcome == db.ImportRowOutcomeChanged {
			b.noteManualChange(r)
		}
	}
	return nil
}

// findHolders finds the partner and the customer in Rail of the object of each changed row of files.
func (b *batch) findHolders(ctx context.Context) error {
	var ids []string
	for _, r := range b.rows {
		if r.outcome == db.ImportRowOutcomeChanged && b.m.Source == CSV {
			ids = append(ids, r.target)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := queries.ImportHolders(ctx, b.u.Tx, db.ImportHoldersParams{Ids: ids, OrgID: b.m.OrgID})
	for _, r := range b.rows {
		for _, h := range found {
			if r.target == h.ID {
				r.holder = h
			}
		}
	}
	return err
}

// merged returns the customers that people have merged imported customers into.
func (b *batch) merged(ctx context.Context, found []db.ImportObject,
	existing map[string]bool) (map[string]string, error) {
	into := map[string]string{}
	var ids []string
	for _, o := range found {
		if b.kind == customers && !existing[o.Target] {
			ids = append(ids, o.Target)
		}
	}
	if len(ids) == 0 {
		return into, nil
	}
	rows, err := queries.ImportMerged(ctx, b.u.Tx, db.ImportMergedParams{Ids: ids, OrgID: b.m.OrgID})
	for _, r := range rows {
		into[r.ID] = r.CustomerID
	}
	return into, err
}

// owner has the members of an object that an import does not change.
type owner struct {
	PartnerID  string `json:"partner_id"`
	CustomerID string `json:"customer_id"`
	Email      string `json:"email"`
	Value      string `json:"value"`

	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

// noteManualChange notes a change that a person must make in Rail: of the partner, of a partner's email or of a link's
// value. In files, an id with another email is another partner.
func (b *batch) noteManualChange(r *row) {
	was, err := decode[owner](r.earlier.Data)
	is, err2 := decode[owner](r.Data)
	switch {
	case err != nil || err2 != nil:
	case b.kind == partners && !strings.EqualFold(was.Email, is.Email) && b.m.Source == CSV:
		b.refuse(r, "conflict", fmt.Sprintf("The id belonged to %s in an earlier file.", was.Email))
	case b.kind == partners && !strings.EqualFold(was.Email, is.Email):
		b.note(r, "not_changed", fmt.Sprintf("The email changed from %s to %s; change it in Rail.", was.Email, is.Email))
	case b.kind != partners && was.PartnerID != is.PartnerID:
		if r.holder.PartnerID == "" { // else the partner in Rail is compared
			b.note(r, "not_changed", fmt.Sprintf("It moved from the partner %q to %q; move it in Rail.",
				was.PartnerID, is.PartnerID))
		}
	case b.kind == sales && (was.AmountMinor != is.AmountMinor || was.Currency != is.Currency):
		b.note(r, "not_changed", fmt.Sprintf("The amount changed from %s to %s. Rail keeps the first one.",
			commission.Money(was.AmountMinor, was.Currency), commission.Money(is.AmountMinor, is.Currency)))
	case b.kind == links && was.Value != is.Value:
		b.note(r, "not_changed", fmt.Sprintf("Its value changed from %q to %q; add a link in Rail.", was.Value, is.Value))
	}
}

// refuseOther refuses a changed row of files whose id belongs to another partner's object in Rail, and reports whether
// it did. A row that refers to the same partner as before stays, because a person may have moved the object in Rail.
func (b *batch) refuseOther(r *row) bool {
	if r.holder.ID == "" {
		return false
	}
	was, err := decode[owner](r.earlier.Data)
	is, err2 := decode[owner](r.Data)
	if err != nil || err2 != nil || was.PartnerID == is.PartnerID && was.CustomerID == is.CustomerID {
		return false
	}
	other := r.holder.PartnerID != "" && r.holder.PartnerID != r.refs.Partner
	if r.refs.Partner == "" { // the customer decides
		other = b.kind == sales && r.holder.CustomerID != r.refs.Customer
	}
	if other {
		b.refuse(r, "conflict", fmt.Sprintf("The id belongs to the %s %s of another partner in Rail.",
			singular(name(b.kind)), r.target))
	}
	return other
}

// existingIDs reports which ids of objects exist in Rail.
func (b *batch) existingIDs(ctx context.Context, ids []string) (map[string]bool, error) {
	found, err := queries.ImportExistingIDs(ctx, b.u.Tx, db.ImportExistingIDsParams{Ids: ids, OrgID: b.m.OrgID})
	existing := map[string]bool{}
	for _, id := range found {
		existing[id] = true
	}
	return existing, err
}

// equalJSON reports whether two objects of the source are equal.
func equalJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// undecided returns the rows without an outcome.
func (b *batch) undecided() (rows []*row) {
	for _, r := range b.rows {
		if !r.settled() {
			rows = append(rows, r)
		}
	}
	return rows
}

// toWrite returns the rows that are new or changed, or not decided yet.
func (b *batch) toWrite() (rows []*row) {
	for _, r := range b.rows {
		if r.outcome != db.ImportRowOutcomeRefused && r.outcome != db.ImportRowOutcomeSame {
			rows = append(rows, r)
		}
	}
	return rows
}

// findRows returns the objects of a kind with given ids at the source, of this import and of earlier ones.
func (b *batch) findRows(ctx context.Context, kind int, ids []string) ([]db.ImportTargetsRow, error) {
	return queries.ImportTargets(ctx, b.u.Tx, db.ImportTargetsParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Source: family(*b.m), Kind: smallint(kind),
		SourceIds: ids,
	})
}

// targets finds the objects of Rail for ids of a kind; an id that is refused or absent is missing.
func (b *batch) targets(ctx context.Context, kind int, ids []string) (map[string]string, error) {
	rows, err := b.findRows(ctx, kind, ids)
	found := map[string]string{}
	for _, r := range rows {
		if r.Target != "" {
			found[r.SourceID] = r.Target
		}
	}
	if err != nil || kind != partners && kind != customers {
		return found, err
	}
	return found, b.byAlias(ctx, kind, ids, found)
}

// byAlias adds the objects of references that are no ids: the email of a partner or a customer, or the external id of a
// customer, as files have them.
func (b *batch) byAlias(ctx context.Context, kind int, ids []string, found map[string]string) error {
	of := map[string][]string{} // references by their key
	var keys []string
	for _, id := range ids {
		if found[id] == "" && id != "" {
			key := strings.ToLower(id)
			keys, of[key] = append(keys, key, id), append(of[key], id)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := queries.ImportAliases(ctx, b.u.Tx, db.ImportAliasesParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Kind: smallint(kind),
		KeyKinds: aliases[kind], Keys: keys,
	})
	for _, r := range rows {
		for _, id := range of[strings.ToLower(r.Key)] {
			found[id] = r.Target
		}
	}
	return err
}

// aliases are the kinds of keys that name an object beside its id.
var aliases = map[int][]string{partners: {"email"}, customers: {"external_id", "customer_email"}}

// maxKey bounds the keys of rows in bytes.
const maxKey = 1024

// claim gives keys to the rows that ask first, and returns the owner of each key. Keys longer than maxKey have none.
func (b *batch) claim(ctx context.Context, kind string, keys, ids []string) (map[string]string, error) {
	first := map[string]string{}
	p := db.ImportKeysClaimParams{ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Kind: kind}
	for i, key := range keys {
		if len(key) > maxKey { // too long for an object of Rail
			continue
		}
		if _, twice := first[key]; !twice {
			first[key] = ids[i]
			p.Keys, p.SourceIds = append(p.Keys, key), append(p.SourceIds, ids[i])
		}
	}
	rows, err := queries.ImportKeysClaim(ctx, b.u.Tx, p)
	for _, r := range rows {
		first[r.Key] = r.SourceID
	}
	return first, err
}

// saveDecisions stores the decisions about a batch with its counts and problems.
func (b *batch) saveDecisions(ctx context.Context) error {
	p := db.ImportRowsPlannedParams{ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: smallint(b.kind)}
	for _, r := range b.rows {
		if !r.settled() {
			return fmt.Errorf("importer: no outcome of %s %s", name(b.kind), r.SourceID)
		}
		p.SourceIds, p.Outcomes = append(p.SourceIds, r.SourceID), append(p.Outcomes, string(r.outcome))
		p.Targets, p.Refs = append(p.Targets, r.target), append(p.Refs, string(encode(r.refs)))
		if b.kind != payouts || r.outcome == db.ImportRowOutcomeRefused { // payments counts the others
			b.counts.of(name(b.kind)).add(r.outcome, 1)
		}
	}
	if err := queries.ImportRowsPlanned(ctx, b.u.Later(), p); err != nil {
		return err
	}
	return b.record(ctx)
}

// add counts n more rows with an outcome.
func (c *Count) add(outcome db.ImportRowOutcome, n int64) {
	switch outcome {
	case db.ImportRowOutcomeNew:
		c.New += n
	case db.ImportRowOutcomeSame:
		c.Same += n
	case db.ImportRowOutcomeChanged:
		c.Changed += n
	case db.ImportRowOutcomeRefused:
		c.Refused += n
	}
}

// refuseMissing refuses a row that refers to an object that is not imported.
func (b *batch) refuseMissing(r *row, kind source.Kind, id string) {
	b.refuse(r, "missing_reference", fmt.Sprintf("It belongs to %s %q, which was not imported.", singular(kind), id))
}

// singular returns the name of one object of a kind.
func singular(kind source.Kind) string { return strings.TrimSuffix(string(kind), "s") }

// accept decides that a row is written as a new object, unless it is known already.
func (r *row) accept(target string) {
	if !r.settled() {
		r.outcome, r.target = db.ImportRowOutcomeNew, target
	}
}

// bind decides that a row is an object that Rail has already.
func (r *row) bind(target string) {
	r.outcome, r.target, r.refs.Bound = db.ImportRowOutcomeSame, target, true
}
