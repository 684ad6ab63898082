package ident

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNew(t *testing.T) {
	t.Parallel()
	last, seen := "", map[string]bool{}
	for range 10_000 {
		id := New(Sale)
		require.Regexp(t, `^sale_[0-9a-z]{26}$`, id)
		require.Greater(t, id, last, "ids of one process rise")
		require.False(t, seen[id])
		seen[id], last = true, id
	}
	require.Regexp(t, `^sample_part_[0-9a-z]{26}$`, NewSample(Partner))
	require.True(t, IsSample(NewSample(Partner)))
	require.False(t, IsSample(New(Partner)))
}

func TestHas(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"sale_1": true, "sample_sale_Ab9": true, "sale_": false, "part_1": false, "sale_a-b": false, "sale_\x00": false,
		"": false, "sample_sample_sale_1": false,
	} {
		require.Equal(t, ok, Has(id, Sale), id)
	}
	require.True(t, Has(New(Sale), Sale))
}

func TestBalanceID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "bal_8fKq2Lm_usd", BalanceID("part_8fKq2Lm", "USD"))
	require.Equal(t, "sample_bal_8f_jpy", BalanceID("sample_part_8f", "JPY"))
}
