package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rail/server/clock"
	"rail/server/inbound/lenient"
)

// Dub converts all money to US dollars and gives cents. It does not give names of groups, times of links, holding
// periods, refunded parts, the payout of a commission or the processor's ids of coupons; its sales are known only by
// their commissions. It has no filter by the time of a change, so that each run reads everything.
var dubProduct = Product{Name: "dub", Title: "Dub", Address: dubAddress, Params: []string{"via"}, Open: openDub}

const (
	dubAddress = "https://api.dub.co"
	// partnersPerCodePage bounds the requests for one page of discount codes, one per partner. A page is read again as a
	// whole after a long wait.
	partnersPerCodePage = 20
)

type dub struct{ client *client }

// openDub returns the source. Programs need a plan with at least 600 requests a minute.
func openDub(a Account) Source {
	return dub{newClient(a, dubAddress, 9, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+a.Key)
	})}
}

// Lists returns the lists. Without a status, Dub lists partners of all states, but omits commissions of three states.
// Those are separate lists, and come later: a commission that gets such a state meanwhile is in both lists, never in
// neither.
func (d dub) Lists() []List {
	created := url.Values{"sortBy": {"createdAt"}, "sortOrder": {"desc"}}
	return []List{
		dubList(d, "partners", KindPartner, created, dubPartner.rows),
		{Name: "discount codes", Read: d.codes},
		dubList(d, "customers", KindCustomer, with(created, "includeExpandedFields", "true"), dubCustomer.rows),
		{Name: "commissions", Read: d.commissions("")},
		{Name: "duplicate commissions", Read: d.commissions("duplicate")},
		{Name: "fraudulent commissions", Read: d.commissions("fraud")},
		{Name: "canceled commissions", Read: d.commissions("canceled")},
		dubList(d, "payouts", KindPayout, with(created, "sortBy", "initiatedAt"), dubPayout.rows),
	}
}

// dubList returns a list with numbered pages. A payout gets its place when it is initiated.
func dubList[T any](d dub, name string, kind Kind, query url.Values, convert func(T, string) []Row) List {
	return numbered[T]{
		kind:    kind,
		convert: func(id string, item *T) []Row { return convert(*item, id) },
		fetch: func(ctx context.Context, page, size int) (answer, error) {
			got, err := d.page(ctx, "/"+name, query, page, size)
			return answer{listing: got, total: -1}, err
		},
	}.list(name)
}

func (d dub) page(ctx context.Context, path string, query url.Values, page, size int) (listing, error) {
	got, _, err := d.client.list(ctx, path, with(query, "page", strconv.Itoa(page), "pageSize", strconv.Itoa(size)))
	return got, err
}

type dubPartner struct {
	Name        lenient.Text                 `json:"name"`
	CompanyName lenient.Text                 `json:"companyName"`
	Email       lenient.Text                 `json:"email"`
	Country     lenient.Text                 `json:"country"`
	Website     address                      `json:"website"`
	Status      lenient.Text                 `json:"status"`
	GroupID     lenient.Text                 `json:"groupId"`
	TenantID    lenient.Text                 `json:"tenantId"`
	CreatedAt   moment                       `json:"createdAt"`
	Links       lenient.List[dubPartnerLink] `json:"links"`
}

type dubPartnerLink struct {
	ID        lenient.ID   `json:"id"`
	Key       lenient.Text `json:"key"`
	ShortLink address      `json:"shortLink"`
	URL       address      `json:"url"`
}

var dubPartnerStates = map[lenient.Text]string{
	"approved": Active, "pending": Pending, "invited": Pending, "rejected": Declined, "declined": Declined,
	"banned": Suspended, "deactivated": Suspended, "archived": Suspended,
}

