package script_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/auth/keyring"
	"rail/server/cli"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/stripe"
	"rail/server/jobs"
	"rail/server/secret"
)

// shopSecret signs Stripe's events to both webhook endpoints.
const shopSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A buyer visits a shop, buys there, and pays for some months.
type buyer struct {
	name      string
	ref       string // the partner of the link that the buyer follows; "" for none
	promotion string // the code that the buyer enters at Stripe; "" for none
	guest     bool   // pays once, without an account at Stripe
	trial     bool   // pays nothing for the first month
	months    int
	amount    int64 // of each payment
	tax       int64 // the part of amount that is tax
	refunds   []int64
	dispute   string // the result of a dispute on the first payment; "" for no dispute
	owner     string // the partner who earns; "" for none
	earned    int64  // the partner's total commission
}

// buyers has one buyer for each case. The commission is 20 % of the payments without tax and refunds.
var buyers = []buyer{
	{name: "link", ref: "ada", months: 1, amount: 2500, owner: "ada", earned: 500},
	{name: "taxed", ref: "bob", months: 1, amount: 2900, tax: 400, owner: "bob", earned: 500},
	{name: "coupon", promotion: "promo_bob", months: 1, amount: 1000, owner: "bob", earned: 200},
	{name: "trial", ref: "ada", trial: true, months: 2, amount: 3000, owner: "ada", earned: 600},
	{name: "renews", ref: "cy", months: 3, amount: 1500, owner: "cy", earned: 900},
	{name: "part", ref: "ada", months: 2, amount: 2000, refunds: []int64{900, 300}, owner: "ada", earned: 160 + 400},
	{name: "whole", ref: "bob", months: 1, amount: 7000, refunds: []int64{7000}, owner: "bob"},
	{name: "lost", ref: "cy", months: 1, amount: 4000, dispute: "lost", owner: "cy"},
	{name: "won", ref: "cy", months: 1, amount: 5000, dispute: "won", owner: "cy", earned: 1000},
	{name: "guest", ref: "ada", guest: true, months: 1, amount: 6000, owner: "ada", earned: 1200},
	{name: "nobody", months: 2, amount: 9000},
}

// TestShops: the same buyers buy in two shops. One shop's server calls Rail's API. The other has
// Rail's tag and a connection to Stripe. Stripe sends the same events to both, in random order, some of
// them twice. At the end both programs have the same records. Two of the buyers use a browser, if there
// is one. For the others the test sends the browser's requests.
func TestShops(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for _, b := range buyers {
		for _, s := range []*shop{m.calls, m.tag} {
			come := m.visit
			if browser() != "" && (b.name == "link" || b.name == "guest") {
				come = m.browse
			}
			s.references[b.name] = come(s, b)
		}
	}
	for month := range 4 {
		m.pay(month)
		m.Clock.Advance(30 * 24 * time.Hour)
	}
	calls, tag := m.books(m.calls.program), m.books(m.tag.program)
	require.Equal(t, calls, tag)
	require.Equal(t, expected(), calls["balances"])
	require.Len(t, calls["sales"], 13)
	m.rail("audit")
	require.Empty(t, m.unfinished())

	lines := railLines(t, "shop_tag_test.go")
	require.LessOrEqual(t, len(lines), 8, "%q", lines)
	require.NotContains(t, strings.Join(lines, "\n"), "table")
	t.Logf("%d lines by calls, %d with a tag and a connection", len(railLines(t, "shop_calls_test.go")), len(lines))
}

// expected returns the balances of the partners, computed from buyers.
func expected() []string {
	var out []string
	for _, partner := range []string{"ada", "bob", "cy"} {
		sum := int64(0)
		for _, b := range buyers {
			if b.owner == partner {
				sum += b.earned
			}
		}
		out = append(out, fmt.Sprintf("%s USD 0 %d 0", partner, sum))
	}
	return out
}

// market has the two shops in one world.
type market struct {
	*world
	t          *testing.T
	calls, tag *shop
	shuffle    *rand.Rand
}

// shop is a shop from the view of its buyers and Stripe.
type shop struct {
	host, program string
	endpoint      string            // the address for Stripe's events
	references    map[string]string // the client_reference_id of the link to Stripe, by buyer
}

