package payout

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/proof"
	"rail/server/money/proof/keys"
	"rail/server/money/statement"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Issue writes the statements of payouts of one program that the unit has paid. It takes the next numbers of the
// organization, and so locks their counter: it comes after every other lock of the unit.
func Issue(ctx context.Context, u *work.Unit, keeper *secret.Keeper, paid ...db.Payout) error {
	if len(paid) == 0 {
		return nil
	}
	prog, err := u.Program(ctx, paid[0].ProgramID)
	if err != nil {
		return err
	}
	issue := issuing{
		program: prog,
		paid:    map[string]bool{},
		heads:   map[string]db.StatementLatestRow{},
		undone:  map[string][]db.StatementsUndoneRow{},
	}
	for _, p := range paid {
		issue.paid[p.ID] = true
	}
	for some := range slices.Chunk(paid, pageSize) {
		if err := issue.read(ctx, u, some); err != nil {
			return err
		}
	}
	at := issue.issuedAt(u.Now)
	signer, err := keys.Service{Keeper: keeper}.Signer(ctx, u, at)
	if err != nil {
		return err
	}
	return issue.write(ctx, u, signer, clock.Later(at, signer.Since))
}

// issuing is the work of Issue: the payouts, the documents without numbers, the last statement of each partner, and the
// statements that the documents have to correct.
type issuing struct {
	program   db.Program
	paid      map[string]bool
	documents []statement.Document
	heads     map[string]db.StatementLatestRow
	undone    map[string][]db.StatementsUndoneRow // by partner
}

// read makes the documents of some payouts.
func (i *issuing) read(ctx context.Context, u *work.Unit, paid []db.Payout) error {
	ids, partnerIDs := make([]string, len(paid)), make([]string, len(paid))
	for n, p := range paid {
		ids[n], partnerIDs[n] = p.ID, p.PartnerID
	}
	partners, lines := map[string]db.Partner{}, map[string][]db.StatementLinesRow{}
	err := u.Together(ctx,
		func(tx pgtx.DBTX) error {
			rows, err := queries.PartnerByIDs(ctx, tx, db.PartnerByIDsParams{Ids: partnerIDs, OrgID: u.OrgID})
			for _, p := range rows {
				partners[p.ID] = p
			}
			return err
		},
		func(tx pgtx.DBTX) error {
			rows, err := queries.StatementLines(ctx, tx, db.StatementLinesParams{PayoutIds: ids, OrgID: u.OrgID})
			for _, row := range rows {
				lines[*row.PayoutID] = append(lines[*row.PayoutID], row)
			}
			return err
		},
		func(tx pgtx.DBTX) error {
			rows, err := queries.StatementLatest(ctx, tx, db.StatementLatestParams{
				ProgramID: i.program.ID, OrgID: u.OrgID, PartnerIds: partnerIDs,
			})
			for _, row := range rows {
				i.heads[row.PartnerID] = row
			}
			return err
		},
		func(tx pgtx.DBTX) error {
			rows, err := queries.StatementsUndone(ctx, tx, db.StatementsUndoneParams{
				ProgramID: i.program.ID, OrgID: u.OrgID, PartnerIds: partnerIDs, PayoutIds: ids,
			})
			for _, row := range rows { // a partner of several pages is read with each
				if of := i.undone[row.PartnerID]; !slices.Contains(of, row) {
					i.undone[row.PartnerID] = append(of, row)
				}
			}
			return err
		},
	)
	if err != nil {
		return err
	}
	for _, p := range paid {
		partner := partners[p.PartnerID]
		d, err := statement.New(statement.Subject{
			Program: i.program, Partner: partner, Name: NameOf(partner), Payout: p, Lines: lines[p.ID],
		}, u.Now)
		if err != nil {
			return err
		}
		i.documents = append(i.documents, d)
	}
	return nil
}

// write numbers, signs and stores the documents.
func (i *issuing) write(ctx context.Context, u *work.Unit, signer keys.Signer, at clock.Time) error {
	rows := db.StatementsInsertParams{
		OrgID: u.OrgID, ProgramID: i.program.ID, Series: statement.Series(i.program.ID),
		Year: statement.Year(at, i.program), Month: statement.Month(at, i.program), IssuedAt: at,
		KeyID: signer.KeyID,
	}
	last, err := queries.StatementNumbersTake(ctx, u.DB(), db.StatementNumbersTakeParams{
		OrgID: rows.OrgID, Series: rows.Series, Year: rows.Year, Statements: int64(len(i.documents)),
	})
	if err != nil {
		return err
	}
	for n, d := range i.documents {
		sequence := last - int64(len(i.documents)-n-1)
		d.IssuedAt = at
		d.Number = statement.Number(i.program.StatementPrefix, rows.Year, sequence)
		head := i.heads[d.Partner.ID]
		previous := head.Hash
		if previous != "" {
			d.PreviousHash = &previous
		}
		if corrects := i.correct(d); corrects != "" {
			d.Corrects = &corrects
		}
		text, err := proof.Canonical(d)
		if err != nil {
			return err
		}
		head.PartnerID, head.Position, head.Hash = d.Partner.ID, head.Position+1, proof.Hash(text)
		i.heads[d.Partner.ID] = head
		rows.Ids = append(rows.Ids, u.NewID(ident.Statement))
		rows.PartnerIds = append(rows.PartnerIds, d.Partner.ID)
		rows.PayoutIds = append(rows.PayoutIds, d.Payout.ID)
		rows.Sequences = append(rows.Sequences, sequence)
		rows.Numbers = append(rows.Numbers, d.Number)
		rows.Positions = append(rows.Positions, head.Position)
		rows.Documents = append(rows.Documents, text)
		rows.Signatures = append(rows.Signatures, signer.Sign(text))
		rows.Hashes = append(rows.Hashes, head.Hash)
		rows.PreviousHashes = append(rows.PreviousHashes, previous)
		rows.Corrects = append(rows.Corrects, opt.Value(d.Corrects))
	}
	return queries.StatementsInsert(ctx, u.Later(), rows)
}

