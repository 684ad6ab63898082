package tracking

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/secret"
	"rail/server/work"
)

// Visit is a visitor who came by a partner's link.
type Visit struct {
	Param                               string // the parameter with the value; "" for the usual one
	VisitorToken                        string // from the browser; only its hash is stored
	LandingURL                          string // in full; shortened when stored
	Query                               string // of a short link's address, or ""
	IP                                  string // "" if unknown
	UserAgent, Referer, Country, Device *string
}

// sameVisit is how long repeated clicks of a browser on the same value are one visit: a reload is not a second
// click.
const sameVisit = time.Hour

// arrival is a visit before it is resolved: a value of a program, which leads to a partner and, unless a link is
// given, to one of its links.
type arrival struct {
	Visit
	programID, value, landingKey string
	exact                        string // the key of the value in its own case
	linkID                       string // of a short link; "" means the matching one
	browser                      bool   // reported by the browser, which may repeat it
}

// since returns the time after which a click on the same value is a repetition. For merchants' servers, which
// count visits themselves, it is now: no click repeats another, not even one from a request whose clock is a
// moment ahead.
func (a arrival) since(now clock.Time) clock.Time {
	if a.browser {
		return now.Plus(-sameVisit)
	}
	return now
}

// clickResult is a recorded click with the target of its value. If the click existed already, only ids and
// partner are set.
type clickResult struct {
	db.Click
	again bool
	hit   db.TrackingResolveRow
}

// Click records a visit reported by the merchant's server. The value is resolved as in the browser script:
// handles of partners first, then values of links. A visitor has at most one live referral with a partner, which
// every further click joins (decisions, 65 and 68).
func (s Service) Click(ctx context.Context, u *work.Unit, programID, value string, v Visit) (db.Click, error) {
	k, err := s.visit(ctx, u, newArrival(programID, value, v))
	return k.Click, err
}

func newArrival(programID, value string, v Visit) arrival {
	return arrival{
		Visit: v, programID: programID, value: strings.ToLower(value), exact: exactValue(value),
		landingKey: destinationKey(v.LandingURL),
	}
}

// Arrival is a visit by a value, at a time.
type Arrival struct {
	Visit
	Value string
	At    clock.Time
}

// Clicks records visits as Click does, in few statements. No two of them are of the same visitor.
func (s Service) Clicks(ctx context.Context, u *work.Unit, programID string, came []Arrival) ([]db.Click, error) {
	units, visits := make([]*work.Unit, len(came)), make([]arrival, len(came))
	for i, a := range came {
		unit := *u
		unit.Now, units[i] = a.At, &unit
		visits[i] = newArrival(programID, a.Value, a.Visit)
	}
	hits, err := resolve(ctx, func(r pgtx.Read) error { return u.Read(ctx, r) }, units, visits)
	if err != nil {
		return nil, err
	}
	recorded := make([]db.Click, len(came))
	return recorded, errors.Join(u.Share(ctx, len(came), func(i int, u *work.Unit) error {
		u.Now = came[i].At
		k, err := s.record(ctx, u, visits[i], hits[i])
		recorded[i] = k.Click
		return err
	})...)
}

// visit resolves and records a visit: batched with other requests if possible, else in the unit's transaction.
func (s Service) visit(ctx context.Context, u *work.Unit, a arrival) (clickResult, error) {
	if s.Writer != nil && !u.Tx.Begun() && !risk.Suspect(u, a.LandingURL, a.Query) {
		click, err := s.Writer.write(ctx, s, u, a)
		if !pgtx.Again(err) {
			return click, err
		}
	}
	if err := u.Claim("visitor", a.programID, string(a.visitor())); err != nil {
		return clickResult{}, err
	}
	read := func(r pgtx.Read) error { return u.Read(ctx, r) }
	hits, err := resolve(ctx, read, []*work.Unit{u}, []arrival{a})
	if err != nil {
		return clickResult{}, err
	}
	return s.record(ctx, u, a, hits[0])
}

// visitor returns the hash that identifies the browser.
func (a arrival) visitor() []byte { return secret.HashToken(a.VisitorToken) }

// reader runs a read of one statement.
type reader func(pgtx.Read) error

