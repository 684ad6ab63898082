package attribution_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/secret"
)

// M is a JSON object.
type M = apitest.M

// handles are the partners of each program.
var handles = []string{"ann", "bob", "cem"}

// settings are combinations of attribution settings.
func settings() (all []M) {
	for _, model := range []string{"last", "first"} {
		for _, days := range []int{4, 20} {
			for _, beats := range []bool{false, true} {
				for _, ignore := range []bool{false, true} {
					all = append(all, M{
						"attribution_model": model, "cookie_days": days, "coupon_beats_link": beats, "ignore_late_clicks": ignore,
					})
				}
			}
		}
	}
	return all
}

// world is a program with its own settings, in which the same happens as in others.
type world struct {
	apitest.Inboxed
	settings M
	handle   map[string]string // by the partner's id
	left     map[string]bool   // customers who had no click to name, by external id
	unsigned map[string]bool   // customers who therefore did not sign up before they paid
}

// newWorld makes a program that pays 20 %, with three partners and a coupon of each.
func newWorld(s *apitest.Server, with M) *world {
	program := s.Program(with)
	s.Flow(program)
	w := &world{s.Inboxed(program, apitest.RecordDirect), with, map[string]string{}, map[string]bool{}, map[string]bool{}}
	w.handle[w.PartnerID] = "ann"
	for _, handle := range handles[1:] {
		w.handle[s.Partner(program, M{"handle": handle})] = handle
	}
	for id, handle := range w.handle {
		s.Must(201, s.Post("/v1/coupons", M{
			"program_id": program, "partner_id": id, "code": handle + "10", "external_id": "promo_" + handle,
		}))
	}
	return w
}

// standing returns the click that the script names for a visitor; "" for none.
func (w *world) standing(visitor string) string {
	w.T.Helper()
	row, err := db.New().VisitorReferral(w.T.Context(), w.Pool, db.VisitorReferralParams{
		ProgramID: w.ProgramID, OrgID: w.Org, Now: w.Clock.Now(), Visitor: secret.HashToken(visitor),
	})
	if err != nil {
		return ""
	}
	return row.ClickID
}

// customers returns the customers of the world by their ids at the processor.
func (w *world) customers() map[string]M {
	w.T.Helper()
	out := map[string]M{}
	for _, k := range w.Get("/v1/customers?limit=100&program_id=" + w.ProgramID).Data() {
		out[k["external_customer_id"].(string)] = k
	}
	return out
}

// has returns the handle of a customer's partner; "" for none.
func (w *world) has(customer M) string {
	id, _ := customer["partner_id"].(string)
	return w.handle[id]
}

// rehearse rehearses other settings over all customers.
func (w *world) rehearse(with M) apitest.Answer {
	w.T.Helper()
	body := M{"program_id": w.ProgramID, "days": 365}
	maps.Copy(body, with)
	return w.Must(200, w.Post("/v1/attribution/rehearse", body))
}

// story is a random history that happens in several worlds at once.
type story struct {
	*rand.Rand
	worlds  []*world
	charges int
	t       *testing.T
}

// pass lets some time pass. Odd seconds keep clicks off the ends of referrals.
func (s story) pass(steps ...time.Duration) {
	step := steps[s.IntN(len(steps))]
	s.worlds[0].Clock.Advance(step + time.Duration(1+s.IntN(50))*time.Second)
}

// clicks has a visitor click on the link of a random partner.
func (s story) clicks(visitor string) {
	handle := handles[s.IntN(len(handles))]
	for _, w := range s.worlds {
		w.Click(w.ProgramID, handle, M{"visitor_token": visitor})
	}
}

// signsUp creates a customer by the click that the script names; without one, the customer does not sign up.
func (s story) signsUp(visitor, id string) {
	for _, w := range s.worlds {
		click := w.standing(visitor)
		if w.left[id], w.unsigned[id] = click == "", click == ""; click != "" {
			w.Must(201, w.Post("/v1/customers", M{"program_id": w.ProgramID, "click_id": click, "external_customer_id": id}))
		}
	}
}

// pays has a processor report a payment, with the click of a new customer and perhaps a coupon.
func (s *story) pays(visitor, id string, isNew bool, coupon string) {
	s.charges++
	for _, w := range s.worlds {
		event := apitest.Paid(fmt.Sprint("ch_", s.charges), M{"external_customer_id": id})
		if isNew {
			click := w.standing(visitor)
			if w.left[id] = click == ""; click != "" {
				event["click_id"] = click
			}
		}
		if coupon != "" {
			event["coupon_external_id"] = "promo_" + coupon
		}
		w.Receive(event)
	}
}

// work processes the payments that the processor has reported.
func (s *story) work() { apitest.RunJob(s.t, s.worlds[0].Server, "work-inbox") }