func (p dubPartner) rows(id string) []Row {
	if p.Email == "" {
		return append([]Row{missing(KindPartner, id, "email")}, p.links(id)...)
	}
	first, last, _ := strings.Cut(string(p.Name), " ")
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(p.Email), FirstName: first, LastName: last, CompanyName: string(p.CompanyName),
		WebsiteURL: string(p.Website), CountryCode: string(p.Country), Status: dubPartnerStates[p.Status],
		Group: string(p.GroupID), ExternalID: string(p.TenantID), CreatedAt: p.CreatedAt.Time,
	}}
	row.askAbout(p.Status)
	return append([]Row{row}, p.links(id)...)
}

// links returns the rows of a partner's links. Short links and query parameters share their keys.
func (p dubPartner) links(id string) []Row {
	var all []Row
	for _, l := range p.Links {
		switch {
		case l.ID == "":
			all = append(all, missing(KindLink, id+" "+string(l.Key), "id"))
		case l.Key == "":
			all = append(all, missing(KindLink, string(l.ID), "key"))
		default:
			short, _ := splitLink(l.ShortLink, string(l.Key), "via")
			param, page := splitLink(l.URL, string(l.Key), short)
			all = append(all, Row{Kind: KindLink, ID: string(l.ID), Link: &Link{
				PartnerID: id, Param: param, Value: string(l.Key), URL: page,
			}})
		}
	}
	return all
}

// askAbout reads a partner of an unknown status as pending: it keeps its history, and a person decides.
func (r *Row) askAbout(status lenient.Text) {
	if r.Partner.Status == "" {
		r.Partner.Status = Pending
		r.Problem = unknownStatus(status, Pending)
	}
}

// codes reads the discount codes of a page of partners, with a request for each.
func (d dub) codes(ctx context.Context, cursor string) (Page, error) {
	at := placeOf(cursor)
	oldest := url.Values{"sortBy": {"createdAt"}, "sortOrder": {"asc"}}
	partners, err := d.page(ctx, "/partners", oldest, at.number, partnersPerCodePage)
	if err != nil {
		return Page{}, err
	}
	next := Page{Next: at.next(partners)}
	for _, raw := range partners.objects {
		id := idOf(raw)
		if id == "" {
			continue // reported with the partners
		}
		all, err := d.codesOf(ctx, id)
		if errors.Is(err, ErrKey) { // the key has just read partners, so it is the plan that lacks codes
			return Page{Rows: []Row{refused(KindCoupon, "all", MissingMember, "Dub refuses the list: %v", err)}}, nil
		}
		if err != nil {
			return Page{}, ofOne(err)
		}
		next.Rows = append(next.Rows, all...)
	}
	return next, nil
}

// codesOf reads the discount codes of a partner. Dub refuses a size of a page that is too large, so that a smaller page
// is the last one.
func (d dub) codesOf(ctx context.Context, partner string) ([]Row, error) {
	var all []Row
	for number := 1; ; number++ {
		page, err := d.page(ctx, "/discount-codes", url.Values{"partnerId": {partner}}, number, perPage)
		if err != nil {
			return nil, err
		}
		all = append(all, rows(KindCoupon, page, func(id string, item *dubCode) []Row {
			if item.Code == "" {
				return []Row{missing(KindCoupon, id, "code")}
			}
			return []Row{{Kind: KindCoupon, ID: id, Coupon: &Coupon{PartnerID: partner, Code: string(item.Code), Active: true}}}
		})...)
		if len(page.objects) < perPage {
			return all, nil
		}
	}
}

type dubCode struct {
	Code lenient.Text `json:"code"`
}

type dubCustomer struct {
	ExternalID       lenient.ID   `json:"externalId"`
	StripeCustomerID lenient.ID   `json:"stripeCustomerId"`
	Name             lenient.Text `json:"name"`
	Email            lenient.Text `json:"email"`
	ProgramID        lenient.ID   `json:"programId"`
	Partner          lenient.ID   `json:"partner"`
	Link             lenient.ID   `json:"link"`
	Sales            number       `json:"sales"`
	CreatedAt        moment       `json:"createdAt"`
	FirstSaleAt      moment       `json:"firstSaleAt"`
	CanceledAt       moment       `json:"subscriptionCanceledAt"`
}

