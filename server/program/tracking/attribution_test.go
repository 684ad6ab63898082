package tracking

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/problem"
)

func TestRouteIsOne(t *testing.T) {
	t.Parallel()
	value := new("x")
	for _, r := range []Route{{PartnerID: value}, {ClickID: value}, {CouponCode: value}} {
		require.NoError(t, r.Validate())
	}
	for param, r := range map[string]Route{
		"partner_id":  {},
		"click_id":    {PartnerID: value, ClickID: value},
		"coupon_code": {ClickID: value, CouponCode: value},
	} {
		p, ok := errors.AsType[*problem.Error](r.Validate())
		require.True(t, ok)
		require.Equal(t, param, p.Param)
	}
}

// tracked_by is the first of click, coupon and name; the link is the referral's, which the visitor followed
// first.
func TestApply(t *testing.T) {
	t.Parallel()
	a := Attribution{Partner: db.Partner{ID: "part_1"}}
	apply := func() (k db.Customer) {
		a.Apply(&k)
		return k
	}
	require.Equal(t, db.Customer{PartnerID: new("part_1"), TrackedBy: "api"}, apply())
	a.CouponID = new("cpn_1")
	require.Equal(t, db.Customer{PartnerID: new("part_1"), TrackedBy: "coupon", CouponID: a.CouponID}, apply())
	a.CouponID, a.Click = nil, &db.Click{
		ID: "clk_1", LinkID: new("lnk_last"), Country: new("DE"), Source: new("mail"), Medium: new("email"),
		Campaign: new("spring"), Referrer: new("blog.example"), Device: new("mobile"),
	}
	clicked := db.Customer{
		PartnerID: new("part_1"), TrackedBy: "link", ClickID: new("clk_1"), LinkID: new("lnk_last"),
		Country: new("DE"), Source: new("mail"), Medium: new("email"), Campaign: new("spring"),
		Referrer: new("blog.example"), Device: new("mobile"),
	}
	require.Equal(t, clicked, apply())
	a.Referral = &db.Referral{ID: "ref_1", LinkID: new("lnk_first")}
	clicked.ReferralID, clicked.LinkID = new("ref_1"), new("lnk_first")
	require.Equal(t, clicked, apply())
	require.Equal(t, new("DE"), a.Country())

	// A processor's event may name a referral; its last click gives the origin.
	a = Attribution{Partner: a.Partner, Referral: a.Referral, origin: &db.Click{ID: "clk_2", Source: new("ads")}}
	named := apply()
	require.Equal(t, new("ads"), named.Source)
	require.Nil(t, named.ClickID)
	// A customer who gets another route has its origin.
	k := clicked
	Attribution{Partner: a.Partner}.Apply(&k)
	require.Nil(t, k.Source)
	require.Nil(t, k.Device)
}