// sells records a payment of a known customer over the API, perhaps with a coupon.
func (s *story) sells(id, coupon string) {
	s.charges++
	for _, w := range s.worlds {
		body := M{
			"program_id": w.ProgramID, "external_customer_id": id, "external_charge_id": fmt.Sprint("ch_", s.charges),
			"amount_minor": 5000, "currency": "USD",
		}
		if coupon != "" {
			body["coupon_code"] = coupon + "10"
		}
		if a := w.Post("/v1/sales", body); a.Status != 201 {
			require.Equal(s.t, 404, a.Status, "only a customer who did not sign up is unknown: %v", a.Body)
			require.True(s.t, w.left[id])
		}
	}
}

// coupon returns a random partner whose coupon a payment has, mostly none.
func (s story) coupon() string {
	if s.IntN(5) < 3 {
		return ""
	}
	return handles[s.IntN(len(handles))]
}

const day = 24 * time.Hour

// visitor tells the story of one visitor, who becomes a customer.
func (s *story) visitor(n int) {
	name, id := fmt.Sprintf("visitor-%04d", n), fmt.Sprint("cus_", n)
	for range 1 + s.IntN(4) {
		s.clicks(name)
		s.pass(10*time.Second, time.Hour, day, 3*day, 6*day)
	}
	if s.IntN(3) == 0 {
		apitest.RunJob(s.t, s.worlds[0].Server, "expire-referrals")
	}
	switch s.IntN(4) {
	case 0: // a lead, who pays later
		s.signsUp(name, id)
		s.pass(time.Minute, day)
		if s.IntN(2) == 0 {
			s.clicks(name)
			s.pass(20*time.Second, time.Hour)
		}
		if s.IntN(2) == 0 {
			s.sells(id, s.coupon())
			break
		}
		s.pays(name, id, true, s.coupon())
	default: // a checkout, perhaps with a coupon, after a click
		if s.IntN(2) == 0 {
			s.clicks(name)
			s.pass(10*time.Second, time.Minute)
		}
		s.pays(name, id, true, s.coupon())
	}
	if s.IntN(2) == 0 {
		if s.IntN(2) == 0 { // else both payments are in the queue at the same time
			s.work()
			s.pass(day)
		}
		coupon := s.coupon()
		for _, w := range s.worlds { // it would attribute a customer without a partner, which no rehearsal knows
			if w.left[id] {
				coupon = ""
			}
		}
		s.pays(name, id, false, coupon)
	}
	s.work()
}

// TestRehearsalIsReplay: random histories happen in programs with different settings. A rehearsal with a program's own
// settings changes nothing, and one with the settings of another program names the partners who got the customers
// there.
func TestRehearsalIsReplay(t *testing.T) {
	t.Parallel()
	visitors := 12
	if os.Getenv("RAIL_TEST_FULL") == "1" {
		visitors = 60
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	srv := apitest.New(t)
	s := &story{Rand: rand.New(rand.NewPCG(seed, 1)), t: t}
	for _, with := range settings() {
		s.worlds = append(s.worlds, newWorld(srv, with))
	}
	end := srv.Clock.Now().Days(365 - 45) // a rehearsal covers 365 days, and a visitor's story takes up to 45
	for n := 0; n < visitors && srv.Clock.Now().Before(end.Time); n++ {
		s.visitor(n)
	}
	reasons := map[any]int{}
	got := make([]map[string]M, len(s.worlds))
	for i, w := range s.worlds {
		got[i] = w.customers()
	}
	for i, a := range s.worlds {
		same := a.rehearse(nil)
		require.Zero(t, same.Int("changed_count"), "seed %d: %v: %v", seed, a.settings, same.Body)
		require.Zero(t, same.Int("undecided_count"), "seed %d: %v", seed, a.settings)
		for j, b := range s.worlds {
			to := map[any]M{}
			for _, c := range a.rehearse(b.settings).Body["customers"].([]any) {
				to[c.(M)["customer_id"]] = M{"partner_id": c.(M)["to_partner_id"]}
				reasons[c.(M)["reason"]]++
			}
			for id, k := range got[i] {
				// Without a click to name, a customer left no trace; and a rehearsal keeps the time of the sign-up.
				if a.left[id] || a.unsigned[id] != b.unsigned[id] {
					continue
				}
				after := a.has(k)
				if moved, is := to[k["id"]]; is {
					after = a.has(moved)
				}
				require.Equal(t, b.has(got[j][id]), after, "seed %d: %s of %v under %v", seed, id, a.settings, b.settings)
			}
		}
	}
	t.Log("changes", reasons)
	require.NotEmpty(t, reasons)
}
