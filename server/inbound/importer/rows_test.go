package importer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/inbound/importer/source"
)

// TestKindsAreStored: the numbers of kinds are in the database and in queries/imports.sql, so they never change.
func TestKindsAreStored(t *testing.T) {
	require.Equal(t, []source.Kind{
		source.KindPartner, source.KindLink, source.KindCoupon, source.KindCustomer, source.KindSale, source.KindCommission,
		source.KindPayout,
	}, source.Kinds)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7},
		[]int{partners, links, coupons, customers, sales, commissions, payouts, payments})
}
