package console_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/team"
)

// TestPartnersPage finds partners by a part of a name, by state and by group.
func TestPartnersPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/partners"), "No partners yet")
	ada := s.Partner(s.program, M{"first_name": "Ada", "last_name": "Lovelace", "handle": "ada"})
	s.Partner(s.program, M{"first_name": "Grace", "handle": "grace"})
	s.Must(200, s.Post("/v1/partners/"+ada, M{"status": "suspended"}))
	all := s.owner.page("/partners")
	require.Contains(t, all, "Ada Lovelace")
	require.Contains(t, all, "Grace")
	require.Contains(t, all, "2 partners")
	found := s.owner.page("/partners?search=lov")
	require.Contains(t, found, "Ada Lovelace")
	require.NotContains(t, found, ">Grace<")
	require.NotContains(t, s.owner.page("/partners?status=active"), "Ada Lovelace")
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": s.program, "name": "Podcast"})).String("id")
	s.Must(200, s.Post("/v1/partners/"+ada, M{"tag_ids": []string{tag}}))
	tagged := s.owner.page("/partners?tag_id=" + tag)
	require.Contains(t, tagged, "Ada Lovelace")
	require.Contains(t, tagged, "Tag: Podcast")
	require.NotContains(t, tagged, ">Grace<")
	require.Contains(t, s.owner.page("/partners?search=nobody"), "No partners match these filters.")
	require.Contains(t, string(s.Must(200, s.owner.ask("GET", s.owner.full("/partners.csv?search=lov"), nil)).Raw), "ada")
	viewer := s.person(s.Org, team.Viewer).page("/partners")
	require.Contains(t, viewer, "Ada Lovelace")
	require.NotContains(t, viewer, "Add a partner")
}

// TestTopPartners sorts partners by their figures of the last 30 days.
func TestTopPartners(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/partners?sort=revenue"), "No partner had a click or a customer")
	low := s.Partner(s.program, M{"first_name": "Lowe"})
	high := s.Partner(s.program, M{"first_name": "Highsmith"})
	idle := s.Partner(s.program, M{"first_name": "Idle"})
	s.Sale(s.program, s.Customer(s.program, low), M{"amount_minor": 1000})
	s.Sale(s.program, s.Customer(s.program, low), M{"amount_minor": 1000})
	s.Sale(s.program, s.Customer(s.program, high), M{"amount_minor": 9000})
	order := func(query string) []string {
		var found []string
		for _, m := range regexp.MustCompile(`>(Lowe|Highsmith|Idle)</a>`).FindAllStringSubmatch(s.owner.page(query), -1) {
			found = append(found, m[1])
		}
		return found
	}
	require.Equal(t, []string{"Highsmith", "Lowe"}, order("/partners?sort=revenue"))
	require.Equal(t, []string{"Lowe", "Highsmith"}, order("/partners?sort=revenue&order=ascending"))
	require.Equal(t, []string{"Lowe", "Highsmith"}, order("/partners?sort=customers"))
	page := s.owner.page("/partners?sort=customers")
	require.Contains(t, page, `aria-sort="descending"`)
	require.Contains(t, page, "2 partners with activity")
	require.NotContains(t, page, idle)
	require.Equal(t, []string{"Highsmith", "Lowe"}, order("/partners?sort=no-such-figure"))
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Gold"})).String("id")
	require.Empty(t, order("/partners?sort=revenue&group_id="+group))
}

