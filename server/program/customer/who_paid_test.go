package customer_test

import (
	"maps"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// Field case 1 (a second customer at the processor for one account) and field case 21 (a private
// email at sign-up, the firm's at the checkout): the merchant's own id identifies one person,
// whatever ids and emails the processor uses. A bounty for the first payment is paid once.
func TestFieldCase1SecondProcessorID(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{false, true} {
		h := newInboxed(t, func(in *connection.Input) { in.RecordDirect = direct })
		h.Flow(h.ProgramID, M{
			"name": "Bounty", "partner_id": h.PartnerID, "rate_type": "fixed", "rate_value": 9000,
			"branches": []M{{"conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": false}},
				"rate_type": "percent", "rate_value": 2000}},
		})
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "identifier": "user-7",
			"email": "private@example.org",
		})).String("id")
		for i, id := range []string{"cus_A", "cus_B", "cus_B"} {
			paidBy := h.PaidBy("ch_"+string(rune('1'+i)), M{
				"external_customer_id": id, "identifier": "user-7", "email": "firm@example.com",
			})
			require.Equal(t, k, paidBy.String("id"))
			require.Equal(t, []any{"cus_A", "private@example.org"}, []any{
				paidBy.String("external_customer_id"), paidBy.String("email"),
			})
			require.Equal(t, "identifier", paidBy.Body["attribution"].(M)["rule"])
		}
		require.Equal(t, k, h.PaidBy("ch_4", M{"external_customer_id": "cus_B"}).String("id"), "by the second id alone")
		require.Equal(t, []string{"cus_A", "cus_B"}, h.ExternalIDs(k))
		require.EqualValues(t, 9000+3*1000, h.Earned())
		require.EqualValues(t, 1, h.Total("customers"))
		for _, id := range []string{"cus_A", "cus_B"} {
			require.Equal(t, k, h.Get("/v1/customers?program_id=" + h.ProgramID + "&external_customer_id=" + id).Data()[0]["id"])
			require.EqualValues(t, 4, h.Get("/v1/sales?program_id="+h.ProgramID+"&external_customer_id="+id).Int("total_count"))
		}
		apitest.Balanced(t, h.Server)
	}
}

// Field case 3 (a partner buys through the partner's own link): an email that appears only at the
// checkout is stored and checked like one from the sign-up. Field case 4: the partner's payout
// address is checked too.
func TestFieldCase3And4SelfReferral(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.Must(200, h.Post("/v1/partners/"+h.PartnerID, M{
		"payout_method": "paypal", "payout_details": M{"email": "ann.pay@money.example"},
	}))
	partnerEmail := h.Get("/v1/partners/" + h.PartnerID).String("email")
	k := h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "identifier": "u1",
	})).String("id")
	paidBy := h.PaidBy("ch_1", M{"external_customer_id": "cus_1", "identifier": "u1", "email": partnerEmail, "name": "Ann"})
	require.Equal(t, []any{k, partnerEmail, "Ann"}, []any{paidBy.String("id"), paidBy.String("email"), paidBy.String("name")})
	require.Zero(t, h.Earned())
	flags := h.Get("/v1/risk_flags?program_id=" + h.ProgramID + "&status=open").Data()
	require.Len(t, flags, 1)
	require.Equal(t, []any{"self_referral", k}, []any{flags[0]["kind"], flags[0]["customer"].(M)["id"]})
	sale := h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "customer_id": k, "external_charge_id": "ch_2", "amount_minor": 5000, "currency": "USD",
	}))
	require.Equal(t, "self_referral", sale.Body["warnings"].([]any)[0].(M)["code"])

	h.Refused(409, "self_referral_blocked", "email", h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "email": "Ann.Pay@money.example",
	}))
	other := h.Must(201, h.Post("/v1/customers", M{"program_id": h.ProgramID, "partner_id": h.PartnerID})).String("id")
	h.Must(200, h.Post("/v1/customers/"+other, M{"email": "ann.pay@money.example"}))
	h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "customer_id": other, "external_charge_id": "ch_3", "amount_minor": 5000, "currency": "USD",
	}))
	require.Zero(t, h.Earned(), "an update that brings it pays nobody from then on")
	h.Must(200, h.Post("/v1/customers/"+other, M{"email": "somebody@else.example"}))
	h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "customer_id": other, "external_charge_id": "ch_4", "amount_minor": 5000, "currency": "USD",
	}))
	require.EqualValues(t, 1000, h.Earned())
	apitest.Balanced(t, h.Server)
}

