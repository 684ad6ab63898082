package risk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/program/risk"
	"rail/server/secret"
	"rail/server/work"
)

// watched is a program that the risk sweep checks.
type watched struct {
	*apitest.Server
	t       *testing.T
	program string
}

func watch(t *testing.T, options ...apitest.Option) watched {
	s := apitest.New(t, options...)
	return watched{s, t, s.Program(M{"payout_methods": []string{"paypal", "wise"}})}
}

// sweep runs the job and returns the open flags of a kind, the oldest first. It checks the form of
// each flag's evidence.
func (w watched) sweep(kind string) (out []M) {
	w.t.Helper()
	apitest.RunJob(w.t, w.Server, "risk-sweep")
	for _, f := range w.Must(200, w.Get("/v1/risk_flags?program_id="+w.program+"&status=open&limit=100")).Data() {
		evidence := f["evidence"].(M)
		require.Equal(w.t, f["kind"], evidence["check"])
		require.NotEmpty(w.t, evidence["summary"])
		for name, value := range evidence {
			require.NotContains(w.t, fmt.Sprint(value), "192.0.2.", "no address")
			require.NotContains(w.t, fmt.Sprint(value), "@", "nobody's email")
			switch value.(type) {
			case string, json.Number, bool:
			default:
				require.Fail(w.t, "not flat", "%s: %v", name, value)
			}
		}
		if f["kind"] == kind {
			out = append([]M{f}, out...)
		}
	}
	return out
}

// resolve waits a minute, closes a flag, and waits another minute.
func (w watched) resolve(f M) {
	w.t.Helper()
	w.Clock.Advance(time.Minute)
	w.Must(200, w.Post("/v1/risk_flags/"+f["id"].(string)+"/resolve", M{"note": "Known."}))
	w.Clock.Advance(time.Minute)
}

// of returns the partner and the evidence of the only flag.
func (w watched) of(flags []M) (string, M) {
	w.t.Helper()
	require.Len(w.t, flags, 1)
	return flags[0]["partner"].(M)["id"].(string), flags[0]["evidence"].(M)
}

// facts returns members of the evidence as text.
func facts(evidence M, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprint(evidence[n]))
	}
	return strings.Join(out, " ")
}

func (w watched) clicks(n int, handle, ip string) {
	for range n {
		w.Click(w.program, handle, M{"ip": ip})
	}
}

func TestSweepClickVelocity(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada := w.Partner(w.program, M{"handle": "ada"})
	w.Partner(w.program, M{"handle": "bob"})
	w.clicks(30, "bob", "192.0.2.1")
	w.clicks(1, "ada", "192.0.2.1")
	w.Clock.Advance(time.Hour)
	w.clicks(49, "ada", "192.0.2.1")
	w.clicks(10, "ada", "192.0.2.2")
	w.clicks(20, "bob", "192.0.2.1")
	require.Empty(t, w.sweep("click_velocity"), "50 in an hour are not too many")
	w.Clock.Advance(time.Second)
	w.clicks(1, "ada", "192.0.2.1") // the first one was more than an hour ago
	require.Empty(t, w.sweep("click_velocity"))
	w.clicks(1, "ada", "::ffff:192.0.2.1")
	flags := w.sweep("click_velocity")
	partner, evidence := w.of(flags)
	require.Equal(t, []any{ada, "medium"}, []any{partner, flags[0]["severity"]})
	require.Equal(t, "51 60", facts(evidence, "clicks", "minutes"))
	require.Len(t, w.sweep("click_velocity"), 1, "one flag a cause")
	require.Equal(t, 1, apitest.Tally(w.Server, w.program, "risk_flag.created"))

	w.resolve(flags[0])
	require.Empty(t, w.sweep("click_velocity"), "what was settled stays settled")
	w.clicks(50, "ada", "192.0.2.1")
	require.Empty(t, w.sweep("click_velocity"), "only what came since counts")
	w.clicks(1, "ada", "192.0.2.1")
	require.Len(t, w.sweep("click_velocity"), 1)
}

