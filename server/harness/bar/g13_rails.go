package bar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"rail/server/harness/paypaltest"
	"rail/server/money/ledger/check"
	"rail/server/work"
)

const (
	// railTrouble is the probability of each fault and each unusual end at PayPal.
	railTrouble = 0.04
	// lives is how often both servers are killed in a wave of payouts.
	lives = 4
)

// paidByRails is G13: two servers send payouts to a PayPal with troubles, and are killed and restarted meanwhile. No
// payout may be paid twice or be lost, and the next poll sees each end. The time of the servers is that of the machine,
// so the stage sets back the times in the database and advances PayPal's clock.
func paidByRails(ctx context.Context, sys *system, size Size) (f figures, err error) {
	own, err := newSystem(ctx, sys.cluster, sys.binary, sys.seed) // PayPal has only the payouts of the stage
	if err != nil {
		return nil, err
	}
	defer func() {
		own.close()
		faults, _ := own.take()
		for _, fault := range faults {
			sys.fault("%s", strings.TrimPrefix(fault, "- "))
		}
	}()
	s := &railStorm{sys: own, random: own.random("g13", 0), ends: map[string]int{}}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	waves := size.of(25, 2)
	if err := s.rage(ctx, waves, size.of(40, 12)); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, overAMonth, overAMonth); err != nil {
		return nil, err
	}
	if err := s.wave(ctx, waves, len(fates)); err != nil { // without troubles, so that it has all ends
		return nil, err
	}
	if err := s.settle(ctx, betweenPolls, betweenPolls, overAMonth); err != nil {
		return nil, err
	}
	found, err := check.Full(ctx, own.pool, check.Options{Keeper: own.keeper, Connections: 2})
	if err != nil || len(found.Findings) > 0 {
		return nil, errors.Join(err, fmt.Errorf("the audit finds %d: %v", len(found.Findings), first(found.Findings, 5)))
	}
	return s.figures()
}

// railStorm is the state of G13.
type railStorm struct {
	sys            *system
	o              *org
	random         *rand.Rand
	program, rail  string
	payouts, kills int
	days           time.Duration // that have passed at PayPal
	ends           map[string]int
}

// prepare makes a program that is connected to PayPal.
func (s *railStorm) prepare(ctx context.Context) (err error) {
	if s.o, err = s.sys.org(ctx, "Rails"); err != nil {
		return err
	}
	s.program = s.o.createID(ctx, "/v1/programs", M{
		"name": "Rails", "website_url": "https://rails.example", "currency": "USD", "holding_period_days": 0,
		"payout_methods": []string{"paypal"},
	})
	own := objects{"prg_": s.program}
	err = s.o.unit().Within(ctx, func(u *work.Unit) error { return s.o.rail(ctx, u, own) })
	s.rail = own["prl_"]
	plan := paypaltest.Trouble(railTrouble)
	plan.Submit.Throttle, plan.Other.Throttle = railTrouble/10, railTrouble/10 // each ends the round of a server
	s.sys.paypal.SetPlan(plan)
	return err
}