func newMarket(t *testing.T) *market {
	t.Helper()
	seed := rand.Uint64()
	t.Log("seed", seed)
	m := &market{world: newWorldOn(t, pgtest.DurableDSN(t)), t: t, shuffle: rand.New(rand.NewPCG(seed, 0))}
	m.calls, m.tag = m.open("calls.test"), m.open("tag.test")
	m.calls.endpoint = m.at("calls.test/stripe")
	key := m.Must(201, m.Post("/v1/publishable_keys", apitest.M{
		"program_id": m.tag.program, "allowed_hosts": []string{"tag.test"},
	}))
	m.hosts = map[string]http.Handler{
		"tag.test": tagShop{key.String("tag")},
		"calls.test": &callsShop{
			secret: shopSecret, rail: m.URL, key: m.Key, program: m.calls.program,
			codes: map[string]string{"promo_bob": "BOB"}, customers: map[string]string{}, invoices: map[string]string{},
		},
	}
	require.NoError(t, keyring.Adopt(t.Context(), m.Pool, keyring.SecretKey{Keeper: m.keeper(), Now: m.Clock.Now()}))
	var connected struct{ Data struct{ URL string } }
	command := strings.NewReplacer("{PROGRAM}", m.tag.program, "{SECRET}", shopSecret).Replace(tagShopConnected)
	line := marked(command)
	require.Len(t, line, 1)
	require.NoError(t, json.Unmarshal([]byte(m.rail(strings.Fields(line[0])[1:]...)), &connected))
	_, path, _ := strings.Cut(connected.Data.URL, "/hooks/")
	m.tag.endpoint = m.URL + "/hooks/" + path
	return m
}

// open creates a shop's program. Both programs have the same partners, rate and coupon.
func (m *market) open(host string) *shop {
	m.t.Helper()
	program := m.Program(apitest.M{"commission_on_net_revenue": true})
	m.Flow(program)
	for _, handle := range []string{"ada", "cy"} {
		m.Partner(program, apitest.M{"handle": handle})
	}
	m.Must(201, m.Post("/v1/coupons", apitest.M{
		"program_id": program, "code": "BOB", "partner_id": m.Partner(program, apitest.M{"handle": "bob"}),
		"external_id": "promo_bob",
	}))
	return &shop{host: host, program: program, references: map[string]string{}}
}

// rail runs the rail command and returns its output.
func (m *market) rail(args ...string) string {
	m.t.Helper()
	var out, errs bytes.Buffer
	status := cli.Run(m.t.Context(), &cli.Env{Out: &out, Err: &errs, Clock: m.Clock, Environ: map[string]string{
		"RAIL_DATABASE_URL": m.DSN, "RAIL_SECRET_KEY": hex.EncodeToString(m.Config.SecretKey[:]),
		"RAIL_DATA_DIR": m.t.TempDir(), "RAIL_BASE_URL": m.Config.BaseURL,
	}}, args)
	require.Zero(m.t, status, "%v: %s%s", args, &out, &errs)
	return out.String()
}

