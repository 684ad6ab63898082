package bar

import (
	"context"
	"maps"
	"strconv"
	"time"
)

// subject returns the objects for one request of an operation that changes the state
// of the object in its path: a new one in the state that the operation requires. States
// are the one thing that the description does not say in a form that a program can read.
func (o *org) subject(ctx context.Context, op *operation, own objects) objects {
	own = maps.Clone(own)
	switch op.id {
	case "refundSale":
		own["sale_"] = o.sale(ctx, own)
	case "mergeCustomer":
		for _, name := range []string{"cus_", "merged"} {
			own[name] = o.createID(ctx, "/v1/customers", M{"program_id": own["prg_"], "partner_id": own["part_"]})
		}
	case "detachExternalID":
		o.object(ctx, "/v1/customers/"+own["cus_"]+"/external_ids", M{"external_customer_id": attachedID})
	case "correctCommission", "approveCommission", "rejectCommission":
		sale := o.sale(ctx, own)
		own["com_"] = o.first(ctx, "/v1/commissions?program_id="+own["prg_"]+"&sale_id="+sale)
	case "markPayoutPaid", "markPayoutsPaid", "markPayoutFailed", "undoPayoutPaid", "emailPayoutFailure", "deletePayout",
		"createPayoutBatch", "dismissPayoutAttention", "reportRailResult":
		o.toPay(ctx, op, own)
	case "sendPayoutBatch":
		o.toSend(ctx, own)
	case "undoPartnerBan":
		own["part_"] = o.partner(ctx, own)
		o.object(ctx, "/v1/partners/"+own["part_"]+"/ban", M{"reason": "x", "undo_for_minutes": 60})
	case "approveApplication", "rejectApplication", "withdrawApplication", "reopenApplication":
		own["app_"] = o.createID(ctx, "/v1/applications", M{
			"program_id": own["prg_"], "email": o.sys.unique("app") + "@example.com",
		})
		if op.id == "reopenApplication" {
			o.object(ctx, "/v1/applications/"+own["app_"]+"/reject", M{})
		}
	case "resolveRiskFlag", "reviewRiskFlag":
		email := o.sys.unique("self") + "@example.com"
		partner := o.createID(ctx, "/v1/partners", M{"program_id": own["prg_"], "email": email})
		o.object(ctx, "/v1/customers", M{"program_id": own["prg_"], "partner_id": partner, "email": email})
		own["rsk_"] = o.first(ctx, "/v1/risk_flags?program_id="+own["prg_"]+"&partner_id="+partner)
	case "resolveInboxEvent":
		own["inb_"] = o.failedRefund(ctx, own)
	case "createImport", "runImport", "undoImport": // a program has one active import
		own["prg_"] = o.createID(ctx, "/v1/programs", o.sys.wellFormed(operations()["createProgram"], own))
		own["imp_"] = o.anImport(ctx, own["prg_"], map[bool]string{true: "ready", false: "done"}[op.id == "runImport"])
	case "retryMail":
		own["mail_"] = o.failedMail(ctx)
	case "resumeCampaign":
		own["camp_"] = o.scheduled(ctx, own)
		o.object(ctx, "/v1/campaigns/"+own["camp_"]+"/pause", M{})
	case "pauseCampaign":
		own["camp_"] = o.scheduled(ctx, own)
	default:
		if resource := showing(); op.takesID() && !idempotentAgain[op.prefix] && resource != nil {
			o.recreate(ctx, op, own)
		}
	}
	return own
}

// toPay makes a commission of a new partner and, but for createPayoutBatch, its payout in the state that the operation
// requires.
func (o *org) toPay(ctx context.Context, op *operation, own objects) {
	payee := o.partner(ctx, own)
	o.object(ctx, "/v1/commissions", M{
		"program_id": own["prg_"], "partner_id": payee, "amount_minor": 700, "reason": "x",
	})
	if own["part_"] = payee; op.id == "createPayoutBatch" {
		return
	}
	batch := o.createID(ctx, "/v1/payout_batches", M{
		"program_id": own["prg_"], "period_end": time.Now().UTC().Format(time.RFC3339Nano), "partner_id": payee,
	})
	own["pyt_"] = o.first(ctx, "/v1/payouts?program_id="+own["prg_"]+"&partner_id="+payee)
	switch op.id {
	case "markPayoutFailed", "emailPayoutFailure": // only what left in a file
		o.object(ctx, "/v1/payout_batches/"+batch+"/export", M{"format": "csv", "currency": "USD"})
		if op.id == "emailPayoutFailure" {
			o.object(ctx, "/v1/payouts/"+own["pyt_"]+"/mark_failed", M{"reason": "x"})
		}
	case "undoPayoutPaid":
		o.object(ctx, "/v1/payouts/"+own["pyt_"]+"/mark_paid", M{})
	case "dismissPayoutAttention":
		o.object(ctx, "/v1/payouts/"+own["pyt_"]+"/mark_paid", M{})
		o.put(ctx, own["pyt_"], "attention = 'returned', attention_text = 'x', attention_at = now()")
	case "reportRailResult":
		o.put(ctx, own["pyt_"], "status = 'processing', rail = 'webhook', submissions = 1, submitted_at = now()")
	}
}