// rage hands over waves of payouts, and kills the servers several times in each.
func (s *railStorm) rage(ctx context.Context, waves, partners int) error {
	for wave := range waves {
		if err := s.wave(ctx, wave, partners); err != nil {
			return err
		}
		for n := range lives {
			s.sys.paypal.SetFunds("HUF", int64(n)*1_000_000_000) // none at first
			if err := s.life(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// wave makes payouts of new partners in three currencies, and hands them over. The first payouts have the ends that
// matter most, so that each wave has them.
func (s *railStorm) wave(ctx context.Context, wave, partners int) error {
	for n := range partners {
		partner := s.o.partner(ctx, objects{"prg_": s.program})
		s.o.object(ctx, "/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": partner + "@example.com"}})
		for currency, minor := range map[string]int{
			"USD": 1000 + s.random.IntN(100_000), "HUF": 50 * s.random.IntN(10_000), "JPY": s.random.IntN(50_000),
		} {
			if minor > 0 && (currency == "USD" || n%3 == wave%3) {
				s.o.object(ctx, "/v1/commissions", M{
					"program_id": s.program, "partner_id": partner, "amount_minor": minor, "currency": currency, "reason": "x",
				})
			}
		}
	}
	batch := s.o.createID(ctx, "/v1/payout_batches", M{
		"program_id": s.program, "period_end": time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err := s.decide(ctx, wave); err != nil {
		return err
	}
	for _, currency := range []string{"USD", "HUF", "JPY"} {
		if err := s.send(ctx, batch, currency); err != nil {
			return err
		}
	}
	return nil
}

// fates has the ends that each wave has.
var fates = []paypaltest.Fate{
	paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Reversed, 10*24*time.Hour),
	paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Refunded, 10*24*time.Hour),
	paypaltest.Becomes(paypaltest.Unclaimed, time.Minute),
	paypaltest.Becomes(paypaltest.OnHold, time.Minute).Then(paypaltest.Success, 24*time.Hour),
	paypaltest.Becomes(paypaltest.Failed, time.Minute, "RECEIVER_UNREGISTERED"),
}

// decide names the new payouts, so that the seed repeats what PayPal does with them, and determines the ends of some.
func (s *railStorm) decide(ctx context.Context, wave int) error {
	rows, err := s.sys.pool.Query(ctx, `SELECT id FROM payouts WHERE program_id = $1 AND status = 'pending'
		ORDER BY currency DESC, amount_minor, id`, s.program)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for n, id := range ids {
		s.sys.paypal.SetName(id, fmt.Sprint(wave, " ", n))
		if n < len(fates) {
			s.sys.paypal.SetFate(id, fates[n])
		}
	}
	s.payouts += len(ids)
	return err
}

// send hands over the pending payouts of a currency.
func (s *railStorm) send(ctx context.Context, batch, currency string) error {
	var count, minor int
	err := s.sys.pool.QueryRow(ctx, `SELECT count(*), coalesce(sum(amount_minor), 0)::bigint FROM payouts
		WHERE batch_id = $1 AND currency = $2 AND status = 'pending'`, batch, currency).Scan(&count, &minor)
	if err == nil && count > 0 {
		s.o.object(ctx, "/v1/payout_batches/"+batch+"/send", M{
			"rail_id": s.rail, "currency": currency, "confirm_count": count, "confirm_amount_minor": minor,
		})
	}
	return err
}

// life kills both servers in their work, lets time pass, and starts them again.
func (s *railStorm) life(ctx context.Context) error {
	if err := s.kill(ctx); err != nil {
		return err
	}
	seen, err := s.seen(ctx)
	if err != nil {
		return err
	}
	for _, early := range s.sys.paypal.Early(seen) {
		s.sys.fault("%s", early)
	}
	if err := s.pass(ctx, pick(s.random, passing)); err != nil {
		return err
	}
	return s.restart(ctx)
}

// kill kills the servers in their work.
func (s *railStorm) kill(ctx context.Context) error {
	for _, p := range s.sys.processes {
		if err := pause(ctx, time.Duration(20+s.random.IntN(300))*time.Millisecond); err != nil {
			return err
		}
		if err := p.kill(); err != nil {
			return err
		}
		s.kills++
	}
	return nil
}

// restart starts the servers again.
func (s *railStorm) restart(ctx context.Context) error {
	g, start := errgroup.WithContext(ctx)
	for _, p := range s.sys.processes {
		g.Go(func() error { return p.again(start) })
	}
	return g.Wait()
}

const (
	// betweenPolls is longer than the time between two polls of a payout.
	betweenPolls = 6 * time.Minute
	// overAMonth is longer than PayPal's guard against duplicates, and than any end takes.
	overAMonth = 35 * 24 * time.Hour
)

// passing has the times between two lives of the servers.
var passing = []time.Duration{betweenPolls, betweenPolls, 20 * time.Minute, 3 * time.Hour, 25 * time.Hour}

// pass lets time pass for Rail first, which is the safe order: a server must not take PayPal's guard against duplicates
// to last longer than it does.
func (s *railStorm) pass(ctx context.Context, by time.Duration) error {
	s.days += by
	for _, sql := range []string{
		`UPDATE payouts SET checked_at = checked_at - $1::interval, submitted_at = submitted_at - $1::interval
			WHERE rail_id IS NOT NULL`,
		// Otherwise the details would have changed after the submission.
		`UPDATE partners SET payout_details_changed_at = payout_details_changed_at - $1::interval`,
		`UPDATE payout_rails SET busy_until = busy_until - $1::interval, submit_after = submit_after - $1::interval`,
	} {
		if _, err := s.sys.pool.Exec(ctx, sql, by); err != nil {
			return err
		}
	}
	s.sys.clock.Advance(by)
	return nil
}

// settle ends the troubles and the kills, and checks after each of some times that the next poll sees PayPal's states.
func (s *railStorm) settle(ctx context.Context, times ...time.Duration) error {
	s.sys.paypal.SetPlan(paypaltest.Plan{})
	s.sys.paypal.SetFunds("HUF", 1<<50)
	if err := s.kill(ctx); err != nil { // a server might be in the middle of a poll when the states are compared
		return err
	}
	for _, by := range times {
		if err := s.pass(ctx, by); err != nil {
			return err
		}
		if err := s.poll(ctx); err != nil {
			return err
		}
		seen, err := s.seen(ctx)
		if err != nil {
			return err
		}
		if len(seen) != s.payouts {
			s.sys.fault("%d of %d payouts are there", len(seen), s.payouts)
		}
		for _, differs := range s.sys.paypal.Compare(seen) {
			s.sys.fault("%s", differs)
		}
		clear(s.ends)
		for _, p := range seen {
			s.ends[strings.TrimSpace(p.Status+" "+p.Attention)]++
		}
	}
	return s.restart(ctx)
}

// poll runs the job until nothing is due.
func (s *railStorm) poll(ctx context.Context) error {
	for range 20 {
		p := s.sys.processes[0] // its settings; the servers are down
		cmd := exec.CommandContext(ctx, p.binary, "job", "run", "send-payouts")
		cmd.Env = p.environ
		output, err := cmd.CombinedOutput()
		var due int
		count := s.sys.pool.QueryRow(ctx, `SELECT count(*) FROM payouts WHERE rail_id = $1
			AND (status = 'processing' AND attention IS DISTINCT FROM 'unconfirmed'
				AND (checked_at IS NULL OR checked_at < now() - interval '5 minutes')
			OR status = 'paid' AND checked_at < now() - interval '24 hours' AND attention IS NULL)`, s.rail).Scan(&due)
		switch {
		case count != nil:
			return count
		case err != nil:
			s.sys.fault("a round without troubles ended with %v: %s", err, output)
			return nil
		case due == 0:
			return nil
		}
	}
	s.sys.fault("payouts are due for a poll after 20 rounds")
	return nil
}

// seen returns the payouts of the program as the database has them.
func (s *railStorm) seen(ctx context.Context) ([]paypaltest.Seen, error) {
	rows, err := s.sys.pool.Query(ctx, `SELECT id, amount_minor, currency, status, coalesce(attention, ''),
		coalesce(error_code, '') FROM payouts WHERE program_id = $1`, s.program)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[paypaltest.Seen])
}

// figures fails if the stage could not do its work: without repeated submissions the troubles hit nothing.
func (s *railStorm) figures() (f figures, err error) {
	submitted, accepted := s.sys.paypal.Calls(paypaltest.Submit), len(s.sys.paypal.States())
	if submitted <= accepted {
		return nil, fmt.Errorf("%d submissions of %d accepted payouts: the troubles hit nothing", submitted, accepted)
	}
	for _, end := range []string{"paid", "paid reversed", "paid returned", "failed"} {
		if s.ends[end] == 0 {
			return nil, fmt.Errorf("no payout ended as %s: %v", end, s.ends)
		}
	}
	f.add("payouts", s.payouts)
	f.add("server kills", s.kills)
	f.add("days at PayPal", int(s.days.Hours()/24))
	f.add("submissions", submitted)
	f.add("accepted, none twice", accepted)
	f.add("polls", s.sys.paypal.Calls(paypaltest.ShowBatch))
	for _, end := range slices.Sorted(maps.Keys(s.ends)) {
		f.add(end, s.ends[end])
	}
	return f, nil
}
