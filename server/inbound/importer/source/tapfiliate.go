package source

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

// Tapfiliate gives no email addresses of customers, no refunds, no times of approval or rejection and no processor's
// ids of coupons, and has no filter by the time of a change. An affiliate's id is the value of its link.
//
// Approved is not paid. A commission is paid if its member payout names a payment. Where the member is absent, the
// affiliate's last payment in the commission's currency decides: a commission from before it is paid. The balance is
// given with the partner, to compare.
var tapfiliateProduct = Product{
	Name: "tapfiliate", Title: "Tapfiliate", Address: tapfiliateAddress, Params: []string{"ref"}, Open: openTapfiliate,
}

const tapfiliateAddress = "https://api.tapfiliate.com/1.6"

// tapfiliate remembers the short lists that others refer to, in memory.
type tapfiliate struct {
	client   *client
	currency string

	mu       sync.Mutex
	programs map[lenient.ID]string // currencies
	approved map[lenient.ID]string // states of partners
	groups   map[lenient.ID]string
	money    *tapMoney
}

// openTapfiliate returns the source. The rate limit is only in headers of answers.
func openTapfiliate(a Account) Source {
	return &tapfiliate{currency: a.Currency, client: newClient(a, tapfiliateAddress, 4, func(r *http.Request) {
		r.Header.Set("X-Api-Key", a.Key)
	})}
}

// Lists returns the lists.
func (t *tapfiliate) Lists() []List {
	return []List{
		tapList(t, "affiliates", KindPartner, t.prepare, t.partner),
		tapList(t, "customers", KindCustomer, nil, tapCustomer.rows),
		tapList(t, "conversions", KindSale, t.prepare, t.conversion),
		tapList(t, "payments", KindPayout, nil, tapPayment.rows),
	}
}

// tapList returns a list. Prepare, if not nil, reads what its rows need.
func tapList[T any](
	t *tapfiliate, name string, kind Kind, prepare func(context.Context) error, convert func(T, string) []Row,
) List {
	return numbered[T]{
		kind:    kind,
		convert: func(id string, item *T) []Row { return convert(*item, id) },
		fetch: func(ctx context.Context, page, size int) (answer, error) {
			if prepare != nil {
				if err := prepare(ctx); err != nil {
					return answer{}, err
				}
			}
			return t.fetch(ctx, "/"+name+"/", page, size)
		},
	}.list(name)
}

// fetch reads a page. The header Link announces another one.
func (t *tapfiliate) fetch(ctx context.Context, path string, page, size int) (answer, error) {
	got, header, err := t.client.list(ctx, path, url.Values{"page": {strconv.Itoa(page)}, "limit": {strconv.Itoa(size)}})
	links := strings.Join(header.Values("Link"), ",")
	next := strings.Contains(links, `rel="next"`)
	return answer{listing: got, total: -1, last: links != "" && !next, follows: next}, err
}

// all calls each for every object of a list.
func (t *tapfiliate) all(ctx context.Context, path string, each func(id lenient.ID, raw []byte)) error {
	for cursor := ""; ; {
		at := placeOf(cursor)
		got, err := t.fetch(ctx, path, at.number, perPage)
		if err != nil {
			return err
		}
		for _, raw := range got.objects {
			each(lenient.ID(idOf(raw)), raw)
		}
		if cursor = at.next(got.listing); cursor == "" {
			return nil
		}
	}
}

// prepare reads what affiliates and conversions refer to, once.
func (t *tapfiliate) prepare(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.approved == nil {
		if err := t.readPrograms(ctx); err != nil {
			return err
		}
	}
	if t.money == nil {
		return t.readMoney(ctx)
	}
	return nil
}

type tapAffiliate struct {
	Email     lenient.Text `json:"email"`
	FirstName lenient.Text `json:"firstname"`
	LastName  lenient.Text `json:"lastname"`
	GroupID   lenient.ID   `json:"affiliate_group_id"`
	Link      tapLink      `json:"referral_link"`
	Coupon    lenient.Text `json:"coupon"`
	CreatedAt moment       `json:"created_at"`
	Company   struct {
		Name lenient.Text `json:"name"`
	} `json:"company"`
	Address struct {
		Country struct {
			Code lenient.Text `json:"code"`
		} `json:"country"`
	} `json:"address"`
}

// tapLink is an address, or an object with it.
type tapLink address

// UnmarshalJSON reads either form.
func (l *tapLink) UnmarshalJSON(raw []byte) error {
	var object struct {
		Link address `json:"link"`
	}
	if raw[0] != '{' {
		return (*address)(l).UnmarshalJSON(raw)
	}
	_ = lenient.Into(raw, &object)
	*l = tapLink(object.Link)
	return nil
}

