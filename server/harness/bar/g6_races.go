package bar

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rail/server/clock"
	"rail/server/jobs"
)

// racers is the number of callers in a race. A server has a database connection for each
// of them, so that none waits for another before its transaction begins.
const racers = 16

// crowd is the number of callers that send one and the same thing, of which all but one
// wait: a charge, a refund or a request with one Idempotency-Key.
const crowd = 64

// race is a race between callers. A round prepares, starts all callers at once
// through both processes, and checks the outcome.
type race struct {
	name  string
	round func(ctx context.Context, fx *raceFixture)
	crowd bool // 64 callers instead of 16
}

// allRaces lists the races, each with what must come out of it.
func allRaces() []race {
	return []race{
		{"R1", refundRefund, false},       // a sale is refunded once
		{"R2 R6", refundPaid, false},      // a payout is paid once; a refund voids or claws back, never both
		{"R3 R5", refundBatch, false},     // a partner has one payout a month, without refunded commissions
		{"R4", refundMaturity, false},     // refund, approval and maturity happen one after the other
		{"R8", approveReject, false},      // a commission is rejected once, with one event for each decision
		{"R9", applicationDecided, false}, // an application is decided once
		{"R10", samePartner, false},       // one partner has an email
		{"R11", sameLink, false},          // one link has a value
		{"R12", firstSales, false},        // a customer has one first sale
		{"R13", reassigned, false},        // sale, commission and event name the same partner
		{"R14", defaultGroup, false},      // there is always one default group
		{"R15", rotated, false},           // an endpoint has at most two secrets
		{"R16", partnerDeleted, false},    // a sale is before the deletion or after it, never in part
		{"R18", flowChanged, false},       // a commission follows one version of its flow
		{"R19", flagResolved, false},      // a flag is resolved once
		{"R22", endpointDeleted, false},   // nothing is sent after the deletion
		{"R24", sameVisitor, false},       // a visitor's clicks open one referral
		{"C4", sameCharge, true},          // a charge is one sale
		{"C5", sameKey, true},             // an Idempotency-Key does its work once
		{"files", exportRace, false},      // a file agrees with the books
		{"month's end", monthEnds, false}, // each due partner is in the month's batch once
		{"C6", sameRefund, true},          // a processor's refund is recorded once
		{"C7", refundMeetsSale, true},     // a refund and its sale never miss each other
		{"C8", grantMeetsRefund, false},   // a commission granted for a sale is refunded with the sale
	}
}

// rounds returns how often a race is run. Callers do not meet in every round; eight are
// what make test has time for. A crowd always meets.
func (r race) rounds(size Size) int {
	if r.crowd {
		return size.of(20, 2)
	}
	return size.of(20, 8)
}

