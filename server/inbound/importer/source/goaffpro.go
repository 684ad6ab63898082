package source

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rail/server/inbound/lenient"
)

// GoAffPro is read as far as affiliates, links and coupons. Its orders have commissions, but neither orders nor payouts
// show the paid ones: an import of them could pay a commission twice.
var goaffproProduct = Product{
	Name: "goaffpro", Title: "GoAffPro", Address: goaffproAddress, Params: []string{"ref"}, Open: openGoaffpro,
}

const (
	goaffproAddress = "https://api.goaffpro.com/v1/admin"
	// goaffproFields are requested: without them, affiliates are empty. Accounts differ in the names for codes.
	goaffproFields = "id,name,email,company_name,country,website,status,created_at,ref_code,ref_codes,referral_code," +
		"coupon,coupons,coupon_code"
)

type goaffpro struct{ client *client }

// openGoaffpro returns the source. The rate limit is not documented; two requests a second are said to be safe.
func openGoaffpro(a Account) Source {
	return goaffpro{newClient(a, goaffproAddress, 2, func(r *http.Request) {
		r.Header.Set("X-Goaffpro-Access-Token", a.Key)
	})}
}

// Lists returns the list. Pages past the end repeat others, so that the total decides.
func (s goaffpro) Lists() []List {
	return []List{numbered[goaffproAffiliate]{
		kind:    KindPartner,
		convert: func(id string, item *goaffproAffiliate) []Row { return item.rows(id) },
		fetch:   s.fetch,
	}.list("affiliates")}
}

func (s goaffpro) fetch(ctx context.Context, page, size int) (answer, error) {
	var got enveloped[struct {
		Total lenient.Int `json:"total_results"`
	}]
	_, err := s.client.get(ctx, "/affiliates", url.Values{
		"fields": {goaffproFields}, "page": {strconv.Itoa(page)}, "limit": {strconv.Itoa(size)},
	}, &got)
	return answer{listing: got.listing, total: totalOf(got.around.Total)}, err
}

type goaffproAffiliate struct {
	Name         lenient.Text               `json:"name"`
	Email        lenient.Text               `json:"email"`
	Company      lenient.Text               `json:"company_name"`
	Country      lenient.Text               `json:"country"`
	Website      address                    `json:"website"`
	Status       lenient.Text               `json:"status"`
	CreatedAt    moment                     `json:"created_at"`
	RefCode      goaffproCode               `json:"ref_code"`
	RefCodes     lenient.List[goaffproCode] `json:"ref_codes"`
	ReferralCode goaffproCode               `json:"referral_code"`
	Coupon       goaffproCode               `json:"coupon"`
	Coupons      lenient.List[goaffproCode] `json:"coupons"`
	CouponCode   goaffproCode               `json:"coupon_code"`
}

// goaffproCode is a code, or an object with it.
type goaffproCode string

// UnmarshalJSON reads either form.
func (c *goaffproCode) UnmarshalJSON(raw []byte) error {
	var text lenient.Text
	var object struct {
		Code lenient.Text `json:"code"`
	}
	if _ = text.UnmarshalJSON(raw); text == "" && raw[0] == '{' {
		_ = lenient.Into(raw, &object)
	}
	*c = goaffproCode(firstOf(text, object.Code))
	return nil
}

var goaffproStates = map[lenient.Text]string{
	"approved": Active, "pending": Pending, "blocked": Suspended, "rejected": Declined,
}

func (a goaffproAffiliate) rows(id string) []Row {
	var all []Row
	for _, code := range append([]goaffproCode{a.RefCode, a.ReferralCode}, a.RefCodes...) {
		if code != "" {
			all = append(all, Row{Kind: KindLink, ID: id + " " + string(code), Link: &Link{
				PartnerID: id, Param: "ref", Value: string(code), CreatedAt: a.CreatedAt.Time,
			}})
		}
	}
	for _, code := range append([]goaffproCode{a.Coupon, a.CouponCode}, a.Coupons...) {
		if code != "" {
			all = append(all, Row{Kind: KindCoupon, ID: id + " " + string(code), Coupon: &Coupon{
				PartnerID: id, Code: string(code), Active: true, CreatedAt: a.CreatedAt.Time,
			}})
		}
	}
	if a.Email == "" {
		return append(all, missing(KindPartner, id, "email"))
	}
	first, last, _ := strings.Cut(string(a.Name), " ")
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(a.Email), FirstName: first, LastName: last, CompanyName: string(a.Company),
		WebsiteURL: string(a.Website), Status: goaffproStates[a.Status], CreatedAt: a.CreatedAt.Time,
	}}
	if len(a.Country) == 2 { // some have the name
		row.Partner.CountryCode = string(a.Country)
	}
	row.askAbout(a.Status)
	return append(all, row)
}
