// Package ledger is the history of money. Each row moves a commission's amount from one bucket to another, so
// every row sums to zero. Balances are the folded ledger; no write of money waits for another one's commit.
//
// The buckets: source is where money is earned; pending, due and paid are the columns of a balance; sink takes
// rejected and voided amounts; removed takes the amounts of deleted partners.
package ledger

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
	"rail/server/work"
	"rail/server/work/event"
)

// The buckets.
const (
	Source  = "source"
	Pending = "pending"
	Due     = "due"
	Paid    = "paid"
	Sink    = "sink"
	Removed = "removed"
)

// Commission holds the fields of a commission that the ledger needs; Status is the present one.
type Commission struct {
	OrgID, ProgramID, PartnerID, ID, Currency string
	Status                                    db.CommissionStatus
	AmountMinor                               int64
	At                                        clock.Time
}

// Entry is one row of the ledger.
type Entry struct {
	OrgID, ProgramID, PartnerID, CommissionID, Currency string
	From, To                                            string
	AmountMinor                                         int64
	At                                                  clock.Time
}

var queries = db.New()

// Bucket returns the bucket with the money of a commission in status.
func Bucket(status db.CommissionStatus) string {
	switch status {
	case db.CommissionStatusPending, db.CommissionStatusApproved:
		return Pending
	case db.CommissionStatusDue:
		return Due
	case db.CommissionStatusPaid:
		return Paid
	default: // rejected, voided
		return Sink
	}
}

// Append writes rows with one statement, as arrays: the statement's text and plan are the same for any number of
// rows.
func Append(ctx context.Context, tx pgtx.DBTX, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var p db.LedgerAppendParams
	for _, e := range entries {
		p.OrgIds = append(p.OrgIds, e.OrgID)
		p.ProgramIds = append(p.ProgramIds, e.ProgramID)
		p.PartnerIds = append(p.PartnerIds, e.PartnerID)
		p.CommissionIds = append(p.CommissionIds, e.CommissionID)
		p.Currencies = append(p.Currencies, e.Currency)
		p.FromBuckets = append(p.FromBuckets, e.From)
		p.ToBuckets = append(p.ToBuckets, e.To)
		p.Amounts = append(p.Amounts, e.AmountMinor)
		p.CreatedAts = append(p.CreatedAts, e.At)
	}
	return queries.LedgerAppend(ctx, tx, p)
}

// Earn writes a new commission's money into the bucket of its status, and creates the balance row that lists
// show. Both statements can wait for the commit.
func Earn(ctx context.Context, tx pgtx.DBTX, k Commission) error {
	if err := Append(ctx, tx, k.entry(Source, Bucket(k.Status))); err != nil {
		return err
	}
	return queries.BalanceEnsure(ctx, tx, db.BalanceEnsureParams{
		ID: ident.BalanceID(k.PartnerID, k.Currency), OrgID: k.OrgID, ProgramID: k.ProgramID,
		PartnerID: k.PartnerID, Currency: k.Currency, UpdatedAt: k.At,
	})
}

// Move writes the moves of commissions that had the status from. It writes nothing if the old and the new status
// share a bucket.
func Move(ctx context.Context, tx pgtx.DBTX, from db.CommissionStatus, commissions ...Commission) error {
	var entries []Entry
	for _, k := range commissions {
		if Bucket(from) != Bucket(k.Status) {
			entries = append(entries, k.entry(Bucket(from), Bucket(k.Status)))
		}
	}
	return Append(ctx, tx, entries...)
}

// Correct moves the difference between a commission's present and previous amount: an increase comes from the
// source, a decrease goes to the sink.
func Correct(ctx context.Context, tx pgtx.DBTX, k Commission, previous int64) error {
	bucket, added := Bucket(k.Status), k.AmountMinor-previous
	if k.AmountMinor = added; added > 0 {
		return Append(ctx, tx, k.entry(Source, bucket))
	}
	k.AmountMinor = -added
	return Append(ctx, tx, k.entry(bucket, Sink))
}

// Remove takes an organization's commissions that are about to be deleted out of every bucket.
func Remove(ctx context.Context, tx pgtx.DBTX, orgID string, at clock.Time, ids []string) error {
	return queries.LedgerRemove(ctx, tx, db.LedgerRemoveParams{OrgID: orgID, CreatedAt: at, Ids: ids})
}

// entry returns the row that moves the whole amount from one bucket to another.
func (k Commission) entry(from, to string) Entry {
	return Entry{
		OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, CommissionID: k.ID,
		Currency: k.Currency, From: from, To: to, AmountMinor: k.AmountMinor, At: k.At,
	}
}

// Moved writes the effects of a change of status: the ledger moves and commission.updated. The caller changes
// the rows in the same transaction.
func Moved(ctx context.Context, u *work.Unit, previous db.CommissionStatus, rows ...db.Commission) error {
	moved := make([]Commission, len(rows))
	for i, k := range rows {
		moved[i] = CommissionOf(k, u.Now)
		u.Record(event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID},
			events.CommissionUpdated(api.CommissionUpdatedData{
				CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
				Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(previous),
			}))
	}
	return Move(ctx, u.Later(), previous, moved...)
}

// CommissionOf converts a commission's row for the ledger, at the time of the move.
func CommissionOf(k db.Commission, at clock.Time) Commission {
	return Commission{
		OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID, Currency: k.Currency, Status: k.Status,
		AmountMinor: k.AmountMinor, At: at,
	}
}
