package webhook_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/http/handlers"
	"rail/server/money/payout"
	"rail/server/outbound/webhook"
	"rail/server/postgres/pgtx"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/work"
)

// unprovoked are the event types that only a purge by the operator would cause. Rail has no such
// purge.
var unprovoked = []string{"sale.deleted", "commission.deleted"}

// provokedByResources are the event types that TestEventBodies causes.
var provokedByResources = []string{
	"affiliate.created", "affiliate.updated", "affiliate.deleted", "application.submitted", "affiliate_link.created",
	"affiliate_link.updated",
	"affiliate_link.deleted", "affiliate_coupon.created", "affiliate_coupon.updated", "affiliate_coupon.deleted",
	"referral.created", "referral.lead",
	"referral.converted", "referral.deleted", "sale.created", "commission.created", "commission.updated",
	"commission.voided", "risk_flag.created",
	"rule.updated", "rule.deleted", "rule.status_changed",
}

// provoker causes events, a step at a time.
type provoker struct {
	apitest.PayoutRail
	t       *testing.T
	earlier int             // the number of events of earlier steps
	seen    map[string]bool // by type
}

// step fails the test unless each of these types was recorded once since the last step, and every
// recorded event has exactly its fields.
func (p *provoker) step(what string, types ...string) {
	p.t.Helper()
	all := p.Events(p.ProgramID)
	fresh := map[string]int{}
	for _, e := range all[p.earlier:] {
		described(p.t, e)
		fresh[e.String("type")]++
	}
	p.earlier = len(all)
	for _, kind := range types {
		require.Equal(p.t, 1, fresh[kind], "%s: %s in %v", what, kind, fresh)
		p.seen[kind] = true
	}
}

// reviewApplications decides on applications.
func (p *provoker) reviewApplications() {
	p.t.Helper()
	s := p.Server
	a := s.Must(201, apitest.Apply(s, p.ProgramID, "a@example.com"))
	b := s.Must(201, apitest.Apply(s, p.ProgramID, "b@example.com"))
	p.step("submitted")
	s.Must(200, s.Post("/v1/applications/"+a.String("id")+"/approve", nil))
	p.step("approve", "application.approved", "affiliate.confirmed")
	s.Must(200, s.Post("/v1/applications/"+b.String("id")+"/reject", M{"reason": "No."}))
	p.step("reject", "application.rejected")
}

// payOut pays a payout of its batch over the rail, and returns its partner.
func (p *provoker) payOut() (partner string) {
	p.t.Helper()
	s := p.Server
	id, partner, sales := p.Due(p.t, 10000)
	p.step("batch", "payout_batch.created", "payout.created")
	poor, _ := p.Referrer(100)
	s.Must(200, s.Post("/v1/partners/"+poor, M{"payout_method": "paypal", "min_payout_minor": 1000}))
	p.step("poor")
	p.Batch(200)
	p.step("batch again", "payout.not_eligible")
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 1000}))
	p.step("a part back", "sale.updated", "commission.updated", "refund.created")
	p.Later()
	apitest.RunJob(p.t, s, "payouts-due")
	p.step("its day", "payout.due")
	require.NoError(p.t, p.Round(p.t))
	p.step("the rail has it", "payout.updated")
	p.Rail.End(id, payout.Status{State: payout.InFlight, Attention: payout.OnHold})
	require.NoError(p.t, p.Round(p.t))
	p.step("the rail holds it", "payout.attention")
	p.Rail.End(id, payout.Status{State: payout.Rejected, Code: "closed", Message: "Closed."})
	require.NoError(p.t, p.Round(p.t))
	p.step("the rail rejects", "payout.failed")
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	p.step("paid", "commission.paid", "payout.paid")
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil))
	p.step("all back", "sale.refunded", "commission.created")
	for _, none := range p.Payouts("&status=not_eligible") {
		s.Must(200, s.Delete("/v1/payouts/"+none.String("id")))
	}
	p.step("deleted", "payout.deleted")
	batch := s.Must(200, s.Get("/v1/payout_batches?program_id="+p.ProgramID)).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/payout_batches/"+batch+"/cancel", nil))
	p.step("cancelled", "payout_batch.cancelled")
	return partner
}

// flagRisk makes a partner refer itself.
func (p *provoker) flagRisk(partner string) {
	p.t.Helper()
	s := p.Server
	s.Must(200, s.Post("/v1/programs/"+p.ProgramID, M{"block_self_referrals": false}))
	s.Customer(p.ProgramID, partner, M{"email": s.Get("/v1/partners/" + partner).String("email")})
	flag := s.Must(200, s.Get("/v1/risk_flags?program_id="+p.ProgramID)).Data()[0]["id"].(string)
	p.step("flag", "risk_flag.created")
	s.Must(200, s.Post("/v1/risk_flags/"+flag+"/resolve", M{"note": "Known."}))
	p.step("resolve", "risk_flag.resolved")
}

