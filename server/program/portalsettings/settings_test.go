package portalsettings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
)

// An applicant is approved without a review if every list includes them; an empty list includes all, and without
// a rule no one is approved.
func TestApproves(t *testing.T) {
	t.Parallel()
	all := api.AutoApproval{GroupIds: []string{"grp_1"}, Countries: []string{"DE"}, EmailDomains: []string{"shop.example"}}
	for name, c := range map[string]struct {
		rule           *api.AutoApproval
		group, country *string
		email          string
		want           bool
	}{
		"no rule":         {nil, new("grp_1"), new("DE"), "a@shop.example", false},
		"empty lists":     {&api.AutoApproval{}, nil, nil, "a@b.example", true},
		"everything":      {&all, new("grp_1"), new("de"), "a@Shop.Example", true},
		"another group":   {&all, new("grp_2"), new("DE"), "a@shop.example", false},
		"no group":        {&all, nil, new("DE"), "a@shop.example", false},
		"another country": {&all, new("grp_1"), new("FR"), "a@shop.example", false},
		"no country":      {&all, new("grp_1"), nil, "a@shop.example", false},
		"a domain below":  {&all, new("grp_1"), new("DE"), "a@mail.shop.example", false},
		"a domain's end":  {&all, new("grp_1"), new("DE"), "a@myshop.example", false},
	} {
		require.Equal(t, c.want, Settings{AutoApprove: c.rule}.Approves(c.group, c.country, c.email), name)
	}
}
