package console

import (
	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/ident"
	reward "rail/server/money/commission"
	domain "rail/server/money/payout"
	"rail/server/problem"
	"rail/server/work"
)

// attentionRoutes are the pages about payouts that a person should look at.
var attentionRoutes = map[string]route{
	"GET /console/p/{program}/payouts/attention":     {Do: attention},
	"POST /console/p/{program}/payouts/{id}/dismiss": {Do: dismissAttention},
	"POST /console/p/{program}/payouts/{id}/again":   {Do: payAgain},
}

// attentions are all states of a payout that a person should look at.
var attentions = []api.PayoutAttention{
	api.PayoutAttentionReversed, api.PayoutAttentionReturned, api.PayoutAttentionUnconfirmed,
	api.PayoutAttentionNeedsFunds, api.PayoutAttentionOnHold, api.PayoutAttentionUnclaimed,
}

// attention lists the payouts that a person should look at, with their reasons, next steps and ages.
func attention(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	list, err := v.payoutsOf(api.ListPayoutsParams{
		StartingAfter: turn.After, EndingBefore: turn.Before, Attention: attentions,
	}, turn)
	if err != nil {
		return err
	}
	return v.show(sheet{"payout-attention", "/payouts", "Payouts that need attention", struct {
		Tabs site.Tabs
		List site.Listing
	}{v.payoutTabs("/payouts/attention"), list}})
}

// CameBack reports whether the money of a paid payout came back, so that a person decides what follows.
func (r payoutRow) CameBack() bool { return r.Status == api.PayoutStatusPaid && r.Attention != nil }

// dismissAttention ends the attention of a payout whose money came back.
func dismissAttention(v *visit) error {
	if err := v.send("dismissPayoutAttention", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts/attention"), "The payout no longer needs attention. It stays recorded as paid.")
}

// payAgain owes the partner the amount of a payout whose money came back. The attention ends with it or not at all, so
// that a second form owes nothing more.
func payAgain(v *visit) error {
	if err := v.payersOnly(); err != nil {
		return err
	}
	if !ident.Has(v.PathValue("id"), ident.Payout) {
		return problem.NotFound("")
	}
	var p db.Payout
	err := v.unit().Within(v.Ctx(), func(u *work.Unit) (err error) {
		if p, err = domain.DismissAttention(v.Ctx(), u, v.PathValue("id")); err != nil {
			return work.Found(err, "")
		}
		if p.ProgramID != v.program.ID {
			return problem.NotFound("")
		}
		_, err = reward.Grant(v.Ctx(), u, reward.Manual{
			ProgramID: p.ProgramID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: &p.Currency,
			Reason: "The payout of " + v.Locale.Day(p.PaidAt.Time) + " came back.",
		})
		return err
	})
	if err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts/"+p.ID), v.Locale.Money(p.AmountMinor, p.Currency)+
		" is owed to the partner again, as a bonus that a next run pays.")
}
