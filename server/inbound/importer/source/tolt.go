package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

const toltAddress = "https://api.tolt.com/v1"

// Tolt gives amounts in cents, mostly as text. It does not give the processor's ids of customers (only the merchant's
// own), payouts, holding periods, the pages of links or the link of a customer; a commission was paid or voided when it
// was changed last. It has no filter by the time of a change, so that each run reads everything.
var toltProduct = Product{
	Name: "tolt", Title: "Tolt", Address: toltAddress, Params: []string{"ref", "via", "aff"}, FoldsCase: true,
	NeedsAccount: true,
	Open:         openTolt,
}

type tolt struct {
	client  *client
	account Account
}

// openTolt returns the source. The API allows 25 requests a second.
func openTolt(a Account) Source {
	return tolt{account: a, client: newClient(a, toltAddress, 20, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+a.Key)
	})}
}

// Lists returns the lists.
func (s tolt) Lists() []List {
	return []List{
		toltList(s, "partners", KindPartner, expanded("group"), toltPartner.rows),
		toltList(s, "links", KindLink, nil, toltLink.rows),
		toltList(s, "promotion-codes", KindCoupon, nil, toltCode.rows),
		toltList(s, "customers", KindCustomer, nil, toltCustomer.rows),
		toltList(s, "transactions", KindSale, expanded("program"), s.transaction),
		toltList(s, "commissions", KindCommission, expanded("partner", "program"), s.commission),
	}
}

// toltCursor is the place in a list, newest objects first. New objects do not move the others.
type toltCursor struct {
	After string `json:"a,omitempty"` // the last object that was read
	Seen  int64  `json:"n,omitempty"` // objects that were read
	Least int64  `json:"l,omitempty"` // smallest total that the source stated
	Again int    `json:"r,omitempty"` // new beginnings
}

// maxAgain bounds the new beginnings of a list.
const maxAgain = 3

// toltList returns a list. It begins again if the object to continue after is gone, or if it ends too early.
func toltList[T any](s tolt, name string, kind Kind, query url.Values, convert func(T, string) []Row) List {
	return List{Name: name, Read: func(ctx context.Context, cursor string) (Page, error) {
		var c toltCursor
		if cursor != "" && json.Unmarshal([]byte(cursor), &c) != nil {
			return Page{}, fmt.Errorf("the cursor %q is invalid", cursor)
		}
		again := toltCursor{Again: c.Again + 1}
		got, err := s.fetch(ctx, name, query, c.After)
		if errors.Is(err, ErrRequest) && c.After != "" && c.Again < maxAgain {
			return toltPage(nil, again)
		}
		if err != nil {
			return Page{}, err
		}
		all := rows(kind, got.listing, func(id string, item *T) []Row { return convert(*item, id) })
		next, err := nextAfter(c.After, got.listing)
		if err != nil && got.more.V {
			return Page{}, err
		}
		seen, least := c.Seen+int64(len(got.objects)), got.total
		if c.Seen > 0 {
			least = min(least, c.Least)
		}
		switch {
		case next != "":
			return toltPage(all, toltCursor{After: next, Seen: seen, Least: least, Again: c.Again})
		case seen >= least:
			return Page{Rows: all}, nil
		case c.Again < maxAgain:
			return toltPage(all, again)
		}
		return Page{Rows: append(all, refused(kind, "list of "+name, MissingMember,
			"the source counts %d %s, and lists %d", least, name, seen))}, nil
	}}
}

// toltPage returns a page that is not the last one.
func toltPage(all []Row, next toltCursor) (Page, error) {
	text, err := json.Marshal(next)
	return Page{Rows: all, Next: string(text)}, err
}

func (s tolt) fetch(ctx context.Context, name string, query url.Values, after string) (answer, error) {
	query = with(query, "program_id", s.account.ID, "limit", strconv.Itoa(perPage))
	if after != "" {
		query.Set("starting_after", after)
	}
	var got enveloped[struct {
		Total lenient.Int `json:"total_count"`
	}]
	_, err := s.client.get(ctx, "/"+name, query, &got)
	return answer{listing: got.listing, total: got.around.Total.N}, err
}

// toltProgram has the currency of a program.
type toltProgram struct {
	Currency lenient.Text `json:"currency_code"`
}

// currencyOf returns the first valid currency: that of the object, of its program, or of the account.
func (s tolt) currencyOf(codes ...lenient.Text) string {
	for _, unit := range append(codes, lenient.Text(s.account.Currency)) {
		if code, ok := currency.Normal(string(unit)); ok {
			return code
		}
	}
	return ""
}

