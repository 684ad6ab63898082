package sale_test

import (
	"testing"

	"rail/server/harness/apitest"

	"github.com/stretchr/testify/require"
)

// TestMergedIDs: the id of a merged customer works wherever the API takes a customer's id,
// also after further merges, and until the survivor is deleted.
func TestMergedIDs(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	into, from := h.CreateCustomer(nil), h.CreateCustomer(M{"external_customer_id": "cus_B"})
	h.Sell(from, "ch_1", h.Clock.Now().Time)
	h.Must(200, h.Merge(into, from, nil))
	require.EqualValues(t, 1, h.Get("/v1/sales?program_id="+h.ProgramID+"&customer_id="+from).Int("total_count"))
	items := []M{}
	for i, id := range []string{from, into, from} {
		items = append(items, M{
			"customer_id": id, "external_charge_id": []string{"b1", "b2", "b3"}[i], "amount_minor": 100, "currency": "USD",
		})
	}
	batch := h.Must(200, h.Post("/v1/sales/batch", M{"program_id": h.ProgramID, "items": items}))
	require.EqualValues(t, 3, batch.Int("succeeded"))
	for _, one := range batch.Data() {
		require.Equal(t, into, one["result"].(M)["customer_id"])
	}
	path := "/v1/customers/" + from
	attached := h.Must(201, h.Post(path+"/external_ids", M{"external_customer_id": "cus_C"}))
	require.Equal(t, into, attached.String("id"))
	require.Equal(t, []string{"cus_B", "cus_C"}, h.ExternalIDs(from))
	h.Must(200, h.Delete(path+"/external_ids/cus_C"))
	preview := M{"program_id": h.ProgramID, "customer_id": from, "amount_minor": 100, "currency": "USD"}
	require.Equal(t, h.PartnerID, h.Must(200, h.Post("/v1/flows/preview", preview)).String("partner_id"))
	credit := h.Must(200, h.Post(path+"/credit", M{"partner_id": h.PartnerID, "since": h.Clock.Now().Time}))
	require.Equal(t, into, credit.String("customer_id"))
	h.Refused(409, "customer_has_sales", "", h.Delete(path))
	last := h.CreateCustomer(nil)
	h.Must(200, h.Merge(last, from, nil))
	for _, id := range []string{into, from} {
		require.Equal(t, last, h.Must(200, h.Get("/v1/customers/"+id)).String("id"))
	}
	apitest.Balanced(t, h.Server)
}

// TestDeletedSurvivor: a merged customer's id identifies no customer after the survivor is deleted.
func TestDeletedSurvivor(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
	h.Must(200, h.Merge(into, from, nil))
	h.Must(200, h.Delete("/v1/customers/"+from))
	for _, id := range []string{into, from} {
		h.Refused(404, "resource_not_found", "", h.Get("/v1/customers/"+id))
		h.Refused(404, "resource_not_found", "customer_id", h.Post("/v1/sales", M{
			"program_id": h.ProgramID, "customer_id": id, "external_charge_id": "ch_1", "amount_minor": 100, "currency": "USD",
		}))
	}
	apitest.Balanced(t, h.Server)
}

// TestSurvivorOfPaidSignup: a paid commission of a merged customer's sign-up keeps its survivor
// from being deleted.
func TestSurvivorOfPaidSignup(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	flow := h.signUps()
	from := h.CreateCustomer(nil)
	h.Settle()
	h.Must(200, h.Post("/v1/flows/"+flow, M{"status": "inactive"}))
	into := h.CreateCustomer(nil)
	h.Must(200, h.Merge(into, from, nil))
	for _, id := range []string{into, from} {
		h.Refused(409, "customer_has_paid_commissions", "", h.Delete("/v1/customers/"+id))
	}
	apitest.Balanced(t, h.Server)
}

