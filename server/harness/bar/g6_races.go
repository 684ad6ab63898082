package bar

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"rail/server/clock"
	"rail/server/jobs"
)

// racers is how many callers take part in a race.
const racers = 16

// race is one of them: a round sets up, lets the callers go at once through both
// processes, and tells what must hold.
type race struct {
	name  string
	round func(ctx context.Context, a *arena)
}

// races is G6. A payment by hand against a rail's settlement needs a payment rail,
// which no process of this bar has, a sign-in link that many follow a portal, and a
// key that is revoked in use a few seconds: tests of their own run these.
func races(ctx context.Context, w *world, size Size) (figures, error) {
	a := &arena{w: w}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	list := []race{
		{"R1", refundRefund},       // a sale is refunded once
		{"R2 R6", refundPaid},      // a payout is paid once; a refund voids or claws back, never both
		{"R3 R5", refundBatch},     // a partner has one payout a month, which holds nothing refunded
		{"R4", refundMaturity},     // refund, approval and maturity come in one order
		{"R8", approveReject},      // a commission is rejected once, and each decision is told
		{"R9", applicationDecided}, // an application is decided once
		{"R10", samePartner},       // an email is one partner's
		{"R11", sameLink},          // a value is one link's
		{"R12", firstSales},        // a customer has one first sale
		{"R13", reassigned},        // sale, commission and event name the same partner
		{"R14", defaultGroup},      // there is one default group at every moment
		{"R15", rotated},           // an endpoint has at most two secrets
		{"R16", partnerDeleted},    // a sale is before the deletion or after it, never half
		{"R18", flowChanged},       // a commission comes of one whole version of its flow
		{"R19", flagResolved},      // a flag is resolved once
		{"R22", endpointDeleted},   // nothing is sent after the deletion
		{"R24", sameVisitor},       // a visitor's clicks open one referral
		{"C4", sameCharge},         // a charge is one sale
		{"C5", sameKey},            // an Idempotency-Key does its work once
		{"files", filed},           // a file has what the books say
		{"month's end", monthEnds}, // who is due is in the month's batch, once
		{"C6", sameRefund},         // a refund of the processor's is taken once
		{"C7", refundMeetsSale},    // a refund and its sale never miss each other
		{"C8", grantMeetsRefund},   // what is granted for a sale is refunded with it
	}
	rounds := size.of(20, 3)
	for _, r := range list {
		for range rounds {
			before := w.count()
			if r.round(ctx, a); w.count() > before {
				w.fault("%s does not hold", r.name)
				break
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if a.winners == 0 || a.losers == 0 {
		return nil, fmt.Errorf("%d calls won and %d lost: nothing raced", a.winners, a.losers)
	}
	var f figures
	f.add("races", len(list))
	f.add("rounds each", rounds)
	f.add("callers", racers)
	f.add("calls that won", a.winners)
	f.add("that were refused", a.losers)
	return f, nil
}

// arena is what the races run on.
type arena struct {
	w               *world
	o               *org
	own             things
	manual          string // a program whose commissions wait for approval
	winners, losers int
}

func (a *arena) prepare(ctx context.Context) (err error) {
	if a.o, err = a.w.org(ctx, "Races"); err != nil {
		return err
	}
	if a.own, err = a.o.populate(ctx, a.w.unique("races")); err != nil {
		return err
	}
	a.manual = a.o.made(ctx, "/v1/programs", M{
		"name": "Manual", "website_url": "https://manual.example", "currency": "USD", "holding_period_days": 0,
	})
	a.o.object(ctx, "/v1/flows", M{
		"program_id": a.manual, "name": "All", "rate_type": "percent", "rate_value": 2000, "approval_mode": "manual",
	})
	return nil
}

// go sends the calls of all racers at once, each through one of the processes.
func (a *arena) run(ctx context.Context, f func(i int) (method, path string, body any)) []answer {
	out := make([]answer, racers)
	ready, wait := make(chan struct{}), sync.WaitGroup{}
	for i := range out {
		wait.Go(func() {
			<-ready
			method, path, body := f(i)
			if method == "" {
				return
			}
			res, err := a.w.send(ctx, call{
				method: method, path: path, body: body, key: a.o.key, at: a.w.processes[i%len(a.w.processes)].addr,
			})
			if err != nil && ctx.Err() == nil {
				a.w.fault("%s %s: %v", method, path, err)
			}
			out[i] = res
		})
	}
	close(ready)
	wait.Wait()
	for _, res := range out {
		if res.status/100 == 2 {
			a.winners++
		} else if res.status != 0 {
			a.losers++
		}
	}
	return out
}

// same lets every racer post the same.
func (a *arena) same(ctx context.Context, path string, body any) []answer {
	return a.run(ctx, func(int) (string, string, any) { return "POST", path, body })
}

func (a *arena) must(holds bool, format string, args ...any) {
	if !holds {
		a.w.fault(format, args...)
	}
}

func statuses(answers []answer) map[int]int {
	out := map[int]int{}
	for _, a := range answers {
		out[a.status]++
	}
	return out
}

// told counts the events of a type about one object.
func (a *arena) told(ctx context.Context, kind, subject string) (n int) {
	if err := a.w.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE type = $1 AND subject_id = $2", kind,
		subject).Scan(&n); err != nil {
		a.w.fault("%v", err)
	}
	return n
}

// sold returns a partner of a program, its customer, a sale and its commission.
func (a *arena) sold(ctx context.Context, program string) (partner, customer, sale, commission string) {
	own := maps.Clone(a.own)
	own["prg_"] = program
	partner = a.o.partner(ctx, own)
	customer = a.o.made(ctx, "/v1/customers", M{"program_id": program, "partner_id": partner})
	own["cus_"] = customer
	sale = a.o.sale(ctx, own)
	return partner, customer, sale, a.o.first(ctx, "/v1/commissions?program_id="+program+"&sale_id="+sale)
}

func (a *arena) batch(partner string) M {
	body := M{"program_id": a.own["prg_"], "period_end": time.Now().UTC().Format(time.RFC3339Nano)}
	if partner != "" {
		body["partner_id"] = partner
	}
	return body
}

func (a *arena) balance(ctx context.Context, partner string) (due, paid int64) {
	for _, b := range a.o.get(ctx, "/v1/balances?program_id="+a.own["prg_"]+"&currency=USD&partner_id="+partner).data() {
		return b.int("due_minor"), b.int("paid_minor")
	}
	return 0, 0
}

func refundRefund(ctx context.Context, a *arena) {
	_, _, sale, commission := a.sold(ctx, a.own["prg_"])
	answers := a.same(ctx, "/v1/sales/"+sale+"/refund", nil)
	var voided int64
	for _, r := range answers {
		a.must(r.status == 200 && r.text("refunded_at") == answers[0].text("refunded_at"), "a refund answers %d %s", r.status,
			r.raw)
		voided += r.int("voided_commissions")
	}
	a.must(voided == 1 && a.told(ctx, "sale.refunded", sale) == 1 && a.told(ctx, "commission.voided", commission) == 1,
		"%d refunds voided", voided)
}

func refundPaid(ctx context.Context, a *arena) {
	partner, _, sale, commission := a.sold(ctx, a.own["prg_"])
	a.o.object(ctx, "/v1/payout_batches", a.batch(partner))
	payout := a.o.first(ctx, "/v1/payouts?program_id="+a.own["prg_"]+"&partner_id="+partner)
	a.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/sales/" + sale + "/refund", nil
		}
		return "POST", "/v1/payouts/" + payout + "/mark_paid", nil
	})
	due, paid := a.balance(ctx, partner)
	status := a.o.get(ctx, "/v1/commissions/"+commission).text("status")
	voided := status == "voided" && due == 0 && paid == 0 && a.told(ctx, "payout.paid", payout) == 0
	clawed := status == "paid" && due == -1000 && paid == 1000 && a.told(ctx, "payout.paid", payout) == 1 &&
		a.told(ctx, "commission.paid", commission) == 1
	a.must(voided || clawed, "neither voided nor clawed back: %s, due %d, paid %d", status, due, paid)
}

