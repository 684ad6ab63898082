package customer

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// LockPair locks two customers of one program in the order of their ids, and returns the result of their merge.
func (s Service) LockPair(ctx context.Context, u *work.Unit, m sale.Merge) (sale.Pair, error) {
	p, err := lockPair(ctx, u, m.IntoID, m.FromID)
	for range 4 { // another merge may have ended during the wait
		if !problem.Is(err, problem.ResourceNotFound) {
			break
		}
		p, err = lockPair(ctx, u, m.IntoID, m.FromID)
	}
	if err != nil {
		return p, err
	}
	if err := checkMergedPartner(ctx, u, m.PartnerID, p.Into.ProgramID); err != nil {
		return p, err
	}
	if p.Merged, err = merged(p, m.PartnerID); err != nil {
		return p, err
	}
	both := []string{p.Into.ID, p.From.ID}
	p.IDs, err = queries.ExternalIDs(ctx, u.DB(), db.ExternalIDsParams{CustomerIds: both, OrgID: u.OrgID})
	if err == nil && len(p.IDs) > maxExternalIDs {
		err = problem.New(problem.CustomerExternalIDLimit, "The customers have more than %d external ids together.",
			maxExternalIDs)
	}
	slices.SortStableFunc(p.IDs, func(a, b db.CustomerExternalID) int { return a.CreatedAt.Compare(b.CreatedAt.Time) })
	return p, err
}

// checkMergedPartner refuses a partner that is not of the program.
func checkMergedPartner(ctx context.Context, u *work.Unit, partnerID *string, programID string) error {
	if partnerID == nil {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *partnerID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "partner_id")
	}
	return work.SameProgram(p.ProgramID, programID, "partner_id")
}

func lockPair(ctx context.Context, u *work.Unit, into, from string) (p sale.Pair, err error) {
	for _, id := range []*string{&into, &from} {
		if *id, err = survivor(ctx, u, *id); err != nil {
			return p, err
		}
	}
	if into == from {
		return p, problem.Invalid("customer_id", "customer_id is this customer already.")
	}
	locked := map[string]db.Customer{}
	for _, id := range slices.Sorted(slices.Values([]string{into, from})) {
		param := ""
		if id == from {
			param = "customer_id"
		}
		k, err := queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: id, OrgID: u.OrgID})
		if err != nil {
			return p, work.Found(err, param)
		}
		locked[id] = k
	}
	p.Into, p.From = locked[into], locked[from]
	if err := u.CheckProgram(p.Into.ProgramID); err != nil {
		return p, err
	}
	return p, work.SameProgram(p.From.ProgramID, p.Into.ProgramID, "customer_id")
}

// merged returns the customer after the merge. If the partners differ, partnerID must be one of them; the
// customer keeps the route to it. It takes over the name, email, identifier, subscription and metadata that it
// lacks, and the earlier sign-up and conversion.
func merged(p sale.Pair, partnerID *string) (db.Customer, error) {
	k := p.Into
	if err := choosePartner(p, &k, partnerID); err != nil {
		return k, err
	}
	k.Email, k.Name, k.Identifier = opt.Or(k.Email, p.From.Email), opt.Or(k.Name, p.From.Name),
		opt.Or(k.Identifier, p.From.Identifier)
	k.ExternalSubscriptionID = opt.Or(k.ExternalSubscriptionID, p.From.ExternalSubscriptionID)
	if k.ExternalCustomerID == nil {
		k.ExternalCustomerID, k.Processor = p.From.ExternalCustomerID, p.From.Processor
	}
	if k.Metadata == nil {
		k.Metadata = p.From.Metadata
	}
	if p.From.LeadAt.Before(k.LeadAt.Time) {
		k.LeadAt = p.From.LeadAt
	}
	k.ConvertedAt = earlier(k.ConvertedAt, p.From.ConvertedAt)
	k.Status = slices.MaxFunc([]db.CustomerStatus{k.Status, p.From.Status}, func(a, b db.CustomerStatus) int {
		return cmp.Compare(slices.Index(ranks, a), slices.Index(ranks, b))
	})
	return k, nil
}