// races is G6. Three races have separate tests. These processes have neither rail nor portal, so a manual payment
// against a rail's settlement and many requests with one sign-in link are tested elsewhere. So is the revocation of a
// key in use, which takes seconds.
//
// The books are checked once, by the audit at the end of the stage: nothing repairs
// them between two rounds.
func races(ctx context.Context, sys *system, size Size) (figures, error) {
	fx := &raceFixture{sys: sys}
	if err := fx.prepare(ctx); err != nil {
		return nil, err
	}
	for _, r := range allRaces() {
		for fx.turn = range r.rounds(size) {
			before := sys.count()
			if r.round(ctx, fx); sys.count() > before {
				sys.fault("race %s failed", r.name)
				break // one failure proves it; the next race is more useful than more rounds
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if fx.winners == 0 || fx.losers == 0 {
		return nil, fmt.Errorf("%d calls won and %d lost: nothing raced", fx.winners, fx.losers)
	}
	var f figures
	f.add("races", len(allRaces()))
	f.add("rounds each", size.of(20, 8))
	f.add("callers", racers)
	f.add("winning calls", fx.winners)
	f.add("refused calls", fx.losers)
	return f, nil
}

// raceFixture is the organization in which the races run, and their counts. Races share it:
// each makes the objects that it changes, and none looks at another's.
type raceFixture struct {
	sys             *system
	o               *org
	own             objects
	manual          string // a program whose commissions wait for approval
	turn            int    // number of the round
	winners, losers int
}

// prepare makes a program whose commissions are due at once, and one whose commissions wait
// for approval.
func (fx *raceFixture) prepare(ctx context.Context) (err error) {
	if fx.o, err = fx.sys.org(ctx, "Races"); err != nil {
		return err
	}
	if fx.own, err = fx.o.populate(ctx, fx.sys.unique("races")); err != nil {
		return err
	}
	fx.manual = fx.o.createID(ctx, "/v1/programs", M{
		"name": "Manual", "website_url": "https://manual.example", "currency": "USD", "holding_period_days": 0,
	})
	fx.o.object(ctx, "/v1/flows", M{
		"program_id": fx.manual, "name": "All", "rate_type": "percent", "rate_value": 2000, "approval_mode": "manual",
	})
	return nil
}

// run sends one call of each racer at once, through the processes in turn. A caller
// with the method "" made no call. A call that loses a race gets an error of the API:
// any other answer than a success or such an error is a fault.
func (fx *raceFixture) run(ctx context.Context, f func(i int) (method, path string, body any)) []answer {
	return fx.runAll(ctx, racers, f)
}

// runAll is run with n callers.
func (fx *raceFixture) runAll(ctx context.Context, n int, f func(i int) (method, path string, body any)) []answer {
	out := make([]answer, n)
	ready, wait := make(chan struct{}), sync.WaitGroup{}
	for i := range out {
		wait.Go(func() {
			<-ready
			method, path, body := f(i)
			if method == "" {
				return
			}
			res, err := fx.sys.send(ctx, call{
				method: method, path: path, body: body, key: fx.o.key, at: fx.sys.processes[i%len(fx.sys.processes)].addr,
			})
			if err != nil && ctx.Err() == nil {
				fx.sys.fault("%s %s: %v", method, path, err)
			}
			out[i] = res
		})
	}
	close(ready)
	wait.Wait()
	for _, res := range out {
		switch res.status {
		case 0:
		case 200, 201, 202:
			fx.winners++
		case 400, 404, 409:
			fx.losers++
		default:
			fx.sys.fault("a caller of a race is answered %d %s", res.status, res.raw)
		}
	}
	return out
}

// same lets every racer post the same body.
func (fx *raceFixture) same(ctx context.Context, path string, body any) []answer {
	return fx.run(ctx, func(int) (string, string, any) { return "POST", path, body })
}

// must records a fault unless ok.
func (fx *raceFixture) must(ok bool, format string, args ...any) {
	if !ok {
		fx.sys.fault(format, args...)
	}
}

// statuses counts the answers by status.
func statuses(answers []answer) map[int]int {
	out := map[int]int{}
	for _, a := range answers {
		out[a.status]++
	}
	return out
}

// events counts the events of a type about one object.
func (fx *raceFixture) events(ctx context.Context, kind, subject string) (n int) {
	if err := fx.sys.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE type = $1 AND subject_id = $2", kind,
		subject).Scan(&n); err != nil {
		fx.sys.fault("%v", err)
	}
	return n
}

// newSale records a sale and returns its partner, customer, id and commission.
func (fx *raceFixture) newSale(ctx context.Context, program string) (partner, customer, sale, commission string) {
	own := maps.Clone(fx.own)
	own["prg_"] = program
	partner = fx.o.partner(ctx, own)
	customer = fx.o.createID(ctx, "/v1/customers", M{"program_id": program, "partner_id": partner})
	own["cus_"] = customer
	sale = fx.o.sale(ctx, own)
	return partner, customer, sale, fx.o.first(ctx, "/v1/commissions?program_id="+program+"&sale_id="+sale)
}

// batch returns the body of a request for a batch up to now, of one partner or, for "",
// of all.
func (fx *raceFixture) batch(partner string) M {
	body := M{"program_id": fx.own["prg_"], "period_end": time.Now().UTC().Format(time.RFC3339Nano)}
	if partner != "" {
		body["partner_id"] = partner
	}
	return body
}

// balance returns a partner's due and paid amounts.
func (fx *raceFixture) balance(ctx context.Context, program, partner string) (due, paid int64) {
	for _, b := range fx.o.get(ctx, "/v1/balances?program_id="+program+"&currency=USD&partner_id="+partner).data() {
		return b.int("due_minor"), b.int("paid_minor")
	}
	return 0, 0
}

// refundRefund refunds a sale many times. Every caller gets the same answer, and one of
// them voids the commission.
func refundRefund(ctx context.Context, fx *raceFixture) {
	_, _, sale, commission := fx.newSale(ctx, fx.own["prg_"])
	answers := fx.same(ctx, "/v1/sales/"+sale+"/refund", nil)
	var voided int64
	for _, r := range answers {
		fx.must(r.status == 200 && r.text("refunded_at") == answers[0].text("refunded_at"),
			"a refund answers %d %s", r.status, r.raw)
		voided += r.int("voided_commissions")
	}
	fx.must(voided == 1 && fx.events(ctx, "sale.refunded", sale) == 1 &&
		fx.events(ctx, "commission.voided", commission) == 1,
		"%d refunds voided", voided)
}

// refundPaid refunds a sale while its payout is marked as paid. The commission is voided before the payment or clawed
// back after it, and the events agree.
func refundPaid(ctx context.Context, fx *raceFixture) {
	partner, _, sale, commission := fx.newSale(ctx, fx.own["prg_"])
	fx.o.object(ctx, "/v1/payout_batches", fx.batch(partner))
	payout := fx.o.first(ctx, "/v1/payouts?program_id="+fx.own["prg_"]+"&partner_id="+partner)
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", nil
		}
		return "POST", "/v1/payouts/" + payout + "/mark_paid", nil
	})
	due, paid := fx.balance(ctx, fx.own["prg_"], partner)
	status := fx.o.get(ctx, "/v1/commissions/"+commission).text("status")
	voided := status == "voided" && due == 0 && paid == 0 && fx.events(ctx, "payout.paid", payout) == 0
	clawed := status == "paid" && due == -1000 && paid == 1000 && fx.events(ctx, "payout.paid", payout) == 1 &&
		fx.events(ctx, "commission.paid", commission) == 1 &&
		statuses(answers)[200] == 1+racers/4 // one payment, and every refund: it changes nothing the second time
	fx.must(voided || clawed, "neither voided nor clawed back: %s, due %d, paid %d", status, due, paid)
}

