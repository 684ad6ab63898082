// Command example shows an integration by the generated Go client: a program with a
// partner and a flow, a click that becomes a customer, sales that are safe to repeat, all
// pages of a list, a balance and a refund. typescript/ does the same.
//
//	RAIL_BASE_URL=http://127.0.0.1:8080 RAIL_API_KEY=rail_live_… go run ./cmd/example
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"rail/gen/api"
)

func main() {
	err := run(context.Background(), os.Stdout, os.Getenv("RAIL_BASE_URL"), os.Getenv("RAIL_API_KEY"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// outcome is the output of the job. The example in TypeScript prints the same.
type outcome struct {
	ProgramID      string        `json:"program_id"`
	Sales          int           `json:"sales"`
	Pages          int           `json:"pages"`
	DueMinor       int64         `json:"due_minor"`
	AfterRefund    int64         `json:"due_after_refund_minor"`
	HandleRefused  api.ErrorCode `json:"handle_refused"`
	UnknownRefused api.ErrorCode `json:"unknown_refused"`
}

// run does the steps in their order, as a new customer of the service would. The client gets the key from
// an editor, so that no call can forget it.
func run(ctx context.Context, out io.Writer, base, key string) error {
	c, err := api.NewClientWithResponses(base, api.WithHTTPClient(&strict{}),
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	if err != nil {
		return err
	}
	j := &job{client: c}
	for _, step := range []func(context.Context) error{j.begin, j.refer, j.sell, j.list, j.refund, j.miss} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(j.outcome)
}

// job is the shared state of the steps: the ids of created objects, and the output.
type job struct {
	outcome
	client            *api.ClientWithResponses
	partner, customer string
	sale              string // the refunded sale
}

// begin creates the program, its partner and a flow of 20 %. A second partner with the handle of the first is
// refused; the refusal's code says why.
// Without a holding period, commissions are due at once, and the balance below shows them.
func (j *job) begin(ctx context.Context) error {
	program, err := j.client.CreateProgramWithResponse(ctx, api.ProgramCreate{
		Name: "Acme partners", WebsiteURL: "https://acme.example", Currency: "USD", HoldingPeriodDays: new(int64(0)),
	})
	if err != nil {
		return err
	}
	j.ProgramID = program.JSON201.ID
	ada := api.PartnerCreate{ProgramID: j.ProgramID, Email: "ada@example.com", Handle: new("ada")}
	partner, err := j.client.CreatePartnerWithResponse(ctx, ada)
	if err != nil {
		return err
	}
	j.partner = partner.JSON201.ID
	// The same handle for another person, to see a refusal.
	ada.Email = "another@example.com"
	_, err = j.client.CreatePartnerWithResponse(ctx, ada)
	if j.HandleRefused = code(err); j.HandleRefused == "" {
		return fmt.Errorf("a handle was assigned twice: %w", err)
	}
	_, err = j.client.CreateFlowWithResponse(ctx, api.FlowCreate{
		ProgramID: j.ProgramID, Name: "Everyone", RateType: new(api.RateTypePercent), RateValue: new(int64(2000)),
	})
	return err
}

// refer records a click and the sign-up of its visitor.
func (j *job) refer(ctx context.Context) error {
	click, err := j.client.CreateClickWithResponse(ctx, api.ClickCreate{
		ProgramID: j.ProgramID, Value: "ada", LandingURL: "https://acme.example/?ref=ada", VisitorToken: "visitor-0001",
	})
	if err != nil {
		return err
	}
	customer, err := j.client.CreateCustomerWithResponse(ctx, api.CustomerCreate{
		ProgramID: j.ProgramID, ClickID: &click.JSON201.ID, Email: new("buyer@example.org"),
	})
	if err == nil {
		j.customer = customer.JSON201.ID
	}
	return err
}

// sell records five sales, each twice, as after a lost answer.
func (j *job) sell(ctx context.Context) error {
	for i := range 5 {
		charge := fmt.Sprintf("ch_%d", i)
		first, err := j.charge(ctx, charge)
		if err != nil {
			return err
		}
		again, err := j.charge(ctx, charge)
		if err != nil {
			return err
		}
		// The key makes the second call an answer from before, with the same id.
		if again.ID != first.ID {
			return fmt.Errorf("%s was recorded twice: %s and %s", charge, first.ID, again.ID)
		}
		j.sale = first.ID
	}
	return nil
}

// charge records one sale. The Idempotency-Key is made of what happened, not of a random number: a process
// that was restarted sends the same.
func (j *job) charge(ctx context.Context, charge string) (*api.RecordedSale, error) {
	once := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Idempotency-Key", j.ProgramID+"/"+charge)
		return nil
	}
	reply, err := j.client.CreateSaleWithResponse(ctx, api.SaleCreate{
		ProgramID: j.ProgramID, CustomerID: &j.customer, ExternalChargeID: charge, AmountMinor: 4999, Currency: "USD",
	}, once)
	if err != nil {
		return nil, err
	}
	if reply.JSON200 != nil { // found by its charge, which has no expiry as keys have
		return reply.JSON200, nil
	}
	return reply.JSON201, nil
}

// list reads all sales by pages of two. The cursor is the last id of a page, not a number: sales that are
// added meanwhile move nothing.
func (j *job) list(ctx context.Context) error {
	params := api.ListSalesParams{ProgramID: j.ProgramID, Limit: new(int64(2))}
	for more := true; more; {
		page, err := j.client.ListSalesWithResponse(ctx, &params)
		if err != nil {
			return err
		}
		j.Pages++
		j.Sales += len(page.JSON200.Data)
		// has_more, not a short page, announces another page.
		if more = page.JSON200.HasMore; more {
			params.StartingAfter = &page.JSON200.Data[len(page.JSON200.Data)-1].ID
		}
	}
	return nil
}

// refund refunds a sale and reads the balance before and after.
func (j *job) refund(ctx context.Context) (err error) {
	// Five sales of 49.99 at 20 % are due; the refund of one takes its share back.
	if j.DueMinor, err = j.due(ctx); err != nil {
		return err
	}
	if _, err = j.client.RefundSaleWithResponse(ctx, j.sale, nil, api.SaleRefund{}); err != nil {
		return err
	}
	j.AfterRefund, err = j.due(ctx)
	return err
}

// due returns what the partner is owed now, in minor units.
func (j *job) due(ctx context.Context) (int64, error) {
	balances, err := j.client.ListBalancesWithResponse(ctx, &api.ListBalancesParams{
		ProgramID: j.ProgramID, PartnerID: &j.partner,
	})
	if err != nil {
		return 0, err
	}
	var due int64
	for _, b := range balances.JSON200.Data { // one a currency
		due += b.DueMinor
	}
	return due, nil
}

// miss requests an object that does not exist.
func (j *job) miss(ctx context.Context) error {
	_, err := j.client.RetrieveSaleWithResponse(ctx, "sale_none", nil)
	if j.UnknownRefused = code(err); j.UnknownRefused == "" {
		return fmt.Errorf("a sale that does not exist: %w", err)
	}
	return nil
}
