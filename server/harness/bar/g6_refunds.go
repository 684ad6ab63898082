package bar

import "context"

// sameRefund checks that callers that record one refund, some by the sale and some
// by its charge, record it once. No call is refused, because processors repeat events.
func sameRefund(ctx context.Context, fx *raceFixture) {
	_, customer, _, _ := fx.newSale(ctx, fx.own["prg_"])
	body := fx.saleOf(customer)
	sale := fx.o.post(ctx, "/v1/sales", body).text("id")
	refund := M{"external_refund_id": fx.sys.unique("re"), "amount_minor": 100}
	byCharge := merged(refund, M{"program_id": fx.own["prg_"], "external_charge_id": body["external_charge_id"]})
	answers := fx.runAll(ctx, crowd, func(i int) (string, string, any) {
		if i%3 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", refund
		}
		return "POST", "/v1/refunds", byCharge
	})
	ids := map[string]bool{}
	for _, r := range answers {
		ids[r.text("id")] = true
	}
	fx.must(len(ids) == 1, "one refund: %d ids", len(ids))
	fx.appliedOnce(ctx, answers, byCharge, sale)
}

// refundMeetsSale checks that a refund recorded at the same time as its sale is
// applied to it.
func refundMeetsSale(ctx context.Context, fx *raceFixture) {
	_, customer, _, _ := fx.newSale(ctx, fx.own["prg_"])
	sale := fx.saleOf(customer)
	refund := M{"program_id": fx.own["prg_"], "external_charge_id": sale["external_charge_id"],
		"external_refund_id": fx.sys.unique("re"), "amount_minor": 100}
	single := fx.turn%2 == 0 // the one request for the sale comes among those for the refund, or one of many does
	answers := fx.runAll(ctx, crowd, func(i int) (string, string, any) {
		if single && i == crowd/2 || !single && i%2 == 0 {
			return "POST", "/v1/sales", sale
		}
		return "POST", "/v1/refunds", refund
	})
	fx.appliedOnce(ctx, answers, refund, answers[crowd/2].text("id"))
}

// appliedOnce checks that a refund was sent without a refusal, is recorded once and
// applied to its sale.
func (fx *raceFixture) appliedOnce(ctx context.Context, answers []answer, refund M, sale string) {
	id, _ := refund["external_refund_id"].(string)
	all := fx.o.get(ctx, "/v1/refunds?program_id="+fx.own["prg_"]+"&external_refund_id="+id).data()
	fx.must(len(all) == 1 && all[0].text("status") == "applied", "a refund and its sale: %d refunds", len(all))
	counts := statuses(answers)
	fx.must(counts[200]+counts[201]+counts[202] == len(answers), "callers with one refund: %v", counts)
	n := fx.events(ctx, "sale.updated", sale)
	fx.must(n == 1, "one refund is %d events", n)
}

// grantMeetsRefund checks that a commission granted for a sale during its refund is
// refunded too, or refused.
func grantMeetsRefund(ctx context.Context, fx *raceFixture) {
	partner, _, sale, _ := fx.newSale(ctx, fx.own["prg_"])
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i == racers/2 {
			return "POST", "/v1/sales/" + sale + "/refund", nil
		}
		return "POST", "/v1/commissions", M{"program_id": fx.own["prg_"], "partner_id": partner, "sale_id": sale,
			"amount_minor": 100 + i, "reason": "race"}
	})
	counts := statuses(answers)
	fx.must(counts[200]+counts[201]+counts[409] == racers, "grants and a refund: %v", counts)
	for _, k := range fx.o.get(ctx, "/v1/commissions?limit=100&program_id="+fx.own["prg_"]+"&sale_id="+sale).data() {
		fx.must(k.text("status") == "voided", "a commission of a refunded sale is %s", k.text("status"))
	}
}
