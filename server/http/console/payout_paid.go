package console

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/problem"
)

// Payouts paid outside of rails are marked as paid, after a page that shows them. The notice afterwards undoes exactly
// these marks, and each payment can be undone for a day.

// takenBack is the reason of payments that are undone by a button without a field.
const takenBack = "Taken back in the console."

// undoablePaid reports whether the payment of a payout can be undone.
func (v *visit) undoablePaid(p api.Payout) bool {
	return p.UndoableUntil != nil && !p.UndoableUntil.Before(v.Now.Time)
}

// marked is the page that asks before payouts are marked as paid.
type marked struct {
	api.PayoutsMarkedPaid
	Fields url.Values // of the form: which payouts
	Minor  int64      // their sum over all currencies, which confirms the selection
	More   int64      // payouts without a name on the page
	Back   string
	Today  string
}

// selecting are the fields that select the payouts of a form.
var selecting = []string{"payout_ids", "batch_id", "batch", "method", "currency"}

// askPaid asks whether the ticked payouts were paid.
func askPaid(v *visit) error {
	back, show := v.origin()
	ids, err := v.ticked()
	if err != nil {
		return v.again(err, show)
	}
	return v.askMarked(url.Values{"payout_ids": ids, "batch": {v.value("batch")}}, back, show)
}

// askCardPaid asks whether all payouts of a run with one method and currency were paid.
func askCardPaid(v *visit) error {
	id := v.PathValue("id")
	query := v.QueryParams()
	return v.askMarked(url.Values{
		"batch_id": {id}, "batch": {id}, "method": {cleaned(query.Get("method"))},
		"currency": {cleaned(query.Get("currency"))},
	}, v.at("/payouts/batches/"+id), batch)
}

// askMarked shows the payouts that would be marked, and asks when and with which reference they were paid.
func (v *visit) askMarked(which url.Values, back string, show action) error {
	v.Form = site.Posted(which)
	body := v.marking()
	body["dry_run"] = true
	page := marked{Fields: which, Back: back, Today: v.Today().Format(time.DateOnly)}
	if err := v.send("markPayoutsPaid", body, &page.PayoutsMarkedPaid); err != nil {
		return v.again(err, show)
	}
	v.Form = nil
	for _, t := range page.Totals {
		page.Minor += t.AmountMinor
	}
	page.More = page.PayoutCount - int64(len(page.Payouts))
	title := fmt.Sprintf("Mark %d payouts as paid", page.PayoutCount)
	switch page.PayoutCount {
	case 0:
		title = "No payout to mark as paid"
	case 1:
		title = "Mark 1 payout as paid"
	}
	return v.show(sheet{"payout-paid", "/payouts", title, page})
}

// marking reads the body of the operation that marks payouts from a form. An empty method of a run's payouts is none.
func (v *visit) marking() map[string]any {
	body := v.body("markPayoutsPaid")
	v.setPaidAt(body)
	if v.value("batch_id") != "" && v.value("method") == "" {
		body["method"] = nil
	}
	return body
}

// markAll marks the payouts of the page before as paid.
func markAll(v *visit) error {
	body := v.marking()
	for member, field := range map[string]string{"confirm_count": "count", "confirm_amount_minor": "minor"} {
		if n, err := strconv.ParseInt(v.value(field), 10, 64); err == nil {
			body[member] = n
		}
	}
	var done api.PayoutsMarkedPaid
	back, show := v.origin()
	err := v.send("markPayoutsPaid", body, &done)
	if problem.Is(err, problem.ConfirmationDiffers) {
		err = problem.New(problem.ConfirmationDiffers,
			"The payouts have changed since you opened the page. Nothing was marked: please check them again.")
	}
	if refused, ok := formRefusal(err); ok && refused.Param == "paid_at" {
		v.fault = problem.Invalid("paid_at", "%s", strings.Replace(refused.Message, "paid_at", "The date", 1))
		which := url.Values{}
		for _, field := range selecting {
			if v.Form.Has(field) {
				which[field] = v.Form[field]
			}
		}
		return v.askMarked(which, back, show)
	}
	if err != nil {
		return v.again(err, show)
	}
	notice := fmt.Sprintf("%s %s marked as paid: %s.", v.Locale.Count(done.PayoutCount),
		oneOrMany(done.PayoutCount, "payout is", "payouts are"), v.sums(done.Totals)) + v.emailsWait(int(done.PayoutCount))
	if done.RemainingCount > 0 {
		notice += fmt.Sprintf(" %s are left: mark them, too.", v.Locale.Count(done.RemainingCount))
	}
	if done.PayoutCount == 0 {
		return v.done(back, "No payout was marked as paid."+v.refusals(done.RefusedCount, done.Refused))
	}
	return v.undoable(back, notice+v.refusals(done.RefusedCount, done.Refused), v.undoMarks(done.RequestID))
}

