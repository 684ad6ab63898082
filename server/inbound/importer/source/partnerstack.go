package source

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rail/server/inbound/lenient"
)

// PartnerStack gives no coupons, no payouts, no refunded parts of payments and no time at which a customer first paid.
// Rewards are in US cents unless they name another currency. Only customers can be filtered by the time of a change.
var partnerstackProduct = Product{
	Name: "partnerstack", Title: "PartnerStack", Address: partnerstackAddress,
	Params: []string{partnerstackParam, "gspk"}, Open: openPartnerstack,
}

const (
	partnerstackAddress = "https://api.partnerstack.com/api/v2"
	partnerstackParam   = "ps_partner_key"
	// partnersPerLinkPage bounds the requests for one page of links, one per partner.
	partnersPerLinkPage = "20"
)

type partnerstack struct {
	*client
	customers url.Values
}

// openPartnerstack returns the source. The rate limit is not documented.
func openPartnerstack(a Account) Source {
	public, secret, _ := strings.Cut(a.Key, ":")
	p := partnerstack{
		client: newClient(a, partnerstackAddress, 5, func(r *http.Request) { r.SetBasicAuth(public, secret) }),
	}
	if a.Since != nil {
		p.customers = url.Values{"min_updated": {strconv.FormatInt(a.Since.UnixMilli(), 10)}}
	}
	return p
}

// Lists returns the lists. A scheduled reward that becomes a pending one meanwhile is in both lists of rewards, never
// in neither.
func (p partnerstack) Lists() []List {
	return []List{
		{Name: "partnerships", Read: stackList(p, "/partnerships", KindPartner, allPartnerships, stackPartner.rows)},
		{Name: "links", Read: p.links},
		{Name: "customers", Read: stackList(p, "/customers", KindCustomer, p.customers, stackCustomer.rows)},
		{Name: "transactions", Read: stackList(p, "/transactions", KindSale, nil, stackTransaction.rows)},
		{Name: "scheduled rewards", Read: stackList(
			p, "/rewards", KindCommission, url.Values{"status": {"scheduled"}}, stackReward.rows)},
		{Name: "rewards", Read: stackList(p, "/rewards", KindCommission, nil, stackReward.rows)},
	}
}

var allPartnerships = url.Values{"include_archived": {"true"}}

// stackList returns the reader of a list. The oldest object comes first, so that a new one is read at the end.
func stackList[T any](
	p partnerstack, path string, kind Kind, query url.Values, convert func(T, string) []Row,
) func(context.Context, string) (Page, error) {
	return func(ctx context.Context, cursor string) (Page, error) {
		page, next, err := p.after(ctx, path, query, "100", cursor)
		if err != nil {
			return Page{}, err
		}
		all := rows(kind, page, func(id string, item *T) []Row { return convert(*item, id) })
		return Page{Rows: all, Next: next}, nil
	}
}

func (p partnerstack) after(
	ctx context.Context, path string, query url.Values, limit, cursor string,
) (page listing, next string, err error) {
	full := with(query, "limit", limit, "order_by", "created_at")
	if cursor != "" {
		full.Set("starting_after", cursor)
	}
	if page, _, err = p.list(ctx, path, full); err != nil {
		return page, "", err
	}
	next, err = nextAfter(cursor, page)
	return page, next, err
}

type stackPartner struct {
	PartnerKey lenient.Text `json:"partner_key"`
	Email      lenient.Text `json:"email"`
	FirstName  lenient.Text `json:"first_name"`
	LastName   lenient.Text `json:"last_name"`
	Status     lenient.Text `json:"approved_status"`
	Archived   lenient.Bool `json:"archived"`
	CreatedAt  moment       `json:"created_at"`
	Address    struct {
		Country lenient.Text `json:"country"`
	} `json:"address"`
	Group struct {
		Name lenient.Text `json:"name"`
		Slug lenient.Text `json:"slug"`
	} `json:"group"`
}

var stackPartnerStates = map[lenient.Text]string{
	"approved": Active, "pending": Pending, "declined": Declined, "denied": Declined, "rejected": Declined,
}

// rows returns the partner, and the value that PartnerStack appends to every address it redirects to: the partner's
// key in base64 without padding.
func (p stackPartner) rows(id string) []Row {
	var all []Row
	if p.PartnerKey != "" {
		all = append(all, Row{Kind: KindLink, ID: id + " " + partnerstackParam, Link: &Link{
			PartnerID: id, Param: partnerstackParam, Value: base64.RawStdEncoding.EncodeToString([]byte(p.PartnerKey)),
			CreatedAt: p.CreatedAt.Time,
		}})
	}
	if p.Email == "" {
		return append(all, missing(KindPartner, id, "email"))
	}
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(p.Email), FirstName: string(p.FirstName), LastName: string(p.LastName),
		CountryCode: string(p.Address.Country), Handle: string(p.PartnerKey), Status: stackPartnerStates[p.Status],
		Group: firstOf(p.Group.Name, p.Group.Slug), CreatedAt: p.CreatedAt.Time,
	}}
	row.askAbout(p.Status)
	if p.Archived.V && row.Partner.Status == Active {
		row.Partner.Status = Suspended
	}
	return append(all, row)
}

