package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// emailDays is how long after a lead its e-mail alone says who has paid.
const emailDays = 7

// found is who paid: nobody where id is "". end is the outcome where the event ends
// with the question.
type found struct {
	id  string
	end *outcome
}

// keysOf are the names under which something may appear that says who paid.
func keysOf(b processor.Binding) []string {
	var keys []string
	add := func(value string, key func(string) string) {
		if value != "" {
			keys = append(keys, key(value))
		}
	}
	add(b.Customer, work.CustomerKey)
	add(b.Identifier, work.IdentifierKey)
	add(strings.ToLower(b.Email), work.EmailKey)
	for _, id := range b.Coupon {
		add(id, work.CouponKey)
	}
	return keys
}

// payer finds who paid, or signs them up where something says which partner brought
// them. The first rule that fits counts: a customer that is known by its id at the
// processor; a click or a referral; a customer that is known by the merchant's own
// id; a coupon by its id at the processor; one lead of the last days with the e-mail.
// A customer that has a partner keeps it. Nobody's payment waits for its checkout.
func (a *application) payer(ctx context.Context, p processor.Payment) (found, error) {
	b := p.Binding
	k, err := a.known(ctx, b)
	switch {
	case err != nil:
		return found{}, err
	case k.ID == "":
		f, err := first(ctx, b, a.byVisit, a.byIdentifier, a.byCoupon, a.byEmail)
		if err != nil || f.id != "" || f.end != nil || !a.c.RecordDirect {
			return f, err
		}
		if f.end, err = a.early(ctx, p); err != nil || f.end != nil {
			return f, err
		}
		return a.direct(ctx, b)
	}
	has, err := a.brought(ctx, k, b)
	if err != nil {
		return found{}, err
	}
	if k.PartnerID == nil && !has {
		if end, err := a.early(ctx, p); err != nil || end != nil {
			return found{end: end}, err
		}
	}
	rule := customer.Rule{Rule: api.AttributionRuleKnownCustomer, Detail: b.Customer}
	return found{id: k.ID}, a.note(ctx, k, rule, false)
}

// brought gives a known customer of nobody's to the partner that an event names, and
// reports whether it names one: a payment that was recorded without a partner may have
// come before its checkout.
func (a *application) brought(ctx context.Context, k db.Customer, b processor.Binding) (bool, error) {
	if k.PartnerID != nil {
		return false, nil
	}
	routes, err := a.routes(ctx, b)
	if err != nil {
		return false, err
	}
	for _, r := range routes {
		r.At = a.r.At
		err := a.Customers.Bring(ctx, a.u, k.ID, r)
		var refused *problem.Error
		if committed := errors.As(err, &refused) && refused.Committed; !unfit(err) && !committed {
			return err == nil, err
		}
	}
	return false, nil
}

// routes are the ways to partners that an event names: its visit, then its coupons.
func (a *application) routes(ctx context.Context, b processor.Binding) (all []tracking.Route, err error) {
	switch {
	case ident.Has(b.Click, ident.Click):
		all = append(all, tracking.Route{ClickID: &b.Click})
	case ident.Has(b.Referral, ident.Referral):
		all = append(all, tracking.Route{ReferralID: &b.Referral})
	}
	coupons, err := a.coupons(ctx, b)
	return append(all, coupons...), err
}

// first returns what the first of the rules found that fits.
func first(
	ctx context.Context, b processor.Binding, rules ...func(context.Context, processor.Binding) (found, error),
) (found, error) {
	for _, rule := range rules {
		if f, err := rule(ctx, b); err != nil || f.id != "" || f.end != nil {
			return f, err
		}
	}
	return found{}, nil
}

// known returns the customer that has the id at the processor. It holds every name
// of the customer: two first events of one must not both sign it up.
func (a *application) known(ctx context.Context, b processor.Binding) (db.Customer, error) {
	b.Identifier, b.Coupon = a.identifier(b), nil
	names := slices.Sorted(slices.Values(keysOf(b)))
	if b.Customer == "" {
		return db.Customer{}, a.lock(ctx, names)
	}
	var k db.Customer
	err := a.u.Together(ctx,
		func(tx pgtx.DBTX) error { return a.lockOn(ctx, tx, names) },
		func(tx pgtx.DBTX) (err error) {
			k, err = a.customer(ctx, tx, b.Customer)
			return err
		})
	return k, err
}

