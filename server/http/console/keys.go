package console

import (
	"slices"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/http/middleware"
	"rail/server/http/site"
)

var keyRoutes = map[string]route{
	"GET /console/p/{program}/keys":              {Do: keys},
	"POST /console/p/{program}/keys":             {Do: createKey},
	"POST /console/p/{program}/keys/{id}/revoke": {Do: revokeKey},
}

// scopes are those of an API key with what each is for.
var scopes = []site.Option{
	{Value: "read", Label: "Read", Hint: "Read everything, change nothing."},
	{Value: "partners:write", Label: "Partners", Hint: "Partners, groups, links and coupons."},
	{Value: "commissions:write", Label: "Sales and commissions", Hint: "Clicks, customers, sales, rules."},
	{Value: "payouts:write", Label: "Payouts", Hint: "Payout runs and payments."},
	{Value: "webhooks:write", Label: "Webhooks", Hint: "Endpoints and their secrets."},
	{Value: "write", Label: "Everything", Hint: "Everything an owner can do, except manage people and keys."},
}

// keysData holds the data of the page of API keys.
type keysData struct {
	Keys   []db.APIKey
	Scopes []site.Option
	New    string // a key that was just made, shown once
}

// keys shows the organization's API keys.
func keys(v *visit) error { return v.showKeys("") }

func (v *visit) showKeys(secret string) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	list, err := auth.List(v.Ctx(), v.unit())
	if err != nil {
		return err
	}
	slices.Reverse(list)
	return v.show(sheet{"keys", "/keys", "API keys", keysData{list, scopes, secret}})
}

// createKey makes a key, which the answer alone shows.
func createKey(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	key, err := auth.Issue(v.Ctx(), v.unit(), v.console.Keeper, auth.Grant{
		Scopes: v.values("scopes"), Live: v.value("test") == "", RateLimit: auth.DefaultRateLimit,
		Version: middleware.Version, Form: v.value("once"),
	})
	if err != nil {
		return v.again(err, keys)
	}
	return v.showKeys(key.Token)
}

// revokeKey ends a key.
func revokeKey(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	if err := auth.Revoke(v.Ctx(), v.unit(), v.PathValue("id")); err != nil {
		return err
	}
	return v.done(v.at("/keys"), "The key is revoked. It stops working within a second.")
}
