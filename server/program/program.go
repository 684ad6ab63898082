// Package program has the rules of programs: the defaults of a new one, and which changes are allowed. The
// packages below it are about partners, links and customers.
package program

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/ident/slug"
	"rail/server/locale/currency"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/money/statement"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// subdomainMax is the longest label of a domain name.
const subdomainMax = 63

var queries = db.New()

// Settings are the settings of a program that can be set at creation and later; nil members stay.
type Settings struct {
	ProductName                                   *string
	Status                                        *db.ProgramStatus
	CookieDays, HoldingPeriodDays, MinPayoutMinor *int64
	PayoutTerm                                    *db.PayoutTerm
	CommissionOnNetRevenue                        *bool
	CommissionBase                                *rules.Base // the newer name of it
	BlockSelfReferrals                            *bool
	RequireTaxForms                               *bool
	AutoPayoutsEnabled                            *bool
	AttributionModel                              *db.AttributionModel
	ClickOnRedirect                               *bool
	AutoEnrolCustomers                            *bool
	LeadMatchDays                                 nullable.Nullable[int64] // null: the cookie's days
	TimeZone                                      *string                  // an IANA name
	CouponBeatsLink, IgnoreLateClicks             *bool
	MinPayingCustomers                            *int64 // before a partner's first payout
	StatementPrefix                               *string
	StatementSeller                               nullable.Nullable[statement.Seller] // null: the program's name
	SelfBilling                                   *bool
	VATRateBPS                                    nullable.Nullable[int64] // of partners at home; null: none
	AgentLimitMinor                               *int64                   // what agents may grant a day
	BlockedCountries                              []string                 // in any case; the whole list
	URLParams, PayoutMethods                      []string                 // the whole lists
}

// Input is a program to add; nil members get defaults.
type Input struct {
	Name, WebsiteURL, Currency string
	TermsURL, TermsVersion     *string
	Subdomain                  *string
	Settings
}

// Changes are changes to a program; nil and unspecified members stay.
type Changes struct {
	Name, WebsiteURL       *string
	TermsURL, TermsVersion nullable.Nullable[string]
	Settings
}

// Create adds a program with its Default group.
func Create(ctx context.Context, u *work.Unit, in Input) (db.Program, error) {
	p, err := newProgram(u, in)
	if err != nil {
		return p, err
	}
	if err := checkZone(ctx, u, p); err != nil {
		return p, err
	}
	if err := queries.ProgramInsert(ctx, u.Later(), db.ProgramInsertParams(p)); err != nil {
		return p, err
	}
	return p, queries.GroupAdd(ctx, u.Later(), db.GroupAddParams{
		ID: u.NewID(ident.Group), OrgID: p.OrgID, ProgramID: p.ID, Name: "Default", Slug: "default", IsDefault: true,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	})
}

// newProgram returns a program with defaults for members that the input leaves out (decisions, 35 and 180).
func newProgram(u *work.Unit, in Input) (db.Program, error) {
	code, err := currency.Parse(in.Currency)
	if err != nil {
		return db.Program{}, err
	}
	p := db.Program{
		ID: u.NewID(ident.Program), OrgID: u.OrgID, Name: in.Name, ProductName: in.Name, WebsiteURL: in.WebsiteURL,
		Currency: code, Status: db.ProgramStatusActive, TermsURL: in.TermsURL, TermsVersion: in.TermsVersion,
		CookieDays: 30, URLParams: []string{"ref"},
		HoldingPeriodDays: 30, PayoutTerm: db.PayoutTermNet30, PayoutMethods: []string{},
		BlockSelfReferrals: true, BlockedCountries: []string{}, AttributionModel: db.AttributionModelLast,
		ClickOnRedirect: true, TimeZone: "UTC", Processor: new("api"), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if p.Subdomain = opt.Value(in.Subdomain); p.Subdomain == "" {
		p.Subdomain = subdomainOf(in.Name)
	}
	p.StatementPrefix = statement.PrefixOf(p.Subdomain)
	return p, in.apply(&p)
}

// subdomainOf returns the name as a DNS label; a name without a usable letter becomes "program".
func subdomainOf(name string) string {
	return cmp.Or(slug.Of(name, subdomainMax), "program")
}

// Update changes a program. Values derived from its old settings, such as the end of a referral, stay. A change
// without effect keeps UpdatedAt and writes nothing.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Program, error) {
	before, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return before, err
	}
	if err := u.CheckProgram(before.ID); err != nil {
		return before, err
	}
	p := before
	opt.Change(&p.Name, to.Name)
	opt.Change(&p.WebsiteURL, to.WebsiteURL)
	opt.ChangeOrClear(&p.TermsURL, to.TermsURL)
	opt.ChangeOrClear(&p.TermsVersion, to.TermsVersion)
	if err := to.apply(&p); err != nil {
		return before, err
	}
	if reflect.DeepEqual(before, p) {
		return before, nil
	}
	p.UpdatedAt = u.Now
	if p.AutoPayoutsEnabled && !before.AutoPayoutsEnabled {
		if !u.Actor.PaysOut {
			return before, problem.On("auto_payouts_enabled", problem.InsufficientScope,
				"Switching automatic payouts on needs the scope payouts:write.")
		}
		p.AutoPayoutsSince = &u.Now // (decisions, 470)
	}
	if p.TimeZone != before.TimeZone {
		if err := rezone(ctx, u, &p); err != nil {
			return before, err
		}
	}
	if err := save(ctx, u, p); err != nil || p.RequireTaxForms == before.RequireTaxForms {
		return p, err
	}
	return p, askForTaxForms(ctx, u, p)
}

