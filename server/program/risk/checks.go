package risk

import (
	"context"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// Thresholds of the checks (decisions, 147).
const (
	refundDays      = 90
	refundCustomers = 4  // at least this many
	refundShare     = 4  // one in this many
	velocityClicks  = 50 // more than this many in an hour
	spikeTimes      = 5  // at least this many times the daily mean
	spikeDays       = 28 // over this many days
	spikeLeast      = 10 // and at least this many
)

// velocityWindow is the period of clicks to check: two hours contain every hour that ends after the last sweep,
// and the third allows for a late sweep.
const velocityWindow = 3 * time.Hour

// ownAddresses finds customers who clicked from an address at which their partner
// was seen, both within 90 days (self_referral_ip). The order of the two does not
// matter. A customer is flagged for it once, ever.
func ownAddresses(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	rows, err := queries.RiskOwnAddresses(ctx, tx, db.RiskOwnAddressesParams{
		ProgramID: p.program, OrgID: p.org, Since: p.now.Days(-AddressDays), Now: p.now, Lim: sweepBatch,
	})
	out := make([]Finding, len(rows))
	for i, r := range rows {
		out[i] = Finding{
			ProgramID: p.program, PartnerID: r.PartnerID, CustomerID: &r.CustomerID, Kind: "self_referral_ip",
			Severity: "medium", Summary: "The customer clicked from an address that the partner uses.",
			Signals: map[string]any{"click_id": r.ClickID, "clicked_at": r.ClickedAt, "partner_seen_at": r.SeenAt},
		}
	}
	return out, err
}

// refundRates finds partners with many refunds (high_refund_rate): of their customers with a sale in the last 90
// days, at least four, and at least a quarter, had such a sale refunded in whole. After a flag was closed only
// later refunds count, still as a share of all these customers.
func refundRates(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	rows, err := queries.RiskRefundRates(ctx, tx, db.RiskRefundRatesParams{
		ProgramID: p.program, OrgID: p.org, Since: p.now.Days(-refundDays), Now: &p.now, Least: refundCustomers,
	})
	var out []Finding
	for _, r := range rows {
		if r.Refunded*refundShare < r.Customers {
			continue
		}
		out = append(out, Finding{
			ProgramID: p.program, PartnerID: r.PartnerID, Kind: "high_refund_rate", Severity: "medium",
			Summary: fmt.Sprintf("Of the partner's %d customers of the last %d days %d had a sale refunded.", r.Customers,
				refundDays, r.Refunded),
			Signals: map[string]any{
				"customers": r.Customers, "refunded_customers": r.Refunded, "refund_bps": r.Refunded * 10_000 / r.Customers,
				"days": refundDays,
			},
		})
	}
	return out, err
}

// clickVelocity finds partners with more than 50 clicks from one address within
// an hour, among the clicks of the last three hours (click_velocity). After a
// flag was closed only later clicks count.
func clickVelocity(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	rows, err := queries.RiskClickVelocity(ctx, tx, db.RiskClickVelocityParams{
		ProgramID: p.program, OrgID: p.org, Since: p.now.Plus(-velocityWindow), Now: p.now, Most: velocityClicks,
	})
	out := make([]Finding, len(rows))
	for i, r := range rows {
		out[i] = Finding{
			ProgramID: p.program, PartnerID: r.PartnerID, Kind: "click_velocity", Severity: "medium",
			Summary: fmt.Sprintf("%d clicks came from one address within an hour.", r.Clicks),
			Signals: map[string]any{"clicks": r.Clicks, "minutes": 60, "last_click_at": r.LastAt},
		}
	}
	return out, err
}

// conversionSpikes finds partners whose sign-ups of the last 24 hours, or whose sales by occurred_at, are at
// least 10 and at least 5 times the daily mean of the 28 days before (conversion_spike). A partner without any
// in those days has a mean of 0, so that a sudden start is a spike. After a flag was closed only later sign-ups
// and sales count, against the same mean.
func conversionSpikes(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	since, dayAgo := p.now.Days(-1-spikeDays), p.now.Days(-1)
	signups, err := queries.RiskSignups(ctx, tx, db.RiskSignupsParams{
		ProgramID: p.program, OrgID: p.org, Since: since, DayAgo: dayAgo, Now: p.now, Least: spikeLeast,
	})
	if err != nil {
		return nil, err
	}
	sales, err := queries.RiskSales(ctx, tx, db.RiskSalesParams{
		ProgramID: p.program, OrgID: p.org, Since: since, DayAgo: dayAgo, Now: p.now, Least: spikeLeast,
	})
	if err != nil {
		return nil, err
	}
	var out []Finding
	flagged := map[string]bool{}
	for _, r := range signups {
		if spike(r.Number, r.Before) {
			flagged[r.PartnerID] = true
			out = append(out, spiked(p, r.PartnerID, "sign-ups", r.Number, r.Before))
		}
	}
	for _, r := range sales {
		if spike(r.Number, r.Before) && !flagged[r.PartnerID] {
			out = append(out, spiked(p, r.PartnerID, "sales", r.Number, r.Before))
		}
	}
	return out, nil
}

// spike compares without dividing: day >= spikeTimes * before / spikeDays.
func spike(day, before int64) bool { return day >= spikeLeast && day*spikeDays >= before*spikeTimes }

// spiked returns the finding of a spike in sign-ups or sales.
func spiked(p snapshot, partner, what string, day, before int64) Finding {
	return Finding{
		ProgramID: p.program, PartnerID: partner, Kind: "conversion_spike", Severity: "low",
		Summary: fmt.Sprintf("%d %s in 24 hours are at least %d times the daily mean of the %d days before, which had %d.",
			day, what, spikeTimes, spikeDays, before),
		Signals: map[string]any{
			"of": what, "last_24_hours": day, "days_before": spikeDays, "in_days_before": before, "at_least_times": spikeTimes,
			"at_least": spikeLeast,
		},
	}
}
