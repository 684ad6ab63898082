package payout

import (
	"context"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// NameOf returns the name under which a partner is paid: the company's, the person's, or the one shown in the
// program.
func NameOf(p db.Partner) string {
	if p.CompanyName != nil {
		return *p.CompanyName
	}
	var parts []string
	for _, part := range []*string{p.FirstName, p.LastName} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, " ")
	}
	if p.DisplayName != nil {
		return *p.DisplayName
	}
	return p.Handle
}

// DetailsChanged returns when payout details changed since the last payout, by partner. It leaves out partners
// who were never paid.
func DetailsChanged(ctx context.Context, tx pgtx.DBTX, org string, partners []string) (map[string]clock.Time, error) {
	rows, err := queries.PayoutDetailsChanges(ctx, tx, db.PayoutDetailsChangesParams{PartnerIds: partners, OrgID: org})
	out := map[string]clock.Time{}
	for _, r := range rows {
		out[r.ID] = *r.PayoutDetailsChangedAt
	}
	return out, err
}

// DetailsPlace names where the payout details of a partner are sealed. A ciphertext moved to another partner's
// row does not open there.
func DetailsPlace(partnerID string) string { return "payout_details/" + partnerID }

// DetailsOf opens the payout details of a partner, nil if there are none.
func DetailsOf(keeper *secret.Keeper, p db.Partner) ([]byte, error) {
	if p.PayoutDetails == nil {
		return nil, nil
	}
	return keeper.Open(p.PayoutDetails, DetailsPlace(p.ID))
}
