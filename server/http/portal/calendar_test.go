package portal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestCalendarEntry: a scheduled payout is an entry of its day, whose lines are at most 75 bytes long. A paid one has none,
// and another partner's is a 404.
func TestCalendarEntry(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"name": "Ääkköset; kirjat, pelit ja muut hyvät asiat kaikille ystävillemme", "payout_methods": []string{"paypal"}})
	s.Flow(program)
	partner, other := s.Partner(program), s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ada@example.com"}}))
	s.Sale(program, s.Customer(program, partner), M{"amount_minor": 10000})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": "2026-09-01"}))
	id := s.Get("/v1/payouts?program_id=" + program + "&partner_id=" + partner).Data()[0]["id"].(string)
	b := signIn(s, partner)
	require.Contains(t, b.get("/portal/payout?id="+id), "Add to calendar")
	entry := b.get("/portal/payout.ics?id=" + id)
	require.Contains(t, entry, "DTSTART;VALUE=DATE:2026")
	require.Contains(t, strings.ReplaceAll(entry, "\r\n ", ""), `SUMMARY:Payout from Ääkköset\; kirjat\, pelit`)
	for line := range strings.SplitSeq(entry, "\r\n") {
		require.LessOrEqual(t, len(line), 75)
	}
	require.Equal(t, 404, signIn(s, other).ask("GET", "/portal/payout.ics?id="+id, nil).Status)
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	require.Equal(t, 404, b.ask("GET", "/portal/payout.ics?id="+id, nil).Status)
	require.NotContains(t, b.get("/portal/payout?id="+id), "Add to calendar")
}