func refundBatch(ctx context.Context, a *arena) {
	partner, _, sale, _ := a.sold(ctx, a.own["prg_"])
	other, _, _, kept := a.sold(ctx, a.own["prg_"])
	a.run(ctx, func(i int) (string, string, any) {
		switch {
		case i%4 == 0:
			return "POST", "/v1/sales/" + sale + "/refund", M{"amount_minor": 1000}
		case i%2 == 0:
			return "POST", "/v1/payout_batches", a.batch(partner)
		}
		return "POST", "/v1/payout_batches", a.batch(other)
	})
	for _, p := range []string{partner, other} {
		n := len(a.o.get(ctx, "/v1/payouts?program_id="+a.own["prg_"]+"&partner_id="+p).data())
		a.must(n == 1, "%d payouts of a partner", n)
	}
	a.must(a.o.get(ctx, "/v1/commissions/"+kept).text("payout_id") != "", "a commission was left out of its batch")
}

func refundMaturity(ctx context.Context, a *arena) {
	_, _, sale, commission := a.sold(ctx, a.manual)
	a.run(ctx, func(i int) (string, string, any) {
		switch {
		case i == 5:
			return "POST", "/v1/sales/" + sale + "/refund", nil
		case i%3 == 0:
			for _, j := range jobs.All(jobs.Means{Pool: a.w.pool, Clock: clock.System{}}) {
				if j.Name == "mature-commissions" || j.Name == "approve-commissions" {
					if err := j.Run(ctx, clock.System{}.Now()); err != nil {
						a.w.fault("%s: %v", j.Name, err)
					}
				}
			}
			return "", "", nil
		}
		return "POST", "/v1/commissions/" + commission + "/approve", nil
	})
	status := a.o.get(ctx, "/v1/commissions/"+commission).text("status")
	a.must(status == "voided" && a.told(ctx, "commission.voided", commission) == 1, "a refunded sale's commission is %s",
		status)
}

