package portal

import (
	"net/http"
	"slices"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/money/payout"
	"rail/server/program/partner"
)

// recentCommissions is how many of the last commissions the overview shows.
const recentCommissions = 5

// home holds the data of the overview.
type home struct {
	Says, Conditions []string // what the partner earns
	Link             shared
	Month            month
	Level            *level
	Board            *board         // nil for none
	Steps            []site.Link    // what is left of the onboarding
	Failed           []failedPayout // that the partner may have to do something about
	Purses           []balance
	WasPaid          bool
	Stats            db.PartnerStatsRow
	Graph            graph
	Commissions      []commissionRow
	Milestones       []milestone
}

// milestone is a first success of the partner.
type milestone struct {
	Name    string
	Reached bool
}

// Begins reports whether there was no visit yet.
func (h home) Begins() bool { return h.Stats.Clicks == 0 && len(h.Purses) == 0 }

// failedPayout is a payout that failed, and why.
type failedPayout struct {
	db.Payout
	Failure string // "" if unknown
}

// overview is the page that a partner signs in to.
func overview(v *visit) error {
	h := home{Steps: v.steps()}
	var err error
	if h.Says, h.Conditions, err = v.terms(); err != nil {
		return err
	}
	own, err := v.ownLink()
	if err != nil {
		return err
	}
	h.Link = v.share(own)
	if h.Level, err = v.level(); err != nil {
		return err
	}
	open, failed, err := v.unpaid()
	if err != nil {
		return err
	}
	for _, p := range failed {
		h.Failed = append(h.Failed, failedPayout{p, payout.PartnerReason(v.Locale, p)})
	}
	if h.Purses, err = v.balances(open); err != nil {
		return err
	}
	h.WasPaid = slices.ContainsFunc(h.Purses, func(p balance) bool { return p.PaidMinor > 0 })
	if h.Stats, err = v.counters(); err != nil {
		return err
	}
	h.Milestones = []milestone{
		{"First click", h.Stats.Clicks > 0},
		{"First customer", h.Stats.Customers > 0},
		{"First payout", h.WasPaid},
	}
	if h.Graph, h.Month, err = v.graph(h.Purses); err != nil {
		return err
	}
	if h.Board, err = v.board(); err != nil {
		return err
	}
	if h.Commissions, err = v.commissionRows(commissionFilter{}, recentCommissions); err != nil {
		return err
	}
	return v.show(http.StatusOK, "overview", "/portal", "Overview", h)
}

// counters are the partner's totals.
func (v *visit) counters() (db.PartnerStatsRow, error) {
	rows, err := queries.PartnerStats(v.Ctx(), v.portal.Pool, db.PartnerStatsParams{
		Ids: []string{v.partner.ID}, OrgID: v.partner.OrgID,
	})
	// No row: the partner was deleted since the session was read.
	if err != nil || len(rows) == 0 {
		return db.PartnerStatsRow{}, err
	}
	return rows[0], nil
}

// steps are the open steps of a new partner. They end with the onboarding, even if a name is removed later.
func (v *visit) steps() (out []site.Link) {
	p := v.partner
	if p.CompletedOnboarding {
		return nil
	}
	if !partner.HasName(p) {
		out = append(out, site.Link{Path: "/portal/settings#profile", Name: "Save your name"})
	}
	if p.PayoutMethod == nil {
		out = append(out, site.Link{Path: "/portal/settings#payout", Name: "Add your payout details"})
	}
	return out
}
