package portal

import (
	"cmp"
	"net/http"
	"net/url"

	gen "rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/program/tracking"
	"rail/server/work"
)

// recentClicks is how many of the last clicks the page of links shows.
const recentClicks = 10

// click is what a partner sees of a click: where it came from, not who clicked.
type click struct {
	gen.Click
	Via, From string
}

// linkPage is what the page of links shows.
type linkPage struct {
	Own    string
	Links  listing
	Clicks []click
}

func links(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	ctx := v.reading()
	own, err := v.ownLink()
	if err != nil {
		return err
	}
	found, err := v.portal.Server.ListLinks(ctx, gen.ListLinksRequestObject{Params: gen.ListLinksParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(perPage)), StartingAfter: t.after, EndingBefore: t.before,
		Include: gen.LinkIncludeParam{gen.LinkIncludeStats},
	}})
	if err != nil {
		return err
	}
	list := found.(gen.ListLinks200JSONResponse)
	clicked, err := v.portal.Server.ListClicks(ctx, gen.ListClicksRequestObject{Params: gen.ListClicksParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(recentClicks)), Expand: gen.ClickExpandParam{gen.ClickExpandLink},
	}})
	if err != nil {
		return err
	}
	page := linkPage{Own: own, Links: listed(v, t, list.Data, list.HasMore, list.TotalCount, func(l gen.Link) string { return l.ID })}
	for _, k := range clicked.(gen.ListClicks200JSONResponse).Data {
		page.Clicks = append(page.Clicks, toClick(k))
	}
	return v.show(http.StatusOK, "links", "/portal/links", "Links", page)
}

// ownLink is the link that every partner has: the handle on the page that the
// group names (decisions, 50), or else on the program's own.
func (v *visit) ownLink() (string, error) {
	page, param := v.program.WebsiteURL, "ref"
	if v.partner.GroupID != nil {
		of := db.GroupGetParams{ID: *v.partner.GroupID, OrgID: v.partner.OrgID}
		group, err := queries.GroupGet(v.ctx(), v.portal.Pool, of)
		if err := work.IgnoreNoRows(err); err != nil {
			return "", err
		}
		page = cmp.Or(opt.Value(group.LandingURL), page)
	}
	if len(v.program.URLParams) > 0 {
		param = v.program.URLParams[0]
	}
	return tracking.URL(page, param, v.partner.Handle), nil
}

func toClick(k gen.Click) click {
	out := click{Click: k}
	if l, err := k.Link.Get(); err == nil {
		out.Via = l.Value
		if l.Label != nil {
			out.Via = *l.Label
		}
	}
	if u, err := url.Parse(opt.Value(k.Referer)); err == nil {
		out.From = u.Hostname()
	}
	return out
}
