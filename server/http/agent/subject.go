package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"rail/server/opt"
	"rail/server/problem"
)

// Subject describes what a request of an agent is about, for the person who confirms it.
type Subject struct {
	ProgramID string
	// Kind and ID name the object; "" for an operation that names none.
	Kind, ID  string
	PartnerID string
	// Partner and Customer are names, written by the partner and the customer.
	Partner, Customer string
	// AmountMinor is the money of the request, in minor units of Currency; nil if it has none that is known before.
	AmountMinor *int64
	// BeforeMinor is the amount that a correction replaces.
	BeforeMinor *int64
	Currency    string
}

// object has the members of the API's objects that describe a subject.
type object struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	ProgramID   string  `json:"program_id"`
	PartnerID   *string `json:"partner_id"`
	CustomerID  *string `json:"customer_id"`
	AmountMinor *int64  `json:"amount_minor"`
	Currency    string  `json:"currency"`
	Totals      []struct {
		Currency    string `json:"currency"`
		AmountMinor int64  `json:"amount_minor"`
	} `json:"totals"`
	Partner *struct {
		ID string `json:"id"`
	} `json:"partner"`
}

// Describe reads what a request is about. It refuses a request about an object that does not exist, and one whose dry
// run is refused, except for a scope that the caller lacks: the person who confirms needs it.
func (a API) Describe(ctx context.Context, o Operation, args Arguments) (Subject, error) {
	out := Subject{
		ProgramID: args.Text("program_id"), PartnerID: args.Text("partner_id"), Currency: args.Text("currency"),
	}
	of, err := a.object(ctx, o, args)
	if err != nil {
		return out, err
	}
	out.take(of)
	tried, err := a.tryOut(ctx, o, args)
	if err != nil {
		return out, err
	}
	out.measure(o, args, of, tried)
	customer := cmp.Or(args.Text("customer_id"), opt.Value(of.CustomerID))
	if of.Object == "customer" {
		customer = of.ID
	}
	if out.Customer, err = a.name(ctx, "retrieveCustomer", customer); err != nil {
		return out, err
	}
	if out.Partner, err = a.name(ctx, "retrievePartner", out.PartnerID); err != nil {
		return out, err
	}
	return out, a.currency(ctx, &out)
}

// object returns the object that the path names, or the sale of a refund; an empty one if there is none.
func (a API) object(ctx context.Context, o Operation, args Arguments) (of object, err error) {
	if o.ID == "createRefund" {
		var list struct{ Data []object }
		err = a.Read(ctx, "listSales", Of("program_id", args.Text("program_id"),
			"external_charge_id", args.Text("external_charge_id")), &list)
		if err == nil && len(list.Data) > 0 {
			of = list.Data[0]
		}
		return of, err
	}
	prefix, _, named := strings.Cut(o.Path, "{id}")
	if !named {
		return of, nil
	}
	for _, get := range a.Catalogue {
		if get.Method == http.MethodGet && get.Path == prefix+"{id}" {
			return of, a.Read(ctx, get.ID, Of("id", args.Text("id")), &of)
		}
	}
	return of, nil
}

// take sets what the object says.
func (s *Subject) take(of object) {
	s.Kind, s.ID = of.Object, of.ID
	if of.Object == "program" {
		s.ProgramID = of.ID
	}
	s.ProgramID = cmp.Or(s.ProgramID, of.ProgramID)
	switch {
	case of.Object == "partner":
		s.PartnerID = of.ID
	case s.PartnerID != "":
	case of.Partner != nil:
		s.PartnerID = of.Partner.ID
	default:
		s.PartnerID = opt.Value(of.PartnerID)
	}
	s.Currency = cmp.Or(s.Currency, of.Currency)
}

// tryOut does the operation's dry run, if it has one.
func (a API) tryOut(ctx context.Context, o Operation, args Arguments) (tried object, err error) {
	if o.Body == nil || o.Body.Properties["dry_run"] == nil {
		return tried, nil
	}
	trial := maps.Clone(args)
	trial["dry_run"] = json.RawMessage("true")
	err = a.Read(ctx, o.ID, trial, &tried)
	if problem.Is(err, problem.InsufficientScope) {
		err = nil
	}
	return tried, err
}

// measure sets the amount: a given one, that of a dry run, or that of the object.
func (s *Subject) measure(o Operation, args Arguments, of, tried object) {
	for _, name := range []string{"amount_minor", "confirm_amount_minor"} {
		if n, ok := args.Integer(name); ok {
			s.AmountMinor = &n
			if of.Object == "commission" {
				s.BeforeMinor = of.AmountMinor
			}
			return
		}
	}
	switch {
	case o.ID == "creditCustomer":
		s.AmountMinor, s.Currency = tried.AmountMinor, cmp.Or(s.Currency, tried.Currency)
	case len(tried.Totals) == 1:
		s.AmountMinor, s.Currency = &tried.Totals[0].AmountMinor, tried.Totals[0].Currency
	case len(of.Totals) == 1:
		s.AmountMinor, s.Currency = &of.Totals[0].AmountMinor, of.Totals[0].Currency
	case of.Object == "commission", of.Object == "payout", of.Object == "sale": // of a sale what is not refunded yet
		s.AmountMinor = of.AmountMinor
	}
}

// name returns the name and email of a partner or customer; "" for no id.
func (a API) name(ctx context.Context, operation, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	var of struct {
		Email       *string `json:"email"`
		Name        *string `json:"name"`
		DisplayName *string `json:"display_name"`
		FirstName   *string `json:"first_name"`
		LastName    *string `json:"last_name"`
		CompanyName *string `json:"company_name"`
		Handle      *string `json:"handle"`
	}
	if err := a.Read(ctx, operation, Of("id", id), &of); err != nil {
		if problem.Is(err, problem.ResourceNotFound) {
			err = problem.NotFound(strings.ToLower(strings.TrimPrefix(operation, "retrieve")) + "_id")
		}
		return "", err
	}
	person := strings.TrimSpace(opt.Value(of.FirstName) + " " + opt.Value(of.LastName))
	name := cmp.Or(opt.Value(of.Name), opt.Value(of.DisplayName), person, opt.Value(of.CompanyName), opt.Value(of.Handle))
	if email := opt.Value(of.Email); email != "" && email != name {
		name = strings.TrimSpace(name + " (" + email + ")")
	}
	return cmp.Or(name, id), nil
}

// currency sets the program's currency for an amount without one.
func (a API) currency(ctx context.Context, s *Subject) error {
	if s.AmountMinor == nil || s.Currency != "" || s.ProgramID == "" {
		return nil
	}
	var of object
	err := a.Read(ctx, "retrieveProgram", Of("id", s.ProgramID), &of)
	s.Currency = of.Currency
	return err
}