// showPage writes the page of both shops. It links to a Stripe payment page, with a reference
// if the shop's server has one.
func showPage(w http.ResponseWriter, head, reference string) {
	query := ""
	if reference != "" {
		query = "?client_reference_id=" + url.QueryEscape(reference)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html>%s<title>Shop</title><a id="buy" href="https://buy.stripe.com/pro%s">Buy</a>`, head,
		query)
}

// landing returns the page that a buyer visits first.
func (m *market) landing(s *shop, b buyer) string {
	if b.ref == "" {
		return s.host + "/"
	}
	return s.host + "/?ref=" + b.ref
}

// browse visits a shop twice in a browser and follows the link to Stripe. It returns the link's
// client_reference_id.
func (m *market) browse(s *shop, b buyer) string {
	m.t.Helper()
	page := newTab(m.t, m.world)
	page.open(m.landing(s, b))
	if s == m.tag {
		page.settled()
	}
	page.open(s.host + "/")
	if s == m.tag {
		page.settled()
	}
	to, err := url.Parse(page.follow("#buy"))
	require.NoError(m.t, err)
	page.silent()
	return to.Query().Get("client_reference_id")
}

// visit does the same without a browser: it sends the browser's requests.
func (m *market) visit(s *shop, b buyer) string {
	m.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(m.t, err)
	client := &http.Client{Jar: jar, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+m.port)
		},
	}}
	get := func(page string) string {
		res, err := client.Get(m.at(page))
		require.NoError(m.t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(m.t, err)
		return string(body)
	}
	first, reference := get(m.landing(s, b)), ""
	if s == m.tag && b.ref != "" {
		reference = m.report(first, m.landing(s, b), b.ref)
	}
	if to := regexp.MustCompile(`client_reference_id=([^"]+)`).FindStringSubmatch(get(s.host + "/")); to != nil {
		reference = to[1]
	}
	return reference
}

// report sends the request of a page's script to Rail, and returns the click.
func (m *market) report(page, address, value string) string {
	m.t.Helper()
	key := regexp.MustCompile(`data-rail="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(m.t, key, page)
	return m.Must(201, m.Do("POST", "/t/c", "", apitest.M{
		"key": key[1], "value": value, "param": "ref", "url": m.at(address),
	}, "Origin", "http://tag.test:"+m.port, "User-Agent", visitor)).String("click_id")
}

// pay sends Stripe's events of a month to both shops.
func (m *market) pay(month int) {
	m.t.Helper()
	for _, s := range []*shop{m.calls, m.tag} {
		var all [][]byte
		for _, b := range buyers {
			all = append(all, b.events(month, s.references[b.name], m.Clock.Now().Time)...)
		}
		shuffle := func() { m.shuffle.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) }
		shuffle()
		all = append(all, all[:len(all)/2]...)
		shuffle()
		m.deliver(s.endpoint, all)
	}
	m.runInbox()
	m.Clock.Advance(2 * time.Minute) // the job then retries the events that came too early
	m.runInbox()
}

// deliver sends events as Stripe does. It sends an event again, after the others, until the answer is 200.
func (m *market) deliver(endpoint string, events [][]byte) {
	m.t.Helper()
	for round := 0; len(events) > 0; round++ {
		require.Less(m.t, round, 10, "%d events always fail at %s: %s", len(events), endpoint, events[0])
		var later [][]byte
		for _, body := range events {
			r, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, endpoint, bytes.NewReader(body))
			require.NoError(m.t, err)
			if r.URL.Hostname() != "127.0.0.1" {
				r.Host, r.URL.Host = r.URL.Host, "127.0.0.1:"+m.port
			}
			r.Header.Set(stripe.Header, stripetest.Sign(shopSecret, body, m.Clock.Now().Time))
			res, err := http.DefaultClient.Do(r)
			require.NoError(m.t, err)
			require.NoError(m.t, res.Body.Close())
			if res.StatusCode != http.StatusOK {
				later = append(later, body)
			}
		}
		events = later
	}
}

// fromStripe verifies and reads an event, as Stripe's client library does.
func fromStripe(r *http.Request, signing string, event any) bool {
	body, err := io.ReadAll(r.Body)
	return err == nil && stripe.Source{}.Verify(signing, r.Header, body, clock.Time{Time: signedAt(r)}) == nil &&
		json.Unmarshal(body, event) == nil
}

// signedAt returns the time in a signature, because the tests use a manual clock.
func signedAt(r *http.Request) time.Time {
	var seconds int64
	fmt.Sscanf(r.Header.Get(stripe.Header), "t=%d", &seconds)
	return time.Unix(seconds, 0)
}

// runInbox runs the inbox job once.
func (m *market) runInbox() {
	m.t.Helper()
	for _, j := range jobs.All(jobs.Deps{Pool: m.Pool, Clock: m.Clock, Keeper: m.keeper()}) {
		if j.Name == "work-inbox" {
			require.NoError(m.t, j.Run(m.t.Context(), m.Clock.Now()))
		}
	}
}

func (m *market) keeper() *secret.Keeper {
	m.t.Helper()
	keeper, err := secret.New(m.Config.SecretKey)
	require.NoError(m.t, err)
	return keeper
}

// unfinished returns the events in the inbox that are not processed.
func (m *market) unfinished() []apitest.M {
	m.t.Helper()
	var out []apitest.M
	for _, status := range []string{"pending", "waiting", "failed"} {
		out = append(out, m.Get("/v1/inbox_events?program_id="+m.tag.program+"&status="+status).Data()...)
	}
	return out
}

// events returns Stripe's events for a buyer's month, in the current API version. Refunds and the
// results of disputes come in the month after the first payment.
func (b buyer) events(month int, reference string, at time.Time) (out [][]byte) {
	p := stripetest.Purchase{
		Version: stripetest.Clover, Name: fmt.Sprint(b.name, "_", month), Live: true, At: at, Customer: "cus_" + b.name,
		Subscription: true, Invoiced: true, Amount: b.amount, Tax: b.tax, Currency: "usd", Email: b.name + "@example.com",
	}
	add := func(kind string, o stripetest.Object) { out = append(out, p.Event(kind, o)) }
	if b.guest {
		p.Customer, p.Subscription, p.Invoiced = "", false, false
	}
	if month == 0 {
		p.Reference, p.Promotion = reference, b.promotion
		add("checkout.session.completed", p.Session())
	}
	switch free := b.trial && month == 0; {
	case month >= b.months:
	case b.guest:
		add("payment_intent.succeeded", p.PaymentIntent())
	case free:
		p.Amount = 0
		add("customer.subscription.created", p.SubscriptionObject("trialing"))
		add("invoice.paid", p.Invoice())
	default:
		add("invoice.paid", p.Invoice())
		add("invoice_payment.paid", p.InvoicePayment())
	}
	if month == 1 {
		out = append(out, b.returns(p)...)
	}
	return out
}

// returns returns the events of the refunds and the dispute of the first payment.
func (b buyer) returns(p stripetest.Purchase) (out [][]byte) {
	p.Name = b.name + "_0"
	for i, amount := range b.refunds {
		p.Refunded += amount
		id := fmt.Sprint("re_", b.name, i)
		out = append(out, p.Event("charge.refunded", p.ChargeObject(), id),
			p.Event("refund.created", p.Refund(id, amount, "succeeded"), id))
	}
	if b.dispute != "" {
		out = append(out, p.Event("charge.dispute.created", p.Dispute(b.amount, "needs_response")),
			p.Event("charge.dispute.closed", p.Dispute(b.amount, b.dispute)))
	}
	return out
}

// books returns a program's records without the ids of its objects.
func (m *market) books(program string) map[string][]string {
	m.t.Helper()
	out := map[string][]string{}
	for name, query := range map[string]string{
		"sales": `SELECT concat_ws(' ', s.external_charge_id, s.amount_minor, s.tax_minor, s.refunded_minor, s.currency,
				p.handle, k.email, s.is_first_sale, s.refunded_at IS NULL)
			FROM sales s JOIN customers k ON k.id = s.customer_id LEFT JOIN partners p ON p.id = s.partner_id
			WHERE s.program_id = $1 ORDER BY 1`,
		"commissions": `SELECT concat_ws(' ', p.handle, s.external_charge_id, c.kind, c.status, c.amount_minor,
				c.revenue_minor)
			FROM commissions c JOIN partners p ON p.id = c.partner_id LEFT JOIN sales s ON s.id = c.sale_id
			WHERE c.program_id = $1 ORDER BY 1`,
		"customers": `SELECT concat_ws(' ', k.email, k.status, k.external_customer_id, k.tracked_by, p.handle)
			FROM customers k LEFT JOIN partners p ON p.id = k.partner_id WHERE k.program_id = $1 ORDER BY 1`,
		// Some of Stripe's events report the refunded total, so the number of refunds depends on their order.
		"refunds": `SELECT concat_ws(' ', s.external_charge_id, sum(r.amount_minor))
			FROM refunds r JOIN sales s ON s.id = r.sale_id WHERE r.program_id = $1 GROUP BY s.id ORDER BY 1`,
	} {
		rows, err := m.Pool.Query(m.t.Context(), query, program)
		require.NoError(m.t, err, name)
		for rows.Next() {
			var line string
			require.NoError(m.t, rows.Scan(&line))
			out[name] = append(out[name], line)
		}
		require.NoError(m.t, rows.Err())
	}
	for _, p := range m.Must(200, m.Get("/v1/partners?limit=100&program_id="+program)).Data() {
		pending, due, paid := m.Balance(program, p["id"].(string), "USD")
		out["balances"] = append(out["balances"], fmt.Sprint(p["handle"], " USD ", pending, " ", due, " ", paid))
	}
	slices.Sort(out["balances"])
	return out
}

// railLines returns the lines of a file that belong to the merchant's integration with Rail.
func railLines(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	return marked(string(raw))
}

// marked returns the lines between the marks, without comments and empty lines.
func marked(text string) (out []string) {
	inside := false
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.Contains(line, "rail begins"):
			inside = true
		case strings.Contains(line, "rail ends"):
			inside = false
		case inside && line != "" && !strings.HasPrefix(line, "//"):
			out = append(out, line)
		}
	}
	return out
}
