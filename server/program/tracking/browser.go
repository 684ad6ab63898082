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

// Browse records a visit that a page saw, as Click does for a merchant's server. It
// reports whether the click is one of the hour before: a page reports its address
// each time that it is loaded.
func (s Service) Browse(ctx context.Context, u *work.Unit, programID, value string, v Visit) (again bool, err error) {
	v.UserAgent = opt.OrNil(clean(opt.Value(v.UserAgent)))
	k, err := s.visit(ctx, u, arrival{
		Visit: v, programID: programID, value: strings.ToLower(value), landingKey: destinationKey(v.LandingURL),
		browser: true,
	})
	return k.again, err
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