func (a *application) byExternalID(ctx context.Context, id string) (db.Customer, error) {
	return a.customer(ctx, a.u.DB(), id)
}

func (a *application) customer(ctx context.Context, tx pgtx.DBTX, id string) (db.Customer, error) {
	k, err := queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalCustomerID: &id,
	})
	return k, work.IgnoreNoRows(err)
}

// byVisit follows a click or a referral. A lead that came by the same visit is the
// customer, unless its e-mail or identifier is another.
func (a *application) byVisit(ctx context.Context, b processor.Binding) (found, error) {
	route, referral := tracking.Route{}, b.Referral
	switch {
	case ident.Has(b.Click, ident.Click):
		route.ClickID = &b.Click
		click, err := queries.ClickGet(ctx, a.u.DB(), db.ClickGetParams{ID: b.Click, OrgID: a.e.OrgID})
		if errors.Is(err, pgx.ErrNoRows) || err == nil && click.ProgramID != a.e.ProgramID {
			return found{}, nil
		}
		if err != nil {
			return found{}, err
		}
		referral = opt.Value(click.ReferralID)
	case ident.Has(b.Referral, ident.Referral):
		route.ReferralID = &b.Referral
	default:
		return found{}, nil
	}
	rule := customer.Rule{Rule: api.AttributionRuleClick, Detail: b.Click}
	if route.ClickID == nil {
		rule = customer.Rule{Rule: api.AttributionRuleReferral, Detail: b.Referral}
	}
	for _, by := range []db.CustomerUnboundParams{
		{Identifier: text(a.identifier(b))}, {ReferralID: text(referral)},
	} {
		k, err := a.lead(ctx, by)
		if err != nil {
			return found{}, err
		}
		if k.ID != "" && k.PartnerID != nil && same(k, b) {
			return found{id: k.ID}, a.bind(ctx, k, b, rule)
		}
	}
	return a.signUp(ctx, b, route)
}

// same reports whether a lead can be who paid.
func same(k db.Customer, b processor.Binding) bool {
	fits := func(stored *string, given string) bool {
		return stored == nil || given == "" || strings.EqualFold(*stored, given)
	}
	return fits(k.Email, b.Email) && fits(k.Identifier, b.Identifier)
}

// identifier is the merchant's own id of a customer; guests are known by their e-mail.
func (a *application) identifier(b processor.Binding) string {
	if b.Identifier == "" && b.Customer == "" {
		return b.Email
	}
	return b.Identifier
}

// lead returns the one customer without an id at a processor that fits; none where
// several do.
func (a *application) lead(ctx context.Context, by db.CustomerUnboundParams) (db.Customer, error) {
	if by.Identifier == nil && by.Email == nil && by.ReferralID == nil {
		return db.Customer{}, nil
	}
	by.ProgramID, by.OrgID, by.Since = a.e.ProgramID, a.e.OrgID, a.r.At.Days(-emailDays)
	rows, err := queries.CustomerUnbound(ctx, a.u.DB(), by)
	if err != nil || len(rows) != 1 {
		return db.Customer{}, err
	}
	return rows[0], nil
}

// byIdentifier finds a customer by the merchant's own id.
func (a *application) byIdentifier(ctx context.Context, b processor.Binding) (found, error) {
	id := a.identifier(b)
	k, err := a.lead(ctx, db.CustomerUnboundParams{Identifier: text(id)})
	if err != nil || k.ID == "" {
		return found{}, err
	}
	return found{id: k.ID}, a.bind(ctx, k, b, customer.Rule{Rule: api.AttributionRuleIdentifier, Detail: id})
}

// byCoupon follows a coupon, by its id at the processor and never by its code.
func (a *application) byCoupon(ctx context.Context, b processor.Binding) (found, error) {
	routes, err := a.coupons(ctx, b)
	for _, r := range routes {
		if f, err := a.signUp(ctx, b, r); err != nil || f.id != "" || f.end != nil {
			return f, err
		}
	}
	return found{}, err
}

