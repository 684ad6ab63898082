package source

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

const firstPromoterAddress = "https://api.firstpromoter.com/api/v2/company"

// FirstPromoter gives amounts in cents of the account's currency, which it does not name. It does not give holding
// periods, refunded parts (a refund is a negative commission), the time of a payment in its commission, or the code of
// a customer who came by one. It has no filter by the time of a change, so that each run reads everything.
var firstPromoterProduct = Product{
	Name: "firstpromoter", Title: "FirstPromoter", Address: firstPromoterAddress,
	Params: []string{"fpr", "via", "fp_ref", "deal", "ref", "_from", "_by", "_go"}, NeedsAccount: true,
	Open: openFirstPromoter,
}

type firstPromoter struct {
	client   *client
	currency string

	mu     sync.Mutex
	owners map[lenient.ID]string // promoters by the ids of their campaigns
}

// openFirstPromoter returns the source. The API allows 400 requests a minute.
func openFirstPromoter(a Account) Source {
	code, _ := currency.Normal(a.Currency)
	return &firstPromoter{currency: code, client: newClient(a, firstPromoterAddress, 6.5, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+a.Key)
		r.Header.Set("ACCOUNT-ID", a.ID)
	})}
}

// Lists returns the lists. Archived promoters are a list apart.
func (s *firstPromoter) Lists() []List {
	archived := url.Values{"filters[archived]": {"true"}}
	newest := url.Values{"sorting[created_at]": {"desc"}}
	payouts := firstPromoterList(s, "/payouts", KindPayout, nil, s.payout)
	return []List{
		firstPromoterList(s, "/promoters", KindPartner, nil, fpPromoter.rows).list("promoters"),
		firstPromoterList(s, "/promoters", KindPartner, archived, fpPromoter.rows).list("archived promoters"),
		{Name: "promo codes", Read: s.codes},
		firstPromoterList(s, "/referrals", KindCustomer, nil, fpReferral.rows).list("referrals"),
		firstPromoterList(s, "/commissions", KindCommission, newest, s.commission).list("commissions"),
		{Name: "payouts", Read: func(ctx context.Context, cursor string) (Page, error) {
			page, err := payouts.read(ctx, cursor)
			for i := 0; i < len(page.Rows) && err == nil; i++ {
				err = s.addCommissions(ctx, page.Rows[i])
			}
			return page, err
		}},
	}
}

func firstPromoterList[T any](
	s *firstPromoter, path string, kind Kind, query url.Values, convert func(T, string) []Row,
) numbered[T] {
	return numbered[T]{
		kind:    kind,
		convert: func(id string, item *T) []Row { return convert(*item, id) },
		fetch: func(ctx context.Context, page, size int) (answer, error) {
			got, _, err := s.client.list(ctx, path, with(query, "page", strconv.Itoa(page), "per_page", strconv.Itoa(size)))
			return answer{listing: got, total: -1}, err
		},
	}
}

type fpPromoter struct {
	Email   lenient.Text `json:"email"`
	Name    lenient.Text `json:"name"`
	CustID  lenient.ID   `json:"cust_id"`
	Profile struct {
		FirstName   lenient.Text `json:"first_name"`
		LastName    lenient.Text `json:"last_name"`
		Website     address      `json:"website"`
		CompanyName lenient.Text `json:"company_name"`
		Country     lenient.Text `json:"country"`
	} `json:"profile"`
	JoinedAt   moment                   `json:"joined_at"`
	CreatedAt  moment                   `json:"created_at"`
	ArchivedAt moment                   `json:"archived_at"`
	Campaigns  lenient.List[fpCampaign] `json:"promoter_campaigns"`
}

// fpCampaign is the membership of a promoter in a campaign.
type fpCampaign struct {
	ID         lenient.ID   `json:"id"`
	PromoterID lenient.ID   `json:"promoter_id"`
	State      lenient.Text `json:"state"`
	CreatedAt  moment       `json:"created_at"`
	Campaign   struct {
		Name lenient.Text `json:"name"`
	} `json:"campaign"`
	Promoter lenient.ID `json:"promoter"`
	RefToken lenient.ID `json:"ref_token"`
	RefLink  address    `json:"ref_link"`
}

// owner returns the id of the promoter.
func (c fpCampaign) owner() string {
	return firstOf(lenient.Text(c.PromoterID), lenient.Text(c.Promoter))
}

var fpPromoterStates = map[lenient.Text]string{
	"accepted": Active, "pending": Pending, "not_set": Pending, "rejected": Declined, "blocked": Suspended,
	"inactive": Suspended,
}

// rows returns the partner, and a link for each of its campaigns.
func (p fpPromoter) rows(id string) []Row {
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: string(p.Email), FirstName: string(p.Profile.FirstName), LastName: string(p.Profile.LastName),
		CompanyName: string(p.Profile.CompanyName), WebsiteURL: string(p.Profile.Website),
		CountryCode: string(p.Profile.Country), ExternalID: string(p.CustID), CreatedAt: p.JoinedAt.or(p.CreatedAt).Time,
	}}
	if p.Profile.FirstName == "" && p.Profile.LastName == "" {
		row.Partner.FirstName, row.Partner.LastName, _ = strings.Cut(string(p.Name), " ")
	}
	p.state(&row)
	if p.Email == "" {
		row = missing(KindPartner, id, "email")
	}
	all := []Row{row}
	for _, c := range p.Campaigns {
		switch {
		case c.RefToken == "": // a campaign without links
		case c.ID == "":
			all = append(all, missing(KindLink, id+" "+string(c.RefToken), "id"))
		default:
			param, page := splitLink(c.RefLink, string(c.RefToken), "fpr")
			all = append(all, Row{Kind: KindLink, ID: string(c.ID), Link: &Link{
				PartnerID: id, Param: param, Value: string(c.RefToken), URL: page,
				CreatedAt: c.CreatedAt.or(p.JoinedAt, p.CreatedAt).Time,
			}})
		}
	}
	return all
}