// TestPartnersBulk changes several partners at once and lists the unchanged ones.
func TestPartnersBulk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.Partner(s.program), s.Partner(s.program)
	waiting := s.Partner(s.program, M{"status": "pending", "first_name": "Winnie"})
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Gold"})).String("id")
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": s.program, "name": "Blog"})).String("id")
	bulk := func(fields ...string) string { return s.owner.done(s.owner.send("/partners/bulk", fields...)) }

	require.Equal(t, "2 partners are put into the group.", bulk("do", "group", "group_id", group, "id", a, "id", b))
	require.Equal(t, "1 partner is tagged.", bulk("do", "tag", "tag_id", tag, "id", a))
	shown := s.Must(200, s.Get("/v1/partners/"+a+"?include[]=tags"))
	require.Equal(t, group, shown.String("group_id"))
	require.Len(t, shown.Body["tags"], 1)
	bulk("do", "untag", "tag_id", tag, "id", a)
	require.Empty(t, s.Must(200, s.Get("/v1/partners/"+a+"?include[]=tags")).Body["tags"])

	notice := bulk("do", "suspend", "id", a, "id", waiting)
	require.Contains(t, notice, "1 partner is suspended. 1 was refused: The partner is pending")
	require.Equal(t, "suspended", s.Get("/v1/partners/"+a).String("status"))
	require.Equal(t, "pending", s.Get("/v1/partners/"+waiting).String("status"))

	s.owner.says(400, "Select at least one row first.", s.owner.send("/partners/bulk", "do", "suspend"))
	s.owner.says(400, "Choose a group first.", s.owner.send("/partners/bulk", "do", "group", "id", b))
	viewer := s.person(s.Org, team.Viewer)
	s.Must(403, viewer.send("/partners/bulk", "do", "suspend", "id", b))
	require.Equal(t, "active", s.Get("/v1/partners/"+b).String("status"))
}

// TestPartnersBulkStops checks that changes before a failure stay, and that the page shows their number.
func TestPartnersBulkStops(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b, c := s.Partner(s.program), s.Partner(s.program), s.Partner(s.program)
	_, err := s.Pool.Exec(t.Context(), `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.id = TG_ARGV[0] THEN RAISE EXCEPTION 'broken'; END IF; RETURN NEW; END $$`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(),
		"CREATE TRIGGER broken BEFORE UPDATE ON partners FOR EACH ROW EXECUTE FUNCTION broken('"+b+"')")
	require.NoError(t, err)
	notice := s.owner.done(s.owner.send("/partners/bulk", "do", "suspend", "id", a, "id", b, "id", c))
	require.Equal(t, "1 partner is suspended. Then it had to stop, and 2 are left: tick them again.", notice)
	require.Equal(t, []string{"suspended", "active", "active"}, []string{
		s.Get("/v1/partners/" + a).String("status"), s.Get("/v1/partners/" + b).String("status"),
		s.Get("/v1/partners/" + c).String("status"),
	})
	s.owner.says(500, "Nothing was changed", s.owner.send("/partners/bulk", "do", "suspend", "id", b, "id", c))
}

// TestPartnerNames: a partner has one name, in lists as in reports.
func TestPartnerNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, p := range map[string]M{
		"Ada Byron": {"first_name": "Ada", "last_name": "Byron", "company_name": "Engines"},
		"Analytics": {"company_name": "Analytics"},
		"nameless":  {"handle": "nameless"},
	} {
		id := s.Partner(s.program, p)
		require.Regexp(t, `<h1 class="with-avatar">.*</span> `+name+" ", s.owner.page("/partners/"+id))
	}
}

// TestAddPartner adds a partner and finds refusals beside their fields.
func TestAddPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	notice := s.owner.done(s.owner.send("/partners/new", "email", "ada@example.com", "first_name", "Ada", "handle", "ada"))
	require.Equal(t, "Ada is a partner now.", notice)
	require.EqualValues(t, 1, s.Get("/v1/partners?program_id="+s.program+"&handle=ada").Int("total_count"))
	again := s.owner.send("/partners/new", "email", "ada@example.com", "first_name", "Ada")
	s.owner.says(409, "A partner with this email exists in the program.", again)
	s.owner.says(409, `value="ada@example.com"`, again)
	s.Must(403, s.person(s.Org, team.Viewer).send("/partners/new", "email", "b@example.com"))
}