// Field case 5: the email, in upper or lower case, identifies a guest without a time limit.
func TestFieldCase5Guest(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	first := h.PaidBy("ch_1", M{"click_id": h.Click(h.ProgramID, "ann").String("id"), "email": "Guest.One@Buyers.example"})
	h.Clock.Advance(40 * 24 * time.Hour)
	require.Equal(t, first.String("id"), h.PaidBy("ch_2", M{"email": "guest.one@buyers.example"}).String("id"))
	require.EqualValues(t, 2000, h.Earned())
}

// A guest who signs up later is the same customer within lead_match_days.
func TestGuestGetsAnAccount(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	first := h.PaidBy("ch_1", M{"click_id": h.Click(h.ProgramID, "ann").String("id"), "email": "g@buyers.example"})
	h.Clock.Advance(20 * 24 * time.Hour)
	require.Equal(t, first.String("id"),
		h.PaidBy("ch_2", M{"external_customer_id": "cus_1", "email": "G@buyers.example"}).String("id"))
	h.Clock.Advance(100 * 24 * time.Hour)
	require.Equal(t, first.String("id"), h.PaidBy("ch_3", M{"email": "g@buyers.example"}).String("id"), "as a guest again")
}

// An email matches in upper and lower case, letters with accents included. ß and SS are
// different letters.
func TestCaseOfEMails(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	for _, c := range []struct {
		signedUp, paid string
		same           bool
	}{
		{"KIM@Buyers.example", "kim@buyers.example", true},
		{"Ärger@buyers.example", "äRGER@buyers.example", true},
		{"straße@buyers.example", "STRASSE@buyers.example", false},
	} {
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "email": c.signedUp,
		})).String("id")
		h.Receive(apitest.Paid(apitest.Unique("ch_"), M{"external_customer_id": apitest.Unique("cus_"), "email": c.paid}))
		if !c.same {
			h.Last("ignored", "no_partner")
			continue
		}
		require.Equal(t, k, h.Last("recorded", nil).String("customer_id"), c.signedUp)
	}
}

// Field case 6: an email matches a sign-up for the period that the program sets, by default the
// lifetime of the visitor's referral.
func TestFieldCase6LongTrial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		days    any
		day     int
		matches bool
	}{{nil, 6, true}, {nil, 14, true}, {nil, 29, true}, {nil, 31, false}, {7, 6, true}, {7, 8, false}, {60, 59, true}} {
		h := newInboxed(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"lead_match_days": c.days}))
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "email": "Ada@example.org",
		})).String("id")
		h.Clock.Advance(time.Duration(c.day) * 24 * time.Hour)
		h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "cus_1", "email": "ada@example.org"}))
		if !c.matches {
			h.Last("ignored", "no_partner")
			continue
		}
		require.Equal(t, k, h.Last("recorded", nil).String("customer_id"), "%v days, day %d", c.days, c.day)
	}
}

// POST /v1/sales matches as processors' events do: the lead of the visit gets the id.
func TestSaleOfLead(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click := h.Click(h.ProgramID, "ann").String("id")
	k := h.Must(201, h.Post("/v1/customers", M{"program_id": h.ProgramID, "click_id": click, "email": "a@example.org"})).String("id")
	sale := h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "external_customer_id": "cus_1", "click_id": click, "external_charge_id": "ch_1",
		"amount_minor": 5000, "currency": "USD",
	}))
	require.Equal(t, k, sale.String("customer_id"))
	require.Equal(t, []string{"cus_1"}, h.ExternalIDs(k))
	h.Refused(404, "resource_not_found", "click_id", h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "external_customer_id": "cus_2", "click_id": "clk_none", "external_charge_id": "ch_2",
		"amount_minor": 5000, "currency": "USD",
	}))
}

