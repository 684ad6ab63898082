package handlers

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/payout"
	"rail/server/money/rules"
	"rail/server/money/statement"
	"rail/server/program/flow"
	"rail/server/program/tracking"
)

// The mappers from rows to the generated types are total: they convert every row of the database.

// enums converts the texts of an array column to values of an enum. Values are validated when they
// are written.
func enums[E ~string](values []string) []E {
	out := make([]E, len(values))
	for i, v := range values {
		out[i] = E(v)
	}
	return out
}

// texts is the inverse of enums.
func texts[E ~string](values []E) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// toSums returns sums of money by currency.
func toSums(minor map[string]int64) []api.MoneySum {
	out := []api.MoneySum{}
	for _, currency := range slices.Sorted(maps.Keys(minor)) {
		out = append(out, api.MoneySum{Currency: currency, AmountMinor: minor[currency]})
	}
	return out
}

// toProgram converts a program. It has no secret fields.
func toProgram(p db.Program) api.Program {
	return api.Program{
		ID:                     p.ID,
		Object:                 "program",
		Name:                   p.Name,
		ProductName:            p.ProductName,
		WebsiteURL:             p.WebsiteURL,
		Currency:               p.Currency,
		Status:                 api.ProgramStatus(p.Status),
		Subdomain:              p.Subdomain,
		CustomDomain:           p.CustomDomain,
		TermsURL:               p.TermsURL,
		TermsVersion:           p.TermsVersion,
		CookieDays:             p.CookieDays,
		URLParams:              p.URLParams,
		CommissionOnNetRevenue: p.CommissionOnNetRevenue,
		CommissionBase:         api.CommissionBase(rules.BaseOf(p.CommissionOnNetRevenue, p.CommissionNetOfFee)),
		HoldingPeriodDays:      p.HoldingPeriodDays,
		MinPayoutMinor:         p.MinPayoutMinor,
		PayoutTerm:             api.PayoutTerm(p.PayoutTerm),
		PayoutMethods:          enums[api.PayoutMethod](p.PayoutMethods),
		BlockSelfReferrals:     p.BlockSelfReferrals,
		BlockedCountries:       p.BlockedCountries,
		RequireTaxForms:        p.RequireTaxForms,
		AutoPayoutsEnabled:     p.AutoPayoutsEnabled,
		AttributionModel:       api.AttributionModel(p.AttributionModel),
		ClickOnRedirect:        p.ClickOnRedirect,
		AutoEnrolCustomers:     p.AutoEnrolCustomers,
		LeadMatchDays:          p.LeadMatchDays,
		MinPayingCustomers:     p.MinPayingCustomers,
		TimeZone:               p.TimeZone,
		CouponBeatsLink:        p.CouponBeatsLink,
		IgnoreLateClicks:       p.IgnoreLateClicks,
		StatementPrefix:        p.StatementPrefix,
		StatementSeller:        toSeller(p),
		SelfBilling:            p.SelfBilling,
		VatRateBps:             p.VatRateBps,
		AgentLimitMinor:        p.AgentLimitMinor,
		Processor:              (*api.Processor)(p.Processor),
		CreatedAt:              p.CreatedAt,
		UpdatedAt:              p.UpdatedAt,
	}
}

// toSeller converts the company of a program's statements; nil if none was set.
func toSeller(p db.Program) *api.StatementSeller {
	seller, err := statement.SellerOf(p)
	if p.StatementSeller == nil || err != nil {
		return nil
	}
	return &api.StatementSeller{Name: seller.Name, Address: seller.Address, TaxIds: seller.TaxIDs}
}

// toGroup converts a group without its statistics, which addGroupStats adds.
func toGroup(g db.Group) api.Group {
	return api.Group{
		ID:          g.ID,
		Object:      "group",
		ProgramID:   g.ProgramID,
		Name:        g.Name,
		Slug:        g.Slug,
		Description: g.Description,
		LandingURL:  g.LandingURL,
		IsPrivate:   g.IsPrivate,
		IsDefault:   g.IsDefault,
		CreatedAt:   g.CreatedAt,
		UpdatedAt:   g.UpdatedAt,
	}
}

// toTag converts a tag.
func toTag(t db.Tag) api.Tag {
	return api.Tag{
		ID:        t.ID,
		Object:    "tag",
		ProgramID: t.ProgramID,
		Name:      t.Name,
		Color:     t.Color,
		CreatedAt: t.CreatedAt,
		UpdatedAt: t.UpdatedAt,
	}
}

