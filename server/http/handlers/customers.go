package handlers

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/auditlog"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/metadata"
	"rail/server/money/commission"
	"rail/server/money/report"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// CreateCustomer attributes a customer to a partner: by name, or through the
// click that brought the visitor, or by a coupon.
func (s *Server) CreateCustomer(ctx context.Context, r api.CreateCustomerRequestObject) (api.CreateCustomerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	k, inserted, err := s.enroll(ctx, u, b)
	if err == nil && !inserted {
		err = externalIDTaken(ctx, u, b.ProgramID, *b.ExternalCustomerID)
	}
	return api.CreateCustomer201JSONResponse(toCustomer(k)), err
}

// enroll attributes and writes a customer, with all that follows from a sign-up.
// It writes nothing where the external id is taken.
func (s *Server) enroll(ctx context.Context, u *work.Unit, b *api.CustomerCreate) (k db.Customer, inserted bool, err error) {
	if err := oneRoute(b); err != nil {
		return k, false, err
	}
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return k, false, err
	}
	p, err := u.Program(ctx, b.ProgramID)
	if err != nil {
		return k, false, err
	}
	a, err := attribute(ctx, u, b)
	if err != nil {
		return k, false, err
	}
	a.monitored = u.Plan.FraudMonitoring
	if err := a.allowed(ctx, u, p, b.Email); err != nil {
		return k, false, err
	}
	k = newCustomer(u, b, a)
	if inserted, err := insertCustomer(ctx, u, k); err != nil || !inserted {
		return k, false, err
	}
	return k, true, s.welcome(ctx, u, p, a, k)
}

// welcome does what follows from a new customer: checks, mails, its referral
// turns into a lead, and the flows that answer a sign-up are asked.
func (s *Server) welcome(ctx context.Context, u *work.Unit, p db.Program, a attribution, k db.Customer) error {
	if err := s.checkCustomer(ctx, u, a.partner, k); err != nil {
		return err
	}
	if err := s.tellOfLead(ctx, u, a.partner, k); err != nil {
		return err
	}
	if err := a.lead(ctx, u, k); err != nil {
		return err
	}
	return commission.Welcome(ctx, u, commission.Signup{
		Customer: k, ProgramCurrency: p.Currency, HoldingPeriodDays: p.HoldingPeriodDays, PartnerStatus: a.partner.Status,
		PartnerGroupID: a.partner.GroupID, PartnerCountry: a.partner.CountryCode, ClickCountry: a.country,
	}, a.flows)
}

// oneRoute asks for exactly one of the ways to a partner (decisions, 83 and 230).
func oneRoute(b *api.CustomerCreate) error {
	if b.PartnerID == nil && b.ClickID == nil && b.CouponCode == nil {
		return problem.On("partner_id", problem.ParameterMissing, "One of partner_id, click_id and coupon_code is required.")
	}
	return atMostOne(member{"partner_id", b.PartnerID}, member{"click_id", b.ClickID}, member{"coupon_code", b.CouponCode})
}

// attribution is where a customer comes from.
type attribution struct {
	partner  db.Partner
	couponID *string
	click    *db.Click
	referral *db.Referral
	country  *string
	flows    []db.FlowsAskedRow
	param    string // the field that named the route
	// monitored is whether what looks wrong is flagged.
	monitored bool
}

