package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/rules"
)

// How much there is of what.
const (
	partnerCount  = 300
	couponCount   = 40
	clickCount    = 20_000
	customerCount = 2_500
	yearDays      = 365
)

// world is the sample program while it is made.
type world struct {
	org, program string
	now          clock.Time
	rnd          *rand.Rand
	groups       []string // default, creators, VIP
	tags         []string
	partners     []*partner
	flows        []rules.Flow
	lists        map[string]*table
	order        []string
}

type partner struct {
	id, handle, link string
	group            string
	country          string
	tags             []string
	since            clock.Time
	active           bool
	weight           float64
	currencies       map[string]bool
}

// newWorld makes everything in memory.
func newWorld(org string, now clock.Time) (*world, error) {
	w := &world{
		org: org, program: ident.NewSample(ident.Program), now: now, rnd: rand.New(rand.NewPCG(7, 11)), //nolint:gosec // a sample must repeat
		lists: map[string]*table{},
	}
	w.makeProgram()
	w.makePartners()
	if err := w.makeFlows(); err != nil {
		return nil, err
	}
	w.makeCoupons()
	w.makeTraffic()
	return w, nil
}

// table returns the list of a table's rows; the first call names its columns.
func (w *world) table(name, columns string) *table {
	t := w.lists[name]
	if t == nil {
		t = &table{name: name, columns: strings.Fields(columns)}
		w.lists[name] = t
		w.order = append(w.order, name)
	}
	return t
}

// tables returns everything in an order that foreign keys accept.
func (w *world) tables() []*table {
	out := make([]*table, 0, len(w.order))
	for _, name := range []string{
		"programs", "groups", "tags", "partners", "partner_tags", "links", "tracking_values", "flows", "coupons", "referrals", "clicks",
		"customers", "sales", "commissions", "ledger_entries", "balances",
	} {
		if t := w.lists[name]; t != nil {
			out = append(out, t)
		}
	}
	return out
}

// ago returns the moment so many days before now, at a working hour.
func (w *world) ago(days float64) clock.Time {
	return w.now.Plus(-time.Duration(days*24*float64(time.Hour)) - time.Duration(w.rnd.IntN(50))*time.Minute)
}

// busy draws a day of the past year: the program grows, and weekends are calm.
func (w *world) busy() clock.Time {
	for {
		days := float64(yearDays) * (1 - math.Sqrt(w.rnd.Float64())) // more of it lately
		at := w.ago(days + 0.05)
		if d := at.Weekday(); (d != time.Saturday && d != time.Sunday) || w.rnd.Float64() < 0.45 {
			return at
		}
	}
}

func (w *world) makeProgram() {
	start := w.ago(yearDays + 40)
	w.table("programs", `id org_id name product_name website_url currency status subdomain cookie_days url_params commission_on_net_revenue
		holding_period_days min_payout_minor payout_term payout_methods block_self_referrals blocked_countries require_tax_forms
		auto_payouts_enabled processor created_at updated_at`).add(
		w.program, w.org, "Northwind Notes Partners", "Northwind Notes", "https://northwind-notes.example", "USD", "active", "northwind", int64(60),
		[]string{"ref", "via"}, true, int64(30), int64(5000), "net_30", []string{"paypal", "wise"}, true, []string{}, false, false, "api", start, start)
	groups := w.table("groups", "id org_id program_id name slug description landing_url is_private is_default created_at updated_at")
	for i, name := range []string{"Default", "Creators", "VIP"} {
		id := ident.NewSample(ident.Group)
		w.groups = append(w.groups, id)
		groups.add(id, w.org, w.program, name, strings.ToLower(name), nil, nil, name == "VIP", i == 0, start.Plus(time.Duration(i)*time.Minute), start)
	}
	tags := w.table("tags", "id org_id program_id name color created_at updated_at")
	for i, name := range []string{"Newsletter", "YouTube", "Agency", "Student", "Podcast", "Blog"} {
		id := ident.NewSample(ident.Tag)
		w.tags = append(w.tags, id)
		tags.add(id, w.org, w.program, name, fmt.Sprintf("#%02X%02X%02X", 40*i+20, 90+20*i, 200-25*i), start.Plus(time.Duration(i)*time.Minute), start)
	}
}

var (
	firstNames = strings.Fields("Ada Grace Alan Edsger Barbara Ken Dennis Radia Margaret Linus Guido Yukihiro Anders Bjarne Katherine Dorothy Mary Hedy Annie Joan Frances Karen Shafi Leslie Tony Donald John Niklaus Robin Tim")
	lastNames  = strings.Fields("Adeyemi Bauer Costa Dubois Eriksen Fischer Garcia Haddad Ivanova Jensen Kowalski Larsen Moreau Nakamura Okafor Petrov Quist Rossi Sato Tanaka Ueda Varga Weber Xu Yilmaz Zhang Almeida Bianchi Cohen Diaz")
	countries  = strings.Fields("US US US GB DE DE FR ES IT NL SE JP JP CA AU BR IN PL")
)

