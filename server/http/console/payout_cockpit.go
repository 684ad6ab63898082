package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
)

// cockpit is the page of a run.
type cockpit struct {
	batchRow
	Cards  []payoutCard
	Tabs   site.Tabs
	Status api.PayoutStatus // of the listed payouts
	List   site.Listing
	Stages []stage
	Again  string // the query by which the month's run is made again
	counts map[api.PayoutStatus]int64
	railed []db.PayoutCountsByRailRow
	Stops  []api.PayoutBatchTotal // payouts that canceling deletes, by currency
}

// payoutCard is the payouts of a run with one method and currency.
type payoutCard struct {
	Key                              string // for the ids of its fields
	Method                           *api.PayoutMethod
	Currency                         string
	Count, ToPay, Sent, Failed, Paid int64
	OnRail                           int64  // the number of sent payouts that a rail has
	Service                          string // the name of that rail
	AmountMinor                      int64
	Mixed                            bool            // its file has the payouts of other cards, too
	Rail                             *api.PayoutRail // that can send them; nil for none
}

// stage is a step of a run's life.
type stage struct {
	Name, Text string
	At         *clock.Time
	Done       bool
}

// payoutParts are the parts of a run's list, in the order of its tabs.
var payoutParts = []struct {
	status api.PayoutStatus
	name   string
}{
	{api.PayoutStatusFailed, "Failed"},
	{api.PayoutStatusPending, "To pay"},
	{api.PayoutStatusProcessing, "Sent"},
	{api.PayoutStatusPaid, "Paid"},
	{api.PayoutStatusNotEligible, "Not eligible"},
}

// cockpit sums up the payouts of a run.
func (v *visit) cockpit(b api.PayoutBatch) cockpit {
	out := cockpit{
		batchRow: v.toBatchRow(b), counts: map[api.PayoutStatus]int64{},
		Again: "?period_end=" + b.PeriodEnd.DayIn(v.Locale.Zone()).Format("2006-01-02"),
	}
	cards := map[string]payoutCard{}
	for _, part := range opt.Value(b.Breakdown) {
		out.counts[part.Status] += part.PayoutCount
		if part.Status == api.PayoutStatusNotEligible {
			continue
		}
		key := string(opt.Value(part.Method)) + "_" + part.Currency
		card := cards[key]
		card.Key, card.Method, card.Currency = key, part.Method, part.Currency
		cards[key] = card.with(part)
		if part.Status == api.PayoutStatusPending || part.Status == api.PayoutStatusFailed {
			out.Stops = addedTotal(out.Stops, part)
		}
	}
	for _, card := range cards {
		out.Cards = append(out.Cards, card)
	}
	slices.SortFunc(out.Cards, func(a, b payoutCard) int {
		return cmp.Or(cmp.Compare(min(1, b.Open()), min(1, a.Open())), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Key, b.Key))
	})
	for i, card := range out.Cards {
		out.Cards[i].Mixed = card.Method == nil && slices.ContainsFunc(out.Cards, func(other payoutCard) bool {
			return other.Method != nil && other.Currency == card.Currency && other.Format() == card.Format()
		})
	}
	return out
}

// addedTotal adds a part to the totals of its currency.
func addedTotal(totals []api.PayoutBatchTotal, part api.PayoutBatchPart) []api.PayoutBatchTotal {
	at := slices.IndexFunc(totals, func(t api.PayoutBatchTotal) bool { return t.Currency == part.Currency })
	if at < 0 {
		at = len(totals)
		totals = append(totals, api.PayoutBatchTotal{Currency: part.Currency})
	}
	totals[at].PayoutCount += part.PayoutCount
	totals[at].AmountMinor += part.AmountMinor
	return totals
}

// with adds a part to a card.
func (c payoutCard) with(part api.PayoutBatchPart) payoutCard {
	c.Count += part.PayoutCount
	c.AmountMinor += part.AmountMinor
	switch part.Status {
	case api.PayoutStatusPending:
		c.ToPay += part.PayoutCount
	case api.PayoutStatusProcessing:
		c.Sent += part.PayoutCount
	case api.PayoutStatusFailed:
		c.Failed += part.PayoutCount
	case api.PayoutStatusPaid:
		c.Paid += part.PayoutCount
	case api.PayoutStatusNotEligible:
	}
	return c
}

// Name is the payout method of a card, in words.
func (c payoutCard) Name() string { return method(c.Method) }

// MethodValue is the method in an address; "" for none.
func (c payoutCard) MethodValue() string { return string(opt.Value(c.Method)) }

