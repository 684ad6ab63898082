package sale_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/apitest"
)

// The model computes money as the contract and DECISIONS.md describe it, in memory and
// independently of the server's rules.

type modelSale struct {
	id                      string
	first, amount, refunded int64
	whole                   bool
	earned                  []*modelCommission // by a rule or by hand
}

type modelCommission struct {
	id, kind, status               string
	partner                        int
	amount, earned, shrunk, clawed int64
	mature, approve                time.Time
	payout                         *modelPayout
	before                         int64 // refunded of its sale when it was made
}

type modelPayout struct {
	id, status string
	partner    int
	amount     int64
	month      string
}

// book is the model together with the server under test.
type book struct {
	s           *apitest.Server
	t           *rapid.T
	program     string
	partners    []string
	customers   []string
	of          []int // the partner of each customer
	sales       []*modelSale
	commissions []*modelCommission
	payouts     []*modelPayout
}

const (
	modelHold    = 5 // days
	modelDelay   = 3
	modelMinimum = 300
)

// newBook makes a program with a partner of each approval mode.
func newBook(s *apitest.Server, t *rapid.T) *book {
	b := &book{s: s, t: t, program: s.Program(M{
		"holding_period_days": modelHold, "min_payout_minor": modelMinimum, "commission_base": "net_of_tax_and_fee",
	})}
	for i, flow := range []M{
		{"rate_value": 2000, "approval_mode": "immediate"}, {"rate_value": 1000, "approval_mode": "manual"},
		{"rate_value": 3333, "approval_mode": "after_days", "approval_delay_days": modelDelay},
	} {
		b.partners = append(b.partners, s.Partner(b.program))
		flow["partner_id"] = b.partners[i]
		s.Flow(b.program, flow)
	}
	for i := range 4 {
		b.customers, b.of = append(b.customers, s.Customer(b.program, b.partners[i%3])), append(b.of, i%3)
	}
	return b
}

func (b *book) now() time.Time { return b.s.Clock.Now().Time }

// rounded is a*n/d, half away from zero.
func rounded(a, n, d int64) int64 {
	if a < 0 {
		return -rounded(-a, n, d)
	}
	r := new(big.Rat).Add(new(big.Rat).Mul(big.NewRat(a, 1), big.NewRat(n, d)), big.NewRat(1, 2))
	return new(big.Int).Div(r.Num(), r.Denom()).Int64()
}

func (b *book) add(k *modelCommission) *modelCommission {
	b.commissions = append(b.commissions, k)
	return k
}

func (b *book) due(k *modelCommission) bool { return !k.mature.After(b.now()) }

func (b *book) sell(customer int, amount int64) {
	partner := b.of[customer]
	within := func(most int64, name string) *int64 {
		return rapid.Ptr(rapid.Int64Range(0, most), true).Draw(b.t, name)
	}
	tax, fee := within(amount/4, "tax"), within(amount/5, "fee")
	a := b.s.Sale(b.program, b.customers[customer], M{"amount_minor": amount, "tax_minor": tax, "fee_minor": fee})
	s := &modelSale{id: a.String("id"), first: amount, amount: amount}
	b.sales = append(b.sales, s)
	base := amount
	for _, off := range []*int64{tax, fee} {
		if off != nil {
			base -= *off
		}
	}
	earned := rounded(base, []int64{2000, 1000, 3333}[partner], 10000)
	if earned == 0 {
		require.Equal(b.t, "sale_recorded", a.String("activity_outcome"))
		return
	}
	s.earned = append(s.earned, b.add(&modelCommission{
		kind: "referral", status: []string{"approved", "pending", "pending"}[partner], partner: partner, amount: earned,
		earned: earned,
		mature: b.now().AddDate(0, 0, modelHold), approve: b.now().AddDate(0, 0, modelDelay),
	}))
}

// grant creates a commission by hand, with or without a sale.
func (b *book) grant(s *modelSale, partner int, amount int64) {
	body := M{"amount_minor": amount}
	if s != nil {
		body["sale_id"] = s.id
	}
	a := apitest.Grant(b.s, b.program, b.partners[partner], body)
	if s != nil && s.whole {
		b.s.Refused(409, "sale_refunded", "sale_id", a)
		return
	}
	b.s.Must(201, a)
	k := b.add(&modelCommission{
		kind: "reward", status: "approved", partner: partner, amount: amount, earned: amount,
		mature: b.now().AddDate(0, 0, modelHold),
	})
	if amount < 0 {
		k.kind, k.status, k.mature = "clawback", "due", b.now()
	}
	if s != nil {
		k.before, s.earned = s.refunded, append(s.earned, k)
	}
}

