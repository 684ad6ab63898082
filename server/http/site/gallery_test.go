package site_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
	"rail/server/http/site"
	"rail/server/locale"
)

// day is the present of the gallery.
var day = clock.At(time.Date(2026, 11, 20, 22, 30, 0, 0, time.UTC))

// gallery is the pages that show every part, by name.
var gallery = map[string]any{"list": listPage(), "panel": panelPage(), "form": formPage(), "confirm": confirmPage()}

// M are the values of a page.
type M = map[string]any

// open serves the gallery. A posted form gets its values back.
func open(t *testing.T) string {
	t.Helper()
	pages := site.Source{Files: os.DirFS("."), Folder: "testdata"}.Parse()
	e := echo.New()
	site.Register(e)
	e.GET("/favicon.ico", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	e.GET("/found", func(c echo.Context) error {
		name := c.QueryParam("q") + " Duarte"
		return c.JSON(http.StatusOK, []site.Found{{Value: "ines@duarte.example", Label: name}})
	})
	e.GET("/:name", func(c echo.Context) error {
		site.SetHeaders(c.Response().Header(), "connect-src 'self'")
		name := c.Param("name")
		layout := site.Layout{
			Title: name, Name: "Northwind Notes", Home: "/list", Menu: menu("/" + name),
			Account: site.Account{Name: "Ada Lovelace", SignOut: "/sign-out"},
		}
		if name == "list" {
			layout.Flash = "Three partners are in the group Gold now."
		}
		return pages.Write(c, locale.English, http.StatusOK, name, M{"Layout": layout, "Data": gallery[name]})
	})
	e.POST("/:name", func(c echo.Context) error {
		sent, err := c.FormParams()
		if err != nil {
			return err
		}
		return c.HTML(http.StatusOK, "Sent: "+sent.Encode())
	})
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

func menu(here string) site.Menu {
	m := site.Menu{Label: "Menu", Groups: []site.Group{
		{Links: []site.Link{{Path: "/home", Name: "Home"}, {Path: "/setup", Name: "Set-up", Count: 2}}},
		{Name: "People", Links: []site.Link{
			{Path: "/list", Name: "Partners"}, {Path: "/panel", Name: "Applications", Count: 12},
		}},
		{Name: "Money", Links: []site.Link{
			{Path: "/sales", Name: "Sales"}, {Path: "/commissions", Name: "Commissions"}, {Path: "/confirm", Name: "Payouts"},
		}},
		{Name: "Program", Links: []site.Link{{Path: "/form", Name: "Settings"}}},
	}}
	for _, g := range m.Groups {
		for i := range g.Links {
			g.Links[i].Current = g.Links[i].Path == here
		}
	}
	return m
}

type row struct {
	ID, Name, Status, Group string
	Since                   clock.Time
	Customers, Earned       int64
}

func listPage() M {
	statuses := []site.Option{{Value: "", Label: "Any"}, {Value: "active", Label: "Active"}, {Value: "suspended", Label: "Suspended"}}
	var rows []row
	for i, name := range []string{
		"Ines Duarte", "Bruno Castelo-Branco de Albuquerque", "Carolina", "The Notes Review", "Émile Zola", "山田太郎", "Grace Hopper", "a-very-long-handle-without-any-space-in-it",
	} {
		rows = append(rows, row{
			ID: fmt.Sprint("p", i), Name: name, Status: []string{"active", "pending", "active", "suspended"}[i%4], Group: "Gold",
			Since: day.Days(int64(-40 * i)), Customers: int64(1234 / (i + 1)), Earned: int64(9_876_543 / (i + 1)),
		})
	}
	return M{
		"Rows":    rows,
		"Listing": site.Listing{Older: "/list?after=p7", Newer: "/list?before=p0"},
		"Sorts": []site.Sort{
			{Name: "Since", Path: "/list?order=since"}, {Name: "Customers", Path: "/list?order=customers", Number: true},
			{Name: "Earned", Path: "/list?order=-earned", Number: true, Order: "descending"},
		},
		"Filters": site.Filters{
			Path: "/list", Label: "Filter partners", Clear: "/list", Hidden: []site.Hidden{{Name: "order", Value: "earned"}},
			Inputs: []site.Input{
				{ID: "search", Name: "search", Label: "Name, email or handle", Type: "search", Most: 200},
				{ID: "status", Name: "status", Label: "Status", Type: "select", Value: "active", Options: statuses, Filters: true},
				{ID: "group", Name: "group", Label: "Group", Type: "select", Options: statuses[:1], Filters: true},
				{ID: "from", Name: "from", Label: "Since", Type: "date"}, {ID: "to", Name: "to", Label: "Until", Type: "date"},
			},
			Chips: []site.Chip{{Text: "Status: active", Without: "/list"}, {Text: "Since 1 Nov 2026", Without: "/list"}},
		},
		"Bulk": site.Bulk{What: "partners", Actions: []site.Action{
			{Label: "Put into a group", Name: "do", Value: "group"}, {Label: "Mail", Name: "do", Value: "mail"},
			{Label: "Suspend", Name: "do", Value: "suspend", Danger: true, Confirm: "Suspend them?"},
		}},
	}
}

func panelPage() M {
	dollars := func(v int64) string { return locale.English.Money(v, "USD") }
	days := site.Figures{Caption: "Clicks and customers by day", Head: "Day", Columns: []site.Column{
		{Name: "Clicks", Text: locale.English.Count, Drawn: true}, {Name: "Customers", Text: locale.English.Count, Drawn: true},
	}}
	for i := range int64(30) {
		at := day.Days(i - 29).Format("2 Jan")
		days.Rows = append(days.Rows, site.Row{Name: at, Short: at, Values: []int64{400 + 37*(i*i%11) + 9*i, 40 + i*i%17*3}})
	}
	months := site.Figures{Caption: "Commissions by month", Head: "Month", Columns: []site.Column{
		{Name: "Commissions", Text: dollars, Drawn: true}, {Name: "Customers", Text: locale.English.Count},
	}}
	for i := range int64(12) {
		at := time.Month(i + 1).String()
		months.Rows = append(months.Rows, site.Row{Name: at, Short: at[:3], Values: []int64{(i*i%7 - 1) * 41_250, i}})
	}
	top := site.Figures{Caption: "Top partners", Head: "Partner", Columns: []site.Column{
		{Name: "Commissions", Text: dollars, Drawn: true}, {Name: "Customers", Text: locale.English.Count},
	}}
	for i, name := range []string{"Ines Duarte", "Bruno Castelo-Branco de Albuquerque", "Carolina", "Grace Hopper"} {
		top.Rows = append(top.Rows, site.Row{Name: name, Path: "/panel", Values: []int64{int64(98_765 / (i + 1) * (1 - i%3)), int64(40 - i)}})
	}
	return M{
		"Top": site.RankChart(top),
		"Tabs": site.Tabs{Label: "Parts of the partner", Links: []site.Link{
			{Path: "/panel", Name: "Overview", Current: true}, {Path: "/panel?of=links", Name: "Links"},
			{Path: "/panel?of=commissions", Name: "Commissions", Count: 3}, {Path: "/panel?of=payouts", Name: "Payouts"},
			{Path: "/panel?of=notes", Name: "Notes"},
		}},
		"Tiles": []site.Tile{
			site.NewTile("Clicks", 12_345, 11_020, locale.English.Count), site.NewTile("Customers", 321, 402, locale.English.Count),
			site.NewTile("Revenue", 12_345_678, 9_000_000, dollars), site.NewTile("Commissions", 0, 0, dollars),
		},
		"Lines": site.AreaChart(days), "Bars": site.BarChart(months), "Seen": day,
		"Tag": `<script async src="https://rail.northwind.example/rail-0123456789abcdef.js" data-rail="pk_live_0123456789"></script>`,
		"History": []site.Moment{
			{At: day, Title: "A payout of 123.45 USD was sent", Who: "Grace Hopper", Kind: "good"},
			{At: day.Days(-1), Title: "Flagged: bought through the own link", Text: "Two customers share the partner’s address.", Kind: "warn"},
			{At: day.Days(-2), Title: "A commission was rejected", Text: "“Paid search on our name.”", Who: "Ada Lovelace", Kind: "bad"},
			{At: day.Days(-30), Title: "Joined", Who: "by the public page"},
		},
		"Nothing": site.Nothing{
			Title: "No coupons yet", Text: "A coupon gives sales to its partner that come without a click.",
			Link: site.Link{Path: "/form", Name: "Make a coupon"},
		},
	}
}

func formPage() M {
	form := site.Form{
		Values: map[string]string{"name": "Ines", "site": "duarte", "fee": "1,50"},
		Errors: site.Faults{"site": "This must be an absolute http or https URL.", "how": "Choose one."},
	}
	groups := []site.Option{{Value: "gold", Label: "Gold"}, {Value: "silver", Label: "Silver"}}
	rewards := []site.Option{
		{Value: "percent", Label: "A share of each payment", Hint: "Such as 20 % of the first twelve."},
		{Value: "flat", Label: "A fixed amount", Hint: "Such as 25.00 USD for each customer."},
	}
	mails := []site.Option{
		{Value: "sale", Label: "for each sale"}, {Value: "payout", Label: "for each payout", Hint: "With its file."},
	}
	in := func(name, label, kind string) site.Input {
		return site.NewInput(form, name, label, "", kind, "off", 255)
	}
	return M{
		"Form": form,
		"Pairs": []site.Input{
			in("name", "Name", "text"), in("site", "Website", "url"), in("email", "Email", "email").Says("Where mails go."),
			in("group", "Group", "select").Of(groups), in("since", "Since", "date"), in("fee", "Bonus", "money").In("EUR"),
			in("partner", "Partner", "lookup").From("/found").Says("A name, an email or a handle."), in("days", "Days", "number").Maybe(),
			in("colour", "Colour", "color"), in("file", "Result of the provider", "file").Says("CSV, at most 1 MB."),
		},
		"Inputs": []site.Input{
			in("note", "Note", "textarea").Maybe(), in("reward", "What is paid", "radios").Of(site.Choose(rewards, "flat")),
			in("how", "How it is paid", "radios").Of(rewards).As("how_paid"), in("mails", "Mail me", "boxes").Of(site.Choose(mails, "sale")),
			in("open", "Whoever asks becomes a partner at once", "check").Says("Otherwise you decide on each."),
		},
	}
}

func confirmPage() M {
	return M{
		"Checks": []M{
			{"Name": "The script is on your site", "Text": "It was loaded by northwind.example.", "Done": true},
			{"Name": "A payment processor is connected", "Text": "Rail hears of payments and refunds from it.", "Done": false},
		},
		"Steps": site.Steps{Label: "Steps of the run", At: 2, Links: []site.Link{
			{Path: "/list", Name: "Period"}, {Path: "/list", Name: "Who gets what"}, {Name: "Files"}, {Name: "Mark as paid"},
		}},
		"Pay": site.Confirm{
			Action: "/confirm", Button: "Make the files", Back: "/list", Points: []string{"38 are paid by PayPal, 3 by Wise.", "4 partners wait: they have no payout method."},
			Sum: site.Sum{Lines: []site.Part{
				{Name: "Commissions", Aside: "1,204 of them", Text: "12,500.00 USD"}, {Name: "Taken back", Aside: "17", Text: "−154.33 USD"},
			}, Total: site.Part{Name: "To pay", Text: "12,345.67 USD"}},
			Hidden: []site.Hidden{{Name: "form_token", Value: "x"}},
		},
		"Ban": site.Confirm{
			Action: "/confirm", Button: "Ban the partner", Back: "/panel", Danger: true,
			Points: []string{"Links stop at once.", "The partner is told by mail."},
			Inputs: []site.Input{{ID: "reason", Name: "reason", Label: "Reason", Type: "text", Most: 255}},
			Sum:    site.Sum{Total: site.Part{Name: "Rejected", Aside: "9 open commissions", Text: "321.00 USD"}},
		},
		"Door": []site.Input{
			{ID: "email", Name: "email", Label: "Email", Type: "email", Auto: "username"},
			{ID: "password", Name: "password", Label: "Password", Type: "password", Auto: "current-password"},
		},
	}
}

// TestGallery checks the accessibility of every part.
func TestGallery(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	b.KeepsFocus()
	b.Accessible("/list", "/panel", "/form", "/confirm")
	b.Silent()
}

// TestMenuFolds: on a phone the menu opens at a touch, on a desk it is open.
func TestMenuFolds(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	const seen = "document.querySelector('.side a').checkVisibility({ contentVisibilityAuto: true })"
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.Open("/list")
	require.False(t, browsertest.Eval[bool](b, seen))
	b.Do(chromedp.Click(chromedp.CSS(".side summary")))
	require.True(t, browsertest.Eval[bool](b, seen))
	b.Picture("menu-390-light")
	require.Zero(t, browsertest.Eval[int](b, "[...document.querySelectorAll('.side a')].filter(a => a.offsetHeight < 40).length"))
	b.Do(chromedp.EmulateViewport(1280, 900))
	b.Open("/list")
	require.True(t, browsertest.Eval[bool](b, seen))
	require.True(t, browsertest.Eval[bool](b, "(a => { a.focus(); return document.activeElement === a })(document.querySelector('.side a'))"))
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Click(chromedp.CSS(".side summary")))
	require.Empty(t, b.Violations())
}

// ticked returns the text of the bar below a table.
const ticked = "document.querySelector('.bulk-what').textContent + " +
	"[...document.querySelectorAll('[data-tick]')].map(e => e.checked ? 'x' : '.').join('')"

// TestTicks ticks rows one by one, in a run, and all; without scripts the form is the
// same but for the count.
func TestTicks(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	click := func(selector string, keys string) {
		browsertest.Eval[bool](b, `document.querySelector('`+selector+`').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true`+keys+` }))`)
	}
	row := func(n int) string { return fmt.Sprintf("tbody tr:nth-child(%d) [data-tick]", n) }
	b.Open("/list")
	require.Equal(t, "0 selected........", browsertest.Eval[string](b, ticked))
	require.True(t, browsertest.Eval[bool](b, "[...document.querySelectorAll('.bulk button')].every(e => e.disabled)"))
	click(row(2), "")
	click(row(5), ", shiftKey: true")
	require.Equal(t, "4 selected.xxxx...", browsertest.Eval[string](b, ticked))
	b.Picture("ticked-1280-light")
	require.True(t, browsertest.Eval[bool](b, "document.querySelector('[data-tick-all]').indeterminate"))
	click("[data-tick-all]", "")
	require.Equal(t, "8 selectedxxxxxxxx", browsertest.Eval[string](b, ticked))
	click(row(1), "")
	require.Equal(t, "7 selected.xxxxxxx", browsertest.Eval[string](b, ticked))
	require.False(t, browsertest.Eval[bool](b, "document.querySelector('[data-tick-all]').checked"))
	b.Scripts(false)
	b.Open("/list")
	require.Zero(t, browsertest.Eval[int](b, "[...document.querySelectorAll('[data-tick-all], [data-copy]')].filter(e => e.offsetParent).length"),
		"nothing that does nothing")
	b.Do(chromedp.Click(chromedp.CSS(row(3))), chromedp.Click(chromedp.CSS(`.bulk button[value="mail"]`)))
	b.Reads("Sent: do=mail&ids=p2")
}

// TestConfirm: a button that asks first does nothing until it is answered.
func TestConfirm(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	b.Open("/list")
	b.Do(chromedp.Click(chromedp.CSS(`tbody tr:nth-child(1) [data-tick]`)))
	for answer, want := range map[string]bool{"false": true, "true": false} {
		require.Equal(t, want, browsertest.Eval[bool](b, `(() => {
			window.confirm = question => question === 'Suspend them?' && `+answer+`
			const form = document.querySelector('.bulk').closest('form'), button = form.querySelector('[data-confirm]')
			const event = new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter: button })
			form.dispatchEvent(event)
			return event.defaultPrevented
		})()`))
	}
}

// TestFiltersAndFinds: a filter is applied when it is chosen with the pointer, with the
// keyboard when the form is sent; a field offers what is found while it is typed.
func TestFiltersAndFinds(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	b.Open("/list")
	b.Do(chromedp.Focus(chromedp.CSS("#status")), chromedp.KeyEvent(kb.ArrowDown))
	require.Equal(t, "suspended", browsertest.Eval[string](b, "document.querySelector('#status').value"))
	require.Empty(t, browsertest.Eval[string](b, "location.search"))
	browsertest.Eval[bool](b, `(select => {
		select.blur()
		select.value = ''
		return select.dispatchEvent(new Event('change', { bubbles: true }))
	})(document.querySelector('#status'))`)
	wait.Until(t, func() bool {
		at, err := chromedp.Run(b.Context, chromedp.Evaluate[string]("location.search"))
		return err == nil && strings.Contains(at, "order=earned&search=&status=&group=")
	}, "the form is sent")
	b.Open("/form")
	b.Do(chromedp.SendKeys(chromedp.CSS("#partner"), "Ines"))
	wait.Until(t, func() bool {
		offered, err := chromedp.Run(b.Context, chromedp.Evaluate[string]("[...document.querySelector('#partner').list.options].map(o => o.label + '=' + o.value).join()"))
		return err == nil && offered == "Ines Duarte=ines@duarte.example"
	}, "the field offers what is found")
	b.Silent()
}

// TestZones checks that pages with a zone show times in the browser's zone.
func TestZones(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	b.Zone("Europe/Berlin")
	b.Open("/panel")
	const first = "(t => [t.textContent, t.title])(document.querySelector('time[data-moment]'))"
	shown := browsertest.Eval[[]string](b, first)
	require.Equal(t, "20 Nov 2026, 23:30", shown[0])
	require.Equal(t, "20 Nov 2026, 22:30 UTC", shown[1])
	b.Reads("Europe/Berlin")
	b.Scripts(false)
	b.Open("/panel")
	require.Equal(t, []string{"20 Nov 2026, 22:30", ""}, browsertest.Eval[[]string](b, first))
	b.Reads("All times are in UTC.")
}

// TestCopies: a block of code is copied as it is.
func TestCopies(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, open(t))
	b.Open("/panel")
	b.Do(chromedp.Click(chromedp.CSS(".code [data-copy]")))
	b.Reads("Copied")
	require.Equal(t, panelPage()["Tag"], b.Clipboard())
}
