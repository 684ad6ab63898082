package rails_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/paypaltest"
	"rail/server/harness/pgtest"
	"rail/server/money/payout/rails"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/work"
)

type M = apitest.M

// connected is a program whose payouts PayPal pays.
type connected struct {
	apitest.Earner
	PayPal *paypaltest.Server
	rails  *rails.Service
	ID     string // of the rail
}

// newConnected starts a server and a PayPal with one clock, and connects a program.
func newConnected(t *testing.T, program ...M) connected {
	t.Helper()
	c := clock.NewManual(apitest.Start)
	fake := paypaltest.Start(t, paypaltest.Config{Clock: c})
	s := apitest.On(t, pgtest.DSN(t), c, apitest.Loopback, func(cfg *config.Config) {
		cfg.PayPalURL, cfg.SMTPURL = fake.URL(), "smtp://127.0.0.1:1"
	})
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	out := connected{
		Earner: s.Earner(append([]M{{"payout_methods": []string{"paypal", "wise"}}}, program...)...), PayPal: fake,
		rails: &rails.Service{
			Keeper: keeper, Clock: c, PayPalURL: fake.URL(), Name: "Rail", Roots: fake.Roots(),
			Mail:  &mail.Outbox{Configured: true},
			Guard: webhook.NewGuard(s.Config.WebhookAllowCIDRs, false, ""),
		},
	}
	s.Flow(out.ProgramID)
	rail, err := out.rails.Connect(t.Context(), out.unit(), rails.PayPal{
		ProgramID: out.ProgramID, Live: true, ClientID: "client", Secret: "secret",
	})
	require.NoError(t, err)
	out.ID = rail.ID
	return out
}

func (c connected) unit() *work.Unit {
	return work.NewRun(c.Pool, work.Actor{Kind: work.Operator}, c.Clock.Now()).For(c.Org)
}

// due makes payouts of partners who want a method, one for each amount, and returns their ids and the batch.
func (c connected) due(method string, amounts ...int) (ids []string, batch string) {
	c.T.Helper()
	for _, amount := range amounts {
		partner, _ := c.Referrer(amount)
		c.Must(200, c.Post("/v1/partners/"+partner, M{
			"payout_method": method, "payout_details": M{"email": partner + "@example.com"},
		}))
		a := c.Post("/v1/payout_batches", M{"program_id": c.ProgramID, "period_end": c.Clock.Now().String()})
		require.Contains(c.T, []int{200, 201}, a.Status)
		batch = a.String("id")
		ids = append(ids, c.Payouts("&partner_id=" + partner)[0].String("id"))
	}
	return ids, batch
}

func (c connected) send(batch string, count, minor int, more ...M) apitest.Answer {
	body := M{"rail_id": c.ID, "confirm_count": count, "confirm_amount_minor": minor}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return c.Post("/v1/payout_batches/"+batch+"/send", body)
}

// round advances the clock and runs the job once.
func (c connected) round(by time.Duration) {
	c.T.Helper()
	c.Clock.Advance(by)
	apitest.RunJob(c.T, c.Server, "send-payouts")
}

func (c connected) payout(id string) apitest.Answer {
	c.T.Helper()
	return c.Must(200, c.Get("/v1/payouts/"+id))
}

func (c connected) rail() apitest.Answer {
	c.T.Helper()
	return c.Must(200, c.Get("/v1/payout_rails/"+c.ID))
}

// paidOnce checks that PayPal has accepted each payout once.
func (c connected) paidOnce(ids ...string) {
	c.T.Helper()
	accepted := map[string]int{}
	for _, p := range c.PayPal.Paid() {
		accepted[p.SenderItemID] += p.Accepted
	}
	for _, id := range ids {
		require.Equal(c.T, 1, accepted[id], id)
	}
}

