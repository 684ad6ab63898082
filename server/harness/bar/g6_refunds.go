package bar

import (
	"context"
	"maps"
)

// sameRefund checks that callers that record one refund, some by the sale and some
// by its charge, record it once.
func sameRefund(ctx context.Context, fx *raceFixture) {
	_, customer, _, _ := fx.newSale(ctx, fx.own["prg_"])
	body := fx.saleOf(customer)
	sale := fx.o.post(ctx, "/v1/sales", body).text("id")
	refund := M{"external_refund_id": fx.sys.unique("re"), "amount_minor": 100}
	byCharge := maps.Clone(refund)
	byCharge["program_id"], byCharge["external_charge_id"] = fx.own["prg_"], body["external_charge_id"]
	ids := map[string]bool{}
	for _, r := range fx.run(ctx, func(i int) (string, string, any) {
		if i%3 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", refund
		}
		return "POST", "/v1/refunds", byCharge
	}) {
		ids[r.text("id")] = true
	}
	fx.must(len(ids) == 1 && fx.events(ctx, "sale.updated", sale) == 1, "one refund: %d ids", len(ids))
}

// refundMeetsSale checks that a refund recorded at the same time as its sale is
// applied to it.
func refundMeetsSale(ctx context.Context, fx *raceFixture) {
	_, customer, _, _ := fx.newSale(ctx, fx.own["prg_"])
	sale := fx.saleOf(customer)
	refund := M{"program_id": fx.own["prg_"], "external_charge_id": sale["external_charge_id"],
		"external_refund_id": fx.sys.unique("re")}
	fx.run(ctx, func(i int) (string, string, any) {
		if i%2 == 0 {
			return "POST", "/v1/sales", sale
		}
		return "POST", "/v1/refunds", refund
	})
	all := fx.o.get(ctx,
		"/v1/refunds?program_id="+fx.own["prg_"]+"&external_refund_id="+refund["external_refund_id"].(string)).data()
	fx.must(len(all) == 1 && all[0].text("status") == "applied", "a refund and its sale: %d refunds", len(all))
}

// grantMeetsRefund checks that a commission granted for a sale during its refund is
// refunded too, or refused.
func grantMeetsRefund(ctx context.Context, fx *raceFixture) {
	partner, _, sale, _ := fx.newSale(ctx, fx.own["prg_"])
	fx.run(ctx, func(i int) (string, string, any) {
		if i == racers/2 {
			return "POST", "/v1/sales/" + sale + "/refund", nil
		}
		return "POST", "/v1/commissions", M{"program_id": fx.own["prg_"], "partner_id": partner, "sale_id": sale,
			"amount_minor": 100 + i, "reason": "race"}
	})
	for _, k := range fx.o.get(ctx, "/v1/commissions?limit=100&program_id="+fx.own["prg_"]+"&sale_id="+sale).data() {
		fx.must(k.text("status") == "voided", "a commission of a refunded sale is %s", k.text("status"))
	}
}
