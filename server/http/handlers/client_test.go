package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/harness/apitest"
)

// TestMainJobWithGeneratedClient runs the main job through the generated client, as an integrator
// would.
func TestMainJobWithGeneratedClient(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	ctx, client := t.Context(), s.Client
	hold := int64(0)
	program, err := client.CreateProgramWithResponse(ctx, api.ProgramCreate{
		Name: "Acme", WebsiteURL: "https://acme.example", Currency: "eur", HoldingPeriodDays: &hold,
	})
	require.NoError(t, err)
	require.NotNil(t, program.JSON201, "%s", program.Body)
	require.Equal(t, "EUR", program.JSON201.Currency)
	id, handle, percent, rate := program.JSON201.ID, "ada", api.RateTypePercent, int64(1250)
	partner, err := client.CreatePartnerWithResponse(ctx, api.PartnerCreate{
		ProgramID: id, Email: "ada@example.com", Handle: &handle,
	})
	require.NoError(t, err)
	require.NotNil(t, partner.JSON201, "%s", partner.Body)
	flow, err := client.CreateFlowWithResponse(ctx, api.FlowCreate{
		ProgramID: id, Name: "All", RateType: &percent, RateValue: &rate,
	})
	require.NoError(t, err)
	require.NotNil(t, flow.JSON201, "%s", flow.Body)
	click, err := client.CreateClickWithResponse(ctx, api.ClickCreate{
		ProgramID: id, Value: handle, LandingURL: "https://acme.example/", VisitorToken: "visitor-0001",
	})
	require.NoError(t, err)
	require.NotNil(t, click.JSON201, "%s", click.Body)
	customer, err := client.CreateCustomerWithResponse(ctx, api.CustomerCreate{ProgramID: id, ClickID: &click.JSON201.ID})
	require.NoError(t, err)
	require.NotNil(t, customer.JSON201, "%s", customer.Body)
	body := api.SaleCreate{
		ProgramID: id, CustomerID: &customer.JSON201.ID, ExternalChargeID: "ch_1", AmountMinor: 1000, Currency: "EUR",
	}
	retry := func(_ context.Context, r *http.Request) error { r.Header.Set("Idempotency-Key", "k"); return nil }
	sale, err := client.CreateSaleWithResponse(ctx, body, retry)
	require.NoError(t, err)
	require.NotNil(t, sale.JSON201, "%s", sale.Body)
	again, err := client.CreateSaleWithResponse(ctx, body, retry)
	require.NoError(t, err)
	require.Equal(t, sale.JSON201, again.JSON201)
	commissions, err := client.ListCommissionsWithResponse(ctx, &api.ListCommissionsParams{
		ProgramID: id, Expand: []api.CommissionExpand{api.CommissionExpandSale, api.CommissionExpandFlow},
	})
	require.NoError(t, err)
	require.Len(t, commissions.JSON200.Data, 1)
	k := commissions.JSON200.Data[0]
	require.EqualValues(t, 125, k.AmountMinor)
	require.Equal(t, sale.JSON201.ID, k.Sale.MustGet().ID)
	require.Equal(t, flow.JSON201.ID, k.Flow.MustGet().ID)
	balances, err := client.ListBalancesWithResponse(ctx, &api.ListBalancesParams{ProgramID: id})
	require.NoError(t, err)
	require.EqualValues(t, 125, balances.JSON200.Data[0].DueMinor)
}