func TestSweepRefundRate(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada, bob := w.Partner(w.program), w.Partner(w.program)
	pay := func(partner string) string {
		return w.Sale(w.program, w.Customer(w.program, partner)).String("id")
	}
	refund := func(sale string, body M) { w.Must(200, w.Post("/v1/sales/"+sale+"/refund", body)) }
	first, second := pay(ada), pay(ada)
	pay(ada)
	refund(first, M{})
	refund(second, M{"amount_minor": 100})
	refund(pay(bob), M{})
	for range 4 {
		pay(bob)
	}
	require.Empty(t, w.sweep("high_refund_rate"), "3 customers are too few, and 1 of 5 is less than a quarter")
	pay(ada)
	flags := w.sweep("high_refund_rate")
	partner, evidence := w.of(flags)
	require.Equal(t, []any{ada, "medium"}, []any{partner, flags[0]["severity"]})
	require.Equal(t, "4 1 2500 90", facts(evidence, "customers", "refunded_customers", "refund_bps", "days"))
	require.Len(t, w.sweep("high_refund_rate"), 1)

	w.resolve(flags[0])
	pay(ada)
	require.Empty(t, w.sweep("high_refund_rate"), "the refund was settled")
	refund(second, M{})
	require.Empty(t, w.sweep("high_refund_rate"), "1 of 5 since")
	refund(pay(ada), M{})
	_, evidence = w.of(w.sweep("high_refund_rate"))
	require.Equal(t, "6 2", facts(evidence, "customers", "refunded_customers"))
	w.resolve(w.sweep("high_refund_rate")[0])
	_, err := w.Pool.Exec(t.Context(), "DELETE FROM risk_flags")
	require.NoError(t, err)
	require.Len(t, w.sweep("high_refund_rate"), 1)
	_, err = w.Pool.Exec(t.Context(), "DELETE FROM risk_flags")
	require.NoError(t, err)
	w.Clock.Advance(91 * 24 * time.Hour)
	require.Empty(t, w.sweep("high_refund_rate"), "long ago")
}

func TestSweepConversionSpike(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada, bob, eve, dan := w.Partner(w.program), w.Partner(w.program), w.Partner(w.program), w.Partner(w.program)
	sign := func(n int, partner string) {
		for range n {
			w.Customer(w.program, partner)
		}
	}
	w.Clock.Set(apitest.Start.AddDate(0, 0, -28))
	sign(56, bob)
	sign(57, eve)
	w.Clock.Set(apitest.Start)
	sign(10, bob)
	sign(10, eve)
	sign(9, ada)
	payer := w.Customer(w.program, dan)
	for i := range 11 {
		occurred := w.Clock.Now().Days(-40)
		if i < 9 {
			occurred = w.Clock.Now()
		}
		w.Sale(w.program, payer, M{"occurred_at": occurred})
	}
	flags := w.sweep("conversion_spike")
	partner, evidence := w.of(flags)
	require.Equal(t, []any{bob, "low"}, []any{partner, flags[0]["severity"]},
		"10 are five times the mean of 56 in 28 days, and not of 57; 9 are too few")
	require.Equal(t, "sign-ups 10 56 28", facts(evidence, "of", "last_24_hours", "in_days_before", "days_before"))

	sign(1, ada)
	w.Sale(w.program, payer, M{"occurred_at": w.Clock.Now()})
	flags = w.sweep("conversion_spike")
	require.Len(t, flags, 3)
	for _, f := range flags {
		if f["partner"].(M)["id"] == dan {
			require.Equal(t, "sales", f["evidence"].(M)["of"])
		}
		w.resolve(f)
	}
	sign(9, ada)
	require.Empty(t, w.sweep("conversion_spike"), "only sign-ups since count")
	sign(1, ada)
	partner, _ = w.of(w.sweep("conversion_spike"))
	require.Equal(t, ada, partner)
}

// seen records a partner's address and browser, as the portal does.
func (w watched) seen(partner, ip, agent string) {
	w.t.Helper()
	keeper, err := secret.New(w.Config.SecretKey)
	require.NoError(w.t, err)
	p, err := db.New().PartnerGet(w.t.Context(), w.Pool, db.PartnerGetParams{ID: partner, OrgID: w.Org})
	require.NoError(w.t, err)
	require.NoError(w.t, risk.SeenPartner(w.t.Context(), w.Pool, keeper, p, ip, agent, w.Clock.Now()))
}

