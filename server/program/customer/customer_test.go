package customer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/money/sale"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type fixture struct {
	*worktest.Tenant
	ann, bob db.Partner
}

func setup(t *testing.T) fixture {
	t.Helper()
	x := worktest.New(t)
	return fixture{x, x.Partner("ann"), x.Partner("bob")}
}

func (x fixture) click(handle string) (k db.Click) {
	x.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(x, err)
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		k, err = tracking.Service{Keeper: keeper}.Click(ctx, u, x.Program.ID, handle, tracking.Visit{
			VisitorToken: "visitor", LandingURL: "https://shop.example/",
		})
		return err
	})
	return k
}

func (x fixture) create(in customer.Input) (k db.Customer) {
	x.Helper()
	in.ProgramID = x.Program.ID
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		k, err = customer.Service{}.Create(ctx, u, in)
		return err
	})
	return k
}

func (x fixture) refused(code problem.Code, param string, in customer.Input) {
	x.Helper()
	in.ProgramID = x.Program.ID
	x.Refused(code, param, func(ctx context.Context, u *work.Unit) error {
		_, err := customer.Service{}.Create(ctx, u, in)
		return err
	})
}

func (x fixture) referral(id string) string {
	x.Helper()
	return worktest.Rows[string](x.Tenant, "SELECT status FROM referrals WHERE id = $1", id)[0]
}

// A customer gets its partner by a click, a coupon or by name, with the route; a visit becomes a lead once.
func TestCreate(t *testing.T) {
	t.Parallel()
	x := setup(t)
	k := x.create(customer.Input{Route: tracking.Route{PartnerID: &x.bob.ID}})
	require.Equal(t, []any{x.bob.ID, "api", "lead"}, []any{*k.PartnerID, string(k.TrackedBy), string(k.Status)})
	x.Must(func(ctx context.Context, u *work.Unit) error {
		_, err := tracking.CreateCoupon(ctx, u, tracking.CouponInput{
			ProgramID: x.Program.ID, Code: "BOB10", PartnerID: &x.bob.ID,
		})
		return err
	})
	k = x.create(customer.Input{Route: tracking.Route{CouponCode: new("bob10")}})
	require.Equal(t, []any{x.bob.ID, "coupon"}, []any{*k.PartnerID, string(k.TrackedBy)})
	require.NotNil(t, k.CouponID)

	click := x.click("ann")
	require.Equal(t, "visit", x.referral(*click.ReferralID))
	before := len(x.Events())
	for range 2 {
		k = x.create(customer.Input{Route: tracking.Route{ClickID: &click.ID}})
		require.Equal(t, []any{x.ann.ID, "link", click.ID, *click.ReferralID},
			[]any{*k.PartnerID, string(k.TrackedBy), *k.ClickID, *k.ReferralID})
		require.Equal(t, "lead", x.referral(*click.ReferralID))
	}
	require.Equal(t, []string{"referral.lead"}, x.Events()[before:])
}

func TestCreateIsRefused(t *testing.T) {
	t.Parallel()
	x := setup(t)
	click := x.click("ann")
	byAnn := tracking.Route{PartnerID: &x.ann.ID}
	x.refused(problem.ParameterMissing, "partner_id", customer.Input{})
	x.refused(problem.ParametersExclusive, "click_id", customer.Input{
		Route: tracking.Route{PartnerID: &x.ann.ID, ClickID: &click.ID},
	})
	x.refused(problem.ParameterInvalid, "metadata", customer.Input{Route: byAnn, Metadata: []byte(`[]`)})
	x.refused(problem.ResourceNotFound, "coupon_code", customer.Input{Route: tracking.Route{CouponCode: new("none")}})
	x.refused(problem.SelfReferralBlocked, "email", customer.Input{Route: byAnn, Email: new("ANN+1@partners.example")})
	x.create(customer.Input{Route: byAnn, ExternalCustomerID: new("c1")})
	x.refused(problem.CustomerExternalIDTaken, "external_customer_id", customer.Input{
		Route: byAnn, ExternalCustomerID: new("c1"),
	})
	x.Now = x.Now.Days(x.Program.CookieDays)
	x.refused(problem.ReferralExpired, "click_id", customer.Input{Route: tracking.Route{ClickID: &click.ID}})
	_, err := x.Pool.Exec(t.Context(), "UPDATE partners SET status = 'suspended'")
	require.NoError(t, err)
	x.refused(problem.PartnerNotActive, "partner_id", customer.Input{Route: byAnn})
}

// A payer is found by either id, and created if a route exists.
func TestPayer(t *testing.T) {
	t.Parallel()
	x := setup(t)
	payer := func(by sale.Payer) (id string, err error) {
		err = x.Do(func(ctx context.Context, u *work.Unit) (err error) {
			payee, err := customer.Service{}.Payer(ctx, u, x.Program.ID, "ch_1", by)
			id = payee.ID
			return err
		})
		return id, err
	}
	external := new("c1")
	_, err := payer(sale.Payer{ExternalCustomerID: external})
	require.Equal(t, problem.NotFound("external_customer_id"), err)
	first, err := payer(sale.Payer{ExternalCustomerID: external, PartnerID: &x.ann.ID})
	require.NoError(t, err)
	for _, by := range []sale.Payer{
		{CustomerID: &first}, {ExternalCustomerID: external},
		{ExternalCustomerID: external, PartnerID: &x.bob.ID},
	} {
		id, err := payer(by)
		require.NoError(t, err)
		require.Equal(t, first, id)
	}
	_, err = payer(sale.Payer{CustomerID: &first, PartnerID: &x.ann.ID})
	require.ErrorContains(t, err, "customer_id and partner_id exclude each other.")
}

// Another partner gets the customer without the old route; deleting the last customer of a visit reverts its
// lead.
func TestReassignAndDelete(t *testing.T) {
	t.Parallel()
	x := setup(t)
	click := x.click("ann")
	first := x.create(customer.Input{Route: tracking.Route{ClickID: &click.ID}})
	second := x.create(customer.Input{Route: tracking.Route{ClickID: &click.ID}})
	x.Must(func(ctx context.Context, u *work.Unit) error {
		k, err := customer.Service{}.Update(ctx, u, first.ID, customer.Changes{PartnerID: &x.bob.ID})
		require.Equal(t, []any{x.bob.ID, "manual"}, []any{*k.PartnerID, string(k.TrackedBy)})
		require.Nil(t, k.ReferralID)
		require.Nil(t, k.ClickID)
		return err
	})
	require.Equal(t, []string{"customer.reassigned"},
		worktest.Rows[string](x.Tenant, "SELECT action FROM audit_log_entries"))
	require.Equal(t, "lead", x.referral(*click.ReferralID))
	x.Must(func(ctx context.Context, u *work.Unit) error { return customer.Delete(ctx, u, second.ID) })
	require.Equal(t, "visit", x.referral(*click.ReferralID))
	x.Refused(problem.ResourceNotFound, "", func(ctx context.Context, u *work.Unit) error {
		return customer.Delete(ctx, u, second.ID)
	})
}