// TestSend: a confirmed batch is sent before its day, once, and PayPal's success pays it. Nothing is sent without a
// confirmation.
func TestSend(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 10000, 5000)
	wise, _ := c.due("wise", 7000)
	c.round(40 * 24 * time.Hour)
	require.Empty(t, c.PayPal.Paid(), "nothing leaves by itself")
	c.Refused(409, "confirmation_differs", "confirm_count", c.send(batch, 3, 3000))
	c.Refused(409, "confirmation_differs", "confirm_amount_minor", c.send(batch, 2, 3001))
	c.Refused(404, "resource_not_found", "rail_id", c.send(batch, 2, 3000, M{"rail_id": "prl_none"}))
	c.Refused(404, "resource_not_found", "", c.send("batch_none", 2, 3000))
	sent := c.Must(200, c.send(batch, 2, 3000))
	require.Equal(t, []any{"payouts_sent", batch, c.ID, "USD"},
		[]any{sent.Body["object"], sent.Body["batch_id"], sent.Body["rail_id"], sent.Body["currency"]})
	require.Equal(t, sent.Body, c.Must(200, c.send(batch, 2, 3000)).Body, "a repeat sends nothing more")
	c.Refused(409, "confirmation_differs", "confirm_count", c.send(batch, 1, 3000))
	p := c.payout(ids[0])
	require.Equal(t, []any{"processing", "paypal", c.ID, nil},
		[]any{p.Body["status"], p.Body["rail"], p.Body["rail_id"], p.Body["submitted_at"]})
	require.Equal(t, "pending", c.payout(wise[0]).String("status"))
	c.Refused(409, "payout_in_flight", "", c.Post("/v1/payouts/"+ids[0]+"/mark_paid", nil))

	c.round(time.Minute)
	require.Equal(t, c.Clock.Now().String(), c.payout(ids[0]).String("submitted_at"))
	require.Equal(t, "processing", c.payout(ids[0]).String("status"), "accepted is not paid")
	c.round(10 * time.Minute)
	for _, id := range ids {
		p := c.payout(id)
		require.Equal(t, "paid", p.String("status"))
		require.Equal(t, "USD", p.String("fee_currency"))
		require.Positive(t, p.Int("fee_minor"))
	}
	c.paidOnce(ids...)
	require.Equal(t, c.Clock.Now().String(), c.rail().String("last_success_at"))
	c.Tallied(t)
}

// TestAttention: a payout shows PayPal's reports after acceptance, and stays paid if its money comes back.
func TestAttention(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000, 2000, 3000, 4000)
	unclaimed, held, reversed, failed := ids[0], ids[1], ids[2], ids[3]
	c.PayPal.SetFate(unclaimed, paypaltest.Becomes(paypaltest.Unclaimed, time.Minute).Then(paypaltest.Returned, 30*24*time.Hour))
	c.PayPal.SetFate(held, paypaltest.Becomes(paypaltest.OnHold, time.Minute).Then(paypaltest.Success, 24*time.Hour))
	c.PayPal.SetFate(reversed, paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Reversed, 10*24*time.Hour))
	c.PayPal.SetFate(failed, paypaltest.Becomes(paypaltest.Failed, time.Minute, "RECEIVER_UNREGISTERED"))
	c.Must(200, c.send(batch, 4, 2000))
	c.round(time.Minute)
	c.round(10 * time.Minute)
	require.Equal(t, []any{"processing", "unclaimed"}, []any{c.payout(unclaimed).Body["status"], c.payout(unclaimed).Body["attention"]})
	require.Equal(t, []any{"processing", "on_hold"}, []any{c.payout(held).Body["status"], c.payout(held).Body["attention"]})
	require.Contains(t, c.payout(unclaimed).String("attention_text"), "claim")
	p := c.payout(failed)
	require.Equal(t, []any{"failed", "RECEIVER_UNREGISTERED"}, []any{p.Body["status"], p.Body["error_code"]})
	require.Equal(t, "paid", c.payout(reversed).String("status"))

	c.round(25 * time.Hour)
	require.Equal(t, []any{"paid", nil}, []any{c.payout(held).Body["status"], c.payout(held).Body["attention"]})
	c.round(10 * 24 * time.Hour)
	p = c.payout(reversed)
	require.Equal(t, []any{"paid", "reversed"}, []any{p.Body["status"], p.Body["attention"]}, "what was paid stays paid")
	c.round(25 * 24 * time.Hour)
	p = c.payout(unclaimed)
	require.Equal(t, []any{"failed", nil}, []any{p.Body["status"], p.Body["attention"]})
	c.paidOnce(ids...)
	c.Tallied(t)
}

