package handlers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// call is a request of an operation with the id of its object.
type call struct {
	operation, id string
	body          any
}

// TestEveryOperationSucceeds: each operation of the description succeeds, with a minimal valid body, so that stories
// about operations may be beside their rules.
func TestEveryOperationSucceeds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	_, err := s.Pool.Exec(t.Context(), "UPDATE organizations SET owner_email = 'owner@shop.example' WHERE id = $1", s.Org)
	require.NoError(t, err)
	own := populate(s, "ours")
	for _, op := range operations() {
		if op.method == "GET" && !strings.HasPrefix(op.path, "/t/") && op.id != "retrieveTestClock" {
			url := op.url(own[op.prefix()]) + "?program_id=" + own["prg_"] + op.window()
			require.Less(t, s.Get(url).Status, 300, op.id)
		}
	}
	callBrowser(s, own)
	for _, calls := range [][]call{
		partnerCalls(s, own), trackingCalls(s, own), mailCalls(s, own), webhookCalls(s, own), payoutCalls(s, own),
		saleCalls(s, own), importCalls(s, own), deletions(s, own),
	} {
		for _, c := range calls {
			i := slices.IndexFunc(operations(), func(op operation) bool { return op.id == c.operation })
			require.GreaterOrEqual(t, i, 0, c.operation)
			op := operations()[i]
			url := strings.Replace(op.url(c.id), "{external_customer_id}", "ext_second", 1)
			a := s.Do(op.method, url, s.Key, c.body)
			require.Less(t, a.Status, 300, "%s: %s", op.id, a.Raw)
		}
	}
	succeeded := s.Succeeded()
	maps.Copy(succeeded, moveClock(t))
	for _, op := range operations() {
		require.True(t, succeeded[op.id], "%s: add a call that succeeds", op.id)
	}
}

// moveClock calls the operations of a server for tests, and returns them.
func moveClock(t *testing.T) map[string]bool {
	t.Helper()
	s := apitest.New(t, apitest.TestClock)
	s.MoveTo(apitest.Start.AddDate(0, 0, 1))
	s.Must(200, s.Get("/v1/test_clock"))
	return s.Succeeded()
}

