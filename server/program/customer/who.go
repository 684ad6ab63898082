package customer

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// Clues are the members of a payment or an event that identify its customer. Each may
// be empty.
type Clues struct {
	ProgramID  string
	ExternalID string // id at the processor; "" for a guest
	Identifier string // the merchant's own id
	Email      string
	Name       string
	Routes     []tracking.Route // routes to a partner, in the order to try
	Processor  string           // "" for the API
	At         clock.Time       // time of the payment or event; zero for now
}

// Match is the customer that clues identify; its ID is "" for none. Rule is the rule that found it. Refused
// explains why no route fitted.
type Match struct {
	db.Customer
	Rule    Rule
	Refused error
	made    bool // newly signed up, with all clues
}

// Own returns the merchant's id of the customer. For a guest it is the email in lower case.
func (c Clues) Own() string {
	if c.Identifier == "" && c.ExternalID == "" {
		return strings.ToLower(c.Email)
	}
	return c.Identifier
}

// Identify returns the customer who paid, if the external id is unknown (decisions, 302). The first rule that fits
// wins: the merchant's id, if exactly one customer of the program has it; the routes, which sign the customer up
// unless its visit has a lead already; the email, if exactly one recent customer without an external id has it.
// Missing fields of the customer are filled from the clues.
func (s Service) Identify(ctx context.Context, u *work.Unit, c Clues) (Match, error) {
	f, taken, err := s.byIdentifier(ctx, u, c)
	if err == nil && f.ID == "" {
		f, err = s.byRoutes(ctx, u, c)
	}
	if err == nil && f.ID == "" {
		var refused error
		refused, f.Refused = f.Refused, nil
		f, err = s.byEmail(ctx, u, c)
		f.Refused = refused
	}
	if err != nil || f.ID == "" || f.made {
		return f, err
	}
	if taken { // several have it: another one would not help
		c.Identifier = ""
	}
	f.Customer, err = s.FillIn(ctx, u, f.Customer, c, f.Rule)
	return f, err
}

// byIdentifier finds the customer with the merchant's id, and reports whether any customer has it.
func (s Service) byIdentifier(ctx context.Context, u *work.Unit, c Clues) (f Match, taken bool, err error) {
	id := c.Own()
	if id == "" {
		return f, false, nil
	}
	rows, err := queries.CustomersByIdentifier(ctx, u.DB(), db.CustomersByIdentifierParams{
		ProgramID: c.ProgramID, OrgID: u.OrgID, Identifier: id,
	})
	if err != nil || len(rows) != 1 {
		return f, len(rows) > 0, err
	}
	return Match{Customer: rows[0], Rule: Rule{Rule: api.AttributionRuleIdentifier, Detail: id}}, true, nil
}

// byRoutes follows the routes to partners: a lead of the same visit is the customer, else the first route that
// fits signs it up.
func (s Service) byRoutes(ctx context.Context, u *work.Unit, c Clues) (f Match, err error) {
	for _, r := range c.Routes {
		if k, err := s.leadOf(ctx, u, c, r); err != nil || k.ID != "" {
			return Match{Customer: k, Rule: ruleOf(r, tracking.Attribution{})}, err
		}
	}
	routes, err := inOrder(ctx, u, c)
	if err != nil {
		return f, err
	}
	for _, r := range routes {
		found, err := s.byRoute(ctx, u, c, r)
		if !Unfit(err) {
			return found, err
		}
		f.Refused = cmp.Or(f.Refused, err)
	}
	return f, nil
}

// inOrder returns the routes, coupons first if they precede links in the program.
func inOrder(ctx context.Context, u *work.Unit, c Clues) ([]tracking.Route, error) {
	if len(c.Routes) < 2 || !slices.ContainsFunc(c.Routes, tracking.Route.Coupon) {
		return c.Routes, nil
	}
	p, err := u.Program(ctx, c.ProgramID)
	if err != nil || !p.CouponBeatsLink {
		return c.Routes, err
	}
	sorted := slices.Clone(c.Routes)
	slices.SortStableFunc(sorted, func(a, b tracking.Route) int {
		switch {
		case a.Coupon() == b.Coupon():
			return 0
		case a.Coupon():
			return -1
		}
		return 1
	})
	return sorted, nil
}

func (s Service) byRoute(ctx context.Context, u *work.Unit, c Clues, r tracking.Route) (Match, error) {
	others := slices.DeleteFunc(slices.Clone(c.Routes), func(o tracking.Route) bool { return o == r })
	r.At = c.At
	k, inserted, err := s.signUp(ctx, u, Input{
		ProgramID: c.ProgramID, Route: r, ExternalCustomerID: opt.OrNil(c.ExternalID), Email: opt.OrNil(c.Email),
		Name: opt.OrNil(c.Name), Identifier: opt.OrNil(c.Own()), Processor: c.Processor,
		Others: others,
	})
	if err == nil && !inserted { // another request has just created it
		k, err = ByExternalID(ctx, u, c.ProgramID, c.ExternalID)
	}
	return Match{Customer: k, made: true}, err
}

