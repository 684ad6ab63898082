package portal

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/program/tracking"
	"rail/server/work"
)

const (
	// recentClicks is how many of the last clicks the page of links shows.
	recentClicks = 10
	// linksPerPage is how many links the page shows at once: each has two forms.
	linksPerPage = 10
	// mostCoupons bounds the coupons of the same page.
	mostCoupons = 100
)

// link is one of the partner's links, with its addresses and figures.
type link struct {
	db.Link
	Main, Short shared // Short is the zero value where there is none
	Stats       db.LinkStatsRow
}

// click holds the data of a click that partners see: its origin, not the visitor.
type click struct {
	CreatedAt       clock.Time
	Via, From       string
	Country, Device *string
}

// linkPage holds the data of the page of links.
type linkPage struct {
	Own     shared
	Part    string // of the partner's link, which any page's address can have
	Links   site.Listing
	Clicks  []click
	Coupons []db.Coupon
	Maker   linkForm
}

// links shows the partner's links with their figures, and the last clicks.
func links(v *visit) error { return v.showLinks(http.StatusOK, site.Form{}) }

// showLinks is the page with a form as it was typed.
func (v *visit) showLinks(status int, form site.Form) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	own, err := v.ownLink()
	if err != nil {
		return err
	}
	some := list.In(v.program.ID, new(int64(linksPerPage)), t.After, t.Before)
	found, err := list.Of(v.Ctx(), v.unit(), some, db.LinkList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	rows, err := v.countLinks(found.Rows)
	if err != nil {
		return err
	}
	clicks, err := v.lastClicks()
	if err != nil {
		return err
	}
	coupons, err := v.coupons()
	if err != nil {
		return err
	}
	linkForm, err := v.linkForm(form)
	if err != nil {
		return err
	}
	id := func(l db.Link) string { return l.ID }
	return v.show(status, "links", "/portal/links", "Links", linkPage{
		Own: v.share(own), Part: "?" + tracking.Param(v.program) + "=" + url.QueryEscape(v.partner.Handle), Links: site.Listed(v.Request().URL, t, found, id, rows), Clicks: clicks, Coupons: coupons,
		Maker: linkForm,
	})
}

// countLinks counts what came by each link.
func (v *visit) countLinks(found []db.Link) ([]link, error) {
	if len(found) == 0 {
		return nil, nil
	}
	counted, err := queries.LinkStats(v.Ctx(), v.portal.Pool, db.LinkStatsParams{
		Ids: ids(found, func(l db.Link) string { return l.ID }), OrgID: v.partner.OrgID,
	})
	stats := make(map[string]db.LinkStatsRow, len(counted))
	for _, s := range counted {
		stats[s.ID] = s
	}
	rows := make([]link, len(found))
	for i, l := range found {
		address := tracking.Readable(tracking.URL(l.DestinationURL, l.Param, l.Value))
		rows[i] = link{Link: l, Main: shared{URL: address, Title: v.program.Name}, Stats: stats[l.ID]}
		if l.ShortSlug != nil {
			rows[i].Short = shared{URL: tracking.ShortURL(v.portal.ShortURL, *l.ShortSlug), Title: v.program.Name}
		}
	}
	return rows, err
}

// lastClicks are the last clicks that the partner brought.
func (v *visit) lastClicks() ([]click, error) {
	newest := list.In(v.program.ID, new(int64(recentClicks)), nil, nil)
	found, err := list.Of(v.Ctx(), v.unit(), newest, db.ClickList{PartnerID: &v.partner.ID})
	if err != nil {
		return nil, err
	}
	names, err := v.linkNames(found.Rows)
	if err != nil {
		return nil, err
	}
	clicks := make([]click, len(found.Rows))
	for i, k := range found.Rows {
		clicks[i] = click{CreatedAt: k.CreatedAt, Via: names[opt.Value(k.LinkID)], Country: k.Country, Device: k.Device}
		// Only the host: paths and queries of other sites can name people.
		if from, err := url.Parse(opt.Value(k.Referer)); err == nil {
			clicks[i].From = from.Hostname()
		}
	}
	return clicks, nil
}

// linkNames returns the labels of the links that were clicked by their ids, and the
// values of those without one. Clicks name their link even when it was deleted.
func (v *visit) linkNames(clicks []db.Click) (map[string]string, error) {
	var clicked []string
	for _, k := range clicks {
		if k.LinkID != nil && !slices.Contains(clicked, *k.LinkID) {
			clicked = append(clicked, *k.LinkID)
		}
	}
	if len(clicked) == 0 {
		return nil, nil
	}
	of := db.LinkByIDsParams{Ids: clicked, OrgID: v.partner.OrgID}
	found, err := queries.LinkByIDs(v.Ctx(), v.portal.Pool, of)
	names := make(map[string]string, len(found))
	for _, l := range found {
		names[l.ID] = nameOf(l)
	}
	return names, err
}

// nameOf returns the name of a link for people.
func nameOf(l db.Link) string { return cmp.Or(opt.Value(l.Label), l.Value) }

// coupons are the partner's codes, the newest first.
func (v *visit) coupons() ([]db.Coupon, error) {
	newest := list.In(v.program.ID, new(int64(mostCoupons)), nil, nil)
	found, err := list.Of(v.Ctx(), v.unit(), newest, db.CouponList{PartnerID: &v.partner.ID})
	return found.Rows, err
}

// ownLink returns the link that every partner has.
func (v *visit) ownLink() (string, error) {
	var landing *string
	if v.partner.GroupID != nil {
		of := db.GroupGetParams{ID: *v.partner.GroupID, OrgID: v.partner.OrgID}
		group, err := queries.GroupGet(v.Ctx(), v.portal.Pool, of)
		if err := work.IgnoreNoRows(err); err != nil {
			return "", err
		}
		landing = group.LandingURL
	}
	return tracking.PartnerURL(v.program, landing, v.partner.Handle), nil
}
