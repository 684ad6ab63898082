package source

import (
	"context"
	"net/http"
	"path"
	"strconv"
	"strings"

	"rail/server/inbound/lenient"
)

// Refersion lists only affiliates. It gives no coupons, customers, conversions, commissions or payouts, and no times.
// All requests are POST requests.
var refersionProduct = Product{
	Name: "refersion", Title: "Refersion", Address: refersionAddress, Params: []string{"rfsn"}, Open: openRefersion,
}

const refersionAddress = "https://api.refersion.com/v2"

type refersion struct{ client *client }

// openRefersion returns the source. The key is the public and the secret key; no rate limit is documented.
func openRefersion(a Account) Source {
	public, secret, _ := strings.Cut(a.Key, ":")
	return refersion{newClient(a, refersionAddress, 4, func(r *http.Request) {
		r.Header.Set("Refersion-Public-Key", public)
		r.Header.Set("Refersion-Secret-Key", secret)
	})}
}

// Lists returns the lists.
func (s refersion) Lists() []List {
	return []List{
		numbered[refersionAffiliate]{
			kind:    KindPartner,
			convert: func(id string, item *refersionAffiliate) []Row { return item.rows(id) },
			fetch:   s.fetch,
		}.list("affiliates"),
		{Name: "links", Read: s.links},
	}
}

// fetch reads a page of affiliates.
func (s refersion) fetch(ctx context.Context, page, size int) (answer, error) {
	var got enveloped[struct {
		Total lenient.Int `json:"total"`
	}]
	body := map[string]string{"page": strconv.Itoa(page), "limit": strconv.Itoa(size)}
	err := s.client.post(ctx, "/affiliate/list", body, &got)
	return answer{listing: got.listing, total: totalOf(got.around.Total)}, err
}

type refersionAffiliate struct {
	ID        lenient.ID   `json:"id"`
	OfferID   lenient.Text `json:"offer_id"`
	Status    lenient.Text `json:"status"`
	FirstName lenient.Text `json:"first_name"`
	LastName  lenient.Text `json:"last_name"`
	Company   lenient.Text `json:"company_name"`
	Email     lenient.Text `json:"email"`
	Link      address      `json:"link"`
}

var refersionStates = map[lenient.Text]string{
	"ACTIVE": Active, "PENDING": Pending, "DENIED": Declined, "DISABLED": Suspended,
}

func (a refersionAffiliate) rows(id string) []Row {
	if a.Email == "" {
		return []Row{missing(KindPartner, id, "email")}
	}
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(a.Email), FirstName: string(a.FirstName), LastName: string(a.LastName),
		CompanyName: string(a.Company), Status: refersionStates[a.Status], Group: string(a.OfferID),
	}}
	row.askAbout(a.Status)
	return []Row{row}
}

// links reads the links of a page of affiliates, with a request for each. The list has the code of an affiliate or its
// number; the details have both: a link leads over /c/{code} to an address with rfsn={number}.{code}.
func (s refersion) links(ctx context.Context, cursor string) (Page, error) {
	at := placeOf(cursor)
	got, err := s.fetch(ctx, at.number, 20)
	if err != nil {
		return Page{}, err
	}
	next := Page{Next: at.next(got.listing)}
	for _, raw := range got.objects {
		id := idOf(raw)
		if id == "" {
			continue // reported with the affiliates
		}
		body := map[string]any{"affiliate_code": id}
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			body = map[string]any{"id": n}
		}
		var a refersionAffiliate
		if err := s.client.post(ctx, "/affiliate/get", body, &a); err != nil {
			return Page{}, ofOne(err)
		}
		code := path.Base(string(a.Link))
		if a.Link == "" || a.ID == "" {
			next.Rows = append(next.Rows, missing(KindLink, id, "link"))
			continue
		}
		for _, value := range []string{string(a.ID) + "." + code, code} {
			next.Rows = append(next.Rows, Row{Kind: KindLink, ID: id + " " + value, Link: &Link{
				PartnerID: id, Param: "rfsn", Value: value,
			}})
		}
	}
	return next, nil
}
