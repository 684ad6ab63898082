package partner

import (
	"context"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/worktest"
	"rail/server/money/payout"
	"rail/server/problem"
	"rail/server/work"
)

func value(s string) nullable.Nullable[string] { return nullable.NewNullableWithValue(s) }

var null = nullable.NewNullNullable[string]()

// refusedUpdate requires that an update is refused.
func (x *fixture) refusedUpdate(code problem.Code, param, id string, b Patch) {
	x.Helper()
	x.Refused(code, param, func(ctx context.Context, u *work.Unit) error {
		_, err := x.Update(ctx, u, id, b)
		return err
	})
}

// Payout details are sealed and belong to one method.
func TestPayoutDetails(t *testing.T) {
	t.Parallel()
	x := newFixture(t, func(p *db.Program) { p.PayoutMethods = []string{"paypal", "wise"} })
	id := x.create(x.candidate("ada@example.com")).ID
	details := []byte(`{"email":"ada@bank.example"}`)
	x.refusedUpdate(problem.ParameterInvalid, "payout_details", id, Patch{PayoutDetails: details})
	x.refusedUpdate(problem.ParameterInvalid, "payout_method", id, Patch{PayoutMethod: value("crypto")})
	x.refusedUpdate(problem.ParameterInvalid, "payout_details", id,
		Patch{PayoutMethod: value("wise"), PayoutDetails: []byte("[]")})

	set := Patch{PayoutMethod: value("paypal"), PayoutDetails: details}
	x.update(id, set)
	p := x.stored(id)
	require.NotContains(t, string(p.PayoutDetails), "bank.example")
	opened, err := payout.DetailsOf(x.Keeper, p)
	require.NoError(t, err)
	require.Equal(t, details, opened)
	require.Equal(t, x.Now, *p.PayoutDetailsChangedAt)

	events := len(x.Events())
	x.update(id, set)
	require.Equal(t, p, x.stored(id), "the same details are no change, though a new seal would differ")
	require.Len(t, x.Events(), events)

	x.update(id, Patch{PayoutMethod: value("wise")})
	require.Nil(t, x.stored(id).PayoutDetails, "another method drops them")
	x.update(id, set)
	x.update(id, Patch{PayoutDetails: []byte("null")})
	require.Nil(t, x.stored(id).PayoutDetails)
	require.Nil(t, x.stored(id).PayoutDetailsHash)
	require.Equal(t, "paypal", *x.stored(id).PayoutMethod)
}

// TestEachAccountCounts: an IBAN that stays does not hide that the email beside it, to which a file for Wise pays, is
// another's.
func TestEachAccountCounts(t *testing.T) {
	t.Parallel()
	x := newFixture(t, func(p *db.Program) { p.PayoutMethods = []string{"wise"} })
	id := x.create(x.candidate("ada@example.com")).ID
	set := func(details string) clock.Time {
		x.Now = x.Now.Plus(time.Minute)
		x.update(id, Patch{PayoutMethod: value("wise"), PayoutDetails: []byte(details)})
		return *x.stored(id).PayoutDetailsChangedAt
	}
	set(`{"iban":"DE02120300000000202051","email":"ada@bank.example","name":"Ada"}`)
	require.Equal(t, x.Now, set(`{"iban":"DE02120300000000202051","email":"eve@evil.example","name":"Ada"}`))
	changed := x.Now
	require.Equal(t, changed, set(`{"iban":"DE02 1203 0000 0000 2020 51","Email":"Eve@evil.example","name":"Ada L"}`))
	require.Equal(t, x.Now, set(`{"iban":"DE02120300000000202051","email":"eve@evil.example","wise_email":"mal@evil.example"}`))
	require.Equal(t, x.Now, set(`{"iban":"DE02120300000000202051","bic":"BYLADEM1001","email":"eve@evil.example"}`))
}

func TestUpdateStatus(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	id := x.create(x.candidate("ada@example.com")).ID
	x.sql(`INSERT INTO portal_sessions (token_hash, org_id, program_id, partner_id, created_at, expires_at)
		VALUES ('\x01', $1, $2, $3, now(), now())`, x.OrgID, x.Program.ID, id)
	x.refusedUpdate(problem.ParameterInvalid, "suspension_reason", id, Patch{SuspensionReason: value("Spam")})
	p := x.update(id, Patch{Status: new(db.PartnerStatusSuspended), SuspensionReason: value("Spam")})
	require.Equal(t, []any{db.PartnerStatusSuspended, "Spam"}, []any{p.Status, *p.SuspensionReason})
	sessions := worktest.Rows[string](x.Tenant, "SELECT partner_id FROM portal_sessions")
	require.Empty(t, sessions, "who is suspended is signed out")
	p = x.update(id, Patch{Status: new(db.PartnerStatusActive)})
	require.Nil(t, p.SuspensionReason)

	pending := x.apply(x.candidate("bob@example.com"))
	reinstate := Patch{Status: new(db.PartnerStatusActive)}
	x.refusedUpdate(problem.PartnerNotReviewed, "status", *pending.PartnerID, reinstate)
}

