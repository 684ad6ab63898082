// Command story tells the story of cmd/clients/story with the Go client.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"rail/gen/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "story:", err)
		os.Exit(1)
	}
}

// outcome is the output of the story.
type outcome struct {
	ProgramID        string           `json:"program_id"`
	Duplicate        client.ErrorCode `json:"duplicate"`
	DuplicateParam   string           `json:"duplicate_param"`
	Conflict         bool             `json:"conflict"`
	Sales            int              `json:"sales"`
	TagID            string           `json:"tag_id"`
	ProgramName      string           `json:"program_name"`
	Unknown          client.ErrorCode `json:"unknown"`
	NotFound         bool             `json:"not_found"`
	EventType        client.EventName `json:"event_type"`
	EventCharge      string           `json:"event_charge"`
	EventAmountMinor int64            `json:"event_amount_minor"`
	ForgeryRefused   bool             `json:"forgery_refused"`
	DueMinor         int64            `json:"due_minor"`
}

// story is the state of the steps.
type story struct {
	outcome
	rail            *client.Client
	secret, partner string
}

// run does the steps and prints their outcome.
func run(ctx context.Context) error {
	rail, err := client.New(os.Getenv("RAIL_BASE_URL"), os.Getenv("RAIL_API_KEY"))
	if err != nil {
		return err
	}
	s := story{rail: rail}
	for _, step := range []func(context.Context) error{s.begin, s.refuse, s.sell, s.retry, s.receive, s.mature} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(s.outcome)
}

// begin is steps 2 to 5.
func (s *story) begin(ctx context.Context) error {
	program, err := s.rail.Programs.Create(ctx, client.ProgramCreate{
		Name: "Story", WebsiteURL: "https://acme.example", Currency: "USD", HoldingPeriodDays: client.Set[int64](30),
	})
	if err != nil {
		return err
	}
	s.ProgramID = program.ID
	endpoint, err := s.rail.WebhookEndpoints.Create(ctx, client.WebhookEndpointCreate{
		ProgramID: program.ID, URL: os.Getenv("RAIL_WEBHOOK_URL"), EventTypes: []client.EventName{client.EventNameSaleCreated},
	})
	if err != nil {
		return err
	}
	s.secret = *endpoint.Secret
	partner, err := s.rail.Partners.Create(ctx, s.ada())
	if err != nil {
		return err
	}
	s.partner = partner.ID
	_, err = s.rail.Flows.Create(ctx, client.FlowCreate{
		ProgramID: program.ID, Name: "Everyone", RateType: client.Set(client.RateTypePercent),
		RateValue: client.Set[int64](2000),
	})
	if err != nil {
		return err
	}
	_, err = s.rail.Links.Create(ctx, client.LinkCreate{
		ProgramID: program.ID, PartnerID: s.partner, DestinationURL: "https://acme.example/", Value: client.Set("spring"),
	})
	return err
}

func (s *story) ada() client.PartnerCreate {
	return client.PartnerCreate{ProgramID: s.ProgramID, Email: "ada@example.com", Handle: client.Set("ada")}
}

// refuse is step 6.
func (s *story) refuse(ctx context.Context) error {
	_, err := s.rail.Partners.Create(ctx, s.ada())
	var refusal *client.Error
	if !errors.As(err, &refusal) || !errors.Is(err, client.ErrorCodePartnerEmailTaken) {
		return fmt.Errorf("a second partner with one email: %w", err)
	}
	s.Duplicate, s.DuplicateParam, s.Conflict = refusal.Code, refusal.Param, refusal.Status == http.StatusConflict
	var existing client.Partner
	if err := json.Unmarshal(refusal.Existing, &existing); err != nil || existing.ID != s.partner {
		return fmt.Errorf("the existing partner is %q, not %s: %w", existing.ID, s.partner, err)
	}
	return nil
}

// sell is steps 7 to 9.
func (s *story) sell(ctx context.Context) error {
	click, err := s.rail.Clicks.Create(ctx, client.ClickCreate{
		ProgramID: s.ProgramID, Value: "spring", LandingURL: "https://acme.example/?ref=spring", VisitorToken: "visitor-0001",
	})
	if err != nil {
		return err
	}
	customer, err := s.rail.Customers.Create(ctx, client.CustomerCreate{
		ProgramID: s.ProgramID, ClickID: client.Set(click.ID), Email: client.Set("buyer@example.org"),
	})
	if err != nil {
		return err
	}
	for i := range 5 {
		_, err := s.rail.Sales.Create(ctx, client.SaleCreate{
			ProgramID: s.ProgramID, CustomerID: client.Set(customer.ID), ExternalChargeID: fmt.Sprintf("ch_%d", i),
			AmountMinor: 4999, Currency: "USD",
		})
		if err != nil {
			return err
		}
	}
	for _, err := range s.rail.Sales.List(ctx, client.ListSalesParams{ProgramID: s.ProgramID, Limit: 2}) {
		if err != nil {
			return err
		}
		s.Sales++
	}
	return nil
}

// retry is steps 10 to 12.
func (s *story) retry(ctx context.Context) error {
	tag, err := s.rail.Tags.Create(ctx, client.TagCreate{ProgramID: s.ProgramID, Name: "Lost"})
	if err != nil {
		return err
	}
	s.TagID = tag.ID
	program, err := s.rail.Programs.Retrieve(ctx, s.ProgramID, nil)
	if err != nil {
		return err
	}
	s.ProgramName = program.Name
	_, err = s.rail.Sales.Retrieve(ctx, "sale_none", nil)
	var refusal *client.Error
	if !errors.As(err, &refusal) {
		return fmt.Errorf("a sale that does not exist: %w", err)
	}
	s.Unknown, s.NotFound = refusal.Code, refusal.Status == http.StatusNotFound
	return nil
}

// receive is steps 13 and 14.
func (s *story) receive(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("RAIL_DELIVERY_URL"), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	var delivery struct {
		Body    string
		Headers map[string]string
	}
	if err := json.NewDecoder(res.Body).Decode(&delivery); err != nil {
		return err
	}
	header := http.Header{}
	for name, value := range delivery.Headers {
		header.Set(name, value)
	}
	event, err := client.ConstructEvent([]byte(delivery.Body), header, s.secret)
	if err != nil {
		return err
	}
	s.EventType = event.Type
	switch data := event.Data.(type) {
	case *client.SaleCreatedData:
		s.EventCharge, s.EventAmountMinor = data.ExternalChargeID, data.AmountMinor
	default:
		return fmt.Errorf("%s has %T", event.Type, data)
	}
	_, err = client.ConstructEvent([]byte(delivery.Body+" "), header, s.secret)
	s.ForgeryRefused = errors.Is(err, client.ErrMismatch)
	return nil
}

// mature is step 15.
func (s *story) mature(ctx context.Context) error {
	clock, err := s.rail.TestClock.Retrieve(ctx)
	if err != nil {
		return err
	}
	if _, err := s.rail.TestClock.Set(ctx, client.TestClockUpdate{Now: clock.Now.AddDate(0, 0, 92)}); err != nil {
		return err
	}
	for balance, err := range s.rail.Balances.List(ctx, client.ListBalancesParams{ProgramID: s.ProgramID}) {
		if err != nil {
			return err
		}
		s.DueMinor += balance.DueMinor
	}
	return nil
}