// Open is the number of payouts that are not paid.
func (c payoutCard) Open() int64 { return c.Count - c.Paid }

// Unsent is the number of payouts that the next file has.
func (c payoutCard) Unsent() int64 { return c.ToPay + c.Failed }

// File is the word for a card's file.
func (c payoutCard) File() string {
	if c.Format() == "csv" {
		return "table"
	}
	return "file"
}

// SentByHand is the number of sent payouts that no rail has: their results come from a file or by hand.
func (c payoutCard) SentByHand() int64 { return c.Sent - c.OnRail }

// Markable is the number of payouts that are marked as paid together.
func (c payoutCard) Markable() int64 { return c.ToPay + c.SentByHand() }

// Format is the kind of file by which the payouts of a card are paid.
func (c payoutCard) Format() string {
	switch m := opt.Value(c.Method); m {
	case api.PayoutMethodPaypal, api.PayoutMethodWise:
		return string(m)
	case api.PayoutMethodBankTransfer, api.PayoutMethodCrypto, api.PayoutMethodWire:
	}
	return "csv"
}

// Icon is the icon of a method without a mark.
func (c payoutCard) Icon() string {
	switch opt.Value(c.Method) {
	case api.PayoutMethodBankTransfer, api.PayoutMethodWire:
		return "landmark"
	case api.PayoutMethodCrypto:
		return "coins"
	case api.PayoutMethodPaypal, api.PayoutMethodWise:
	}
	return "wallet"
}

// Parts are the numbers of a card in words, apart from the paid payouts.
func (c payoutCard) Parts() (out []string) {
	for _, part := range []struct {
		count int64
		words string
	}{{c.ToPay, "to pay"}, {c.SentByHand(), "sent"}, {c.OnRail, "on the way by " + c.Service}, {c.Failed, "failed"}} {
		if part.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", part.count, part.words))
		}
	}
	return out
}

// show chooses the tab: the requested one, or the first with payouts. Failed payouts come first.
func (c *cockpit) show(v *visit, requested api.PayoutStatus) {
	c.Status = api.PayoutStatusPending
	for _, part := range slices.Backward(payoutParts) {
		if c.counts[part.status] > 0 {
			c.Status = part.status
		}
	}
	if slices.Contains(payoutStatuses, string(requested)) {
		c.Status = requested
	}
	c.Tabs.Label = "Payouts of the run"
	for _, part := range payoutParts {
		link := site.Link{
			Path: v.at("/payouts/batches/"+c.ID) + "?status=" + string(part.status), Name: part.name,
			Current: part.status == c.Status, Count: c.counts[part.status],
		}
		if link.Count > 0 || link.Current || part.status != api.PayoutStatusFailed {
			c.Tabs.Links = append(c.Tabs.Links, link)
		}
	}
}

// Paid is the number of paid payouts.
func (c cockpit) Paid() int64 { return c.counts[api.PayoutStatusPaid] }

// InFile is the number of payouts that are on their way.
func (c cockpit) InFile() int64 { return c.counts[api.PayoutStatusProcessing] }

// Stoppable is the number of payouts that canceling deletes.
func (c cockpit) Stoppable() int64 {
	return c.counts[api.PayoutStatusPending] + c.counts[api.PayoutStatusFailed]
}

// Cancelable reports whether canceling the run would change a payout.
func (c cockpit) Cancelable() bool { return c.Stoppable()+c.InFile() > 0 && !c.Generating }

// Bulk has the actions on ticked payouts of the tab.
func (c cockpit) Bulk(f frame) site.Bulk {
	all := f.PayoutBulk()
	switch c.Status {
	case api.PayoutStatusProcessing:
		all.Actions = all.Actions[:1]
	case api.PayoutStatusPaid:
		all.Actions = []site.Action{{Label: "Undo “paid”", Path: f.at("/payouts/unpay")}}
	case api.PayoutStatusPending, api.PayoutStatusFailed, api.PayoutStatusNotEligible:
	}
	return all
}

// Ticks reports whether a row of the tab can be ticked.
func (c cockpit) Ticks(f frame, r payoutRow) bool {
	if c.Status == api.PayoutStatusPaid {
		return f.undoablePaid(r.Payout)
	}
	return r.Open()
}

// Ticked reports whether the tab has a row that can be ticked.
func (c cockpit) Ticked(f frame) bool {
	rows, _ := c.List.Rows.([]payoutRow)
	return slices.ContainsFunc(rows, func(r payoutRow) bool { return c.Ticks(f, r) })
}

