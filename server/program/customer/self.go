package customer

import (
	"context"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/program/risk"
	"rail/server/work"
)

// Addresses returns a partner's email addresses: its account's and those in its payout details.
func (s Service) Addresses(p db.Partner) ([]string, error) {
	own := []string{p.Email}
	if s.Keeper == nil {
		return own, nil
	}
	paid, err := payout.Emails(s.Keeper, p)
	return append(own, paid...), err
}

// IsOwn reports whether one of a customer's values is an address of its partner.
func IsOwn(own []string, values ...*string) bool {
	return slices.ContainsFunc(values, func(v *string) bool {
		return v != nil && strings.Contains(*v, "@") && risk.IsOwn(own, *v)
	})
}

// judge checks a customer whose email, identifier or partner changed, or for whom a processor reports another
// email than the stored one (decisions, 306). It opens flags, notes whether the customer is its own partner and
// refuses nothing.
func (s Service) judge(ctx context.Context, u *work.Unit, k *db.Customer, before db.Customer, reported string) error {
	if k.PartnerID == nil {
		k.SelfReferral = false
		return nil
	}
	same := opt.Value(k.Email) == opt.Value(before.Email) && opt.Value(k.Identifier) == opt.Value(before.Identifier) &&
		opt.Value(k.PartnerID) == opt.Value(before.PartnerID)
	if reported == "" || strings.EqualFold(opt.Value(k.Email), reported) {
		reported = ""
	}
	if same && reported == "" {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *k.PartnerID, OrgID: k.OrgID})
	if err != nil {
		return err
	}
	own, err := s.Addresses(p)
	if err != nil {
		return err
	}
	if reported != "" {
		if err := risk.CheckCustomer(ctx, u, p, own, *k, reported); err != nil {
			return err
		}
	}
	k.SelfReferral = IsOwn(own, k.Email, k.Identifier, &reported) || same && k.SelfReferral
	if same {
		return nil
	}
	return risk.CheckCustomer(ctx, u, p, own, *k, address(*k))
}

// address returns the email to check: the customer's email, or an identifier that is one.
func address(k db.Customer) string {
	if k.Email == nil && strings.Contains(opt.Value(k.Identifier), "@") {
		return *k.Identifier
	}
	return opt.Value(k.Email)
}