func TestSweepOwnAddress(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada, bob := w.Partner(w.program, M{"handle": "ada"}), w.Partner(w.program, M{"handle": "bob"})
	through := func(handle, ip string) string {
		click := w.Click(w.program, handle, M{"ip": ip}).String("id")
		return w.Must(201, w.Post("/v1/customers", M{"program_id": w.program, "click_id": click})).String("id")
	}
	own := through("ada", "2001:DB8:0::1")
	through("bob", "2001:db8::1")
	through("ada", "192.0.2.7")
	w.Customer(w.program, ada)
	w.seen(bob, "192.0.2.7", apitest.Browser)
	require.Empty(t, w.sweep("self_referral_ip"), "another partner's address")
	w.Clock.Advance(time.Hour)
	w.seen(ada, "2001:db8::1", "")
	flags := w.sweep("self_referral_ip")
	partner, evidence := w.of(flags)
	require.Equal(t, []any{ada, own, "medium"}, []any{partner, flags[0]["customer"].(M)["id"], flags[0]["severity"]})
	require.Equal(t, []any{"2026-09-01T12:00:00Z", "2026-09-01T13:00:00Z"}, []any{
		short(evidence["clicked_at"]), short(evidence["partner_seen_at"]),
	})
	require.Len(t, w.sweep("self_referral_ip"), 1)

	w.resolve(flags[0])
	w.seen(ada, "2001:db8::1", apitest.Browser)
	require.Empty(t, w.sweep("self_referral_ip"), "a customer is flagged for it once")
	through("ada", "2001:db8::1")
	require.Len(t, w.sweep("self_referral_ip"), 1)
	w.Clock.Advance(90 * 24 * time.Hour)
	apitest.RunJob(t, w.Server, "clean-up")
	var count int
	require.NoError(t, w.Pool.QueryRow(t.Context(), "SELECT count(*) FROM partner_addresses").Scan(&count))
	require.Equal(t, 1, count, "of ada's two, one was seen less than 90 days ago")
}

// short removes the fraction of a second.
func short(v any) string { return v.(string)[:19] + "Z" }

func TestSweepDuplicatePartners(t *testing.T) {
	t.Parallel()
	w := watch(t)
	paid := func(partner, method string, details M) {
		w.Must(200, w.Post("/v1/partners/"+partner, M{"payout_method": method, "payout_details": details}))
	}
	ada, bob, eve := w.Partner(w.program), w.Partner(w.program), w.Partner(w.program)
	foreign := w.Partner(w.Program())
	paid(ada, "paypal", M{"email": "Pay@example.com"})
	paid(foreign, "paypal", M{"email": "pay@example.com"})
	paid(bob, "wise", M{"email": "bob@example.com"})
	w.seen(ada, "192.0.2.1", apitest.Browser)
	w.seen(bob, "192.0.2.1", "Other/1.0")
	w.seen(eve, "192.0.2.1", "")
	require.Empty(t, w.sweep("duplicate_partner"))
	paid(bob, "paypal", M{"email": " pay@example.com"})
	flags := w.sweep("duplicate_partner")
	require.Len(t, flags, 2)
	other := map[string]string{ada: bob, bob: ada}
	for _, f := range flags {
		one := f["partner"].(M)["id"].(string)
		require.Equal(t, "high", f["severity"])
		require.Equal(t, []any{other[one], other[one], nil}, []any{
			f["evidence"].(M)["other_partner_id"], f["evidence"].(M)["same_payout_details_as"],
			f["evidence"].(M)["same_address_as"],
		})
	}
	require.Len(t, w.sweep("duplicate_partner"), 2)
	require.Equal(t, 2, apitest.Tally(w.Server, w.program, "risk_flag.created"))

	for _, f := range flags {
		w.resolve(f)
	}
	require.Empty(t, w.sweep("duplicate_partner"), "the pair was settled")
	w.seen(bob, "192.0.2.1", apitest.Browser) // another sign of the same pair
	flags = w.sweep("duplicate_partner")
	require.Len(t, flags, 2)
	for _, f := range flags {
		require.Nil(t, f["evidence"].(M)["same_payout_details_as"])
		require.Equal(t, other[f["partner"].(M)["id"].(string)], f["evidence"].(M)["same_address_as"])
		w.resolve(f)
	}
	paid(bob, "paypal", M{"email": "new@example.com"})
	paid(ada, "paypal", M{"email": "new@example.com"})
	for _, f := range w.sweep("duplicate_partner") {
		require.Equal(t, other[f["partner"].(M)["id"].(string)], f["evidence"].(M)["same_payout_details_as"],
			"another account of the same pair")
		w.resolve(f)
	}
	require.Equal(t, 6, apitest.Tally(w.Server, w.program, "risk_flag.created"))
	paid(eve, "paypal", M{"email": "new@example.com"})
	named := map[string]any{}
	for _, f := range w.sweep("duplicate_partner") {
		named[f["partner"].(M)["id"].(string)] = f["evidence"].(M)["same_payout_details_as"]
	}
	require.Equal(t, map[string]any{ada: eve, bob: eve, eve: ada + "," + bob}, named)
	w.Must(200, w.Post("/v1/partners/"+eve, M{"payout_details": nil, "payout_method": nil}))
	var hashes int
	require.NoError(t, w.Pool.QueryRow(t.Context(), "SELECT count(payout_details_hash) FROM partners").Scan(&hashes))
	require.Equal(t, 3, hashes, "the hash goes with the details")
}