// errZone refuses a time zone.
var errZone = problem.Invalid("time_zone", "time_zone must be an IANA time zone, such as Australia/Sydney.")

// checkZone refuses a time zone that the database does not know, since no query could use it.
func checkZone(ctx context.Context, u *work.Unit, p db.Program) error {
	if p.TimeZone == "UTC" {
		return nil
	}
	valid, err := queries.ZoneIsValid(ctx, u.DB(), p.TimeZone)
	if err == nil && !valid {
		err = errZone
	}
	return err
}

// rezone checks a program's new time zone, and has its days summed again.
func rezone(ctx context.Context, u *work.Unit, p *db.Program) error {
	if err := checkZone(ctx, u, *p); err != nil {
		return err
	}
	p.ZoneChangedAt = &u.Now
	return report.Rezone(ctx, u, *p)
}

// apply sets the given settings, for new programs too, so that both are treated alike.
func (s Settings) apply(p *db.Program) error {
	opt.Change(&p.ProductName, s.ProductName)
	opt.Change(&p.Status, s.Status)
	opt.Change(&p.CookieDays, s.CookieDays)
	opt.Change(&p.HoldingPeriodDays, s.HoldingPeriodDays)
	opt.Change(&p.MinPayoutMinor, s.MinPayoutMinor)
	opt.Change(&p.PayoutTerm, s.PayoutTerm)
	opt.Change(&p.BlockSelfReferrals, s.BlockSelfReferrals)
	opt.Change(&p.RequireTaxForms, s.RequireTaxForms)
	opt.Change(&p.AutoPayoutsEnabled, s.AutoPayoutsEnabled)
	opt.Change(&p.AttributionModel, s.AttributionModel)
	opt.Change(&p.ClickOnRedirect, s.ClickOnRedirect)
	opt.Change(&p.AutoEnrolCustomers, s.AutoEnrolCustomers)
	opt.ChangeOrClear(&p.LeadMatchDays, s.LeadMatchDays)
	opt.Change(&p.MinPayingCustomers, s.MinPayingCustomers)
	opt.Change(&p.CouponBeatsLink, s.CouponBeatsLink)
	opt.Change(&p.IgnoreLateClicks, s.IgnoreLateClicks)
	opt.Change(&p.StatementPrefix, s.StatementPrefix)
	opt.Change(&p.SelfBilling, s.SelfBilling)
	opt.ChangeOrClear(&p.VatRateBps, s.VATRateBPS)
	opt.Change(&p.AgentLimitMinor, s.AgentLimitMinor)
	if s.StatementSeller.IsNull() {
		p.StatementSeller = nil
	}
	if seller, err := s.StatementSeller.Get(); err == nil {
		if p.StatementSeller, err = json.Marshal(seller); err != nil {
			return err
		}
	}
	if s.TimeZone != nil {
		if _, err := clock.Zone(*s.TimeZone); err != nil {
			return errZone
		}
		p.TimeZone = *s.TimeZone
	}
	if s.BlockedCountries != nil {
		p.BlockedCountries = countries(s.BlockedCountries)
	}
	if s.URLParams != nil {
		p.URLParams = opt.Distinct(s.URLParams)
	}
	if s.PayoutMethods != nil {
		p.PayoutMethods = opt.Distinct(s.PayoutMethods)
	}
	return s.pay(p)
}

