package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"rail/server/inbound/lenient"
	"rail/server/locale/currency"
)

// AffiliateWP gives no customers, no payments of customers and no coupons, so that its referrals are commissions
// without a sale. It has no times of approval or rejection, and no currencies of payouts: those need the account's. It
// has no filter by the time of a change. Its API is at the merchant's own site.
var affiliatewpProduct = Product{
	Name: "affiliatewp", Title: "AffiliateWP", Params: []string{"ref"}, NeedsAccount: true, Open: openAffiliatewp,
}

type affiliatewp struct {
	client   *client
	currency string

	mu   sync.Mutex
	paid map[lenient.ID]moment // times of payouts
}

// openAffiliatewp returns the source. The key is the public key and the token of an administrator.
func openAffiliatewp(a Account) Source {
	_, site, ok := strings.Cut(a.ID, "://")
	if !ok {
		site = a.ID
	}
	public, token, _ := strings.Cut(a.Key, ":")
	address := "https://" + strings.TrimSuffix(site, "/") + "/wp-json/affwp/v1"
	code, _ := currency.Normal(a.Currency)
	return &affiliatewp{currency: code, client: newClient(a, address, 3, func(r *http.Request) {
		r.SetBasicAuth(public, token)
	})}
}

// Lists returns the lists.
func (s *affiliatewp) Lists() []List {
	return []List{
		wpList(s, "affiliates", KindPartner, wpAffiliate.rows),
		wpList(s, "referrals", KindCommission, s.referral),
		wpList(s, "payouts", KindPayout, s.payout),
	}
}

func wpList[T any](s *affiliatewp, name string, kind Kind, convert func(T, string) []Row) List {
	return numbered[T]{
		kind:    kind,
		convert: func(id string, item *T) []Row { return convert(*item, id) },
		fetch: func(ctx context.Context, page, size int) (answer, error) {
			if err := s.prepare(ctx); err != nil {
				return answer{}, err
			}
			return s.fetch(ctx, name, page, size)
		},
	}.list(name)
}

// fetch reads a page. An empty one is answered with 404 and a code such as no_referrals. A site may redirect to another
// address.
func (s *affiliatewp) fetch(ctx context.Context, name string, page, size int) (answer, error) {
	got, _, err := s.client.list(ctx, "/"+name, url.Values{
		"number": {strconv.Itoa(size)},
		"offset": {strconv.Itoa((page - 1) * size)},
		"order":  {"DESC"},
		"user":   {"1"},
	})
	if errors.Is(err, ErrRequest) && strings.Contains(err.Error(), `"no_`+name+`"`) {
		err = nil
	}
	if m := (*movedError)(nil); errors.As(err, &m) {
		site, _, _ := strings.Cut(m.to, "/wp-json")
		err = fmt.Errorf("%w; use the account %s", err, site)
	}
	return answer{listing: got, total: -1}, err
}

// prepare reads the times of payouts, once.
func (s *affiliatewp) prepare(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paid != nil {
		return nil
	}
	paid := map[lenient.ID]moment{}
	for at := (place{number: 1}); ; {
		got, err := s.fetch(ctx, "payouts", at.number, perPage)
		if err != nil {
			return err
		}
		for _, raw := range got.objects {
			var p wpPayout
			if _ = lenient.Into(raw, &p); p.Status == Paid {
				paid[lenient.ID(idOf(raw))] = p.Date
			}
		}
		next := at.next(got.listing)
		if next == "" {
			s.paid = paid
			return nil
		}
		at = placeOf(next)
	}
}

type wpAffiliate struct {
	Status       lenient.Text `json:"status"`
	PaymentEmail lenient.Text `json:"payment_email"`
	Registered   moment       `json:"date_registered"`
	User         wpUser       `json:"user"`
}

type wpUser struct {
	Login     lenient.Text `json:"user_login"`
	Email     lenient.Text `json:"user_email"`
	URL       address      `json:"user_url"`
	FirstName lenient.Text `json:"first_name"`
	LastName  lenient.Text `json:"last_name"`
	Data      *wpUser      `json:"data"` // older versions give the user within it
}

var wpAffiliateStates = map[lenient.Text]string{
	"active": Active, "inactive": Suspended, "pending": Pending, "rejected": Declined,
}