func approveReject(ctx context.Context, a *arena) {
	_, _, _, commission := a.sold(ctx, a.manual)
	answers := a.run(ctx, func(i int) (string, string, any) {
		if i < racers/2 {
			return "POST", "/v1/commissions/" + commission + "/approve", nil
		}
		return "POST", "/v1/commissions/" + commission + "/reject", M{"reason": "x"}
	})
	approved, rejected := statuses(answers[:racers/2])[200], statuses(answers[racers/2:])[200]
	status := a.o.get(ctx, "/v1/commissions/"+commission).text("status")
	a.must(approved <= 1 && rejected == 1 && status == "rejected" &&
		a.told(ctx, "commission.updated", commission) == approved+1,
		"%d approvals and %d rejections, and it is %s", approved, rejected, status)
}

func applicationDecided(ctx context.Context, a *arena) {
	id := a.o.made(ctx, "/v1/applications", M{"program_id": a.own["prg_"], "email": a.w.unique("app") + "@example.com"})
	answers := a.run(ctx, func(i int) (string, string, any) {
		return "POST", "/v1/applications/" + id + []string{"/approve", "/reject"}[i/2%2], nil
	})
	status := a.o.get(ctx, "/v1/applications/"+id).text("status")
	a.must(statuses(answers)[200] == 1 && a.told(ctx, "application."+status, id) == 1, "%v, and it is %s",
		statuses(answers), status)
}

func samePartner(ctx context.Context, a *arena) {
	name := a.w.unique("same")
	answers := a.run(ctx, func(i int) (string, string, any) {
		return "POST", "/v1/partners", M{
			"program_id": a.own["prg_"], "email": []string{name, "SAME" + name[4:]}[i/2%2] + "@example.com",
		}
	})
	a.must(statuses(answers)[201] == 1 && statuses(answers)[409] == racers-1, "partners: %v", statuses(answers))
	var ids []string
	for _, r := range answers {
		if r.status == 201 {
			ids = append(ids, r.text("id"))
		} else if id, ok := r.object("existing")["id"].(string); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	a.must(len(ids) == racers && len(slices.Compact(ids)) == 1, "conflicts name %v", ids)
}

func sameLink(ctx context.Context, a *arena) {
	answers := a.same(ctx, "/v1/links", M{
		"program_id": a.own["prg_"], "partner_id": a.own["part_"], "destination_url": "https://shop.example",
		"value": a.w.unique("link"),
	})
	a.must(statuses(answers)[201] == 1 && statuses(answers)[409] == racers-1, "links: %v", statuses(answers))
}

func firstSales(ctx context.Context, a *arena) {
	click := a.click(ctx)
	customer := a.o.made(ctx, "/v1/customers", M{"program_id": a.own["prg_"], "click_id": click.text("id")})
	answers := a.run(ctx, func(int) (string, string, any) { return "POST", "/v1/sales", a.saleOf(customer) })
	firsts := 0
	for _, r := range answers {
		if r.body["is_first_sale"] == true {
			firsts++
		}
	}
	a.must(statuses(answers)[201] == racers && firsts == 1 &&
		a.told(ctx, "referral.converted", click.text("referral_id")) == 1, "%d first sales of %v", firsts, statuses(answers))
}

func (a *arena) click(ctx context.Context) answer {
	return a.o.object(ctx, "/v1/clicks", M{
		"program_id": a.own["prg_"], "value": a.own["handle"], "landing_url": "https://shop.example",
		"visitor_token": a.w.unique("visitor"),
	})
}

func (a *arena) saleOf(customer string) M {
	return M{
		"program_id": a.own["prg_"], "customer_id": customer, "external_charge_id": a.w.unique("ch"), "amount_minor": 5000,
		"currency": "USD",
	}
}

func reassigned(ctx context.Context, a *arena) {
	ada, bob := a.o.partner(ctx, a.own), a.o.partner(ctx, a.own)
	customer := a.o.made(ctx, "/v1/customers", M{"program_id": a.own["prg_"], "partner_id": ada})
	a.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/customers/" + customer, M{"partner_id": []string{ada, bob}[i/4%2]}
		}
		return "POST", "/v1/sales", a.saleOf(customer)
	})
	var wrong int
	err := a.w.pool.QueryRow(ctx,
		`SELECT count(*) FROM sales s LEFT JOIN commissions k ON k.sale_id = s.id LEFT JOIN events e ON e.subject_id = s.id AND e.type = 'sale.created'
		WHERE s.customer_id = $1 AND (s.partner_id, s.partner_id) IS DISTINCT FROM (k.partner_id, e.partner_id)`,
		customer).Scan(&wrong)
	a.must(err == nil && wrong == 0, "%d sales name another partner than their commission or event: %v", wrong, err)
}

