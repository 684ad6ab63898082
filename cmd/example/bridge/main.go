// Command bridge pays Rail's payouts by Wise. It is the service of a webhook rail: Rail sends it payouts, Wise sends it
// changes of transfers, and it reports the results to Rail. It stores nothing. README.md lists its settings.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/outbound/webhook/verify"
)

type bridge struct {
	setting func(name string) string
	clock   clock.Clock
}

func main() {
	b := bridge{os.Getenv, clock.System{}}
	server := http.Server{Addr: b.setting("BRIDGE_ADDR"), Handler: b.handler(), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}

// handler answers 200 once the work is done. Any other answer makes Rail and Wise repeat the message.
func (b bridge) handler() http.Handler {
	mux := http.NewServeMux()
	for path, work := range map[string]func(*http.Request, []byte) error{"POST /rail": b.pay, "POST /wise": b.follow} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
			if err = errors.Join(err, work(r, body)); err != nil {
				log.Print(err)
				w.WriteHeader(http.StatusBadGateway)
			}
		})
	}
	return mux
}

// pay takes payout.submitted. A transfer that Wise has already, from an earlier message, may have ended: its end is
// reported again.
func (b bridge) pay(r *http.Request, body []byte) error {
	var m struct{ Data payout }
	err := verify.Signature(r.Header, body, b.setting("RAIL_SECRET"), b.clock.Now().Time)
	if err = errors.Join(err, json.Unmarshal(body, &m)); err != nil {
		return err
	}
	t, err := b.transfer(r.Context(), m.Data)
	return errors.Join(err, b.report(r.Context(), t))
}

// follow takes transfers#state-change. It asks Wise for the transfer, because a message may be forged or late.
func (b bridge) follow(r *http.Request, body []byte) error {
	var c change
	if err := json.Unmarshal(body, &c); err != nil || r.Header.Get("X-Test-Notification") == "true" {
		return err
	}
	t, err := b.wise(r.Context(), nil, http.MethodGet, fmt.Sprint("/v1/transfers/", c.Data.Resource.ID), nil)
	return errors.Join(err, b.report(r.Context(), t))
}

// report reports the state of a transfer that the bridge has made. If the payout is paid already, its money came back.
func (b bridge) report(ctx context.Context, t object) error {
	result, matters := results[t.Status]
	if id := t.Details.Reference; !matters || t.CustomerTransactionID != transactionID(id) {
		return nil
	}
	rail, err := api.NewClientWithResponses(b.setting("RAIL_BASE_URL"), api.WithRequestEditorFn(b.bearer("RAIL_API_KEY")))
	if err != nil {
		return err
	}
	result.ExternalID = new(string(t.ID))
	reply, err := rail.ReportRailResultWithResponse(ctx, t.Details.Reference, nil, result)
	if err == nil && result.Status != "paid" && bytes.Contains(reply.Body, []byte(api.ErrorCodePayoutAlreadyPaid)) {
		result = api.PayoutRailResult{Status: "attention", Attention: new(api.PayoutAttentionReturned)}
		reply, err = rail.ReportRailResultWithResponse(ctx, t.Details.Reference, nil, result)
	}
	if err == nil && reply.JSON200 == nil {
		err = fmt.Errorf("status %s of Rail: %s", reply.Status(), reply.Body)
	}
	return err
}
