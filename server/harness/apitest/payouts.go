package apitest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/payout"
	"rail/server/money/payout/rails"
	"rail/server/money/payout/railtest"
	"rail/server/secret"
	"rail/server/work"
)

// Earner is a program with partners that have due balances.
type Earner struct {
	*Server
	ProgramID string
}

// NewEarner starts a server with a program that pays 20 %.
func NewEarner(t testing.TB, more ...M) Earner {
	t.Helper()
	e := New(t).Earner(more...)
	e.Flow(e.ProgramID)
	return e
}

// Earner creates a program without a flow.
func (s *Server) Earner(more ...M) Earner {
	s.T.Helper()
	return Earner{s, s.Program(more...)}
}

// Referrer returns a partner whose customer paid these amounts, and the sales.
func (e Earner) Referrer(amounts ...int) (partner string, sales []string) {
	e.T.Helper()
	partner = e.Partner(e.ProgramID)
	customer := e.Customer(e.ProgramID, partner)
	for _, a := range amounts {
		sales = append(sales, e.Sale(e.ProgramID, customer, M{"amount_minor": a}).String("id"))
	}
	return partner, sales
}

// Batch creates a batch of the due balances up to 2026-09-01.
func (e Earner) Batch(status int, more ...M) Answer {
	e.T.Helper()
	body := with(M{"program_id": e.ProgramID, "period_end": "2026-09-01"}, more)
	return e.Must(status, e.Post("/v1/payout_batches", body))
}

// Payouts returns the program's payouts that a query finds.
func (e Earner) Payouts(query string) (out []Answer) {
	e.T.Helper()
	for _, p := range e.Must(200, e.Get("/v1/payouts?program_id="+e.ProgramID+query)).Data() {
		out = append(out, Answer{Body: p})
	}
	return out
}

// Tallied fails the test unless every open or paid payout is the sum of its commissions, and each
// of these commissions is in the state of its payout.
func (e Earner) Tallied(t testing.TB) {
	t.Helper()
	var wrong int
	require.NoError(t, e.Pool.QueryRow(t.Context(), `SELECT count(*) FROM payouts p LEFT JOIN LATERAL (
			SELECT coalesce(sum(k.amount_minor), 0) AS sum,
				bool_and((k.status = 'paid') = (p.status = 'paid')) AS fits
			FROM commissions k WHERE k.payout_id = p.id) h ON true
		WHERE p.status <> 'not_eligible' AND (h.sum <> p.amount_minor OR NOT coalesce(h.fits, false))
			OR p.status = 'not_eligible' AND h.sum <> 0`).Scan(&wrong))
	require.Zero(t, wrong)
	Balanced(t, e.Server)
}

// PayoutRail is an earner whose payouts are paid by a rail in memory.
type PayoutRail struct {
	Earner
	Rail *railtest.Rail
	Hold bool // whether a high flag holds payouts (decisions, 149)
}

// NewPayoutRail starts a server with a program that pays by PayPal.
func NewPayoutRail(t testing.TB) PayoutRail {
	t.Helper()
	return PayoutRail{Earner: NewEarner(t, M{"payout_methods": []string{"paypal"}}), Rail: railtest.New()}
}

// Round advances the clock and runs the job once.
func (r PayoutRail) Round(t testing.TB) error {
	t.Helper()
	r.Clock.Advance(6 * time.Minute)
	RunJob(t, r.Server, "payouts-due")
	return r.Again(t)
}

// Again runs the job once at the same time.
func (r PayoutRail) Again(t testing.TB) error {
	t.Helper()
	keeper, err := secret.New(r.Config.SecretKey)
	require.NoError(t, err)
	sender := payout.Sender{Pool: r.Pool, Keeper: keeper, Rails: []payout.Rail{r.Rail}, HoldOnHighRisk: r.Hold}
	return sender.Run(t.Context(), r.SendsPayouts(r.Clock.Now()))
}

// SendsPayouts is a run of the job that pays payouts.
func (s *Server) SendsPayouts(now clock.Time) *work.Unit {
	return work.NewRun(s.Pool, work.Actor{Kind: work.Job, ID: "send-payouts"}, now)
}

// Due creates a due payout and returns it with its sales.
func (r PayoutRail) Due(t testing.TB, amounts ...int) (id, partner string, sales []string) {
	t.Helper()
	partner, sales = r.Referrer(amounts...)
	r.Must(200, r.Post("/v1/partners/"+partner, M{
		"payout_method": "paypal", "payout_details": M{"email": "pay@example.com"},
	}))
	month := M{"program_id": r.ProgramID, "period_end": r.Clock.Now().String()}
	if a := r.Post("/v1/payout_batches", month); a.Status != 201 {
		r.Must(200, a)
	}
	return r.Payouts("&partner_id=" + partner)[0].String("id"), partner, sales
}

// Later advances the clock to a day when the payouts are due.
func (r PayoutRail) Later() { r.Clock.Advance(31 * 24 * time.Hour) }

// Payout retrieves a payout.
func (r PayoutRail) Payout(id string) Answer {
	r.T.Helper()
	return r.Must(200, r.Get("/v1/payouts/"+id))
}

// PayoutRail adds a rail that pays methods to a program, and returns its id. Its service cannot be reached.
func (s *Server) PayoutRail(program string, status db.PayoutRailStatus, methods ...string) string {
	s.T.Helper()
	id := ident.New(ident.Rail)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	sealed, err := keeper.Seal([]byte(`{"client_id":"client","secret":"secret"}`), rails.Place(id))
	require.NoError(s.T, err)
	err = db.New().PayoutRailInsert(s.T.Context(), s.Pool, db.PayoutRailInsertParams{
		ID: id, OrgID: s.Org, ProgramID: program, Kind: db.PayoutRailKindPaypal, Livemode: true, Status: status,
		Methods: methods, Credentials: sealed, CreatedAt: s.Clock.Now(), UpdatedAt: s.Clock.Now(),
	})
	require.NoError(s.T, err)
	return id
}
