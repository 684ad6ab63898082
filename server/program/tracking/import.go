package tracking

import (
	"context"
	"encoding/hex"
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
		if _, err := queries.TrackingValueClaim(ctx, u.Later(), reserve); err != nil {
			return err
		}
		claim.Value = exactValue(l.Value)
	}
	if _, err := queries.TrackingValueClaim(ctx, u.Later(), claim); err != nil {
		return err
	}
	u.Record(aboutLink(l), events.AffiliateLinkCreated(api.AffiliateLinkCreatedData{
		LinkID: l.ID, PartnerID: l.PartnerID, URL: URL(l.DestinationURL, l.Param, l.Value),
		Param: l.Param, Value: l.Value, DestinationURL: l.DestinationURL,
	}))
	return queries.LinkInsert(ctx, u.Later(), db.LinkInsertParams(l))
}

// ImportCoupon writes a coupon of another product, whose code must be free.
func ImportCoupon(ctx context.Context, u *work.Unit, k db.Coupon) error {
	recordCoupon(u, events.AffiliateCouponCreated, k)
	_, err := queries.CouponInsert(ctx, u.Later(), db.CouponInsertParams(k))
	return err
}
