package tracking

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/auth"
	"rail/server/work"
)

// exactValue returns the key of a value that several partners have in different cases.
func exactValue(value string) string { return "=" + hex.EncodeToString([]byte(value)) }

// ImportLink writes a link of another product, whose value may be any printable text. The value is claimed for the
// link, unless the partner has it already. The link gets a new short address. exact means that other partners have the
// value in another case.
func ImportLink(ctx context.Context, u *work.Unit, l db.Link, exact bool) error {
	l.ValueKey, l.DestinationKey = strings.ToLower(l.Value), destinationKey(l.DestinationURL)
	l.ShortSlug = new(auth.NewSlug(slugLength))
	claim := db.TrackingValueClaimParams{
		OrgID: l.OrgID, ProgramID: l.ProgramID, Value: l.ValueKey, Kind: db.TrackingKindLink, PartnerID: l.PartnerID,
		LinkID: &l.ID,
	}
	if exact {
		reserve := claim
		reserve.Kind, reserve.LinkID = db.TrackingKindReserved, nil
		if err := claimImported(ctx, u, reserve); err != nil {
			return err
		}
		claim.Value = exactValue(l.Value)
	}
	if err := claimImported(ctx, u, claim); err != nil {
		return err
	}
	u.Record(aboutLink(l), events.AffiliateLinkCreated(api.AffiliateLinkCreatedData{
		LinkID: l.ID, PartnerID: l.PartnerID, URL: URL(l.DestinationURL, l.Param, l.Value),
		Param: l.Param, Value: l.Value, DestinationURL: l.DestinationURL,
	}))
	return queries.LinkInsert(ctx, u.Later(), db.LinkInsertParams(l))
}

// ErrTaken means that another partner has a link's value or a coupon's code.
var ErrTaken = errors.New("tracking: the value or code is taken")

// claimImported claims a value, unless its partner has it, or it is reserved for several partners already. It returns
// ErrTaken if another partner has it.
func claimImported(ctx context.Context, u *work.Unit, claim db.TrackingValueClaimParams) error {
	n, err := queries.TrackingValueClaim(ctx, u.Tx, claim)
	if err != nil || n > 0 {
		return err
	}
	taken, err := queries.ImportValuesTaken(ctx, u.Tx, db.ImportValuesTakenParams{
		ProgramID: claim.ProgramID, OrgID: claim.OrgID, Values: []string{claim.Value},
	})
	for _, h := range taken {
		reserved := claim.Kind == db.TrackingKindReserved && h.Kind == db.TrackingKindReserved
		if !reserved && h.PartnerID != claim.PartnerID {
			return ErrTaken
		}
	}
	return err
}

// ImportCoupon writes a coupon of another product. It returns ErrTaken if the code is not free.
func ImportCoupon(ctx context.Context, u *work.Unit, k db.Coupon) error {
	n, err := queries.CouponInsert(ctx, u.Tx, db.CouponInsertParams(k))
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrTaken
	}
	recordCoupon(u, events.AffiliateCouponCreated, k)
	return nil
}