func defaultGroup(ctx context.Context, a *arena) {
	answers := a.run(ctx, func(i int) (string, string, any) {
		if i%4 == 3 {
			return "GET", "/v1/groups?limit=100&program_id=" + a.own["prg_"], nil
		}
		return "POST", "/v1/groups", M{"program_id": a.own["prg_"], "name": a.w.unique("group"), "is_default": true}
	})
	for i := 3; i < racers; i += 4 {
		defaults := 0
		for _, g := range answers[i].data() {
			if g.body["is_default"] == true {
				defaults++
			}
		}
		a.must(defaults <= 1 && (defaults == 1 || answers[i].body["has_more"] == true), "%d default groups at one moment",
			defaults)
	}
	var n int
	err := a.w.pool.QueryRow(ctx, "SELECT count(*) FROM groups WHERE program_id = $1 AND is_default",
		a.own["prg_"]).Scan(&n)
	a.must(err == nil && n == 1, "%d default groups: %v", n, err)
}

func rotated(ctx context.Context, a *arena) {
	id := a.o.made(ctx, "/v1/webhook_endpoints", M{
		"program_id": a.manual, "url": a.w.sink.web.URL + "/rotated", "event_types": []string{"affiliate.created"},
	})
	answers := a.same(ctx, "/v1/webhook_endpoints/"+id+"/rotate_secret", nil)
	secrets := map[string]bool{}
	for _, r := range answers {
		a.must(r.status == 200 || r.status == 409, "a rotation answers %d %s", r.status, r.raw)
		if r.status == 200 {
			secrets[r.text("secret")] = true
		}
	}
	a.must(len(secrets) == statuses(answers)[200] && len(secrets) > 0, "%d secrets of %v", len(secrets), statuses(answers))
	a.o.ask(ctx, "DELETE", "/v1/webhook_endpoints/"+id, nil)
}

func partnerDeleted(ctx context.Context, a *arena) {
	partner := a.o.partner(ctx, a.own)
	customer := a.o.made(ctx, "/v1/customers", M{"program_id": a.own["prg_"], "partner_id": partner})
	answers := a.run(ctx, func(i int) (string, string, any) {
		if i == 7 {
			return "DELETE", "/v1/partners/" + partner, nil
		}
		return "POST", "/v1/sales", a.saleOf(customer)
	})
	a.must(answers[7].status == 200, "the deletion answers %d %s", answers[7].status, answers[7].raw)
	for i, r := range answers {
		if i != 7 && r.status != 404 {
			sale := a.o.get(ctx, "/v1/sales/"+r.text("id"))
			a.must(r.status == 201 && sale.status == 200 && sale.body["partner_id"] == nil, "half a sale: %s", sale.raw)
		}
	}
}