// TestPartnerPages shows a partner with all that is its own, and changes it.
func TestPartnerPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	partner := s.Partner(s.program, M{"first_name": "Ada", "handle": "ada"})
	customer := s.Customer(s.program, partner, M{"email": "bob@example.com"})
	s.Sale(s.program, customer, M{"amount_minor": 10000})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01"}))
	at := "/partners/" + partner
	require.Contains(t, s.owner.page(at), "20.00")
	require.Contains(t, s.owner.page(at+"/commissions"), "20 % of 100.00 USD")
	require.Contains(t, s.owner.page(at+"/customers"), "bob@example.com")
	require.Contains(t, s.owner.page(at+"/payouts"), "20.00")
	s.Must(404, s.owner.ask("GET", s.owner.full(at+"/nothing"), nil))

	require.Equal(t, "The partner is saved.", s.owner.done(s.owner.send(at, "first_name", "Ada", "last_name", "Byron", "min_payout_minor", "12.50")))
	shown := s.Get("/v1/partners/" + partner)
	require.Equal(t, "Byron", shown.String("last_name"))
	require.EqualValues(t, 1250, shown.Int("min_payout_minor"))
	s.owner.says(400, "https://", s.owner.send(at, "website_url", "nonsense https://"))
	s.owner.done(s.owner.send(at+"/links", "destination_url", "https://shop.example/sale", "label", "Sale"))
	require.Contains(t, s.owner.page(at+"/links"), "https://shop.example/sale?ref=ada")
	s.owner.done(s.owner.send(at+"/coupon", "code", "ADA20"))
	require.Contains(t, s.owner.page(at+"/coupons"), "ADA20")
	s.owner.says(409, "A coupon with this code exists", s.owner.send(at+"/coupon", "code", "ada20"))
	s.owner.done(s.owner.send(at+"/state", "status", "suspended", "suspension_reason", "Looking into it."))
	require.Contains(t, s.owner.page(at), "Suspended: Looking into it.")
	require.NotContains(t, s.owner.page(at+"/coupons"), "New coupon", "it would earn a suspended partner nothing")
	s.owner.done(s.owner.send(at+"/state", "status", "active"))
	require.Contains(t, s.owner.page(at+"/coupons"), "New coupon")
	require.Contains(t, s.person(s.Org, team.Viewer).page(at), "Ada")
}

// TestPartnerLinksToLists: the lists that a partner's page links to have the partner's rows only.
func TestPartnerLinksToLists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	var ada string
	for _, name := range []string{"Ada", "Grace"} {
		partner := s.Partner(s.program, M{"first_name": name, "email": name + "+x@example.com"})
		s.Sale(s.program, s.Customer(s.program, partner), M{"amount_minor": 10000})
		if name == "Ada" {
			ada = partner
		}
	}
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01"}))
	for _, part := range []string{"customers", "commissions", "payouts"} {
		found := regexp.MustCompile(`<a href="([^"]+)">All 1</a>`).FindStringSubmatch(s.owner.page("/partners/" + ada + "/" + part))
		require.Len(t, found, 2, part)
		list := s.owner.page(found[1])
		require.Contains(t, list, "Partner: Ada+x@example.com", part)
		require.Contains(t, list, ">Ada</a>", part)
		require.NotContains(t, list, ">Grace</a>", part)
	}
}

// TestPartnerGroupStays: saving the details of a partner without a group does not move it into one.
func TestPartnerGroupStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "VIP"})).String("id")
	partner := s.Partner(s.program, M{"group_id": group})
	chosen := regexp.MustCompile(`<option value="([^"]*)"[^>]* selected[^>]*>([^<]*)<`)
	form := func() string {
		page := s.owner.page("/partners/" + partner)
		found := chosen.FindStringSubmatch(page[strings.Index(page, `name="group_id"`):])
		require.Len(t, found, 3)
		s.owner.done(s.owner.send("/partners/"+partner, "group_id", found[1], "first_name", "Ada"))
		return found[2]
	}
	require.Equal(t, "VIP", form())
	require.Equal(t, group, s.Get("/v1/partners/"+partner).String("group_id"))
	s.Must(200, s.Delete("/v1/groups/"+group))
	require.Equal(t, "No group", form())
	require.Nil(t, s.Get("/v1/partners/" + partner).Body["group_id"])
}

