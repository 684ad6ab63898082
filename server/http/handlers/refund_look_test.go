package handlers_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefundDryRun: a dry run of a refund returns the effects of the refund, and changes nothing.
func TestRefundDryRun(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.s
	partner, sales := e.partner(10000, 20000)
	e.batch(201)
	s.Must(200, s.Post("/v1/payouts/"+e.payouts("")[0].String("id")+"/mark_paid", nil))
	_, open := e.partner(30000)
	for _, sale := range []string{sales[0], open[0]} {
		for _, body := range []M{{"amount_minor": 2500}, {}} {
			refund := "/v1/sales/" + sale + "/refund"
			before := s.Get("/v1/sales/" + sale).Raw
			events := len(s.Events(e.program))
			dry := maps.Clone(body)
			dry["dry_run"] = true
			looked := s.Must(200, s.Post(refund, dry))
			require.Equal(t, before, s.Get("/v1/sales/"+sale).Raw)
			require.Len(t, s.Events(e.program), events)
			require.Empty(t, s.Get("/v1/refunds?program_id="+e.program+"&sale_id="+sale+"&status=waiting").Data())
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
	_, due, paid := s.Balance(e.program, partner, "USD")
	require.Equal(t, []int64{-2000, 6000}, []int64{due, paid})
	e.tallied(t)
}