type toltPartner struct {
	Email       lenient.Text `json:"email"`
	FirstName   lenient.Text `json:"first_name"`
	LastName    lenient.Text `json:"last_name"`
	CompanyName lenient.Text `json:"company_name"`
	Country     lenient.Text `json:"country_code"`
	Status      lenient.Text `json:"status"`
	CreatedAt   moment       `json:"created_at"`
	Group       struct {
		Name lenient.Text `json:"name"`
	} `json:"group"`
}

// toltStates are the states of partners. Some lists leave the status of active ones out.
var toltStates = map[lenient.Text]string{
	"": Active, "active": Active, "pending": Pending, "rejected": Declined, "suspended": Suspended,
}

func (p toltPartner) rows(id string) []Row {
	if p.Email == "" {
		return []Row{missing(KindPartner, id, "email")}
	}
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(p.Email), FirstName: string(p.FirstName), LastName: string(p.LastName),
		CompanyName: string(p.CompanyName), CountryCode: string(p.Country), Status: toltStates[p.Status],
		Group: string(p.Group.Name), CreatedAt: p.CreatedAt.Time,
	}}
	if row.Partner.Status == "" {
		row.Partner.Status, row.Problem = Pending, unknownStatus(p.Status, Pending)
	}
	return []Row{row}
}

type toltLink struct {
	Param     lenient.Text `json:"param"`
	Value     lenient.ID   `json:"value"` // may have spaces
	PartnerID lenient.Text `json:"partner_id"`
	Partner   lenient.ID   `json:"partner"`
	CreatedAt moment       `json:"created_at"`
}

func (l toltLink) rows(id string) []Row {
	partner := firstOf(l.PartnerID, lenient.Text(l.Partner))
	if l.Value == "" || partner == "" {
		return []Row{missing(KindLink, id, "value or partner_id")}
	}
	return []Row{{Kind: KindLink, ID: id, Link: &Link{
		PartnerID: partner, Param: firstOf(l.Param, "ref"), Value: string(l.Value), CreatedAt: l.CreatedAt.Time,
	}}}
}

type toltCode struct {
	Code      lenient.ID   `json:"code"`
	Active    lenient.Bool `json:"active"`
	PartnerID lenient.Text `json:"partner_id"`
	CreatedAt moment       `json:"created_at"`
}

func (c toltCode) rows(id string) []Row {
	if c.Code == "" || c.PartnerID == "" {
		return []Row{missing(KindCoupon, id, "code or partner_id")}
	}
	return []Row{{Kind: KindCoupon, ID: id, Coupon: &Coupon{
		PartnerID: string(c.PartnerID), Code: string(c.Code), Active: c.Active.V || !c.Active.OK, CreatedAt: c.CreatedAt.Time,
	}}}
}

type toltCustomer struct {
	CustomerID lenient.ID   `json:"customer_id"` // the merchant's own
	Email      lenient.Text `json:"email"`
	Name       lenient.Text `json:"name"`
	Status     lenient.Text `json:"status"`
	CreatedAt  moment       `json:"created_at"`
	LeadAt     moment       `json:"lead_at"`
	ActiveAt   moment       `json:"active_at"`
	CodeID     lenient.ID   `json:"promotion_code_id"`
	PartnerID  lenient.Text `json:"partner_id"`
	Partner    lenient.ID   `json:"partner"`
}

var toltCustomerStates = map[lenient.Text]string{
	"lead": Lead, "trialing": Trial, "trial": Trial, "active": Paying, "canceled": Cancelled, "cancelled": Cancelled,
}

func (c toltCustomer) rows(id string) []Row {
	partner := firstOf(c.PartnerID, lenient.Text(c.Partner))
	if partner == "" || c.CustomerID == "" && c.Email == "" {
		return []Row{missing(KindCustomer, id, "partner_id, or customer_id and email")}
	}
	row := Row{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: partner, ExternalIDs: distinct(c.CustomerID), Processor: processorOf(c.CustomerID),
		Email: string(c.Email), Name: string(c.Name), CouponID: string(c.CodeID), Status: toltCustomerStates[c.Status],
		LeadAt: c.LeadAt.or(c.CreatedAt).Time, ConvertedAt: c.ActiveAt.known(), CreatedAt: c.CreatedAt.or(c.LeadAt).Time,
	}}
	if row.Customer.Status == "" {
		row.Customer.Status = Lead
		if row.Customer.ConvertedAt != nil {
			row.Customer.Status = Paying
		}
		row.Problem = unknownStatus(c.Status, row.Customer.Status)
	}
	return []Row{row}
}