// partner returns the rows of an affiliate. One whose link has another value than its id has two links.
func (t *tapfiliate) partner(a tapAffiliate, id string) []Row {
	param, page := splitLink(address(a.Link), id, "ref")
	all := []Row{{Kind: KindLink, ID: id, Link: &Link{
		PartnerID: id, Param: param, Value: id, URL: page, CreatedAt: a.CreatedAt.Time,
	}}}
	if u, err := url.Parse(page); err == nil && u.Query().Has("ref") {
		value := u.Query().Get("ref")
		_, page = splitLink(address(page), value, "ref")
		all[0].Link.URL = page
		all = append(all, Row{Kind: KindLink, ID: id + " " + value, Link: &Link{
			PartnerID: id, Param: "ref", Value: value, URL: page, CreatedAt: a.CreatedAt.Time,
		}})
	}
	if a.Coupon != "" {
		all = append(all, Row{Kind: KindCoupon, ID: id + " " + string(a.Coupon), Coupon: &Coupon{
			PartnerID: id, Code: string(a.Coupon), Active: true, CreatedAt: a.CreatedAt.Time,
		}})
	}
	if a.Email == "" {
		return append(all, missing(KindPartner, id, "email"))
	}
	return append(all, Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(a.Email), FirstName: string(a.FirstName), LastName: string(a.LastName),
		CompanyName: string(a.Company.Name), CountryCode: string(a.Address.Country.Code),
		Status: firstOf(lenient.Text(t.approved[lenient.ID(id)]), Pending), Group: t.groups[a.GroupID],
		Open: t.money.open[id], CreatedAt: a.CreatedAt.Time,
	}})
}

// readPrograms reads the programs, the states of affiliates in them, and the groups. One program that has approved
// an affiliate makes it active.
func (t *tapfiliate) readPrograms(ctx context.Context) error {
	programs, approved, groups := map[lenient.ID]string{}, map[lenient.ID]string{}, map[lenient.ID]string{}
	err := t.all(ctx, "/programs/", func(id lenient.ID, raw []byte) {
		var p struct {
			Currency lenient.Text `json:"currency"`
		}
		_ = lenient.Into(raw, &p)
		programs[id], _ = currency.Normal(string(p.Currency))
	})
	if err != nil {
		return err
	}
	for id := range programs {
		err := t.all(ctx, "/programs/"+url.PathEscape(string(id))+"/affiliates/", func(_ lenient.ID, raw []byte) {
			affiliate, status := tapAffiliation(raw)
			if approved[affiliate] != Active && (status != Declined || approved[affiliate] == "") {
				approved[affiliate] = status
			}
		})
		if err != nil {
			return err
		}
	}
	err = t.all(ctx, "/affiliate-groups/", func(id lenient.ID, raw []byte) {
		var g struct{ Title, Name lenient.Text }
		_ = lenient.Into(raw, &g)
		groups[id] = firstOf(g.Title, g.Name)
	})
	if err == nil {
		t.programs, t.approved, t.groups = programs, approved, groups
	}
	return err
}

// tapAffiliation returns the affiliate and its state in a program. Approved is null until the merchant decides.
func tapAffiliation(raw []byte) (affiliate lenient.ID, status string) {
	var a struct {
		ID        lenient.ID   `json:"id"`
		Affiliate lenient.ID   `json:"affiliate"`
		Approved  lenient.Bool `json:"approved"`
	}
	_ = lenient.Into(raw, &a)
	if a.Affiliate == "" {
		a.Affiliate = a.ID
	}
	switch {
	case a.Approved.V:
		return a.Affiliate, Active
	case a.Approved.OK:
		return a.Affiliate, Declined
	}
	return a.Affiliate, Pending
}

type tapCustomer struct {
	CustomerID lenient.ID   `json:"customer_id"`
	Status     lenient.Text `json:"status"`
	Affiliate  lenient.ID   `json:"affiliate"`
	CreatedAt  moment       `json:"created_at"`
	Click      *struct {
		CreatedAt moment `json:"created_at"`
	} `json:"click"`
}

var tapCustomerStates = map[lenient.Text]string{
	"": Lead, "lead": Lead, "new": Lead, "trial": Trial, "paid": Paying, "cancelled": Cancelled,
}

func (c tapCustomer) rows(id string) []Row {
	if c.Affiliate == "" {
		return []Row{missing(KindCustomer, id, "affiliate")}
	}
	row := Row{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: string(c.Affiliate), ExternalIDs: distinct(c.CustomerID), Processor: processorOf(c.CustomerID),
		Status: tapCustomerStates[c.Status], LeadAt: c.CreatedAt.Time, CreatedAt: c.CreatedAt.Time,
	}}
	if c.Click != nil {
		row.Customer.LinkID = string(c.Affiliate)
		row.Customer.LeadAt = c.Click.CreatedAt.or(c.CreatedAt).Time
	}
	if row.Customer.Status == "" {
		row.Customer.Status = Lead
		row.Problem = unknownStatus(c.Status, Lead)
	}
	return []Row{row}
}
