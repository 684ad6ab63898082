package event_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/work/event"
)

// written returns the stored bodies of an event: for the program, and for its partner if that differs.
func written(t *testing.T, pool *pgxpool.Pool, id string) (body string, partnerBody *string) {
	t.Helper()
	row := pool.QueryRow(t.Context(), "SELECT body, partner_body FROM events WHERE id = $1", id)
	require.NoError(t, row.Scan(&body, &partnerBody))
	return body, partnerBody
}

// TestBodies compares the signed bytes: the members in the order of the contract, without escapes, and null
// without a request.
func TestBodies(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	about := event.Subject{ProgramID: "prg_1", PartnerID: "part_1", ID: "ref_1"}
	r := event.Recorder{Now: now, RequestID: "req_1"}
	r.Record("org_1", about, events.ReferralLead(api.ReferralLeadData{
		ReferralID: "ref_1", CustomerID: "cus_1", PartnerID: "part_1", Email: new("a<b>&c@example.com"),
		TrackedBy: api.TrackedByLink,
	}))
	r.Record("org_1", about, events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: "part_1"}))
	require.NoError(t, r.Flush(t.Context(), pool))
	require.Len(t, r.IDs(), 2)

	start := `{"id":"` + r.IDs()[0] + `","type":"referral.lead","created_at":"2026-09-01T12:00:00.000Z",` +
		`"data":{"customer_id":"cus_1",`
	end := `"partner_id":"part_1","referral_id":"ref_1","tracked_by":"link"},"request":{"id":"req_1"}}`
	body, partnerBody := written(t, pool, r.IDs()[0])
	require.Equal(t, start+`"email":"a<b>&c@example.com",`+end, body)
	require.Equal(t, start+end, *partnerBody)

	body, partnerBody = written(t, pool, r.IDs()[1])
	require.Contains(t, body, `"type":"affiliate.deleted"`)
	require.Nil(t, partnerBody, "nothing of it is hidden")

	r = event.Recorder{Now: now}
	r.Record("org_1", about, events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: "part_1"}))
	require.NoError(t, r.Flush(t.Context(), pool))
	body, _ = written(t, pool, r.IDs()[0])
	require.Contains(t, body, `"data":{"partner_id":"part_1"},"request":{"id":null}}`)
}

func TestSampleRowsAreNoNews(t *testing.T) {
	t.Parallel()
	r := event.Recorder{Now: now}
	r.Record("org_1", event.Subject{ProgramID: "sample_prg_1"}, events.RuleDeleted(api.RuleDeletedData{RuleID: "flow_1"}))
	require.Zero(t, r.Len())
	r.Record("org_1", event.Subject{ProgramID: "prg_1"}, events.RuleDeleted(api.RuleDeletedData{RuleID: "flow_1"}))
	require.Equal(t, 1, r.Len())
}

// TestDeliveries: endpoints of the program and of two partners take events; a partner gets its own, of the types
// visible to partners.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Partners(2)
	for id, partner := range map[string]*string{"whe_all": nil, "whe_1": new("part_1"), "whe_2": new("part_2")} {
		require.NoError(t, db.New().WebhookEndpointInsert(t.Context(), x.Pool, db.WebhookEndpointInsertParams{
			ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID, PartnerID: partner, URL: "https://e.com", EventTypes: []string{},
			Enabled: true, Secret: []byte("s"), CreatedAt: now,
		}))
	}
	r := event.Recorder{Now: now}
	about := event.Subject{ProgramID: x.Program.ID, PartnerID: "part_1", ID: "x"}
	r.Record(x.OrgID, about, events.CommissionDeleted(api.CommissionDeletedData{CommissionID: "com_1"}))
	r.Record(x.OrgID, about, events.SaleDeleted(api.SaleDeletedData{SaleID: "sale_1"}))
	require.NoError(t, r.Flush(t.Context(), x.Pool))
	require.Equal(t, []string{"whe_1 commission.deleted", "whe_all commission.deleted", "whe_all sale.deleted"},
		worktest.Rows[string](x, `SELECT endpoint_id || ' ' || event_type FROM webhook_deliveries
			ORDER BY endpoint_id, event_seq`))
}

func TestForPartner(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"a":1,"email":"x@example.com","b":"<&>"}`)
	got, err := event.ForPartner("referral.lead", data)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1,"b":"<&>"}`, string(got))
	require.NotContains(t, string(got), `\u`)
	got, err = event.ForPartner("referral.created", data)
	require.NoError(t, err)
	require.Equal(t, string(data), string(got), "hides nothing")
	_, err = event.ForPartner("referral.lead", json.RawMessage(`[]`))
	require.Error(t, err, "what cannot be looked through is not shown")
	require.True(t, event.PartnerVisible("payout.due"))
	require.False(t, event.PartnerVisible("sale.created"))
	require.False(t, event.PartnerVisible("payout"))
}
