package console

import (
	"errors"
	"net/http"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/money/payout/rails"
	"rail/server/problem"
)

// railRoutes are the pages about services that move money.
var railRoutes = map[string]route{
	"GET /console/p/{program}/payouts/rails":                  {Do: payoutRails},
	"POST /console/p/{program}/payouts/rails/paypal":          {Do: connectPayPal},
	"POST /console/p/{program}/payouts/rails/webhook":         {Do: connectBridge},
	"POST /console/p/{program}/payouts/rails/{id}/check":      {Do: checkRail},
	"POST /console/p/{program}/payouts/rails/{id}/limits":     {Do: limitRail},
	"POST /console/p/{program}/payouts/rails/{id}/disconnect": {Do: disconnectRail},
}

// railsData holds the data of the page about rails.
type railsData struct {
	Tabs      site.Tabs
	Active    []railRow
	Ended     []railRow
	Owner     bool // whether the person may connect
	PayPal    bool // a live account is connected
	Bridge    bool // a service of the merchant's is connected
	Automatic bool // the program's payouts are automatic
	Secret    string
}

// railRow is a rail as the page shows it.
type railRow struct {
	api.PayoutRail
	Name, Notifications string // the service, and the address of PayPal's webhook
}

// payoutRails shows the rails of a program.
func payoutRails(v *visit) error { return v.showRails("") }

// showRails shows the rails, and the secret of a new one.
func (v *visit) showRails(secret string) error {
	if err := v.payersOnly(); err != nil {
		return err
	}
	reply, err := v.console.api.ListPayoutRailsWithResponse(v.Ctx(), &api.ListPayoutRailsParams{
		ProgramID: v.program.ID, Limit: new(int64(maxListed)),
	})
	if err != nil {
		return err
	}
	data := railsData{
		Tabs: v.payoutTabs("/payouts/rails"), Owner: v.session.User.Role.ManagesPeople(), Secret: secret,
		Automatic: v.program.AutoPayoutsEnabled,
	}
	for _, r := range reply.JSON200.Data {
		row := railRow{PayoutRail: r, Name: "PayPal"}
		if r.Kind == api.PayoutRailKindWebhook {
			row.Name = "Your service"
		} else {
			row.Notifications = v.console.Processors.BaseURL + "/hooks/paypal/" + r.ID
		}
		if r.Status != api.PayoutRailStatusActive {
			data.Ended = append(data.Ended, row)
			continue
		}
		data.Active = append(data.Active, row)
		data.PayPal = data.PayPal || r.Kind == api.PayoutRailKindPaypal && r.Livemode
		data.Bridge = data.Bridge || r.Kind == api.PayoutRailKindWebhook
	}
	return v.show(sheet{"payout-rails", "/payouts", "Rails", data})
}

// Limit returns the input of a limit of automatic sending.
func (r railRow) Limit(f frame, name, label string, minor *int64) site.Input {
	in := f.For("/payouts/rails/"+r.ID+"/limits").Amount(name, label, minor).Maybe()
	in.ID = name + "-" + r.ID
	return in
}

// Proof returns the input by which the person shows again who they are.
func (r railRow) Proof(f frame) site.Input {
	in := f.For("/payouts/rails/" + r.ID + "/limits").Confirm("proof-" + r.ID)
	if in.Name == "" {
		return in
	}
	return in.Maybe()
}

// connectPayPal connects an account at PayPal, or gives new credentials to a connected one.
func connectPayPal(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	in := rails.PayPal{
		ProgramID: v.program.ID, Live: v.value("test") == "", ClientID: v.value("client_id"), Secret: v.value("secret"),
		WebhookID: v.value("webhook_id"),
	}
	switch {
	case in.ClientID == "":
		return v.again(problem.Missing("client_id"), payoutRails)
	case in.Secret == "":
		return v.again(problem.Missing("secret"), payoutRails)
	}
	if err := v.reconfirm(); err != nil {
		return v.again(err, payoutRails)
	}
	c, err := v.console.Rails.Connect(v.Ctx(), v.unit(), in)
	if err != nil {
		return v.again(railProblem("client_id", err), payoutRails)
	}
	notice := "PayPal is connected. Payouts by PayPal can now be sent from their run."
	if !c.Livemode {
		notice = "PayPal’s sandbox is connected. It can be checked, and sends nothing."
	}
	return v.done(v.at("/payouts/rails"), notice)
}