// leadOf returns the only customer without an external id that came by the route's visit, unless its email or
// identifier differs.
func (s Service) leadOf(ctx context.Context, u *work.Unit, c Clues, r tracking.Route) (k db.Customer, err error) {
	referral := opt.Value(r.ReferralID)
	if r.ClickID != nil {
		click, err := queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: *r.ClickID, OrgID: u.OrgID})
		if err != nil || click.ProgramID != c.ProgramID {
			return k, work.IgnoreNoRows(err)
		}
		referral = opt.Value(click.ReferralID)
	}
	if referral == "" {
		return k, nil
	}
	k, err = unbound(ctx, u, db.CustomersWithoutExternalIDParams{ProgramID: c.ProgramID, ReferralID: &referral})
	if k.PartnerID == nil || !c.fits(k) {
		return db.Customer{}, err
	}
	return k, err
}

// fits reports whether a lead can be the customer: neither email nor identifier differs.
func (c Clues) fits(k db.Customer) bool {
	same := func(stored *string, clue string) bool {
		return stored == nil || clue == "" || strings.EqualFold(*stored, clue)
	}
	return same(k.Email, c.Email) && same(k.Identifier, c.Identifier)
}

// byEmail finds the one customer without an external id that signed up with the email
// within the program's lead_match_days.
func (s Service) byEmail(ctx context.Context, u *work.Unit, c Clues) (f Match, err error) {
	email := strings.ToLower(c.Email)
	if email == "" {
		return f, nil
	}
	p, err := u.Program(ctx, c.ProgramID)
	if err != nil {
		return f, err
	}
	at, days := c.At, p.CookieDays
	if p.LeadMatchDays != nil {
		days = *p.LeadMatchDays
	}
	if at.IsZero() {
		at = u.Now
	}
	f.Customer, err = unbound(ctx, u, db.CustomersWithoutExternalIDParams{
		ProgramID: c.ProgramID, Email: &email, Since: at.Days(-days),
	})
	f.Rule = Rule{Rule: api.AttributionRuleEmail, Detail: email}
	return f, err
}

// unbound returns the only matching customer without an external id; none if several match.
func unbound(ctx context.Context, u *work.Unit, by db.CustomersWithoutExternalIDParams) (db.Customer, error) {
	by.OrgID = u.OrgID
	rows, err := queries.CustomersWithoutExternalID(ctx, u.DB(), by)
	if err != nil || len(rows) != 1 {
		return db.Customer{}, err
	}
	return rows[0], nil
}

// ByExternalID returns the customer with an id at a processor; its ID is "" for none.
func ByExternalID(ctx context.Context, u *work.Unit, programID, externalID string) (db.Customer, error) {
	k, err := queries.CustomerByExternalID(ctx, u.DB(), db.CustomerByExternalIDParams{
		ProgramID: programID, OrgID: u.OrgID, ExternalCustomerID: externalID,
	})
	return k, work.IgnoreNoRows(err)
}

// FillIn fills missing fields of a customer from the clues: the external id, an email, a name and an
// identifier. A new email or identifier is checked as at sign-up, and so is an email that differs from the
// stored one, which stays. rule is the rule that found the customer; until the first payment it replaces the
// stored rule, except that known_customer replaces none.
func (s Service) FillIn(ctx context.Context, u *work.Unit, k db.Customer, c Clues, rule Rule) (db.Customer, error) {
	known := rule.Rule == api.AttributionRuleKnownCustomer
	if !c.adds(k, known) && !rule.replaces(k) {
		return k, nil
	}
	k, err := Lock(ctx, u, k.ID)
	if err != nil {
		return k, err
	}
	before := k
	if c.ExternalID != "" && !known {
		_, err := attach(ctx, u, &k, c.ExternalID, opt.OrNil(c.Processor))
		if err != nil && !problem.Is(err, problem.CustomerExternalIDLimit) { // the payment counts nevertheless
			return k, err
		}
	}
	fill(&k.Email, c.Email)
	fill(&k.Name, c.Name)
	fill(&k.Identifier, c.Own())
	if rule.replaces(k) {
		k.Attribution = rule.At(u.Now)
	}
	if err := s.judge(ctx, u, &k, before, c.Email); err != nil {
		return k, err
	}
	if reflect.DeepEqual(k, before) {
		return k, nil
	}
	k.UpdatedAt = u.Now
	if err := update(ctx, u.DB(), k); err != nil { // at once: a payment may follow
		return k, err
	}
	return k, s.retryChanged(ctx, u, before, k)
}

// adds reports whether the customer lacks any of the clues, or has another email.
func (c Clues) adds(k db.Customer, known bool) bool {
	lacks := func(stored *string, clue string) bool { return stored == nil && clue != "" }
	return c.ExternalID != "" && !known || lacks(k.Email, c.Email) ||
		lacks(k.Name, c.Name) || lacks(k.Identifier, c.Own()) ||
		c.Email != "" && k.PartnerID != nil && !strings.EqualFold(opt.Value(k.Email), c.Email)
}

// replaces reports whether the rule replaces the customer's stored one.
func (r Rule) replaces(k db.Customer) bool {
	if r.Rule == "" || k.PartnerID == nil {
		return false
	}
	return k.Attribution == nil || k.ConvertedAt == nil && r.Rule != api.AttributionRuleKnownCustomer
}

// fill sets a field that has no value.
func fill(field **string, clue string) {
	if *field == nil && clue != "" {
		*field = &clue
	}
}

// refusals are the codes of a route that does not fit, after which the next one is tried.
var refusals = []problem.Code{
	problem.ResourceNotFound, problem.ReferralExpired, problem.PartnerNotActive, problem.InvalidReference,
}

// Unfit reports whether err means that a route does not fit.
func Unfit(err error) bool {
	return problem.Is(err, refusals...)
}