// rows returns the partner and its links: a site may use the number or the user name as the value.
func (a wpAffiliate) rows(id string) []Row {
	user := a.User
	if user.Data != nil && user.Login == "" {
		user.Login, user.Email, user.URL = user.Data.Login, user.Data.Email, user.Data.URL
	}
	all := []Row{{Kind: KindLink, ID: id, Link: &Link{
		PartnerID: id, Param: "ref", Value: id, CreatedAt: a.Registered.Time,
	}}}
	if login := string(user.Login); login != "" && login != id {
		all = append(all, Row{Kind: KindLink, ID: id + " " + login, Link: &Link{
			PartnerID: id, Param: "ref", Value: login, CreatedAt: a.Registered.Time,
		}})
	}
	email := firstOf(user.Email, a.PaymentEmail)
	if email == "" {
		return append(all, missing(KindPartner, id, "user_email"))
	}
	row := Row{Kind: KindPartner, ID: id, Partner: &Partner{
		Email: email, FirstName: string(user.FirstName), LastName: string(user.LastName), WebsiteURL: string(user.URL),
		Handle: string(user.Login), Status: wpAffiliateStates[a.Status], CreatedAt: a.Registered.Time,
	}}
	row.askAbout(a.Status)
	return append(all, row)
}

type wpReferral struct {
	AffiliateID lenient.ID   `json:"affiliate_id"`
	PayoutID    lenient.ID   `json:"payout_id"`
	Amount      number       `json:"amount"`
	Currency    lenient.Text `json:"currency"`
	Status      lenient.Text `json:"status"`
	Description lenient.Text `json:"description"`
	Date        moment       `json:"date"`
}

var wpReferralStates = map[lenient.Text]string{
	"pending": Open, "unpaid": Due, "paid": Paid, "rejected": Rejected, "failed": Rejected,
}

func (s *affiliatewp) referral(r wpReferral, id string) []Row {
	code, ok := currency.Normal(string(r.Currency))
	if r.Currency == "" {
		code, ok = s.currency, s.currency != ""
	}
	amount, readable := r.Amount.minor(code)
	status := wpReferralStates[r.Status]
	switch {
	case r.Status == "draft":
		return nil // of an order that is not complete
	case !ok:
		return []Row{missing(KindCommission, id, "currency")}
	case !readable:
		return []Row{missing(KindCommission, id, "amount")}
	case r.AffiliateID == "":
		return []Row{missing(KindCommission, id, "affiliate_id")}
	case r.Date.IsZero():
		return []Row{missing(KindCommission, id, "date")}
	case status == "":
		return []Row{refused(KindCommission, id, UnknownStatus, "status %q", r.Status)}
	}
	k := &Commission{
		PartnerID: string(r.AffiliateID), AmountMinor: amount, Currency: code, Status: status,
		Reason: string(r.Description), CreatedAt: r.Date.Time,
	}
	if status == Paid {
		at, ok := s.paid[r.PayoutID]
		k.PaidAt = at.or(r.Date).known()
		if ok && s.currency != "" { // else the payout is not imported
			k.PayoutID = string(r.PayoutID)
		}
	}
	return []Row{{Kind: KindCommission, ID: id, Commission: k}}
}

type wpPayout struct {
	AffiliateID lenient.ID   `json:"affiliate_id"`
	Amount      number       `json:"amount"`
	Status      lenient.Text `json:"status"`
	Method      lenient.Text `json:"payout_method"`
	Date        moment       `json:"date"`
	Referrals   wpIDs        `json:"referrals"`
}

// wpIDs are ids in a list, or in a text with commas.
type wpIDs []string

// UnmarshalJSON reads either form.
func (l *wpIDs) UnmarshalJSON(raw []byte) error {
	var listed []lenient.ID
	var text lenient.Text
	if raw[0] == '[' {
		_ = json.Unmarshal(raw, &listed)
		*l = wpIDs(textsOf(listed))
		return nil
	}
	if _ = text.UnmarshalJSON(raw); text != "" {
		*l = strings.Split(strings.ReplaceAll(string(text), " ", ""), ",")
	}
	return nil
}

// textsOf returns ids that are not empty.
func textsOf(ids []lenient.ID) []string {
	var all []string
	for _, id := range ids {
		if id != "" {
			all = append(all, string(id))
		}
	}
	return all
}

func (s *affiliatewp) payout(p wpPayout, id string) []Row {
	amount, readable := p.Amount.minor(s.currency)
	switch {
	case s.currency == "":
		return []Row{missing(KindPayout, id, "currency")}
	case !readable:
		return []Row{missing(KindPayout, id, "amount")}
	case p.AffiliateID == "":
		return []Row{missing(KindPayout, id, "affiliate_id")}
	case p.Status != "paid" && p.Status != "failed" && p.Status != "processing":
		return []Row{refused(KindPayout, id, UnknownStatus, "status %q", p.Status)}
	}
	payout := &Payout{
		PartnerID: string(p.AffiliateID), AmountMinor: amount, Currency: s.currency, Status: string(p.Status),
		Method: string(p.Method), CreatedAt: p.Date.Time, CommissionIDs: p.Referrals,
	}
	if p.Status == "paid" {
		payout.PaidAt = p.Date.known()
	}
	return []Row{{Kind: KindPayout, ID: id, Payout: payout}}
}
