package source

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"rail/server/inbound/lenient"
)

const rewardfulAddress = "https://api.getrewardful.com/v1"

// Rewardful gives amounts in cents. It does not give countries, reasons of voided commissions (a rejected one is
// voided), or the times of refunds, links and coupons. Only referrals have a filter by the time of a change.
var rewardfulProduct = Product{
	Name: "rewardful", Title: "Rewardful", Address: rewardfulAddress, Params: []string{"via"},
	Open: openRewardful,
}

type rewardful struct {
	client  *client
	account Account
}

// openRewardful returns the source. The API allows 45 requests in 30 seconds.
func openRewardful(a Account) Source {
	return rewardful{account: a, client: newClient(a, rewardfulAddress, 1.5, func(r *http.Request) {
		r.SetBasicAuth(a.Key, "")
	})}
}

// Lists returns the lists. Referrals that are only visitors are left out.
func (s rewardful) Lists() []List {
	referrals := url.Values{"conversion_state[]": {"lead", "conversion"}, "expand[]": {"affiliate"}}
	if s.account.Since != nil {
		referrals.Set("updated_since", s.account.Since.String())
	}
	return []List{
		rewardfulList(s, "affiliates", KindPartner, expanded("campaign", "links"), rewardfulAffiliate.rows),
		rewardfulList(s, "affiliate_coupons", KindCoupon, nil, rewardfulCoupon.rows),
		rewardfulList(s, "referrals", KindCustomer, referrals, rewardfulReferral.rows),
		rewardfulList(s, "commissions", KindCommission, expanded("sale"), rewardfulCommission.rows),
		rewardfulList(s, "payouts", KindPayout, expanded("affiliate", "commissions"), rewardfulPayout.rows),
	}
}

// expanded requests related objects.
func expanded(names ...string) url.Values { return url.Values{"expand[]": names} }

func rewardfulList[T any](s rewardful, name string, kind Kind, query url.Values, convert func(T, string) []Row) List {
	return numbered[T]{
		kind:    kind,
		convert: func(id string, item *T) []Row { return convert(*item, id) },
		fetch: func(ctx context.Context, page, size int) (answer, error) {
			return s.fetch(ctx, "/"+name, with(query, "page", strconv.Itoa(page), "limit", strconv.Itoa(size)))
		},
	}.list(name)
}

func (s rewardful) fetch(ctx context.Context, path string, query url.Values) (answer, error) {
	var got enveloped[struct {
		Pagination struct {
			Total lenient.Int `json:"total_count"`
		} `json:"pagination"`
	}]
	_, err := s.client.get(ctx, path, query, &got)
	return answer{listing: got.listing, total: totalOf(got.around.Pagination.Total)}, err
}

type rewardfulAffiliate struct {
	Email     lenient.Text `json:"email"`
	FirstName lenient.Text `json:"first_name"`
	LastName  lenient.Text `json:"last_name"`
	State     lenient.Text `json:"state"`
	CreatedAt moment       `json:"created_at"`
	UpdatedAt moment       `json:"updated_at"`
	Campaign  struct {
		Name lenient.Text `json:"name"`
	} `json:"campaign"`
	Links lenient.List[rewardfulLink] `json:"links"`
}

type rewardfulLink struct {
	ID    lenient.ID `json:"id"`
	URL   address    `json:"url"`
	Token lenient.ID `json:"token"`
}

var rewardfulStates = map[lenient.Text]string{
	"active": Active, "pending": Pending, "unconfirmed": Pending, "rejected": Declined, "disabled": Suspended,
	"suspicious": Suspended,
}

// rows returns the partner and its links.
func (a rewardfulAffiliate) rows(id string) []Row {
	created := a.CreatedAt.or(a.UpdatedAt).Time
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(a.Email), FirstName: string(a.FirstName), LastName: string(a.LastName),
		Group: string(a.Campaign.Name), Status: rewardfulStates[a.State], CreatedAt: created,
	}}
	switch {
	case a.Email == "":
		row = missing(KindPartner, id, "email")
	case row.Partner.Status == "":
		row.Partner.Status, row.Problem = Pending, unknownStatus(a.State, Pending)
	}
	all := []Row{row}
	for _, l := range a.Links {
		switch {
		case l.ID == "":
			all = append(all, missing(KindLink, id+" "+string(l.Token), "id"))
		case l.Token == "":
			all = append(all, missing(KindLink, string(l.ID), "token"))
		default:
			param, page := splitLink(l.URL, string(l.Token), "via")
			all = append(all, Row{Kind: KindLink, ID: string(l.ID), Link: &Link{
				PartnerID: id, Param: param, Value: string(l.Token), URL: page, CreatedAt: created,
			}})
		}
	}
	return all
}

type rewardfulCoupon struct {
	Token      lenient.ID   `json:"token"`
	ExternalID lenient.ID   `json:"external_id"`
	Archived   lenient.Bool `json:"archived"`
	Affiliate  lenient.ID   `json:"affiliate_id"`
	CreatedAt  moment       `json:"created_at"`
}

func (c rewardfulCoupon) rows(id string) []Row {
	if c.Token == "" || c.Affiliate == "" {
		return []Row{missing(KindCoupon, id, "token or affiliate_id")}
	}
	return []Row{{Kind: KindCoupon, ID: id, Coupon: &Coupon{
		PartnerID: string(c.Affiliate), Code: string(c.Token), ExternalID: string(c.ExternalID), Active: !c.Archived.V,
		CreatedAt: c.CreatedAt.Time,
	}}}
}

type rewardfulReferral struct {
	Affiliate lenient.ID   `json:"affiliate"`
	Link      lenient.ID   `json:"link"`
	Coupon    lenient.ID   `json:"coupon"`
	Stripe    lenient.ID   `json:"stripe_customer_id"`
	State     lenient.Text `json:"conversion_state"`
	CreatedAt moment       `json:"created_at"`
	LeadAt    moment       `json:"became_lead_at"`
	Converted moment       `json:"became_conversion_at"`
	Customer  struct {
		ID    lenient.ID   `json:"id"`
		Name  lenient.Text `json:"name"`
		Email lenient.Text `json:"email"`
	} `json:"customer"`
}

// rows returns the customer. A referral without one is only a visitor.
func (r rewardfulReferral) rows(id string) []Row {
	ids := distinct(r.Stripe, r.Customer.ID)
	switch {
	case r.State == "visitor" || len(ids) == 0 && r.Customer.Email == "":
		return nil
	case r.Affiliate == "":
		return []Row{missing(KindCustomer, id, "affiliate")}
	}
	row := Row{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: string(r.Affiliate), ExternalIDs: ids, Email: string(r.Customer.Email), Name: string(r.Customer.Name),
		LinkID: string(r.Link), CouponID: string(r.Coupon), Status: Lead,
		LeadAt: r.LeadAt.or(r.CreatedAt, r.Converted).Time, ConvertedAt: r.Converted.known(),
		CreatedAt: r.CreatedAt.or(r.LeadAt, r.Converted).Time,
	}}
	if len(ids) > 0 {
		row.Customer.Processor = processorOf(lenient.ID(ids[0]))
	}
	if r.State == "conversion" || row.Customer.ConvertedAt != nil {
		row.Customer.Status = Paying
	}
	if r.State != "lead" && r.State != "conversion" {
		row.Problem = unknownStatus(r.State, row.Customer.Status)
	}
	return []Row{row}
}