// issuedAt returns the earliest time of the statements. A job may have begun before the latest statement of a partner;
// no statement is earlier than that. The key is chosen by this time.
func (i *issuing) issuedAt(now clock.Time) clock.Time {
	at := now
	for _, head := range i.heads {
		at = clock.Later(at, head.IssuedAt)
	}
	return at
}

// correct returns the number of the statement that a document corrects: the last one of its payout, or else the first
// one of its partner that no payout of the same work corrects.
func (i *issuing) correct(d statement.Document) string {
	found, undone := -1, i.undone[d.Partner.ID]
	for n, s := range undone {
		switch {
		case s.PayoutID == d.Payout.ID:
			found = n
		case found < 0 && !i.paid[s.PayoutID]:
			found = n
		}
	}
	if found < 0 {
		return ""
	}
	number := undone[found].Number
	i.undone[d.Partner.ID] = slices.Delete(undone, found, found+1)
	return number
}

// maxLines bounds the lines of a statement that Statement returns.
const maxLines = 10_000

// Issued is a stored statement. Lines are nil if there are too many, or if they are no longer those of the payout.
type Issued struct {
	db.Statement
	Document statement.Document
	Undone   bool // the payment was undone
	// CorrectedBy is the number of the statement that corrects this one, or "".
	CorrectedBy string
	Lines       []statement.Line
}

// Statement reads the statement of a paid payout, or another one of the payout by its number.
func Statement(ctx context.Context, u *work.Unit, payoutID, number string) (out Issued, err error) {
	rows, p, err := statementsOf(ctx, u, payoutID)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(rows, func(row db.StatementsOfPayoutRow) bool { return row.Statement.Number == number })
	switch {
	case number != "" && at < 0:
		return out, problem.NotFound("number")
	case number == "" && (len(rows) == 0 || rows[0].Undone):
		return out, problem.New(problem.PayoutNotPaid, "The payout is %s: only a paid payout has a statement.", p.Status)
	}
	row := rows[max(at, 0)]
	out.Statement, out.Undone, out.CorrectedBy = row.Statement, row.Undone, row.CorrectedBy
	if out.Document, err = statement.Read(row.Statement.Document); err != nil {
		return out, err
	}
	if out.Undone || p.ID == "" || out.Document.LinesCount > maxLines {
		return out, nil
	}
	out.Lines, err = linesOf(ctx, u, out.Document)
	return out, err
}

// statementsOf reads the statements of a payout, the last one first, and the payout, which may have been deleted.
func statementsOf(ctx context.Context, u *work.Unit, payoutID string) (
	rows []db.StatementsOfPayoutRow, p db.Payout, err error,
) {
	err = u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			rows, err = queries.StatementsOfPayout(ctx, tx, db.StatementsOfPayoutParams{PayoutID: payoutID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			p, err = queries.PayoutGet(ctx, tx, db.PayoutGetParams{ID: payoutID, OrgID: u.OrgID})
			return err
		})
	switch {
	case err != nil:
		return nil, p, err
	case p.ID == "" && len(rows) == 0:
		return nil, p, pgx.ErrNoRows
	case p.ID == "":
		return rows, p, u.CheckProgram(rows[0].Statement.ProgramID)
	}
	return rows, p, u.CheckProgram(p.ProgramID)
}

// linesOf reads the lines of a statement.
func linesOf(ctx context.Context, u *work.Unit, d statement.Document) ([]statement.Line, error) {
	rows, err := queries.StatementLines(ctx, u.DB(), db.StatementLinesParams{
		PayoutIds: []string{d.Payout.ID}, OrgID: u.OrgID,
	})
	lines := make([]statement.Line, len(rows))
	for n, row := range rows {
		lines[n] = statement.LineOf(row, d.Salt)
	}
	return lines, err
}

// Signed returns the statement as a file that can be verified without the server.
func (s Issued) Signed() ([]byte, error) {
	return json.MarshalIndent(struct {
		Statement json.RawMessage  `json:"statement"`
		Signature string           `json:"signature"`
		KeyID     string           `json:"key_id"`
		Lines     []statement.Line `json:"lines"`
	}{s.Statement.Document, s.Signature, s.KeyID, s.Lines}, "", "  ")
}
