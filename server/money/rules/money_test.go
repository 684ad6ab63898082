package rules

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const largest = 999_999_999_999

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, bps, want int64 }{
		{4999, 2000, 1000}, {1, 5000, 1}, {1, 4999, 0}, {3, 5000, 2}, {-3, 5000, -2}, {-1, 4999, 0},
		{0, 50000, 0}, {100, 0, 0}, {100, -1, 0}, {largest, 50000, 4_999_999_999_995},
		{math.MaxInt64, 50000, math.MaxInt64}, {math.MinInt64, 50000, -math.MaxInt64}, {math.MinInt64, 5000, -1 << 62},
	} {
		require.Equal(t, c.want, Percent(c.base, c.bps), "%d at %d", c.base, c.bps)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	tax, fee, most := int64(19), int64(7), int64(100)
	for _, c := range []struct {
		net, netOfFee bool
		tax, fee      *int64
		want          int64
		named         Base
	}{
		{false, false, &tax, &fee, 100, BaseGross}, {false, true, &tax, &fee, 100, BaseGross},
		{true, false, &tax, &fee, 81, BaseNetOfTax}, {true, false, nil, &fee, 100, BaseNetOfTax},
		{true, true, &tax, &fee, 74, BaseNetOfTaxAndFee}, {true, true, nil, &fee, 93, BaseNetOfTaxAndFee},
		{true, true, &tax, nil, 81, BaseNetOfTaxAndFee}, {true, true, &tax, &most, 0, BaseNetOfTaxAndFee},
	} {
		require.Equal(t, c.named, BaseOf(c.net, c.netOfFee))
		require.Equal(t, c.want, c.named.Of(100, c.tax, c.fee), c.named)
	}
}

// TestBaseWithinSale: deducting more never leaves more, nor less than zero; and refunds of a sale take back
// exactly the amount paid on it.
func TestBaseWithinSale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale := rapid.Int64Range(1, largest).Draw(t, "sale")
		amount := func(name string) *int64 {
			return rapid.Ptr(rapid.Int64Range(0, sale), true).Draw(t, name)
		}
		tax, fee := amount("tax"), amount("fee")
		bases := []Base{BaseGross, BaseNetOfTax, BaseNetOfTaxAndFee}
		left := sale
		for i, off := range []*int64{nil, tax, fee} {
			if off != nil {
				left = max(left-*off, 0)
			}
			require.Equal(t, left, bases[i].Of(sale, tax, fee))
		}
		commission := Percent(left, rapid.Int64Range(0, 50000).Draw(t, "rate"))
		first := rapid.Int64Range(0, sale).Draw(t, "refund")
		part := RefundShare(commission, sale, 0, first, 0)
		require.Equal(t, halfUp(commission, first, sale), part)
		require.Equal(t, commission-part, RefundShare(commission, sale, first, sale-first, part))
	})
}

func TestRefundShare(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 1000, RefundShare(1000, 4999, 0, 4999, 0))
	require.EqualValues(t, 3, RefundShare(10, 3, 0, 1, 0))
	require.EqualValues(t, 4, RefundShare(10, 3, 1, 1, 3))
	require.EqualValues(t, 3, RefundShare(10, 3, 2, 1, 7))
	require.EqualValues(t, 5, RefundShare(10, 0, 0, 0, 5), "a sale of nothing has nothing left")
}

// halfUp is the model: floor(n/d + 1/2) of magnitudes, in big integers.
func halfUp(a, b, d int64) int64 {
	n := new(big.Int).Mul(new(big.Int).Abs(big.NewInt(a)), big.NewInt(2*b))
	n.Add(n, big.NewInt(d))
	n.Div(n, big.NewInt(2*d))
	return n.Int64() * int64(big.NewInt(a).Sign())
}

func TestPercentAgainstBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(-largest, largest).Draw(t, "base")
		bps := rapid.Int64Range(0, 50000).Draw(t, "bps")
		require.Equal(t, halfUp(base, bps, 10000), Percent(base, bps))
	})
}

func TestRefundSharesSum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale := rapid.Int64Range(1, largest).Draw(t, "sale")
		commission := rapid.Int64Range(0, 5*largest).Draw(t, "commission")
		var refunded, taken int64
		for refunded < sale {
			part := rapid.Int64Range(1, sale-refunded).Draw(t, "part")
			if rapid.IntRange(0, 4).Draw(t, "last") == 0 {
				part = sale - refunded
			}
			share := RefundShare(commission, sale, refunded, part, taken)
			require.GreaterOrEqual(t, share, int64(0))
			refunded, taken = refunded+part, taken+share
			require.Equal(t, halfUp(commission, refunded, sale), taken)
		}
		require.Equal(t, commission, taken)
	})
}