// TestPaidCommissionOfMergedCustomer: the commission keeps the id and shows the survivor. A
// later clawback is the survivor's.
func TestPaidCommissionOfMergedCustomer(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
	sale := h.Sell(from, "ch_1", h.Clock.Now().Time)
	h.Settle()
	h.Must(200, h.Merge(into, from, nil))
	list := "/v1/commissions?expand[]=customer&program_id=" + h.ProgramID
	k := h.Get(list).Data()[0]
	require.Equal(t, []any{from, into}, []any{k["customer_id"], k["customer"].(M)["id"]})
	explained := h.Must(200, h.Get("/v1/commissions/"+k["id"].(string)+"?include[]=explanation")).Body["explanation"].(M)
	require.Equal(t, "The customer was reported as the partner's on 2026-09-01.", explained["partner"])
	h.Must(200, h.Post("/v1/sales/"+sale+"/refund", M{}))
	all := h.Get(list).Data()
	require.Len(t, all, 2)
	for _, k := range all {
		want := from
		if k["kind"] == "clawback" {
			want = into
		}
		require.Equal(t, []any{want, into}, []any{k["customer_id"], k["customer"].(M)["id"]}, k["kind"])
	}
	apitest.Balanced(t, h.Server)
}

// TestRetryWithMergedID: a sale sent again under the id of a merged customer is the same sale,
// without a warning.
func TestRetryWithMergedID(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
	body := M{"program_id": h.ProgramID, "customer_id": from, "external_charge_id": "ch_1", "amount_minor": 100, "currency": "USD"}
	sale := h.Must(201, h.Post("/v1/sales", body))
	h.Must(200, h.Merge(into, from, nil))
	again := h.Must(200, h.Post("/v1/sales", body))
	require.Equal(t, []string{sale.String("id"), into}, []string{again.String("id"), again.String("customer_id")})
	require.Empty(t, again.Body["warnings"])
	body["customer_id"] = h.CreateCustomer(nil)
	other := h.Must(200, h.Post("/v1/sales", body))
	require.Equal(t, "differs_from_recorded", other.Body["warnings"].([]any)[0].(M)["code"])
}

// TestMergedStatus: the survivor has the later status of the two, and a refunded first payment
// stays the first one.
func TestMergedStatus(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	suspended := h.Must(200, h.Merge(h.CreateCustomer(nil), h.CreateCustomer(M{"status": "suspended"}), nil))
	require.Equal(t, "suspended", suspended.Body["customer"].(M)["status"])
	into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
	first := h.Sell(from, "ch_1", h.Clock.Now().Time)
	h.Must(200, h.Post("/v1/sales/"+first+"/refund", M{}))
	h.Must(200, h.Merge(into, from, nil))
	later := h.Sell(into, "ch_2", h.Clock.Now().Time)
	require.Equal(t, map[string]any{first: true, later: false}, h.firsts())
	apitest.Balanced(t, h.Server)
}

// TestMergeOfClicks: one person signed up through two visits. After the merge one of them is
// converted, and reports count one customer.
func TestMergeOfClicks(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	signUp := func() string {
		return h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"),
		})).String("id")
	}
	into, from := signUp(), signUp()
	h.Sell(from, "ch_1", h.Clock.Now().Time)
	h.Must(200, h.Merge(into, from, nil))
	h.Sell(into, "ch_2", h.Clock.Now().Time)
	require.Equal(t, 1, apitest.Tally(h.Server, h.ProgramID, "referral.converted"))
	got := h.Server.Reported(h.ProgramID, "&from=2026-08-01&to=2026-09-30&compare=none")
	require.Equal(t, []string{"2", "1", "1", "2", "0", "20000", "4000"}, apitest.ReportRow(got, h.PartnerID))
	apitest.Balanced(t, h.Server)
}

// TestDryRunOfMerge: a dry run returns exactly the customer and the commissions that the merge
// returns.
func TestDryRunOfMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.bounty()
	into := h.CreateCustomer(M{"external_customer_id": "x1", "identifier": "i1"})
	from := h.CreateCustomer(M{
		"external_customer_id": "x2", "email": "q@w.example", "name": "Q", "status": "trial", "metadata": M{"a": 1},
	})
	h.Sell(from, "ch_1", h.Clock.Now().Time.AddDate(0, -4, 0))
	h.Sell(into, "ch_2", h.Clock.Now().Time)
	dry := h.Must(200, h.Merge(into, from, M{"dry_run": true}))
	done := h.Must(200, h.Merge(into, from, nil))
	require.NotEmpty(t, done.Body["commissions"])
	require.Equal(t, dry.Body["commissions"], done.Body["commissions"])
	read := h.Must(200, h.Get("/v1/customers/"+into+"?include[]=external_ids")).Body
	for _, k := range []M{dry.Body["customer"].(M), done.Body["customer"].(M)} {
		k["updated_at"] = read["updated_at"]
		require.Equal(t, read, k)
	}
	apitest.Balanced(t, h.Server)
}