// rows returns nothing for a customer without a partner and a program: Dub also lists customers of other links.
func (c dubCustomer) rows(id string) []Row {
	switch {
	case c.Partner == "" && c.ProgramID == "":
		return nil
	case c.Partner == "":
		return []Row{missing(KindCustomer, id, "partner")}
	}
	status, sales := Lead, strings.Trim(string(c.Sales), "0")
	if !c.FirstSaleAt.IsZero() || sales != "" {
		status = Paying
	}
	if !c.CanceledAt.IsZero() {
		status = Cancelled
	}
	return []Row{{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: string(c.Partner), ExternalIDs: distinct(c.ExternalID, c.StripeCustomerID),
		Processor: processorOf(c.StripeCustomerID), Email: string(c.Email), Name: string(c.Name), LinkID: string(c.Link),
		Status: status, LeadAt: c.CreatedAt.Time, ConvertedAt: c.FirstSaleAt.known(), CreatedAt: c.CreatedAt.Time,
	}}}
}

// dubCursor is the place in a list of commissions. Only the first page is in the order of their times; pages before or
// after an id are in the order of ids, and programs that moved to Dub have old commissions with late ids. So the walk
// begins with any commission, reads those before it, and then those after it.
type dubCursor struct {
	Begin  string `json:"b"`           // a commission of the first page
	At     string `json:"a"`           // the last commission that was read
	Upward bool   `json:"u,omitempty"` // the ones before the beginning are read
}

// commissions returns the reader of the commissions and their sales: of a status, or of all that Dub lists without one.
func (d dub) commissions(status string) func(context.Context, string) (Page, error) {
	query := url.Values{"sortBy": {"createdAt"}, "sortOrder": {"asc"}, "pageSize": {"100"}}
	if status != "" {
		query.Set("status", status)
	}
	return func(ctx context.Context, cursor string) (Page, error) {
		var c dubCursor
		if cursor != "" && json.Unmarshal([]byte(cursor), &c) != nil {
			return Page{}, fmt.Errorf("the cursor %q is invalid", cursor)
		}
		at := query
		switch {
		case c.Upward:
			at = with(query, "startingAfter", c.At)
		case c.At != "":
			at = with(query, "endingBefore", c.At)
		}
		page, _, err := d.client.list(ctx, "/commissions", at)
		if err != nil {
			return Page{}, err
		}
		all := rows(KindCommission, page, func(id string, item *dubCommission) []Row { return item.rows(id) })
		next, err := c.next(page)
		return Page{Rows: all, Next: next}, err
	}
}

// next returns the cursor after a page.
func (c dubCursor) next(page listing) (string, error) {
	if !c.Upward {
		slices.Reverse(page.objects) // nextAfter continues after the last object
	}
	id, err := nextAfter(c.At, page)
	switch {
	case err != nil || id == "" && (c.Upward || c.Begin == ""):
		return "", err
	case id == "":
		c.At, c.Upward = c.Begin, true
	case c.Begin == "":
		c.Begin, c.At = id, id
	default:
		c.At = id
	}
	text, err := json.Marshal(c)
	return string(text), err
}

type dubCommission struct {
	Type        lenient.Text `json:"type"`
	Amount      number       `json:"amount"`
	Earnings    number       `json:"earnings"`
	Status      lenient.Text `json:"status"`
	InvoiceID   lenient.ID   `json:"invoiceId"`
	Description lenient.Text `json:"description"`
	CreatedAt   moment       `json:"createdAt"`
	UpdatedAt   moment       `json:"updatedAt"`
	PaidAt      moment       `json:"paidAt"`
	Partner     lenient.ID   `json:"partner"`
	Customer    lenient.ID   `json:"customer"`
}