// put puts a payout into a state that only the service of a rail can cause.
func (o *org) put(ctx context.Context, payout, state string) {
	if _, err := o.sys.pool.Exec(ctx, "UPDATE payouts SET "+state+" WHERE id = $1", payout); err != nil {
		o.sys.fault("a payout of a rail: %v", err)
	}
}

// toSend makes a payout that the rail of own can send, and sets the figures of all such payouts of its batch.
func (o *org) toSend(ctx context.Context, own objects) {
	payee := o.partner(ctx, own)
	o.object(ctx, "/v1/partners/"+payee, M{
		"payout_method": "paypal", "payout_details": M{"email": payee + "@example.com"},
	})
	o.object(ctx, "/v1/commissions", M{"program_id": own["prg_"], "partner_id": payee, "amount_minor": 700, "reason": "x"})
	own["batch_"] = o.createID(ctx, "/v1/payout_batches", M{
		"program_id": own["prg_"], "period_end": time.Now().UTC().Format(time.RFC3339Nano), "partner_id": payee,
	})
	count, minor := int64(0), int64(0)
	pending := "/v1/payouts?limit=100&status=pending&program_id=" + own["prg_"] + "&batch_id=" + own["batch_"]
	for _, p := range o.get(ctx, pending).data() {
		if p.text("method") == "paypal" && p.text("currency") == "USD" {
			count, minor = count+1, minor+700
		}
	}
	own["send_count"], own["send_minor"] = strconv.FormatInt(count, 10), strconv.FormatInt(minor, 10)
}

// scheduled creates a campaign that waits for its time.
func (o *org) scheduled(ctx context.Context, own objects) string {
	return o.createID(ctx, "/v1/campaigns", M{
		"program_id": own["prg_"], "name": "x", "subject": "x", "body": "x", "scheduled_at": time.Now().UTC().Add(time.Hour),
	})
}

// idempotentAgain lists the types whose operations succeed again on the same object.
var idempotentAgain = map[string]bool{
	"prg_": true, "part_": true, "grp_": true, "tag_": true, "lnk_": true, "cpn_": true, "cus_": true, "flw_": true,
	"res_": true, "whe_": true, "whd_": true, "inb_": true,
}

// recreate creates an object of a type that subject does not know, for operations that are
// refused the second time.
func (o *org) recreate(ctx context.Context, op *operation, own objects) {
	for _, maker := range sorted() {
		if maker.method == "POST" && !maker.takesID() && !maker.later && maker.makes == op.prefix && maker.body != nil {
			own[op.prefix] = o.createID(ctx, maker.path, o.sys.wellFormed(maker, own))
			return
		}
	}
}

// partner adds a partner to the program of own.
func (o *org) partner(ctx context.Context, own objects) string {
	return o.createID(ctx, "/v1/partners", M{"program_id": own["prg_"], "email": o.sys.unique("p") + "@example.com"})
}

// sale adds a sale of the customer of own, for which the program's flow makes a
// commission.
func (o *org) sale(ctx context.Context, own objects) string {
	return o.createID(ctx, "/v1/sales", M{
		"program_id": own["prg_"], "customer_id": own["cus_"], "external_charge_id": o.sys.unique("ch"), "amount_minor": 5000,
		"currency": "USD",
	})
}

// first returns the id of the first object of a list. An empty list is a fault.
func (o *org) first(ctx context.Context, path string) string {
	a := o.get(ctx, path)
	if list := a.data(); len(list) > 0 {
		return list[0].text("id")
	}
	o.sys.fault("nothing in %s: %d %s", path, a.status, a.raw)
	return ""
}