// resolve finds the targets of visits, each for its unit. It takes one statement, unless a value leads nowhere
// and contains characters that pasting adds.
func resolve(
	ctx context.Context, read reader, units []*work.Unit, visits []arrival,
) ([]db.TrackingResolveRow, error) {
	hits, err := lookUp(ctx, read, units, visits)
	if err != nil {
		return nil, err
	}
	return hits, resolvePasted(ctx, read, units, visits, hits)
}

// lookUp finds the targets of visits by their unchanged values.
func lookUp(
	ctx context.Context, read reader, units []*work.Unit, visits []arrival,
) (hits []db.TrackingResolveRow, err error) {
	var p db.TrackingResolveParams
	for i, a := range visits {
		p.ProgramIds = append(p.ProgramIds, a.programID)
		p.OrgIds = append(p.OrgIds, units[i].OrgID)
		p.Values = append(p.Values, a.value)
		p.LandingKeys = append(p.LandingKeys, a.landingKey)
		p.Visitors = append(p.Visitors, a.visitor())
		p.Nows = append(p.Nows, units[i].Now)
		p.Sinces = append(p.Sinces, a.since(units[i].Now))
	}
	err = read(func(tx pgtx.DBTX) (err error) {
		hits, err = queries.TrackingResolve(ctx, tx, p)
		return err
	})
	return hits, err
}

// accept returns the reason why a visit is not recorded. It checks the program first, so that a value of a
// paused program is not reported as unknown.
func accept(hit db.TrackingResolveRow) error {
	switch {
	case hit.ProgramStatus == "":
		return problem.NotFound("program_id")
	case hit.ProgramStatus == string(db.ProgramStatusPaused):
		return problem.New(problem.ProgramPaused, "The program is paused; it records no new clicks.")
	case hit.PartnerID == "":
		return problem.On("value", problem.TrackingValueNotFound,
			"value is neither a handle of an active partner nor a link value of this program.")
	}
	return nil
}

// record writes a click, and opens a referral for a visitor without a live one. The click joins that referral,
// even through another link of the partner. A repeated visit of a browser adds no click, but the existing click
// becomes its last.
func (s Service) record(
	ctx context.Context, u *work.Unit, a arrival, hit db.TrackingResolveRow,
) (clickResult, error) {
	if err := accept(hit); err != nil {
		return clickResult{}, err
	}
	if hit.RecentClickID != "" {
		click := db.Click{ID: hit.RecentClickID, PartnerID: hit.PartnerID, ReferralID: &hit.ReferralID}
		return clickResult{click, true, hit}, queries.ReferralReturn(ctx, u.Later(), db.ReferralReturnParams{
			Now: u.Now, ClickID: &click.ID, ID: hit.ReferralID, OrgID: u.OrgID,
		})
	}
	linkID, utm := cmp.Or(a.linkID, hit.LinkID), utmOf(a.LandingURL)
	if hit.ReferralID == "" {
		opened, err := openReferral(ctx, u, a, hit, linkID, utm)
		if err != nil {
			return clickResult{}, err
		}
		hit.ReferralID = opened
	}
	click := db.Click{
		ID: u.NewID(ident.Click), OrgID: u.OrgID, ProgramID: a.programID, PartnerID: hit.PartnerID,
		LinkID: opt.OrNil(linkID), ReferralID: &hit.ReferralID, Param: cmp.Or(a.Param, defaultParam),
		UserAgent: a.UserAgent, Referer: fitOptional(a.Referer), Country: a.Country, Device: a.Device,
		LandingURL: new(fit(a.LandingURL)), CreatedAt: u.Now,
	}
	s.setOrigin(&click, utm)
	// Only a hash of the address is stored, keyed by program.
	if risk.Identifies(a.IP) {
		click.IPHash = s.Keeper.HashIP(a.programID, a.IP)
	}
	if err := risk.CheckClick(ctx, u, a.programID, hit.PartnerID, a.LandingURL, a.Query); err != nil {
		return clickResult{}, err
	}
	return clickResult{Click: click, hit: hit}, queries.ClickInsert(ctx, u.Later(), db.ClickInsertParams(click))
}
