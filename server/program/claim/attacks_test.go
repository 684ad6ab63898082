package claim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/apitest"
)

// TestChangedTokens: a token with any changed, missing or added character is no token.
func TestChangedTokens(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.token()
	require.LessOrEqual(t, len(token), 512)
	var items []M
	add := func(text string) {
		item := s.body(apitest.Unique("cus_"), affiliate(text))
		delete(item, "program_id")
		items = append(items, item)
	}
	for i := range token {
		changed := []byte(token)
		changed[i] ^= 1
		if changed[i] < ' ' || changed[i] > '~' {
			changed[i] = '-'
		}
		add(string(changed))
	}
	for _, text := range []string{token[:len(token)-1], token + "A", token + "=", token + "\n", " " + token, strings.ToUpper(token)} {
		add(text)
	}
	a := s.Must(200, s.Post("/v1/sales/batch", M{"program_id": s.program, "items": items}))
	require.EqualValues(t, len(items), a.Int("succeeded"))
	for i, item := range a.Data() {
		result := item["result"].(map[string]any)
		require.Equal(t, map[string]any{"status": "ignored", "reason": "token_invalid"}, result["attribution_result"], items[i])
		require.Nil(t, result["partner_id"])
	}
	s.credited(s.sell("cus_1", affiliate(token)))
}

// TestForeignTokens: a token counts in its own program only, not in another one and not in another organization.
func TestForeignTokens(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token, home := s.token(), s
	other := s
	other.program = s.Program()
	other.noPartner("token_invalid", other.sell("cus_1", affiliate(token)))
	stranger := *s.Server
	stranger.Key = s.NewKey(s.NewOrg("Other"), true, "read", "write")
	other = shop{&stranger, stranger.Program(), ""}
	other.noPartner("token_invalid", other.sell("cus_1", affiliate(token)))
	s.Refused(404, "resource_not_found", "program_id", stranger.Post("/v1/sales", s.body("cus_1", affiliate(token))))
	home.credited(home.sell("cus_1", affiliate(token)))
}

// TestReplaysAtOnce: of many sales of one customer with one token, on two servers, exactly one is credited. Every sale
// is recorded, and there is one customer.
func TestReplaysAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	replica := *s.Server
	replica.URL = apitest.On(t, s.DSN, s.Clock).URL
	two := []shop{s, {&replica, s.program, s.partner}}
	for round := range 4 {
		token, customer := s.token(), fmt.Sprint("cus_", round)
		if round%2 == 1 { // a known customer without a partner
			s.Must(201, s.Post("/v1/customers", M{
				"program_id": s.program, "external_customer_id": customer, "attribution": M{},
			}))
		}
		answers := apitest.AtOnce(12, func(i int) apitest.Answer {
			by := two[i%2]
			return by.Post("/v1/sales", by.body(customer, affiliate(token)))
		})
		require.Equal(t, len(answers), apitest.Count(answers, http.StatusCreated))
		credited := 0
		for _, a := range answers {
			require.Equal(t, s.partner, a.String("partner_id"))
			if result := a.Body["attribution_result"].(map[string]any); result["status"] == "credited" {
				credited++
			} else {
				require.Equal(t, "token_replayed", result["reason"])
			}
		}
		require.Equal(t, 1, credited)
		found := s.Get("/v1/customers?program_id=" + s.program + "&external_customer_id=" + customer)
		require.EqualValues(t, 1, found.Int("total_count"))
	}
	apitest.Balanced(t, s.Server)
}

// TestAnyClaim: a sale with any JSON as a claim is recorded, or refused with 400 and the name of the claim's member.
func TestAnyClaim(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.token()
	texts := rapid.OneOf(
		rapid.SampledFrom([]string{token, "rail.example", "ada", s.partner, "first", "url", "2026-09-01T00:00:00Z", ""}), rapid.String())
	scalar := rapid.OneOf(texts.AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
	names := rapid.OneOf(rapid.SampledFrom([]string{
		"provider", "token", "publisher_id", "campaign_id", "sub_id", "touchpoint", "source", "metadata", "expires_at", "ref", "type",
	}), rapid.String())
	object := rapid.MapOfN(names, rapid.OneOf(scalar, rapid.MapOfN(names, scalar, 0, 3).AsAny()), 0, 6)
	rapid.Check(t, func(r *rapid.T) {
		member := rapid.SampledFrom([]string{"affiliate_attribution", "attribution"}).Draw(r, "member")
		claim := rapid.OneOf(object.AsAny(), scalar).Draw(r, "claim")
		if m, ok := claim.(map[string]any); ok && rapid.Bool().Draw(r, "whole") {
			m["provider"], m["token"] = "rail.example", token
		}
		body, err := json.Marshal(s.body(apitest.Unique("cus_"), M{member: claim}))
		require.NoError(r, err)
		a := s.Post("/v1/sales", json.RawMessage(body))
		switch a.Status {
		case http.StatusCreated:
			require.Contains(r, a.Body, "attribution_result")
		case http.StatusBadRequest:
			require.True(r, a.Param() == "" && a.Code() == "invalid_json" || strings.HasPrefix(a.Param(), member), a.Raw)
		default:
			r.Fatalf("%d: %s", a.Status, a.Raw)
		}
	})
}