func (b *book) approve(k *modelCommission) {
	a := b.s.Post("/v1/commissions/"+k.id+"/approve", nil)
	if k.status != "pending" {
		b.s.Refused(409, "commission_not_pending", "", a)
		return
	}
	b.s.Must(200, a)
	if k.status = "approved"; b.due(k) {
		k.status = "due"
	}
}

// lower subtracts an amount from the open payout of a commission.
func (b *book) lower(k *modelCommission, amount int64) {
	if k.payout == nil {
		return
	}
	if k.payout.amount -= amount; k.payout.amount <= 0 {
		b.drop(k.payout)
	}
}

// drop removes a payout and releases its commissions.
func (b *book) drop(p *modelPayout) {
	for _, k := range b.commissions {
		if k.payout == p {
			k.payout = nil
		}
	}
	b.payouts = slices.DeleteFunc(b.payouts, func(o *modelPayout) bool { return o == p })
}

func (b *book) reject(k *modelCommission) {
	a := b.s.Post("/v1/commissions/"+k.id+"/reject", M{"reason": "model"})
	switch {
	case k.status == "paid":
		b.s.Refused(409, "commission_already_paid", "", a)
	case k.status == "rejected" || k.status == "voided":
		b.s.Refused(409, "commission_not_open", "", a)
	default:
		b.s.Must(200, a)
		b.lower(k, k.amount)
		k.status, k.payout = "rejected", nil
	}
}

func (b *book) refund(s *modelSale, part int64) {
	var body any
	if part > 0 {
		body = M{"amount_minor": part}
	}
	a := b.s.Post("/v1/sales/"+s.id+"/refund", body)
	if s.whole {
		b.s.Must(200, a)
		require.Equal(b.t, []int64{0, 0}, []int64{a.Int("voided_commissions"), a.Int("clawback_minor")})
		return
	}
	if part > s.amount {
		b.s.Refused(400, "parameter_invalid", "amount_minor", a)
		return
	}
	b.s.Must(200, a)
	if part == 0 || part == s.amount {
		s.whole, part = true, s.amount
	}
	voided, clawed := b.giveBack(s, part)
	require.Equal(b.t, []int64{voided, clawed}, []int64{a.Int("voided_commissions"), a.Int("clawback_minor")}, "%s", a.Raw)
	if s.refunded += part; !s.whole {
		s.amount -= part
	}
}

// giveBack takes a refund's share of the sale's commissions, deductions first.
func (b *book) giveBack(s *modelSale, part int64) (voided, clawed int64) {
	slices.SortStableFunc(s.earned, func(x, y *modelCommission) int {
		return int(min(max(x.earned, -1), 1)) - int(min(max(y.earned, -1), 1))
	})
	for _, k := range s.earned {
		v, c := b.takeBack(s, k, part)
		voided, clawed = voided+v, clawed+c
	}
	return voided, clawed
}

func (b *book) takeBack(s *modelSale, k *modelCommission, part int64) (voided, clawed int64) {
	if k.status == "rejected" || k.status == "voided" {
		return 0, 0
	}
	taken := k.shrunk + k.clawed
	share := k.earned - taken
	if !s.whole {
		share = rounded(k.earned, s.refunded+part-k.before, s.first-k.before) - taken
	}
	switch {
	case k.status == "paid" && share != 0:
		k.clawed += share
		c := b.add(&modelCommission{kind: "clawback", status: "due", partner: k.partner, amount: -share, mature: b.now()})
		if share < 0 { // a deduction is undone
			c.kind = "reward"
		}
		return 0, max(share, 0)
	case share == 0:
		return 0, 0
	case share == k.amount:
		b.lower(k, k.amount)
		k.status, k.payout = "voided", nil
		return 1, 0
	default:
		b.lower(k, share)
		k.amount -= share
		k.shrunk += share
		return 0, 0
	}
}

