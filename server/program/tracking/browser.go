package tracking

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/secret"
	"rail/server/work"
)

// Browsed is a visit that a page saw.
type Browsed struct {
	// Standing is who brought the browser by this visit.
	Standing db.VisitorStandingRow
	// Last is whether the last visit counts in the program, which is this one. Else
	// another may stand.
	Last bool
	// Again is whether the click is one of the hour before: a page reports its address
	// each time that it is loaded.
	Again bool
}

// Browse records a visit that a page saw, as Click does for a merchant's server.
func (s Service) Browse(ctx context.Context, u *work.Unit, programID, value string, v Visit) (Browsed, error) {
	v.UserAgent = opt.OrNil(clean(opt.Value(v.UserAgent)))
	k, err := s.visit(ctx, u, arrival{
		Visit: v, programID: programID, value: strings.ToLower(value), landingKey: destinationKey(v.LandingURL),
		browser: true,
	})
	if err != nil {
		return Browsed{}, err
	}
	return Browsed{
		Standing: db.VisitorStandingRow{
			ClickID: k.ID, ReferralID: *k.ReferralID, ExpiresAt: k.hit.ExpiresAt, Handle: k.hit.Handle, Name: k.hit.Name,
			Coupon: k.hit.Coupon,
		},
		Last: k.hit.AttributionModel == string(db.AttributionModelLast), Again: k.again,
	}, nil
}

// Standing returns who brought a browser: by the visitor's own referrals, or by a
// click that was handed over to it; pgx.ErrNoRows for nobody. The row is shown to
// pages, so that it has nothing but what partners show of themselves.
func Standing(
	ctx context.Context, u *work.Unit, programID, visitorToken, clickID string,
) (db.VisitorStandingRow, error) {
	p := db.VisitorStandingParams{
		ProgramID: programID, OrgID: u.OrgID, Now: u.Now, Visitor: secret.HashToken(visitorToken), ClickID: clickID,
	}
	return queries.VisitorStanding(ctx, u.Short(), p)
}

// Handed reports whether a click is one of the program, so that another page or a
// short link can have handed it over.
func Handed(ctx context.Context, u *work.Unit, programID, clickID string) (bool, error) {
	click, err := queries.ClickGet(ctx, u.Short(), db.ClickGetParams{ID: clickID, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && click.ProgramID == programID, err
}