// refundBatch refunds a sale while batches are made, of one partner and of all. Each
// partner has one payout, and the refund does not push another partner's commission out
// of its batch.
func refundBatch(ctx context.Context, fx *raceFixture) {
	partner, _, sale, _ := fx.newSale(ctx, fx.own["prg_"])
	other, _, _, commission := fx.newSale(ctx, fx.own["prg_"])
	fx.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", M{"amount_minor": 1000}
		}
		return "POST", "/v1/payout_batches", fx.batch([]string{partner, other, ""}[i%3])
	})
	for _, p := range []string{partner, other} {
		n := len(fx.o.get(ctx, "/v1/payouts?program_id="+fx.own["prg_"]+"&partner_id="+p).data())
		fx.must(n == 1, "%d payouts of a partner", n)
	}
	fx.must(fx.o.get(ctx, "/v1/commissions/"+commission).text("payout_id") != "", "a commission was left out of its batch")
}

// refundMaturity refunds a sale while its commission is approved and matures. In any order, the commission ends as
// voided. Every other round has no refund, which shows that the commission would be due.
func refundMaturity(ctx context.Context, fx *raceFixture) {
	partner, _, sale, commission := fx.newSale(ctx, fx.manual)
	refund := fx.turn%2 == 0
	fx.run(ctx, func(i int) (string, string, any) {
		switch {
		case i == 5 && refund:
			return "POST", "/v1/sales/" + sale + "/refund", nil
		case i%3 == 0:
			fx.mature(ctx)
			return "", "", nil
		}
		return "POST", "/v1/commissions/" + commission + "/approve", nil
	})
	status := fx.o.get(ctx, "/v1/commissions/"+commission).text("status")
	due, _ := fx.balance(ctx, fx.manual, partner)
	if !refund {
		fx.must(status == "due" && due == 1000, "an approved commission is %s, and %d due", status, due)
		return
	}
	fx.must(status == "voided" && due == 0 && fx.events(ctx, "commission.voided", commission) == 1,
		"a refunded sale's commission is %s, and %d due", status, due)
}

