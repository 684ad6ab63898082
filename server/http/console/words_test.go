package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
)

// TestConversion: a rate needs at least as many clicks as customers, and is rounded.
func TestConversion(t *testing.T) {
	t.Parallel()
	rate := func(bps, clicks, customers int64) string {
		return share(conversion(api.ReportRow{ConversionBps: &bps, Clicks: &clicks, Customers: customers}))
	}
	require.Equal(t, []string{"–", "100 %", "29 %", "2.9 %"},
		[]string{rate(15000, 2, 3), rate(10000, 3, 3), rate(2857, 7, 2), rate(286, 700, 20)})
}

// TestReturns: only the rejection of a clawback lets a partner keep money.
func TestReturns(t *testing.T) {
	t.Parallel()
	returns := func(kind api.CommissionKind, minor int64) int64 {
		return toCommissionRow(api.Commission{Kind: kind, AmountMinor: minor}).Returns()
	}
	require.EqualValues(t, 9076, returns(api.CommissionKindClawback, -9076))
	require.Zero(t, returns(api.CommissionKindReferral, -9076))
}

// TestBilling names a sale's subscription by its interval.
func TestBilling(t *testing.T) {
	t.Parallel()
	month := api.BillingIntervalMonth
	require.Equal(t, "Monthly subscription", saleRow{Sale: api.Sale{BillingType: "subscription", Interval: &month}}.Billing())
	require.Equal(t, "Once", saleRow{Sale: api.Sale{BillingType: "one_time"}}.Billing())
}