// attribute reads the partner, and the click and its referral where the route
// is a click, and the flows that a sign-up asks.
func attribute(ctx context.Context, u *work.Unit, b *api.CustomerCreate) (attribution, error) {
	a := attribution{param: "partner_id"}
	partnerID := opt.Value(b.PartnerID)
	if b.ClickID != nil {
		a.param = "click_id"
		click, err := queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: *b.ClickID, OrgID: u.OrgID})
		if err != nil {
			return a, work.Found(err, a.param)
		}
		a.click, a.country, partnerID = &click, click.Country, click.PartnerID
	}
	if b.CouponCode != nil {
		a.param = "coupon_code"
		coupon, err := creditedCoupon(ctx, u, b.ProgramID, *b.CouponCode)
		if err != nil {
			return a, err
		}
		a.couponID, partnerID = &coupon.ID, *coupon.PartnerID
	}
	var referral db.Referral
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			a.partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			a.flows, err = queries.FlowsAsked(ctx, tx, commission.SignupFlows(u, partnerID))
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			referral, err = queries.ReferralLock(ctx, tx, db.ReferralLockParams{ID: a.referralID(), OrgID: u.OrgID})
			return err
		})
	if err := work.Found(errs[0], a.param); err != nil {
		return a, err
	}
	if err := pgtx.First(errs); err != nil {
		return a, err
	}
	if errs[2] == nil {
		a.referral = &referral
	}
	return a, nil
}

// creditedCoupon finds a coupon that can attribute a customer: an unknown code
// and one that the processor no longer accepts are one and the same 404.
func creditedCoupon(ctx context.Context, u *work.Unit, programID, code string) (db.Coupon, error) {
	coupon, err := queries.CouponByCode(ctx, u.DB(), db.CouponByCodeParams{ProgramID: programID, OrgID: u.OrgID, Code: code})
	switch {
	case err != nil:
		return coupon, work.Found(err, "coupon_code")
	case !coupon.Active:
		return coupon, problem.NotFound("coupon_code")
	case coupon.PartnerID == nil:
		return coupon, problem.On("coupon_code", problem.InvalidReference, "The coupon credits no partner.")
	}
	return coupon, nil
}

func (a attribution) referralID() string {
	if a.click == nil {
		return ""
	}
	return opt.Value(a.click.ReferralID)
}

// allowed judges the attribution: it fits the program, the partner is active,
// the visit has not expired, and nobody refers themselves.
func (a attribution) allowed(ctx context.Context, u *work.Unit, p db.Program, email *string) error {
	if err := work.SameProgram(a.partner.ProgramID, p.ID, a.param); err != nil {
		return err
	}
	if a.partner.Status != db.PartnerStatusActive {
		return problem.On(a.param, problem.PartnerNotActive, "The partner is %s; only active partners get customers.", a.partner.Status)
	}
	if a.referral != nil && !a.referral.ExpiresAt.After(u.Now.Time) {
		return problem.On("click_id", problem.ReferralExpired, "The referral of this click expired at %s.", a.referral.ExpiresAt)
	}
	return a.selfReferral(ctx, u, p, email)
}

