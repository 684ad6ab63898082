package console

import (
	"net/url"
	"slices"

	"rail/server/http/site"
)

var designRoutes = map[string]route{"GET /console/design": {Do: design, Open: true}}

// designData holds examples of all parts of pages.
type designData struct {
	Icons, Badges, Names, Marks []string
	Colours                     []string // names of custom properties of the style sheet
	Tiles                       []site.Tile
	Chart, Bars                 site.Chart
	Ranks                       site.Ranks
	Tabs                        site.Tabs
	Steps                       site.Steps
	Inputs                      []site.Input
	Filters                     site.Filters
	Confirm                     site.Confirm
	History                     []site.Moment
	Nothing                     site.Nothing
}

// design shows all parts of pages, on a server whose address is this machine alone.
func design(v *visit) error {
	u, err := url.Parse(v.console.BaseURL)
	if err != nil || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		return site.NotFound()
	}
	figures := exampleFigures(v)
	areas := figures
	areas.Partial = true
	return v.show(sheet{"design", "/design", "Design", designData{
		Icons:  site.Icons(),
		Badges: []string{"active", "pending", "due", "paid", "failed", "suspended", "refunded", "archived"},
		Names:  []string{"Ada Lovelace", "Grace Hopper", "Kenji Holm", "Zoë", "Mei Farouk", "Tariq Wright"},
		Marks:  []string{"stripe", "paddle", "chargebee", "lemonsqueezy", "polar", "generic", "paypal", "wise"},
		Colours: []string{
			"ground", "card", "text", "soft", "line", "edge", "field", "main", "main-soft", "good", "good-soft", "warn",
			"warn-soft", "bad", "bad-soft",
		},
		Tiles:   exampleTiles(v),
		Chart:   site.AreaChart(areas),
		Bars:    site.BarChart(figures),
		Ranks:   site.RankChart(figures),
		Tabs:    site.Tabs{Label: "Parts", Links: []site.Link{{Path: "#", Name: "Overview", Current: true}, {Path: "#", Name: "Open", Count: 3}}},
		Steps:   site.Steps{Label: "Steps", At: 1, Links: []site.Link{{Path: "#", Name: "Period"}, {Name: "Check"}, {Name: "Pay"}}},
		Inputs:  exampleInputs(),
		Filters: site.Filters{Label: "Filter", Inputs: exampleInputs()[:2], Chips: []site.Chip{{Text: "State: active", Without: "#"}}},
		Confirm: site.Confirm{
			Action: "/console/design", Button: "Pay 12 partners", Back: "#", Points: []string{"12 partners get a payout."},
			Sum: site.Sum{
				Lines: []site.Part{{Name: "Commissions", Aside: "204 of them", Text: "1,850.20 USD"}},
				Total: site.Part{Name: "To pay", Text: "1,830.20 USD"},
			},
		},
		History: []site.Moment{
			{At: v.Now, Title: "A payout of 120.00 USD was sent", Who: "Ada Lovelace", Kind: "good"},
			{At: v.Now.Days(-1), Title: "A commission was rejected", Text: "Paid search on our name.", Kind: "bad"},
			{At: v.Now.Days(-2), Title: "Joined"},
		},
		Nothing: site.Nothing{
			Title: "No coupons yet", Text: "A coupon credits its partner without a click.",
			Link: site.Link{Path: "#", Name: "Add a coupon"},
		},
	}})
}

// exampleFigures are made-up figures of two weeks.
func exampleFigures(v *visit) site.Figures {
	f := site.Figures{Caption: "Revenue over time", Head: "Day", Columns: []site.Column{
		{Name: "Revenue", Text: v.brief(measures[0], "USD"), Drawn: true},
		{Name: "Period before", Text: v.brief(measures[0], "USD"), Drawn: true, Style: site.LineBefore},
	}}
	for i := range int64(14) {
		day := v.Locale.DayMonth(v.Today().AddDate(0, 0, int(i)-13))
		f.Rows = append(f.Rows, site.Row{Name: day, Short: day, Values: []int64{i * i % 11 * 9_000, i * 7 % 5 * 12_000}})
	}
	return f
}

func exampleTiles(v *visit) []site.Tile {
	tile := site.NewTile("Clicks", 12_345, 11_020, v.Locale.Count)
	tile.Spark = site.NewSpark([]int64{3, 5, 4, 8, 6, 9, 12})
	return []site.Tile{
		tile, site.NewTile("Customers", 321, 402, v.Locale.Count),
		{Name: "Owed to partners", Text: v.Locale.Brief(334_100, "USD"), Change: site.Change{Words: "due to 41 partners"}},
	}
}

func exampleInputs() []site.Input {
	groups := []site.Option{{Value: "gold", Label: "Gold", Hint: "35 % of every payment"}, {Value: "silver", Label: "Silver"}}
	return []site.Input{
		{Name: "q", ID: "design_q", Label: "Search", Type: "search"},
		site.Input{Name: "group", ID: "design_group", Label: "Group", Type: "select"}.Of(groups),
		{Name: "site", ID: "design_site", Label: "Website", Type: "url", Value: "acme", Error: "Enter an address, such as https://acme.example."},
		{Name: "amount", ID: "design_amount", Label: "Amount", Type: "money", Currency: "USD", Value: "10.00"},
		{Name: "note", ID: "design_note", Label: "Note", Type: "textarea", Optional: true, Hint: "Only your team sees it."},
		site.Input{Name: "kind", ID: "design_kind", Label: "Kind", Type: "radios", Value: "gold"}.Of(groups),
		site.Input{Name: "boxes_", ID: "design_boxes", Label: "Emails", Type: "boxes"}.Of(groups[:1]),
		{Name: "on", ID: "design_on", Label: "Block self-referrals", Type: "check"},
	}
}