// toPartner converts a partner. It omits the payout details, which only exports, payment rails and the
// partner may read.
func toPartner(p db.Partner) api.Partner {
	return api.Partner{
		ID:                  p.ID,
		Object:              "partner",
		ProgramID:           p.ProgramID,
		GroupID:             p.GroupID,
		Email:               p.Email,
		FirstName:           p.FirstName,
		LastName:            p.LastName,
		DisplayName:         p.DisplayName,
		CompanyName:         p.CompanyName,
		WebsiteURL:          p.WebsiteURL,
		CountryCode:         p.CountryCode,
		LanguageCode:        p.LanguageCode,
		Address:             p.Address,
		TaxID:               p.TaxID,
		Handle:              p.Handle,
		Status:              api.PartnerStatus(p.Status),
		DeclineReason:       p.DeclineReason,
		SuspensionReason:    p.SuspensionReason,
		MinPayoutMinor:      p.MinPayoutMinor,
		TermsAcceptedAt:     p.TermsAcceptedAt,
		TermsVersion:        p.TermsVersion,
		CompletedOnboarding: p.CompletedOnboarding,
		EmailFirstReferral:  p.EmailFirstReferral,
		EmailNewReferral:    p.EmailNewReferral,
		EmailPayoutPaid:     p.EmailPayoutPaid,
		Metadata:            p.Metadata,
		PayoutMethod:        (*api.PayoutMethod)(p.PayoutMethod),
		ExternalID:          p.ExternalID,
		CreatedAt:           p.CreatedAt,
		UpdatedAt:           p.UpdatedAt,
		BanScheduledAt:      p.BanAt,
	}
}

// toLink is a method because it needs the addresses of short links.
func (s *Server) toLink(l db.Link) api.Link {
	out := api.Link{
		ID: l.ID, Object: "link", PartnerID: l.PartnerID, Param: l.Param, Value: l.Value, DestinationURL: l.DestinationURL,
		URL: tracking.URL(l.DestinationURL, l.Param, l.Value), ShortSlug: l.ShortSlug, Label: l.Label,
		RateOverride: l.RateOverride, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
	}
	if l.ShortSlug != nil {
		out.ShortURL = new(tracking.ShortURL(s.ShortURL, *l.ShortSlug))
		if u, err := url.Parse(s.ShortURL); err == nil {
			out.ShortDomain = new(u.Host)
		}
	}
	return out
}

// toCoupon converts a coupon.
func toCoupon(k db.Coupon) api.Coupon {
	return api.Coupon{
		ID: k.ID, Object: "coupon", ProgramID: k.ProgramID, PartnerID: k.PartnerID, GroupID: k.GroupID, Code: k.Code,
		ExternalID: k.ExternalID, Active: k.Active, CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt,
	}
}

// toClick converts a click without the hash of the visitor's address, which is for the
// risk checks.
func toClick(k db.Click) api.Click {
	return api.Click{
		ID:         k.ID,
		Object:     "click",
		ProgramID:  k.ProgramID,
		PartnerID:  k.PartnerID,
		LinkID:     k.LinkID,
		ReferralID: k.ReferralID,
		UserAgent:  k.UserAgent,
		Referer:    k.Referer,
		Country:    k.Country,
		Device:     k.Device,
		LandingURL: k.LandingURL,
		CreatedAt:  k.CreatedAt,
	}
}

// toReferral converts a referral without the visitor's token, of which only a hash is
// stored.
func toReferral(r db.Referral) api.Referral {
	// Without UTM parameters the column is NULL, which must be null in JSON, not absent.
	utm := json.RawMessage(r.UTM)
	if utm == nil {
		utm = json.RawMessage("null")
	}
	return api.Referral{
		ID:         r.ID,
		Object:     "referral",
		ProgramID:  r.ProgramID,
		PartnerID:  r.PartnerID,
		LinkID:     r.LinkID,
		LandingURL: r.LandingURL,
		UTM:        utm,
		TrackedBy:  api.TrackedBy(r.TrackedBy),
		Status:     api.ReferralStatus(r.Status),
		ExpiresAt:  r.ExpiresAt,
		CreatedAt:  r.CreatedAt,
		UpdatedAt:  r.UpdatedAt,
	}
}

// toCustomer converts a customer with its attribution (tracked_by).
func toCustomer(k db.Customer) api.Customer {
	return api.Customer{
		ID:                     k.ID,
		Object:                 "customer",
		ProgramID:              k.ProgramID,
		PartnerID:              k.PartnerID,
		ReferralID:             k.ReferralID,
		LinkID:                 k.LinkID,
		CouponID:               k.CouponID,
		Processor:              (*api.Processor)(k.Processor),
		ExternalCustomerID:     k.ExternalCustomerID,
		ExternalSubscriptionID: k.ExternalSubscriptionID,
		Email:                  k.Email,
		Name:                   k.Name,
		Identifier:             k.Identifier,
		Status:                 api.CustomerStatus(k.Status),
		TrackedBy:              api.TrackedBy(k.TrackedBy),
		LeadAt:                 k.LeadAt,
		ConvertedAt:            k.ConvertedAt,
		Metadata:               k.Metadata,
		CreatedAt:              k.CreatedAt,
		UpdatedAt:              k.UpdatedAt,
		Attribution:            k.Attribution,
	}
}

