package console

import (
	"fmt"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
)

// banData holds the data of the ban form: the partner and the ban's effects.
type banData struct {
	Name   string
	Ban    api.PartnerBan
	Points []string
	Sum    site.Sum
}

// banForm shows the effects of a ban and asks for the reason.
func banForm(v *visit) error {
	var look api.PartnerBan
	body := map[string]any{"reason": "?", "dry_run": true}
	if err := v.send("banPartner", body, &look, v.PathValue("id")); err != nil {
		return v.again(err, overview)
	}
	name := nameOf(look.Partner)
	return v.show(sheet{"ban", "/partners", "Ban " + name, banData{name, look, banPoints(look), v.banSum(look)}})
}

// ban bans the partner and reports the result.
func ban(v *visit) error {
	body := v.body("banPartner")
	delete(body, "program_id")
	var done api.PartnerBan
	if err := v.send("banPartner", body, &done, v.PathValue("id")); err != nil {
		return v.again(err, banForm)
	}
	notice := strings.TrimSpace(nameOf(done.Partner) + " is banned. " + v.rejectedWords(done))
	if done.RemainingCount > 0 {
		notice += fmt.Sprintf(" %d commissions are left: ban again to go on.", done.RemainingCount)
	}
	return v.done(v.at("/partners/"+done.Partner.ID), notice)
}

// rejectedWords returns the number of commissions that a ban rejects, and their sums.
func (v *visit) rejectedWords(b api.PartnerBan) string {
	if b.RejectedCount == 0 {
		return ""
	}
	sums := make([]string, len(b.Rejected))
	for i, s := range b.Rejected {
		sums[i] = v.Locale.Money(s.AmountMinor, s.Currency)
	}
	return fmt.Sprintf("%d %s rejected: %s.", b.RejectedCount, oneOrMany(b.RejectedCount, "commission is", "commissions are"),
		strings.Join(sums, ", "))
}

// banPoints returns the effects of a ban.
func banPoints(b api.PartnerBan) []string {
	out := []string{"The partner will be suspended and signed out of the portal."}
	if b.LinksStopped > 0 {
		out = append(out, fmt.Sprintf("Their %s will keep working for visitors but will no longer earn.",
			oneOrMany(b.LinksStopped, "link", fmt.Sprintf("%d links", b.LinksStopped))))
	}
	if b.RejectedCount > 0 {
		out = append(out, fmt.Sprintf("%d unpaid %s will be permanently rejected, including those in payouts not yet sent.",
			b.RejectedCount, oneOrMany(b.RejectedCount, "commission", "commissions")))
	}
	if b.CouponsStopped > 0 {
		out = append(out, fmt.Sprintf("%d %s will be turned off in Rail. Turn off the discount at your payment processor, too.",
			b.CouponsStopped, oneOrMany(b.CouponsStopped, "coupon", "coupons")))
	}
	if b.KeptCount > 0 {
		out = append(out, fmt.Sprintf("%d %s unchanged: being paid out, or already clawed back.",
			b.KeptCount, oneOrMany(b.KeptCount, "commission will stay", "commissions will stay")))
	}
	return out
}

// banSum is the money that a ban would reject, a line each currency.
func (v *visit) banSum(b api.PartnerBan) site.Sum {
	var sum site.Sum
	for i, s := range b.Rejected {
		part := site.Part{Name: "Will be rejected (" + s.Currency + ")", Text: v.Locale.Money(s.AmountMinor, s.Currency)}
		if i == len(b.Rejected)-1 && len(b.Rejected) == 1 {
			part.Name = "Will be rejected"
			sum.Total = part
			break
		}
		sum.Lines = append(sum.Lines, part)
	}
	return sum
}