// wait moves the clock and runs the jobs.
func (b *book) wait(t *testing.T, hours int) {
	b.s.Clock.Advance(time.Duration(hours) * time.Hour)
	apitest.RunJob(t, b.s, "approve-commissions")
	apitest.RunJob(t, b.s, "mature-commissions")
	for _, k := range b.commissions {
		if k.status == "pending" && k.partner == 2 && !k.approve.After(b.now()) {
			k.status = "approved"
		}
		if k.status == "approved" && b.due(k) {
			k.status = "due"
		}
	}
}

func (b *book) batch() {
	a := b.s.Post("/v1/payout_batches", M{"program_id": b.program, "period_end": b.s.Clock.Now().String()})
	require.Contains(b.t, []int{200, 201}, a.Status, "%s", a.Raw)
	month := b.now().Format("2006-01")
	for i := range b.partners {
		var free []*modelCommission
		var sum int64
		for _, k := range b.commissions {
			if k.partner == i && k.status == "due" && k.payout == nil {
				free, sum = append(free, k), sum+k.amount
			}
		}
		at := slices.IndexFunc(b.payouts, func(p *modelPayout) bool { return p.partner == i && p.month == month })
		if sum <= 0 || at >= 0 && b.payouts[at].status != "not_eligible" {
			continue
		}
		if at < 0 {
			at, b.payouts = len(b.payouts), append(b.payouts, &modelPayout{partner: i, month: month})
		}
		p := b.payouts[at]
		if p.status, p.amount = "not_eligible", sum; sum < modelMinimum {
			continue
		}
		p.status = "pending"
		for _, k := range free {
			k.payout = p
		}
	}
}

func (b *book) pay(p *modelPayout) {
	a := b.s.Post("/v1/payouts/"+p.id+"/mark_paid", nil)
	switch p.status {
	case "paid":
		b.s.Refused(409, "payout_already_paid", "", a)
	case "not_eligible":
		b.s.Refused(409, "payout_not_payable", "", a)
	default:
		b.s.Must(200, a)
		p.status = "paid"
		for _, k := range b.commissions {
			if k.payout == p {
				k.status = "paid"
			}
		}
	}
}

func (b *book) remove(p *modelPayout) {
	a := b.s.Delete("/v1/payouts/" + p.id)
	if p.status == "paid" {
		b.s.Refused(409, "payout_already_paid", "", a)
		return
	}
	b.s.Must(200, a)
	b.drop(p)
}

func (b *book) reassign(customer, partner int) {
	b.s.Must(200, b.s.Post("/v1/customers/"+b.customers[customer], M{"partner_id": b.partners[partner]}))
	b.of[customer] = partner
}

// compare reads all objects over the API and compares them with the model.
func (b *book) compare() {
	b.compareCommissions()
	b.comparePayouts()
	for i, partner := range b.partners {
		var want [3]int64
		for _, k := range b.commissions {
			if at, ok := map[string]int{"pending": 0, "approved": 0, "due": 1, "paid": 2}[k.status]; ok && k.partner == i {
				want[at] += k.amount
			}
		}
		pending, due, paid := b.s.Balance(b.program, partner, "USD")
		require.Equal(b.t, want, [3]int64{pending, due, paid}, "balance of partner %d", i)
	}
}

func (b *book) rows(path string) []apitest.Answer {
	a := b.s.Must(200, b.s.Get(path+"?limit=100&program_id="+b.program))
	require.Equal(b.t, false, a.Body["has_more"])
	var out []apitest.Answer
	for _, m := range a.Data() {
		out = append(out, apitest.Answer{Body: m})
	}
	slices.Reverse(out) // the oldest first
	return out
}