// mature runs the jobs that approve and mature commissions, beside those of the servers.
func (fx *raceFixture) mature(ctx context.Context) {
	for _, j := range jobs.All(jobs.Deps{Pool: fx.sys.pool, Clock: clock.System{}}) {
		if j.Name != "mature-commissions" && j.Name != "approve-commissions" {
			continue
		}
		if err := j.Run(ctx, clock.System{}.Now()); err != nil && ctx.Err() == nil {
			fx.sys.fault("%s: %v", j.Name, err)
		}
	}
}

// approveReject approves and rejects one commission. An approved one can still be
// rejected, so that every round ends with one rejection.
func approveReject(ctx context.Context, fx *raceFixture) {
	_, _, _, commission := fx.newSale(ctx, fx.manual)
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i < racers/2 {
			return "POST", "/v1/commissions/" + commission + "/approve", nil
		}
		return "POST", "/v1/commissions/" + commission + "/reject", M{"reason": "x"}
	})
	approved, rejected := statuses(answers[:racers/2])[200], statuses(answers[racers/2:])[200]
	status := fx.o.get(ctx, "/v1/commissions/"+commission).text("status")
	fx.must(approved <= 1 && rejected == 1 && statuses(answers)[409] == racers-approved-1 && status == "rejected" &&
		fx.events(ctx, "commission.updated", commission) == approved+1,
		"%d approvals and %d rejections, and it is %s", approved, rejected, status)
}

// applicationDecided approves, rejects and withdraws one application. One decision is taken,
// and the partner is what that says.
func applicationDecided(ctx context.Context, fx *raceFixture) {
	application := fx.o.object(ctx, "/v1/applications", M{
		"program_id": fx.own["prg_"], "email": fx.sys.unique("app") + "@example.com",
	})
	id := application.text("id")
	answers := fx.run(ctx, func(i int) (string, string, any) {
		return "POST", "/v1/applications/" + id + []string{"/approve", "/reject", "/withdraw"}[i/2%3], nil
	})
	status := fx.o.get(ctx, "/v1/applications/"+id).text("status")
	decided := fx.events(ctx, "application."+status, id)
	if status == "withdrawn" { // which has no event
		decided++
	}
	fx.must(statuses(answers)[200] == 1 && statuses(answers)[409] == racers-1 && decided == 1, "%v, and it is %s",
		statuses(answers), status)
	want := map[string]string{"approved": "active", "rejected": "declined", "withdrawn": "declined"}[status]
	partner := fx.o.get(ctx, "/v1/partners/"+application.text("partner_id")).text("status")
	fx.must(partner == want && want != "", "the application is %s and its partner %s", status, partner)
}

