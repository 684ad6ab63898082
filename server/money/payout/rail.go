package payout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Rail is a service that moves money. A connected rail is opened by package rails; an operator may add others to the
// server (decisions, 125). Both methods may be called again at any time, by any replica.
type Rail interface {
	// Name is stored with the payouts sent by the rail. It must never change, and must not be "file".
	Name() string
	// Methods returns the payout methods that the rail pays.
	Methods() []string
	// Submit sends a transfer and returns the rail's id for it. The rail must not pay a Transfer.ID twice, however
	// often it is submitted: the server repeats a submission whose answer was lost. For a known ID, the rail must
	// return that transfer's id, never a Refusal. A Refusal of the first submission fails the payout, and of a later one
	// only with Always. Busy, ErrNeedsFunds, ErrUnconfirmed and ErrNotSent are handled as they say; any other error, and
	// every other refusal, is retried.
	Submit(ctx context.Context, t Transfer) (externalID string, err error)
	// Status returns the status of a submitted transfer, whose Email, Name and Details are empty.
	Status(ctx context.Context, t Transfer) (Status, error)
}

// Reporter is a rail whose service reports results itself, to ReportResult. Its Status is never called.
type Reporter interface {
	Rail
	Reports()
}

// Transfer is one payout for a rail. Details are the partner's payout details as JSON, or nil.
type Transfer struct {
	ID, ExternalID string
	AmountMinor    int64
	Currency       string
	Method         string
	PartnerID      string
	Email, Name    string
	Details        []byte
	// SubmittedAt is the time of the first submission; nil before it.
	SubmittedAt *clock.Time
}

// State is the state of a transfer.
type State string

// A transfer is in flight until it is settled, rejected or returned.
const (
	InFlight State = "in_flight"
	Settled  State = "settled"
	Rejected State = "rejected"
	Returned State = "returned"
)

// Status is a rail's report on a transfer. Code and Message explain a rejection or return. A transfer may be Returned
// after it was Settled; Attention is then the reason. Fee is nil until the rail reports it.
type Status struct {
	State         State
	Code, Message string
	Attention     Attention
	Fee           *Fee
	// PaidAt is the time of the payment; nil if the rail does not report it.
	PaidAt *clock.Time
}

// Fee is the charge of a rail for a transfer, in minor units.
type Fee struct {
	AmountMinor int64
	Currency    string
}

// Attention is a state of a payout that a person should look at.
type Attention = db.PayoutAttention

// The receiver has not claimed the money; the rail reviews the transfer; the money came back by a reversal, or by a
// refund or because it was not claimed; the rail's account lacks funds; the rail does not confirm the transfer.
const (
	Unclaimed   = db.PayoutAttentionUnclaimed
	OnHold      = db.PayoutAttentionOnHold
	Reversed    = db.PayoutAttentionReversed
	CameBack    = db.PayoutAttentionReturned
	NeedsFunds  = db.PayoutAttentionNeedsFunds
	Unconfirmed = db.PayoutAttentionUnconfirmed
)

// Errors of Submit that are neither a Refusal nor a failure to be retried at once.
var (
	// ErrNeedsFunds means that the rail's account lacks funds: the submission is repeated later.
	ErrNeedsFunds = errors.New("the account has not enough funds")
	// ErrUnconfirmed means that the rail no longer prevents duplicates and does not confirm that it has the transfer:
	// it must not be submitted again.
	ErrUnconfirmed = errors.New("the rail does not confirm the transfer")
	// ErrNotSent means that the rail certainly did not get the transfer, for example because it refused the credentials.
	// The attempt does not count as a submission, and is repeated.
	ErrNotSent = errors.New("the transfer was not sent")
)

// Busy is an error of a rail that takes no calls for a while.
type Busy struct{ For time.Duration } //nolint:errname // a state of the rail

// Error returns the time in words.
func (b Busy) Error() string { return "the rail takes no calls for " + b.For.String() }

// Refusal is a final error of Submit. Always is true if the rail refuses the transfer before it makes a call, so that
// no earlier submission can have been accepted.
type Refusal struct { //nolint:errname // the word of the API
	Code, Message string
	Always        bool
}

// Error returns the rail's message.
func (r Refusal) Error() string { return r.Code + ": " + r.Message }

// Bounds of one round of a Sender.
const (
	sendBatch = 100
	// followBatch is small: a claimed payout must be polled soon, before another replica may claim it.
	followBatch = 5
	// railTimeout bounds one call of a rail.
	railTimeout = 20 * time.Second
	// askEvery is the minimum interval between two polls of one payout, over all replicas.
	askEvery = 5 * time.Minute
)

