// Package story runs one story with the client of each language, against the real server behind a proxy that loses
// answers. README.md has its steps.
package story

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// World is the server and the data of a story.
type World struct {
	// BaseURL is the address of the proxy, and Key an API key.
	BaseURL, Key string
	// WebhookURL receives webhooks, and DeliveryURL answers with the first of them as {"body", "headers"}.
	WebhookURL, DeliveryURL string
}

// Environ is the environment of a program that tells the story.
func (w World) Environ() []string {
	return append(os.Environ(), "RAIL_BASE_URL="+w.BaseURL, "RAIL_API_KEY="+w.Key, "RAIL_WEBHOOK_URL="+w.WebhookURL,
		"RAIL_DELIVERY_URL="+w.DeliveryURL)
}

// outcome is the output of a program.
type outcome struct {
	ProgramID      string `json:"program_id"`
	Duplicate      string `json:"duplicate"`
	DuplicateParam string `json:"duplicate_param"`
	Conflict       bool   `json:"conflict"`
	Sales          int    `json:"sales"`
	TagID          string `json:"tag_id"`
	ProgramName    string `json:"program_name"`
	Unknown        string `json:"unknown"`
	NotFound       bool   `json:"not_found"`
	EventType      string `json:"event_type"`
	EventCharge    string `json:"event_charge"`
	EventAmount    int64  `json:"event_amount_minor"`
	ForgeryRefused bool   `json:"forgery_refused"`
	DueMinor       int64  `json:"due_minor"`
}

// Run tells the story with a program, which prints its outcome. agent is the beginning of the client's User-Agent.
func Run(t *testing.T, agent string, program func(World) ([]byte, error)) {
	t.Helper()
	s := apitest.Real(t, apitest.Loopback, apitest.TestClock)
	s.Deliver()
	sink := apitest.NewSink(t)
	p := newProxy(t, s.URL)
	out, err := program(World{
		BaseURL: p.url, Key: s.Key, WebhookURL: sink.URL + "/in", DeliveryURL: deliveries(t, sink),
	})
	require.NoError(t, err, "%s", out)
	var o outcome
	require.NoError(t, json.Unmarshal(out, &o), "%s", out)
	require.Len(t, s.Must(200, s.Get("/v1/sales?program_id="+o.ProgramID)).Data(), 5)
	tags := s.Must(200, s.Get("/v1/tags?program_id="+o.ProgramID)).Data()
	require.Len(t, tags, 1)
	require.Equal(t, tags[0]["id"], o.TagID)
	require.Equal(t, outcome{
		ProgramID: o.ProgramID, Duplicate: "partner_email_taken", DuplicateParam: "email", Conflict: true, Sales: 5,
		TagID: o.TagID, ProgramName: "Story", Unknown: "resource_not_found", NotFound: true, EventType: "sale.created",
		EventCharge: "ch_0", EventAmount: 4999, ForgeryRefused: true, DueMinor: 5000,
	}, o)
	p.check(t, agent)
}

// deliveries serves the first webhook that a sink receives, and waits for it.
func deliveries(t *testing.T, sink *apitest.Sink) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		got := sink.Wait(t, "/in", 1)[0]
		headers := map[string]string{}
		for name := range got.Header {
			headers[name] = got.Header.Get(name)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"body": got.Body, "headers": headers}) // to a client that reads it
	}))
	t.Cleanup(web.Close)
	return web.URL
}