// A former handle stays the partner's: it may return to it, and no other partner gets it.
func TestUpdateHandle(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	ada, bob := x.create(x.candidate("ada@example.com")), x.create(x.candidate("bob@example.com"))
	x.update(ada.ID, Patch{Handle: new("lovelace")})
	x.refusedUpdate(problem.PartnerHandleTaken, "handle", bob.ID, Patch{Handle: new("ada")})
	x.refusedUpdate(problem.PartnerHandleTaken, "handle", bob.ID, Patch{Handle: new("lovelace")})
	require.Equal(t, "ada", x.update(ada.ID, Patch{Handle: new("ada")}).Handle)
}

// TestReservedHandle: no partner gets a value as its handle that links of several partners share.
func TestReservedHandle(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	a := x.apply(x.candidate("ada@example.com"))
	x.sql(`INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id)
		VALUES ($1, $2, 'sale', 'reserved', $3)`, x.OrgID, x.Program.ID, *a.PartnerID)
	x.Must(x.reject(a.ID, nil))
	x.Refused(problem.PartnerHandleTaken, "handle", func(ctx context.Context, u *work.Unit) error {
		_, err := Apply(ctx, u, x.candidate("ada@example.com", func(c *Candidate) { c.Handle = new("sale") }), nil)
		return err
	})
	x.Must(x.approve(x.apply(x.candidate("ada@example.com")).ID))
	x.refusedUpdate(problem.PartnerHandleTaken, "handle", *a.PartnerID, Patch{Handle: new("sale")})
}

func TestUpdateProfile(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	p := x.create(x.candidate("ada@example.com", func(c *Candidate) { c.FirstName, c.LastName = new("Ada"), new("L") }))
	tags := []string{"tag_2", "tag_1"}
	for _, id := range tags {
		_, err := queries.TagInsert(t.Context(), x.Pool, db.TagInsertParams{
			ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID, Name: id, Color: "#000000", CreatedAt: x.Now,
			UpdatedAt: x.Now,
		})
		require.NoError(t, err)
	}
	q := x.update(p.ID, Patch{LastName: null, CountryCode: value("at"), TagIDs: append(tags, "tag_2")})
	require.Equal(t, []any{"Ada", "AT"}, []any{*q.FirstName, *q.CountryCode})
	require.Nil(t, q.LastName)
	events := len(x.Events())
	x.update(p.ID, Patch{FirstName: value("Ada"), TagIDs: []string{"tag_1", "tag_2"}})
	require.Len(t, x.Events(), events, "what is as it was makes no event")
	x.refusedUpdate(problem.ResourceNotFound, "tag_ids[1]", p.ID, Patch{TagIDs: []string{"tag_1", "tag_none"}})
	x.update(p.ID, Patch{TagIDs: []string{}})
	require.Empty(t, worktest.Rows[string](x.Tenant, "SELECT tag_id FROM partner_tags"))
}

// A partner's own change is in the audit log, without payout details, and ends the onboarding.
func TestUpdateSelf(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	id := x.create(x.candidate("ada@example.com")).ID
	save := func(b Patch) func(ctx context.Context, u *work.Unit) error {
		return func(ctx context.Context, u *work.Unit) error { return x.UpdateSelf(ctx, u, id, b) }
	}
	x.Must(save(Patch{FirstName: value("Ada")}))
	require.False(t, x.stored(id).CompletedOnboarding)
	x.Must(save(Patch{PayoutMethod: value("paypal"), PayoutDetails: []byte(`{"email":"ada@bank.example"}`)}))
	require.True(t, x.stored(id).CompletedOnboarding)
	x.Must(save(Patch{FirstName: value("Ada")}))
	lines := worktest.Rows[string](x.Tenant,
		"SELECT before::text || ' ' || after::text FROM audit_log_entries ORDER BY after::text DESC")
	require.Equal(t, []string{
		`{"first_name":null} {"first_name":"Ada"}`,
		`{"completed_onboarding":false,"payout_method":null} ` +
			`{"completed_onboarding":true,"payout_details":"changed","payout_method":"paypal"}`,
	}, lines)
	require.Equal(t, []string{"affiliate.created", "affiliate.updated", "affiliate.updated"}, x.Events())

	x.update(id, Patch{Status: new(db.PartnerStatusSuspended)})
	x.Refused(problem.PartnerNotActive, "", save(Patch{FirstName: value("Bo")}))
}

func TestSaveChoices(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	p := x.create(x.candidate("ada@example.com"))
	save := func(to Choices) {
		x.Must(func(ctx context.Context, u *work.Unit) error { return SaveChoices(ctx, u, p.ID, to) })
	}
	require.Equal(t, Choices{true, true, true}, ChoicesOf(p))
	save(Choices{true, true, true})
	require.Equal(t, []string{"affiliate.created"}, x.Events())
	save(Choices{PayoutPaid: true})
	require.Equal(t, Choices{PayoutPaid: true}, ChoicesOf(x.stored(p.ID)))
	require.Equal(t, []string{"By the partner " + p.ID + " in the portal."},
		worktest.Rows[string](x.Tenant, "SELECT reason FROM audit_log_entries"))
}
