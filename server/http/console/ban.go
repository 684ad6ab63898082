package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
)

// undoBanMinutes is how long a ban in the console can be undone.
const undoBanMinutes = 10

// banData holds the data of the ban form: the partners and the ban's effects.
type banData struct {
	Who          string   // the partner's name, or their number
	Action, Back string   // addresses
	IDs          []string // the partners, if the form is about several
	Names        []string // the same
	Points       []string
	Sum          site.Sum
}

// banForm shows the effects of a ban and asks for the reason.
func banForm(v *visit) error {
	preview, err := v.previewBan(v.PathValue("id"))
	if err != nil {
		return v.again(err, overview)
	}
	at := v.at("/partners/" + preview.Partner.ID)
	return v.showBan(banData{Who: nameOf(preview.Partner), Action: at + "/ban", Back: at, Points: banPoints(preview, 1)}, preview)
}

// ban schedules the ban of a partner.
func ban(v *visit) error {
	done, err := v.banLater(v.PathValue("id"))
	if err != nil {
		return v.again(err, banForm)
	}
	id := done.Partner.ID
	notice := nameOf(done.Partner) + " is suspended and will be banned in 10 minutes."
	return v.undoable(v.at("/partners/"+id), notice, v.undoBans(id))
}

// bansForm shows the effects of the bans of the selected partners, and asks for the reason. It leaves out partners
// whose ban is refused.
func bansForm(v *visit) error {
	data := banData{Action: v.at("/partners/ban"), Back: v.at("/partners")}
	ids := v.QueryParams()["id"]
	if v.Form != nil {
		ids = v.values("id")
	}
	if len(ids) == 0 || len(ids) > maxTicked {
		return site.NotFound()
	}
	var sum api.PartnerBan
	var left tally
	var last error
	for _, id := range ids {
		preview, err := v.previewBan(id)
		if !left.add(err) {
			return err
		}
		if last = cmp.Or(err, last); err == nil {
			data.IDs, data.Names = append(data.IDs, id), append(data.Names, nameOf(preview.Partner))
			sum = addBan(sum, preview)
		}
	}
	if left.done == 0 {
		return v.again(last, partners)
	}
	data.Who = fmt.Sprintf("%d %s", left.done, oneOrMany(left.done, "partner", "partners"))
	data.Points = banPoints(sum, left.done)
	if left.refused > 0 {
		data.Points = append(data.Points, fmt.Sprintf("%d of the selected partners cannot be banned: %s",
			left.refused, strings.Join(left.why, " ")))
	}
	return v.showBan(data, sum)
}

// bans schedules the bans of several partners.
func bans(v *visit) error {
	var banned []string
	var reason error // a fault of the reason, which is one of the form
	notice, err := v.each("partner is suspended and will be banned in 10 minutes",
		"partners are suspended and will be banned in 10 minutes", func(id string) error {
			_, err := v.banLater(id)
			if err == nil {
				banned = append(banned, id)
			} else if p, ok := refused(err); ok && p.Param == "reason" {
				reason = err
			}
			return err
		})
	if err = cmp.Or(reason, err); err != nil {
		return v.again(err, bansForm)
	}
	if len(banned) == 0 {
		return v.done(v.at("/partners"), notice)
	}
	return v.undoable(v.at("/partners"), notice, v.undoBans(banned...))
}

// undoBan undoes scheduled bans. It leads to the partner's page, or to the list after several.
func undoBan(v *visit) error {
	notice, err := v.each("ban is undone", "bans are undone", func(id string) error {
		return v.send("undoPartnerBan", nil, nil, id)
	})
	if err != nil {
		return v.again(err, partners)
	}
	to := v.at("/partners")
	if ids := v.values("id"); len(ids) == 1 {
		to += "/" + url.PathEscape(ids[0])
	}
	return v.done(to, notice)
}

// undoBans is the form that undoes bans.
func (v *visit) undoBans(ids ...string) site.Undo {
	return site.Undo{Path: v.at("/partners/undo_ban"), Fields: url.Values{"id": ids}}
}

// previewBan returns the effects of a ban.
func (v *visit) previewBan(id string) (preview api.PartnerBan, err error) {
	err = v.send("banPartner", map[string]any{"reason": "?", "dry_run": true}, &preview, id)
	return preview, err
}

// banLater schedules a ban with the reason of the form.
func (v *visit) banLater(id string) (done api.PartnerBan, err error) {
	body := v.body("banPartner")
	delete(body, "program_id")
	body["undo_for_minutes"] = undoBanMinutes
	err = v.send("banPartner", body, &done, id)
	return done, err
}

// showBan shows the form of a ban with its effects.
func (v *visit) showBan(data banData, preview api.PartnerBan) error {
	data.Sum = v.banSum(preview)
	return v.show(sheet{"ban", "/partners", "Ban " + data.Who, data})
}

// addBan adds the effects of another ban.
func addBan(to, b api.PartnerBan) api.PartnerBan {
	to.RejectedCount += b.RejectedCount
	to.KeptCount += b.KeptCount
	to.LinksStopped += b.LinksStopped
	to.CouponsStopped += b.CouponsStopped
	for _, s := range b.Rejected {
		at := slices.IndexFunc(to.Rejected, func(other api.MoneySum) bool { return other.Currency == s.Currency })
		if at < 0 {
			to.Rejected = append(to.Rejected, s)
			continue
		}
		to.Rejected[at].AmountMinor += s.AmountMinor
	}
	return to
}

// banPoints returns the effects of the bans of n partners: those of now, then those of the ban.
func banPoints(b api.PartnerBan, n int) []string {
	out := []string{
		oneOrMany(n, "The partner is", "The partners are") + " suspended and signed out of the portal at once.",
		fmt.Sprintf("The ban takes effect in %d minutes. You can undo it until then.", undoBanMinutes),
	}
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