func newCustomer(u *work.Unit, b *api.CustomerCreate, a attribution) db.Customer {
	k := db.Customer{
		ID: ident.New(ident.Customer), OrgID: u.OrgID, ProgramID: b.ProgramID, PartnerID: &a.partner.ID, ClickID: b.ClickID,
		ExternalCustomerID: b.ExternalCustomerID, Email: b.Email, Name: b.Name, Identifier: b.Identifier, Status: db.CustomerStatusLead,
		CouponID: a.couponID, Processor: new("api"), TrackedBy: db.TrackedByAPI, LeadAt: u.Now, Metadata: metadata.Stored(b.Metadata), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if b.Status != nil {
		k.Status = db.CustomerStatus(*b.Status)
	}
	switch {
	case a.click != nil:
		k.TrackedBy, k.LinkID = db.TrackedByLink, a.click.LinkID
	case a.couponID != nil:
		k.TrackedBy = db.TrackedByCoupon
	}
	if a.referral != nil {
		k.ReferralID = &a.referral.ID
		k.LinkID = a.referral.LinkID
	}
	return k
}

func insertCustomer(ctx context.Context, u *work.Unit, k db.Customer) (bool, error) {
	n, err := queries.CustomerInsert(ctx, u.DB(), db.CustomerInsertParams(k))
	return n == 1, err
}

func externalIDTaken(ctx context.Context, u *work.Unit, programID, externalID string) error {
	held, err := queries.CustomerByExternalID(ctx, u.DB(), db.CustomerByExternalIDParams{ProgramID: programID, OrgID: u.OrgID, ExternalCustomerID: &externalID})
	if err != nil {
		return err
	}
	return problem.Taken(problem.CustomerExternalIDTaken, "external_customer_id", held, "A customer with this external_customer_id exists in the program.")
}

// lead moves the visit to lead, once (decisions, 72).
func (a attribution) lead(ctx context.Context, u *work.Unit, k db.Customer) error {
	if a.referral == nil || a.referral.Status != db.ReferralStatusVisit {
		return nil
	}
	u.Record(event.Subject{ProgramID: k.ProgramID, PartnerID: a.partner.ID, ID: a.referral.ID}, events.ReferralLead(api.ReferralLeadData{
		ReferralID: a.referral.ID, CustomerID: k.ID, PartnerID: a.partner.ID, Email: k.Email, TrackedBy: api.TrackedBy(k.TrackedBy),
	}))
	return queries.ReferralSetStatus(ctx, u.Later(), db.ReferralSetStatusParams{Status: db.ReferralStatusLead, UpdatedAt: u.Now, ID: a.referral.ID, OrgID: k.OrgID})
}

// tellOfLead mails the partner of a new lead, if the partner wants that
// (decisions, 54).
func (s *Server) tellOfLead(ctx context.Context, u *work.Unit, p db.Partner, k db.Customer) error {
	if s.Mail == nil || !s.Mail.Configured || !p.EmailFirstReferral && !p.EmailNewReferral {
		return nil
	}
	n, err := queries.PartnerLeads(ctx, u.Tx, db.PartnerLeadsParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID})
	first := n <= 1 // this one is written already
	if err != nil || !(first && p.EmailFirstReferral || p.EmailNewReferral) {
		return err
	}
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, mail.NewReferral(p.Email, k.ID, first && p.EmailFirstReferral), u.Now)
}

// UpdateCustomer changes a customer; a new partner_id reassigns it.
func (s *Server) UpdateCustomer(ctx context.Context, r api.UpdateCustomerRequestObject) (api.UpdateCustomerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return nil, err
	}
	k, err := lockCustomer(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	before := k
	if b.PartnerID != nil {
		if err := reassign(ctx, u, &k, *b.PartnerID); err != nil {
			return nil, err
		}
	}
	changeOrClear(&k.Email, b.Email)
	changeOrClear(&k.Name, b.Name)
	changeOrClear(&k.Identifier, b.Identifier)
	if b.Metadata != nil {
		k.Metadata = metadata.Stored(b.Metadata)
	}
	if b.Status != nil {
		k.Status = db.CustomerStatus(*b.Status)
	}
	if opt.Value(k.Email) != opt.Value(before.Email) || opt.Value(k.PartnerID) != opt.Value(before.PartnerID) {
		if err := s.checkAgain(ctx, u, k); err != nil {
			return nil, err
		}
	}
	k.UpdatedAt = u.Now
	err = queries.CustomerUpdate(ctx, u.Later(), db.CustomerUpdateParams{
		PartnerID: k.PartnerID, ReferralID: k.ReferralID, LinkID: k.LinkID, CouponID: k.CouponID, ClickID: k.ClickID, TrackedBy: k.TrackedBy,
		Email: k.Email, Name: k.Name, Identifier: k.Identifier, Status: k.Status, Metadata: k.Metadata, UpdatedAt: k.UpdatedAt, ID: k.ID, OrgID: k.OrgID,
	})
	return api.UpdateCustomer200JSONResponse(toCustomer(k)), err
}