// TestFunds: payouts wait for funds, under their own ids, and are then sent.
func TestFunds(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 10000, 20000)
	c.PayPal.SetFunds("USD", 0)
	c.Must(200, c.send(batch, 2, 6000))
	c.round(time.Minute)
	require.NotEmpty(t, c.rail().String("without_funds_at"))
	waiting := 0
	for _, id := range ids {
		p := c.payout(id)
		require.Equal(t, "processing", p.String("status"))
		if p.Body["attention"] == "needs_funds" {
			waiting++
		}
	}
	require.Equal(t, 1, waiting, "the rail stops at the first refusal")
	calls := c.PayPal.Calls(paypaltest.Submit)
	c.round(5 * time.Minute)
	require.Equal(t, calls, c.PayPal.Calls(paypaltest.Submit), "it waits")
	c.PayPal.SetFunds("USD", 1_000_000)
	c.round(15 * time.Minute)
	c.round(10 * time.Minute)
	for _, id := range ids {
		p := c.payout(id)
		require.Equal(t, []any{"paid", nil}, []any{p.Body["status"], p.Body["attention"]})
	}
	require.Nil(t, c.rail().Body["without_funds_at"])
	c.paidOnce(ids...)
}

// TestUnconfirmed: a payout whose acceptance was lost and that PayPal no longer guards is not submitted again. A person
// decides.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 10000)
	c.PayPal.FailNext(paypaltest.Submit, paypaltest.LoseAnswer)
	c.Must(200, c.send(batch, 1, 2000))
	c.Clock.Advance(time.Minute)
	c.fails()
	c.Clock.Advance(26 * 24 * time.Hour)
	submitted := c.PayPal.Submissions(ids[0])
	c.round(0)
	p := c.payout(ids[0])
	require.Equal(t, []any{"processing", "unconfirmed"}, []any{p.Body["status"], p.Body["attention"]})
	c.round(24 * time.Hour)
	require.Equal(t, submitted, c.PayPal.Submissions(ids[0]))
	c.Must(200, c.Post("/v1/payouts/"+ids[0]+"/mark_paid", nil))
	require.Nil(t, c.payout(ids[0]).Body["attention"])
	undone := c.Must(200, c.Post("/v1/payouts/"+ids[0]+"/undo_paid", M{"reason": "the wrong payout"}))
	for _, member := range []string{"status", "attention", "attention_text", "attention_at"} {
		require.Equal(t, p.Body[member], undone.Body[member])
	}
	c.round(24 * time.Hour)
	require.Equal(t, submitted, c.PayPal.Submissions(ids[0]), "an undone mark lets nothing be submitted again")
	c.Must(200, c.Post("/v1/payouts/"+ids[0]+"/mark_paid", nil))
	c.paidOnce(ids...)
	c.Tallied(t)
}

// fails runs the job once, which reports the rail's failure.
func (c connected) fails() {
	c.T.Helper()
	require.Error(c.T, apitest.TryJob(c.T, c.Server, "send-payouts"))
	require.NotEmpty(c.T, c.rail().String("last_error"))
}

// TestPaidElsewhere: a payout that failed at PayPal and is then paid by a file or by hand is never submitted again.
func TestPaidElsewhere(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 10000, 20000, 30000, 40000)
	for _, id := range ids {
		c.PayPal.SetFate(id, paypaltest.Becomes(paypaltest.Failed, time.Minute, "RECEIVER_UNREGISTERED"))
	}
	c.Must(200, c.send(batch, 4, 20000))
	c.round(time.Minute)
	c.round(10 * time.Minute)
	byHand, filed, inCash := ids[0], ids[1:3], ids[3]
	paid := c.Must(200, c.Post("/v1/payouts/"+inCash+"/mark_paid", nil))
	require.Nil(t, paid.Body["external_id"], "it was the id of the failed transfer")
	undone := c.Must(200, c.Post("/v1/payouts/"+inCash+"/undo_paid", M{"reason": "not paid"}))
	require.NotNil(t, undone.Body["external_id"])
	c.Must(200, c.Post("/v1/payouts/"+inCash+"/mark_paid", nil))
	require.Equal(t, "failed", c.payout(byHand).String("status"))
	c.Must(200, c.Post("/v1/payouts/"+byHand+"/mark_paid", M{"external_id": "wire-1"}))
	c.Must(200, c.Post("/v1/payout_batches/"+batch+"/export", M{"format": "paypal", "currency": "USD"}))
	p := c.payout(filed[0])
	require.Equal(t, []any{"processing", "file", nil}, []any{p.Body["status"], p.Body["rail"], p.Body["rail_id"]})
	submitted, polled := c.PayPal.Calls(paypaltest.Submit), c.PayPal.Calls(paypaltest.ShowBatch)
	for range 4 {
		c.round(25 * time.Hour)
	}
	require.Equal(t, submitted, c.PayPal.Calls(paypaltest.Submit))
	require.Equal(t, polled, c.PayPal.Calls(paypaltest.ShowBatch))
	require.Equal(t, "processing", c.payout(filed[0]).String("status"))
	results := M{"content": "payout_id,status\n" + filed[0] + ",paid\n" + filed[1] + ",paid\n"}
	c.Must(200, c.Post("/v1/payout_batches/"+batch+"/results", results))
	c.round(25 * time.Hour)
	require.Equal(t, submitted, c.PayPal.Calls(paypaltest.Submit))
	c.Tallied(t)
}

