package portal

import (
	"context"
	"net/http"
	"slices"

	"github.com/oapi-codegen/nullable"

	gen "rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/opt"
	"rail/server/program/partner"
	"rail/server/work"
)

// profileFields are those of the profile that the partner may change.
var profileFields = []string{
	"first_name", "last_name", "display_name", "company_name", "address", "tax_id", "website_url", "country_code",
	"language_code",
}

// settingsPage holds the data of the settings page: the stored values, or the typed ones with their faults.
type settingsPage struct {
	Profile, Payout site.Form
	Choices         partner.Choices
	Ranks, Ranked   bool     // whether the program has a leaderboard, and whether the partner takes part
	Methods         []method // the program's
	Chosen          *method  // whose form is open
	Stored          *stored
	Countries       []site.Option
	Languages       []site.Option
	Fresh           bool // whether the payout method may be changed now
	Again           bool // whether a link to sign in anew can be mailed
}

// settings shows the profile, the payout method and the notifications, each in a form.
func settings(v *visit) error {
	page, err := v.settingsPage(v.QueryParam("method"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "settings", "/portal/settings", "Settings", page)
}

// settingsPage returns the page with the stored values. open names the payout method whose form is shown; the default
// is the first.
func (v *visit) settingsPage(open string) (settingsPage, error) {
	p := v.partner
	page := settingsPage{
		Profile: site.Form{Values: map[string]string{
			"first_name": opt.Value(p.FirstName), "last_name": opt.Value(p.LastName),
			"display_name": opt.Value(p.DisplayName), "company_name": opt.Value(p.CompanyName),
			"website_url": opt.Value(p.WebsiteURL), "country_code": opt.Value(p.CountryCode),
			"language_code": opt.Value(p.LanguageCode), "address": opt.Value(p.Address), "tax_id": opt.Value(p.TaxID),
		}},
		Payout:  site.Form{Values: map[string]string{}},
		Choices: partner.ChoicesOf(p), Ranks: v.ranks, Ranked: p.OnLeaderboard, Fresh: v.fresh(),
		Again:   v.frame == "" && !v.session.Visitor && v.portal.Partners.Mail.Ready(),
		Methods: v.methods(), Countries: v.countries(), Languages: v.languages(),
	}
	var err error
	if page.Stored, err = v.stored(); err != nil {
		return page, err
	}
	at := slices.IndexFunc(page.Methods, func(m method) bool { return m.Name == open })
	if at < 0 && page.Stored == nil {
		at = 0
	}
	if at >= 0 && at < len(page.Methods) {
		page.Chosen = &page.Methods[at]
	}
	return page, nil
}

// countries are all, by their names in the partner's language.
func (v *visit) countries() []site.Option {
	out := []site.Option{{Value: "", Label: v.Locale.T("Choose a country")}}
	for _, code := range v.Locale.Countries() {
		out = append(out, site.Option{Value: code, Label: v.Locale.Country(code)})
	}
	return withStored(out, v.partner.CountryCode)
}

// languages are those with texts, by their own names.
func (v *visit) languages() []site.Option {
	out := []site.Option{{Value: "", Label: v.Locale.T("Your browser’s language")}}
	for _, l := range locale.All() {
		out = append(out, site.Option{Value: l.Language(), Label: l.Name()})
	}
	return withStored(out, v.partner.LanguageCode)
}

// withStored returns the options with the stored value, which stays even if it is none of them.
func withStored(options []site.Option, stored *string) []site.Option {
	if stored == nil || slices.ContainsFunc(options, func(o site.Option) bool { return o.Value == *stored }) {
		return options
	}
	return append(options, site.Option{Value: *stored, Label: *stored})
}

// saveProfile stores the names, the site and the country. A field that was emptied
// becomes null, as the API has no empty names.
func saveProfile(v *visit) error {
	body := gen.PartnerUpdate{}
	for name, to := range map[string]*nullable.Nullable[string]{
		"first_name": &body.FirstName, "last_name": &body.LastName, "display_name": &body.DisplayName,
		"company_name": &body.CompanyName, "website_url": &body.WebsiteURL, "country_code": &body.CountryCode,
		"language_code": &body.LanguageCode, "address": &body.Address, "tax_id": &body.TaxID,
	} {
		if !v.Form.Has(name) {
			continue
		}
		*to = nullable.NewNullNullable[string]()
		value := v.Form.Value(name)
		if name == "website_url" {
			value = secured(value)
		}
		if value != "" {
			*to = nullable.NewNullableWithValue(value)
		}
	}
	err := v.saveSelf(&body)
	if err == nil {
		return v.done("/portal/settings", "profile")
	}
	wrong := v.faults(err, profileFields...)
	if wrong == nil {
		return err
	}
	page, err := v.settingsPage("")
	if err != nil {
		return err
	}
	page.Profile = site.Form{Values: v.Form.Typed(profileFields...), Errors: wrong}
	return v.show(http.StatusUnprocessableEntity, "settings", "/portal/settings", "Settings", page)
}

// saveSelf validates a change of the partner like a request of the API, and makes
// it.
func (v *visit) saveSelf(body *gen.PartnerUpdate) error {
	if err := v.portal.Document.ValidateBody("PartnerUpdate", body); err != nil {
		return err
	}
	return v.write(func(ctx context.Context) error {
		return v.portal.Partners.UpdateSelf(ctx, work.From(ctx), v.partner.ID, partner.Patch{
			FirstName: body.FirstName, LastName: body.LastName, DisplayName: body.DisplayName,
			CompanyName: body.CompanyName, WebsiteURL: body.WebsiteURL, CountryCode: body.CountryCode,
			LanguageCode: body.LanguageCode, Address: body.Address, TaxID: body.TaxID,
			PayoutMethod: body.PayoutMethod, PayoutDetails: body.PayoutDetails,
		})
	})
}

// savePayout stores the method with its details; both change together, as the
// details of one method mean nothing for another.
func savePayout(v *visit) error {
	if !v.fresh() {
		return errStale
	}
	page, err := v.settingsPage(v.Form.Value("method"))
	if err != nil {
		return err
	}
	if page.Chosen == nil || page.Chosen.Name != v.Form.Value("method") {
		page.Payout.Errors = site.Faults{"": v.Locale.T("Choose one of the program’s payout methods.")}
		return v.show(http.StatusUnprocessableEntity, "settings", "/portal/settings", "Settings", page)
	}
	details, wrong := page.Chosen.read(v)
	if wrong == nil {
		err = v.saveSelf(&gen.PartnerUpdate{
			PayoutMethod: nullable.NewNullableWithValue(page.Chosen.Name), PayoutDetails: details,
		})
		if err == nil {
			return v.done("/portal/settings", "payout")
		}
		if wrong = v.faults(err); wrong == nil {
			return err
		}
	}
	page.Payout = site.Form{Values: v.Form.Typed(page.Chosen.names()...), Errors: wrong}
	return v.show(http.StatusUnprocessableEntity, "settings", "/portal/settings", "Settings", page)
}

// saveNotifications stores which mails the partner wants. A box that is not ticked is
// absent from the form, so all three are written.
func saveNotifications(v *visit) error {
	to := partner.Choices{
		FirstReferral: v.Form.Has("first_referral"), NewReferral: v.Form.Has("new_referral"),
		PayoutPaid: v.Form.Has("payout_paid"),
	}
	err := v.write(func(ctx context.Context) error {
		return partner.SaveChoices(ctx, work.From(ctx), v.partner.ID, to)
	})
	if err != nil {
		return err
	}
	return v.done("/portal/settings", "notifications")
}

// saveRanked stores whether the partner takes part in the leaderboard.
func saveRanked(v *visit) error {
	err := v.write(func(ctx context.Context) error {
		return partner.SaveRanked(ctx, work.From(ctx), v.partner.ID, v.Form.Has("on_leaderboard"))
	})
	if err != nil {
		return err
	}
	return v.done("/portal/settings", "leaderboard")
}