func flowChanged(ctx context.Context, a *arena) {
	program := a.o.made(ctx, "/v1/programs", M{
		"name": "Flow", "website_url": "https://flow.example", "currency": "USD", "holding_period_days": 0,
	})
	own := things{"prg_": program}
	customer := a.o.made(ctx, "/v1/customers", M{"program_id": program, "partner_id": a.o.partner(ctx, own)})
	branch := func(rate int) M {
		return M{
			"rate_type": "percent", "rate_value": rate,
			"branches": []M{{"conditions": []M{}, "rate_type": "percent", "rate_value": rate}},
		}
	}
	flow := a.o.made(ctx, "/v1/flows", merged(branch(1000), M{"program_id": program, "name": "x"}))
	answers := a.run(ctx, func(i int) (string, string, any) {
		if i%4 == 0 {
			return "POST", "/v1/flows/" + flow, branch(1000 * (1 + i/4))
		}
		return "POST", "/v1/sales", merged(a.saleOf(customer), M{"program_id": program})
	})
	for _, r := range answers {
		a.must(r.status/100 == 2, "%d %s", r.status, r.raw)
	}
	for _, k := range a.o.get(ctx, "/v1/commissions?limit=100&program_id="+program).data() {
		a.must(k.int("amount_minor")%500 == 0 && k.int("amount_minor") > 0, "a commission of no version: %v", k.body)
	}
}

func flagResolved(ctx context.Context, a *arena) {
	own := a.o.subject(ctx, operations()["resolveRiskFlag"], a.own)
	answers := a.same(ctx, "/v1/risk_flags/"+own["rsk_"]+"/resolve", M{"note": "x"})
	a.must(statuses(answers)[200] >= 1 && a.told(ctx, "risk_flag.resolved", own["rsk_"]) == 1, "%v, told %d times",
		statuses(answers), a.told(ctx, "risk_flag.resolved", own["rsk_"]))
}

func endpointDeleted(ctx context.Context, a *arena) {
	id := a.o.made(ctx, "/v1/webhook_endpoints", M{
		"program_id": a.manual, "url": a.w.sink.web.URL + "/gone", "event_types": []string{"affiliate.created"},
	})
	answers := a.run(ctx, func(i int) (string, string, any) {
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
	err := a.w.pool.QueryRow(ctx,
		"SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = $1 AND status IN ('pending', 'retrying')",
		id).Scan(&left)
	a.must(err == nil && left == 0 && deleted == 1, "%d deletions, and %d deliveries wait: %v", deleted, left, err)
}

func sameVisitor(ctx context.Context, a *arena) {
	token := a.w.unique("visitor")
	answers := a.same(ctx, "/v1/clicks", M{
		"program_id": a.own["prg_"], "value": a.own["handle"], "landing_url": "https://shop.example", "visitor_token": token,
	})
	referrals := map[string]bool{}
	for _, r := range answers {
		referrals[r.text("referral_id")] = true
	}
	a.must(statuses(answers)[201] == racers && len(referrals) == 1 &&
		a.told(ctx, "referral.created", answers[0].text("referral_id")) == 1, "%v, %d referrals", statuses(answers),
		len(referrals))
}

func sameCharge(ctx context.Context, a *arena) {
	_, customer, _, _ := a.sold(ctx, a.own["prg_"])
	answers := a.same(ctx, "/v1/sales", a.saleOf(customer))
	ids := map[string]bool{}
	for _, r := range answers {
		ids[r.text("id")] = true
	}
	n := a.told(ctx, "sale.created", answers[0].text("id"))
	a.must(statuses(answers)[201] == 1 && statuses(answers)[200] == racers-1 && len(ids) == 1 && n == 1,
		"one charge: %v, %d sales, %d events", statuses(answers), len(ids), n)
}

// sameKey: callers that follow Retry-After all end with the same bytes.
func sameKey(ctx context.Context, a *arena) {
	_, customer, _, _ := a.sold(ctx, a.own["prg_"])
	body, key := a.saleOf(customer), a.w.unique("race")
	bodies := make([]string, racers)
	var wg sync.WaitGroup
	for i := range bodies {
		wg.Go(func() {
			for ctx.Err() == nil {
				r := a.o.post(ctx, "/v1/sales", body, "Idempotency-Key", key)
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
	a.must(len(slices.Compact(bodies)) == 1 && bodies[0][:3] == "201", "one key, many answers: %v", first(bodies, 2))
}
