package handlers_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/harness/apitest"
)

func TestPartnerSSO(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	bystander := s.Partner(program)
	live := func(partner string) (hashes [][]byte) {
		found, err := s.Pool.Query(t.Context(),
			"SELECT token_hash FROM magic_links WHERE partner_id = $1 AND used_at IS NULL", partner)
		require.NoError(t, err)
		for found.Next() {
			var h []byte
			require.NoError(t, found.Scan(&h))
			hashes = append(hashes, h)
		}
		require.NoError(t, found.Err())
		return hashes
	}
	path := "/v1/partners/" + partner + "/sso"
	others := s.Must(200, s.Post("/v1/partners/"+bystander+"/sso", nil))
	first := s.Must(200, s.Post(path, nil))
	require.Equal(t, M{
		"object": "magic_link", "partner_id": partner, "url": first.String("url"), "expires_at": "2026-09-01T12:15:00.000Z",
	}, first.Body)
	token, ok := strings.CutPrefix(first.String("url"), "https://rail.example/portal/sso/")
	require.True(t, ok, first.String("url"))
	random, err := base64.RawURLEncoding.DecodeString(token)
	require.NoError(t, err)
	require.Len(t, random, 32)
	sum := sha256.Sum256([]byte(token))
	require.Equal(t, [][]byte{sum[:]}, live(partner), "only the hash is stored")

	second := s.Must(200, s.Post(path, M{}))
	require.NotEqual(t, first.String("url"), second.String("url"))
	require.Len(t, live(partner), 1, "the newest link voids the earlier one")
	require.NotEqual(t, sum[:], live(partner)[0])
	require.Len(t, live(bystander), 1, "another partner's link stays")
	require.NotEqual(t, others.String("url"), second.String("url"))
	for ttl, expires := range map[int]string{60: "12:01:00", 3600: "13:00:00", 900: "12:15:00"} {
		require.Equal(t, "2026-09-01T"+expires+".000Z", s.Must(200, s.Post(path, M{"ttl_seconds": ttl})).String("expires_at"))
	}
	require.NotContains(t, s.EventTypes(program), "affiliate.updated")
}

func TestPartnerSSORefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	path := "/v1/partners/" + partner + "/sso"
	s.Must(200, s.Post(path, nil))
	before := apitest.Rows(s, s.Org)
	for _, ttl := range []any{59, 3601, 0, -1, "900", 90.5, nil, true} {
		s.Refused(400, "parameter_invalid", "ttl_seconds", s.Post(path, M{"ttl_seconds": ttl}))
	}
	s.Refused(400, "parameter_unknown", "ttl", s.Post(path, M{"ttl": 60}))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/partners/part_none/sso", nil))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal voids no link")
	pending := s.Partner(program, M{"status": "pending"})
	s.Refused(409, "partner_not_active", "", s.Post("/v1/partners/"+pending+"/sso", nil))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	before = apitest.Rows(s, s.Org)
	s.Refused(409, "partner_not_active", "", s.Post(path, nil))
	require.Equal(t, before, apitest.Rows(s, s.Org))
	require.Equal(t, 403, s.Do("POST", path, s.NewKey(s.Org, true, "read", "payouts:write"), nil).Status)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "active"}))
	s.Must(200, s.Do("POST", path, s.NewKey(s.Org, true, "partners:write"), nil))
}

// TestSetInboundSigning tests the response and the requests that need a signature.
// TestSignedRequests of front tests the rest.
func TestSetInboundSigning(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key := s.NewKey(s.Org, true, "payouts:write") // any key will do
	post := func(body any) apitest.Answer { return s.Do("POST", "/v1/inbound_signing", key, body) }
	require.Equal(t, M{"object": "inbound_signing", "required": false, "updated_at": "2026-09-01T12:00:00.000Z"},
		s.Must(200, post(M{"required": false})).Body)
	s.Refused(400, "parameter_missing", "required", post(M{}))
	s.Refused(400, "parameter_invalid", "required", post(M{"required": nil}))
	s.Refused(400, "parameter_invalid", "required", post(M{"required": "true"}))
	s.Refused(400, "parameter_unknown", "key", post(M{"required": true, "key": "x"}))
	require.Equal(t, 401, s.Do("POST", "/v1/inbound_signing", "", M{"required": true}).Status)
	s.Must(200, post(M{"required": false})) // no refused request has enabled it
	s.Clock.Advance(time.Minute)
	require.Equal(t, M{"object": "inbound_signing", "required": true, "updated_at": "2026-09-01T12:01:00.000Z"},
		s.Must(200, post(M{"required": true})).Body)
	s.Refused(401, "signature_required", "", post(M{"required": false}))
	// another key of the organization
	s.Must(201, s.Post("/v1/programs", M{"name": "x", "website_url": "https://shop.example", "currency": "USD"}))
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	ask := func(path string, headers ...string) apitest.Answer {
		s.Clock.Advance(time.Second) // callers without a key share a small limit
		return s.Do("GET", path, "", nil, headers...)
	}
	tags := map[string]bool{}
	for path, kind := range map[string]string{
		"/v1/openapi.json": "application/json", "/llms.txt": "text/plain; charset=utf-8",
		"/llms-full.txt":                         "text/plain; charset=utf-8",
		"/llms-full.txt?tag=Webhook%20endpoints": "text/plain; charset=utf-8",
	} {
		a := s.Must(200, ask(path))
		require.Equal(t, kind, a.Header.Get("Content-Type"), path)
		require.Equal(t, "public, max-age=300", a.Header.Get("Cache-Control"))
		tag := a.Header.Get("ETag")
		require.Regexp(t, `^"[0-9a-f]{24}(-gzip|-zstd)?"$`, tag)
		require.False(t, tags[tag], "documents share a tag")
		tags[tag] = true
		require.Equal(t, a.Raw, s.Must(200, ask(path)).Raw)
		for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			current := ask(path, "If-None-Match", match)
			require.Equal(t, 304, current.Status, "%s %s", path, match)
			require.Empty(t, current.Raw)
			require.Equal(t, tag, current.Header.Get("ETag"))
		}
		for _, match := range []string{`"other"`, strings.Trim(tag, `"`), ""} {
			require.Equal(t, a.Raw, s.Must(200, ask(path, "If-None-Match", match)).Raw, "%s %q", path, match)
		}
		require.Equal(t, 405, s.Do("POST", path, s.Key, M{}).Status, path)
	}
	require.Equal(t, openapi.Bundle, ask("/v1/openapi.json").Raw)
	require.True(t, json.Valid(ask("/v1/openapi.json").Raw))
	short, full := string(ask("/llms.txt").Raw), string(ask("/llms-full.txt").Raw)
	require.Greater(t, len(full), len(short))
	require.Contains(t, short, "llms-full.txt")
	s.Refused(400, "parameter_invalid", "tag", ask("/llms-full.txt?tag=Nothing"))
	for _, op := range operations() {
		require.Contains(t, full, op.method+" "+op.path, "every operation is in the whole text")
	}
}
