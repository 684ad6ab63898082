package tracking

import (
	"cmp"
	"context"
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

// Visit is what is known of a visitor who came by a partner's link.
type Visit struct {
	Param                               string // the parameter that carried the value; "" for the usual one
	VisitorToken                        string // the browser's, of which a hash is kept
	LandingURL                          string // in full; what is stored of it is cut
	Query                               string // of a short link's address; "" for none
	IP                                  string // "" where it is not known
	UserAgent, Referer, Country, Device *string
}

// sameVisit is how long a browser that comes again on the same value is on the same
// visit: a reload is no second click.
const sameVisit = time.Hour

// arrival is a visit as it is asked for: by a value of a program, which leads to a
// partner and, unless a link is given, to one of its links.
type arrival struct {
	Visit
	programID, value, landingKey string
	linkID                       string // of a short link; "" for the one that fits
	browser                      bool   // seen by the browser itself, which may come again
}

// since returns the time after which a click on the same value is the same one. For
// what merchants' servers report, who count for themselves, it is now: none is, not
// even one of a request whose clock is a moment ahead.
func (a arrival) since(now clock.Time) clock.Time {
	if a.browser {
		return now.Plus(-sameVisit)
	}
	return now
}

// recorded is a click, whether it is one from before, of which only the ids and the
// partner are known, and where its value led.
type recorded struct {
	db.Click
	again bool
	hit   db.TrackingResolveRow
}

// Click records a visit that the merchant's server saw. The value is resolved as
// the browser script does it: handles of partners first, then values of links. A
// visitor has at most one live referral with a partner, which every further click
// joins (decisions, 65 and 68).
func (s Service) Click(ctx context.Context, u *work.Unit, programID, value string, v Visit) (db.Click, error) {
	k, err := s.visit(ctx, u, arrival{
		Visit: v, programID: programID, value: strings.ToLower(value), landingKey: destinationKey(v.LandingURL),
	})
	return k.Click, err
}

// visit resolves a visit and records it: together with those of other requests if
// that is possible, else in the unit's transaction.
func (s Service) visit(ctx context.Context, u *work.Unit, a arrival) (recorded, error) {
	if s.Writer != nil && !u.Tx.Begun() && !risk.Suspect(u, a.LandingURL, a.Query) {
		click, err := s.Writer.write(ctx, s, u, a)
		if !pgtx.Again(err) {
			return click, err
		}
	}
	if err := u.Claim("visitor", a.programID, string(a.visitor())); err != nil {
		return recorded{}, err
	}
	read := func(r pgtx.Read) error { return u.Read(ctx, r) }
	hits, err := resolve(ctx, read, []*work.Unit{u}, []arrival{a})
	if err != nil {
		return recorded{}, err
	}
	return s.record(ctx, u, a, hits[0])
}

// visitor returns the hash by which the browser is known.
func (a arrival) visitor() []byte { return secret.HashToken(a.VisitorToken) }

// reader runs a read, which is one statement.
type reader func(pgtx.Read) error

// resolve finds out where visits lead, each for its unit. It takes one statement
// unless a value leads nowhere and contains characters that pasting adds.
func resolve(
	ctx context.Context, read reader, units []*work.Unit, visits []arrival,
) ([]db.TrackingResolveRow, error) {
	hits, err := lookUp(ctx, read, units, visits)
	if err != nil {
		return nil, err
	}
	return hits, resolvePasted(ctx, read, units, visits, hits)
}

// lookUp finds out where visits lead by their values as they are.
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

// accept says why a visit is not recorded. The program is looked at first: a value
// is not reported as unknown because the program that has it is paused.
func accept(hit db.TrackingResolveRow) error {
	switch {
	case hit.ProgramStatus == "":
		return problem.NotFound("program_id")
	case hit.ProgramStatus == string(db.ProgramStatusPaused):
		return problem.New(problem.ProgramPaused, "The program is paused; it takes no new clicks.")
	case hit.PartnerID == "":
		return problem.On("value", problem.TrackingValueNotFound,
			"value is neither a handle of an active partner nor a link value of this program.")
	}
	return nil
}

// record writes a click, and opens a referral for a visitor without a live one.
// The click joins that referral, also when another link of the partner was followed.
// A browser that comes again makes none, but the one that there is becomes its last.
func (s Service) record(
	ctx context.Context, u *work.Unit, a arrival, hit db.TrackingResolveRow,
) (recorded, error) {
	if err := accept(hit); err != nil {
		return recorded{}, err
	}
	if hit.RecentClickID != "" {
		click := db.Click{ID: hit.RecentClickID, PartnerID: hit.PartnerID, ReferralID: &hit.ReferralID}
		return recorded{click, true, hit}, queries.ReferralReturn(ctx, u.Later(), db.ReferralReturnParams{
			Now: u.Now, ClickID: &click.ID, ID: hit.ReferralID, OrgID: u.OrgID,
		})
	}
	linkID := cmp.Or(a.linkID, hit.LinkID)
	if hit.ReferralID == "" {
		opened, err := open(ctx, u, a, hit, linkID)
		if err != nil {
			return recorded{}, err
		}
		hit.ReferralID = opened
	}
	click := db.Click{
		ID: ident.New(ident.Click), OrgID: u.OrgID, ProgramID: a.programID, PartnerID: hit.PartnerID,
		LinkID: opt.OrNil(linkID), ReferralID: &hit.ReferralID, Param: cmp.Or(a.Param, defaultParam),
		UserAgent: a.UserAgent, Referer: fitted(a.Referer), Country: a.Country, Device: a.Device,
		LandingURL: new(fit(a.LandingURL)), CreatedAt: u.Now,
	}
	// Only a keyed hash of the address is stored, one that differs by program.
	if risk.Identifies(a.IP) {
		click.IPHash = s.Keeper.HashIP(a.programID, a.IP)
	}
	if err := risk.CheckClick(ctx, u, a.programID, hit.PartnerID, a.LandingURL, a.Query); err != nil {
		return recorded{}, err
	}
	return recorded{Click: click, hit: hit}, queries.ClickInsert(ctx, u.Later(), db.ClickInsertParams(click))
}
