// Command example shows an integration by the Go client: a program with a
// partner and a flow, a click that becomes a customer, sales that are safe to repeat, all
// pages of a list, a balance and a refund. typescript/ and python/ do the same.
//
//	RAIL_BASE_URL=http://127.0.0.1:8080 RAIL_API_KEY=rail_live_… go run ./cmd/example
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"rail/gen/client"
)

func main() {
	err := run(context.Background(), os.Stdout, os.Getenv("RAIL_BASE_URL"), os.Getenv("RAIL_API_KEY"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// outcome is the output of the job. The examples in other languages print the same.
type outcome struct {
	ProgramID      string           `json:"program_id"`
	Sales          int              `json:"sales"`
	Pages          int              `json:"pages"`
	DueMinor       int64            `json:"due_minor"`
	AfterRefund    int64            `json:"due_after_refund_minor"`
	HandleRefused  client.ErrorCode `json:"handle_refused"`
	UnknownRefused client.ErrorCode `json:"unknown_refused"`
}

// run does the steps in their order, as a new customer of the service would.
func run(ctx context.Context, out io.Writer, base, key string) error {
	rail, err := client.New(base, key)
	if err != nil {
		return err
	}
	j := &job{rail: rail}
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
	rail              *client.Client
	partner, customer string
	sale              string // the refunded sale
}

// begin creates the program, its partner and a flow of 20 %. A second partner with the handle of the first is
// refused; the refusal's code says why.
// Without a holding period, commissions are due at once, and the balance below shows them.
func (j *job) begin(ctx context.Context) error {
	program, err := j.rail.Programs.Create(ctx, client.ProgramCreate{
		Name: "Acme partners", WebsiteURL: "https://acme.example", Currency: "USD", HoldingPeriodDays: client.Set[int64](0),
	})
	if err != nil {
		return err
	}
	j.ProgramID = program.ID
	ada := client.PartnerCreate{ProgramID: j.ProgramID, Email: "ada@example.com", Handle: client.Set("ada")}
	partner, err := j.rail.Partners.Create(ctx, ada)
	if err != nil {
		return err
	}
	j.partner = partner.ID
	// The same handle for another person, to see a refusal.
	ada.Email = "another@example.com"
	_, err = j.rail.Partners.Create(ctx, ada)
	if j.HandleRefused = code(err); j.HandleRefused == "" {
		return fmt.Errorf("a handle was assigned twice: %w", err)
	}
	_, err = j.rail.Flows.Create(ctx, client.FlowCreate{
		ProgramID: j.ProgramID, Name: "Everyone", RateType: client.Set(client.RateTypePercent),
		RateValue: client.Set[int64](2000),
	})
	return err
}

// code returns the code of a refusal, or "". Programs branch on it, since it never changes.
func code(err error) client.ErrorCode {
	var refusal *client.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Code
}

// refer records a click and the sign-up of its visitor.
func (j *job) refer(ctx context.Context) error {
	click, err := j.rail.Clicks.Create(ctx, client.ClickCreate{
		ProgramID: j.ProgramID, Value: "ada", LandingURL: "https://acme.example/?ref=ada", VisitorToken: "visitor-0001",
	})
	if err != nil {
		return err
	}
	customer, err := j.rail.Customers.Create(ctx, client.CustomerCreate{
		ProgramID: j.ProgramID, ClickID: client.Set(click.ID), Email: client.Set("buyer@example.org"),
	})
	if err == nil {
		j.customer = customer.ID
	}
	return err
}

// sell records five sales, each twice, as a process does that was restarted.
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

// charge records one sale. The client repeats a call with one key. This key is also that of a process that was
// restarted, because it is made of what happened and not of a random number.
func (j *job) charge(ctx context.Context, charge string) (*client.RecordedSale, error) {
	return j.rail.Sales.Create(ctx, client.SaleCreate{
		ProgramID: j.ProgramID, CustomerID: client.Set(j.customer), ExternalChargeID: charge, AmountMinor: 4999,
		Currency: "USD",
	}, client.WithIdempotencyKey(j.ProgramID+"/"+charge))
}

// list reads all sales by pages of two. The cursor is the last id of a page, not a number: sales that are
// added meanwhile move nothing. Sales.List does the same with a loop over sales, as due does with balances.
func (j *job) list(ctx context.Context) error {
	params := client.ListSalesParams{ProgramID: j.ProgramID, Limit: 2}
	for more := true; more; {
		page, err := j.rail.Sales.ListPage(ctx, params)
		if err != nil {
			return err
		}
		j.Pages++
		j.Sales += len(page.Data)
		// has_more, not a short page, announces another page.
		if more = page.HasMore; more {
			params.StartingAfter = page.Data[len(page.Data)-1].ID
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
	if _, err = j.rail.Sales.Refund(ctx, j.sale, client.SaleRefund{}); err != nil {
		return err
	}
	j.AfterRefund, err = j.due(ctx)
	return err
}

// due returns what the partner is owed now, in minor units.
func (j *job) due(ctx context.Context) (int64, error) {
	var due int64
	params := client.ListBalancesParams{ProgramID: j.ProgramID, PartnerID: j.partner}
	for balance, err := range j.rail.Balances.List(ctx, params) { // one a currency
		if err != nil {
			return 0, err
		}
		due += balance.DueMinor
	}
	return due, nil
}

// miss requests an object that does not exist.
func (j *job) miss(ctx context.Context) error {
	_, err := j.rail.Sales.Retrieve(ctx, "sale_none", nil)
	if j.UnknownRefused = code(err); j.UnknownRefused == "" {
		return fmt.Errorf("a sale that does not exist: %w", err)
	}
	return nil
}