// pay sets the base of percentages, by either of its names. Setting "without tax" again keeps the setting for
// fees.
func (s Settings) pay(p *db.Program) error {
	base, net := rules.BaseOf(p.CommissionOnNetRevenue, p.CommissionNetOfFee), s.CommissionOnNetRevenue
	switch {
	case s.CommissionBase != nil && net != nil && *net == (*s.CommissionBase == rules.BaseGross):
		return problem.Invalid("commission_base", "commission_base %s contradicts commission_on_net_revenue %t.",
			*s.CommissionBase, *net)
	case s.CommissionBase != nil:
		base = *s.CommissionBase
	case net != nil && !*net:
		base = rules.BaseGross
	case net != nil && base == rules.BaseGross:
		base = rules.BaseNetOfTax
	}
	p.CommissionOnNetRevenue, p.CommissionNetOfFee = base != rules.BaseGross, base == rules.BaseNetOfTaxAndFee
	return nil
}

// countries returns country codes in upper case, without duplicates.
func countries(codes []string) []string {
	up := make([]string, len(codes))
	for i, code := range codes {
		up[i] = strings.ToUpper(code)
	}
	return opt.Distinct(up)
}

// save queues a changed program for the commit.
func save(ctx context.Context, u *work.Unit, p db.Program) error {
	return queries.ProgramUpdate(ctx, u.Later(), db.ProgramUpdateParams{
		Name:                   p.Name,
		ProductName:            p.ProductName,
		WebsiteURL:             p.WebsiteURL,
		Status:                 p.Status,
		TermsURL:               p.TermsURL,
		TermsVersion:           p.TermsVersion,
		CookieDays:             p.CookieDays,
		CommissionOnNetRevenue: p.CommissionOnNetRevenue,
		CommissionNetOfFee:     p.CommissionNetOfFee,
		HoldingPeriodDays:      p.HoldingPeriodDays,
		MinPayoutMinor:         p.MinPayoutMinor,
		PayoutTerm:             p.PayoutTerm,
		PayoutMethods:          p.PayoutMethods,
		URLParams:              p.URLParams,
		BlockSelfReferrals:     p.BlockSelfReferrals,
		BlockedCountries:       p.BlockedCountries,
		RequireTaxForms:        p.RequireTaxForms,
		AttributionModel:       p.AttributionModel,
		ClickOnRedirect:        p.ClickOnRedirect,
		AutoEnrolCustomers:     p.AutoEnrolCustomers,
		LeadMatchDays:          p.LeadMatchDays,
		MinPayingCustomers:     p.MinPayingCustomers,
		TimeZone:               p.TimeZone,
		CouponBeatsLink:        p.CouponBeatsLink,
		IgnoreLateClicks:       p.IgnoreLateClicks,
		ZoneChangedAt:          p.ZoneChangedAt,
		StatementPrefix:        p.StatementPrefix,
		StatementSeller:        p.StatementSeller,
		SelfBilling:            p.SelfBilling,
		VatRateBps:             p.VatRateBps,
		AgentLimitMinor:        p.AgentLimitMinor,
		AutoPayoutsEnabled:     p.AutoPayoutsEnabled,
		AutoPayoutsSince:       p.AutoPayoutsSince,
		UpdatedAt:              p.UpdatedAt,
		ID:                     p.ID,
		OrgID:                  p.OrgID,
	})
}

// askForTaxForms starts or stops asking all partners for a form (decisions, 156).
func askForTaxForms(ctx context.Context, u *work.Unit, p db.Program) error {
	if p.RequireTaxForms {
		return tax.Require(ctx, u.Tx, p.OrgID, p.ID, u.Now)
	}
	return tax.StopRequiring(ctx, u.Later(), p.OrgID, p.ID, u.Now)
}