// TestSweepsAtOnce: concurrent sweeps open one flag per cause and record it once.
func TestSweepsAtOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada, bob := w.Partner(w.program), w.Partner(w.program)
	w.seen(ada, "192.0.2.1", apitest.Browser)
	w.seen(bob, "192.0.2.1", apitest.Browser)
	apitest.AtOnce(6, func(int) apitest.Answer {
		apitest.RunJob(t, w.Server, "risk-sweep")
		return apitest.Answer{}
	})
	require.Len(t, w.sweep("duplicate_partner"), 2)
	apitest.AtOnce(6, func(int) apitest.Answer { // even if two sweeps read at the same time
		_, err := w.open(t, risk.Finding{ProgramID: w.program, PartnerID: ada, Kind: "click_velocity", Severity: "medium"})
		if err != nil {
			t.Error(err)
		}
		return apitest.Answer{}
	})
	require.Equal(t, 3, apitest.Tally(w.Server, w.program, "risk_flag.created"))
	for _, e := range w.Events(w.program) {
		if id, ok := e.Body["request"].(M)["id"].(string); ok && e.String("type") == "risk_flag.created" {
			require.True(t, strings.HasPrefix(id, "run_"), id)
		}
	}
}

// open opens the flag of a finding in a separate unit of work.
func (w watched) open(t *testing.T, f risk.Finding) (bool, error) {
	return w.openAt(t, w.Clock.Now(), f)
}

func (w watched) openAt(t *testing.T, now clock.Time, f risk.Finding) (opened bool, err error) {
	t.Helper()
	run := work.NewRun(w.Pool, work.Actor{Kind: work.Job, ID: "test"}, now)
	err = run.For(w.Org).Within(t.Context(), func(u *work.Unit) (err error) {
		opened, err = risk.Open(t.Context(), u, f)
		return err
	})
	return opened, err
}

// TestClosedMeanwhile: a finding from data that was read before its flag was closed does not open
// the flag again.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ada := w.Partner(w.program)
	f := risk.Finding{ProgramID: w.program, PartnerID: ada, Kind: "click_velocity", Severity: "medium"}
	seen := w.Clock.Now()
	open := func() bool {
		opened, err := w.openAt(t, seen, f)
		require.NoError(t, err)
		return opened
	}
	require.True(t, open())
	require.False(t, open())
	w.Clock.Advance(time.Second)
	for _, flag := range w.Get("/v1/risk_flags?program_id=" + w.program).Data() {
		w.Must(200, w.Post("/v1/risk_flags/"+flag["id"].(string)+"/resolve", M{"note": "Known."}))
	}
	require.False(t, open())
	seen = w.Clock.Now()
	require.True(t, open())
}

// TestSweepKeepsApart: matches between two organizations are not flagged, and without monitoring
// nothing is checked.
func TestSweepKeepsApart(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		w := watch(t, func(c *config.Config) { c.FraudMonitoring = on })
		other := *w.Server
		other.Org = w.NewOrg("Other")
		other.Key = w.NewKey(other.Org, true, "read", "write")
		_, err := w.Pool.Exec(t.Context(), "UPDATE organizations SET fraud_monitoring = $1 WHERE id = $2", !on, other.Org)
		require.NoError(t, err)
		o := watched{&other, t, other.Program()}
		for _, one := range []watched{w, o} {
			p := one.Partner(one.program, M{"handle": "ada"})
			one.seen(p, "192.0.2.1", apitest.Browser)
			one.clicks(26, "ada", "192.0.2.1")
		}
		require.Empty(t, w.sweep("duplicate_partner"), "one in each organization")
		require.Empty(t, w.sweep("click_velocity"))
		require.Empty(t, o.sweep("click_velocity"))
		for _, one := range []watched{w, o} {
			p := one.Partner(one.program)
			one.seen(p, "192.0.2.1", apitest.Browser)
		}
		mine, theirs := len(w.sweep("duplicate_partner")), len(o.sweep("duplicate_partner"))
		require.Equal(t, []int{mine, theirs}, map[bool][]int{true: {2, 0}, false: {0, 2}}[on])
		require.Equal(t, []int{mine, theirs}, []int{
			apitest.Tally(w.Server, w.program, "risk_flag.created"), apitest.Tally(&other, o.program, "risk_flag.created"),
		})
	}
}
