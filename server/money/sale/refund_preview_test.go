package sale_test

import (
	"maps"
	"testing"

	"rail/server/harness/apitest"

	"github.com/stretchr/testify/require"
)

// TestRefundDryRun: a dry run of a refund returns the effects of the refund, and changes nothing.
func TestRefundDryRun(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t)
	s := e.Server
	partner, sales := e.Referrer(10000, 20000)
	e.Batch(201)
	s.Must(200, s.Post("/v1/payouts/"+e.Payouts("")[0].String("id")+"/mark_paid", nil))
	_, open := e.Referrer(30000)
	for _, sale := range []string{sales[0], open[0]} {
		for _, body := range []M{{"amount_minor": 2500}, {}} {
			refund := "/v1/sales/" + sale + "/refund"
			before := s.Get("/v1/sales/" + sale).Raw
			events := len(s.Events(e.ProgramID))
			dry := maps.Clone(body)
			dry["dry_run"] = true
			looked := s.Must(200, s.Post(refund, dry))
			require.Equal(t, before, s.Get("/v1/sales/"+sale).Raw)
			require.Len(t, s.Events(e.ProgramID), events)
			require.Empty(t, s.Get("/v1/refunds?program_id="+e.ProgramID+"&sale_id="+sale+"&status=waiting").Data())
			done := s.Must(200, s.Post(refund, body))
			for _, a := range []M{looked.Body, done.Body} {
				delete(a, "id")
				for _, c := range a["commissions"].([]any) {
					if c.(M)["clawback_id"] != nil {
						c.(M)["clawback_id"] = "some"
					}
				}
			}
			require.Equal(t, done.Body, looked.Body)
		}
	}
	s.Refused(400, "parameter_invalid", "amount_minor",
		s.Post("/v1/sales/"+sales[1]+"/refund", M{"dry_run": true, "amount_minor": 20001}))
	_, due, paid := s.Balance(e.ProgramID, partner, "USD")
	require.Equal(t, []int64{-2000, 6000}, []int64{due, paid})
	e.Tallied(t)
}