func (b *book) compareCommissions() {
	rows := b.rows("/v1/commissions")
	require.Len(b.t, rows, len(b.commissions))
	for _, row := range rows {
		at := slices.IndexFunc(b.commissions, func(k *modelCommission) bool { return k.id == row.String("id") })
		if at < 0 { // new: the first commission without an id that equals it
			at = slices.IndexFunc(b.commissions, func(k *modelCommission) bool {
				return k.id == "" && k.kind == row.String("kind") && k.amount == row.Int("amount_minor") &&
					b.partners[k.partner] == row.String("partner_id")
			})
			require.GreaterOrEqual(b.t, at, 0, "%v", row.Body)
			b.commissions[at].id = row.String("id")
		}
		k := b.commissions[at]
		payout := ""
		if k.payout != nil {
			payout = b.nameOf(k.payout)
		}
		require.Equal(b.t, []any{k.kind, k.status, k.amount, b.partners[k.partner], payout != ""},
			[]any{
				row.String("kind"), row.String("status"), row.Int("amount_minor"), row.String("partner_id"),
				row.Body["payout_id"] != nil,
			}, "%v", row.Body)
		if payout != "unnamed" {
			require.Equal(b.t, payout, row.String("payout_id"))
		}
	}
}

func (b *book) nameOf(p *modelPayout) string {
	if p.id == "" {
		return "unnamed"
	}
	return p.id
}

func (b *book) comparePayouts() {
	rows := b.rows("/v1/payouts")
	require.Len(b.t, rows, len(b.payouts))
	for _, row := range rows {
		at := slices.IndexFunc(b.payouts, func(p *modelPayout) bool { return p.id == row.String("id") })
		if at < 0 {
			at = slices.IndexFunc(b.payouts,
				func(p *modelPayout) bool { return p.id == "" && b.partners[p.partner] == row.String("partner_id") })
			require.GreaterOrEqual(b.t, at, 0, "%v", row.Body)
			b.payouts[at].id = row.String("id")
		}
		p, attached := b.payouts[at], int64(0)
		for _, k := range b.commissions {
			if k.payout == p {
				attached++
			}
		}
		require.Equal(b.t, []any{p.status, p.amount, attached},
			[]any{row.String("status"), row.Int("amount_minor"), row.Int("commission_count")}, "%v", row.Body)
	}
}

// TestMoneyAgainstModel runs random sequences of all operations that move money, and compares every
// balance, payout and status after each step.
func TestMoneyAgainstModel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	rapid.Check(t, func(t2 *rapid.T) {
		b := newBook(s, t2)
		few := func() { // a page of the API shows 100
			if len(b.commissions) > 90 {
				t2.Skip("enough")
			}
		}
		draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t2, what) }
		t2.Repeat(map[string]func(*rapid.T){
			"sale": func(*rapid.T) {
				few()
				b.sell(draw(4, "customer"), rapid.Int64Range(1, 9999).Draw(t2, "amount"))
			},
			"sale too": func(*rapid.T) {
				few()
				b.sell(draw(4, "customer"), rapid.Int64Range(1000, 9999).Draw(t2, "amount"))
			},
			"grant": func(*rapid.T) {
				few()
				b.grant(nil, draw(3, "partner"), rapid.SampledFrom([]int64{700, 250, -400, -1}).Draw(t2, "amount"))
			},
			"grant for a sale": func(*rapid.T) {
				few()
				b.grant(pick(t2, b.sales), draw(3, "partner"), rapid.SampledFrom([]int64{901, 250, -333}).Draw(t2, "amount"))
			},
			"refund":   func(*rapid.T) { b.refund(pick(t2, b.sales), 0) },
			"partial":  func(*rapid.T) { b.refund(pick(t2, b.sales), rapid.Int64Range(1, 4000).Draw(t2, "part")) },
			"approve":  func(*rapid.T) { b.approve(pick(t2, b.commissions)) },
			"reject":   func(*rapid.T) { b.reject(pick(t2, b.commissions)) },
			"wait":     func(*rapid.T) { b.wait(t, rapid.IntRange(1, 200).Draw(t2, "hours")) },
			"batch":    func(*rapid.T) { b.batch() },
			"pay":      func(*rapid.T) { b.pay(pick(t2, b.payouts)) },
			"delete":   func(*rapid.T) { b.remove(pick(t2, b.payouts)) },
			"reassign": func(*rapid.T) { b.reassign(draw(4, "customer"), draw(3, "partner")) },
			"":         func(*rapid.T) { b.compare() },
		})
	})
	apitest.Balanced(t, s)
}

// pick chooses an element, or skips the step if there is none.
func pick[T any](t *rapid.T, of []T) T {
	if len(of) == 0 {
		t.Skip("nothing there yet")
	}
	return of[rapid.IntRange(0, len(of)-1).Draw(t, fmt.Sprintf("of %d", len(of)))]
}