// stages are the life of a run: its creation, its files, and the payments.
func (v *visit) stages(c cockpit) ([]stage, error) {
	reply, err := v.console.api.ListAuditLogEntriesWithResponse(v.Ctx(), &api.ListAuditLogEntriesParams{
		ProgramID: v.program.ID, TargetID: &c.ID, Action: new("payout_batch.exported"), Limit: new(int64(1)),
	})
	if err != nil {
		return nil, err
	}
	if sent, ok, err := v.sentStage(c); ok || err != nil {
		return []stage{v.createdStage(c), sent, v.paidStage(c)}, err
	}
	file := stage{Name: "File", Text: "No file yet"}
	for _, e := range reply.JSON200.Data {
		var export struct {
			Format string `json:"format"`
			Count  int64  `json:"payout_count"`
		}
		raw, _ := json.Marshal(e.After) // it came as JSON
		_ = json.Unmarshal(raw, &export)
		file = stage{Name: "File", At: &e.CreatedAt, Done: true, Text: fmt.Sprintf("%s for %s", v.partnersIn(export.Count),
			map[string]string{"paypal": "PayPal", "wise": "Wise"}[export.Format])}
		if export.Format == "csv" {
			file.Text = "Table with " + v.partnersIn(export.Count)
		}
	}
	paid := v.paidStage(c)
	if !file.Done {
		switch {
		case paid.Done:
			file.Done, file.Text = true, "Paid without a file"
		case c.Paid()+c.InFile()+c.counts[api.PayoutStatusFailed] > 0:
			file.Done, file.Text = c.counts[api.PayoutStatusPending] == 0, "Sent without a file from Rail"
		}
	}
	return []stage{v.createdStage(c), file, paid}, nil
}

// createdStage is the creation of a run.
func (v *visit) createdStage(c cockpit) stage {
	return stage{Name: "Created", At: &c.CreatedAt, Done: true, Text: v.partnersIn(c.PayoutCount)}
}

// paidStage is the number of paid payouts.
func (v *visit) paidStage(c cockpit) stage {
	return stage{
		Name: "Paid", Done: c.PayoutCount > 0 && c.Paid() == c.PayoutCount && !c.Generating,
		Text: fmt.Sprintf("%s of %s paid", v.Locale.Count(c.Paid()), v.Locale.Count(c.PayoutCount)),
	}
}

// sentStage describes the payouts of a run that rails have sent, and reports whether there are any.
func (v *visit) sentStage(c cockpit) (stage, bool, error) {
	var count int64
	var services []string
	for _, r := range c.railed {
		count += r.Payouts
		if name := railName(r.Rail); !slices.Contains(services, name) {
			services = append(services, name)
		}
	}
	if count == 0 {
		return stage{}, false, nil
	}
	reply, err := v.console.api.ListAuditLogEntriesWithResponse(v.Ctx(), &api.ListAuditLogEntriesParams{
		ProgramID: v.program.ID, TargetID: &c.ID, Action: new("payout_batch.sent"), Limit: new(int64(1)),
	})
	if err != nil {
		return stage{}, false, err
	}
	out := stage{
		Name: "Sent", Done: c.counts[api.PayoutStatusPending] == 0,
		Text: "To " + v.partnersIn(count) + " by " + strings.Join(services, " and "),
	}
	for _, e := range reply.JSON200.Data {
		out.At = &e.CreatedAt
		var sent struct {
			Automatic bool `json:"automatic"`
		}
		raw, _ := json.Marshal(e.After) // it came as JSON
		if _ = json.Unmarshal(raw, &sent); sent.Automatic {
			out.Text += ", automatically"
		}
	}
	return out, true, nil
}

// addRailed notes which payouts rails have.
func (c *cockpit) addRailed(railed []db.PayoutCountsByRailRow) {
	c.railed = railed
	for _, r := range railed {
		for i, card := range c.Cards {
			if card.MethodValue() == r.Method && card.Currency == r.Currency {
				c.Cards[i].OnRail, c.Cards[i].Service = r.Processing, railName(r.Rail)
			}
		}
	}
}

// Live reports whether a rail still has payouts of the run, or the run is being created.
func (c cockpit) Live() bool {
	return c.Generating || slices.ContainsFunc(c.railed, func(r db.PayoutCountsByRailRow) bool { return r.Processing > 0 })
}

// Moving are the numbers of a run's payouts by state, in words.
func (c cockpit) Moving() (out []string) {
	for _, part := range payoutParts {
		if n := c.counts[part.status]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, strings.ToLower(part.name)))
		}
	}
	return out
}