// checkAgain looks at a customer whose address or partner is another now. Nothing is
// refused: the merchant who changes a customer knows more than the e-mail tells.
func (s *Server) checkAgain(ctx context.Context, u *work.Unit, k db.Customer) error {
	if !u.Plan.FraudMonitoring || k.Email == nil || k.PartnerID == nil {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *k.PartnerID, OrgID: k.OrgID})
	if err != nil {
		return err
	}
	return s.checkCustomer(ctx, u, p, k)
}

// reassign gives the customer to another partner: recorded as manual, without
// the traces of the old way (decisions, 87). Past commissions stay.
func reassign(ctx context.Context, u *work.Unit, k *db.Customer, partnerID string) error {
	if k.PartnerID != nil && *k.PartnerID == partnerID {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "partner_id")
	}
	if err := work.SameProgram(p.ProgramID, k.ProgramID, "partner_id"); err != nil {
		return err
	}
	if p.Status != db.PartnerStatusActive {
		return problem.On("partner_id", problem.PartnerNotActive, "The partner is %s; only active partners get customers.", p.Status)
	}
	if err := report.TouchCustomer(ctx, u, *k); err != nil {
		return err
	}
	before := k.PartnerID
	k.PartnerID, k.TrackedBy = &partnerID, db.TrackedByManual
	k.ReferralID, k.LinkID, k.CouponID, k.ClickID = nil, nil, nil, nil
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "customer.reassigned", TargetID: k.ID,
		Before: map[string]any{"partner_id": before}, After: map[string]any{"partner_id": partnerID},
	})
}

// DeleteCustomer removes a customer that never paid. Its sign-up commission is
// voided unless it was paid, and its lead, when nobody else holds it, becomes a
// visit again (decisions, 72 and 88).
func (s *Server) DeleteCustomer(ctx context.Context, r api.DeleteCustomerRequestObject) (api.DeleteCustomerResponseObject, error) {
	u := work.From(ctx)
	k, err := lockCustomer(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	var history db.SaleHistoryRow
	var signups []db.Commission
	err = u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			history, err = queries.SaleHistory(ctx, tx, db.SaleHistoryParams{ProgramID: k.ProgramID, OrgID: k.OrgID, CustomerID: k.ID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			signups, err = queries.CustomerSignupCommissions(ctx, tx, db.CustomerSignupCommissionsParams{CustomerID: &k.ID, ProgramID: k.ProgramID, OrgID: k.OrgID})
			return err
		})
	if err != nil {
		return nil, err
	}
	if history.HasSales {
		return nil, problem.New(problem.CustomerHasSales, "The customer has sales; it cannot be deleted.")
	}
	for _, signup := range signups {
		if err := voidSignup(ctx, u, signup); err != nil {
			return nil, err
		}
	}
	if k.ReferralID != nil {
		back := db.ReferralReleaseParams{UpdatedAt: u.Now, ID: *k.ReferralID, OrgID: k.OrgID, CustomerID: k.ID}
		if err := queries.ReferralRelease(ctx, u.Later(), back); err != nil {
			return nil, err
		}
	}
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return nil, err
	}
	err = queries.CustomerDelete(ctx, u.Later(), db.CustomerDeleteParams{ID: k.ID, OrgID: k.OrgID})
	return api.DeleteCustomer200JSONResponse{ID: k.ID, Object: "customer", Deleted: true}, err
}

func voidSignup(ctx context.Context, u *work.Unit, k db.Commission) error {
	switch k.Status {
	case db.CommissionStatusPaid:
		return problem.New(problem.CustomerHasPaidCommissions, "The customer's sign-up commission %s is paid; the customer cannot be deleted.", k.ID)
	case db.CommissionStatusVoided, db.CommissionStatusRejected:
		return nil
	}
	return commission.Void(ctx, u, k, "customer_deleted")
}

func lockCustomer(ctx context.Context, u *work.Unit, id string) (db.Customer, error) {
	k, err := queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: id, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return k, problem.NotFound("")
	}
	if err != nil {
		return k, err
	}
	return k, u.CheckProgram(k.ProgramID)
}