// TestWholeEmails: a whole email finds its partner only, not another one whose email contains it.
func TestWholeEmails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	joann := s.Partner(s.program, M{"email": "joann@example.com"})
	p := s.owner
	p.says(400, `No partner found for "ann@example.com".`, p.send("/commissions/new", "partner", "ann@example.com", "amount_minor", "500"))
	require.Empty(t, s.Get("/v1/commissions?program_id="+s.program).Data())
	p.done(p.send("/commissions/new", "partner", "joann@", "amount_minor", "500", "reason", "Bonus"))
	require.Equal(t, joann, s.Get("/v1/commissions?program_id=" + s.program).Data()[0]["partner_id"])
}

// TestLongFile: a file has all rows of a list, also more than the API sends at once.
func TestLongFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, created_at, actor_type)
		SELECT 'alog_' || lpad(n::text, 26, '0'), $1, $2, 'partner.updated', $2, now(), 'operator' FROM generate_series(1, 10100) n`,
		s.Org, s.program)
	require.NoError(t, err)
	rows := strings.Count(string(s.Must(200, s.owner.ask("GET", s.owner.full("/log.csv"), nil)).Raw), "\n")
	require.Greater(t, rows, 10100)
}

// TestRefusedListForms: the links of a list that is shown after a refused form lead to the list.
func TestRefusedListForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	partner := s.Partner(s.program)
	s.Sale(s.program, s.Customer(s.program, partner), M{"amount_minor": 10000})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01"}))
	for form, list := range map[string]string{
		"/commissions/approve": "/commissions", "/payouts/delete": "/payouts/all", "/partners/bulk": "/partners",
	} {
		page := html.UnescapeString(string(s.owner.send(form, "do", "suspend").Raw))
		require.Contains(t, page, "Select at least one row first.", form)
		require.Contains(t, page, s.owner.full(list)+".csv", form)
		require.NotContains(t, page, s.owner.full(form)+".csv", form)
		require.NotContains(t, page, `action="`+s.owner.full(form)+`?`, form)
	}
}

var portalLink = regexp.MustCompile(`<a href="([^"]+)" target="_blank"`)

// TestOpenPortal: the portal opens as the partner, by a link that says nothing of where the partner is, and the log
// names who opened it.
func TestOpenPortal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	partner := s.Partner(s.program, M{"first_name": "Ada"})
	page := s.owner.send("/partners/" + partner + "/portal")
	found := portalLink.FindStringSubmatch(string(s.Must(200, page).Raw))
	require.Len(t, found, 2)
	link, err := url.Parse(found[1])
	require.NoError(t, err)
	s.Must(303, s.Do("GET", link.Path, "", nil, "X-Forwarded-For", "203.0.113.7", "User-Agent", "Firefox"))
	s.Must(410, s.Do("GET", link.Path, "", nil))
	var seen int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM partner_addresses").Scan(&seen))
	require.Zero(t, seen)
	require.Contains(t, s.owner.page("/partners/"+partner+"/history"), s.owner.Name)
	s.Must(403, s.person(s.Org, team.Viewer).send("/partners/"+partner+"/portal"))
}

