package risk

import (
	"context"
	"net/netip"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// AddressDays is for how many days it is stored at which addresses a partner was
// seen.
const AddressDays = 90

// carriers is the range of addresses that carriers share among their customers
// (RFC 6598).
var carriers = netip.MustParsePrefix("100.64.0.0/10")

// Identifies reports whether an address says anything about who was there. A
// private address is that of a proxy, or of everybody behind it.
func Identifies(address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !carriers.Contains(a)
}

// SeenPartner records that a partner was at an address with a browser, as on a
// sign-in to the portal. Only keyed hashes are stored, in one row for each
// address and browser.
func SeenPartner(ctx context.Context, tx pgtx.DBTX, keeper *secret.Keeper, p db.Partner, address, userAgent string,
	now clock.Time) error {
	if !Identifies(address) {
		return nil
	}
	device := []byte{}
	if userAgent != "" {
		device = keeper.HashDevice(p.ProgramID, userAgent)
	}
	return queries.PartnerAddressSeen(ctx, tx, db.PartnerAddressSeenParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, IPHash: keeper.HashIP(p.ProgramID, address), Device: device,
		SeenAt: now,
	})
}