// TestDisconnect: payouts that were never submitted are pending again, and the others are followed.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	first, batch := c.due("paypal", 10000)
	c.Must(200, c.send(batch, 1, 2000))
	c.round(time.Minute)
	later, _ := c.due("paypal", 20000)
	c.Must(200, c.send(batch, 1, 4000))
	rail, err := db.New().PayoutRailGet(t.Context(), c.Pool, db.PayoutRailGetParams{ID: c.ID, OrgID: c.Org})
	require.NoError(t, err)
	require.NoError(t, c.rails.Disconnect(t.Context(), c.unit(), rail))
	p := c.payout(later[0])
	require.Equal(t, []any{"pending", nil, nil}, []any{p.Body["status"], p.Body["rail"], p.Body["rail_id"]})
	c.round(10 * time.Minute)
	c.round(10 * time.Minute)
	require.Equal(t, "paid", c.payout(first[0]).String("status"))
	require.Zero(t, c.PayPal.Submissions(later[0]))
	c.Refused(409, "payout_rail_disconnected", "", c.send(batch, 1, 4000))
	c.Tallied(t)
}

// TestOneBadPayout: a payout that cannot be asked about delays no other.
func TestOneBadPayout(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000, 2000, 3000)
	c.PayPal.FailNext(paypaltest.Submit, paypaltest.FailBefore)
	c.Must(200, c.send(batch, 3, 1200))
	c.Clock.Advance(time.Minute)
	c.fails()
	submitted := 0
	for _, id := range ids {
		if c.payout(id).Body["external_id"] != nil {
			submitted++
		}
	}
	require.Equal(t, 2, submitted)
	c.round(10 * time.Minute)
	c.round(10 * time.Minute)
	c.paidOnce(ids...)
}

// TestChangedPartner: a payout that was not submitted yet fails if its partner has chosen another method.
func TestChangedPartner(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000)
	c.Must(200, c.send(batch, 1, 200))
	partner := c.payout(ids[0]).String("partner_id")
	c.Must(200, c.Post("/v1/partners/"+partner, M{"payout_method": "wise", "payout_details": M{"email": "x@example.com"}}))
	c.round(time.Minute)
	p := c.payout(ids[0])
	require.Equal(t, []any{"failed", "payout_method_changed"}, []any{p.Body["status"], p.Body["error_code"]})
	require.Zero(t, c.PayPal.Submissions(ids[0]))
}

// TestChangedDetails: a payout fails before its submission if its partner's details have changed since the hand-over.
func TestChangedDetails(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000, 2000)
	c.Must(200, c.send(batch, 2, 600))
	c.Clock.Advance(time.Second)
	partner := c.payout(ids[0]).String("partner_id")
	c.Must(200, c.Post("/v1/partners/"+partner, M{"payout_details": M{"email": "thief@example.com"}}))
	c.round(time.Minute)
	p := c.payout(ids[0])
	require.Equal(t, []any{"failed", "payout_details_changed", nil},
		[]any{p.Body["status"], p.Body["error_code"], p.Body["submitted_at"]})
	require.Zero(t, c.PayPal.Submissions(ids[0]))
	require.Equal(t, 1, c.PayPal.Submissions(ids[1]))
}