// samePartner adds one partner many times, in two spellings of its email. The refusals name
// the partner that there is.
func samePartner(ctx context.Context, fx *raceFixture) {
	name := fx.sys.unique("same")
	answers := fx.run(ctx, func(i int) (string, string, any) {
		return "POST", "/v1/partners", M{
			"program_id": fx.own["prg_"], "email": []string{name, "SAME" + name[4:]}[i/2%2] + "@example.com",
		}
	})
	fx.must(statuses(answers)[201] == 1 && statuses(answers)[409] == racers-1, "partners: %v", statuses(answers))
	var ids []string
	for _, r := range answers {
		if r.status == 201 {
			ids = append(ids, r.text("id"))
		} else if id, ok := r.object("existing")["id"].(string); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	fx.must(len(ids) == racers && len(slices.Compact(ids)) == 1, "conflicts name %v", ids)
}

// sameLink adds links of one value.
func sameLink(ctx context.Context, fx *raceFixture) {
	answers := fx.same(ctx, "/v1/links", M{
		"program_id": fx.own["prg_"], "partner_id": fx.own["part_"], "destination_url": "https://shop.example",
		"value": fx.sys.unique("link"),
	})
	fx.must(statuses(answers)[201] == 1 && statuses(answers)[409] == racers-1, "links: %v", statuses(answers))
}

// firstSales sells to a new customer many times. One sale is the first, and converts the
// referral.
func firstSales(ctx context.Context, fx *raceFixture) {
	click := fx.click(ctx)
	customer := fx.o.createID(ctx, "/v1/customers", M{"program_id": fx.own["prg_"], "click_id": click.text("id")})
	answers := fx.run(ctx, func(int) (string, string, any) { return "POST", "/v1/sales", fx.saleOf(customer) })
	firsts := 0
	for _, r := range answers {
		if r.body["is_first_sale"] == true {
			firsts++
		}
	}
	fx.must(statuses(answers)[201] == racers && firsts == 1 &&
		fx.events(ctx, "referral.converted", click.text("referral_id")) == 1,
		"%d first sales of %v", firsts, statuses(answers))
}

// click records a visit by the partner's link.
func (fx *raceFixture) click(ctx context.Context) answer {
	return fx.o.object(ctx, "/v1/clicks", M{
		"program_id": fx.own["prg_"], "value": fx.own["handle"], "landing_url": "https://shop.example",
		"visitor_token": fx.sys.unique("visitor"),
	})
}

// saleOf returns the body of a new sale, of which a fifth is the commission.
func (fx *raceFixture) saleOf(customer string) M {
	return M{
		"program_id": fx.own["prg_"], "customer_id": customer, "external_charge_id": fx.sys.unique("ch"),
		"amount_minor": 5000,
		"currency":     "USD",
	}
}

// reassigned moves a customer between partners while it buys. A sale, its commission and
// its event must name one partner.
func reassigned(ctx context.Context, fx *raceFixture) {
	ada, bob := fx.o.partner(ctx, fx.own), fx.o.partner(ctx, fx.own)
	customer := fx.o.createID(ctx, "/v1/customers", M{"program_id": fx.own["prg_"], "partner_id": ada})
	fx.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/customers/" + customer, M{"partner_id": []string{ada, bob}[i/4%2]}
		}
		return "POST", "/v1/sales", fx.saleOf(customer)
	})
	var wrong int
	err := fx.sys.pool.QueryRow(ctx,
		`SELECT count(*) FROM sales s LEFT JOIN commissions k ON k.sale_id = s.id
		LEFT JOIN events e ON e.subject_id = s.id AND e.type = 'sale.created'
		WHERE s.customer_id = $1 AND (s.partner_id, s.partner_id) IS DISTINCT FROM (k.partner_id, e.partner_id)`,
		customer).Scan(&wrong)
	fx.must(err == nil && wrong == 0, "%d sales name another partner than their commission or event: %v", wrong, err)
}

// defaultGroup creates groups that each become the default. A reader must never see two
// defaults, nor none.
func defaultGroup(ctx context.Context, fx *raceFixture) {
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i%4 == 3 {
			return "GET", "/v1/groups?limit=100&program_id=" + fx.own["prg_"], nil
		}
		return "POST", "/v1/groups", M{"program_id": fx.own["prg_"], "name": fx.sys.unique("group"), "is_default": true}
	})
	for i := 3; i < racers; i += 4 {
		defaults := 0
		for _, g := range answers[i].data() {
			if g.body["is_default"] == true {
				defaults++
			}
		}
		fx.must(defaults <= 1 && (defaults == 1 || answers[i].body["has_more"] == true), "%d default groups at one moment",
			defaults)
	}
	var n int
	err := fx.sys.pool.QueryRow(ctx, "SELECT count(*) FROM groups WHERE program_id = $1 AND is_default",
		fx.own["prg_"]).Scan(&n)
	fx.must(err == nil && n == 1, "%d default groups: %v", n, err)
}

// rotated rotates an endpoint's secret. A rotation beside another one is refused, since it
// would drop the secret that receivers still use.
func rotated(ctx context.Context, fx *raceFixture) {
	id := fx.o.createID(ctx, "/v1/webhook_endpoints", M{
		"program_id": fx.manual, "url": fx.sys.sink.web.URL + "/rotated", "event_types": []string{"affiliate.created"},
	})
	answers := fx.same(ctx, "/v1/webhook_endpoints/"+id+"/rotate_secret", nil)
	secrets := map[string]bool{}
	for _, r := range answers {
		fx.must(r.status == 200 || r.status == 409, "a rotation answers %d %s", r.status, r.raw)
		if r.status == 200 {
			secrets[r.text("secret")] = true
		}
	}
	fx.must(len(secrets) == statuses(answers)[200] && len(secrets) > 0,
		"%d secrets of %v", len(secrets), statuses(answers))
	fx.o.ask(ctx, "DELETE", "/v1/webhook_endpoints/"+id, nil)
}

