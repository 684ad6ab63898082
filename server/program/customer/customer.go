// Package customer has the rules of referred customers: how a customer signs up and is attributed to a partner,
// is found as a payer, changed and deleted.
package customer

import (
	"cmp"
	"context"
	"encoding/json"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/money/commission"
	"rail/server/money/sale"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/program/claim"
	"rail/server/program/risk"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/metadata"
)

var queries = db.New()

// Service has the rules that need more than a unit of work.
type Service struct {
	Mail   *mail.Outbox   // sends mails to partners; may be nil
	Keeper *secret.Keeper // opens payout details to read the partner's email; may be nil
	Claims claim.Service  // reads the claims of AI assistants
}

// Input is a customer to sign up. Status is nil for a lead.
type Input struct {
	ProgramID                                           string
	Route                                               tracking.Route
	ExternalCustomerID, Email, Name, Identifier, Status *string
	Metadata                                            json.RawMessage
	// Processor is the processor that reported the customer; "" for the API.
	Processor string
	Others    []tracking.Route // named beside Route
	// Claim is an AI assistant's; only CreateCompared reads it.
	Claim sale.Claim
}

// Created is a new customer, with other customers that have the same identifier or email, and the record of an AI
// assistant's claim, nil without one.
type Created struct {
	db.Customer
	Others []Duplicate
	Claim  *db.AttributionClaim
}

// Create signs a customer up and attributes it to a partner: by name, or through its click or coupon. An
// external id in use is a conflict with the customer that has it.
func (s Service) Create(ctx context.Context, u *work.Unit, in Input) (db.Customer, error) {
	out, err := s.CreateCompared(ctx, u, in)
	return out.Customer, err
}

// CreateCompared is Create, with an AI assistant's claim as a further way. It also compares the customer with others.
func (s Service) CreateCompared(ctx context.Context, u *work.Unit, in Input) (out Created, err error) {
	var inserted bool
	if in.Claim.IsSet() {
		inserted, err = s.signUpClaimed(ctx, u, in, &out)
	} else {
		out.Customer, inserted, err = s.signUpCompared(ctx, u, in, &out.Others)
	}
	if err == nil && !inserted {
		err = externalIDTaken(ctx, u, in.ProgramID, *in.ExternalCustomerID)
	}
	return out, err
}

// Direct signs up a customer without a partner. If the external id is in use, it returns the customer with it.
func (s Service) Direct(ctx context.Context, u *work.Unit, in Input) (db.Customer, error) {
	k, err := newDirect(u, in)
	if err != nil {
		return k, err
	}
	inserted, err := insert(ctx, u, k, new([]Duplicate))
	if err == nil && !inserted {
		return ByExternalID(ctx, u, in.ProgramID, *in.ExternalCustomerID)
	}
	return k, err
}

// signUp attributes and writes a customer with all its effects. If the external id is in use, it returns false
// and writes nothing: the caller decides whether that is a conflict or the customer it wants.
func (s Service) signUp(ctx context.Context, u *work.Unit, in Input) (k db.Customer, inserted bool, err error) {
	return s.signUpCompared(ctx, u, in, new([]Duplicate))
}

func (s Service) signUpCompared(
	ctx context.Context, u *work.Unit, in Input, others *[]Duplicate,
) (k db.Customer, inserted bool, err error) {
	if err := in.Route.Validate(); err != nil {
		return k, false, err
	}
	if err := metadata.Check(in.Metadata, "metadata"); err != nil {
		return k, false, err
	}
	p, err := u.Program(ctx, in.ProgramID)
	if err != nil {
		return k, false, err
	}
	var flows []db.FlowsForPartnerRow
	// The flows of the partner are read in the same round trip.
	a, err := tracking.Attribute(ctx, u, p, in.Route, func(partnerID string) pgtx.Read {
		return func(tx pgtx.DBTX) (err error) {
			flows, err = queries.FlowsForPartner(ctx, tx, commission.SignupFlows(u, partnerID))
			return err
		}
	})
	if err != nil {
		return k, false, err
	}
	// After all reads and before any write: a refusal changes nothing.
	own, err := s.Addresses(a.Partner)
	if err != nil {
		return k, false, err
	}
	self := IsOwn(own, in.Email, in.Identifier)
	if err := a.Validate(ctx, u, p, self); err != nil {
		return k, false, err
	}
	if k, err = newCustomer(u, in, a); err != nil {
		return k, false, err
	}
	k.SelfReferral = self
	if inserted, err := insert(ctx, u, k, others); err != nil || !inserted {
		return k, false, err
	}
	if err := retryPayments(ctx, u, k); err != nil {
		return k, false, err
	}
	return k, true, s.welcome(ctx, u, p, a, own, k, flows)
}

