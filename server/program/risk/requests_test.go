package risk

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestPaidBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ landing, query, want string }{
		{"https://shop.example/", "", ""},
		{"https://shop.example/?gclid=x", "", "gclid"},
		{"https://shop.example/?a=b&fbclid=", "", "fbclid"},
		{"https://shop.example/?li_fat_id=1#top", "", "li_fat_id"},
		{"https://shop.example/click?clid=1&GCLID=2", "", ""},
		{"https://shop.example/?q=%zz", "msclkid=1", "msclkid"},
		{"https://shop.example/?a=b", "c=d&ttclid=1", "ttclid"},
	} {
		require.Equal(t, c.want, paidBy(c.landing, c.query), c)
	}
}

func TestSamePerson(t *testing.T) {
	t.Parallel()
	for _, same := range []string{"ann@x.example", "ANN@X.example", "ann+shop@x.example"} {
		require.True(t, SamePerson(same, "Ann@x.example"), same)
	}
	require.True(t, SamePerson("a.n.n+1@googlemail.com", "ann@gmail.com"))
	for _, other := range []string{"a.nn@x.example", "ann@y.example", "anna@x.example", "ann"} {
		require.False(t, SamePerson(other, "ann@x.example"), other)
	}
}

func TestForAll(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"gmail.com", "yahoo.co.in", "hotmail.es", "gmx.at", "privaterelay.appleid.com"} {
		require.True(t, forAll(domain), domain)
	}
	for _, domain := range []string{"studio.example", "mail.of.studio.example", "notgmail.com"} {
		require.False(t, forAll(domain), domain)
	}
}

// Findings on a customer's address are flagged once a cause.
func TestCheckCustomer(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	for email, want := range map[string]string{
		"":                         "",
		"eve@other.example":        "",
		"Ann+1@partners.example":   "self_referral",
		"eve@Partners.example":     "self_referral_domain",
		"eve@mailinator.com":       "disposable_email",
		"eve@notpartners.example":  "",
		"eve@sub.partners.example": "",
	} {
		var found []string
		_ = x.Do(func(ctx context.Context, u *work.Unit) error {
			k := db.Customer{ID: "cus_" + strings.Trim(email, "@"), OrgID: x.OrgID, ProgramID: x.Program.ID, Email: &email}
			if email == "" {
				k.Email = nil
			}
			require.NoError(t, CheckCustomer(ctx, u, ann, []string{ann.Email}, k, email))
			rows, err := u.Tx.Query(ctx, "SELECT kind FROM risk_flags")
			require.NoError(t, err)
			for rows.Next() {
				var kind string
				require.NoError(t, rows.Scan(&kind))
				found = append(found, kind)
			}
			return context.Canceled // each case begins without flags
		})
		require.Equal(t, want, strings.Join(found, " "), email)
	}
}