// callBrowser sends what the script of a shop's page sends.
func callBrowser(s *apitest.Server, own objects) {
	s.T.Helper()
	created := s.Must(201, s.Post("/v1/publishable_keys", M{
		"program_id": own["prg_"], "allowed_hosts": []string{"shop.example"}, "allow_leads": true,
	}))
	key := created.String("key")
	browser := []string{"Origin", "https://shop.example", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"}
	visit := s.Must(201, s.Do("POST", "/t/c", "", M{"key": key, "value": "ours", "url": "https://shop.example/"}, browser...))
	browser = append(browser, "Cookie", "rail_v="+visit.String("visitor"))
	s.Must(200, s.Do("GET", "/t/me?key="+key, "", nil, browser...))
	s.Must(200, s.Do("POST", "/t/lead", "", M{"key": key, "email": "lead@example.com"}, browser...))
}

func partnerCalls(s *apitest.Server, own objects) []call {
	program := own["prg_"]
	applied := func() string {
		email := apitest.Unique("applicant") + "@example.com"
		return s.Must(201, s.Post("/v1/applications", M{"program_id": program, "email": email})).String("id")
	}
	rejected := applied()
	return []call{
		{"updateProgram", program, M{"name": "Ours"}},
		{"updatePortalSettings", program, M{"embed_hosts": []string{"app.acme.example"}}},
		{"createEmbedToken", "", M{"program_id": program, "partner_id": own["part_"]}},
		{"createAttributionToken", "", M{"partner_id": own["part_"]}},
		{"createPartnerSSO", own["part_"], nil},
		{"updatePartner", own["part_"], M{"first_name": "Ada"}},
		{"updatePartnerNote", own["note_"], M{"text": "Changed."}},
		{"approveApplication", applied(), nil},
		{"rejectApplication", rejected, nil},
		{"reopenApplication", rejected, nil},
		{"withdrawApplication", applied(), nil},
		{"updateGroup", own["grp_"], M{"name": "Creators"}},
		{"updateTag", own["tag_"], M{"name": "Newsletter"}},
		{"updateResource", own["res_"], M{"title": "Brand"}},
		{"reviewRiskFlag", own["rsk_"], nil},
		{"resolveRiskFlag", own["rsk_"], M{"note": "Fine."}},
		{"setInboundSigning", "", M{"required": false}},
	}
}

func trackingCalls(s *apitest.Server, own objects) []call {
	program := own["prg_"]
	click := M{"value": "ours", "landing_url": "https://shop.example/", "visitor_token": "visitor-of-a-batch"}
	return []call{
		{"updateLink", own["lnk_"], M{"label": "Spring"}},
		{"updateCoupon", own["cpn_"], M{"external_id": "promo_other"}},
		{"updatePublishableKey", own["pub_"], M{"allowed_hosts": []string{"shop.example"}}},
		{"createClickBatch", "", M{"program_id": program, "items": []M{click}}},
		{"updateCustomer", own["cus_"], M{"name": "Grace"}},
		{"attachExternalID", own["cus_"], M{"external_customer_id": "ext_second"}},
		{"mergeCustomer", own["cus_"], M{"customer_id": s.Customer(program, own["part_"])}},
		{"creditCustomer", own["cus_"], M{"partner_id": own["part_"], "since": "2026-08-01T00:00:00Z"}},
	}
}

func mailCalls(s *apitest.Server, own objects) []call {
	program := own["prg_"]
	return []call{
		{"retryMail", own["mail_"], nil},
		{"updateCampaign", own["camp_"], M{"subject": "News"}},
		{"previewCampaignDraft", "", M{"program_id": program, "subject": "News", "body": "Hello {{name}}"}},
		{"testCampaign", own["camp_"], nil},
		{"sendCampaign", own["camp_"], M{"program_id": program}},
		{"pauseCampaign", own["camp_"], nil},
		{"resumeCampaign", own["camp_"], nil},
		{"updateSequence", own["seq_"], M{"name": "Welcome"}},
		{"resumeSequence", own["seq_"], M{"program_id": program}},
		{"pauseSequence", own["seq_"], M{"program_id": program}},
	}
}

func webhookCalls(s *apitest.Server, own objects) []call {
	return []call{
		{"updateWebhookEndpoint", own["whe_"], M{"enabled": true}},
		{"pingWebhookEndpoint", own["whe_"], nil},
		{"rotateWebhookEndpointSecret", own["whe_"], nil},
		{"replayWebhookDelivery", own["whd_"], nil},
		{"replayWebhookEndpoint", own["whe_"], M{"failed_since": "2026-09-01T00:00:00Z"}},
		{"replayInboxEvent", own["inb_"], nil},
		{"resolveInboxEvent", failedRefund(s), nil},
	}
}

// failedRefund returns an event of Stripe about a refund that failed after it was deducted.
func failedRefund(s *apitest.Server) string {
	s.T.Helper()
	const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	program := s.Program()
	s.Partner(program, M{"handle": "ann"})
	connected := s.Connect(program, func(in *connection.Input) {
		in.Processor, in.Secret = connection.Stripe, signing
	})
	p := stripetest.Purchase{
		Version: stripetest.Versions[0], Name: "ada", Live: true, At: s.Clock.Now().Time, Customer: "cus_ada", Amount: 2400,
		Currency: "usd", Email: "ada@buyers.example", Reference: s.Click(program, "ann").String("id"),
	}
	charge := p
	charge.Refunded = 900
	for _, event := range [][]byte{
		p.Event("checkout.session.completed", p.Session()), charge.Event("charge.refunded", charge.ChargeObject()),
		p.Event("refund.failed", p.Refund("re_1", 900, "failed")),
	} {
		connected.SendStripe(event, signing)
		apitest.RunJob(s.T, s, "work-inbox")
	}
	return s.Get("/v1/inbox_events?program_id=" + program).Data()[0]["id"].(string)
}

// payoutCalls pays the month's batch of a new program.
func payoutCalls(s *apitest.Server, own objects) []call {
	program := s.Program()
	s.Flow(program)
	sold := func(payoutSettings M) (partner string) {
		partner = s.Partner(program)
		s.Must(200, s.Post("/v1/partners/"+partner, payoutSettings))
		s.Sale(program, s.Customer(program, partner))
		return partner
	}
	rich, poor := sold(M{"payout_method": "paypal"}), sold(M{"min_payout_minor": 1_000_000})
	sent, bridged := sold(M{"payout_method": "wise"}), sold(M{"payout_method": "crypto"})
	month := M{"program_id": program, "period_end": "2026-09-01"}
	batch := s.Must(201, s.Post("/v1/payout_batches", month)).String("id")
	payout := func(partner string) string {
		return s.Get("/v1/payouts?program_id=" + program + "&partner_id=" + partner).Data()[0]["id"].(string)
	}
	id, wise := payout(rich), s.Get("/v1/payouts?program_id=" + program + "&partner_id=" + sent).Data()[0]
	onBridge := payout(bridged)
	_, err := s.Pool.Exec(s.T.Context(), `UPDATE payouts SET status = 'processing', rail = 'webhook', rail_id = 'prl_1',
		submitted_at = created_at WHERE id = $1`, onBridge)
	require.NoError(s.T, err)
	return []call{
		{"reportRailResult", onBridge, M{"status": "paid", "external_id": "T-1", "fee_minor": 5}},
		{"reportRailResult", onBridge, M{"status": "attention", "attention": "returned"}},
		{"dismissPayoutAttention", onBridge, nil},
		{"sendPayoutBatch", batch, M{
			"rail_id": s.PayoutRail(program, db.PayoutRailStatusActive, "wise"), "confirm_count": 1,
			"confirm_amount_minor": wise["amount_minor"],
		}},
		{"previewPayoutBatch", "", month},
		{"exportPayoutBatch", batch, M{"format": "paypal", "currency": "USD"}},
		{"markPayoutPaid", id, nil},
		{"undoPayoutPaid", id, M{"reason": "A mistake."}},
		{"markPayoutsPaid", "", M{"program_id": program, "payout_ids": []string{id}}},
		{"undoPayoutsPaid", "", M{"program_id": program, "request_id": "req_none", "reason": "A mistake."}},
		{"undoPayoutPaid", id, M{"reason": "A mistake."}},
		{"markPayoutFailed", id, M{"reason": "The account does not exist."}},
		{"emailPayoutFailure", id, nil},
		{"reportPayoutResults", batch, M{"content": "payout_id,status\n" + id + ",paid\n"}},
		{"deletePayout", payout(poor), nil},
		{"cancelPayoutBatch", own["batch_"], nil},
	}
}

func saleCalls(s *apitest.Server, own objects) []call {
	program := own["prg_"]
	s.Must(200, s.Post("/v1/flows/"+own["flw_"], M{"approval_mode": "manual"}))
	pending := func() string {
		sale := s.Sale(program, own["cus_"]).String("id")
		return s.Get("/v1/commissions?program_id=" + program + "&sale_id=" + sale).Data()[0]["id"].(string)
	}
	item := apitest.SaleBody("", own["cus_"])
	delete(item, "program_id")
	return []call{
		{"updateFlow", own["flw_"], M{"name": "Creators"}},
		{"previewFlows", "", M{
			"program_id": program, "customer_id": own["cus_"], "amount_minor": 100, "currency": "USD",
		}},
		{"rehearseSale", "", M{"program_id": program, "value": "nobody", "amount_minor": 100, "currency": "USD"}},
		{"rehearseAttribution", "", M{"program_id": program, "attribution_model": "first"}},
		{"rehearseFlows", "", M{"program_id": program, "flow": M{"rate_type": "percent", "rate_value": 2500}}},
		{"createSaleBatch", "", M{"program_id": program, "items": []M{item}}},
		{"approveCommission", pending(), nil},
		{"rejectCommission", pending(), M{"reason": "Fraud."}},
		{"correctCommission", pending(), M{"amount_minor": 1, "reason": "A discount."}},
		{"refundSale", own["sale_"], nil},
	}
}

// importCalls uses several programs, because a program has one active import.
func importCalls(s *apitest.Server, own objects) []call {
	return []call{
		{"createImport", "", M{"program_id": s.Program(), "source": "rewardful", "api_key": "rf_key"}},
		{"runImport", own["imp_"], nil},
		{"undoImport", addImport(s, s.Program(), db.ImportStatusDone), nil},
	}
}

// deletions deletes the objects after the others' calls.
func deletions(s *apitest.Server, own objects) []call {
	program := own["prg_"]
	draft := s.Must(201, s.Post("/v1/campaigns", M{"program_id": program, "name": "x", "subject": "x", "body": "x"}))
	scheduled := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+scheduled+"/ban", M{"reason": "Stolen cards.", "undo_for_minutes": 10}))
	return []call{
		{"detachExternalID", own["cus_"], nil},
		{"deleteCampaign", draft.String("id"), nil},
		{"deleteSequence", own["seq_"], nil},
		{"deleteWebhookEndpoint", own["whe_"], nil},
		{"deleteResource", own["res_"], nil},
		{"deletePublishableKey", own["pub_"], nil},
		{"deletePartnerNote", own["note_"], nil},
		{"deleteCoupon", own["cpn_"], nil},
		{"deleteLink", own["lnk_"], nil},
		{"deleteFlow", own["flw_"], nil},
		{"deleteTag", own["tag_"], nil},
		{"deleteCustomer", s.Customer(program, s.Partner(program)), nil},
		{"banPartner", s.Partner(program), M{"reason": "Stolen cards."}},
		{"undoPartnerBan", scheduled, nil},
		{"deletePartner", own["part_"], nil},
		{"deleteGroup", own["grp_"], nil},
	}
}
