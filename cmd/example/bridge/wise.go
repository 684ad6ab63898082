package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"rail/gen/api"
	"rail/server/locale/currency"
)

// payout is the data of payout.submitted. The email is of the payout details.
type payout struct {
	ID          string `json:"payout_id"`
	PartnerName string `json:"partner_name"`
	AmountMinor int64  `json:"amount_minor"`
	Currency    string
	Details     struct{ Email string }
}

// change is the body of transfers#state-change.
type change struct {
	Data struct{ Resource struct{ ID int64 } }
}

// object has the members that the bridge reads of Wise's quotes, recipients, transfers and payments.
type object struct {
	ID                    json.RawMessage // a number, or a quote's text
	Status                string
	ErrorCode             string
	CustomerTransactionID string
	Details               struct{ Reference string }
}

const (
	// unfunded is the state of a transfer that waits for its money.
	unfunded = "incoming_payment_waiting"
	// noFunds is the error of a payment for which the balance is too small.
	noFunds = "balance.payment-option-unavailable"
)

// results has the states of a transfer, and the error of its funding, that Rail learns.
var results = map[string]api.PayoutRailResult{
	"outgoing_payment_sent": {Status: api.PayoutRailResultStatusPaid},
	"cancelled":             {Status: api.PayoutRailResultStatusFailed, ErrorCode: new("cancelled")},
	"funds_refunded":        {Status: api.PayoutRailResultStatusFailed, ErrorCode: new("funds_refunded")},
	"bounced_back":          {Status: api.PayoutRailResultStatusAttention, Attention: new(api.PayoutAttentionOnHold)},
	noFunds:                 {Status: api.PayoutRailResultStatusAttention, Attention: new(api.PayoutAttentionNeedsFunds)},
}

// transactionID returns the customerTransactionId of a payout's transfer. It is always the same, and Wise answers a
// repeated one with the transfer that it has.
func transactionID(payoutID string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rail:"+payoutID)).String()
}

// transfer makes the transfer of a payout, from the balance in the payout's currency to the Wise account with the
// partner's email address, and funds it.
func (b bridge) transfer(ctx context.Context, p payout) (object, error) {
	profile := b.setting("WISE_PROFILE")
	quote, err := b.wise(ctx, nil, http.MethodPost, "/v3/profiles/"+profile+"/quotes", M{
		"sourceCurrency": p.Currency, "targetCurrency": p.Currency,
		"targetAmount": json.Number(currency.Decimal(p.AmountMinor, p.Currency)),
	})
	recipient, err := b.wise(ctx, err, http.MethodPost, "/v1/accounts", M{
		"profile": json.Number(profile), "accountHolderName": p.PartnerName, "currency": p.Currency, "type": "email",
		"details": M{"email": p.Details.Email},
	})
	t, err := b.wise(ctx, err, http.MethodPost, "/v1/transfers", M{
		"targetAccount": recipient.ID, "quoteUuid": quote.ID, "customerTransactionId": transactionID(p.ID),
		"details": M{"reference": p.ID},
	})
	if err != nil || t.Status != unfunded {
		return t, err
	}
	path := fmt.Sprintf("/v3/profiles/%s/transfers/%s/payments", profile, t.ID)
	payment, err := b.wise(ctx, nil, http.MethodPost, path, M{"type": "BALANCE"})
	if err == nil && payment.Status != "COMPLETED" {
		t.Status, err = payment.ErrorCode, errors.New("the transfer was not funded: "+payment.ErrorCode)
	}
	return t, err
}

// M is a JSON object.
type M map[string]any

// wise makes a request, unless an earlier one of the same work has failed.
func (b bridge) wise(ctx context.Context, failed error, method, path string, body M) (answer object, err error) {
	var raw []byte
	if body != nil {
		raw, err = json.Marshal(body)
	}
	if err = errors.Join(failed, err); err != nil {
		return answer, err
	}
	r, err := http.NewRequestWithContext(ctx, method, b.setting("WISE_URL")+path, bytes.NewReader(raw))
	if err != nil {
		return answer, err
	}
	r.Header.Set("Content-Type", "application/json")
	if err := b.bearer("WISE_API_KEY")(ctx, r); err != nil {
		return answer, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	if res.StatusCode >= http.StatusMultipleChoices {
		return answer, fmt.Errorf("status %s of Wise for %s", res.Status, path)
	}
	return answer, json.NewDecoder(res.Body).Decode(&answer)
}

// bearer returns an editor that adds the key of a setting to a request.
func (b bridge) bearer(setting string) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+b.setting(setting))
		return nil
	}
}
