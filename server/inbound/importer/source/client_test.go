package source_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// answers answers every request with a status and a body.
func answers(status int, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// refusal returns the error of the first list of a product.
func refusal(t *testing.T, product string, a source.Account, api http.Handler) error {
	t.Helper()
	_, err := open(t, product, a, api, importtest.Faults{}).Lists()[0].Read(t.Context(), "")
	require.Error(t, err)
	return err
}

// TestRefusalText: the text of a refusal can be stored, and has neither the key nor a page in HTML.
func TestRefusalText(t *testing.T) {
	t.Parallel()
	account := source.Account{Key: "public-key:secret-key"}
	for body, want := range map[string]string{
		`{"error": "no such key"}`:                      `/v1/affiliates answered 401: {"error": "no such key"}`,
		"":                                              "/v1/affiliates answered 401",
		"\n<!DOCTYPE html><title>Error</title>":         "/v1/affiliates answered 401",
		"a\x00b\xffc":                                   "/v1/affiliates answered 401: ab\uFFFDc",
		strings.Repeat("x", 199) + "é refused":          "/v1/affiliates answered 401: " + strings.Repeat("x", 199) + "é",
		"public-key:secret-key is wrong":                "/v1/affiliates answered 401: [key] is wrong",
		"secret-key is not for public-key":              "/v1/affiliates answered 401: [key] is not for [key]",
		strings.Repeat("x", 195) + "secret-key refused": "/v1/affiliates answered 401: " + strings.Repeat("x", 195) + "[key]",
	} {
		err := refusal(t, "rewardful", account, answers(http.StatusUnauthorized, body))
		require.ErrorIs(t, err, source.ErrKey)
		require.Equal(t, source.ErrKey.Error()+": "+want, err.Error())
		require.True(t, utf8.ValidString(err.Error()))
	}
}

// TestRefusedRequest: a request that the source would refuse again is told apart.
func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{
		http.StatusMovedPermanently: false, http.StatusBadRequest: false, http.StatusNotFound: false,
		http.StatusUnprocessableEntity: false, http.StatusTooManyRequests: true, http.StatusBadGateway: true,
	} {
		err := refusal(t, "tolt", source.Account{Key: "k", ID: "prg_1"}, answers(status, `{"error": "no"}`, "Retry-After", "60"))
		require.Equal(t, !again, errors.Is(err, source.ErrRequest), "%d: %v", status, err)
	}
}

// TestDeletedPartner: a refusal about one partner of a page is not one of the list, since the partner may be deleted.
func TestDeletedPartner(t *testing.T) {
	t.Parallel()
	for product, c := range map[string]struct {
		list, path string
		account    source.Account
		api        http.Handler
	}{
		"dub":          {"discount codes", "/discount-codes", dubAccount, importtest.Dub(dubWorld(3), importtest.Oddities{})},
		"partnerstack": {"links", "/links/", stackAccount, importtest.PartnerStack(stackWorld(3), importtest.Oddities{})},
		"refersion":    {"links", "/get", refersionAccount, importtest.Refersion(refersionWorld(3), importtest.Oddities{})},
	} {
		s := only{open(t, product, c.account, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, c.path) {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			c.api.ServeHTTP(w, r)
		}), importtest.Faults{}), c.list}
		_, err := s.Lists()[0].Read(t.Context(), "")
		require.ErrorContains(t, err, "answered 404", product)
		require.NotErrorIs(t, err, source.ErrRequest, product)
	}
}

// TestRedirect: the error for a site at another address names that address.
func TestRedirect(t *testing.T) {
	t.Parallel()
	err := refusal(t, "affiliatewp", wpAccount, answers(http.StatusMovedPermanently, "",
		"Location", "https://www.shop.example/blog/wp-json/affwp/v1/payouts?number=100"))
	require.ErrorIs(t, err, source.ErrRequest)
	require.ErrorContains(t, err, "redirects to https://www.shop.example/blog/wp-json/affwp/v1/payouts;"+
		" use the account https://www.shop.example/blog")
}

// TestLongWait: a long wait that the source requests is not made by the client.
func TestLongWait(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]time.Duration{
		"11": 11 * time.Second, "120": 2 * time.Minute, "999999": 15 * time.Minute,
		"Fri, 31 Dec 2100 23:59:59 GMT": 15 * time.Minute,
	} {
		fake := importtest.Serve(t, answers(http.StatusTooManyRequests, "slowly", "Retry-After", after), importtest.Faults{})
		p, _ := source.Find("rewardful")
		_, err := p.Open(source.Account{Key: "k", Address: fake.URL}).Lists()[0].Read(t.Context(), "")
		var busy *source.BusyError
		require.ErrorAs(t, err, &busy, after)
		require.Equal(t, want, busy.After, after)
		require.ErrorContains(t, err, "/v1/affiliates answered 429: slowly")
		require.Equal(t, 1, fake.Requests())
	}
}

// TestNoList: an answer without a list is an error that shows it.
func TestNoList(t *testing.T) {
	t.Parallel()
	for _, product := range source.Names() {
		body, err := json.Marshal(map[string]string{"error": "the scope is missing for " + wpAccount.Key})
		require.NoError(t, err)
		err = refusal(t, product, wpAccount, answers(http.StatusOK, string(body)))
		require.ErrorContains(t, err, `answered {"error":"the scope is missing for [key]"}`, product)
	}
}