// TestBanPage shows the sum first, schedules the ban, and undoes it.
func TestBanPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	partner := s.Partner(s.program, M{"first_name": "Mallory"})
	s.Sale(s.program, s.Customer(s.program, partner), M{"amount_minor": 12345})
	at := "/partners/" + partner + "/ban"
	page := s.owner.page(at)
	require.Contains(t, page, "24.69")
	require.Contains(t, page, "1 unpaid commission will be permanently rejected")
	require.Contains(t, page, "The ban takes effect in 10 minutes.")
	require.Equal(t, "active", s.Get("/v1/partners/"+partner).String("status"), "looking bans nobody")
	s.owner.says(400, "Ban Mallory", s.owner.send(at, "reason", ""))
	page = s.owner.next(s.owner.send(at, "reason", "Own purchases.", "boxes", "tell_partner"))
	require.Contains(t, page, "Mallory is suspended and will be banned in 10 minutes.")
	undo := `action="` + s.at + `/partners/undo_ban"`
	require.Equal(t, 1, strings.Count(page, undo), "in the notice only")
	require.Equal(t, 1, strings.Count(s.owner.page("/partners/"+partner), undo), "on the page, without a notice")
	require.Contains(t, page, `Will be banned at <time datetime="`+s.Clock.Now().Plus(10*time.Minute).String()+
		`" data-moment="hour">12:10</time>. Suspended until then: Own purchases.`)
	require.NotContains(t, page, s.at+at, "a second ban")
	for _, role := range []team.Role{team.Viewer, team.Finance} {
		s.Must(403, s.person(s.Org, role).send(at, "reason", "x"))
		s.Must(403, s.person(s.Org, role).send("/partners/undo_ban", "id", partner))
	}
	require.Equal(t, "1 ban is undone.", s.owner.done(s.owner.send("/partners/undo_ban", "id", partner)))
	require.Equal(t, "active", s.Get("/v1/partners/"+partner).String("status"))

	s.Must(303, s.owner.send(at, "reason", "Own purchases."))
	s.Clock.Advance(10 * time.Minute)
	apitest.RunJob(t, s.Server, "ban-partners")
	require.Contains(t, s.owner.page("/partners/"+partner), "Suspended: Own purchases.")
	late := s.owner.done(s.owner.send("/partners/undo_ban", "id", partner))
	require.Equal(t, "0 bans are undone. 1 was refused: No ban of the partner is scheduled.", late)
}

// TestBanSeveral bans the selected partners with one reason, and undoes all of that.
func TestBanSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.Partner(s.program, M{"first_name": "Mallory"}), s.Partner(s.program, M{"first_name": "Trudy"})
	pending := s.Partner(s.program, M{"status": "pending"})
	for _, id := range []string{a, b} {
		s.Must(201, apitest.Grant(s.Server, s.program, id, M{"amount_minor": 700}))
	}
	s.Must(201, apitest.Grant(s.Server, s.program, b, M{"amount_minor": 300, "currency": "EUR"}))
	form := s.Must(303, s.owner.send("/partners/bulk", "do", "ban", "id", a, "id", b, "id", pending)).Header.Get("Location")
	page := s.owner.page(strings.TrimPrefix(form, s.at))
	for _, part := range []string{
		"Ban 2 partners", "Mallory, Trudy", "14.00", "3.00", "3 unpaid commissions will be permanently rejected",
		"1 of the selected partners cannot be banned: The partner is pending",
	} {
		require.Contains(t, page, part)
	}
	s.owner.says(400, "Ban 2 partners", s.owner.send("/partners/ban", "id", a, "id", b, "reason", ""))
	s.owner.says(409, "The partner is pending", s.owner.ask("GET", s.owner.full("/partners/ban?id="+pending), nil))
	s.Must(404, s.owner.ask("GET", s.owner.full("/partners/ban"), nil))
	states := func() []string {
		return []string{s.Get("/v1/partners/" + a).String("status"), s.Get("/v1/partners/" + b).String("status")}
	}
	notice := s.owner.done(s.owner.send("/partners/ban", "id", a, "id", b, "reason", "Spam."))
	require.Equal(t, "2 partners are suspended and will be banned in 10 minutes.", notice)
	require.Equal(t, []string{"suspended", "suspended"}, states())
	require.Equal(t, "2 bans are undone.", s.owner.done(s.owner.send("/partners/undo_ban", "id", a, "id", b)))
	require.Equal(t, []string{"active", "active"}, states())
}

