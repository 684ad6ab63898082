package tracking

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/secret"
	"rail/server/work"
)

// BrowserVisit is a visit reported by a page.
type BrowserVisit struct {
	// Credited is the partner credited for the browser after this visit.
	Credited db.VisitorReferralRow
	// Last reports whether the program credits the last visit, which is this one. Otherwise an earlier one may count.
	Last bool
	// Repeated reports whether the click was recorded within the last hour: a page reports its address each time it
	// is loaded.
	Repeated bool
}

// Browse records a visit reported by a page, as Click does for a merchant's server.
func (s Service) Browse(ctx context.Context, u *work.Unit, programID, value string, v Visit) (BrowserVisit, error) {
	v.UserAgent = opt.OrNil(cleanText(opt.Value(v.UserAgent)))
	a := newArrival(programID, value, v)
	a.browser = true
	k, err := s.visit(ctx, u, a)
	if err != nil {
		return BrowserVisit{}, err
	}
	return BrowserVisit{
		Credited: db.VisitorReferralRow{
			ClickID: k.ID, ReferralID: *k.ReferralID, ExpiresAt: k.hit.ExpiresAt, Handle: k.hit.Handle, Name: k.hit.Name,
			Coupon: k.hit.Coupon,
		},
		Last: k.hit.AttributionModel == string(db.AttributionModelLast), Repeated: k.again,
	}, nil
}

// CreditedPartner returns the partner credited for a browser: by the visitor's referrals, or by a click handed over to
// it; pgx.ErrNoRows for none. Pages see the row, so it has only public data of the partner.
func CreditedPartner(
	ctx context.Context, u *work.Unit, programID, visitorToken, clickID string,
) (db.VisitorReferralRow, error) {
	p := db.VisitorReferralParams{
		ProgramID: programID, OrgID: u.OrgID, Now: u.Now, Visitor: secret.HashToken(visitorToken), ClickID: clickID,
	}
	return queries.VisitorReferral(ctx, u.Short(), p)
}

// ClickInProgram reports whether a click belongs to the program, so that another page or a short link can have
// handed it over.
func ClickInProgram(ctx context.Context, u *work.Unit, programID, clickID string) (bool, error) {
	click, err := queries.ClickGet(ctx, u.Short(), db.ClickGetParams{ID: clickID, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && click.ProgramID == programID, err
}