// TestHandOverInARound: a round that began before the hand-over of a payout does not move the payout's times back. If it
// did, a change of the details before the hand-over would seem to be one after it.
func TestHandOverInARound(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	began := c.Clock.Now()
	c.Clock.Advance(time.Second)
	ids, batch := c.due("paypal", 1000)
	c.Clock.Advance(time.Second)
	c.Must(200, c.send(batch, 1, 200))
	handed := c.payout(ids[0]).String("updated_at")
	c.PayPal.SetFunds("USD", 0)
	apitest.RunJobAt(t, c.Server, "send-payouts", began)
	p := c.payout(ids[0])
	require.Equal(t, []any{"needs_funds", handed}, []any{p.Body["attention"], p.Body["updated_at"]})
	c.PayPal.SetFunds("USD", 1_000_000)
	c.round(20 * time.Minute)
	p = c.payout(ids[0])
	require.Equal(t, []any{"processing", nil}, []any{p.Body["status"], p.Body["error_code"]})
	c.paidOnce(ids...)
}

// TestRefusedAgain: an amount that PayPal never pays fails the payout also if a server ended in its first submission.
func TestRefusedAgain(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	partner := c.Partner(c.ProgramID)
	c.Must(200, c.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "x@example.com"}}))
	c.Must(201, c.Post("/v1/commissions", M{
		"program_id": c.ProgramID, "partner_id": partner, "amount_minor": 150, "currency": "HUF", "reason": "x",
	}))
	batch := c.Must(201, c.Post("/v1/payout_batches", M{"program_id": c.ProgramID, "period_end": c.Clock.Now().String()}))
	c.Must(200, c.send(batch.String("id"), 1, 150))
	_, err := c.Pool.Exec(t.Context(), "UPDATE payouts SET submissions = 1, submitted_at = $1, checked_at = $1", c.Clock.Now())
	require.NoError(t, err)
	c.round(10 * time.Minute)
	p := c.Payouts("")[0]
	require.Equal(t, []any{"failed", "amount_not_payable"}, []any{p.Body["status"], p.Body["error_code"]})
	require.Zero(t, c.PayPal.Calls(paypaltest.Submit))
}

// TestServers: servers that run the job at once submit each payout once.
func TestServers(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	amounts := make([]int, 12)
	minor := 0
	for i := range amounts {
		amounts[i] = 1000 + 100*i
		minor += amounts[i] / 5
	}
	ids, batch := c.due("paypal", amounts...)
	c.Must(200, c.send(batch, len(ids), minor))
	for range 3 {
		c.Clock.Advance(6 * time.Minute)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { _ = apitest.TryJob(t, c.Server, "send-payouts") })
		}
		wait.Wait()
	}
	for _, id := range ids {
		require.Equal(t, 1, c.PayPal.Submissions(id))
		require.Equal(t, "paid", c.payout(id).String("status"))
	}
	c.paidOnce(ids...)
	c.Tallied(t)
}

// TestConnect: one rail of a kind and mode; wrong credentials connect nothing; a new secret of the same account keeps the
// rail; the credentials are sealed and not shown; a sandbox sends nothing.
func TestConnect(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	account := rails.PayPal{ProgramID: c.ProgramID, Live: true, ClientID: "client", Secret: "changed"}
	_, err := c.rails.Connect(t.Context(), c.unit(), account)
	require.ErrorContains(t, err, "PayPal refused the account")
	c.PayPal.SetCredentials("client", "changed")
	again, err := c.rails.Connect(t.Context(), c.unit(), account)
	require.NoError(t, err)
	require.Equal(t, c.ID, again.ID)
	require.NoError(t, c.rails.Check(t.Context(), again))
	ids, batch := c.due("paypal", 1000)
	c.Must(200, c.send(batch, 1, 200))
	c.round(time.Minute)
	c.paidOnce(ids...)

	c.PayPal.SetCredentials("other", "secret")
	_, err = c.rails.Connect(t.Context(), c.unit(), rails.PayPal{
		ProgramID: c.ProgramID, Live: true, ClientID: "other", Secret: "secret",
	})
	require.ErrorIs(t, err, rails.ErrConnected)
	rail, err := c.rails.Connect(t.Context(), c.unit(), rails.PayPal{ProgramID: c.ProgramID, ClientID: "other", Secret: "secret"})
	require.NoError(t, err)
	require.NotContains(t, string(rail.Credentials), "secret")
	shown := c.Must(200, c.Get("/v1/payout_rails?program_id="+c.ProgramID))
	require.Len(t, shown.Data(), 2)
	require.NotContains(t, string(shown.Raw), "client")
	c.Refused(409, "payout_rail_test", "", c.send(batch, 1, 200, M{"rail_id": rail.ID}))
}