// undoMarks is the form that undoes the marks of a request.
func (v *visit) undoMarks(request string) site.Undo {
	return site.Undo{Path: v.at("/payouts/unmark"), Fields: url.Values{
		"request_id": {request}, "batch": {v.value("batch")}, "payout": {v.value("payout")},
	}}
}

// unmarkAll undoes the marks of a request.
func unmarkAll(v *visit) error {
	body := v.body("undoPayoutsPaid")
	body["reason"] = takenBack
	back, show := v.origin()
	if id := v.value("payout"); id != "" {
		back = v.at("/payouts/" + id)
	}
	var done api.PayoutsUndonePaid
	if err := v.send("undoPayoutsPaid", body, &done); err != nil {
		return v.again(err, show)
	}
	notice := fmt.Sprintf("%s %s no longer paid.", v.Locale.Count(done.PayoutCount),
		oneOrMany(done.PayoutCount, "payout is", "payouts are"))
	return v.done(back, notice+v.refusals(done.RefusedCount, done.Refused))
}

// refusals describes the payouts that stay as they were; "" for none.
func (v *visit) refusals(count int64, refused []api.PayoutRefused) string {
	if count == 0 {
		return ""
	}
	var t tally
	for _, r := range refused {
		t.add(problem.New(problem.PayoutNotPayable, "%s", r.Reason))
	}
	return fmt.Sprintf(" %s %s unchanged: %s", v.Locale.Count(count), oneOrMany(count, "is", "are"),
		strings.Join(t.why[:min(len(t.why), 3)], " "))
}

// sums are the totals of payouts in words.
func (v *visit) sums(totals []api.PayoutBatchTotal) string {
	out := make([]string, len(totals))
	for i, t := range totals {
		out[i] = v.Locale.Money(t.AmountMinor, t.Currency)
	}
	return strings.Join(out, " and ")
}

// markPaid marks a payout as paid by hand.
func markPaid(v *visit) error {
	id := v.PathValue("id")
	body := v.body("markPayoutPaid")
	delete(body, "program_id")
	v.setPaidAt(body)
	all := map[string]any{"program_id": v.program.ID, "payout_ids": []string{id}}
	maps.Copy(all, body)
	var done api.PayoutsMarkedPaid
	if err := v.send("markPayoutsPaid", all, &done); err != nil {
		return v.again(err, payout)
	}
	if len(done.Refused) > 0 {
		return v.again(problem.New(problem.Code(done.Refused[0].Code), "%s", done.Refused[0].Reason), payout)
	}
	if done.PayoutCount != 1 {
		return site.NotFound() // it was deleted meanwhile
	}
	v.Form["payout"] = []string{id}
	return v.undoable(v.at("/payouts/"+id), "The payout is paid."+v.emailsWait(1),
		v.undoMarks(done.RequestID))
}

// setPaidAt changes the day of a form to a time: today is now, and an earlier day its noon.
func (v *visit) setPaidAt(body map[string]any) {
	day, ok := body["paid_at"].(string)
	if !ok {
		return
	}
	delete(body, "paid_at")
	if date, err := time.Parse(time.DateOnly, day); err != nil {
		body["paid_at"] = day // refused by the API
	} else if !date.Equal(v.Today()) {
		body["paid_at"] = clock.Midnight(date, v.Locale.Zone()).Plus(12 * time.Hour)
	}
}