// TestSuspendUndone: the notice of a suspension reinstates the partners that it suspended.
func TestSuspendUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.Partner(s.program), s.Partner(s.program)
	undoOf := func(a apitest.Answer) string {
		_, form, _ := strings.Cut(s.owner.next(a), "flash-undo")
		form, _, _ = strings.Cut(form, "</form>")
		return form
	}
	one := undoOf(s.owner.send("/partners/"+a+"/state", "status", "suspended", "suspension_reason", "A look first."))
	require.Contains(t, one, `action="`+s.at+"/partners/"+a+`/state"`)
	require.Contains(t, one, `name="status" value="active"`)
	undo := undoOf(s.owner.send("/partners/bulk", "do", "suspend", "id", a, "id", b))
	require.Contains(t, undo, `name="do" value="reinstate"`)
	require.Contains(t, undo, b)
	require.NotContains(t, undo, a, "it was suspended before")
}

// TestApplicationsPage shows the answers, and decides one and several.
func TestApplicationsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/applications"), "No applications to review.")
	var ids []string
	for i := range 3 {
		a := s.Must(201, s.Post("/v1/applications", M{
			"program_id": s.program, "email": fmt.Sprintf("a%d@example.com", i), "answers": M{"how_do_you_work": "By <b>mail</b>."},
		}))
		ids = append(ids, a.String("id"))
	}
	page := s.owner.page("/applications")
	require.Contains(t, page, "how do you work")
	require.Contains(t, string(s.owner.ask("GET", s.owner.full("/applications"), nil).Raw), "&lt;b&gt;mail")
	require.Equal(t, "2 applications are approved.",
		s.owner.done(s.owner.send("/applications", "do", "approve", "id", ids[0], "id", ids[1])))
	require.Equal(t, "0 applications are rejected. 1 was refused: The application is approved already.",
		s.owner.done(s.owner.send("/applications", "do", "reject", "id", ids[0])))
	s.owner.done(s.owner.send("/applications", "do", "reject", "reason", "No mail, please.", "id", ids[2]))
	require.Contains(t, s.owner.page("/applications?status=rejected"), "No mail, please.")
	require.Contains(t, s.owner.page("/applications?status=approved"), "a1@example.com")
	s.Must(403, s.person(s.Org, team.Viewer).send("/applications", "do", "approve", "id", ids[2]))
}

// TestPartnersOfOthers: what is another organization's, or of another program, is as absent as what is not there.
func TestPartnersOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	second := s.Program()
	s.Flow(s.program)
	flow := s.Get("/v1/flows?program_id=" + s.program).Data()[0]["id"].(string)
	partner := s.Partner(s.program)
	gets := []string{"/partners", "/partners/new", "/partners/" + partner, "/partners/" + partner + "/ban", "/applications", "/rules", "/rules/" + flow}
	posts := []string{
		"/partners/new", "/partners/" + partner, "/partners/" + partner + "/tags", "/partners/" + partner + "/state",
		"/partners/" + partner + "/ban", "/partners/" + partner + "/portal", "/rules/" + flow, "/rules/" + flow + "/delete",
		"/rules/" + flow + "/state",
	}
	form := func(path string) []string {
		status := "suspended"
		if strings.HasPrefix(path, "/rules") {
			status = "inactive"
		}
		return []string{"reason", "x", "status", status, "do", "save", "email", "x@example.com"}
	}
	for _, path := range gets {
		s.Must(404, stranger.ask("GET", stranger.full(path), nil))
	}
	for _, path := range posts {
		s.Must(404, stranger.send(path, form(path)...))
	}
	for _, path := range append(gets[2:4], gets[6]) {
		s.Must(404, s.owner.ask("GET", "/console/p/"+second+path, nil))
	}
	for _, path := range posts[1:] {
		s.Must(404, s.owner.send("/console/p/"+second+path, form(path)...))
	}
	require.Equal(t, "active", s.Get("/v1/partners/"+partner).String("status"))
	require.Equal(t, "active", s.Must(200, s.Get("/v1/flows/"+flow)).String("status"))
}
