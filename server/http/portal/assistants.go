package portal

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/program/claim"
	"rail/server/program/partner"
	"rail/server/work"
)

// lives are the days that a partner's token can be valid, the usual one first.
var lives = []int64{90, 30, 365}

// mostChoices bounds the links in the form.
const mostChoices = 100

// assistantPage holds the data of the page for AI assistants.
type assistantPage struct {
	Form         site.Form
	Links, Lives []site.Option
	Provider     string
	Token        *claim.Token // shown once
}

// assistants shows how AI assistants can name the partner.
func assistants(v *visit) error { return v.showAssistants(http.StatusOK, site.Form{}, nil) }

// showAssistants writes the page with a new token, or with a form as it was typed.
func (v *visit) showAssistants(status int, form site.Form, token *claim.Token) error {
	links := []site.Option{{Label: v.Locale.T("Your link")}}
	newest := list.In(v.program.ID, new(int64(mostChoices)), nil, nil)
	found, err := list.Of(v.Ctx(), v.unit(), newest, db.LinkList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	for _, l := range found.Rows {
		links = append(links, site.Option{Value: l.ID, Label: nameOf(l)})
	}
	var days []site.Option
	for _, n := range lives {
		days = append(days, site.Option{Value: strconv.FormatInt(n, 10), Label: v.Locale.T("%d days", n)})
	}
	return v.show(status, "assistants", "/portal/links", "For AI assistants", assistantPage{
		form, links, days, v.portal.Claims.Provider(), token,
	})
}

// addToken creates a token and shows it. Neither the token nor the page is stored.
func addToken(v *visit) error {
	days, _ := strconv.ParseInt(v.Form.Value("days"), 10, 64)
	if !slices.Contains(lives, days) {
		form := site.Form{Values: v.Form.Typed("link", "days")}
		form.Errors = site.Faults{"days": v.Locale.T("Choose one of the given answers.")}
		return v.showAssistants(http.StatusUnprocessableEntity, form, nil)
	}
	order := claim.Order{
		PartnerID: &v.partner.ID, Reason: new(partner.InPortal(v.partner)),
	}
	if id := v.Form.Value("link"); id != "" {
		l, err := v.link(id)
		if err != nil {
			return err
		}
		order.PartnerID, order.LinkID = nil, opt.OrNil(l.ID)
	}
	var token claim.Token
	err := v.write(func(ctx context.Context) (err error) {
		u := work.From(ctx)
		order.ExpiresAt = new(u.Now.Days(days))
		token, err = v.portal.Claims.Issue(ctx, u, order)
		return err
	})
	if err != nil {
		return err
	}
	return v.showAssistants(http.StatusOK, site.Form{Values: v.Form.Typed("link", "days")}, &token)
}