func (w *world) makePartners() {
	partners := w.table("partners", `id org_id program_id group_id email first_name last_name company_name website_url country_code handle status
		decline_reason suspension_reason payout_method completed_onboarding metadata created_at updated_at`)
	tagged := w.table("partner_tags", "org_id program_id partner_id tag_id")
	for i := range partnerCount {
		p, first, last := w.person(i)
		status, declined, suspended := w.status(i)
		p.active = status == "active"
		var company, method any
		if i%9 == 0 {
			company = last + " Media"
		}
		if i%3 != 0 {
			method = "paypal"
		}
		partners.add(p.id, w.org, w.program, p.group, p.handle+"@partners.example", first, last, company, "https://"+p.handle+".example", p.country,
			p.handle, status, declined, suspended, method, method != nil, []byte(fmt.Sprintf(`{"crm_id":%d}`, 10_000+i)), p.since, p.since)
		for j, tag := range w.tags {
			if w.rnd.IntN(6) == j {
				p.tags = append(p.tags, tag)
				tagged.add(w.org, w.program, p.id, tag)
			}
		}
		w.partners = append(w.partners, p)
		w.makeLinks(p, i)
	}
}

// person draws a partner; few of them bring most of the visitors.
func (w *world) person(i int) (p *partner, first, last string) {
	first, last = firstNames[i%len(firstNames)], lastNames[(i*7+i/len(firstNames))%len(lastNames)]
	p = &partner{
		id: ident.NewSample(ident.Partner), handle: fmt.Sprintf("%s-%s-%d", strings.ToLower(first), strings.ToLower(last), i+1),
		group: w.groups[0], country: countries[w.rnd.IntN(len(countries))], since: w.ago(yearDays + 30 - float64(i)*1.1),
		weight: 1 / math.Pow(float64(i%97+1), 0.8), currencies: map[string]bool{},
	}
	switch {
	case i%25 == 3:
		p.group = w.groups[2]
	case i%4 == 1:
		p.group = w.groups[1]
	}
	return p, first, last
}

func (w *world) status(i int) (status string, declined, suspended any) {
	switch {
	case i%41 == 40:
		return "suspended", nil, "Paid search on the brand name."
	case i%53 == 52:
		return "declined", "The website does not fit the program.", nil
	case i > partnerCount-8:
		return "pending", nil, nil
	}
	return "active", nil, nil
}

// makeLinks gives a partner its tracking values: the handle, and for one in
// three a custom one.
func (w *world) makeLinks(p *partner, i int) {
	links := w.table("links", "id org_id program_id partner_id param value value_key destination_url destination_key short_slug label created_at updated_at")
	values := w.table("tracking_values", "org_id program_id value kind partner_id link_id")
	values.add(w.org, w.program, p.handle, "handle", p.id, nil)
	if !p.active {
		return
	}
	p.link = ident.NewSample(ident.Link)
	links.add(p.link, w.org, w.program, p.id, "ref", p.handle, p.handle, "https://northwind-notes.example/", "northwind-notes.example",
		fmt.Sprintf("nw%05d", i), nil, p.since, p.since)
	if i%3 == 0 {
		id, value := ident.NewSample(ident.Link), fmt.Sprintf("deal-%d", i+1)
		links.add(id, w.org, w.program, p.id, "ref", value, value, "https://northwind-notes.example/pricing", "northwind-notes.example/pricing",
			fmt.Sprintf("nx%05d", i), "Pricing page", p.since, p.since)
		values.add(w.org, w.program, value, "link", p.id, id)
	}
}

func (w *world) makeCoupons() {
	coupons := w.table("coupons", "id org_id program_id partner_id code external_id active created_at updated_at")
	for i := range couponCount {
		p := w.partners[i*5]
		coupons.add(ident.NewSample(ident.Coupon), w.org, w.program, p.id, fmt.Sprintf("%s%d", strings.ToUpper(p.handle[:3]), 10+i),
			fmt.Sprintf("promo_%04d", i), i%10 != 9, p.since, p.since)
	}
}

// somebody draws an active partner that had joined by then.
func (w *world) somebody(at clock.Time) *partner {
	for {
		p := w.partners[w.rnd.IntN(len(w.partners))]
		if p.active && p.since.Before(at.Time) && w.rnd.Float64() < p.weight*3 {
			return p
		}
	}
}