func TestExternalIDs(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.Must(201, h.Post("/v1/customers", M{"program_id": h.ProgramID, "partner_id": h.PartnerID})).String("id")
	path := "/v1/customers/" + k + "/external_ids"
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "cus/A b"}))
	h.Last("ignored", "no_partner")
	customer := h.Must(201, h.Post(path, M{"external_customer_id": "cus/A b", "processor": "stripe"}))
	require.Equal(t, []any{"cus/A b", "stripe"}, []any{customer.String("external_customer_id"), customer.String("processor")})
	require.Equal(t, k, h.Last("recorded", nil).String("customer_id"), "a waiting payment is taken up")
	again := h.Must(200, h.Post(path, M{"external_customer_id": "cus/A b"}))
	require.Equal(t, customer.Body["external_ids"], again.Body["external_ids"])
	h.Must(201, h.Post(path, M{"external_customer_id": "cus_B"}))
	other := h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "external_customer_id": "cus_C",
	})).String("id")
	taken := h.Refused(409, "customer_external_id_taken", "external_customer_id", h.Post(path, M{"external_customer_id": "cus_C"}))
	require.Equal(t, other, taken.Body["existing"].(M)["id"])
	h.Refused(409, "customer_external_id_taken", "external_customer_id", h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "external_customer_id": "cus_B",
	}))
	require.Equal(t, []string{"cus/A b", "cus_B"}, h.ExternalIDs(k))
	left := h.Must(200, h.Delete(path+"/"+url.PathEscape("cus/A b")))
	require.Equal(t, "cus_B", left.String("external_customer_id"), "the next id takes its place")
	h.Refused(404, "resource_not_found", "external_customer_id", h.Delete(path+"/none"))
	h.Refused(404, "resource_not_found", "external_customer_id", h.Delete(path+"/cus_C"))
	h.Refused(404, "resource_not_found", "", h.Post("/v1/customers/cus_none/external_ids", M{"external_customer_id": "x"}))
	h.Must(200, h.Delete(path+"/cus_B"))
	require.Nil(t, h.Get("/v1/customers/" + k).Body["external_customer_id"])
	apitest.Balanced(t, h.Server)
}

// A customer that is probably a duplicate is created with a warning that names the other one, and
// both are listed.
func TestDuplicateCustomers(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	create := func(more M) apitest.Answer {
		body := M{"program_id": h.ProgramID, "partner_id": h.PartnerID}
		maps.Copy(body, more)
		return h.Must(201, h.Post("/v1/customers", body))
	}
	first := create(M{"identifier": "u1", "email": "Ada@example.org"})
	require.Nil(t, first.Body["warnings"])
	second := create(M{"identifier": "u1", "email": "ada@example.org"})
	var codes []any
	for _, w := range second.Body["warnings"].([]any) {
		codes = append(codes, w.(M)["code"])
		require.Equal(t, first.String("id"), w.(M)["customer_id"])
	}
	require.ElementsMatch(t, []any{"identifier_taken", "email_taken"}, codes)
	third := create(M{"identifier": "u3"})
	list := "/v1/customers?program_id=" + h.ProgramID + "&has_duplicates=true&include[]=duplicates"
	require.Len(t, h.Get(list).Data(), 2)
	h.Must(200, h.Post("/v1/customers/"+third.String("id"), M{"email": "ADA@example.org"}))
	require.Len(t, h.Get(list).Data(), 3)
	h.Must(200, h.Post("/v1/customers/"+third.String("id"), M{"email": nil}))
	rows := h.Get(list).Data()
	require.Len(t, rows, 2)
	require.Equal(t, first.String("id"), rows[0]["duplicates"].([]any)[0].(M)["customer_id"])
	require.Len(t, h.Get("/v1/customers?program_id="+h.ProgramID+"&identifier=u1").Data(), 2)
	h.Must(200, h.Post("/v1/customers/"+first.String("id")+"/merge", M{"customer_id": second.String("id")}))
	require.Empty(t, h.Get(list).Data())
}