// Sender submits due payouts to rails, and settles or fails them as the rails report. No rail is called within a
// transaction.
type Sender struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Rails  []Rail
	Mail   *mail.Outbox // may be nil
	// HoldOnHighRisk holds payouts while their partner has an open high risk flag (decisions, 149).
	HoldOnHighRisk bool
	// Open returns the service of a connected rail; nil if the server connects none.
	Open func(db.PayoutRail) (Rail, error)
}

// Run does one round with every rail. A slow or failing rail delays no other. u is the run: its events have its
// request id.
func (s Sender) Run(ctx context.Context, u *work.Unit) error {
	errs := make([]error, len(s.Rails))
	var wait sync.WaitGroup
	for i, r := range s.Rails {
		if r.Name() == inFile {
			errs[i] = fmt.Errorf("a payment rail cannot have the name %q", inFile)
			continue
		}
		wait.Go(func() { errs[i] = errors.Join(s.claimDue(ctx, u, r), s.followOperators(ctx, u, r)) })
	}
	wait.Wait()
	return errors.Join(append(errs, s.sendAutomatically(ctx, u), s.followConnected(ctx, u))...)
}

// claimDue moves due payouts to processing.
func (s Sender) claimDue(ctx context.Context, u *work.Unit, r Rail) error {
	for {
		n, err := s.claim(ctx, u, r)
		if err != nil || n < sendBatch {
			return err
		}
	}
}

// claim claims a batch of payouts for a rail, and returns their number. From then on they can be neither lowered
// nor deleted; if the process ends here, follow submits them later.
func (s Sender) claim(ctx context.Context, u *work.Unit, r Rail) (n int, err error) {
	name := r.Name()
	err = u.Within(ctx, func(u *work.Unit) error {
		taken, err := queries.PayoutsToSend(ctx, u.Tx, db.PayoutsToSendParams{
			Rail: &name, Now: u.Now, Methods: r.Methods(), HoldOnHighRisk: s.HoldOnHighRisk, Lim: sendBatch,
		})
		for _, p := range taken {
			u.For(p.OrgID).Record(about(p), events.PayoutUpdated(api.PayoutUpdatedData{
				PayoutID: p.ID, PartnerID: p.PartnerID, Status: api.PayoutStatusProcessing, PreviousStatus: api.PayoutStatusPending,
			}))
		}
		n = len(taken)
		return err
	})
	return n, err
}

// FailInFlight fails a payout that a rail has in flight or that left in a file. The operator asserts that it was not
// paid and will not be.
func (s Sender) FailInFlight(ctx context.Context, u *work.Unit, p db.Payout, why string) error {
	return s.applyFinalStatus(ctx, u, p, Status{State: Rejected, Code: "given_up", Message: why})
}

// SettleExported settles a payout that left in a file, on the operator's word.
func (s Sender) SettleExported(ctx context.Context, u *work.Unit, p db.Payout, payment Payment) error {
	payment.ByHand = true
	return s.changeInFlight(ctx, u, p, func(u *work.Unit, p db.Payout) error {
		p, err := Settle(ctx, u, p, payment)
		if err != nil {
			return err
		}
		return notifyAndIssue(ctx, u, s.Keeper, s.Mail, p)
	})
}

// partner reads the partner of a payout.
func (s Sender) partner(ctx context.Context, p db.Payout) (db.Partner, error) {
	return queries.PartnerGet(ctx, s.Pool, db.PartnerGetParams{ID: p.PartnerID, OrgID: p.OrgID})
}

// transferOf converts a payout to a transfer without the email, name and payout details of its partner.
func transferOf(p db.Payout) Transfer {
	return Transfer{
		ID: p.ID, ExternalID: opt.Value(p.ExternalID), AmountMinor: p.AmountMinor, Currency: p.Currency,
		Method: opt.Value(p.Method), PartnerID: p.PartnerID, SubmittedAt: p.SubmittedAt,
	}
}

// transferTo converts a payout to its partner for a rail.
func (s Sender) transferTo(p db.Payout, partner db.Partner) (t Transfer, err error) {
	t = transferOf(p)
	t.Email, t.Name = partner.Email, NameOf(partner)
	t.Details, err = DetailsOf(s.Keeper, partner)
	return t, err
}

// applyFinalStatus writes the final status that a rail reports.
func (s Sender) applyFinalStatus(ctx context.Context, u *work.Unit, p db.Payout, status Status) error {
	return s.changeInFlight(ctx, u, p, func(u *work.Unit, p db.Payout) error {
		if status.State != Settled {
			_, err := fail(ctx, u, p, status)
			return err
		}
		commissions, err := queries.PayoutCommissions(ctx, u.Tx, db.PayoutCommissionsParams{PayoutID: &p.ID, OrgID: p.OrgID})
		if err != nil {
			return err
		}
		if p, err = pay(ctx, u, p, commissions, Payment{At: status.paidAt(p, u.Now), ByRail: true}); err != nil {
			return err
		}
		return notifyAndIssue(ctx, u, s.Keeper, s.Mail, p)
	})
}