// links reads the links of a page of partners, with a request for each. A link's key is the path of its short address.
func (p partnerstack) links(ctx context.Context, cursor string) (Page, error) {
	partners, next, err := p.after(ctx, "/partnerships", allPartnerships, partnersPerLinkPage, cursor)
	if err != nil {
		return Page{}, err
	}
	var all []Row
	for _, raw := range partners.objects {
		partner := idOf(raw)
		if partner == "" {
			continue // reported with the partners
		}
		of, err := p.linksOf(ctx, partner)
		if err != nil {
			return Page{}, ofOne(err)
		}
		all = append(all, of...)
	}
	return Page{Rows: all, Next: next}, nil
}

// linksOf reads the links of a partner.
func (p partnerstack) linksOf(ctx context.Context, partner string) ([]Row, error) {
	read := stackList(p, "/links/partnership/"+url.PathEscape(partner), KindLink, nil, func(l stackLink, key string) []Row {
		return []Row{{Kind: KindLink, ID: partner + " " + key, Link: &Link{
			PartnerID: partner, Param: partnerstackParam, Value: l.value(key), URL: string(l.Dest), CreatedAt: l.CreatedAt.Time,
		}}}
	})
	var all []Row
	for cursor := ""; ; {
		page, err := read(ctx, cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Rows...)
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

type stackLink struct {
	Dest      address `json:"dest"`
	URL       address `json:"url"`
	CreatedAt moment  `json:"created_at"`
}

// value returns the path of the short address.
func (l stackLink) value(key string) string {
	u, err := url.Parse(string(l.URL))
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return key
	}
	return strings.Trim(u.Path, "/")
}

type stackCustomer struct {
	Name           lenient.Text `json:"name"`
	Email          lenient.Text `json:"email"`
	ProviderKey    lenient.ID   `json:"provider_key"`
	CustomerKey    lenient.ID   `json:"customer_key"`
	PartnershipKey lenient.ID   `json:"partnership_key"`
	Test           lenient.Bool `json:"test"`
	HasPaid        lenient.Bool `json:"has_paid"`
	CreatedAt      moment       `json:"created_at"`
}

func (c stackCustomer) rows(id string) []Row {
	switch {
	case c.Test.V:
		return []Row{refused(KindCustomer, id, TestData, "a customer of the test mode")}
	case c.PartnershipKey == "":
		return []Row{missing(KindCustomer, id, "partnership_key")}
	}
	status := Lead
	if c.HasPaid.V {
		status = Paying
	}
	return []Row{{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: string(c.PartnershipKey), ExternalIDs: distinct(c.CustomerKey, c.ProviderKey),
		Processor: processorOf(c.ProviderKey), Email: string(c.Email), Name: string(c.Name), Status: status,
		LeadAt: c.CreatedAt.Time, CreatedAt: c.CreatedAt.Time,
	}}}
}

type stackTransaction struct {
	Amount         number       `json:"amount"`
	Currency       lenient.Text `json:"currency"`
	ProductKey     lenient.Text `json:"product_key"`
	PartnershipKey lenient.ID   `json:"partnership_key"`
	CustomerKey    lenient.ID   `json:"customer_key"`
	Customer       stackRef     `json:"customer"`
	Archived       lenient.Bool `json:"archived"`
	Test           lenient.Bool `json:"test"`
	CreatedAt      moment       `json:"created_at"`
	UpdatedAt      moment       `json:"updated_at"`
}

// stackRef is an object within another.
type stackRef struct {
	Key lenient.ID `json:"key"`
}

func (t stackTransaction) rows(id string) []Row {
	amount, readable := t.Amount.cents()
	code, ok := stackCurrency(t.Currency)
	customer := distinct(t.Customer.Key, t.CustomerKey)
	switch {
	case t.Test.V:
		return []Row{refused(KindSale, id, TestData, "a transaction of the test mode")}
	case !readable:
		return []Row{missing(KindSale, id, "amount")}
	case len(customer) == 0:
		return []Row{missing(KindSale, id, "customer")}
	case t.CreatedAt.IsZero():
		return []Row{missing(KindSale, id, "created_at")}
	case !ok:
		return []Row{refused(KindSale, id, NotMoney, "the currency is %q", t.Currency)}
	case amount < 0:
		return []Row{refused(KindSale, id, NotMoney, "a refund of %d without its payment", -amount)}
	}
	s := &Sale{
		CustomerID: customer[0], PartnerID: string(t.PartnershipKey), AmountMinor: amount, Currency: code,
		ProductName: string(t.ProductKey), OccurredAt: t.CreatedAt.Time,
	}
	if prefix, _, _ := strings.Cut(id, "_"); prefix == "ch" || prefix == "py" || prefix == "pi" || prefix == "in" {
		s.ChargeID = id
	}
	if t.Archived.V { // PartnerStack archives a transaction that was refunded as a whole
		s.RefundedMinor, s.RefundedAt = amount, t.UpdatedAt.or(t.CreatedAt).known()
	}
	return []Row{{Kind: KindSale, ID: id, Sale: s}}
}
