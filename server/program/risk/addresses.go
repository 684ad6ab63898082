package risk

import (
	"context"
	"net/netip"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// AddressDays is how long a partner's network addresses are stored.
const AddressDays = 90

// carriers is the range of addresses that carriers share among their customers
// (RFC 6598).
var carriers = netip.MustParsePrefix("100.64.0.0/10")

// Identifies reports whether an address identifies a visitor. A private address is a proxy's, or shared by
// everyone behind it.
func Identifies(address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !carriers.Contains(a)
}

// SeenPartner records a partner's network address and browser, as at a sign-in to the portal. Only keyed hashes
// are stored, one row for each address and browser.
func SeenPartner(ctx context.Context, tx pgtx.DBTX, keeper *secret.Keeper, p db.Partner, address, userAgent string,
	now clock.Time) error {
	if !Identifies(address) {
		return nil
	}
	device := []byte{}
	if userAgent != "" {
		device = keeper.HashDevice(p.ProgramID, userAgent)
	}
	return queries.PartnerAddressSave(ctx, tx, db.PartnerAddressSaveParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, IPHash: keeper.HashIP(p.ProgramID, address), Device: device,
		SeenAt: now,
	})
}