// switchCoupon disables and enables a coupon, as a processor does.
func (p *provoker) switchCoupon() {
	p.t.Helper()
	s := p.Server
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": p.ProgramID, "code": "EVERY"})).String("id")
	active := func(on bool) {
		p.t.Helper()
		processor(p.t, s, func(ctx context.Context, _ *handlers.Server, u *work.Unit) error {
			_, err := tracking.SetCouponState(ctx, u, coupon, tracking.CouponState{Active: on, At: u.Now})
			return err
		})
	}
	p.step("coupon", "affiliate_coupon.created")
	active(false)
	p.step("off", "affiliate_coupon.deactivated")
	active(false)
	p.step("off again")
	active(true)
	p.step("on", "affiliate_coupon.activated")
	require.Equal(p.t, true, s.Get("/v1/coupons/" + coupon).Body["active"])
}

// enrolCustomer makes a customer a partner, as a processor does.
func (p *provoker) enrolCustomer(referrer string) {
	p.t.Helper()
	buyer := p.Customer(p.ProgramID, referrer, M{"email": "buyer@example.com"})
	p.step("buyer")
	processor(p.t, p.Server, func(ctx context.Context, _ *handlers.Server, u *work.Unit) error {
		_, err := partner.EnrolCustomer(ctx, u, buyer)
		return err
	})
	p.step("enrolled", "affiliate.created", "customer.enrolled_as_partner")
}

// ban bans a partner.
func (p *provoker) ban() {
	p.t.Helper()
	bad := p.Partner(p.ProgramID)
	p.step("bad")
	p.Must(200, p.Post("/v1/partners/"+bad+"/ban", M{"reason": "Stolen cards."}))
	p.step("banned", "affiliate.updated", "affiliate.banned")
}

// waitForSale records a refund whose sale never comes.
func (p *provoker) waitForSale() {
	p.t.Helper()
	p.Must(202, p.Post("/v1/refunds", apitest.RefundBody(p.ProgramID, "ch_never", "re_never")))
	p.step("waits", "refund.created")
	p.Clock.Advance(31 * 24 * time.Hour)
	apitest.RunJob(p.t, p.Server, "expire-refunds")
	p.step("unmatched", "refund.updated")
}

// failInbox sends an event of a processor that the rules refuse.
func (p *provoker) failInbox() {
	p.t.Helper()
	connected := p.Connect(p.ProgramID)
	p.step("connected")
	p.Must(200, connected.Send(M{"external_charge_id": "ch_bad", "amount_minor": "many", "currency": "USD"}))
	apitest.RunJob(p.t, p.Server, "work-inbox")
	p.step("refused", "inbox_event.failed")
}

// TestEveryEventIsProvoked causes the types that TestEventBodies does not: over the API, by a job,
// by a rail, or by a processor's integration. Each is recorded once, with exactly its fields. A
// type of the catalogue that no step causes fails the test.
func TestEveryEventIsProvoked(t *testing.T) {
	t.Parallel()
	p := &provoker{PayoutRail: apitest.NewPayoutRail(t), t: t, seen: map[string]bool{}}
	for _, kind := range append(unprovoked, provokedByResources...) {
		p.seen[kind] = true
	}
	p.reviewApplications()
	partner := p.payOut()
	p.flagRisk(partner)
	p.switchCoupon()
	p.enrolCustomer(partner)
	p.ban()
	p.failInbox()
	p.waitForSale()
	for _, kind := range webhook.Catalogue() {
		require.True(t, p.seen[kind.Type], "nothing provokes %s", kind.Type)
	}
}

// processor runs the rules as an integration does, in a transaction like a request's.
func processor(t *testing.T, s *apitest.Server, run func(context.Context, *handlers.Server, *work.Unit) error) {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	tx := pgtx.Begin(s.Pool)
	defer tx.Rollback()
	c := work.New(s.Pool, work.Unit{
		OrgID: s.Org, Actor: work.Actor{Kind: work.Processor, ID: "test"}, RequestID: "run_processor", Now: s.Clock.Now(),
	}).WithTx(tx)
	require.NoError(t,
		run(t.Context(), handlers.New(handlers.Options{Keeper: keeper, BaseURL: "https://rail.example"}), c))
	require.NoError(t, c.Events.Flush(t.Context(), tx.Later()))
	require.NoError(t, tx.Commit(t.Context()))
}