// state sets the best status in a campaign, and the group of the first campaign with it.
func (p fpPromoter) state(row *Row) {
	best := []string{Active, Pending, Suspended, Declined}
	row.Partner.Status = Pending
	for i, c := range p.Campaigns {
		status := fpPromoterStates[c.State]
		if status == "" {
			row.Problem, status = unknownStatus(c.State, Pending), Pending
		}
		if i == 0 || slices.Index(best, status) < slices.Index(best, row.Partner.Status) {
			row.Partner.Status, row.Partner.Group = status, string(c.Campaign.Name)
		}
	}
	if !p.ArchivedAt.IsZero() {
		row.Partner.Status = Suspended
	}
}

type fpCode struct {
	Code       lenient.ID   `json:"code"`
	ExtID      lenient.ID   `json:"ext_id"`
	Campaign   lenient.ID   `json:"promoter_campaign_id"`
	ArchivedAt lenient.Text `json:"archived_at"`
	CreatedAt  moment       `json:"created_at"`
}

// codes reads the promo codes. They name only the campaign of their promoter.
func (s *firstPromoter) codes(ctx context.Context, cursor string) (Page, error) {
	owners, err := s.promoters(ctx)
	if err != nil {
		return Page{}, err
	}
	return firstPromoterList(s, "/promo_codes", KindCoupon, nil, func(c fpCode, id string) []Row {
		if c.Code == "" || owners[c.Campaign] == "" {
			return []Row{missing(KindCoupon, id, "code or promoter_campaign_id")}
		}
		return []Row{{Kind: KindCoupon, ID: id, Coupon: &Coupon{
			PartnerID: owners[c.Campaign], Code: string(c.Code), ExternalID: string(c.ExtID), Active: c.ArchivedAt == "",
			CreatedAt: c.CreatedAt.Time,
		}}}
	}).read(ctx, cursor)
}

// promoters returns the promoters by the ids of their campaigns. It reads them once.
func (s *firstPromoter) promoters(ctx context.Context) (map[lenient.ID]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners != nil {
		return s.owners, nil
	}
	owners := map[lenient.ID]string{}
	for _, query := range []url.Values{nil, {"filters[archived]": {"true"}}} {
		list := firstPromoterList(s, "/promoters", KindPartner, query, func(p fpPromoter, id string) []Row {
			for _, c := range p.Campaigns {
				owners[c.ID] = id
			}
			return nil
		})
		for cursor, more := "", true; more; more = cursor != "" {
			page, err := list.read(ctx, cursor)
			if err != nil {
				return nil, err
			}
			cursor = page.Next
		}
	}
	delete(owners, "")
	s.owners = owners
	return owners, nil
}

type fpReferral struct {
	Email     lenient.Text `json:"email"`
	UID       lenient.ID   `json:"uid"`
	State     lenient.Text `json:"state"`
	Source    lenient.Text `json:"entry_source"`
	FirstName lenient.Text `json:"first_name"`
	LastName  lenient.Text `json:"last_name"`
	Username  lenient.Text `json:"username"`
	CreatedAt moment       `json:"created_at"`
	Since     moment       `json:"customer_since"`
	Campaign  fpCampaign   `json:"promoter_campaign"`
}

var fpReferralStates = map[lenient.Text]string{
	"subscribed": Lead, "signup": Lead, "pending": Lead, "active": Paying, "cancelled": Cancelled, "refunded": Cancelled,
}

// rows returns the customer. A referral that was denied, or moved to another promoter, earns nothing.
func (r fpReferral) rows(id string) []Row {
	partner := r.Campaign.owner()
	switch {
	case r.State == "denied" || r.State == "moved":
		return []Row{refused(KindCustomer, id, UnknownStatus, "a referral with the status %q is no customer", r.State)}
	case partner == "" || r.UID == "" && r.Email == "":
		return []Row{missing(KindCustomer, id, "promoter_campaign, or uid and email")}
	}
	row := Row{Kind: KindCustomer, ID: id, Customer: &Customer{
		PartnerID: partner, ExternalIDs: distinct(r.UID), Processor: processorOf(r.UID), Email: string(r.Email),
		Name:   firstOf(lenient.Text(strings.TrimSpace(string(r.FirstName)+" "+string(r.LastName))), r.Username),
		LinkID: string(r.Campaign.ID), Status: fpReferralStates[r.State], LeadAt: r.CreatedAt.or(r.Since).Time,
		ConvertedAt: r.Since.known(), CreatedAt: r.CreatedAt.or(r.Since).Time,
	}}
	if r.Source == "coupon" {
		row.Customer.LinkID = ""
	}
	if row.Customer.Status == "" {
		row.Customer.Status = Lead
		if row.Customer.ConvertedAt != nil {
			row.Customer.Status = Paying
		}
		row.Problem = unknownStatus(r.State, row.Customer.Status)
	}
	return []Row{row}
}
