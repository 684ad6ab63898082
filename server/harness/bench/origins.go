package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jackc/pgx/v5"
)

const (
	// maxOrigin is the largest processor time of a click or a sale with an origin, to that of one without.
	maxOrigin = 1.03
	// morePairs is how many times the rounds an origin is measured at most, until its goal is decided.
	morePairs = 20
)

// paired are loads that differ only in the origin: of the click, or of the customer of the sale. The bodies have the
// same length. They are not in the table, and cannot be chosen one by one.
var paired = [][2]load{
	{{name: "click-plain", pick: pickPartner, ask: askPlain}, {name: "click-origin", pick: pickPartner, ask: askOrigin}},
	{{name: "sale-plain", pick: pickEven, ask: askSale}, {name: "sale-origin", pick: pickOdd, ask: askSale}},
}

// askOrigin sends a click with all parts of an origin, askPlain the same with parameters and a host that reports do
// not read.
func askOrigin(d draw) request { return askFrom(d, "utm", "blog.example") }

func askPlain(d draw) request { return askFrom(d, "atm", "blog!example") }

func askFrom(d draw, prefix, host string) request {
	return request{Method: "POST", Path: "/v1/clicks", Body: fmt.Sprintf(
		`{"program_id":%q,"value":"partner-%d","landing_url":"https://shop.example/?ref=partner-%d&%s_source=newsletter`+
			`&%s_medium=email&%s_campaign=spring-%d","referer":"https://%s/post","visitor_token":%q,"country":"DE"}`,
		id("prg", d.Program), d.Partner, d.Partner, prefix, prefix, prefix, d.Partner%50, host, visitor(d))}
}

func pickEven(sz size, r *rand.Rand) draw { return pickCustomer(sz, r).parity(sz, 0) }

func pickOdd(sz size, r *rand.Rand) draw { return pickCustomer(sz, r).parity(sz, 1) }

// parity returns the draw of the customer itself or of the one before with that parity.
func (d draw) parity(sz size, odd int64) draw {
	n := d.Customer - customerBase
	if n%2 != odd {
		n = (n + 1) % int64(sz.Customers)
	}
	out := ofPartner(partnerBase + n%partners)
	out.Customer, out.Fresh = customerBase+n, d.Fresh
	return out
}

// giveOrigins gives half of the customers an origin: those with an odd last digit. The ids of the sample end with
// any character.
func (b *bench) giveOrigins(ctx context.Context) error {
	return b.unlimited(ctx, `UPDATE customers SET source = o.source, medium = o.medium, campaign = o.campaign,
		referrer = o.referrer, country = o.country, device = o.device
		FROM (VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL),
			(1, 'newsletter', 'email', 'spring', 'blog.example', 'DE', 'mobile'))
			o (odd, source, medium, campaign, referrer, country, device)
		WHERE o.odd = ascii(right(id, 1)) % 2`, "VACUUM ANALYZE customers")
}

// unlimited executes statements without the server's time limit of a statement.
func (b *bench) unlimited(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, b.db.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // all statements are done
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// origins measures the cost of an origin for a click and for a sale. It returns how many cost more than maxOrigin. One
// pair differs by up to 20 % on a busy machine, so each is repeated until its goal is decided.
func (b *bench) origins(ctx context.Context) (missed int, err error) {
	if err := b.giveOrigins(ctx); err != nil {
		return 0, err
	}
	fmt.Fprintf(b.Out, "\norigin of a click and of a customer: at most %.2f of the processor time without\n", maxOrigin)
	for _, pair := range paired {
		ratios := make([]float64, 0, b.Rounds)
		for round := 0; round < b.Rounds || !decided(ratios) && round < morePairs*b.Rounds; round++ {
			ratio, err := b.pair(ctx, pair, round)
			if err != nil {
				return missed, err
			}
			ratios = append(ratios, ratio)
		}
		slices.Sort(ratios)
		word, got := "holds ", ratios[len(ratios)/2]
		if got > maxOrigin {
			word = "missed"
			missed++
		}
		fmt.Fprintf(b.Out, "%s  %s: %.3f, median of %d from %.3f to %.3f\n", word, pair[1].name, got, len(ratios),
			ratios[0], ratios[len(ratios)-1])
	}
	return missed, nil
}

// decided reports whether the ratios show on which side of maxOrigin their median is, with a confidence of 95 % (sign
// test).
func decided(ratios []float64) bool {
	difference := 0
	for _, r := range ratios {
		if r > maxOrigin {
			difference++
		} else {
			difference--
		}
	}
	return difference*difference >= 4*len(ratios)
}

// pair measures both loads in turn, in the other order in odd rounds, and returns the ratio of their processor times.
func (b *bench) pair(ctx context.Context, pair [2]load, round int) (float64, error) {
	var took [2]float64
	order := []int{0, 1}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, i := range order {
		seen, used, err := b.http(ctx, pair[i], slices.Max(b.Clients), b.server.addr)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", pair[i].name, err)
		}
		_, took[i] = used.of(float64(seen.Requests))
	}
	return took[1] / took[0], nil
}