// TestChangesAreEmailed: the owner is emailed about each change of a rail, and a change of limits that another one has
// replaced is refused.
func TestChangesAreEmailed(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	c.owner()
	rail, err := c.rails.Get(t.Context(), c.unit(), c.ProgramID, c.ID)
	require.NoError(t, err)
	c.limit(1000, 2000)
	require.ErrorContains(t, c.rails.Limit(t.Context(), c.unit(), rail, nil, new(int64(9000))), "changed meanwhile")
	_, err = c.rails.Connect(t.Context(), c.unit(), rails.PayPal{
		ProgramID: c.ProgramID, Live: true, ClientID: "client", Secret: "secret",
	})
	require.NoError(t, err)
	_, _, err = c.rails.ConnectBridge(t.Context(), c.unit(), rails.Bridge{
		ProgramID: c.ProgramID, URL: c.URL, Methods: []string{"wise"},
	})
	require.NoError(t, err)
	require.NoError(t, c.rails.Disconnect(t.Context(), c.unit(), rail))
	require.Equal(t, 4, c.emails("payout_rail_changed"))
	var texts string
	require.NoError(t, c.Pool.QueryRow(t.Context(), "SELECT string_agg(plain, ' ') FROM mails").Scan(&texts))
	for _, text := range []string{
		"PayPal has new limits", "PayPal got new credentials.", "The service at " + c.URL + " was connected.",
		"PayPal was disconnected.",
	} {
		require.Contains(t, texts, text)
	}
}

// TestChangedAfterSubmission: a payout that may be at PayPal is not submitted again after its partner's payout details
// or status have changed. A person decides.
func TestChangedAfterSubmission(t *testing.T) {
	t.Parallel()
	for _, change := range []M{{"payout_details": M{"email": "thief@example.com"}}, {"status": "suspended"}} {
		c := newConnected(t)
		ids, batch := c.due("paypal", 1000)
		partner := c.payout(ids[0]).String("partner_id")
		c.PayPal.FailNext(paypaltest.Submit, paypaltest.FailBefore)
		c.Must(200, c.send(batch, 1, 200))
		c.Clock.Advance(time.Minute)
		c.fails()
		c.Clock.Advance(time.Second)
		c.Must(200, c.Post("/v1/partners/"+partner, change))
		c.round(10 * time.Minute)
		p := c.payout(ids[0])
		require.Equal(t, []any{"processing", "unconfirmed"}, []any{p.Body["status"], p.Body["attention"]})
		c.Must(200, c.Post("/v1/partners/"+partner, M{"status": "active"}))
		c.round(10 * time.Minute)
		require.Equal(t, 1, c.PayPal.Submissions(ids[0]))
		require.Empty(t, c.PayPal.Items(ids[0]))
		c.Must(200, c.Post("/v1/payouts/"+ids[0]+"/mark_failed", M{"reason": "not at PayPal"}))
		c.Tallied(t)
	}
}

// TestNotSent: an attempt with credentials that PayPal refuses does not count as a submission, so the payout is pending
// again after the rail is disconnected.
func TestNotSent(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000)
	c.PayPal.SetCredentials("client", "another secret")
	c.PayPal.RevokeTokens()
	c.Must(200, c.send(batch, 1, 200))
	c.Clock.Advance(time.Minute)
	c.fails()
	require.Nil(t, c.payout(ids[0]).Body["submitted_at"])
	rail, err := db.New().PayoutRailGet(t.Context(), c.Pool, db.PayoutRailGetParams{ID: c.ID, OrgID: c.Org})
	require.NoError(t, err)
	require.NoError(t, c.rails.Disconnect(t.Context(), c.unit(), rail))
	require.Equal(t, "pending", c.payout(ids[0]).String("status"))
	c.Tallied(t)
}

// TestPaidAtOfPayPal: a payout is paid at PayPal's time, not at that of the poll.
func TestPaidAtOfPayPal(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, batch := c.due("paypal", 1000)
	c.Must(200, c.send(batch, 1, 200))
	c.round(time.Minute)
	submitted := c.payout(ids[0]).String("submitted_at")
	c.round(26 * time.Hour)
	p := c.payout(ids[0])
	require.Equal(t, "paid", p.String("status"))
	at, err := clock.Parse(p.String("paid_at"))
	require.NoError(t, err)
	require.WithinDuration(t, c.Clock.Now().Add(-26*time.Hour), at.Time, time.Hour, submitted)
}