// welcome writes the effects of a new customer: risk checks, the mail to the partner, the referral's change to a
// lead, and commissions of sign-up flows.
func (s Service) welcome(
	ctx context.Context, u *work.Unit, p db.Program, a tracking.Attribution, own []string, k db.Customer,
	flows []db.FlowsForPartnerRow,
) error {
	if err := risk.CheckCustomer(ctx, u, a.Partner, own, k, address(k)); err != nil {
		return err
	}
	if err := s.notifyOfLead(ctx, u, a.Partner, k); err != nil {
		return err
	}
	if err := a.Lead(ctx, u, k); err != nil {
		return err
	}
	return commission.ForSignup(ctx, u, commission.Signup{
		Customer: k, ProgramCurrency: p.Currency, HoldingPeriodDays: p.HoldingPeriodDays,
		PartnerStatus: a.Partner.Status, PartnerGroupID: a.Partner.GroupID, PartnerCountry: a.Partner.CountryCode,
		ClickCountry: a.Country(),
	}, flows)
}

// newCustomer returns the row to insert, a lead unless the request has another status.
func newCustomer(u *work.Unit, in Input, a tracking.Attribution) (db.Customer, error) {
	plain.Names(&in.Name)
	k := db.Customer{
		ID: u.NewID(ident.Customer), OrgID: u.OrgID, ProgramID: in.ProgramID, Email: in.Email, Name: in.Name,
		ExternalCustomerID: in.ExternalCustomerID, Identifier: in.Identifier, Status: db.CustomerStatusLead,
		Processor: new(cmp.Or(in.Processor, "api")), LeadAt: u.Now, Metadata: metadata.Stored(in.Metadata),
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if in.Status != nil {
		k.Status = db.CustomerStatus(*in.Status)
	}
	a.Apply(&k)
	k.Attribution = ruleOf(in.Route, a).At(u.Now)
	return k, noteRoutes(&k, in.Route, a, in.Others...)
}

// newDirect returns the row of a customer without a partner.
func newDirect(u *work.Unit, in Input) (db.Customer, error) {
	k, err := newCustomer(u, in, tracking.Attribution{})
	k.PartnerID, k.Attribution = nil, nil
	return k, err
}

// insert writes the row and its external id at once, not with the commit, since the next steps depend on whether
// the id is free. If it is in use, insert returns false and leaves no row. others are the customers with the
// same identifier or email.
func insert(ctx context.Context, u *work.Unit, k db.Customer, others *[]Duplicate) (bool, error) {
	n := int64(1)
	err := u.Together(ctx,
		func(tx pgtx.DBTX) error { return queries.CustomerInsert(ctx, tx, db.CustomerInsertParams(k)) },
		func(tx pgtx.DBTX) (err error) {
			if k.ExternalCustomerID != nil {
				n, err = queries.ExternalIDAdd(ctx, tx, db.ExternalIDAddParams{
					ProgramID: k.ProgramID, OrgID: k.OrgID, ExternalCustomerID: *k.ExternalCustomerID, CustomerID: k.ID,
					Processor: k.Processor, CreatedAt: u.Now,
				})
			}
			return err
		},
		func(tx pgtx.DBTX) error {
			if k.Email == nil && k.Identifier == nil {
				return nil
			}
			return readDuplicates(ctx, k, others)(tx)
		})
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, queries.CustomerDelete(ctx, u.DB(), db.CustomerDeleteParams{ID: k.ID, OrgID: k.OrgID})
	}
	return true, noteDuplicates(ctx, u, k, *others)
}

// externalIDTaken returns the conflict, with the customer that has the id.
func externalIDTaken(ctx context.Context, u *work.Unit, programID, externalID string) error {
	holder, err := ByExternalID(ctx, u, programID, externalID)
	if err != nil {
		return err
	}
	return externalIDConflict(holder)
}

// notifyOfLead mails the partner about a new lead, if the partner opted in (decisions, 54). The first lead has
// its own mail and its own choice.
func (s Service) notifyOfLead(ctx context.Context, u *work.Unit, p db.Partner, k db.Customer) error {
	if s.Mail == nil || !s.Mail.Configured || !p.EmailFirstReferral && !p.EmailNewReferral {
		return nil
	}
	// The count is read only if a mail may go, since it costs a round trip.
	n, err := queries.PartnerLeads(ctx, u.Tx, db.PartnerLeadsParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID,
	})
	first := n <= 1 // the count includes this one
	if err != nil || !(first && p.EmailFirstReferral || p.EmailNewReferral) {
		return err
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return err
	}
	m := mail.NewReferral(mail.ToPartner(p, prog, ""), k.ID, first && p.EmailFirstReferral)
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}
