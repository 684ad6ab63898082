package claim_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// M is a JSON object.
type M = apitest.M

// shop is a program with the partner ada and a flow of 20 %.
type shop struct {
	*apitest.Server
	program, partner string
}

func newShop(t *testing.T) shop {
	t.Helper()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ada", "email": "ada@partner.example"})
	s.Flow(program)
	return shop{s, program, partner}
}

// token returns a token of the partner.
func (s shop) token(more ...M) string {
	s.T.Helper()
	body := M{"partner_id": s.partner}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return s.Must(201, s.Post("/v1/attribution_tokens", body)).String("token")
}

// affiliate returns a claim with a token.
func affiliate(token string) M {
	return M{"affiliate_attribution": M{"provider": "rail.example", "token": token}}
}

// sell records a sale of the customer with an external id.
func (s shop) sell(customer string, claim M) apitest.Answer {
	s.T.Helper()
	return s.Must(201, s.Post("/v1/sales", s.body(customer, claim)))
}

// body returns the body of a sale with a new charge.
func (s shop) body(customer string, claim M) M {
	body := M{
		"program_id": s.program, "external_customer_id": customer, "external_charge_id": apitest.Unique("ch_"),
		"amount_minor": 5000, "currency": "USD",
	}
	maps.Copy(body, claim)
	return body
}

// credited requires that the claim counted.
func (s shop) credited(a apitest.Answer) apitest.Answer {
	s.T.Helper()
	require.Equal(s.T, map[string]any{"status": "credited", "reason": nil}, a.Body["attribution_result"])
	require.Equal(s.T, s.partner, a.String("partner_id"))
	return a
}

// ignored requires that the claim was ignored for a reason.
func (s shop) ignored(reason string, a apitest.Answer) apitest.Answer {
	s.T.Helper()
	require.Equal(s.T, map[string]any{"status": "ignored", "reason": reason}, a.Body["attribution_result"])
	return a
}

// noPartner requires an ignored claim that left the customer and the sale without a partner.
func (s shop) noPartner(reason string, a apitest.Answer) {
	s.T.Helper()
	require.Nil(s.T, s.ignored(reason, a).Body["partner_id"])
}