var dubCommissionStates = map[lenient.Text]string{
	"pending": Open, "hold": Open, "processed": Due, "paid": Paid, "refunded": Voided, "duplicate": Rejected,
	"fraud": Rejected, "canceled": Rejected,
}

func (c *dubCommission) rows(id string) []Row {
	earnings, readable := c.Earnings.cents()
	status := dubCommissionStates[c.Status]
	switch {
	case !readable:
		return []Row{missing(KindCommission, id, "earnings")}
	case c.Partner == "":
		return []Row{missing(KindCommission, id, "partner")}
	case c.CreatedAt.IsZero():
		return []Row{missing(KindCommission, id, "createdAt")}
	case status == "":
		return []Row{refused(KindCommission, id, UnknownStatus, "status %q", c.Status)}
	}
	k := &Commission{
		PartnerID: string(c.Partner), CustomerID: string(c.Customer), AmountMinor: earnings, Currency: "USD",
		Status: status, Reason: string(c.Description), CreatedAt: c.CreatedAt.Time,
	}
	changed := c.UpdatedAt.or(c.CreatedAt)
	switch status {
	case Paid:
		k.PaidAt = c.PaidAt.or(changed).known()
	case Voided, Rejected:
		k.VoidedAt = changed.known()
		k.Reason = firstOf(c.Description, "Dub: "+c.Status)
	}
	all := []Row{{Kind: KindCommission, ID: id, Commission: k}}
	if c.Type == "sale" && c.Customer != "" {
		sale := c.sale(id, changed.Time)
		if sale.Sale != nil {
			k.SaleID = id
		}
		all = append(all, sale)
	}
	return all
}

// sale returns the sale of a commission, under the commission's id.
func (c *dubCommission) sale(id string, changed clock.Time) Row {
	amount, ok := c.Amount.cents()
	if !ok {
		return missing(KindSale, id, "amount")
	}
	s := &Sale{
		CustomerID: string(c.Customer), PartnerID: string(c.Partner), ChargeID: string(c.InvoiceID), AmountMinor: amount,
		Currency: "USD", OccurredAt: c.CreatedAt.Time,
	}
	if c.Status == "refunded" {
		s.RefundedMinor, s.RefundedAt = amount, &changed
	}
	return Row{Kind: KindSale, ID: id, Sale: s}
}

type dubPayout struct {
	Amount      number       `json:"amount"`
	Status      lenient.Text `json:"status"`
	Method      lenient.Text `json:"method"`
	Partner     lenient.ID   `json:"partner"`
	CreatedAt   moment       `json:"createdAt"`
	InitiatedAt moment       `json:"initiatedAt"`
	PaidAt      moment       `json:"paidAt"`
}

var dubPayoutStates = map[lenient.Text]string{
	"pending": "pending", "processing": "processing", "processed": "processed", "sent": Paid, "completed": Paid,
	"failed": "failed", "canceled": "canceled",
}

func (p dubPayout) rows(id string) []Row {
	amount, readable := p.Amount.cents()
	status := dubPayoutStates[p.Status]
	switch {
	case !readable:
		return []Row{missing(KindPayout, id, "amount")}
	case p.Partner == "":
		return []Row{missing(KindPayout, id, "partner")}
	case status == "":
		return []Row{refused(KindPayout, id, UnknownStatus, "status %q", p.Status)}
	}
	payout := &Payout{
		PartnerID: string(p.Partner), AmountMinor: amount, Currency: "USD", Status: status, Method: string(p.Method),
		CreatedAt: p.CreatedAt.or(p.InitiatedAt, p.PaidAt).Time,
	}
	if status == Paid {
		payout.PaidAt = p.PaidAt.or(p.InitiatedAt, p.CreatedAt).known()
	}
	return []Row{{Kind: KindPayout, ID: id, Payout: payout}}
}