// ranks orders the states of customers; a merge keeps the later one.
var ranks = []db.CustomerStatus{
	db.CustomerStatusLead, db.CustomerStatusRefunded, db.CustomerStatusCancelled, db.CustomerStatusTrial,
	db.CustomerStatusActive, db.CustomerStatusSuspended,
}

// choosePartner sets k's partner and the route to it.
func choosePartner(p sale.Pair, k *db.Customer, partnerID *string) error {
	a, b := p.Into.PartnerID, p.From.PartnerID
	is := func(id *string) bool { return id != nil && *id == *partnerID }
	switch {
	case partnerID != nil && !is(a) && !is(b):
		return problem.Invalid("partner_id", "partner_id must be the partner of one of the two customers.")
	case partnerID == nil && a != nil && b != nil && *a != *b:
		return problem.On("partner_id", problem.CustomersOfTwoPartners,
			"The customers have the partners %s and %s; partner_id must name the remaining one.", *a, *b)
	case a == nil || partnerID != nil && !is(a):
		f := p.From
		k.PartnerID, k.ReferralID, k.LinkID = f.PartnerID, f.ReferralID, f.LinkID
		k.CouponID, k.ClickID = f.CouponID, f.ClickID
		k.Source, k.Medium, k.Campaign, k.Referrer = f.Source, f.Medium, f.Campaign, f.Referrer
		k.Country, k.Device = f.Country, f.Device
		k.TrackedBy, k.Attribution, k.SelfReferral = f.TrackedBy, f.Attribution, f.SelfReferral
		k.OtherRoutes = f.OtherRoutes
	}
	return nil
}

func earlier(a, b *clock.Time) *clock.Time {
	if a == nil || b != nil && b.Before(a.Time) {
		return b
	}
	return a
}

// Join writes a merge. The caller moves the sales and their commissions.
func (s Service) Join(ctx context.Context, u *work.Unit, p sale.Pair) (db.Customer, error) {
	from, into, k := p.From.ID, p.Into.ID, p.Merged
	for _, one := range []db.Customer{p.Into, p.From} { // before they change: the rows tell the days
		if err := report.TouchCustomer(ctx, u, one); err != nil {
			return k, err
		}
	}
	flags := db.RiskFlagsMoveParams{ToID: &into, ProgramID: k.ProgramID, OrgID: u.OrgID, FromID: &from}
	if err := queries.RiskFlagsMove(ctx, u.DB(), flags); err != nil { // before new flags, which may be the same
		return k, err
	}
	if err := s.judge(ctx, u, &k, p.Into, address(p.From)); err != nil {
		return k, err
	}
	for _, one := range []db.Customer{p.Into, p.From} {
		k.SelfReferral = k.SelfReferral || one.SelfReferral && opt.Value(one.PartnerID) == opt.Value(k.PartnerID)
	}
	k.UpdatedAt = u.Now
	for _, write := range []func() error{
		func() error {
			return queries.ExternalIDsMove(ctx, u.Later(), db.ExternalIDsMoveParams{ToID: into, FromID: from, OrgID: u.OrgID})
		},
		func() error {
			claims := db.AttributionClaimsMoveParams{ToID: into, FromID: from, OrgID: u.OrgID}
			return queries.AttributionClaimsMove(ctx, u.Later(), claims)
		},
		func() error {
			return queries.MergesMove(ctx, u.Later(), db.MergesMoveParams{ToID: into, FromID: from, OrgID: u.OrgID})
		},
		func() error {
			return queries.MergeAdd(ctx, u.Later(), db.MergeAddParams{
				ID: from, OrgID: u.OrgID, ProgramID: k.ProgramID, CustomerID: into, CreatedAt: u.Now,
			})
		},
		func() error {
			return queries.CustomerDelete(ctx, u.Later(), db.CustomerDeleteParams{ID: from, OrgID: u.OrgID})
		},
		func() error { return update(ctx, u.Later(), k) },
		func() error { return compareAgain(ctx, u, k, from) },
		func() error { return retryPayments(ctx, u, k) },
	} {
		if err := write(); err != nil {
			return k, err
		}
	}
	return k, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "customer.merged", TargetID: into,
		Before: map[string]any{"customer_id": from, "partner_id": p.From.PartnerID, "external_customer_id": p.From.ExternalCustomerID},
		After:  map[string]any{"customer_id": into, "partner_id": k.PartnerID},
	})
}
