package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripe"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/work"
)

// Connected is a connection with the secret that signs its events.
type Connected struct {
	db.ProcessorConnection
	Signing string
	s       *Server
}

// Connect connects a program to the generic processor, as the operator's command does, and replaces an earlier
// connection. The options change the connection.
func (s *Server) Connect(program string, options ...func(*connection.Input)) Connected {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	in := connection.Input{ProgramID: program, Processor: connection.Generic, Live: true, Replace: true}
	for _, o := range options {
		o(&in)
	}
	c := Connected{s: s}
	u := work.NewRun(s.Pool, work.Actor{Kind: work.Operator, ID: "test"}, s.Clock.Now()).For(s.Org)
	require.NoError(s.T, u.Within(context.Background(), func(u *work.Unit) (err error) {
		c.ProcessorConnection, c.Signing, err = connection.Service{Keeper: keeper}.Connect(context.Background(), u, in)
		return err
	}))
	return c
}

// Connected returns a connection to the generic processor that was created elsewhere, with its secret.
func (s *Server) Connected(id, signing string) Connected {
	return Connected{db.ProcessorConnection{ID: id, Processor: connection.Generic}, signing, s}
}

// Send sends an event to the connection as a processor does, signed now, under the given id or a new one.
func (c Connected) Send(body M, id ...string) Answer {
	c.s.T.Helper()
	raw, err := json.Marshal(body)
	require.NoError(c.s.T, err)
	return c.SendRaw(raw, append(id, Unique("msg_"))[0], c.s.Clock.Now().Time, c.Signing)
}

// SendRaw sends a body with the headers of Standard Webhooks, signed at a time with a
// secret.
func (c Connected) SendRaw(body []byte, id string, at time.Time, signing string) Answer {
	c.s.T.Helper()
	r, err := http.NewRequestWithContext(c.s.T.Context(), http.MethodPost,
		c.s.URL+"/hooks/"+c.Processor+"/"+c.ID, bytes.NewReader(body))
	require.NoError(c.s.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", webhook.StandardSignature(id, at, body, signing))
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.s.T, err)
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.s.T, err)
	a := Answer{Status: res.StatusCode, Raw: raw, Header: res.Header}
	require.NoError(c.s.T, json.Unmarshal(raw, &a.Body), "%s", raw)
	return a
}

// SendStripe sends an event to a connection to Stripe as Stripe does, signed now with the secret.
func (c Connected) SendStripe(body []byte, signing string) {
	c.s.T.Helper()
	r, err := http.NewRequestWithContext(c.s.T.Context(), http.MethodPost,
		c.s.URL+"/hooks/stripe/"+c.ID, bytes.NewReader(body))
	require.NoError(c.s.T, err)
	r.Header.Set(stripe.Header, stripetest.Sign(signing, body, c.s.Clock.Now().Time))
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.s.T, err)
	require.NoError(c.s.T, res.Body.Close())
	require.Equal(c.s.T, http.StatusOK, res.StatusCode)
}