// connectBridge connects a service of the merchant's, and shows the secret that signs its messages once.
func connectBridge(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	in := rails.Bridge{ProgramID: v.program.ID, URL: v.value("url"), Methods: v.values("methods")}
	switch {
	case in.URL == "":
		return v.again(problem.Missing("url"), payoutRails)
	case len(in.Methods) == 0:
		return v.again(problem.Missing("methods"), payoutRails)
	}
	if err := v.reconfirm(); err != nil {
		return v.again(err, payoutRails)
	}
	_, secret, err := v.console.Rails.ConnectBridge(v.Ctx(), v.unit(), in)
	if err != nil {
		return v.again(railProblem("url", err), payoutRails)
	}
	v.Form = nil // the page has the forms of other rails
	return v.showRails(secret)
}

// railProblem names the field of a refused connection. Its text is the service's, or names the other rail.
func railProblem(field string, err error) error {
	if p, ok := refused(err); ok {
		return p
	}
	if errors.Is(err, rails.ErrConnected) {
		return problem.Invalid(field, "The program has a rail of this kind already. Disconnect it first.")
	}
	return problem.Invalid(field, "%s.", strings.TrimSuffix(err.Error(), "."))
}

// railOf returns the rail of the page's address.
func (v *visit) railOf() (db.PayoutRail, error) {
	if err := v.ownersOnly(); err != nil {
		return db.PayoutRail{}, err
	}
	return v.console.Rails.Get(v.Ctx(), v.unit(), v.program.ID, v.PathValue("id"))
}

// checkRail asks the service whether it accepts the credentials.
func checkRail(v *visit) error {
	c, err := v.railOf()
	if err != nil {
		return err
	}
	if err := v.console.Rails.Check(v.Ctx(), c); err != nil {
		return v.again(railProblem("", err), payoutRails)
	}
	return v.done(v.at("/payouts/rails"), "The connection works.")
}

// limitRail changes what the rail may send without a confirmation. Only to raise a limit, the person shows again who
// they are.
func limitRail(v *visit) error {
	c, err := v.railOf()
	if err != nil {
		return err
	}
	batch, day, err := v.typedLimits()
	if err == nil && rails.Raises(c, batch, day) {
		err = v.reconfirm()
	}
	if err != nil {
		return v.again(err, payoutRails)
	}
	if err := v.console.Rails.Limit(v.Ctx(), v.unit(), c, batch, day); err != nil {
		return v.again(railProblem("batch", err), payoutRails)
	}
	notice := "Nothing is sent without a confirmation."
	if batch != nil {
		notice = "Due payouts up to the limits are sent without a confirmation."
	}
	return v.done(v.at("/payouts/rails"), notice)
}

// typedLimits returns the typed limits; nil for none.
func (v *visit) typedLimits() (batch, day *int64, err error) {
	var limits [2]*int64
	for i, name := range []string{"batch", "day"} {
		typed := v.value(name)
		if typed == "" {
			continue
		}
		minor, ok := currency.Minor(typed, v.program.Currency)
		if !ok || minor <= 0 {
			return nil, nil, problem.Invalid(name, "Type an amount, such as 500.00.")
		}
		limits[i] = &minor
	}
	if (limits[0] == nil) != (limits[1] == nil) {
		return nil, nil, problem.Invalid("day", "Fill in both limits, or neither.")
	}
	return limits[0], limits[1], nil
}

// disconnectRail ends a rail.
func disconnectRail(v *visit) error {
	c, err := v.railOf()
	if err != nil {
		return err
	}
	if err := v.console.Rails.Disconnect(v.Ctx(), v.unit(), c); err != nil {
		return err
	}
	v.SetNotice("The rail is disconnected. Payouts that were not submitted are pending again; the others are followed to their end.")
	return v.Redirect(http.StatusSeeOther, v.at("/payouts/rails"))
}