// paidAt returns the time of the payment: the rail's, if it is between the submission and now.
func (s Status) paidAt(p db.Payout, now clock.Time) clock.Time {
	if s.PaidAt == nil || p.SubmittedAt == nil {
		return now
	}
	at, err := paidBetween(*p.SubmittedAt, *s.PaidAt, now)
	if err != nil {
		return now
	}
	return at
}

// changeInFlight writes the final status of a payout, if it is still in flight.
func (s Sender) changeInFlight(ctx context.Context, u *work.Unit, p db.Payout,
	write func(*work.Unit, db.Payout) error) error {
	return s.change(ctx, u, p, db.PayoutStatusProcessing, write)
}

// change writes to a payout, if it has a status. Its time is not before the last change: a payout may be handed over
// after the beginning of the round, which is the time of u.
func (s Sender) change(ctx context.Context, u *work.Unit, p db.Payout, has db.PayoutStatus,
	write func(*work.Unit, db.Payout) error) error {
	return u.For(p.OrgID).Within(ctx, func(u *work.Unit) error {
		locked, err := lock(ctx, u, p)
		if err != nil || locked.Status != has {
			return err
		}
		u.Now = clock.Later(u.Now, locked.UpdatedAt)
		return write(u, locked)
	})
}

// maxFailedTransfers bounds the ids of failed transfers that a payout keeps, the latest ones.
const maxFailedTransfers = 100

// fail records a rejection or return. The payout keeps its commissions: it can be marked as paid, or deleted,
// which makes them due again. transfers are the ids of the failed transfer in a provider's results; none means that
// they are unknown.
func fail(ctx context.Context, u *work.Unit, p db.Payout, status Status, transfers ...string) (db.Payout, error) {
	code, message := plain.Cut(status.Code, 255), plain.Cut(status.Message, 1000)
	if code == "" {
		code = string(status.State)
	}
	if message == "" {
		message = "The payment rail " + string(status.State) + " the transfer."
	}
	u.Record(about(p), failure(p, code, message))
	p.Status, p.ErrorCode, p.ErrorMessage, p.UpdatedAt = db.PayoutStatusFailed, &code, &message, u.Now
	p.Attention, p.AttentionText, p.AttentionAt = nil, nil, nil
	if len(transfers) == 0 {
		transfers = []string{""}
	}
	p.FailedTransfers = append(p.FailedTransfers, transfers...)
	p.FailedTransfers = p.FailedTransfers[max(0, len(p.FailedTransfers)-maxFailedTransfers):]
	return p, queries.PayoutSetFailed(ctx, u.Later(), db.PayoutSetFailedParams{
		ErrorCode: &code, ErrorMessage: &message, FailedTransfers: p.FailedTransfers, UpdatedAt: u.Now, ID: p.ID,
		OrgID: p.OrgID,
	})
}

// failure returns the event of a failed payout.
func failure(p db.Payout, code, message string) events.Event {
	return events.PayoutFailed(api.PayoutFailedData{
		PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency,
		Method: (*api.PayoutMethod)(p.Method), ErrorCode: &code, ErrorMessage: &message,
	})
}

// markable refuses a payout that cannot be marked as paid.
func markable(p db.Payout) error {
	switch {
	case p.Status == db.PayoutStatusProcessing && !decidable(p):
		return inFlight(p)
	case p.Status == db.PayoutStatusPaid:
		return problem.New(problem.PayoutAlreadyPaid, "The payout is paid already.")
	case p.Status == db.PayoutStatusNotEligible:
		return problem.New(problem.PayoutNotPayable,
			"The payout is not eligible; only pending, failed and exported payouts can be marked as paid.")
	}
	return nil
}

// inFile is the rail's name of payouts that left in a file.
const inFile = "file"

// filed reports whether a payout left in a file and is still in flight.
func filed(p db.Payout) bool {
	return p.Status == db.PayoutStatusProcessing && p.Rail != nil && *p.Rail == inFile
}

// decidable reports whether a person decides about a processing payout: it left in a file, or its rail cannot say
// whether it has it.
func decidable(p db.Payout) bool {
	return filed(p) || p.Status == db.PayoutStatusProcessing && opt.Value(p.Attention) == Unconfirmed
}

// inFlight refuses an operation on a processing payout.
func inFlight(p db.Payout) error {
	if filed(p) {
		return problem.New(problem.PayoutInFlight,
			"The payout was exported to a file: mark it as paid or as failed first.")
	}
	return problem.New(problem.PayoutInFlight, "A payment rail is sending the payout.")
}