// toSale converts a sale without the outcome, which only its creation returns. A whole refund does
// not change the row's amount, so the refunded amount is the sum of both.
func toSale(k db.Sale) api.Sale {
	refunded := k.RefundedMinor
	if k.RefundedAt != nil {
		refunded += k.AmountMinor
	}
	return api.Sale{
		ID:                      k.ID,
		Object:                  "sale",
		ProgramID:               k.ProgramID,
		CustomerID:              k.CustomerID,
		PartnerID:               k.PartnerID,
		ExternalChargeID:        k.ExternalChargeID,
		ExternalPaymentIntentID: k.ExternalPaymentIntentID,
		Processor:               api.Processor(k.Processor),
		AmountMinor:             k.AmountMinor,
		ChargedMinor:            k.AmountMinor + k.RefundedMinor,
		RefundedMinor:           refunded,
		TaxMinor:                k.TaxMinor,
		FeeMinor:                k.FeeMinor,
		Currency:                k.Currency,
		BillingType:             api.BillingType(k.BillingType),
		Interval:                (*api.BillingInterval)(k.Interval),
		ProductID:               k.ProductID,
		ProductName:             k.ProductName,
		IsFirstSale:             k.IsFirstSale,
		OccurredAt:              k.OccurredAt,
		RefundedAt:              k.RefundedAt,
		Metadata:                k.Metadata,
		CreatedAt:               k.CreatedAt,
		UpdatedAt:               k.UpdatedAt,
	}
}

// toCommission converts a commission like the audit log.
func toCommission(k db.Commission) api.Commission { return commission.ToAPI(k) }

// toFlow converts a flow. Its branches are stored in the JSON form of the API.
func toFlow(f db.Flow) (api.Flow, error) {
	out := api.Flow{
		ID:                f.ID,
		Object:            "flow",
		ProgramID:         f.ProgramID,
		Name:              f.Name,
		Description:       f.Description,
		GroupID:           f.GroupID,
		PartnerID:         f.PartnerID,
		Trigger:           api.FlowTrigger(f.Trigger),
		Action:            api.FlowAction(f.Action),
		TargetGroupID:     f.TargetGroupID,
		RateType:          (*api.RateType)(f.RateType),
		RateValue:         f.RateValue,
		ApprovalMode:      api.FlowApprovalMode(f.ApprovalMode),
		ApprovalDelayDays: f.ApprovalDelayDays,
		Priority:          f.Priority,
		Status:            api.FlowStatus(f.Status),
		Branches:          []api.FlowBranch{},
		CreatedAt:         f.CreatedAt,
		UpdatedAt:         f.UpdatedAt,
	}
	return out, json.Unmarshal(f.Branches, &out.Branches)
}

// toSavedFlow converts a written flow, with warnings about unusual rates.
func toSavedFlow(row db.Flow) (api.SavedFlow, error) {
	f, err := toFlow(row)
	if err != nil {
		return api.SavedFlow{}, err
	}
	unusual, err := flow.Warnings(row)
	return api.SavedFlow{
		ID:                f.ID,
		Object:            f.Object,
		ProgramID:         f.ProgramID,
		Name:              f.Name,
		Description:       f.Description,
		GroupID:           f.GroupID,
		PartnerID:         f.PartnerID,
		Trigger:           f.Trigger,
		Action:            f.Action,
		TargetGroupID:     f.TargetGroupID,
		RateType:          f.RateType,
		RateValue:         f.RateValue,
		ApprovalMode:      f.ApprovalMode,
		ApprovalDelayDays: f.ApprovalDelayDays,
		Priority:          f.Priority,
		Status:            f.Status,
		Branches:          f.Branches,
		CreatedAt:         f.CreatedAt,
		UpdatedAt:         f.UpdatedAt,
		Warnings:          mapped(unusual, toWarning),
	}, err
}

// toWarning converts a warning with its field.
func toWarning(w flow.Warning) api.FlowWarning {
	return api.FlowWarning{Code: api.FlowWarningCodeRateUnusual, Message: w.Param + ": " + w.Message}
}

// toPayout converts a payout with the number of its commissions from the query.
func toPayout(p db.Payout, commissions int64) api.Payout {
	return api.Payout{
		ID:               p.ID,
		Object:           "payout",
		ProgramID:        p.ProgramID,
		PartnerID:        p.PartnerID,
		BatchID:          p.BatchID,
		AmountMinor:      p.AmountMinor,
		Currency:         p.Currency,
		Status:           api.PayoutStatus(p.Status),
		Method:           (*api.PayoutMethod)(p.Method),
		ExternalID:       p.ExternalID,
		Reason:           (*api.PayoutIneligibilityReason)(p.Reason),
		ReasonText:       p.ReasonText,
		ErrorCode:        p.ErrorCode,
		ErrorMessage:     p.ErrorMessage,
		CommissionCount:  commissions,
		PeriodEnd:        p.PeriodEnd,
		DueAt:            p.DueAt,
		PaidAt:           p.PaidAt,
		UndoableUntil:    payout.UndoableUntil(p),
		FailureEmailedAt: p.FailureMailedAt,
		Rail:             p.Rail,
		RailID:           p.RailID,
		SubmittedAt:      p.SubmittedAt,
		FeeMinor:         p.FeeMinor,
		FeeCurrency:      p.FeeCurrency,
		Attention:        (*api.PayoutAttention)(p.Attention),
		AttentionText:    p.AttentionText,
		AttentionAt:      p.AttentionAt,
		CreatedAt:        p.CreatedAt,
		UpdatedAt:        p.UpdatedAt,
	}
}
