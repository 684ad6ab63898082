package bar

import (
	"context"
	"maps"
)

// sameRefund: callers that tell of one refund, by the sale and by its charge,
// make one.
func sameRefund(ctx context.Context, a *arena) {
	_, customer, _, _ := a.sold(ctx, a.own["prg_"])
	body := a.saleOf(customer)
	sale := a.o.post(ctx, "/v1/sales", body).text("id")
	refund := M{"external_refund_id": a.w.unique("re"), "amount_minor": 100}
	byCharge := maps.Clone(refund)
	byCharge["program_id"], byCharge["external_charge_id"] = a.own["prg_"], body["external_charge_id"]
	ids := map[string]bool{}
	for _, r := range a.run(ctx, func(i int) (string, string, any) {
		if i%3 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", refund
		}
		return "POST", "/v1/refunds", byCharge
	}) {
		ids[r.text("id")] = true
	}
	a.must(len(ids) == 1 && a.told(ctx, "sale.updated", sale) == 1, "one refund: %d ids", len(ids))
}

// refundMeetsSale: a refund and its sale that come at once never miss each other.
func refundMeetsSale(ctx context.Context, a *arena) {
	_, customer, _, _ := a.sold(ctx, a.own["prg_"])
	sale := a.saleOf(customer)
	refund := M{"program_id": a.own["prg_"], "external_charge_id": sale["external_charge_id"],
		"external_refund_id": a.w.unique("re")}
	a.run(ctx, func(i int) (string, string, any) {
		if i%2 == 0 {
			return "POST", "/v1/sales", sale
		}
		return "POST", "/v1/refunds", refund
	})
	all := a.o.get(ctx,
		"/v1/refunds?program_id="+a.own["prg_"]+"&external_refund_id="+refund["external_refund_id"].(string)).data()
	a.must(len(all) == 1 && all[0].text("status") == "applied", "a refund and its sale: %d refunds", len(all))
}

// grantMeetsRefund: what is granted for a sale while that is refunded goes with
// it, or is refused.
func grantMeetsRefund(ctx context.Context, a *arena) {
	partner, _, sale, _ := a.sold(ctx, a.own["prg_"])
	a.run(ctx, func(i int) (string, string, any) {
		if i == racers/2 {
			return "POST", "/v1/sales/" + sale + "/refund", nil
		}
		return "POST", "/v1/commissions", M{"program_id": a.own["prg_"], "partner_id": partner, "sale_id": sale,
			"amount_minor": 100 + i, "reason": "race"}
	})
	for _, k := range a.o.get(ctx, "/v1/commissions?limit=100&program_id="+a.own["prg_"]+"&sale_id="+sale).data() {
		a.must(k.text("status") == "voided", "a commission of a refunded sale is %s", k.text("status"))
	}
}
