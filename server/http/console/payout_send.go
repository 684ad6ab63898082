package console

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	domain "rail/server/money/payout"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/team"
)

// sendRoutes are the pages that send payouts by a connected rail.
var sendRoutes = map[string]route{
	"GET /console/p/{program}/payouts/batches/{id}/send":  {Do: askSend},
	"POST /console/p/{program}/payouts/batches/{id}/send": {Do: sendPayouts},
}

// sending is the page that asks before payouts are sent.
type sending struct {
	domain.Sendable
	BatchID, Currency string
	More, Rest        int64 // payouts without a name on the page, and their sum
}

// rails returns the program's active rails.
func (v *visit) rails() ([]api.PayoutRail, error) {
	reply, err := v.console.api.ListPayoutRailsWithResponse(v.Ctx(), &api.ListPayoutRailsParams{
		ProgramID: v.program.ID, Status: []api.PayoutRailStatus{api.PayoutRailStatusActive}, Limit: new(int64(maxListed)),
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200.Data, nil
}

// addRails notes the rail of each card that can be sent.
func (c *cockpit) addRails(rails []api.PayoutRail) {
	for i, card := range c.Cards {
		for _, r := range rails {
			if r.Livemode && card.Method != nil && slices.Contains(r.Methods, *card.Method) {
				c.Cards[i].Rail = &r
			}
		}
	}
}

// payersOnly refuses persons whose role does not pay partners.
func (v *visit) payersOnly() error {
	if v.session.User.Role.ConfirmsPayouts() {
		return nil
	}
	return problem.New(problem.InsufficientScope, "Only owners and finance can do this.")
}

// askSend shows the payouts that a rail would send, and asks for their sum.
func askSend(v *visit) error {
	if err := v.payersOnly(); err != nil {
		return err
	}
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	order := domain.SendOrder{
		BatchID: b.ID, RailID: cleaned(v.QueryParam("rail")), Currency: cleaned(v.QueryParam("currency")),
		HoldOnHighRisk: v.console.HoldOnHighRisk,
	}
	if v.Form != nil {
		order.RailID, order.Currency = cleaned(v.value("rail_id")), cleaned(v.value("currency"))
	}
	found, err := domain.PreviewSend(v.Ctx(), v.unit(), order)
	if err != nil {
		return err
	}
	page := sending{
		Sendable: found, BatchID: order.BatchID, Currency: order.Currency, More: found.Count - int64(len(found.Payees)),
		Rest: found.Minor,
	}
	for _, p := range found.Payees {
		page.Rest -= p.Minor
	}
	return v.show(sheet{"payout-send", "/payouts", "Send payouts", page})
}

// sendPayouts hands the payouts over if the typed sum is theirs, and the person shows again who they are. The sum is
// compared first, so that a mistyped one uses up no code.
func sendPayouts(v *visit) error {
	if err := v.payersOnly(); err != nil {
		return err
	}
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	code := v.value("currency")
	found, err := domain.PreviewSend(v.Ctx(), v.unit(), domain.SendOrder{
		BatchID: b.ID, RailID: v.value("rail_id"), Currency: code, HoldOnHighRisk: v.console.HoldOnHighRisk,
	})
	if err != nil {
		return v.again(err, askSend)
	}
	minor, ok := typedSum(v.value("amount"), v.Locale.Money(found.Minor, code), found.Minor, code)
	if !ok {
		return v.again(problem.Invalid("amount", "Type the sum as it is shown, such as %s.",
			currency.Decimal(125000, code)), askSend)
	}
	if found.Count > 0 && found.Minor != minor { // a repeat after sending has none left
		return v.again(errWrongSum, askSend)
	}
	if err := v.reconfirm(); err != nil {
		return v.again(err, askSend)
	}
	body := v.body("sendPayoutBatch")
	body["confirm_amount_minor"] = minor
	var sent api.PayoutsSent
	err = v.send("sendPayoutBatch", body, &sent, b.ID)
	if problem.Is(err, problem.ConfirmationDiffers) {
		err = errWrongSum
	}
	if err != nil {
		return v.again(err, askSend)
	}
	back := v.at("/payouts/batches/" + sent.BatchID)
	return v.done(back, v.Locale.Count(sent.PayoutCount)+" "+oneOrMany(sent.PayoutCount, "payout is", "payouts are")+
		" on the way: "+v.Locale.Money(sent.AmountMinor, sent.Currency)+". This page shows when each is paid.")
}

// typedSum returns a typed sum in minor units. It accepts the sum exactly as the page shows it, in any locale, and a
// decimal number with a point.
func typedSum(typed, shown string, minor int64, code string) (int64, bool) {
	if digitsOf(typed, code) == digitsOf(shown, code) {
		return minor, true
	}
	return currency.Minor(strings.NewReplacer(",", "", " ", "", code, "").Replace(typed), code)
}

// digitsOf returns a sum without its currency and its spaces.
func digitsOf(sum, code string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(sum, code, ""))
}

var errWrongSum = problem.Invalid("amount",
	"This is not the sum of the payouts. Nothing was sent: check the figures, and type the sum again.")

// reconfirm checks that the person shows again who they are.
func (v *visit) reconfirm() error {
	typed := url.Values(v.Form).Get("proof") // spaces at the ends of a password count
	return v.console.People.Reconfirm(v.Ctx(), v.unit(), typed, v.session.CreatedAt)
}

// Confirm returns the input by which the person shows again who they are, for the template "proof"; Name is empty if
// a recent sign-in is enough.
func (f frame) Confirm(id string) site.Input {
	in := site.Input{}
	switch f.session.User.Proof() {
	case team.ByCode:
		in = f.Line("text", "proof", "Code of your authenticator app", "").Says("Or a recovery code.")
		in.Value, in.Auto = "", "one-time-code"
	case team.ByPassword:
		in = f.Line("password", "proof", "Your password", "")
		in.Auto = "current-password"
	case team.BySignIn:
		return site.Input{Error: f.FaultOf("proof")}
	}
	in.ID = id
	return in
}

// Amount returns the input of the sum to confirm.
func (s sending) Amount(f frame) site.Input {
	return f.Line("text", "amount", "Type the sum to confirm", "").Says("In " + s.Currency + ", as it is shown above.")
}

// Service is the name of the rail's service.
func (s sending) Service() string { return railName(string(s.Rail.Kind)) }

// railName is the name of a kind of rail.
func railName(kind string) string {
	if kind == string(api.PayoutRailKindWebhook) {
		return "your service"
	}
	return "PayPal"
}

// OnRail reports whether a rail sends the payout, so that no person decides about it.
func (r payoutRow) OnRail() bool {
	return r.Status == api.PayoutStatusProcessing && r.RailID != nil &&
		opt.Value(r.Payout.Attention) != api.PayoutAttentionUnconfirmed
}
