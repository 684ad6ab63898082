package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/program/attribution"
	"rail/server/work"
)

// RehearseAttribution decides under other settings which partners get recent customers.
func (s *Server) RehearseAttribution(ctx context.Context,
	r api.RehearseAttributionRequestObject) (api.RehearseAttributionResponseObject, error) {
	u, b, days := work.From(ctx), r.Body, int64(90)
	if b.Days != nil {
		days = *b.Days
	}
	done, err := attribution.Service{Customers: s.Customers}.Rehearse(ctx, u, b.ProgramID, days, attribution.Change{
		Model: (*db.AttributionModel)(b.AttributionModel), CookieDays: b.CookieDays,
		CouponBeatsLink: b.CouponBeatsLink, IgnoreLateClicks: b.IgnoreLateClicks,
	})
	if err != nil {
		return nil, err
	}
	return api.RehearseAttribution200JSONResponse{
		Object:                  "attribution_rehearsal",
		ProgramID:               b.ProgramID,
		Days:                    days,
		Since:                   done.Since,
		Until:                   u.Now,
		Currency:                done.Program.Currency,
		SettingsBefore:          toAttributionSettings(attribution.Present(done.Program), done.Program),
		SettingsAfter:           toAttributionSettings(done.After, done.Program),
		CustomersCount:          done.Customers,
		ChangedCount:            done.Changed,
		UnchangedCount:          done.Customers - done.Changed - done.Undecided,
		UndecidedCount:          done.Undecided,
		Complete:                done.Complete,
		ClicksSince:             done.ClicksSince,
		OtherCurrencySalesCount: done.OtherCurrency,
		PartnersCount:           done.PartnersChanged,
		Partners:                mapped(done.Partners, toRehearsedPartner),
		Customers:               mapped(done.Changes, toRehearsedCustomer),
	}, nil
}

// toAttributionSettings converts settings of a program.
func toAttributionSettings(s attribution.Settings, p db.Program) api.AttributionSettings {
	return api.AttributionSettings{
		AttributionModel: api.AttributionModel(s.Model), CookieDays: *opt.Or(s.CookieDays, &p.CookieDays),
		CouponBeatsLink: s.CouponBeatsLink, IgnoreLateClicks: s.IgnoreLateClicks,
	}
}

// toRehearsedPartner converts a partner for whom something changes.
func toRehearsedPartner(p attribution.Partner) api.AttributionRehearsalPartner {
	return api.AttributionRehearsalPartner{
		PartnerID: p.ID, Name: p.Name, CustomersBefore: p.Before.Customers, CustomersAfter: p.After.Customers,
		RevenueBeforeMinor: p.Before.RevenueMinor, RevenueAfterMinor: p.After.RevenueMinor,
		CommissionsBeforeMinor: p.Before.CommissionsMinor, CommissionsAfterMinor: p.After.CommissionsMinor,
		CommissionsDifferenceMinor: p.After.CommissionsMinor - p.Before.CommissionsMinor,
	}
}

// toRehearsedCustomer converts a customer with another partner.
func toRehearsedCustomer(m attribution.Moved) api.AttributionRehearsalCustomer {
	return api.AttributionRehearsalCustomer{
		CustomerID: m.CustomerID, LeadAt: m.LeadAt, FromPartnerID: m.From, ToPartnerID: m.To, Reason: m.Reason,
		RevenueMinor: m.RevenueMinor, CommissionsBeforeMinor: m.Before, CommissionsAfterMinor: m.After,
	}
}