// partnerDeleted deletes a partner under sales of its customers. A sale is complete without
// the partner, or refused since its customer went too.
func partnerDeleted(ctx context.Context, fx *raceFixture) {
	partner := fx.o.partner(ctx, fx.own)
	var customers []string
	for range 5 {
		customers = append(customers,
			fx.o.createID(ctx, "/v1/customers", M{"program_id": fx.own["prg_"], "partner_id": partner}))
	}
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i == 7 {
			return "DELETE", "/v1/partners/" + partner, nil
		}
		return "POST", "/v1/sales", fx.saleOf(customers[i%len(customers)])
	})
	fx.must(answers[7].status == 200, "the deletion answers %d %s", answers[7].status, answers[7].raw)
	fx.must(fx.o.get(ctx, "/v1/partners/"+partner).status == 404, "a deleted partner is there")
	for i, r := range answers {
		if i == 7 || r.status == 404 {
			continue
		}
		sale := fx.o.get(ctx, "/v1/sales/"+r.text("id"))
		fx.must(r.status == 201 && sale.status == 200 && sale.body["partner_id"] == nil, "half a sale: %s", sale.raw)
		left := fx.o.get(ctx, "/v1/commissions?program_id="+fx.own["prg_"]+"&sale_id="+r.text("id"))
		fx.must(left.status == 200 && len(left.data()) == 0, "a commission of nobody: %s", left.raw)
	}
	var n int
	err := fx.sys.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM sales WHERE partner_id = $1) +
		(SELECT count(*) FROM commissions WHERE partner_id = $1)`, partner).Scan(&n)
	fx.must(err == nil && n == 0, "%d sales and commissions name a deleted partner: %v", n, err)
}

// flowChanged changes a flow under sales. All rates of a version are the same multiple of
// 10 %, so that an amount of two versions would show.
func flowChanged(ctx context.Context, fx *raceFixture) {
	program := fx.o.createID(ctx, "/v1/programs", M{
		"name": "Flow", "website_url": "https://flow.example", "currency": "USD", "holding_period_days": 0,
	})
	own := objects{"prg_": program}
	customer := fx.o.createID(ctx, "/v1/customers", M{"program_id": program, "partner_id": fx.o.partner(ctx, own)})
	branch := func(rate int) M {
		return M{
			"rate_type": "percent", "rate_value": rate,
			"branches": []M{{"conditions": []M{}, "rate_type": "percent", "rate_value": rate}},
		}
	}
	flow := fx.o.createID(ctx, "/v1/flows", merged(branch(1000), M{"program_id": program, "name": "x"}))
	answers := fx.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/flows/" + flow, branch(1000 * (1 + i/4))
		}
		return "POST", "/v1/sales", merged(fx.saleOf(customer), M{"program_id": program})
	})
	for _, r := range answers {
		fx.must(r.status/100 == 2, "%d %s", r.status, r.raw)
	}
	for _, k := range fx.o.get(ctx, "/v1/commissions?limit=100&program_id="+program).data() {
		fx.must(k.int("amount_minor")%500 == 0 && k.int("amount_minor") > 0, "a commission of no version: %v", k.body)
	}
}

// flagResolved resolves one flag many times, and it leaves one event.
func flagResolved(ctx context.Context, fx *raceFixture) {
	own := fx.o.subject(ctx, operations()["resolveRiskFlag"], fx.own)
	answers := fx.same(ctx, "/v1/risk_flags/"+own["rsk_"]+"/resolve", M{"note": "x"})
	fx.must(statuses(answers)[200] >= 1 && fx.events(ctx, "risk_flag.resolved", own["rsk_"]) == 1, "%v, %d events",
		statuses(answers), fx.events(ctx, "risk_flag.resolved", own["rsk_"]))
}

// endpointDeleted deletes an endpoint while deliveries are replayed to it. None may wait
// for it afterwards, since the sender would send them.
func endpointDeleted(ctx context.Context, fx *raceFixture) {
	id := fx.o.createID(ctx, "/v1/webhook_endpoints", M{
		"program_id": fx.manual, "url": fx.sys.sink.web.URL + "/gone", "event_types": []string{"affiliate.created"},
	})
	answers := fx.run(ctx, func(i int) (string, string, any) {
		switch i % 4 {
		case 0:
			return "DELETE", "/v1/webhook_endpoints/" + id, nil
		case 1:
			return "POST", "/v1/webhook_endpoints/" + id, M{"enabled": false}
		}
		return "POST", "/v1/webhook_endpoints/" + id + "/replay", M{
			"failed_since": time.Now().UTC().Add(-time.Hour).Format(time.RFC3339),
		}
	})
	deleted := 0
	for i := 0; i < racers; i += 4 {
		if answers[i].status == 200 {
			deleted++
		}
	}
	var left int
	err := fx.sys.pool.QueryRow(ctx,
		"SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = $1 AND status IN ('pending', 'retrying')",
		id).Scan(&left)
	fx.must(err == nil && left == 0 && deleted == 1, "%d deletions, and %d deliveries wait: %v", deleted, left, err)
}

// sameVisitor sends clicks of one visitor. Each is recorded, and all are one referral's.
func sameVisitor(ctx context.Context, fx *raceFixture) {
	token := fx.sys.unique("visitor")
	answers := fx.same(ctx, "/v1/clicks", M{
		"program_id": fx.own["prg_"], "value": fx.own["handle"], "landing_url": "https://shop.example",
		"visitor_token": token,
	})
	clicks, referrals := map[string]bool{}, map[string]bool{}
	for _, r := range answers {
		clicks[r.text("id")], referrals[r.text("referral_id")] = true, true
	}
	fx.must(statuses(answers)[201] == racers && len(clicks) == racers && len(referrals) == 1 &&
		fx.events(ctx, "referral.created", answers[0].text("referral_id")) == 1, "%v, %d clicks, %d referrals",
		statuses(answers), len(clicks), len(referrals))
}

// sameCharge records one charge for two customers of a partner. The first call gets the sale, and the partner gets
// one commission.
func sameCharge(ctx context.Context, fx *raceFixture) {
	partner, customer, _, _ := fx.newSale(ctx, fx.own["prg_"])
	other := fx.o.createID(ctx, "/v1/customers", M{"program_id": fx.own["prg_"], "partner_id": partner})
	charge := fx.saleOf(customer)
	before, _ := fx.balance(ctx, fx.own["prg_"], partner)
	answers := fx.runAll(ctx, crowd, func(i int) (string, string, any) {
		return "POST", "/v1/sales", merged(charge, M{"customer_id": []string{customer, other}[i/2%2]})
	})
	ids := map[string]bool{}
	for _, r := range answers {
		ids[r.text("id")] = true
	}
	n := fx.events(ctx, "sale.created", answers[0].text("id"))
	due, _ := fx.balance(ctx, fx.own["prg_"], partner)
	fx.must(statuses(answers)[201] == 1 && statuses(answers)[200] == crowd-1 && len(ids) == 1 && n == 1 &&
		due == before+1000, "one charge: %v, %d sales, %d events, %d due after %d", statuses(answers), len(ids), n, due,
		before)
}

// sameKey checks that callers that retry after Retry-After all get the same bytes, and that
// the work was done once. It is work that nothing else keeps from being done twice: a
// sale, say, would be one for its charge.
func sameKey(ctx context.Context, fx *raceFixture) {
	partner, key := fx.o.partner(ctx, fx.own), fx.sys.unique("race")
	body := M{"program_id": fx.own["prg_"], "partner_id": partner, "amount_minor": 700, "reason": "race"}
	bodies := make([]string, crowd)
	var wg sync.WaitGroup
	for i := range bodies {
		wg.Go(func() {
			for ctx.Err() == nil {
				r := fx.o.post(ctx, "/v1/commissions", body, "Idempotency-Key", key)
				if r.status == 409 && r.code() == "idempotency_in_progress" && r.header.Get("Retry-After") == "1" {
					continue
				}
				bodies[i] = fmt.Sprint(r.status, string(r.raw))
				return
			}
		})
	}
	wg.Wait()
	slices.Sort(bodies)
	fx.must(len(slices.Compact(bodies)) == 1 && strings.HasPrefix(bodies[0], "201"), "one key, many answers: %v",
		first(bodies, 2))
	n := fx.o.get(ctx, "/v1/commissions?program_id="+fx.own["prg_"]+"&partner_id="+partner).int("total_count")
	fx.must(n == 1, "one key did its work %d times", n)
}
