package api_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/api"
	"rail/server/apitest"
	"rail/server/auth"
	"rail/server/call"
	"rail/server/payout"
	"rail/server/pgtx"
	"rail/server/secret"
	"rail/server/webhook"
)

// unprovoked are the types that only an operator's purge causes, which Rail does
// not have (decisions, 101).
var unprovoked = []string{"sale.deleted", "commission.deleted"}

// provokedByResources are the types that TestEventBodies provokes.
var provokedByResources = []string{
	"affiliate.created", "affiliate.updated", "affiliate.deleted", "application.submitted", "affiliate_link.created", "affiliate_link.updated",
	"affiliate_link.deleted", "affiliate_coupon.created", "affiliate_coupon.updated", "affiliate_coupon.deleted", "referral.created", "referral.lead",
	"referral.converted", "referral.deleted", "sale.created", "commission.created", "commission.updated", "commission.voided", "risk_flag.created",
	"rule.updated", "rule.deleted", "rule.status_changed",
}

// TestEveryEventIsProvoked provokes the types that TestEventBodies does not: over
// the API, by a job, by a rail, or by what a processor's integration will call.
// Each is told once, with exactly its fields; a type of the catalogue that
// nothing provokes fails.
func TestEveryEventIsProvoked(t *testing.T) {
	t.Parallel()
	r := newRailed(t)
	s, program := r.s, r.program
	told := 0
	seen := map[string]bool{}
	for _, kind := range append(unprovoked, provokedByResources...) {
		seen[kind] = true
	}
	step := func(what string, types ...string) {
		t.Helper()
		all := s.Events(program)
		fresh := map[string]int{}
		for _, e := range all[told:] {
			described(t, e)
			fresh[e.String("type")]++
		}
		told = len(all)
		for _, kind := range types {
			require.Equal(t, 1, fresh[kind], "%s: %s in %v", what, kind, fresh)
			seen[kind] = true
		}
	}
	a := s.Must(201, apply(s, program, "a@example.com"))
	b := s.Must(201, apply(s, program, "b@example.com"))
	step("submitted")
	s.Must(200, s.Post("/v1/applications/"+a.String("id")+"/approve", nil))
	step("approve", "application.approved", "affiliate.confirmed")
	s.Must(200, s.Post("/v1/applications/"+b.String("id")+"/reject", M{"reason": "No."}))
	step("reject", "application.rejected")

	id, partner, sales := r.due(t, 10000)
	step("batch", "payout.created")
	poor, _ := r.partner(100)
	s.Must(200, s.Post("/v1/partners/"+poor, M{"payout_method": "paypal", "min_payout_minor": 1000}))
	step("poor")
	r.batch(200)
	step("batch again", "payout.not_eligible")
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 1000}))
	step("a part back", "sale.updated", "commission.updated")
	r.later()
	runJob(t, s, "payouts-due")
	step("its day", "payout.due")
	require.NoError(t, r.round(t))
	step("the rail has it", "payout.updated")
	r.rail.End(id, payout.Status{State: payout.Rejected, Code: "closed", Message: "Closed."})
	require.NoError(t, r.round(t))
	step("the rail rejects", "payout.failed")
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	step("paid", "commission.paid", "payout.paid")
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil))
	step("all back", "sale.refunded", "commission.created")
	for _, p := range r.payouts("&status=not_eligible") {
		s.Must(200, s.Delete("/v1/payouts/"+p.String("id")))
	}
	step("deleted", "payout.deleted")

	s.Must(200, s.Post("/v1/programs/"+program, M{"block_self_referrals": false}))
	s.Customer(program, partner, M{"email": s.Get("/v1/partners/" + partner).String("email")})
	flag := s.Must(200, s.Get("/v1/risk_flags?program_id="+program)).Data()[0]["id"].(string)
	step("flag", "risk_flag.created")
	s.Must(200, s.Post("/v1/risk_flags/"+flag+"/resolve", M{"note": "Known."}))
	step("resolve", "risk_flag.resolved")

	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "EVERY"})).String("id")
	step("coupon", "affiliate_coupon.created")
	processor(t, s, func(ctx context.Context, _ *api.Server, c *call.Call) error {
		return api.SetCouponActive(ctx, c, coupon, false)
	})
	step("off", "affiliate_coupon.deactivated")
	processor(t, s, func(ctx context.Context, _ *api.Server, c *call.Call) error {
		return api.SetCouponActive(ctx, c, coupon, false)
	})
	step("off again")
	processor(t, s, func(ctx context.Context, _ *api.Server, c *call.Call) error {
		return api.SetCouponActive(ctx, c, coupon, true)
	})
	step("on", "affiliate_coupon.activated")
	require.Equal(t, true, s.Get("/v1/coupons/" + coupon).Body["active"])
	buyer := s.Customer(program, partner, M{"email": "buyer@example.com"})
	step("buyer")
	processor(t, s, func(ctx context.Context, server *api.Server, c *call.Call) error {
		_, err := server.EnrolCustomer(ctx, c, buyer)
		return err
	})
	step("enrolled", "affiliate.created", "customer.enrolled_as_partner")

	for _, kind := range webhook.Catalogue() {
		require.True(t, seen[kind.Type], "nothing provokes %s", kind.Type)
	}
}

// processor runs what an integration will run, in a transaction like a request's.
func processor(t *testing.T, s *apitest.Server, work func(context.Context, *api.Server, *call.Call) error) {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	tx, err := pgtx.Begin(t.Context(), s.Pool)
	require.NoError(t, err)
	defer tx.Rollback()
	c := call.New(s.Pool, "run_processor", "processor", auth.Key{OrgID: s.Org}, s.Clock.Now()).WithTx(tx)
	require.NoError(t, work(t.Context(), api.New(api.Options{Keeper: keeper, BaseURL: "https://rail.example"}), c))
	require.NoError(t, c.Events.Flush(t.Context(), tx.Later()))
	require.NoError(t, tx.Commit(t.Context()))
}