// coupons are the ways to partners by coupons, the nearest to the payment first, as the
// processor's package has ordered them.
func (a *application) coupons(ctx context.Context, b processor.Binding) (all []tracking.Route, err error) {
	if len(b.Coupon) == 0 {
		return nil, nil
	}
	coupons, err := queries.CouponByExternalIDs(ctx, a.u.DB(), db.CouponByExternalIDsParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalIds: b.Coupon,
	})
	for _, id := range b.Coupon {
		at := slices.IndexFunc(coupons, func(k db.Coupon) bool { return opt.Value(k.ExternalID) == id && k.PartnerID != nil })
		if at >= 0 {
			all = append(all, tracking.Route{CouponID: &coupons[at].ID})
		}
	}
	return all, err
}

// byEmail finds the one lead of the last days with the e-mail.
func (a *application) byEmail(ctx context.Context, b processor.Binding) (found, error) {
	email := strings.ToLower(b.Email)
	k, err := a.lead(ctx, db.CustomerUnboundParams{Email: text(email)})
	if err != nil || k.ID == "" {
		return found{}, err
	}
	return found{id: k.ID}, a.bind(ctx, k, b, customer.Rule{Rule: api.AttributionRuleEmail, Detail: email})
}

// direct signs up whom nobody brought.
func (a *application) direct(ctx context.Context, b processor.Binding) (found, error) {
	k, err := a.Customers.Direct(ctx, a.u, a.input(b, tracking.Route{}))
	return found{id: k.ID}, err
}

// signUp makes the customer by a route. A route that does not fit makes none.
func (a *application) signUp(ctx context.Context, b processor.Binding, route tracking.Route) (found, error) {
	k, err := a.Customers.Create(ctx, a.u, a.input(b, route))
	var refused *problem.Error
	switch {
	case errors.As(err, &refused) && refused.Committed:
		o := ignored(string(refused.Code), refused.Message)
		return found{end: &o}, nil
	case refused != nil && refused.Code == problem.CustomerExternalIDTaken:
		// The merchant's own server has made it since it was looked for.
		k, err = a.byExternalID(ctx, b.Customer)
	case unfit(err):
		return found{}, nil
	}
	return found{id: k.ID}, err
}

// input returns the customer to sign up.
func (a *application) input(b processor.Binding, route tracking.Route) customer.Input {
	route.At = a.r.At
	return customer.Input{
		ProgramID: a.e.ProgramID, Route: route, ExternalCustomerID: text(b.Customer), Email: text(b.Email),
		Name: text(b.Name), Identifier: text(a.identifier(b)), Processor: a.c.Processor,
	}
}

// bind gives a lead its id at the processor, and notes by what it was found.
func (a *application) bind(ctx context.Context, k db.Customer, b processor.Binding, rule customer.Rule) error {
	if b.Customer != "" {
		n, err := queries.CustomerBind(ctx, a.u.DB(), db.CustomerBindParams{
			ExternalCustomerID: &b.Customer, Processor: &a.c.Processor, UpdatedAt: a.u.Now, ID: k.ID, OrgID: k.OrgID,
		})
		if err != nil || n == 0 {
			return err
		}
		if err := a.u.Appeared(ctx, a.e.ProgramID, work.CustomerKey(b.Customer)); err != nil {
			return err
		}
	}
	return a.note(ctx, k, rule, k.ConvertedAt == nil)
}

// note writes the rule by which a customer was found where none is noted, or, where
// it is the better one, in place of it.
func (a *application) note(ctx context.Context, k db.Customer, rule customer.Rule, better bool) error {
	if k.ID == "" || k.PartnerID == nil || k.Attribution != nil && !better {
		return nil
	}
	return queries.CustomerAttributed(ctx, a.u.Later(), db.CustomerAttributedParams{
		Attribution: rule.At(a.u.Now), ID: k.ID, OrgID: k.OrgID,
	})
}
